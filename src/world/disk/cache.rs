//! Files that can be had again: kept under the hash of what they are, the oldest dropped beyond a number.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use super::file::write_atomic;

/// A folder of such files. A cache that cannot be read or written is an empty one.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
    most: usize,
}

impl Cache {
    /// Keeps at most `most` files in `folder`, which need not exist yet.
    pub fn new(folder: &Path, most: usize) -> Self {
        Self {
            folder: folder.to_owned(),
            most,
        }
    }

    fn file(&self, key: &str) -> PathBuf {
        let hash = Sha256::digest(key.as_bytes());
        self.folder.join(format!("{hash:x}"))
    }

    /// Returns what is kept for `key`.
    #[expect(
        clippy::disallowed_methods,
        reason = "a cache's own file, bounded when it was written"
    )]
    pub fn read(&self, key: &str) -> Option<Vec<u8>> {
        fs::read(self.file(key)).ok()
    }

    /// Keeps `bytes` for `key`; what was kept longest goes where there are too many.
    pub fn write(&self, key: &str, bytes: &[u8]) {
        let written = write_atomic(&self.file(key), bytes);
        let (Ok(()), Ok(entries)) = (written, fs::read_dir(&self.folder)) else {
            return;
        };
        let mut files: Vec<(SystemTime, PathBuf)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
            })
            .collect();
        files.sort();
        let spare = files.len().saturating_sub(self.most);
        for (_, file) in files.into_iter().take(spare) {
            // Another program may have dropped it already.
            drop(fs::remove_file(file));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_it_was_given_and_no_more_than_it_may() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(&folder.path().join("a/b"), 2);
        assert_eq!(cache.read("x"), None);
        for key in ["x", "y", "z", "z"] {
            cache.write(key, key.as_bytes());
        }
        assert_eq!(cache.read("z"), Some(b"z".to_vec()));
        assert_eq!(fs::read_dir(folder.path().join("a/b")).unwrap().count(), 2);
    }
}
