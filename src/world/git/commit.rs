//! Commits without an index: edited bytes on top of a commit, as a new branch.
//!
//! Objects and one new reference are all that is written: no working tree, index or `HEAD` is touched, so this is safe
//! in the user's own dirty clone and in a linked worktree. An existing branch is never moved. Every reason to refuse is
//! found before a reference is written. Where the repository has commit hooks, `git commit` makes the commit ([`super::hooks`]).

use git2::build::TreeUpdateBuilder;
use git2::{ErrorCode, FileMode, Oid, Reference, Repository};

use super::identity::Identity;
use super::mirror::Mirror;
use super::tree::{self, Found, LfsPointer};
use crate::domain::backfill::FileEdit;
use crate::domain::fault::{Fault, FaultKind};

/// One file to write or delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Path from the repository's root; a link is followed, and its target is what changes.
    pub path: String,
    /// Its bytes in the base commit, empty for a new file: where the base holds others, the edit is refused. `None`
    /// takes whatever is there.
    pub before: Option<Vec<u8>>,
    /// Its bytes afterwards; `None` deletes it.
    pub after: Option<Vec<u8>>,
}

impl From<&FileEdit> for Edit {
    fn from(edit: &FileEdit) -> Self {
        Self {
            path: edit.path.clone(),
            before: Some(edit.before.clone()),
            after: Some(edit.after.clone()),
        }
    }
}

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its id, 40 hex digits.
    pub id: String,
    /// The branch that was made for it: the wanted name, or the next free one (`name-2`).
    pub branch: String,
    /// The files that changed, by their real paths.
    pub files: Vec<String>,
    /// It carries a signature.
    pub signed: bool,
    /// What a person should know: that it went through `git commit`, and why.
    pub notes: Vec<String>,
}

/// How files that git-crypt has encrypted begin.
const GIT_CRYPT: &[u8] = b"\0GITCRYPT\0";

/// Names tried after the wanted one.
const MOST_NAMES: usize = 100;

impl Mirror {
    /// Commits `edits` on top of `base` (40 hex digits) as a new branch.
    ///
    /// Modes are kept (the executable bit), links are followed, signatures made where `commit.gpgSign` says so.
    ///
    /// # Errors
    /// A file lies in a submodule, behind a link that leaves, or is a Git LFS pointer; the base holds other bytes than
    /// the edit starts from; nothing would change; the repository uses an extension we must not write under; the
    /// signature failed.
    pub fn commit(
        &self,
        base: &str,
        branch: &str,
        edits: &[Edit],
        message: &str,
        identity: &Identity,
    ) -> Result<Commit, Fault> {
        let repository = self.repository()?;
        self.may_write(&repository)?;
        let parent = self.find(&repository, base)?;
        let root = parent.tree_id();
        let writes = edits
            .iter()
            .map(|edit| self.write_of(&repository, root, edit))
            .collect::<Result<Vec<_>, _>>()?;
        let mut files: Vec<String> = writes.iter().map(|w| w.path.clone()).collect();
        files.sort();
        if let Some((twice, _)) = files.iter().zip(files.iter().skip(1)).find(|(a, b)| a == b) {
            return Err(refused(twice, "two edits lead to the same file"));
        }
        let branch = self.free_name(&repository, branch)?;
        let words = |e: git2::Error| self.fault("the commit could not be written", &e);
        let tree = updated(&repository, root, &writes).map_err(words)?;
        if tree == root {
            return Err(
                Fault::new(FaultKind::Refused, "the edits change nothing").about(self.subject())
            );
        }
        let message = git2::message_prettify(message, None).map_err(words)?;
        let hooks = self.commit_hooks(&repository);
        let id = if hooks.is_empty() {
            self.write_commit(&repository, tree, &parent, &message, identity)?
        } else {
            self.commit_with_hooks(&repository, (parent.id(), tree), &message, identity)?
        };
        repository
            .reference(
                &format!("refs/heads/{branch}"),
                id,
                false,
                "gitops-tui: backfill",
            )
            .map_err(|e| self.fault(format!("branch `{branch}` could not be made"), &e))?;
        let through = |hooks: &[&str]| {
            format!(
                "made by `git commit`, which ran the hooks {}",
                hooks.join(", ")
            )
        };
        Ok(Commit {
            id: id.to_string(),
            branch,
            files,
            signed: repository.extract_signature(&id, None).is_ok(),
            notes: if hooks.is_empty() {
                vec![]
            } else {
                vec![through(&hooks)]
            },
        })
    }

