//! A folder on disk as a [`Tree`], for tests that render what lies in `tests/corpus`; and small readers beside it.

use std::path::{Component, Path, PathBuf};

use gitops_tui::domain::fault::{Fault, FaultKind};
use gitops_tui::domain::object::{Desired, Home};
use gitops_tui::domain::render::{Entry, EntryKind, Tree};
use gitops_tui::domain::yaml::{self, Dialect, Route};
use serde_json::Value;

/// A folder on disk.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(path: impl AsRef<Path>) -> Self {
        Self(path.as_ref().canonicalize().unwrap())
    }

    fn inside(&self, path: &str) -> Result<Option<PathBuf>, Fault> {
        let Ok(real) = self.0.join(path).canonicalize() else {
            return Ok(None);
        };
        if real.starts_with(&self.0) {
            return Ok(Some(real));
        }
        Err(Fault::new(
            FaultKind::Render,
            format!("{path} leaves the tree"),
        ))
    }
}

impl Tree for Folder {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        Ok(self
            .inside(path)?
            .filter(|real| real.is_file())
            .map(|real| std::fs::read(real).unwrap()))
    }

    fn list(&self, path: &str) -> Result<Option<Vec<Entry>>, Fault> {
        let Some(real) = self.inside(path)?.filter(|real| real.is_dir()) else {
            return Ok(None);
        };
        let mut entries: Vec<Entry> = std::fs::read_dir(real)
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let kind = entry.file_type().unwrap();
                Entry {
                    name: entry.file_name().into_string().unwrap(),
                    kind: match kind {
                        kind if kind.is_symlink() => EntryKind::Link,
                        kind if kind.is_dir() => EntryKind::Directory,
                        _ => EntryKind::File,
                    },
                }
            })
            .collect();
        entries.sort();
        Ok(Some(entries))
    }

    fn real_path(&self, path: &str) -> Result<Option<String>, Fault> {
        let real = self.inside(path)?;
        Ok(real.map(|real| {
            let parts = real.strip_prefix(&self.0).unwrap().components();
            let names: Vec<&str> = parts
                .map(|part| match part {
                    Component::Normal(name) => name.to_str().unwrap(),
                    _ => "",
                })
                .collect();
            names.join("/")
        }))
    }
}

/// The folder of a corpus.
pub(crate) fn corpus(subject: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(subject)
}

/// The cases of a corpus, by name.
pub(crate) fn cases(subject: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(corpus(subject)).unwrap();
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.is_dir());
    cases.sort();
    cases
}

/// A file of a case, where there is one.
pub(crate) fn text(case: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(case.join(name)).ok()
}

/// The objects of a YAML text.
pub(crate) fn objects(text: &str) -> Vec<Value> {
    let stream = yaml::parse(text.as_bytes());
    assert_eq!(stream.problems, vec![]);
    let values = stream
        .documents
        .iter()
        .map(|document| document.to_json(Dialect::Kubectl).unwrap());
    values.filter(|value| !value.is_null()).collect()
}

/// Shows where two texts part.
pub(crate) fn difference(expected: &str, got: &str) -> String {
    let diff = similar::TextDiff::from_lines(expected, got);
    diff.unified_diff()
        .context_radius(2)
        .header("expected", "got")
        .to_string()
}

/// Checks that every leaf of an object has an origin, and that one in the repository names a file and a line that
/// exist; returns the number of leaves.
pub(crate) fn check_places(tree: &Path, object: &Desired) -> usize {
    fn leaves(value: &Value, route: &Route, found: &mut Vec<Route>) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (key, value) in map {
                    leaves(value, &route.key(key.as_str()), found);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    leaves(item, &route.index(index), found);
                }
            }
            _ => found.push(route.clone()),
        }
    }
    let mut routes = vec![];
    leaves(&object.value, &Route::root(), &mut routes);
    for route in &routes {
        let origin = object.origins.nearest(route);
        let origin = origin.unwrap_or_else(|| panic!("{}: {route} has no origin", object.id));
        if origin.home == Home::Repository {
            let text = std::fs::read_to_string(tree.join(origin.file.as_ref()))
                .unwrap_or_else(|_| panic!("{}: {route} names {}", object.id, origin.file));
            let lines = text.lines().count();
            assert!(
                (1..=lines.max(1)).contains(&origin.line),
                "{}: {route}: {origin:?}",
                object.id
            );
        }
    }
    routes.len()
}
