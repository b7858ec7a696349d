//! The demo's repository: a real bare Git repository in a temporary folder, with a history told in relative times.
//!
//! Identity, messages and times are fixed, so that the same `now` gives the same commit ids. The folder is the caller's.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use git2::{IndexEntry, IndexTime, Oid, Signature, Time};
use jiff::{SignedDuration, Timestamp};

use super::assets::FILES;
use super::render::Rendered;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::render::{Entry, EntryKind, Tree};

/// One commit of the story.
struct Chapter {
    /// The branch that it moves; a new one starts at the commit before.
    branch: &'static str,
    minutes_ago: i64,
    author: &'static str,
    message: &'static str,
    edits: &'static [(&'static str, &'static str, &'static str)],
}

const DAY: i64 = 24 * 60;
const CHECKOUT: &str = "apps/checkout/overlays/prod/kustomization.yaml";
const SEARCH: &str = "apps/search/overlays/staging/kustomization.yaml";

/// The history after the first commit, oldest first: each edit is (file, old text, new text), applied once.
const STORY: &[Chapter] = &[
    Chapter {
        branch: "main",
        minutes_ago: 12 * DAY,
        author: "Ada Novak",
        message: "checkout: release 2.14.0",
        edits: &[
            (
                CHECKOUT,
                "checkout-api\n    newTag: 2.13.4",
                "checkout-api\n    newTag: 2.14.0",
            ),
            (
                CHECKOUT,
                "checkout-worker\n    newTag: 2.13.4",
                "checkout-worker\n    newTag: 2.14.0",
            ),
        ],
    },
    Chapter {
        branch: "main",
        minutes_ago: 6 * DAY,
        author: "Jonas Brandt",
        message: "catalog: round prices half-even",
        edits: &[("apps/catalog/base/settings.yaml", "half-up", "half-even")],
    },
    Chapter {
        branch: "main",
        minutes_ago: 3 * DAY,
        author: "Mei Tanaka",
        message: "website: 2026.11.3",
        edits: &[(
            "apps/website/overlays/staging/kustomization.yaml",
            "2026.10.9",
            "2026.11.3",
        )],
    },
    Chapter {
        branch: "next",
        minutes_ago: 25,
        author: "Mei Tanaka",
        message: "search: 0.9.0 with a larger index cache",
        edits: &[
            (SEARCH, "0.8.7", "0.9.0"),
            ("apps/search/base/deployment.yaml", "512Mi", "768Mi"),
        ],
    },
    Chapter {
        branch: "main",
        minutes_ago: 120,
        author: "Jonas Brandt",
        message: "recommendations: run the trainer beside the model",
        edits: &[(
            "apps/recommendations/overlays/prod/kustomization.yaml",
            "  - ../../base\n",
            "  - ../../base\n  - trainer.yaml\n",
        )],
    },
];

/// When the first commit was made.
pub(super) const IMPORTED: i64 = 40 * DAY;

/// A commit of the demo, as the story needs it later.
#[derive(Debug, Clone)]
pub(super) struct Commit {
    /// Its branch.
    pub(super) branch: &'static str,
    /// Full id.
    pub(super) id: String,
    /// Minutes before the start.
    pub(super) minutes_ago: i64,
}

/// The repository.
#[derive(Debug)]
pub(super) struct Repository {
    path: PathBuf,
    history: Vec<Commit>,
    /// What was read already; commits do not change.
    read: Mutex<HashMap<String, Arc<Files>>>,
}

fn git(what: &'static str) -> impl Fn(git2::Error) -> Fault {
    move |error| {
        Fault::new(FaultKind::Git, format!("the demo could not {what}")).because(error.message())
    }
}

impl Repository {
    /// Writes the repository and its history into `folder`.
    pub(super) fn write(folder: &Path, now: Timestamp) -> Result<Self, Fault> {
        let path = folder.join("fleet.git");
        let mut options = git2::RepositoryInitOptions::new();
        options
            .bare(true)
            .initial_head("main")
            .external_template(false);
        let repo =
            git2::Repository::init_opts(&path, &options).map_err(git("make its repository"))?;
        let history = tell(&repo, now)?;
        Ok(Self {
            path,
            history,
            read: Mutex::default(),
        })
    }

