//! A commit's files without a checkout.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use git2::{ObjectType, Oid, Repository, Tree as Folder, TreeEntry};

use super::mirror::Mirror;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::render::{Entry, EntryKind, Tree};
use crate::world::child::Input;

/// Links followed on one way before it counts as a loop, as Linux has it.
const MOST_LINKS: usize = 40;
/// The largest file that is read.
const LARGEST: usize = 64 << 20;

const LINK: i32 = 0o120_000;
const SUBMODULE: i32 = 0o160_000;

/// The files of one commit.
///
/// Links are followed as far as they stay inside; a file behind one that leaves the repository, or inside a submodule,
/// is a fault rather than a missing file.
pub struct GitTree {
    mirror: Mirror,
    repository: Mutex<Repository>,
    root: Oid,
    commit: String,
}

impl fmt::Debug for GitTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GitTree({})", self.commit)
    }
}

/// Where a way through a tree ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// A file: its real path, its blob, its mode.
    File(String, Oid, i32),
    /// A folder: its real path (`""` for the root) and its tree.
    Folder(String, Oid),
    /// Nothing is there; the real path that it would have.
    Nothing(String),
    /// It lies in, or is, this submodule.
    Submodule(String),
    /// A link on the way leaves the repository.
    Leaves(String),
    /// Links lead in a circle.
    Loop(String),
}

impl Mirror {
    /// Opens the files of a commit (40 hex digits, from [`Mirror::resolve`]).
    ///
    /// # Errors
    /// The commit is not here.
    pub fn tree(&self, commit: &str) -> Result<GitTree, Fault> {
        let repository = self.repository()?;
        let root = Oid::from_str(commit)
            .and_then(|oid| repository.find_commit(oid))
            .map(|c| c.tree_id())
            .map_err(|e| {
                self.fault(format!("commit {commit} is not in the repository"), &e)
                    .hint("fetch it")
            })?;
        Ok(GitTree {
            mirror: self.clone(),
            repository: Mutex::new(repository),
            root,
            commit: commit.to_owned(),
        })
    }
}

impl GitTree {
    /// Returns the commit whose files these are.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    fn walk<T>(
        &self,
        path: &str,
        then: impl FnOnce(&Repository, Found) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let repository = self
            .repository
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let found = find(&repository, self.root, path).map_err(|e| broken(path, &e))?;
        then(&repository, found)
    }
}

impl Tree for GitTree {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        self.walk(path, |repository, found| match found {
            Found::File(real, oid, _) => read(&self.mirror, repository, &real, oid).map(Some),
            Found::Folder(..) | Found::Nothing(_) => Ok(None),
            other => Err(other.refuse(path)),
        })
    }

    fn list(&self, path: &str) -> Result<Option<Vec<Entry>>, Fault> {
        self.walk(path, |repository, found| match found {
            Found::Folder(_, oid) => {
                let folder = repository.find_tree(oid).map_err(|e| broken(path, &e))?;
                Ok(Some(entries(&folder)))
            }
            Found::File(..) | Found::Nothing(_) => Ok(None),
            other => Err(other.refuse(path)),
        })
    }

    fn real_path(&self, path: &str) -> Result<Option<String>, Fault> {
        self.walk(path, |_, found| match found {
            Found::File(real, ..) | Found::Folder(real, _) => Ok(Some(real)),
            Found::Nothing(_) => Ok(None),
            Found::Submodule(at) if at == path => Ok(Some(at)),
            other => Err(other.refuse(path)),
        })
    }
}

impl Found {
    /// Words why nothing can be read or written there.
    pub(super) fn refuse(&self, path: &str) -> Fault {
        let fault = |kind, sentence: String| Fault::new(kind, sentence).at(path, None);
        match self {
            Self::Submodule(at) => fault(
                FaultKind::Unsupported,
                format!("the file lies in submodule {at}, which is another repository"),
            )
            .hint("work in the submodule's own repository"),
            Self::Leaves(at) => fault(
                FaultKind::Refused,
                format!("the link {at} leaves the repository"),
            )
            .hint("name a file inside the repository"),
            Self::Loop(at) => fault(
                FaultKind::Render,
                format!("the link {at} leads in a circle"),
            )
            .hint("correct the link"),
            Self::Nothing(_) => fault(FaultKind::NotFound, "there is no such file".into()),
            Self::Folder(..) => fault(FaultKind::Refused, "it is a folder".into()),
            Self::File(..) => fault(FaultKind::Refused, "it is a file".into()),
        }
    }
}

