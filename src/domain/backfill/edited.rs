//! A tree with edited files laid over it, so that a plan can be rendered before anything is written.

use std::collections::BTreeMap;

use crate::domain::fault::Fault;
use crate::domain::render::{Entry, Tree};

/// A tree over which edited files lie. Only files that exist are edited, so folders are those of the tree below.
#[derive(Clone)]
pub(super) struct Edited<'t> {
    base: &'t dyn Tree,
    files: BTreeMap<String, Vec<u8>>,
}

impl<'t> Edited<'t> {
    pub(super) fn new(base: &'t dyn Tree) -> Self {
        Self {
            base,
            files: BTreeMap::new(),
        }
    }

    /// Returns where a path really lies; the path itself where the tree does not know.
    fn real(&self, path: &str) -> Result<String, Fault> {
        Ok(self
            .base
            .real_path(path)?
            .unwrap_or_else(|| path.to_owned()))
    }

    /// Lays new bytes over a file (over the target, where the path is a link).
    pub(super) fn write(&mut self, path: &str, bytes: Vec<u8>) -> Result<(), Fault> {
        let real = self.real(path)?;
        self.files.insert(real, bytes);
        Ok(())
    }

    /// Returns the edited files with their bytes before, those that did not change left out.
    pub(super) fn edits(&self) -> Result<Vec<super::FileEdit>, Fault> {
        let mut edits = vec![];
        for (path, after) in &self.files {
            let before = self.base.read(path)?.unwrap_or_default();
            if before != *after {
                edits.push(super::FileEdit {
                    path: path.clone(),
                    before,
                    after: after.clone(),
                });
            }
        }
        Ok(edits)
    }

    /// Returns the paths of the edited files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

impl Tree for Edited<'_> {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        if self.files.is_empty() {
            return self.base.read(path);
        }
        match self.files.get(&self.real(path)?) {
            Some(bytes) => Ok(Some(bytes.clone())),
            None => self.base.read(path),
        }
    }

    fn list(&self, path: &str) -> Result<Option<Vec<Entry>>, Fault> {
        self.base.list(path)
    }

    fn real_path(&self, path: &str) -> Result<Option<String>, Fault> {
        self.base.real_path(path)
    }
}
