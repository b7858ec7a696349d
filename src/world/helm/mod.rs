//! Charts rendered by the installed `helm` program: the templates of charts are Go's, and only Helm runs them.
//!
//! The program is a stranger, so it lives in a [`Folder`] of its own (mode 0700, gone when it is done): home, caches,
//! configuration and values. It sees no kubeconfig, no plugins and no more of the environment than it needs to reach a
//! server. Words from files never become flags. It is bounded in time and output, and ended when its caller stops.
//!
//! ```no_run
//! # use std::time::Duration;
//! # use gitops_tui::domain::settings::Variables;
//! # use gitops_tui::world::helm::{Chart, Helm, Limits, Release, Template};
//! # fn run(tree: &dyn gitops_tui::domain::render::Tree) -> Result<(), gitops_tui::domain::fault::Fault> {
//! let helm = Helm::find("helm", &Variables::default(), Limits::default())?;
//! let manifests = helm.template(&Template {
//!     chart: Chart::Tree { tree, path: "charts/web" },
//!     release: Release::Name("web".into()),
//!     namespace: "prod".into(),
//!     values: vec![b"replicas: 2\n".to_vec()],
//!     ..Template::of(Chart::Tree { tree, path: "charts/web" })
//! })?;
//! # Ok(())
//! # }
//! ```

mod chart;
mod folder;
mod template;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use self::folder::Folder;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::settings::Variables;
use crate::domain::text;
use crate::world::child::{self, Input, Stop};

pub use chart::{Chart, Login};
pub use template::{Assignment, Release, Template};

/// How long the program may take, what ends it, and what it may fetch.
#[derive(Debug, Clone)]
pub struct Limits {
    /// For one run of the program.
    pub time: Duration,
    /// Ends a run from outside.
    pub stop: Stop,
    /// Nothing is fetched: charts come from the tree or from the cache.
    pub offline: bool,
    /// Where fetched charts of exact versions are kept; without it every run fetches anew.
    pub cache: Option<PathBuf>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_mins(2),
            stop: Stop::default(),
            offline: false,
            cache: None,
        }
    }
}

/// The installed program, known to be one that works here.
#[derive(Debug, Clone)]
pub struct Helm {
    program: PathBuf,
    version: String,
    variables: Variables,
    limits: Limits,
}

/// What helm needs of our environment: to find its helpers and to reach a server.
const PASSED: [&str; 11] = [
    "PATH",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "ALL_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "SYSTEMROOT",
];

impl Helm {
    /// Finds the program: `command` is its name on the `PATH`, or where it lies. Its version is asked for once.
    ///
    /// # Errors
    /// It is not there, does not run, or is neither Helm 3 nor Helm 4.
    pub fn find(command: &str, variables: &Variables, limits: Limits) -> Result<Self, Fault> {
        let command = if command.is_empty() { "helm" } else { command };
        let found = if command.contains(std::path::MAIN_SEPARATOR) {
            Some(PathBuf::from(command)).filter(|path| path.is_file())
        } else {
            child::find(variables, command)
        };
        let program = found.ok_or_else(|| {
            Fault::new(
                FaultKind::Config,
                format!("the program `{command}` is not there to render a Helm chart"),
            )
            .hint("install Helm 3 or 4 and put it on the PATH")
        })?;
        let mut helm = Self {
            program,
            version: String::new(),
            variables: variables.clone(),
            limits,
        };
        helm.version = helm.ask_version()?;
        Ok(helm)
    }

    /// Returns the program's version, `v3.22.0`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the bounds.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The same program under another word to stop.
    #[must_use]
    pub fn stopped_by(mut self, stop: Stop) -> Self {
        self.limits.stop = stop;
        self
    }

    fn ask_version(&self) -> Result<String, Fault> {
        let folder = Folder::new(&self.variables)?;
        let mut command = self.command(&folder);
        command.args(["version", "--short"]);
        let said = self.run(&folder, &mut command, "version", &[])?;
        let version = said
            .split(|c: char| c.is_whitespace() || c == '+')
            .find(|word| is_version(word))
            .unwrap_or_default();
        match version.trim_start_matches('v').split('.').next() {
            Some("3" | "4") => Ok(version.to_owned()),
            _ => Err(Fault::new(
                FaultKind::Config,
                format!(
                    "{} is no Helm that can be used here: it says it is `{}`",
                    self.program.display(),
                    text::truncate(&text::clean_line(said.trim()), 60)
                ),
            )
            .hint("install Helm 3 or 4 and put it on the PATH")),
        }
    }