    /// Returns the bare repository's folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the URL under which apps name it.
    pub(super) fn url(&self) -> String {
        format!("file://{}", self.path.display())
    }

    /// Returns the history, oldest first.
    pub(super) fn history(&self) -> &[Commit] {
        &self.history
    }

    fn open(&self) -> Result<git2::Repository, Fault> {
        git2::Repository::open_bare(&self.path).map_err(git("open its repository"))
    }

    /// Returns the commit that `name` (a branch, a tag, a commit) means now.
    pub(super) fn resolve(&self, name: &str) -> Result<String, Fault> {
        let repo = self.open()?;
        let name = if name.is_empty() { "HEAD" } else { name };
        let commit = repo
            .revparse_single(name)
            .and_then(|object| object.peel_to_commit())
            .map_err(git("find a revision"))?;
        Ok(commit.id().to_string())
    }

    /// Returns all files of a commit.
    pub(super) fn files(&self, commit: &str) -> Result<Arc<Files>, Fault> {
        let lock = || self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = lock().get(commit) {
            return Ok(Arc::clone(files));
        }
        let files = Arc::new(self.load(commit)?);
        lock().insert(commit.to_owned(), Arc::clone(&files));
        Ok(files)
    }

    fn load(&self, commit: &str) -> Result<Files, Fault> {
        let repo = self.open()?;
        let tree = Oid::from_str(commit)
            .and_then(|id| repo.find_commit(id))
            .and_then(|commit| commit.tree())
            .map_err(git("read a commit"))?;
        let mut files = BTreeMap::new();
        let mut failed = None;
        tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
            if entry.kind() == Some(git2::ObjectType::Blob) {
                match repo.find_blob(entry.id()) {
                    Ok(blob) => {
                        let name = String::from_utf8_lossy(entry.name_bytes());
                        drop(files.insert(format!("{folder}{name}"), blob.content().to_vec()));
                    }
                    Err(error) => failed = Some(error),
                }
            }
            git2::TreeWalkResult::Ok
        })
        .map_err(git("read a tree"))?;
        match failed {
            Some(error) => Err(git("read a file")(error)),
            None => Ok(Files {
                files,
                rendered: Mutex::default(),
            }),
        }
    }
}

/// Makes the commits.
fn tell(repo: &git2::Repository, now: Timestamp) -> Result<Vec<Commit>, Fault> {
    let first: BTreeMap<String, String> = FILES
        .iter()
        .map(|(path, text)| ((*path).into(), (*text).into()))
        .collect();
    let mut at = vec![];
    let mut trees: BTreeMap<&str, (BTreeMap<String, String>, Oid)> = BTreeMap::new();
    let id = commit(
        repo,
        &first,
        None,
        now,
        (IMPORTED, "Ada Novak", "fleet: first import"),
    )?;
    at.push(("main", id, IMPORTED));
    trees.insert("main", (first, id));
    for chapter in STORY {
        let (mut files, parent) = trees
            .get(chapter.branch)
            .or_else(|| trees.get("main"))
            .cloned()
            .ok_or_else(|| Fault::new(FaultKind::Internal, "the demo's story has no beginning"))?;
        for (path, old, new) in chapter.edits {
            let text = files
                .get_mut(*path)
                .filter(|text| text.contains(old))
                .ok_or_else(|| {
                    Fault::new(
                        FaultKind::Internal,
                        format!("the demo's story does not fit {path}"),
                    )
                })?;
            *text = text.replacen(old, new, 1);
        }
        let words = (chapter.minutes_ago, chapter.author, chapter.message);
        let id = commit(repo, &files, Some(parent), now, words)?;
        at.push((chapter.branch, id, chapter.minutes_ago));
        trees.insert(chapter.branch, (files, id));
    }
    for (branch, (_, id)) in &trees {
        repo.reference(
            &format!("refs/heads/{branch}"),
            *id,
            true,
            "the demo's story",
        )
        .map_err(git("name a branch"))?;
    }
    Ok(at
        .into_iter()
        .map(|(branch, id, minutes_ago)| Commit {
            branch,
            id: id.to_string(),
            minutes_ago,
        })
        .collect())
}

