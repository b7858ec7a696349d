//! The loop: what happens goes into the session, what it asks for is performed, and a frame is drawn when something
//! changed, at most every 16 ms.
//!
//! It is generic over the backend and the input, so that tests run the loop that ships.

use std::io;
use std::time::Duration;

use crossterm::event::{Event, EventStream};
use futures::{Stream, StreamExt as _};
use ratatui::Terminal;
use ratatui::backend::{Backend, CrosstermBackend};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::clock;
use crate::domain::fault::{Fault, FaultKind};
use crate::session::{Effect, Message, Session, Tone};
use crate::ui::{self, Theme};
use crate::world::term;

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);

/// Messages that are taken in one go.
const BATCH: usize = 512;

/// What the loop does after an effect.
#[derive(Debug, Clone, PartialEq)]
pub enum After {
    /// Goes on.
    Go,
    /// Draws the whole screen anew.
    Redraw,
    /// Says what went wrong.
    Tell(Fault),
}

/// Runs the session on the real terminal until it ends. `perform` gets every effect that is not the terminal's own;
/// what comes of it is sent into `inbox`.
///
/// # Errors
/// The terminal cannot be taken, or is gone.
pub async fn run(
    session: &mut Session,
    theme: &Theme,
    inbox: UnboundedReceiver<Message>,
    mut perform: impl FnMut(Effect),
) -> Result<(), Fault> {
    let mut screen = term::Screen::enter()?;
    let mut terminal = Terminal::new(CrosstermBackend::new(io::stdout())).map_err(gone)?;
    let hands = |effect: Effect| match effect {
        Effect::Copy(text) => screen.copy(&text).map_or_else(After::Tell, |()| After::Go),
        Effect::Suspend => screen
            .suspend()
            .map_or_else(After::Tell, |()| After::Redraw),
        other => {
            perform(other);
            After::Go
        }
    };
    run_on(
        &mut terminal,
        session,
        theme,
        EventStream::new(),
        inbox,
        hands,
    )
    .await
}

/// Runs the session on any backend and input until it asks to quit or the input ends.
///
/// # Errors
/// The terminal is gone.
pub async fn run_on<B>(
    terminal: &mut Terminal<B>,
    session: &mut Session,
    theme: &Theme,
    events: impl Stream<Item = io::Result<Event>>,
    mut inbox: UnboundedReceiver<Message>,
    mut perform: impl FnMut(Effect) -> After,
) -> Result<(), Fault>
where
    B: Backend,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let mut events = std::pin::pin!(events);
    let mut stop = std::pin::pin!(stopped());
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let size = terminal.size().map_err(gone)?;
    let mut state = Turn {
        session,
        dirty: true,
        quit: false,
        redraw: false,
    };
    state.take(
        Message::Resize {
            width: size.width,
            height: size.height,
        },
        &mut perform,
    );
    let mut next = Instant::now();
    let mut open = true;
    while !state.quit {
        tokio::select! {
            biased;
            () = &mut stop => state.take(Message::Stop, &mut perform),
            event = events.next() => match event {
                Some(Ok(event)) => {
                    if let Some(message) = term::message(event) {
                        state.take(message, &mut perform);
                        // what a person does is drawn at once
                        next = Instant::now();
                    }
                }
                Some(Err(e)) => return Err(gone(e)),
                None => state.quit = true,
            },
            () = sleep_until(next), if state.dirty => {
                if std::mem::take(&mut state.redraw) {
                    terminal.clear().map_err(gone)?;
                }
                terminal.draw(|frame| ui::draw(state.session, frame, theme)).map_err(gone)?;
                state.dirty = false;
                next = Instant::now() + FRAME;
            }
            message = inbox.recv(), if open => match message {
                Some(message) => {
                    state.take(message, &mut perform);
                    for _ in 0..BATCH {
                        let Ok(message) = inbox.try_recv() else { break };
                        state.take(message, &mut perform);
                    }
                }
                None => open = false,
            },
            _ = seconds.tick() => state.take(Message::Tick(clock::now()), &mut perform),
        }
    }
    Ok(())
}

struct Turn<'s> {
    session: &'s mut Session,
    dirty: bool,
    quit: bool,
    redraw: bool,
}

impl Turn<'_> {
    fn take(&mut self, message: Message, perform: &mut impl FnMut(Effect) -> After) {
        // ages change by the second at most, and only where something young is shown
        let quiet = matches!(message, Message::Tick(now)
            if !self.session.is_moving() && now.as_second() / 10 == self.session.now.as_second() / 10);
        let effects = self.session.update(message);
        self.dirty |= !quiet || !effects.is_empty();
        for effect in effects {
            match effect {
                Effect::Quit => self.quit = true,
                Effect::Redraw => self.redraw = true,
                other => match perform(other) {
                    After::Go => {}
                    After::Redraw => self.redraw = true,
                    After::Tell(fault) => {
                        // a notice asks for nothing
                        let _ = self.session.update(Message::Notice {
                            tone: Tone::Bad,
                            text: fault.to_string(),
                        });
                    }
                },
            }
        }
    }
}

fn gone(error: impl std::error::Error) -> Fault {
    Fault::new(FaultKind::Internal, "the terminal is gone").because(error)
}

/// Ends when the system asks the program to end.
async fn stopped() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut hang)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! { _ = term.recv() => {}, _ = hang.recv() => {} }
}
