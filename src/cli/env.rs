//! The environment, read once.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::PathBuf;

/// What the program reads of its environment: everything else gets it from here.
#[derive(Debug, Clone)]
pub(super) struct Env {
    vars: BTreeMap<String, String>,
    /// Whether standard input is a terminal, so that a question can be asked.
    pub can_ask: bool,
    /// Whether standard error is a terminal, so that progress may be shown.
    pub stderr_is_terminal: bool,
}

impl Env {
    /// Captures the process's environment; variables that are not UTF-8 are left out.
    pub(super) fn capture() -> Self {
        Self {
            vars: std::env::vars_os()
                .filter_map(|(key, value)| {
                    Some((key.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
            can_ask: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
        }
    }

    /// Returns a variable that is set and not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.vars
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Returns all variables.
    pub(super) fn vars(&self) -> &BTreeMap<String, String> {
        &self.vars
    }

    /// Returns the user's home folder.
    pub(super) fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }
}
