//! The loop: events in, effects performed, frames coalesced, the clock.

pub mod clock;
pub mod jobs;
mod turn;

pub use turn::{After, run, run_on};
