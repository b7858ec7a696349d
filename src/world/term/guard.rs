//! Raw mode and the alternate screen, as long as a value lives.

use std::io::{Stdout, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
    EventStream,
};
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use ratatui::backend::CrosstermBackend;
use ratatui::{Frame, Terminal};

use crate::domain::fault::{Fault, FaultKind};

/// Whether the terminal is ours now.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// The terminal while it is ours; dropped, it is given back.
#[derive(Debug)]
pub struct Guard {
    /// What is drawn on.
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
}

fn fault(error: &std::io::Error) -> Fault {
    Fault::new(FaultKind::Usage, "the screens need a terminal")
        .because(error)
        .hint("run it in a terminal, or use a command such as gitops-tui list")
}

impl Guard {
    /// Enters the terminal.
    pub fn enter() -> Result<Self, Fault> {
        enter().map_err(|error| {
            restore();
            fault(&error)
        })?;
        let terminal = Terminal::new(CrosstermBackend::new(stdout())).map_err(|error| {
            restore();
            fault(&error)
        })?;
        Ok(Self { terminal })
    }

    /// Draws one frame.
    pub fn draw(&mut self, paint: impl FnOnce(&mut Frame<'_>)) -> Result<(), Fault> {
        self.terminal
            .draw(paint)
            .map(|_| ())
            .map_err(|error| fault(&error))
    }

    /// Clears the screen, so that the next frame is drawn as a whole.
    pub fn redraw(&mut self) -> Result<(), Fault> {
        self.terminal.clear().map_err(|error| fault(&error))
    }

    /// Gives the terminal back for as long as `meanwhile` runs, then takes it again and clears it.
    pub fn without<T>(&mut self, meanwhile: impl FnOnce() -> T) -> Result<T, Fault> {
        restore();
        let result = meanwhile();
        enter().map_err(|error| fault(&error))?;
        self.redraw()?;
        Ok(result)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

fn enter() -> std::io::Result<()> {
    enable_raw_mode()?;
    ENTERED.store(true, Ordering::SeqCst);
    execute!(
        stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        EnableMouseCapture,
        cursor::Hide
    )
}

/// Gives the terminal back, if it is ours. What fails on the way does not keep the rest from being given back.
pub(super) fn restore() {
    if ENTERED.swap(false, Ordering::SeqCst) {
        drop(execute!(
            stdout(),
            DisableMouseCapture,
            DisableBracketedPaste,
            LeaveAlternateScreen,
            cursor::Show
        ));
        drop(disable_raw_mode());
    }
}

/// Tells whether the terminal is ours now.
pub(super) fn is_entered() -> bool {
    ENTERED.load(Ordering::SeqCst)
}

/// Returns what the terminal sends: keys, pastes, the mouse, its size.
pub fn events() -> EventStream {
    EventStream::new()
}

/// Puts text on the clipboard by way of the terminal (OSC 52), which also works over ssh.
pub fn copy(text: &str) -> Result<(), Fault> {
    execute!(stdout(), CopyToClipboard::to_clipboard_from(text)).map_err(|error| {
        Fault::new(FaultKind::Internal, "the terminal took no clipboard text").because(error)
    })
}