    /// Prepares the program in its folder.
    #[expect(
        clippy::disallowed_methods,
        reason = "the door for helm: streams piped, no terminal, an environment of its own"
    )]
    fn command(&self, folder: &Folder) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear();
        for name in PASSED {
            if let Some(value) = self.variables.get(name) {
                command.env(name, value);
            }
        }
        for (name, value) in self.logins() {
            command.env(name, value);
        }
        folder.enter(&mut command);
        command
    }

    /// Where the user's own logins at registries are kept; helm reads them and writes nothing there.
    fn logins(&self) -> Vec<(&'static str, PathBuf)> {
        let home = self.variables.get("HOME").map(PathBuf::from);
        let set = |name: &str| self.variables.get(name).map(PathBuf::from);
        let config = set("HELM_REGISTRY_CONFIG")
            .or_else(|| Some(set("HELM_CONFIG_HOME")?.join("registry/config.json")))
            .or_else(|| Some(set("XDG_CONFIG_HOME")?.join("helm/registry/config.json")))
            .or_else(|| Some(home.clone()?.join(".config/helm/registry/config.json")))
            .filter(|path| path.is_file())
            .map(|path| ("HELM_REGISTRY_CONFIG", path));
        let docker = set("DOCKER_CONFIG")
            .or_else(|| Some(home?.join(".docker")))
            .filter(|path| path.is_dir())
            .map(|path| ("DOCKER_CONFIG", path));
        config.into_iter().chain(docker).collect()
    }

    /// Runs the program and returns what it printed; `secrets` are masked wherever it repeats them in a complaint.
    fn run(
        &self,
        folder: &Folder,
        command: &mut Command,
        what: &str,
        secrets: &[String],
    ) -> Result<String, Fault> {
        let output = child::run_until(command, Input::Empty, self.limits.time, &self.limits.stop)
            .map_err(|fault| {
            if fault.kind == FaultKind::Timeout {
                Fault::new(
                    FaultKind::Timeout,
                    format!(
                        "`helm {what}` did not end within {} s",
                        self.limits.time.as_secs()
                    ),
                )
                .hint("check that the chart's server answers")
            } else {
                fault
            }
        })?;
        if output.cut {
            return Err(Fault::new(
                FaultKind::Unsupported,
                format!("`helm {what}` printed more than 64 MB"),
            )
            .hint("render the chart by hand to see what it prints"));
        }
        if !output.success {
            let said = masked(&folder.unnamed(&output.complaint()), secrets);
            return Err(
                Fault::new(FaultKind::Render, format!("`helm {what}` failed"))
                    .because(text::truncate(&said, LONGEST_COMPLAINT)),
            );
        }
        String::from_utf8(output.stdout).map_err(|_| {
            Fault::new(
                FaultKind::Render,
                format!("`helm {what}` printed something that is no text"),
            )
        })
    }
}

/// Most cells of a complaint that are told.
const LONGEST_COMPLAINT: usize = 1_000;

fn is_version(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or(word);
    digits.contains('.') && digits.starts_with(|c: char| c.is_ascii_digit())
}

/// Masks secret values in a text; those of less than three letters would mask words that are none.
fn masked(said: &str, secrets: &[String]) -> String {
    secrets
        .iter()
        .filter(|secret| secret.len() > 2)
        .fold(said.to_owned(), |said, secret| {
            said.replace(secret.as_str(), text::MASK)
        })
}

/// Words the failure to keep files for helm.
fn cannot_keep(path: &Path, error: &std::io::Error) -> Fault {
    Fault::new(
        FaultKind::Config,
        format!("cannot write {} for helm", path.display()),
    )
    .because(error)
    .hint("check that the folder for temporary files can be written")
}
