//! A folder of plain manifests, as the repo server reads it.
//!
//! Which files count, and which broken ones are forgiven, is the server's own mix of rules: a file that is no manifest
//! is skipped without a word unless it looks like one; a JSON file is one object; a list is taken apart. The server
//! fails the whole app at the first file it cannot take; here the others are still rendered beside the problem.

use std::sync::Arc;

use serde_json::Value;

use super::glob::glob;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::object::{Desired, Origins};
use crate::domain::render::paths::join;
use crate::domain::render::place::read_node;
use crate::domain::render::{EntryKind, Rendered, Tree};
use crate::domain::yaml::{self, Dialect, Document, Node, Route};

/// A file with this text is left out.
const SKIP: &str = "+argocd:skip-file-rendering";

/// Renders the manifests of `folder`; `block` is the source's `directory`.
pub(super) fn render(
    tree: &dyn Tree,
    folder: &str,
    block: Option<&Value>,
    rendered: &mut Rendered,
) {
    let text = |key: &str| {
        block
            .and_then(|block| block.get(key))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let flag = |key: &str| {
        block
            .and_then(|block| block.get(key))
            .and_then(Value::as_bool)
            == Some(true)
    };
    let mut folder = Folder {
        tree,
        root: folder,
        recurse: flag("recurse"),
        include: text("include"),
        exclude: text("exclude"),
        rendered,
    };
    folder.walk("");
}

struct Folder<'r> {
    tree: &'r dyn Tree,
    root: &'r str,
    recurse: bool,
    include: &'r str,
    exclude: &'r str,
    rendered: &'r mut Rendered,
}

impl Folder<'_> {
    fn walk(&mut self, below: &str) {
        let path = join(self.root, below);
        self.rendered.inputs.push(path.clone());
        let entries = match self.tree.list(&path) {
            Ok(entries) => entries.unwrap_or_default(),
            Err(fault) => return self.rendered.problems.push(fault),
        };
        for entry in entries {
            let relative = join(below, &entry.name);
            match entry.kind {
                EntryKind::Directory if self.recurse => self.walk(&relative),
                EntryKind::File => self.file(&relative, &entry.name),
                EntryKind::Link if is_manifest_name(&entry.name) => {
                    self.link(&relative, &entry.name);
                }
                EntryKind::Directory | EntryKind::Submodule | EntryKind::Link => {}
            }
        }
    }

    fn link(&mut self, relative: &str, name: &str) {
        match self.tree.real_path(&join(self.root, relative)) {
            Ok(Some(_)) => self.file(relative, name),
            Ok(None) => {}
            Err(fault) => self.rendered.problems.push(
                Fault::new(
                    FaultKind::Render,
                    format!("illegal filepath in symlink at \"{relative}\""),
                )
                .at(join(self.root, relative), None)
                .because(fault),
            ),
        }
    }

    fn file(&mut self, relative: &str, name: &str) {
        if !is_manifest_name(name)
            || (!self.exclude.is_empty() && glob(self.exclude, relative))
            || (!self.include.is_empty() && !glob(self.include, relative))
        {
            return;
        }
        let path = join(self.root, relative);
        let bytes = match self.tree.read(&path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return,
            Err(fault) => return self.rendered.problems.push(fault),
        };
        self.rendered.inputs.push(path.clone());
        if contains(&bytes, SKIP) {
            return;
        }
        if has_ending(name, ".jsonnet") {
            self.rendered.problems.push(
                Fault::new(
                    FaultKind::Unsupported,
                    format!("jsonnet is not rendered yet: {name}"),
                )
                .at(path, None)
                .hint("what Argo CD makes of it is in `argocd app manifests`"),
            );
            return;
        }
        let outcome = if has_ending(name, ".json") {
            read_json(&bytes, &path)
        } else {
            read_yaml(&bytes, &path)
        };
        match outcome {
            Ok(objects) => self.rendered.objects.extend(objects),
            Err(Refused { line, why }) => self.rendered.problems.push(
                Fault::new(
                    FaultKind::Render,
                    format!("Failed to unmarshal {name:?}: {why}"),
                )
                .at(path, line)
                .hint("Argo CD renders nothing of this app until the file is mended"),
            ),
        }
    }
}

