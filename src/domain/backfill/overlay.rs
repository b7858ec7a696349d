//! The app's own layer: the patch that already touches the object, an `images` entry, or a new patch.
//!
//! A value that comes from a shared base is answered here by default, so that only this app changes.

use serde_json::{Value, json};

use crate::domain::object::{Desired, Origin, PathStep, Step};
use crate::domain::render::Tree;
use crate::domain::yaml::edit::Edit;
use crate::domain::yaml::{Dialect, Route, RouteStep, parse};

use super::Wish;
use super::change::{Candidate, Change};
use super::graft;
use super::image::Image;

/// The names by which kustomize knows a kustomization file.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// A kustomization file of the app's folder.
pub(super) struct Layer {
    pub(super) file: String,
    pub(super) folder: String,
    pub(super) value: Value,
}

impl Layer {
    /// Reads the kustomization file of `folder`, where there is one.
    pub(super) fn read(tree: &dyn Tree, folder: &str) -> Option<Self> {
        NAMES.iter().find_map(|name| {
            let file = join(folder, name);
            let bytes = tree.read(&file).ok()??;
            let value = parse(&bytes)
                .documents
                .first()?
                .to_json(Dialect::Kubectl)
                .ok()?;
            Some(Self {
                file,
                folder: folder.to_owned(),
                value,
            })
        })
    }

    /// Returns the ways to answer a wish in this layer, best first.
    pub(super) fn candidates(
        &self,
        tree: &dyn Tree,
        wish: &Wish,
        desired: &Desired,
    ) -> Vec<Candidate> {
        let original = Original::read(tree, desired);
        let mut found = vec![];
        found.extend(self.image_entry(wish, desired));
        found.extend(self.existing_patches(tree, wish, desired, &original.name));
        found.extend(self.new_merge_patch(wish, desired, &original));
        found.extend(self.new_json_patch(wish, desired, &original));
        found
    }

    /// Adds an `images` entry, where this file has some already and the live image only has another tag or digest.
    fn image_entry(&self, wish: &Wish, desired: &Desired) -> Option<Candidate> {
        let entries = self.value.get("images")?.as_array()?;
        let (old, new) = (
            wish.path.get(&desired.value)?.as_str()?,
            wish.to.as_ref()?.as_str()?,
        );
        let is_image = matches!(wish.path.0.last(), Some(PathStep::Key(key)) if key == "image");
        let (old, new) = (Image::read(old), Image::read(new));
        if !is_image
            || old.name != new.name
            || entries
                .iter()
                .any(|entry| graft::has_key(entry, "name", old.name))
        {
            return None;
        }
        let mut entry = json!({ "name": new.name });
        for (key, value) in [("newTag", new.tag), ("digest", new.digest)] {
            if let Some(value) = value {
                entry[key] = Value::from(value);
            }
        }
        let route = Route::root().key("images");
        Some(self.insert(&route, entries.len(), entry, "images"))
    }

    fn insert(&self, list: &Route, index: usize, value: Value, what: &str) -> Candidate {
        let present = list.get(&self.value).is_some();
        let edit = match (present, list.split_last()) {
            (false, Some((parent, key))) => Edit::Insert {
                parent,
                at: key.clone(),
                value: json!([value]),
            },
            _ => Edit::Insert {
                parent: list.clone(),
                at: RouteStep::Index(index),
                value,
            },
        };
        Candidate {
            place: format!("{} {what}[{index}] (new)", self.file),
            changes: vec![Change::Yaml {
                file: self.file.clone(),
                document: 0,
                outer: None,
                edits: vec![edit],
            }],
        }
    }

