//! Child programs with a bound: everything piped, drained as it comes, ended at the bound and never waited for in vain.

use std::io::{Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::text;

/// What a child reads.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input<'a> {
    /// Nothing: its standard input ends at once.
    Empty,
    /// These bytes.
    Bytes(&'a [u8]),
}

/// What a child that ended has said.
#[derive(Debug)]
pub(super) struct Output {
    /// It ended with 0.
    pub success: bool,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

impl Output {
    /// Returns standard output as text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Returns what it complained, in one clean line.
    pub(super) fn complaint(&self) -> String {
        complaint(&self.stderr)
    }
}

/// Turns a program's standard error into one clean line for a person, credentials removed.
pub(super) fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    text::clean_line(&super::url::strip(&lines.join("; "))).into_owned()
}

/// Most of a child's output that is kept.
const KEPT: u64 = 64 << 20;

/// Runs a program to its end, at most `bound`; a program that takes longer is ended.
///
/// # Errors
/// The program is missing, or the bound was reached.
pub(super) fn run(
    command: &mut Command,
    input: Input<'_>,
    bound: Duration,
) -> Result<Output, Fault> {
    let name = command.get_program().to_string_lossy().into_owned();
    command
        .stdin(match input {
            Input::Empty => Stdio::null(),
            Input::Bytes(_) => Stdio::piped(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = Guard(command.spawn().map_err(|e| cannot_start(&name, &e))?);
    let stdout = drain(child.0.stdout.take());
    let stderr = drain(child.0.stderr.take());
    if let (Input::Bytes(bytes), Some(mut stdin)) = (input, child.0.stdin.take()) {
        let bytes = bytes.to_vec();
        // A program may end without reading; that is its own affair. In a thread, since one that neither reads nor
        // ends would hold us for ever.
        drop(thread::spawn(move || {
            let _unread = stdin.write_all(&bytes);
        }));
    }
    let late = || {
        Fault::new(
            FaultKind::Timeout,
            format!("`{name}` did not end within {} s", bound.as_secs()),
        )
    };
    let stdout = stdout.recv_timeout(bound).map_err(|_| late())?;
    let mut waited = Duration::ZERO;
    let status = loop {
        match child.0.try_wait().map_err(|e| cannot_start(&name, &e))? {
            Some(status) => break status,
            None if waited >= bound => return Err(late()),
            None => {
                thread::sleep(STEP);
                waited += STEP;
            }
        }
    };
    Ok(Output {
        success: status.success(),
        stdout,
        // A daemon that a helper left behind (a credential cache, an agent) may hold standard error open for hours.
        stderr: stderr.recv_timeout(LAST_WORDS).unwrap_or_default(),
    })
}

/// Between two looks at whether a child has ended.
const STEP: Duration = Duration::from_millis(2);
/// For standard error after the child has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Words the failure to start a program.
pub(super) fn cannot_start(name: &str, error: &std::io::Error) -> Fault {
    Fault::new(FaultKind::Config, format!("cannot run `{name}`")).because(error)
}

/// Reads a stream to its end in a thread, and sends what it held.
fn drain(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (give, take) = mpsc::channel();
    drop(thread::spawn(move || {
        let mut bytes = vec![];
        if let Some(stream) = stream {
            // What was read before an error is still worth showing.
            let _partial = stream.take(KEPT).read_to_end(&mut bytes);
        }
        let _unheard = give.send(bytes);
    }));
    take
}

/// A child that does not outlive its owner.
#[derive(Debug)]
pub(super) struct Guard(pub Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // Both fail only where the child has ended already, which is what is wanted.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test child")]
    fn sh(script: &str, input: Input<'_>, bound: Duration) -> Result<Output, Fault> {
        run(Command::new("sh").args(["-c", script]), input, bound)
    }

    #[test]
    fn gives_input_and_takes_both_streams() {
        let out = sh(
            "cat; echo no >&2; exit 3",
            Input::Bytes(b"hi"),
            Duration::from_secs(20),
        )
        .unwrap();
        assert_eq!(
            (out.success, out.text().as_str(), out.complaint().as_str()),
            (false, "hi", "no")
        );
    }

    #[test]
    fn ends_what_hangs() {
        let fault = sh("exec sleep 1000", Input::Empty, Duration::from_millis(50)).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Timeout);
    }
}
