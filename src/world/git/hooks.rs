//! Hooks of the repository: honoured by going through `git` for that step, never skipped in silence.
//!
//! Commit hooks look at a working tree, and the user's own must not be touched. So the commit is made by `git commit`
//! in a linked worktree in a temporary folder, whose index and `HEAD` are its own, and which is taken away afterwards.
//! What the hooks may not do is change what was proven: a commit with another tree is refused.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use git2::{Oid, Repository};

use super::identity::{Identity, Person};
use super::mirror::Mirror;
use crate::domain::fault::{Fault, FaultKind};
use crate::world::child::{self, Input};

/// Hooks that `git commit` runs.
const COMMIT_HOOKS: [&str; 4] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
];

/// For hooks to end: linters may take their time.
const BOUND: Duration = Duration::from_mins(10);

impl Mirror {
    /// Lists the commit hooks that are set up here.
    pub(super) fn commit_hooks(&self, repository: &Repository) -> Vec<&'static str> {
        COMMIT_HOOKS
            .into_iter()
            .filter(|name| self.hook(repository, name).is_some())
            .collect()
    }

    /// Returns a hook's program, where it is set up.
    fn hook(&self, repository: &Repository, name: &str) -> Option<PathBuf> {
        Some(self.hooks_folder(repository).join(name)).filter(|path| is_executable(path))
    }

    fn hooks_folder(&self, repository: &Repository) -> PathBuf {
        self.access()
            .config_path(self.dir(), "core.hooksPath")
            .map_or_else(
                || repository.commondir().join("hooks"),
                // A relative path counts from where hooks run.
                |path| here(repository).join(path),
            )
    }

    /// Commits `tree` on top of `base` by `git commit`, with the hooks, the signature and all.
    pub(super) fn commit_with_hooks(
        &self,
        repository: &Repository,
        (base, tree): (Oid, Oid),
        message: &str,
        identity: &Identity,
    ) -> Result<Oid, Fault> {
        let hooks = self.commit_hooks(repository);
        let refused = |cause: String| {
            Fault::new(
                FaultKind::Refused,
                format!(
                    "the repository's hooks ({}) let no commit through",
                    hooks.join(", ")
                ),
            )
            .about(self.subject())
            .because(cause)
        };
        if !self.access().has_program() {
            return Err(
                refused("they are run by the git program, which is not installed".into())
                    .hint("install git"),
            );
        }
        let folder = tempfile::tempdir().map_err(|e| refused(e.to_string()))?;
        let worktree = Worktree {
            mirror: self,
            path: folder.path().join("tree"),
        };
        let hint = "mend what the hook says, then accept again";
        let run = |fault: Result<child::Output, Fault>| {
            let output = fault?;
            if output.success {
                Ok(output.text().trim().to_owned())
            } else {
                Err(refused(said(&output)).hint(hint))
            }
        };
        run(worktree.add(base))?;
        run(worktree.git(&["read-tree", "--reset", "-u", &tree.to_string()], None))?;
        let message_file = folder.path().join("message");
        super::sign::write(&message_file, message).map_err(|e| refused(e.to_string()))?;
        let file = message_file.to_string_lossy();
        // The hooks of the worktree that the user works in, which may have a configuration of its own.
        let hooks_path = format!("core.hooksPath={}", self.hooks_folder(repository).display());
        run(worktree.git(
            &["-c", &hooks_path, "commit", "-q", "-F", &file],
            Some(identity),
        ))?;
        let made = run(worktree.git(&["rev-parse", "HEAD", "HEAD^{tree}", "HEAD^"], None))?;
        let ids: Vec<Oid> = made
            .lines()
            .filter_map(|line| Oid::from_str(line).ok())
            .collect();
        match ids[..] {
            [commit, its_tree, its_base] if its_tree == tree && its_base == base => Ok(commit),
            _ => Err(refused("a hook changed the files, and what it made of them is not proven".into())
                .hint("let the hook's formatter run over the branch first, or switch the hook off for this commit")),
        }
    }

    /// Runs the `pre-push` hook, as git would before it sends a branch.
    pub(super) fn before_push(
        &self,
        repository: &Repository,
        branch: &str,
        (local, theirs): (Oid, Option<Oid>),
        address: &str,
    ) -> Result<(), Fault> {
        let Some(hook) = self.hook(repository, "pre-push") else {
            return Ok(());
        };
        let theirs = theirs.unwrap_or(Oid::ZERO_SHA1);
        let line = format!("refs/heads/{branch} {local} refs/heads/{branch} {theirs}\n");
        let mut command = self.access().command(&hook);
        command
            .args(["origin", address])
            .current_dir(here(repository))
            .env("GIT_DIR", repository.path());
        let output = child::run(&mut command, Input::Bytes(line.as_bytes()), BOUND)?;
        if output.success {
            return Ok(());
        }
        Err(Fault::new(
            FaultKind::Refused,
            "the repository's pre-push hook lets the branch not through",
        )
        .about(self.subject())
        .because(said(&output))
        .hint(format!(
            "mend what the hook says; the commit is kept as {branch}"
        )))
    }
}

