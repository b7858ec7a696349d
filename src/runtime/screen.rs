//! The loop of the screens: one `select!` over keys, answers, the frame timer and the clock.
//!
//! A key is drawn at once; everything else is drawn at most every 16 ms, and nothing is drawn without cause.

use std::time::Duration;

use crossterm::event::Event;
use futures::{Stream, StreamExt as _};
use ratatui::Frame;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::{clock, input};
use crate::domain::fault::Fault;
use crate::session::{Effect, Message, Session};

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);
/// How often the clock is told, so that ages move.
const TICK: Duration = Duration::from_secs(1);
/// Answers taken in one go before a frame is due again.
const DRAIN: usize = 512;

/// What frames are drawn on: the terminal, or a picture in memory.
pub trait Surface {
    /// Draws one frame.
    fn frame(&mut self, paint: &mut dyn FnMut(&mut Frame<'_>)) -> Result<(), Fault>;
}

impl Surface for crate::world::term::Guard {
    fn frame(&mut self, paint: &mut dyn FnMut(&mut Frame<'_>)) -> Result<(), Fault> {
        self.draw(paint)
    }
}

impl Surface for ratatui::Terminal<ratatui::backend::TestBackend> {
    fn frame(&mut self, paint: &mut dyn FnMut(&mut Frame<'_>)) -> Result<(), Fault> {
        match self.draw(|frame| paint(frame)) {
            Ok(_) => Ok(()),
        }
    }
}

/// Runs the session until it asks to end.
///
/// `draw` paints; `effect` performs what is asked for, and gets the surface for what concerns it.
///
/// # Errors
/// The terminal could not be drawn on.
pub async fn run<S: Surface>(
    session: &mut Session,
    surface: &mut S,
    events: impl Stream<Item = std::io::Result<Event>> + Unpin,
    inbox: &mut mpsc::UnboundedReceiver<Message>,
    mut draw: impl FnMut(&Session, &mut Frame<'_>),
    mut effect: impl FnMut(Effect, &mut S) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut events = events.fuse();
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let (mut dirty, mut next) = (true, Instant::now());
    loop {
        let messages: Vec<Message> = tokio::select! {
            biased;
            event = events.next() => match event {
                Some(Ok(event)) => {
                    next = Instant::now();
                    input::message(event).into_iter().collect()
                }
                Some(Err(_)) | None => vec![Message::Stop],
            },
            () = sleep_until(next), if dirty => {
                surface.frame(&mut |frame| draw(session, frame))?;
                (dirty, next) = (false, Instant::now() + FRAME);
                continue;
            },
            Some(message) = inbox.recv() => {
                let mut all = vec![message];
                while all.len() < DRAIN && let Ok(message) = inbox.try_recv() {
                    all.push(message);
                }
                all
            },
            _ = ticks.tick() => vec![Message::Tick(clock::now())],
        };
        for message in messages {
            let quiet = is_quiet(session, &message);
            let effects = session.update(message);
            dirty |= !quiet || !effects.is_empty();
            for asked in effects {
                if asked == Effect::Quit {
                    return Ok(());
                }
                effect(asked, surface)?;
            }
        }
    }
}

/// Tells whether nothing on the screen can change by this message: the clock moves ages by the second only where
/// something young is shown.
fn is_quiet(session: &Session, message: &Message) -> bool {
    matches!(message, Message::Tick(now)
        if !session.is_moving() && now.as_second() / 10 == session.now.as_second() / 10)
}
