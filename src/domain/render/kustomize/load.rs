//! Reading: which file a path means, whether it may be read, and the parsed files that builds share.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use super::decode;
use super::model::Kustomization;
use super::node::Node;
use super::place::{Place, Placed};
use super::{LoadRestriction, Options};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::object::Step;
use crate::domain::render::Tree;
use crate::domain::text::without_logins;
use crate::domain::yaml::{self, Dialect};

/// The names of a kustomization file.
pub(super) const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// A file's documents, or why there are none.
type Parsed = Result<Vec<Node>, Fault>;

/// Parsed files, shared by the builds that are handed the same cache. A file is parsed again where its bytes differ.
#[derive(Debug, Default)]
pub struct Cache(Mutex<HashMap<String, Kept>>);

/// A file's bytes and what was read from them.
type Kept = (Vec<u8>, Arc<Parsed>);

/// A folder that a kustomization file stands in.
#[derive(Debug, Clone)]
pub(super) struct Root {
    /// Its real path.
    pub(super) dir: String,
    /// The real paths of the folders that led here.
    pub(super) visited: Vec<String>,
}

/// What a build reads from and writes its findings to.
pub(super) struct Context<'t> {
    pub(super) tree: &'t dyn Tree,
    pub(super) options: &'t Options,
    pub(super) cache: &'t Cache,
    pub(super) problems: Vec<Fault>,
    pub(super) warnings: Vec<Fault>,
    pub(super) inputs: BTreeSet<String>,
}

/// Makes a fault of rendering at a place.
pub(super) fn fault_at(place: &Place, sentence: impl Into<String>) -> Fault {
    Fault::new(FaultKind::Render, sentence).at(&*place.file, place.line())
}

/// Makes a fault that names something this version does not do.
pub(super) fn unsupported(place: &Place, what: &str) -> Fault {
    Fault::new(FaultKind::Unsupported, format!("not supported yet: {what}"))
        .at(&*place.file, place.line())
}

