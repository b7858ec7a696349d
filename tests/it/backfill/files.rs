//! A tree of files in memory.

use std::collections::BTreeMap;

use gitops_tui::domain::fault::Fault;
use gitops_tui::domain::render::{Entry, EntryKind, Tree};

/// Files in memory.
#[derive(Default, Clone)]
pub(crate) struct Files(pub(crate) BTreeMap<String, Vec<u8>>);

impl Files {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self(
            files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
                .collect(),
        )
    }

    /// Reads a folder of the corpus.
    pub(crate) fn corpus(folder: &std::path::Path) -> Self {
        fn walk(folder: &std::path::Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
                if entry.path().is_dir() {
                    walk(&entry.path(), &format!("{name}/"), files);
                } else {
                    files.insert(name, std::fs::read(entry.path()).unwrap());
                }
            }
        }
        let mut files = BTreeMap::new();
        walk(folder, "", &mut files);
        Self(files)
    }
}

impl Tree for Files {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        Ok(self.0.get(path).cloned())
    }

    fn list(&self, path: &str) -> Result<Option<Vec<Entry>>, Fault> {
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{path}/")
        };
        let mut entries: Vec<Entry> = self
            .0
            .keys()
            .filter_map(|file| file.strip_prefix(&prefix))
            .map(|rest| match rest.split_once('/') {
                Some((name, _)) => (name, EntryKind::Directory),
                None => (rest, EntryKind::File),
            })
            .map(|(name, kind)| Entry {
                name: name.to_owned(),
                kind,
            })
            .collect();
        entries.dedup();
        Ok((!entries.is_empty()).then_some(entries))
    }

    fn real_path(&self, path: &str) -> Result<Option<String>, Fault> {
        let is_folder = path.is_empty()
            || self
                .0
                .keys()
                .any(|file| file.starts_with(&format!("{path}/")));
        Ok((is_folder || self.0.contains_key(path)).then(|| path.to_owned()))
    }
}
