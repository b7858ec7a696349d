//! The terminal: entered and left by a guard, input as this program names it, clipboard, stop and continue.
//!
//! Whatever happens (an error, a panic on any thread, a signal), the terminal is given back as it was found: the guard
//! restores on drop, and the panic hook restores before the report is printed. Nothing else writes to the terminal.

mod input;

use std::io::{self, Stdout, Write as _, stdout};
use std::process::Command;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use crate::domain::fault::{Fault, FaultKind};

pub use input::message;

/// Whether the terminal is ours now; the panic hook and the guard both look here, so that it is given back once.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// The largest text that is sent to the clipboard: terminals drop longer ones.
const CLIPBOARD: usize = 74_994;

/// The terminal while it is ours; gives it back when dropped.
#[derive(Debug)]
pub struct Screen {
    out: Stdout,
}

impl Screen {
    /// Takes the terminal: raw mode, alternate screen, mouse, bracketed paste. Install color-eyre before.
    ///
    /// # Errors
    /// Standard output is no terminal.
    pub fn enter() -> Result<Self, Fault> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let report = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                report(panic);
            }));
        });
        let mut screen = Self { out: stdout() };
        screen.take().map_err(|e| {
            restore();
            Fault::new(FaultKind::Usage, "the terminal cannot be taken over")
                .because(e)
                .hint("run it in a terminal, or use `gitops-tui list`, `diff` and `check`")
        })?;
        Ok(screen)
    }

    fn take(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        ENTERED.store(true, Ordering::SeqCst);
        execute!(
            self.out,
            EnterAlternateScreen,
            EnableMouseCapture,
            EnableBracketedPaste
        )
    }

    /// Gives the terminal back, stops the program as Ctrl-Z does, and takes the terminal again once it is continued.
    ///
    /// # Errors
    /// The terminal cannot be taken again.
    pub fn suspend(&mut self) -> Result<(), Fault> {
        self.aside(|| {
            #[expect(clippy::disallowed_methods, reason = "the terminal is given back here")]
            let stopped = Command::new("kill")
                .args(["-TSTP", &std::process::id().to_string()])
                .status();
            stopped.map(|_| ())
        })
    }

    /// Runs `work` (a pager, an editor) with the terminal given back.
    ///
    /// # Errors
    /// `work` failed, or the terminal cannot be taken again.
    pub fn aside(&mut self, work: impl FnOnce() -> io::Result<()>) -> Result<(), Fault> {
        restore();
        let done = work();
        let again = self.take();
        done.and(again).map_err(|e| {
            Fault::new(FaultKind::Internal, "the terminal could not be handed over").because(e)
        })
    }

    /// Puts text on the clipboard by OSC 52, which also works over ssh. Not every terminal obeys.
    ///
    /// # Errors
    /// The text is too long, or the terminal is gone.
    pub fn copy(&mut self, text: &str) -> Result<(), Fault> {
        let sequence = osc52(text).ok_or_else(|| {
            Fault::new(
                FaultKind::Unsupported,
                "the text is too long for the terminal's clipboard",
            )
        })?;
        self.out
            .write_all(sequence.as_bytes())
            .and_then(|()| self.out.flush())
            .map_err(|e| {
                Fault::new(FaultKind::Internal, "the clipboard cannot be reached").because(e)
            })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back as it was found; harmless when it was given back already. Errors have nobody to go to.
pub fn restore() {
    if ENTERED.swap(false, Ordering::SeqCst) {
        let _ = execute!(
            stdout(),
            DisableBracketedPaste,
            DisableMouseCapture,
            LeaveAlternateScreen,
            Show
        );
        let _ = disable_raw_mode();
    }
}

fn osc52(text: &str) -> Option<String> {
    (text.len() <= CLIPBOARD).then(|| {
        let coded = base64::engine::general_purpose::STANDARD.encode(text);
        format!("\u{1b}]52;c;{coded}\u{7}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_the_true_value_for_the_clipboard() {
        assert_eq!(osc52("a\u{1b}b").as_deref(), Some("\u{1b}]52;c;YRti\u{7}"));
        assert_eq!(osc52(&"x".repeat(80_000)), None);
    }
}
