//! What commits say: who, when, why, and which files they changed.

use git2::{Commit, Delta, DiffOptions, Oid, Repository, Sort};

use super::mirror::Mirror;
use crate::domain::fault::Fault;
use crate::domain::text;

/// What one commit says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    /// Its id, 40 hex digits.
    pub id: String,
    /// The first line of its message, clean for a terminal.
    pub subject: String,
    /// The rest of its message, clean for a terminal.
    pub body: String,
    /// The author's name, clean for a terminal.
    pub author: String,
    /// The author's address.
    pub email: String,
    /// When it was written: seconds since 1970, UTC.
    pub time: i64,
    /// Its parents' ids.
    pub parents: Vec<String>,
}

/// What happened to a file between two commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileStatus {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// It is another.
    Changed,
}

/// One file that differs between two commits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileChange {
    /// Path from the repository's root.
    pub path: String,
    /// What happened to it.
    pub status: FileStatus,
}

impl Mirror {
    /// Returns what a commit says.
    ///
    /// # Errors
    /// The commit is not here.
    pub fn info(&self, commit: &str) -> Result<CommitInfo, Fault> {
        let repository = self.repository()?;
        let found = self.find(&repository, commit)?;
        Ok(info(&found))
    }

    /// Lists the commits that `to` has and `from` has not (all of them without `from`), newest first, at most `most`.
    ///
    /// The list ends early at the boundary of a shallow clone.
    ///
    /// # Errors
    /// A commit is not here.
    pub fn log(&self, from: Option<&str>, to: &str, most: usize) -> Result<Vec<CommitInfo>, Fault> {
        let repository = self.repository()?;
        let to = self.find(&repository, to)?.id();
        let from = from
            .map(|f| self.find(&repository, f))
            .transpose()?
            .map(|c| c.id());
        walk(&repository, from, to, most)
            .map_err(|e| self.fault("the history could not be read", &e))
    }

    /// Counts the commits that `to` has and `from` has not, and the other way round: `(ahead, behind)`.
    ///
    /// # Errors
    /// A commit is not here.
    pub fn ahead_behind(&self, from: &str, to: &str) -> Result<(usize, usize), Fault> {
        let repository = self.repository()?;
        let (from, to) = (
            self.find(&repository, from)?.id(),
            self.find(&repository, to)?.id(),
        );
        repository
            .graph_ahead_behind(to, from)
            .map_err(|e| self.fault("the history could not be read", &e))
    }

    /// Lists the files that differ between two commits, by path; `under` narrows it to a folder (`""` for all).
    ///
    /// # Errors
    /// A commit is not here.
    pub fn changed(&self, from: &str, to: &str, under: &str) -> Result<Vec<FileChange>, Fault> {
        let repository = self.repository()?;
        let (from, to) = (self.find(&repository, from)?, self.find(&repository, to)?);
        changed(&repository, &from, &to, under)
            .map_err(|e| self.fault("the commits could not be compared", &e))
    }

    pub(super) fn find<'r>(
        &self,
        repository: &'r Repository,
        commit: &str,
    ) -> Result<Commit<'r>, Fault> {
        Oid::from_str(commit)
            .and_then(|oid| repository.find_commit(oid))
            .map_err(|e| {
                self.fault(format!("commit {commit} is not in the repository"), &e)
                    .hint("fetch it")
            })
    }
}

fn walk(
    repository: &Repository,
    from: Option<Oid>,
    to: Oid,
    most: usize,
) -> Result<Vec<CommitInfo>, git2::Error> {
    let mut walk = repository.revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
    walk.push(to)?;
    if let Some(from) = from {
        walk.hide(from)?;
    }
    walk.take(most)
        .map(|oid| {
            oid.and_then(|oid| repository.find_commit(oid))
                .map(|c| info(&c))
        })
        .collect()
}

fn info(commit: &Commit<'_>) -> CommitInfo {
    let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
    let (subject, body) = message.split_once('\n').unwrap_or((&message, ""));
    let author = commit.author();
    let line = |bytes: &[u8]| text::clean_line(&String::from_utf8_lossy(bytes)).into_owned();
    CommitInfo {
        id: commit.id().to_string(),
        subject: line(subject.as_bytes()),
        body: text::clean(body.trim()).into_owned(),
        author: line(author.name_bytes()),
        email: line(author.email_bytes()),
        time: author.when().seconds(),
        parents: commit.parent_ids().map(|p| p.to_string()).collect(),
    }
}

fn changed(
    repository: &Repository,
    from: &Commit<'_>,
    to: &Commit<'_>,
    under: &str,
) -> Result<Vec<FileChange>, git2::Error> {
    let mut options = DiffOptions::new();
    options
        .disable_pathspec_match(true)
        .ignore_submodules(false);
    if !under.is_empty() {
        options.pathspec(under);
    }
    let diff =
        repository.diff_tree_to_tree(Some(&from.tree()?), Some(&to.tree()?), Some(&mut options))?;
    let mut files: Vec<FileChange> = diff
        .deltas()
        .filter_map(|delta| {
            let status = match delta.status() {
                Delta::Added => FileStatus::Added,
                Delta::Deleted => FileStatus::Deleted,
                _ => FileStatus::Changed,
            };
            let file = delta
                .new_file()
                .path_bytes()
                .or_else(|| delta.old_file().path_bytes())?;
            Some(FileChange {
                path: String::from_utf8_lossy(file).into_owned(),
                status,
            })
        })
        .collect();
    files.sort();
    Ok(files)
}