    /// Writes a commit's object, signed where the configuration says so.
    fn write_commit(
        &self,
        repository: &Repository,
        tree: Oid,
        parent: &git2::Commit<'_>,
        message: &str,
        identity: &Identity,
    ) -> Result<Oid, Fault> {
        let words = |e: git2::Error| self.fault("the commit could not be written", &e);
        let signer = self.signer(&identity.committer)?;
        let text = (|| {
            let (author, committer) = (
                identity.author.signature()?,
                identity.committer.signature()?,
            );
            let tree = repository.find_tree(tree)?;
            repository.commit_create_buffer(&author, &committer, message, &tree, &[parent])
        })()
        .map_err(words)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        match signer {
            Some(signer) => repository.commit_signed(&text, &self.sign(&signer, &text)?, None),
            None => repository
                .odb()
                .and_then(|odb| odb.write(git2::ObjectType::Commit, text.as_bytes())),
        }
        .map_err(words)
    }

    /// Finds what an edit really changes, or the reason to refuse it.
    fn write_of(&self, repository: &Repository, root: Oid, edit: &Edit) -> Result<Write, Fault> {
        let path = edit.path.as_str();
        check_path(path)?;
        let found = tree::find(repository, root, path)
            .map_err(|e| self.fault("the commit's files could not be read", &e))?;
        let (real, mode) = match found {
            Found::File(real, blob, mode) => {
                let now = tree::read(self, repository, &real, blob)?;
                if LfsPointer::of(&now).is_some() {
                    return Err(refused(
                        path,
                        "the file is a Git LFS pointer: YAML written over it would destroy it",
                    )
                    .hint("change it in a clone with git-lfs"));
                }
                if now.starts_with(GIT_CRYPT) {
                    return Err(refused(path, "the file is encrypted by git-crypt")
                        .hint("change it in a clone that is unlocked"));
                }
                if edit.before.as_ref().is_some_and(|before| *before != now) {
                    return Err(moved(path));
                }
                (real, mode)
            }
            Found::Nothing(real) => {
                if edit.after.is_none() || edit.before.as_ref().is_some_and(|b| !b.is_empty()) {
                    return Err(moved(path));
                }
                self.check_parents(repository, root, &real)?;
                (real, i32::from(FileMode::Blob))
            }
            other => return Err(other.refuse(path)),
        };
        if edit.after.is_none() && real != path {
            return Err(refused(
                path,
                "it is reached through a link, and deleting it would leave the link without target",
            )
            .hint("delete the link and its target by hand"));
        }
        Ok(Write {
            path: real,
            mode,
            after: edit.after.clone(),
        })
    }

    /// A new file needs folders above it, not files.
    fn check_parents(&self, repository: &Repository, root: Oid, path: &str) -> Result<(), Fault> {
        for (at, _) in path.match_indices('/') {
            let found = tree::find(repository, root, &path[..at])
                .map_err(|e| self.fault("the commit's files could not be read", &e))?;
            match found {
                Found::Folder(..) | Found::Nothing(_) => {}
                other => return Err(other.refuse(&path[..at])),
            }
        }
        Ok(())
    }

    /// Returns the wanted branch name, or the next one that neither we nor the server have.
    fn free_name(&self, repository: &Repository, wanted: &str) -> Result<String, Fault> {
        let wanted = wanted.strip_prefix("refs/heads/").unwrap_or(wanted);
        if !Reference::is_valid_name(&format!("refs/heads/{wanted}"))
            || wanted.starts_with('-')
            || wanted == "HEAD"
        {
            return Err(
                Fault::new(FaultKind::Usage, format!("`{wanted}` is no branch name"))
                    .about(self.subject())
                    .hint("leave out spaces and the characters ~ ^ : ? * [ \\"),
            );
        }
        let taken = |name: &str| {
            [
                format!("refs/heads/{name}"),
                format!("refs/remotes/origin/{name}"),
            ]
            .iter()
            .any(|full| repository.find_reference(full).is_ok())
        };
        std::iter::once(wanted.to_owned())
            .chain((2..MOST_NAMES).map(|n| format!("{wanted}-{n}")))
            .find(|name| !taken(name))
            .ok_or_else(|| {
                Fault::new(
                    FaultKind::Conflict,
                    format!("branch `{wanted}` exists, and so do the names after it"),
                )
                .about(self.subject())
                .hint("name another with --branch")
            })
    }