/// Joins a relative path to a folder; `None` where it climbs out of the tree.
pub(super) fn join(dir: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Tells whether `path` lies in the folder `dir` or below.
pub(super) fn is_below(dir: &str, path: &str) -> bool {
    dir.is_empty()
        || path == dir
        || path
            .strip_prefix(dir)
            .is_some_and(|rest| rest.starts_with('/'))
}

/// Tells whether kustomize would fetch this from the network.
pub(super) fn is_remote(path: &str) -> bool {
    let known = [
        "http://", "https://", "ssh://", "git://", "file://", "git::", "gh:", "git@",
    ];
    if known.iter().any(|scheme| path.starts_with(scheme)) {
        return true;
    }
    let host = path.split(['/', ':']).next().unwrap_or_default();
    host == "github.com" || (host.contains('@') && path[host.len()..].starts_with(':'))
}

impl Context<'_> {
    /// Reads a file that a kustomization in `root` names.
    pub(super) fn read(
        &mut self,
        root: &Root,
        path: &str,
        at: &Place,
    ) -> Result<(String, Vec<u8>), Fault> {
        if path.starts_with("http://") || path.starts_with("https://") {
            return Err(Self::remote(path, at));
        }
        if path.starts_with('/') {
            return Err(fault_at(
                at,
                format!("`{path}` is an absolute path, which no repository has"),
            ));
        }
        let outside = |really: &str| {
            fault_at(
                at,
                format!("security; file '{path}'{really} is not in or below '{}'", shown(&root.dir)),
            )
            .hint("kustomize reads files only below the folder of the kustomization.yaml that names them")
        };
        let Some(file) = join(&root.dir, path) else {
            return Err(outside(""));
        };
        let Some(real) = self.tree.real_path(&file)? else {
            return Err(fault_at(
                at,
                format!("`{path}` does not exist (looked for {file})"),
            ));
        };
        if self.options.restriction == LoadRestriction::Root && !is_below(&root.dir, &real) {
            return Err(outside(&if real == file {
                String::new()
            } else {
                format!(" (a link to {real})")
            }));
        }
        self.inputs.insert(file.clone());
        match self.tree.read(&file)? {
            Some(bytes) => Ok((file, bytes)),
            None => Err(fault_at(at, format!("'{path}' must resolve to a file"))),
        }
    }

    /// Names what only the network has; a login that the address carries is a secret and is left out.
    pub(super) fn remote(path: &str, at: &Place) -> Fault {
        Fault::new(
            FaultKind::Unsupported,
            format!("remote base {} needs the network", without_logins(path)),
        )
        .at(&*at.file, at.line())
    }

    /// Reads a file of objects or patches; every node is marked as a resource.
    pub(super) fn objects(
        &mut self,
        root: &Root,
        path: &str,
        at: &Place,
    ) -> Result<Vec<Node>, Fault> {
        let (file, bytes) = self.read(root, path, at)?;
        let mut cache = self.cache.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((old, parsed)) = cache.get(&file)
            && *old == bytes
        {
            return Parsed::clone(parsed);
        }
        let parsed = documents(&bytes, &Place::file(file.as_str()), &Step::Resource, false);
        cache.insert(file, (bytes, Arc::new(parsed.clone())));
        parsed
    }

    /// Finds the folder that a kustomization in `root` names.
    pub(super) fn directory(&mut self, root: &Root, path: &str, at: &Place) -> Result<Root, Fault> {
        if is_remote(path) {
            return Err(Self::remote(path, at));
        }
        if path.starts_with('/') {
            return Err(fault_at(
                at,
                format!("new root '{path}' cannot be absolute"),
            ));
        }
        let Some(dir) = join(&root.dir, path) else {
            return Err(fault_at(
                at,
                format!("`{path}` lies outside the repository"),
            ));
        };
        let Some(real) = self.tree.real_path(&dir)? else {
            return Err(fault_at(
                at,
                format!("`{path}` does not exist (looked for {dir})"),
            ));
        };
        if self.tree.list(&real)?.is_none() {
            return Err(fault_at(
                at,
                format!("'{path}' must be a directory to be a root"),
            ));
        }
        let mut visited = root.visited.clone();
        visited.push(root.dir.clone());
        if let Some(seen) = visited.iter().find(|seen| is_below(&real, seen)) {
            return Err(fault_at(
                at,
                format!(
                    "cycle detected: candidate root '{}' contains visited root '{}'",
                    shown(&real),
                    shown(seen)
                ),
            ));
        }
        self.inputs.insert(real.clone());
        Ok(Root { dir: real, visited })
    }

    /// Reads the kustomization file of a folder.
    pub(super) fn kustomization(
        &mut self,
        root: &Root,
        at: &Place,
    ) -> Result<Kustomization, Fault> {
        let (read, file) = load(self.tree, &root.dir, false)?.ok_or_else(|| {
            let dir = shown(&root.dir);
            // The folder that was asked for is no line of a file.
            let line = at.line().filter(|_| *at.file != *root.dir);
            Fault::new(
                FaultKind::Render,
                format!(
                    "unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in \
                     directory '{dir}'"
                ),
            )
            .at(&*at.file, line)
            .hint("add a kustomization.yaml, or name another directory")
        })?;
        self.inputs.insert(file);
        Ok(read)
    }
}

/// Returns a folder's path for a sentence.
fn shown(dir: &str) -> &str {
    if dir.is_empty() { "." } else { dir }
}

/// Reads the kustomization file of the folder `dir`, with the file's path; `None` where there is none. `lenient` lets
/// unknown fields pass.
pub fn load(
    tree: &dyn Tree,
    dir: &str,
    lenient: bool,
) -> Result<Option<(Kustomization, String)>, Fault> {
    let mut found = vec![];
    for name in NAMES {
        let path = join(dir, name).unwrap_or_default();
        if let Some(bytes) = tree.read(&path)? {
            found.push((path, bytes));
        }
    }
    match &found[..] {
        [] => Ok(None),
        [(path, bytes)] => Ok(Some((parse(path, bytes, lenient)?, path.clone()))),
        [(path, _), ..] => Err(Fault::new(
            FaultKind::Render,
            format!("Found multiple kustomization files under: {}", shown(dir)),
        )
        .at(path.as_str(), None)),
    }
}

