//! What every call to Git needs besides the address: the environment, the bounds, the `git` program, the configuration.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::fault::Fault;
use crate::domain::settings::Variables;
use crate::world::child::{self, Input};

/// Bounds of waiting; every attempt has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a server answers at all.
    pub connect: Duration,
    /// Without a byte from the server.
    pub idle: Duration,
    /// For a helper program: credentials, signatures, identities.
    pub helper: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_mins(1),
            helper: Duration::from_secs(30),
        }
    }
}

/// The environment, the bounds and the programs of Git; cheap to clone.
#[derive(Debug, Clone)]
pub struct Access(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    variables: Variables,
    timeouts: Timeouts,
    git: Option<PathBuf>,
}

/// Variables that bind git to one repository: they are for the caller's repository, never for ours.
const BOUND: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
];

impl Access {
    /// Takes the environment and the bounds; looks for `git` on its `PATH`.
    pub fn new(variables: Variables, timeouts: Timeouts) -> Self {
        let git = child::find(&variables, "git");
        Self(Arc::new(Inner {
            variables,
            timeouts,
            git,
        }))
    }

    /// The same without the `git` program, as on a machine that has none.
    #[must_use]
    pub fn without_program(&self) -> Self {
        Self(Arc::new(Inner {
            variables: self.0.variables.clone(),
            timeouts: self.0.timeouts,
            git: None,
        }))
    }

    /// Returns the bounds.
    pub fn timeouts(&self) -> Timeouts {
        self.0.timeouts
    }

    /// Returns the environment.
    pub fn variables(&self) -> &Variables {
        &self.0.variables
    }

    /// Tells whether the `git` program is there.
    pub fn has_program(&self) -> bool {
        self.0.git.is_some()
    }

    /// Prepares a child with our environment: no prompts on the terminal, not bound to the caller's repository.
    #[expect(
        clippy::disallowed_methods,
        reason = "the door for Git's children: streams piped, no terminal"
    )]
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.0.variables.iter());
        for name in BOUND {
            command.env_remove(name);
        }
        command.env("GIT_TERMINAL_PROMPT", "0");
        command
    }

    /// Prepares `git -C dir`; `None` where git is not installed.
    pub(super) fn git(&self, dir: &Path) -> Option<Command> {
        let mut command = self.command(self.0.git.as_ref()?);
        command.arg("-C").arg(dir);
        Some(command)
    }

    /// Reads one configuration value as git would in `dir`: includes and conditions honoured where git is installed,
    /// libgit2's reading else.
    pub(super) fn config(&self, dir: &Path, key: &str) -> Option<String> {
        self.config_typed(dir, key, None)
    }

    /// Reads a yes-or-no value.
    pub(super) fn config_bool(&self, dir: &Path, key: &str) -> bool {
        self.config_typed(dir, key, Some("bool")).as_deref() == Some("true")
    }

    /// Reads a path, with `~/` opened.
    pub(super) fn config_path(&self, dir: &Path, key: &str) -> Option<String> {
        self.config_typed(dir, key, Some("path"))
    }

    fn config_typed(&self, dir: &Path, key: &str, kind: Option<&str>) -> Option<String> {
        let Some(mut command) = self.git(dir) else {
            return lib_config(dir, key, kind);
        };
        command.args(["config", "--includes"]);
        if let Some(kind) = kind {
            command.arg(format!("--type={kind}"));
        }
        let output = child::run(
            command.args(["--get", key]),
            Input::Empty,
            self.0.timeouts.helper,
        );
        let output = output.ok().filter(|o| o.success)?;
        Some(output.text().trim_end_matches('\n').to_owned())
    }

    /// Lists the `section.*` values that apply to an address (`http.https://host/.sslCAInfo` before `http.sslCAInfo`).
    pub(super) fn config_for_url(
        &self,
        dir: &Path,
        section: &str,
        url: &str,
    ) -> Vec<(String, String)> {
        let Some(mut command) = self.git(dir) else {
            return vec![];
        };
        command.args(["config", "--includes", "--get-urlmatch", section, url]);
        let Ok(output) = child::run(&mut command, Input::Empty, self.0.timeouts.helper) else {
            return vec![];
        };
        output
            .text()
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(key, value)| (key.to_ascii_lowercase(), value.to_owned()))
            .collect()
    }

    /// Runs a helper program to its end within the helper's bound.
    pub(super) fn run(
        &self,
        command: &mut Command,
        input: Input<'_>,
    ) -> Result<child::Output, Fault> {
        child::run(command, input, self.0.timeouts.helper)
    }
}

fn lib_config(dir: &Path, key: &str, kind: Option<&str>) -> Option<String> {
    let config = git2::Repository::open(dir).and_then(|r| r.config()).ok()?;
    let snapshot = { config }.snapshot().ok()?;
    match kind {
        Some("bool") => snapshot.get_bool(key).ok().map(|b| b.to_string()),
        Some("path") => snapshot
            .get_path(key)
            .ok()
            .map(|p| p.to_string_lossy().into_owned()),
        _ => snapshot.get_string(key).ok(),
    }
}