    /// Refuses to write under an extension whose rules we do not know.
    fn may_write(&self, repository: &Repository) -> Result<(), Fault> {
        let extensions = extensions(repository)
            .map_err(|e| self.fault("the repository's configuration could not be read", &e))?;
        for (name, value) in extensions {
            let fine = match name.as_str() {
                "noop" | "preciousobjects" | "worktreeconfig" | "partialclone" => true,
                "objectformat" => value == "sha1",
                "refstorage" => value == "files",
                _ => self.git_knows(),
            };
            if !fine {
                return Err(Fault::new(
                    FaultKind::Unsupported,
                    format!("the repository uses the extension `{name}`, under which this version must not write"),
                )
                .about(self.subject())
                .hint("leave --repo out to work in a mirror of its remote, or update git"));
            }
        }
        Ok(())
    }

    /// Tells whether the `git` program reads this repository, extensions included.
    fn git_knows(&self) -> bool {
        let Some(mut git) = self.access().git(self.dir()) else {
            return false;
        };
        let asked = self.access().run(
            git.args(["rev-parse", "--git-dir"]),
            crate::world::child::Input::Empty,
        );
        asked.is_ok_and(|o| o.success)
    }
}

/// One entry of the new tree.
struct Write {
    path: String,
    mode: i32,
    after: Option<Vec<u8>>,
}

fn updated(repository: &Repository, root: Oid, writes: &[Write]) -> Result<Oid, git2::Error> {
    let mut update = TreeUpdateBuilder::new();
    for write in writes {
        match &write.after {
            Some(bytes) => {
                let mode = if write.mode & 0o111 == 0 {
                    FileMode::Blob
                } else {
                    FileMode::BlobExecutable
                };
                update.upsert(write.path.as_str(), repository.blob(bytes)?, mode);
            }
            None => {
                update.remove(write.path.as_str());
            }
        }
    }
    update.create_updated(repository, &repository.find_tree(root)?)
}

fn check_path(path: &str) -> Result<(), Fault> {
    let odd = |part: &str| matches!(part, "" | "." | "..") || part.eq_ignore_ascii_case(".git");
    if path.split('/').any(odd) || path.contains('\0') {
        return Err(refused(path, "it is no path inside a repository"));
    }
    Ok(())
}

fn refused(path: &str, sentence: &str) -> Fault {
    Fault::new(FaultKind::Refused, sentence).at(path, None)
}

fn moved(path: &str) -> Fault {
    Fault::new(
        FaultKind::Conflict,
        "the file is not what the edit starts from",
    )
    .at(path, None)
    .hint("plan again on the newest commit")
}

/// Reads `extensions.*`, names in lower case.
fn extensions(repository: &Repository) -> Result<Vec<(String, String)>, git2::Error> {
    let config = repository.config()?;
    let mut entries = config.entries(Some("^extensions\\."))?;
    let mut found = vec![];
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry
            .name()?
            .trim_start_matches("extensions.")
            .to_ascii_lowercase();
        let value = entry.value().unwrap_or_default().to_ascii_lowercase();
        found.push((name, value));
    }
    Ok(found)
}

impl Mirror {
    /// Deletes a branch that we made and that was not wanted after all; one that moved since is left alone.
    ///
    /// # Errors
    /// The branch is not at `commit` any more.
    pub fn discard(&self, branch: &str, commit: &str) -> Result<(), Fault> {
        let repository = self.repository()?;
        let words =
            |e: git2::Error| self.fault(format!("branch `{branch}` could not be deleted"), &e);
        let mut reference = match repository.find_reference(&format!("refs/heads/{branch}")) {
            Ok(reference) => reference,
            Err(e) if e.code() == ErrorCode::NotFound => return Ok(()),
            Err(e) => return Err(words(e)),
        };
        if reference.target().map(|t| t.to_string()).as_deref() != Some(commit) {
            return Err(Fault::new(
                FaultKind::Conflict,
                format!("branch `{branch}` has moved since"),
            )
            .about(self.subject()));
        }
        reference.delete().map_err(words)
    }
}
