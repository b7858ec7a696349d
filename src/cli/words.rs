//! Words for people: results to stdout, everything else to stderr, cleaned of what a terminal would obey.

use std::io::Write as _;

use crate::domain::fault::Fault;
use crate::domain::text;

/// Prints a result. A reader that went away (`| head`) is no fault of ours.
pub(super) fn result(words: &str) {
    if words.is_empty() {
        return;
    }
    let mut out = std::io::stdout().lock();
    let ended = if words.ends_with('\n') { "" } else { "\n" };
    write!(out, "{}{ended}", text::clean(words)).unwrap_or_default();
}

/// Prints bytes as they are: a rendering is a file for other programs.
pub(super) fn raw(bytes: &[u8]) {
    drop(std::io::stdout().lock().write_all(bytes));
}

/// Says something to a person.
pub(super) fn say(words: &str) {
    writeln!(std::io::stderr().lock(), "{}", text::clean(words)).unwrap_or_default();
}

/// Says what went wrong: the sentence, with `--verbose` the causes below, and the next step.
pub(super) fn fault(fault: &Fault, verbose: bool) {
    say(&format!("error: {}", one_line(fault)));
    if verbose {
        for cause in fault.causes.iter().skip(1) {
            say(&format!("  caused by: {cause}"));
        }
    }
    if let Some(hint) = &fault.hint {
        say(&format!("  next: {hint}"));
    }
}

/// A sentence is one line, whatever a server or a parser put into it.
fn one_line(fault: &Fault) -> String {
    text::clean_line(&fault.to_string()).into_owned()
}

/// Says a problem that did not end the command.
pub(super) fn problem(problem: &Fault) {
    say(&format!("warning: {}", one_line(problem)));
    if let Some(hint) = &problem.hint {
        say(&format!("  next: {hint}"));
    }
}
