//! A folder of this machine as a tree to render from; it never leaves its root.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::render::{Entry, EntryKind, Tree};

/// The largest file that is read.
const LARGEST: u64 = 64 << 20;

/// A folder on disk, read as it is now.
///
/// Links are followed as far as they stay inside the root; one that leaves is a fault. Folders that hold a `.git` of
/// their own are submodules in [`Tree::list`], and are read like any other: what is checked out is there.
#[derive(Debug, Clone)]
pub struct DiskTree {
    root: PathBuf,
}

impl DiskTree {
    /// Opens a folder.
    ///
    /// # Errors
    /// It does not exist, or it is no folder.
    pub fn open(root: &Path) -> Result<Self, Fault> {
        let wrong = |e: &io::Error| {
            Fault::new(
                FaultKind::NotFound,
                format!("cannot read the folder {}", root.display()),
            )
            .because(e)
        };
        let real = fs::canonicalize(root).map_err(|e| wrong(&e))?;
        if !real.is_dir() {
            return Err(wrong(&io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self { root: real })
    }

    /// Returns the folder's real path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the real place of a path; `None` where nothing is there.
    fn resolve(&self, path: &str) -> Result<Option<PathBuf>, Fault> {
        let plain = Path::new(path);
        if plain
            .components()
            .any(|c| !matches!(c, Component::Normal(_) | Component::CurDir))
        {
            return Err(leaves(path));
        }
        let real = match fs::canonicalize(self.root.join(plain)) {
            Ok(real) => real,
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None);
            }
            Err(e) => return Err(unreadable(path, &e)),
        };
        if real.starts_with(&self.root) {
            Ok(Some(real))
        } else {
            Err(leaves(path))
        }
    }
}

impl Tree for DiskTree {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        let Some(real) = self.resolve(path)? else {
            return Ok(None);
        };
        let read = || -> io::Result<Option<Vec<u8>>> {
            let about = fs::metadata(&real)?;
            // A pipe or a device would wait for ever.
            if !about.is_file() {
                return Ok(None);
            }
            if about.len() > LARGEST {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            let mut bytes = Vec::with_capacity(about.len() as usize);
            fs::File::open(&real)?
                .take(LARGEST)
                .read_to_end(&mut bytes)?;
            Ok(Some(bytes))
        };
        read().map_err(|e| unreadable(path, &e))
    }

    fn list(&self, path: &str) -> Result<Option<Vec<Entry>>, Fault> {
        let Some(real) = self.resolve(path)?.filter(|real| real.is_dir()) else {
            return Ok(None);
        };
        let list = || -> io::Result<Vec<Entry>> {
            let mut entries = vec![];
            for entry in fs::read_dir(&real)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                // Git's own folder is no part of what it holds.
                if name != ".git" {
                    let kind = kind(&entry)?;
                    entries.push(Entry { name, kind });
                }
            }
            entries.sort();
            Ok(entries)
        };
        list().map(Some).map_err(|e| unreadable(path, &e))
    }

    fn real_path(&self, path: &str) -> Result<Option<String>, Fault> {
        let Some(real) = self.resolve(path)? else {
            return Ok(None);
        };
        let inside = real.strip_prefix(&self.root).unwrap_or(&real);
        let parts: Vec<_> = inside
            .components()
            .map(|c| c.as_os_str().to_string_lossy())
            .collect();
        Ok(Some(parts.join("/")))
    }
}

fn kind(entry: &fs::DirEntry) -> io::Result<EntryKind> {
    let kind = entry.file_type()?;
    Ok(if kind.is_symlink() {
        EntryKind::Link
    } else if kind.is_dir() && entry.path().join(".git").exists() {
        EntryKind::Submodule
    } else if kind.is_dir() {
        EntryKind::Directory
    } else {
        EntryKind::File
    })
}

fn leaves(path: &str) -> Fault {
    Fault::new(
        FaultKind::Refused,
        "the path leaves the folder that is rendered",
    )
    .at(path, None)
    .hint("render from a folder that holds everything, such as the repository's root")
}

fn unreadable(path: &str, error: &io::Error) -> Fault {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied => FaultKind::Forbidden,
        io::ErrorKind::FileTooLarge => FaultKind::Unsupported,
        _ => FaultKind::Render,
    };
    Fault::new(kind, "the file cannot be read")
        .at(path, None)
        .because(error)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::write_atomic;
    use super::*;

    #[test]
    fn reads_inside_and_never_outside() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        write_atomic(&root.join("shared/a.yaml"), b"a").unwrap();
        write_atomic(&root.join("sub/.git/HEAD"), b"").unwrap();
        write_atomic(&dir.path().join("secret"), b"s").unwrap();
        symlink("../shared/a.yaml", root.join("sub/in.yaml")).unwrap();
        symlink("../../secret", root.join("sub/out.yaml")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("shared", root.join("linked")).unwrap();
        let tree = DiskTree::open(&root).unwrap();
        assert_eq!(
            tree.read("linked/a.yaml").unwrap().as_deref(),
            Some(&b"a"[..])
        );
        assert_eq!(
            tree.real_path("sub/in.yaml").unwrap().as_deref(),
            Some("shared/a.yaml")
        );
        assert_eq!(tree.real_path("").unwrap().as_deref(), Some(""));
        for outside in [
            "sub/out.yaml",
            "../secret",
            "/etc/passwd",
            "sub/../../secret",
        ] {
            assert_eq!(
                tree.read(outside).unwrap_err().kind,
                FaultKind::Refused,
                "{outside}"
            );
        }
        assert_eq!(tree.read("loop").unwrap_err().kind, FaultKind::Render);
        for nothing in ["none", "shared", "shared/a.yaml/b"] {
            assert_eq!(tree.read(nothing).unwrap(), None, "{nothing}");
        }
        let listed: Vec<_> = tree
            .list("")
            .unwrap()
            .unwrap()
            .into_iter()
            .map(|e| (e.name, e.kind))
            .collect();
        assert_eq!(
            listed,
            [
                ("linked".to_owned(), EntryKind::Link),
                ("loop".to_owned(), EntryKind::Link),
                ("shared".to_owned(), EntryKind::Directory),
                ("sub".to_owned(), EntryKind::Submodule)
            ]
        );
        assert_eq!(tree.list("shared/a.yaml").unwrap(), None);
        assert!(DiskTree::open(&root.join("none")).is_err());
    }
}