    /// Sets the field in the strategic-merge patches that name the object, the last one first.
    fn existing_patches(
        &self,
        tree: &dyn Tree,
        wish: &Wish,
        desired: &Desired,
        name: &str,
    ) -> Vec<Candidate> {
        let mut found = vec![];
        for list in ["patches", "patchesStrategicMerge"] {
            let entries = self.value.get(list).and_then(Value::as_array);
            for (index, entry) in entries.into_iter().flatten().enumerate() {
                let route = Route::root().key(list).index(index);
                // A patch whose target may name several objects is not narrowed down.
                let name = match entry.get("target") {
                    None => Some(name),
                    Some(target) if names_only(target, desired, name) => None,
                    Some(_) => continue,
                };
                let path = entry.get("path").or(Some(entry)).and_then(Value::as_str);
                let inline = entry.get("patch").and_then(Value::as_str);
                let candidate = match (inline, path) {
                    (Some(text), _) => {
                        self.in_inline_patch(text, route.key("patch"), wish, desired, name)
                    }
                    (None, Some(text)) if text.contains('\n') => {
                        self.in_inline_patch(text, route, wish, desired, name)
                    }
                    (None, Some(path)) => {
                        in_patch_file(tree, &resolve(&self.folder, path), wish, desired, name)
                    }
                    _ => None,
                };
                found.extend(candidate);
            }
        }
        found.reverse();
        found
    }

    fn in_inline_patch(
        &self,
        text: &str,
        outer: Route,
        wish: &Wish,
        desired: &Desired,
        name: Option<&str>,
    ) -> Option<Candidate> {
        let stream = parse(text.as_bytes());
        let patch = stream.documents.first()?.to_json(Dialect::Kustomize).ok()?;
        let edit = edit_of_patch(&patch, wish, desired, name)?;
        Some(Candidate {
            place: format!("{} {outer} {}", self.file, wish.path),
            changes: vec![Change::Yaml {
                file: self.file.clone(),
                document: 0,
                outer: Some(outer),
                edits: vec![edit],
            }],
        })
    }

    /// Adds a strategic-merge patch with nothing but the field.
    fn new_merge_patch(
        &self,
        wish: &Wish,
        desired: &Desired,
        original: &Original,
    ) -> Option<Candidate> {
        let granular = wish
            .path
            .0
            .iter()
            .all(|step| matches!(step, PathStep::Key(_) | PathStep::Item(_)));
        let has_lists = wish
            .path
            .0
            .iter()
            .any(|step| matches!(step, PathStep::Item(_)));
        if !granular
            || (has_lists && !crate::domain::object::types::is_built_in(&desired.id.api_version))
        {
            return None;
        }
        let value = patch_value(wish, desired);
        let mut patch = graft::nest(&value.0, &value.1)?;
        patch["apiVersion"] = Value::from(desired.id.api_version.as_str());
        patch["kind"] = Value::from(desired.id.kind.as_str());
        patch["metadata"]["name"] = Value::from(original.name.as_str());
        if let Some(namespace) = &original.namespace {
            patch["metadata"]["namespace"] = Value::from(namespace.as_str());
        }
        let text = crate::domain::yaml::emit(&patch);
        Some(self.new_patch(json!({ "patch": text.trim_end_matches('\n') })))
    }

    /// Adds a JSON 6902 patch, for list items without keys and for kinds whose lists are unknown.
    fn new_json_patch(
        &self,
        wish: &Wish,
        desired: &Desired,
        original: &Original,
    ) -> Option<Candidate> {
        let pointer = graft::pointer(&desired.value, &wish.path)?;
        let present = wish.path.get(&desired.value).is_some();
        let op = match (&wish.to, present) {
            (None, _) => json!([{"op": "remove", "path": pointer}]),
            (Some(value), true) => json!([{"op": "replace", "path": pointer, "value": value}]),
            (Some(value), false) => json!([{"op": "add", "path": pointer, "value": value}]),
        };
        let text = crate::domain::yaml::emit(&op);
        let mut target = json!({"kind": desired.id.kind, "name": original.name, "version": desired.id.version()});
        if !desired.id.group().is_empty() {
            target["group"] = Value::from(desired.id.group());
        }
        Some(self.new_patch(json!({ "patch": text.trim_end_matches('\n'), "target": target })))
    }

