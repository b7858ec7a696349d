//! The loop: events in, effects performed, frames coalesced, the clock.

pub mod clock;
mod input;
pub mod jobs;
pub mod perform;
pub mod screen;
