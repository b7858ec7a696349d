//! What the kustomize-controller builds from: the repository as the source-controller packed it.
//!
//! An artifact is not a checkout. Symbolic links and submodules are gone, ignore rules and a sparse checkout have taken
//! files away; a build that names one of them fails in the cluster although it works on a laptop. So the tree is walked
//! once and what is left answers every question after that.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ignore::{Pattern, Rules};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::render::{Entry, EntryKind, Tree};

/// A repository as its artifact holds it.
pub(super) struct Artifact<'t> {
    inner: &'t dyn Tree,
    files: BTreeSet<String>,
    folders: BTreeMap<String, BTreeMap<String, EntryKind>>,
}

impl<'t> Artifact<'t> {
    /// Packs `tree` as the source object says; without one, by `.sourceignore` files and the defaults.
    pub(super) fn pack(tree: &'t dyn Tree, source: Option<&Value>) -> Result<Self, Fault> {
        let spec = source.and_then(|source| source.get("spec"));
        let mut checkout = Checkout {
            tree,
            sparse: spec.map(sparse_folders).unwrap_or_default(),
            found: vec![],
            patterns: vec![],
        };
        checkout.walk(&mut vec![])?;
        let Checkout {
            found,
            mut patterns,
            ..
        } = checkout;
        if let Some(text) = spec
            .and_then(|spec| spec.get("ignore"))
            .and_then(Value::as_str)
        {
            patterns.extend(Pattern::read_all(text, &[]));
        }
        let rules = Rules::new(patterns);
        let mut artifact = Self {
            inner: tree,
            files: BTreeSet::new(),
            folders: BTreeMap::from([(String::new(), BTreeMap::new())]),
        };
        for (path, kind) in found {
            let parts: Vec<&str> = path.split('/').collect();
            if !rules.leave_out(&parts, kind == EntryKind::Directory) {
                artifact.add(&path, kind);
            }
        }
        Ok(artifact)
    }

    fn add(&mut self, path: &str, kind: EntryKind) {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if kind == EntryKind::File {
            self.files.insert(path.to_owned());
        } else if self.folders.contains_key(path) {
            return;
        } else {
            self.folders.insert(path.to_owned(), BTreeMap::new());
        }
        if !self.folders.contains_key(parent) {
            self.add(parent, EntryKind::Directory);
        }
        if let Some(folder) = self.folders.get_mut(parent) {
            folder.insert(name.to_owned(), kind);
        }
    }
}

impl Tree for Artifact<'_> {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        if self.files.contains(path) {
            self.inner.read(path)
        } else {
            Ok(None)
        }
    }

    fn list(&self, path: &str) -> Result<Option<Vec<Entry>>, Fault> {
        Ok(self.folders.get(path).map(|folder| {
            folder
                .iter()
                .map(|(name, kind)| Entry {
                    name: name.clone(),
                    kind: *kind,
                })
                .collect()
        }))
    }

    fn real_path(&self, path: &str) -> Result<Option<String>, Fault> {
        let is_there = self.files.contains(path) || self.folders.contains_key(path);
        Ok(is_there.then(|| path.to_owned()))
    }
}

/// The walk over the checked-out files, collecting them and the patterns of every `.sourceignore`.
struct Checkout<'t> {
    tree: &'t dyn Tree,
    sparse: Vec<Vec<String>>,
    found: Vec<(String, EntryKind)>,
    patterns: Vec<Pattern>,
}

impl Checkout<'_> {
    fn walk(&mut self, folder: &mut Vec<String>) -> Result<(), Fault> {
        let path = folder.join("/");
        let entries = self.tree.list(&path)?.unwrap_or_default();
        if self.checks_out_files_of(folder)
            && entries
                .iter()
                .any(|e| e.name == ".sourceignore" && e.kind == EntryKind::File)
        {
            let bytes = self
                .tree
                .read(&join(&path, ".sourceignore"))?
                .unwrap_or_default();
            let parts: Vec<&str> = folder.iter().map(String::as_str).collect();
            self.patterns
                .extend(Pattern::read_all(&String::from_utf8_lossy(&bytes), &parts));
        }
        for entry in entries {
            let is_folder = matches!(entry.kind, EntryKind::Directory | EntryKind::Submodule);
            let here = join(&path, &entry.name);
            if entry.kind == EntryKind::File && self.checks_out_files_of(folder) {
                self.found.push((here, EntryKind::File));
            } else if is_folder && entry.name != ".git" {
                folder.push(entry.name);
                if self.checks_out_folder(folder) {
                    self.found.push((here, EntryKind::Directory));
                    if entry.kind == EntryKind::Directory {
                        self.walk(folder)?;
                    }
                }
                folder.pop();
            }
        }
        Ok(())
    }

    fn checks_out_files_of(&self, folder: &[String]) -> bool {
        self.sparse.is_empty() || self.sparse.iter().any(|kept| folder.starts_with(kept))
    }

    fn checks_out_folder(&self, folder: &[String]) -> bool {
        self.checks_out_files_of(folder) || self.sparse.iter().any(|kept| kept.starts_with(folder))
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

fn sparse_folders(spec: &Value) -> Vec<Vec<String>> {
    let listed = spec.get("sparseCheckout").and_then(Value::as_array);
    listed
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|path| {
            path.split('/')
                .filter(|part| !part.is_empty() && *part != ".")
                .map(str::to_owned)
                .collect()
        })
        .collect()
}