/// Reads a kustomization file.
pub fn parse(path: &str, bytes: &[u8], lenient: bool) -> Result<Kustomization, Fault> {
    let place = Place::file(path);
    let Some(node) = configuration(bytes, &place)? else {
        return Err(fault_at(&place, "kustomization.yaml is empty"));
    };
    let mut read =
        decode::kustomization(&node, lenient).map_err(|refusal| refused(&refusal, &place))?;
    read.file = path.into();
    Ok(read)
}

/// Words a refusal.
pub(super) fn refused(refusal: &decode::Refusal, place: &Place) -> Fault {
    let place = refusal.place.as_ref().unwrap_or(place);
    fault_at(
        place,
        format!("invalid Kustomization: {}", refusal.sentence),
    )
}

/// Reads the first document of a configuration file by kubectl's rules.
pub(super) fn configuration(bytes: &[u8], place: &Place) -> Result<Option<Node>, Fault> {
    let stream = yaml::parse(bytes);
    let refused = |problem: &yaml::Problem| malformed(problem, place);
    let Some(document) = stream.documents.first() else {
        return stream
            .problems
            .first()
            .map_or(Ok(None), |problem| Err(refused(problem)));
    };
    if let Some(problem) = stream.problems.first()
        && document.index > 0
    {
        return Err(refused(problem));
    }
    if document.root().is_none() {
        return Ok(None);
    }
    let place = Place {
        document: document.index,
        ..place.clone()
    };
    Node::read(document, Dialect::Kubectl, place, Step::Resource, false)
        .map(Some)
        .map_err(|p| refused(&p))
}

/// Words what is wrong with a file's YAML.
pub(super) fn malformed(problem: &yaml::Problem, place: &Place) -> Fault {
    let line = place.line.max(1) + problem.line - 1;
    Fault::new(
        FaultKind::Render,
        format!(
            "{} is malformed YAML: line {line}: {}",
            place.file, problem.message
        ),
    )
    .at(&*place.file, line)
}

/// Reads the documents of a text of objects by kustomize's rules; empty ones are left out.
pub(super) fn documents(bytes: &[u8], place: &Place, step: &Step, inline: bool) -> Parsed {
    // Windows line ends are taken out of the whole text before it is read.
    let text;
    let bytes = if bytes.contains(&b'\r') {
        text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
        text.as_bytes()
    } else {
        bytes
    };
    let stream = yaml::parse(bytes);
    if let Some(problem) = stream.problems.first() {
        return Err(malformed(problem, place));
    }
    let mut nodes = vec![];
    for document in &stream.documents {
        if document.root().is_none() {
            continue;
        }
        let place = Place {
            document: if inline {
                place.document
            } else {
                document.index
            },
            ..place.clone()
        };
        let node = Node::read(
            document,
            Dialect::Kustomize,
            place.clone(),
            step.clone(),
            inline,
        )
        .map_err(|problem| malformed(&problem, &place))?;
        if !node.is_null() {
            nodes.push(node);
        }
    }
    Ok(nodes)
}

/// Reads the documents of an inline text.
pub(super) fn inline_documents(text: &Placed<super::model::Text>, step: &Step) -> Parsed {
    let place = Place {
        line: text.value.first_line,
        ..text.place.clone()
    };
    documents(text.value.text.as_bytes(), &place, step, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_base_is_named_without_its_login() {
        for path in [
            "https://ada:t0ken@git.example.test/team/repo//base?ref=v1",
            "git::https://t0ken@git.example.test/team/repo",
        ] {
            let fault = Context::remote(path, &Place::file("kustomization.yaml"));
            assert!(
                is_remote(path) && !format!("{fault:?}").contains("t0ken"),
                "{fault}"
            );
        }
    }
}