/// Follows a path from a tree's root, through links.
pub(super) fn find(repository: &Repository, root: Oid, path: &str) -> Result<Found, git2::Error> {
    let mut ahead: Vec<String> = parts(path).rev().map(str::to_owned).collect();
    // The folders on the way with their trees: `..` within a link goes back along them.
    let mut way: Vec<(String, Oid)> = vec![];
    let mut links = 0;
    let joined = |way: &[(String, Oid)], name: &str| {
        let mut names: Vec<&str> = way.iter().map(|(n, _)| n.as_str()).collect();
        names.extend((!name.is_empty()).then_some(name));
        names.join("/")
    };
    while let Some(name) = ahead.pop() {
        if name == ".." {
            if way.pop().is_none() {
                return Ok(Found::Leaves(path.to_owned()));
            }
            continue;
        }
        let here = joined(&way, &name);
        let folder = repository.find_tree(way.last().map_or(root, |(_, oid)| *oid))?;
        let Some(entry) = folder.get_name(&name) else {
            return Ok(nothing(&here, &ahead));
        };
        match (entry.kind(), entry.filemode()) {
            (_, SUBMODULE) => return Ok(Found::Submodule(here)),
            (_, LINK) => {
                links += 1;
                if links > MOST_LINKS {
                    return Ok(Found::Loop(here));
                }
                let target = repository.find_blob(entry.id())?;
                let target = String::from_utf8_lossy(target.content()).into_owned();
                if target.starts_with('/') || leaves(way.len(), &target) {
                    return Ok(Found::Leaves(here));
                }
                ahead.extend(parts(&target).rev().map(str::to_owned));
            }
            (Some(ObjectType::Tree), _) => way.push((name, entry.id())),
            (_, mode) if ahead.is_empty() => return Ok(Found::File(here, entry.id(), mode)),
            _ => return Ok(nothing(&here, &ahead)),
        }
    }
    let oid = way.last().map_or(root, |(_, oid)| *oid);
    Ok(Found::Folder(joined(&way, ""), oid))
}

fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|p| !p.is_empty() && *p != ".")
}

/// Tells whether a link's text climbs above the root from a folder `depth` below it.
fn leaves(depth: usize, target: &str) -> bool {
    let mut depth = depth;
    for part in parts(target) {
        match (part, depth) {
            ("..", 0) => return true,
            ("..", _) => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

fn nothing(here: &str, ahead: &[String]) -> Found {
    let mut path = here.to_owned();
    for part in ahead.iter().rev() {
        if part == ".." {
            path.truncate(path.rfind('/').unwrap_or(0));
        } else {
            path = if path.is_empty() {
                part.clone()
            } else {
                format!("{path}/{part}")
            };
        }
    }
    Found::Nothing(path)
}

/// Reads a file's bytes; what a partial clone lacks is fetched by the `git` program, as git does it.
pub(super) fn read(
    mirror: &Mirror,
    repository: &Repository,
    path: &str,
    oid: Oid,
) -> Result<Vec<u8>, Fault> {
    let size = repository
        .odb()
        .and_then(|o| o.read_header(oid))
        .map(|(size, _)| size);
    if let Ok(size @ LARGEST..) = size {
        return Err(Fault::new(
            FaultKind::Unsupported,
            format!("the file is too large to read ({} MB)", size >> 20),
        )
        .at(path, None));
    }
    match repository.find_blob(oid) {
        Ok(blob) => Ok(blob.content().to_vec()),
        Err(e) if mirror.is_own_clone() => {
            let asked = mirror.access().git(mirror.dir()).map(|mut git| {
                let git = git.args(["cat-file", "blob", &oid.to_string()]);
                mirror.access().run(git, Input::Empty)
            });
            match asked {
                Some(Ok(output)) if output.success => Ok(output.stdout),
                _ => Err(broken(path, &e)),
            }
        }
        Err(e) => Err(broken(path, &e)),
    }
}

fn broken(path: &str, error: &git2::Error) -> Fault {
    Fault::new(FaultKind::Git, "an object is missing from the repository")
        .at(path, None)
        .because(error.message())
        .hint("fetch again; a partial clone lacks what was never checked out")
}

fn entries(folder: &Folder<'_>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = folder
        .iter()
        .map(|entry| Entry {
            name: String::from_utf8_lossy(entry.name_bytes()).into_owned(),
            kind: kind(&entry),
        })
        .collect();
    entries.sort();
    entries
}

fn kind(entry: &TreeEntry<'_>) -> EntryKind {
    match (entry.kind(), entry.filemode()) {
        (_, SUBMODULE) => EntryKind::Submodule,
        (_, LINK) => EntryKind::Link,
        (Some(ObjectType::Tree), _) => EntryKind::Directory,
        _ => EntryKind::File,
    }
}

/// A Git LFS pointer: what stands in Git where the content lies elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LfsPointer {
    /// `sha256:…`.
    pub oid: String,
    /// Bytes of the content.
    pub size: u64,
}

impl LfsPointer {
    /// Recognises a pointer by git-lfs's own form: a small text that begins with its version line.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok().filter(|t| t.len() < 1024)?;
        let mut lines = text.lines();
        let version = lines.next()?.strip_prefix("version ")?;
        if !version.starts_with("https://git-lfs.github.com/spec/")
            && !version.starts_with("https://hawser.github.com/spec/")
        {
            return None;
        }
        let field = |name: &str| {
            text.lines()
                .find_map(|l| l.strip_prefix(name)?.strip_prefix(' '))
        };
        Some(Self {
            oid: field("oid")?.to_owned(),
            size: field("size")?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_pointers_only() {
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 12\n";
        assert_eq!(LfsPointer::of(pointer.as_bytes()).unwrap().size, 12);
        for other in [
            "kind: ConfigMap\n",
            "version https://example.test/v1\noid a\nsize 1\n",
            "",
        ] {
            assert_eq!(LfsPointer::of(other.as_bytes()), None, "{other}");
        }
    }
}