/// Returns a problem for each part of a source that one repository alone cannot give.
pub(super) fn missing_parts(source: Option<&Value>) -> Vec<Fault> {
    let spec = source.and_then(|source| source.get("spec"));
    let included = spec
        .and_then(|spec| spec.get("include"))
        .and_then(Value::as_array);
    included
        .into_iter()
        .flatten()
        .map(|include| {
            let name = include
                .pointer("/repository/name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let into = include.get("toPath").and_then(Value::as_str).unwrap_or(name);
            Fault::new(
                FaultKind::Unsupported,
                format!("the source includes files of GitRepository `{name}` at `{into}`, which are not here"),
            )
            .hint("objects from that folder cannot be rendered; read them in the included repository")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A tree of paths; `@` ends a link, `%` a submodule; a file's text is its path, `.sourceignore` drops `*.txt`.
    struct Paths(&'static [&'static str]);

    impl Tree for Paths {
        fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
            let text = if path.ends_with(".sourceignore") {
                "*.txt"
            } else {
                path
            };
            Ok(Some(text.into()))
        }

        fn list(&self, path: &str) -> Result<Option<Vec<Entry>>, Fault> {
            let mut entries = BTreeMap::new();
            for at in self.0 {
                let inside = if path.is_empty() {
                    Some(*at)
                } else {
                    at.strip_prefix(path)
                        .and_then(|rest| rest.strip_prefix('/'))
                };
                let Some(inside) = inside else { continue };
                let (name, kind) = match inside.split_once('/') {
                    Some((folder, _)) => (folder, EntryKind::Directory),
                    None if inside.ends_with('@') => {
                        (inside.trim_end_matches('@'), EntryKind::Link)
                    }
                    None if inside.ends_with('%') => {
                        (inside.trim_end_matches('%'), EntryKind::Submodule)
                    }
                    None => (inside, EntryKind::File),
                };
                entries.insert(name.to_owned(), kind);
            }
            Ok(Some(
                entries
                    .into_iter()
                    .map(|(name, kind)| Entry { name, kind })
                    .collect(),
            ))
        }

        fn real_path(&self, path: &str) -> Result<Option<String>, Fault> {
            Ok(Some(path.to_owned()))
        }
    }

    fn names(tree: &dyn Tree, path: &str) -> Vec<String> {
        let entries = tree.list(path).unwrap().unwrap_or_default();
        entries.into_iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn lacks_links_and_what_the_rules_take() {
        let tree = Paths(&[
            "a.yaml",
            "b.yaml@",
            "c.png",
            "sub/x.png",
            "sub/y.yaml",
            "mod%",
            ".git/config",
        ]);
        let artifact = Artifact::pack(&tree, None).unwrap();
        assert_eq!(names(&artifact, ""), ["a.yaml", "mod", "sub"]);
        assert_eq!(names(&artifact, "sub"), ["y.yaml"]);
        assert!(artifact.read("b.yaml").unwrap().is_none());
        assert!(artifact.read("sub/x.png").unwrap().is_none());
        assert_eq!(artifact.read("sub/y.yaml").unwrap().unwrap(), b"sub/y.yaml");
    }

    #[test]
    fn scopes_nested_rules_and_lets_the_source_speak_last() {
        let tree = Paths(&["n.txt", "sub/.sourceignore", "sub/n.txt", "sub/keep.txt"]);
        let source = json!({"spec": {"ignore": "!keep.txt"}});
        let artifact = Artifact::pack(&tree, Some(&source)).unwrap();
        assert_eq!(names(&artifact, ""), ["n.txt", "sub"]);
        assert_eq!(names(&artifact, "sub"), [".sourceignore", "keep.txt"]);
    }

    #[test]
    fn keeps_only_sparse_folders() {
        let tree = Paths(&[
            "root.yaml",
            "apps/a.yaml",
            "apps/x/b.yaml",
            "infra/c.yaml",
            "deep/in/d.yaml",
            "deep/e.yaml",
        ]);
        let source = json!({"spec": {"sparseCheckout": ["./apps", "deep/in"]}});
        let artifact = Artifact::pack(&tree, Some(&source)).unwrap();
        assert_eq!(names(&artifact, ""), ["apps", "deep"]);
        assert_eq!(names(&artifact, "apps"), ["a.yaml", "x"]);
        assert_eq!(names(&artifact, "deep"), ["in"]);
    }
}