fn is_manifest_name(name: &str) -> bool {
    [".yaml", ".yml", ".json", ".jsonnet"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// The server compares letter by letter: `.YAML` is no ending it knows.
fn has_ending(name: &str, ending: &str) -> bool {
    name.ends_with(ending)
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

/// Why a file fails the app.
struct Refused {
    line: Option<usize>,
    why: String,
}

/// Reads a JSON file: one object, or one list object. JSON is YAML too, so places come from the YAML reader.
fn read_json(bytes: &[u8], path: &str) -> Result<Vec<Desired>, Refused> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut stream = serde_json::Deserializer::from_slice(text).into_iter::<Value>();
    let value = match stream.next() {
        Some(Ok(value)) => value,
        Some(Err(error)) => {
            return Err(Refused {
                line: Some(error.line()),
                why: error.to_string(),
            });
        }
        None => {
            return Err(Refused {
                line: None,
                why: "EOF".into(),
            });
        }
    };
    let refused = |why: &str| Refused {
        line: Some(1),
        why: why.into(),
    };
    let kind = match &value {
        Value::Object(map) => map.get("kind").and_then(Value::as_str).unwrap_or_default(),
        Value::Array(_) => {
            return Err(refused(
                "json: cannot unmarshal array into Go value of type map[string]interface {}",
            ));
        }
        _ => return Err(refused("a JSON file must hold one object")),
    };
    if kind.is_empty() {
        return Err(refused("Object 'Kind' is missing"));
    }
    if stream.next().is_some() {
        return Err(refused(
            "found multiple objects; only single objects are allowed in JSON files",
        ));
    }
    let documents = yaml::parse(bytes).documents;
    let Some(root) = documents.first().and_then(Document::root) else {
        return Err(refused("no object"));
    };
    expand(value, root, &path.into())
}

/// Reads a YAML file. A file that fails is skipped where nothing in it shows that it is meant to be a manifest.
fn read_yaml(bytes: &[u8], path: &str) -> Result<Vec<Desired>, Refused> {
    let file: Arc<str> = path.into();
    let stream = yaml::parse(bytes);
    let broken_at = stream
        .problems
        .first()
        .map_or(usize::MAX, |problem| problem.line);
    let mut objects = vec![];
    let mut failure = None;
    for document in &stream.documents {
        let Some(root) = document.root().filter(|root| root.line() < broken_at) else {
            continue;
        };
        match read_document(root, &file) {
            Ok(found) => objects.extend(found),
            Err(refused) => {
                failure = Some(refused);
                break;
            }
        }
    }
    let failure = failure.or_else(|| {
        stream.problems.first().map(|problem| Refused {
            line: Some(problem.line),
            why: format!("failed to unmarshal manifest: error converting YAML to JSON: {problem}"),
        })
    });
    match failure {
        None => Ok(objects),
        Some(failure) if !objects.is_empty() || looks_like_manifest(bytes) => Err(failure),
        Some(_) => Ok(vec![]),
    }
}

fn looks_like_manifest(bytes: &[u8]) -> bool {
    ["apiVersion:", "kind:", "metadata:"]
        .iter()
        .all(|word| contains(bytes, word))
}

fn read_document(root: Node<'_>, file: &Arc<str>) -> Result<Vec<Desired>, Refused> {
    let refused = |line: usize, why: String| Refused {
        line: Some(line),
        why: format!("failed to unmarshal manifest: {why}"),
    };
    let value = root.to_json(Dialect::Kubectl).map_err(|problem| {
        refused(
            problem.line,
            format!("error converting YAML to JSON: {problem}"),
        )
    })?;
    match &value {
        Value::Null => return Ok(vec![]),
        Value::Object(map)
            if map
                .get("kind")
                .and_then(Value::as_str)
                .is_some_and(|k| !k.is_empty()) => {}
        Value::Object(_) => return Err(refused(root.line(), "Object 'Kind' is missing".into())),
        _ => return Err(refused(root.line(), "the document is no object".into())),
    }
    expand(value, root, file)
}

/// Takes a list apart, as the server does with anything that has `items`.
fn expand(value: Value, root: Node<'_>, file: &Arc<str>) -> Result<Vec<Desired>, Refused> {
    let read = |node: Node<'_>, at: &Route| {
        read_node(node, Dialect::Kubectl, file, at).map_err(|problem| Refused {
            line: Some(problem.line),
            why: problem.message,
        })
    };
    let has_no = |key: &str| value.get(key).is_none();
    match value.get("items") {
        Some(Value::Null) if has_no("spec") && has_no("status") => return Ok(vec![]),
        Some(Value::Array(_)) => {}
        _ => {
            let (_, origins) = read(root, &Route::root())?;
            return Ok(desired(value, origins).into_iter().collect());
        }
    }
    let Some(items) = root.get("items") else {
        return Ok(vec![]);
    };
    let mut objects = vec![];
    for (index, item) in items.items().enumerate() {
        let (value, origins) = read(item, &Route::root().key("items").index(index))?;
        if !value.is_object() {
            return Err(Refused {
                line: Some(item.line()),
                why: "items member is not an object".into(),
            });
        }
        objects.extend(desired(value, origins));
    }
    Ok(objects)
}

/// Makes an object; a hook may have a `generateName` only, which stands for its name then.
fn desired(value: Value, origins: Origins) -> Option<Desired> {
    if let Some(object) = Desired::new(value.clone(), origins.clone()) {
        return Some(object);
    }
    let generated = value.pointer("/metadata/generateName")?.as_str()?;
    let mut named = value.clone();
    named["metadata"]["name"] = generated.into();
    let object = Desired::new(named, origins)?;
    Some(Desired { value, ..object })
}
