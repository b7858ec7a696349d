//! Child programs with a bound: everything piped, drained as it comes, ended at the bound and never waited for in vain.

use std::io::{Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::settings::Variables;
use crate::domain::text;

/// A word to a child from another thread: end now. Clones speak to the same child.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends every child that runs under this word, and every one that would be started under it.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Tells whether the word was given.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

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
    pub(super) success: bool,
    /// Its standard output.
    pub(super) stdout: Vec<u8>,
    /// Its standard error.
    pub(super) stderr: Vec<u8>,
    /// Its standard output was longer than what is kept, and is not whole.
    pub(super) cut: bool,
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
    text::clean_line(&text::without_logins(&lines.join("; "))).into_owned()
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
    run_until(command, input, bound, &Stop::default())
}

/// As [`run`]; a program that is told to stop is ended too.
///
/// # Errors
/// The program is missing, the bound was reached, or the word to stop came.
pub(super) fn run_until(
    command: &mut Command,
    input: Input<'_>,
    bound: Duration,
    stop: &Stop,
) -> Result<Output, Fault> {
    let name = command.get_program().to_string_lossy().into_owned();
    let stopped = || Fault::new(FaultKind::Timeout, format!("`{name}` was told to stop"));
    if stop.is_stopped() {
        return Err(stopped());
    }
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
    let mut waited = Duration::ZERO;
    let (stdout, cut) = loop {
        let step = LOOK.min(bound.saturating_sub(waited));
        match stdout.recv_timeout(step) {
            Ok(said) => break said,
            Err(RecvTimeoutError::Disconnected) => break (vec![], false),
            Err(RecvTimeoutError::Timeout) => waited += step,
        }
        if stop.is_stopped() {
            return Err(stopped());
        }
        if waited >= bound {
            return Err(late());
        }
    };
    let status = loop {
        match child.0.try_wait().map_err(|e| cannot_start(&name, &e))? {
            Some(status) => break status,
            None if stop.is_stopped() => return Err(stopped()),
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
        stderr: stderr.recv_timeout(LAST_WORDS).unwrap_or_default().0,
        cut,
    })
}

/// Between two looks at whether a child has ended.
const STEP: Duration = Duration::from_millis(2);
/// Between two looks at whether a child is to be stopped.
const LOOK: Duration = Duration::from_millis(50);
/// For standard error after the child has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Looks for a program on the environment's `PATH`.
pub(super) fn find(variables: &Variables, program: &str) -> Option<PathBuf> {
    std::env::split_paths(variables.get("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// Words the failure to start a program.
pub(super) fn cannot_start(name: &str, error: &std::io::Error) -> Fault {
    Fault::new(FaultKind::Config, format!("cannot run `{name}`")).because(error)
}

/// Reads a stream to its end in a thread, and sends what it held, and whether it held more than is kept.
fn drain(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<(Vec<u8>, bool)> {
    let (give, take) = mpsc::channel();
    drop(thread::spawn(move || {
        let mut bytes = vec![];
        if let Some(stream) = stream {
            // What was read before an error is still worth showing.
            let _partial = stream.take(KEPT + 1).read_to_end(&mut bytes);
        }
        let cut = bytes.len() as u64 > KEPT;
        let _unheard = give.send((bytes, cut));
    }));
    take
}

/// A child that does not outlive its owner.
#[derive(Debug)]
pub(super) struct Guard(pub(super) Child);

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

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test child")]
    fn ends_what_is_told_to_stop() {
        let stop = Stop::default();
        let other = stop.clone();
        let (begun, begins) = mpsc::channel();
        let running = thread::spawn(move || {
            let mut command = Command::new("sh");
            command.args(["-c", "exec sleep 1000"]);
            begun.send(()).unwrap();
            run_until(&mut command, Input::Empty, Duration::from_mins(15), &stop)
        });
        begins.recv().unwrap();
        other.stop();
        let fault = running.join().unwrap().unwrap_err();
        assert!(fault.sentence.contains("told to stop"), "{fault}");
    }
}
