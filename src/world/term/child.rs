//! Children that need the terminal, and stopping as Ctrl-Z does. Call these between [`super::Guard::without`].

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::domain::fault::{Fault, FaultKind};

/// Shows text in the user's pager; returns when it is closed.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where children that need the terminal are started"
)]
pub fn page(pager: &str, text: &str) -> Result<(), Fault> {
    let failed = |error: std::io::Error| {
        Fault::new(
            FaultKind::Config,
            format!("the pager `{pager}` could not be run"),
        )
        .because(error)
        .hint("set PAGER to a program that reads from standard input, such as less")
    };
    let mut words = pager.split_whitespace();
    let mut child = Command::new(words.next().unwrap_or("less"))
        .args(words)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // A pager that is closed early has read enough.
        drop(input.write_all(text.as_bytes()));
    }
    child.wait().map_err(failed)?;
    Ok(())
}

/// Stops this process as Ctrl-Z does; returns when it is continued.
#[expect(
    clippy::disallowed_methods,
    reason = "a signal to ourselves, without unsafe code"
)]
pub fn stop_as_ctrl_z() -> Result<(), Fault> {
    Command::new("kill")
        .args(["-TSTP", &std::process::id().to_string()])
        .status()
        .map_err(|error| {
            Fault::new(FaultKind::Internal, "the program could not be stopped").because(error)
        })?;
    Ok(())
}