    fn new_patch(&self, entry: Value) -> Candidate {
        let count = self
            .value
            .get("patches")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        self.insert(&Route::root().key("patches"), count, entry, "patches")
    }
}

/// Returns the path and value by which a strategic-merge patch says what a wish asks for: a removal is a null, or
/// `$patch: delete` for an item.
fn patch_value(wish: &Wish, desired: &Desired) -> (Vec<PathStep>, Value) {
    let path = wish.path.0.clone();
    match (&wish.to, path.last()) {
        (Some(value), _) => (path, value.clone()),
        (None, Some(PathStep::Item(_))) if wish.path.get(&desired.value).is_some() => {
            (path, json!({"$patch": "delete"}))
        }
        (None, _) => (path, Value::Null),
    }
}

/// Tells whether a patch's target names this object and no other.
fn names_only(target: &Value, desired: &Desired, name: &str) -> bool {
    let text = |key: &str| target.get(key).and_then(Value::as_str);
    text("kind") == Some(desired.id.kind.as_str())
        && text("name").is_some_and(|wanted| wanted == name || wanted == desired.id.name)
        && text("labelSelector").is_none()
        && text("annotationSelector").is_none()
}

/// Returns the edit of a strategic-merge patch, where it is one of this object: by its own kind and name, or by its
/// target (no `name` is asked for then).
fn edit_of_patch(
    patch: &Value,
    wish: &Wish,
    desired: &Desired,
    name: Option<&str>,
) -> Option<Edit> {
    let text = |pointer: &str| patch.pointer(pointer).and_then(Value::as_str);
    let is_named = name.is_none_or(|name| {
        let patched = text("/metadata/name");
        text("/kind") == Some(desired.id.kind.as_str())
            && (patched == Some(name) || patched == Some(desired.id.name.as_str()))
    });
    if !is_named || !patch.is_object() || patch.get("$patch").is_some() {
        return None;
    }
    let (path, value) = patch_value(wish, desired);
    graft::edit(patch, &path, &value)
}

fn in_patch_file(
    tree: &dyn Tree,
    file: &str,
    wish: &Wish,
    desired: &Desired,
    name: Option<&str>,
) -> Option<Candidate> {
    let bytes = tree.read(file).ok()??;
    let stream = parse(&bytes);
    stream.documents.iter().find_map(|document| {
        let patch = document.to_json(Dialect::Kustomize).ok()?;
        let edit = edit_of_patch(&patch, wish, desired, name)?;
        Some(Candidate {
            place: format!("{file} {}", wish.path),
            changes: vec![Change::Yaml {
                file: file.to_owned(),
                document: document.index,
                outer: None,
                edits: vec![edit],
            }],
        })
    })
}

/// Returns the first writer of a field.
pub(super) fn first_writer(origin: &Origin) -> &Origin {
    let mut at = origin;
    while let Some(before) = &at.before {
        at = before;
    }
    at
}

/// The object's name and namespace as its resource file has them, before any transformer: patches go by these.
struct Original {
    name: String,
    namespace: Option<String>,
}

impl Original {
    fn read(tree: &dyn Tree, desired: &Desired) -> Self {
        let written = |key: &str| {
            let route = Route::root().key("metadata").key(key);
            let first = first_writer(desired.origins.of(&route)?);
            let stream = parse(&tree.read(&first.file).ok()??);
            let node = stream.document(first.document)?.at(&first.route)?;
            node.text()
                .map(str::to_owned)
                .filter(|_| first.step == Step::Resource)
        };
        Self {
            name: written("name").unwrap_or_else(|| desired.id.name.clone()),
            namespace: written("namespace"),
        }
    }
}

/// Tells whether the file belongs to a component, which is made to be shared.
pub(super) fn is_in_component(tree: &dyn Tree, file: &str) -> bool {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let layer = Layer::read(tree, folder);
    layer.is_some_and(|layer| layer.value.get("kind").and_then(Value::as_str) == Some("Component"))
}

/// Joins a folder and a name.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

/// Resolves a path that a kustomization file names, from its folder.
pub(super) fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
