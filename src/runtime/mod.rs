//! The loop: events in, effects performed, frames coalesced, the clock.

pub mod jobs;