fn commit(
    repo: &git2::Repository,
    files: &BTreeMap<String, String>,
    parent: Option<Oid>,
    now: Timestamp,
    (minutes_ago, author, message): (i64, &str, &str),
) -> Result<Oid, Fault> {
    let failed = git("write a commit");
    let mut index = git2::Index::new().map_err(&failed)?;
    for (path, text) in files {
        let id = repo.blob(text.as_bytes()).map_err(&failed)?;
        index.add(&entry(path, id)).map_err(&failed)?;
    }
    let tree = index
        .write_tree_to(repo)
        .and_then(|id| repo.find_tree(id))
        .map_err(&failed)?;
    let at = now - SignedDuration::from_mins(minutes_ago);
    let mail = format!("{}@acme.example", author.to_lowercase().replace(' ', "."));
    let who = Signature::new(author, &mail, &Time::new(at.as_second(), 0)).map_err(&failed)?;
    let parent = parent
        .map(|id| repo.find_commit(id))
        .transpose()
        .map_err(&failed)?;
    let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
    repo.commit(None, &who, &who, message, &tree, &parents)
        .map_err(&failed)
}

fn entry(path: &str, id: Oid) -> IndexEntry {
    IndexEntry {
        ctime: IndexTime::new(0, 0),
        mtime: IndexTime::new(0, 0),
        dev: 0,
        ino: 0,
        mode: 0o100_644,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    }
}

/// All files of one commit, by path; and what was rendered of them, by whose word.
#[derive(Debug)]
pub(super) struct Files {
    files: BTreeMap<String, Vec<u8>>,
    rendered: Mutex<HashMap<String, Result<Rendered, String>>>,
}

impl Files {
    /// Returns what `render` makes of the files for an app, at once where it was asked with the same words before.
    pub(super) fn once(
        &self,
        words: String,
        render: impl FnOnce() -> Result<Rendered, String>,
    ) -> Result<Rendered, String> {
        let lock = || self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rendered) = lock().get(&words) {
            return rendered.clone();
        }
        let rendered = render();
        lock().insert(words, rendered.clone());
        rendered
    }
}

impl Tree for Files {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        Ok(self.files.get(path).cloned())
    }

    fn list(&self, path: &str) -> Result<Option<Vec<Entry>>, Fault> {
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{path}/")
        };
        let mut entries: BTreeMap<String, EntryKind> = BTreeMap::new();
        for file in self.files.keys() {
            let Some(rest) = file.strip_prefix(&prefix) else {
                continue;
            };
            match rest.split_once('/') {
                Some((folder, _)) => entries.insert(folder.into(), EntryKind::Directory),
                None => entries.insert(rest.into(), EntryKind::File),
            };
        }
        let found = !entries.is_empty() || path.is_empty();
        Ok(found.then(|| {
            entries
                .into_iter()
                .map(|(name, kind)| Entry { name, kind })
                .collect()
        }))
    }

    fn real_path(&self, path: &str) -> Result<Option<String>, Fault> {
        let there = self.files.contains_key(path) || self.list(path)?.is_some();
        Ok(there.then(|| path.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_time_gives_the_same_commits() {
        let now: Timestamp = "2026-03-01T03:00:00Z".parse().unwrap();
        let ids = || {
            let folder = tempfile::tempdir().unwrap();
            let repository = Repository::write(folder.path(), now).unwrap();
            let ids: Vec<String> = repository.history().iter().map(|c| c.id.clone()).collect();
            assert_eq!(repository.resolve("main").unwrap(), ids[5]);
            assert_eq!(repository.resolve("next").unwrap(), ids[4]);
            ids
        };
        assert_eq!(ids(), ids());
    }
}
