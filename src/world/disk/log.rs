//! The log: what `tracing` collects, in a file of the state folder, since the screen is taken.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;

use super::journal::private;
use crate::domain::fault::{Fault, FaultKind};

/// A log beyond this is set aside as `log.1` at the next start.
const LARGEST: u64 = 8 << 20;

/// Starts the log in `state/log` and returns its path. `filter` is `tracing`'s own (`GITOPS_TUI_LOG`, such as
/// `gitops_tui=debug`); warnings of all and the program's own information without one.
///
/// # Errors
/// The state folder cannot be written, or a log runs already.
pub fn start_log(state: &Path, filter: Option<&str>) -> Result<PathBuf, Fault> {
    let path = state.join("log");
    let wrong = |cause: String| {
        Fault::new(
            FaultKind::Config,
            format!("cannot log to {}", path.display()),
        )
        .because(cause)
    };
    fs::create_dir_all(state).map_err(|e| wrong(e.to_string()))?;
    if path.metadata().is_ok_and(|m| m.len() > LARGEST) {
        fs::rename(&path, state.join("log.1")).map_err(|e| wrong(e.to_string()))?;
    }
    let file = private(OpenOptions::new().create(true).append(true))
        .open(&path)
        .map_err(|e| wrong(e.to_string()))?;
    let filter = EnvFilter::try_new(filter.unwrap_or("warn,gitops_tui=info"))
        .map_err(|e| wrong(e.to_string()))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(Mutex::new(file))
        .try_init()
        .map_err(|e| wrong(e.to_string()))?;
    Ok(path)
}