/// Hooks speak on either stream.
fn said(output: &child::Output) -> String {
    let both = [output.stderr.as_slice(), output.stdout.as_slice()].concat();
    let words = child::complaint(&both);
    if words.is_empty() {
        "it said nothing".into()
    } else {
        words
    }
}

/// Where hooks run: the top of the working tree, or the repository's folder where it has none.
fn here(repository: &Repository) -> &Path {
    repository.workdir().unwrap_or_else(|| repository.path())
}

/// A linked worktree that is taken away with its owner.
struct Worktree<'m> {
    mirror: &'m Mirror,
    path: PathBuf,
}

impl Worktree<'_> {
    /// Makes it at `base`, without its files and without a `post-checkout` hook.
    fn add(&self, base: Oid) -> Result<child::Output, Fault> {
        let mut git = self.start(self.mirror.dir())?;
        git.args([
            "-c",
            "core.hooksPath=/dev/null",
            "worktree",
            "add",
            "-q",
            "--detach",
            "--no-checkout",
        ])
        .arg(&self.path)
        .arg(base.to_string());
        child::run(&mut git, Input::Empty, BOUND)
    }

    fn git(&self, args: &[&str], identity: Option<&Identity>) -> Result<child::Output, Fault> {
        let mut git = self.start(&self.path)?;
        if let Some(identity) = identity {
            name(&mut git, "AUTHOR", &identity.author);
            name(&mut git, "COMMITTER", &identity.committer);
        }
        child::run(git.args(args), Input::Empty, BOUND)
    }

    fn start(&self, dir: &Path) -> Result<Command, Fault> {
        let mut git = self
            .mirror
            .access()
            .git(dir)
            .ok_or_else(|| Fault::new(FaultKind::Unsupported, "git is not installed"))?;
        // Nobody is asked, and large files are not fetched for a commit that does not touch them.
        git.env("GIT_EDITOR", ":")
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .env_remove("GPG_TTY");
        Ok(git)
    }
}

impl Drop for Worktree<'_> {
    fn drop(&mut self) {
        if let Ok(mut git) = self.start(self.mirror.dir()) {
            git.args(["worktree", "remove", "--force"]).arg(&self.path);
            // What is left after a failure here is an entry that git prunes by itself.
            let _removed = self.mirror.access().run(&mut git, Input::Empty);
        }
    }
}

fn name(git: &mut Command, role: &str, person: &Person) {
    let sign = if person.offset < 0 { '-' } else { '+' };
    let offset = person.offset.unsigned_abs();
    let date = format!(
        "@{} {sign}{:02}{:02}",
        person.time,
        offset / 60,
        offset % 60
    );
    git.env(format!("GIT_{role}_NAME"), &person.name)
        .env(format!("GIT_{role}_EMAIL"), &person.email)
        .env(format!("GIT_{role}_DATE"), date);
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
