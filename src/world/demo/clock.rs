//! The demo's time: where the caller's `now` says it starts, then as fast as the runtime's clock runs.
//!
//! While the fleet is built the hands stand where the story puts them ("three hours ago"), so that two starts with the
//! same `now` give the same times.

use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The time of one demo.
#[derive(Debug)]
pub(super) struct Clock {
    start: Timestamp,
    since: Instant,
    /// Where the hands stand while the fleet is built; `None` when they run.
    set: Mutex<Option<Timestamp>>,
}

impl Clock {
    /// Makes a clock that stands at `start` until it is let run.
    pub(super) fn standing(start: Timestamp) -> Self {
        Self {
            start,
            since: Instant::now(),
            set: Mutex::new(Some(start)),
        }
    }

    /// Puts the hands to so many minutes before the start.
    pub(super) fn minutes_ago(&self, minutes: i64) {
        self.put(Some(self.start - SignedDuration::from_mins(minutes)));
    }

    /// Lets the hands run from the start on.
    pub(super) fn run(&self) {
        self.put(None);
    }

    fn put(&self, at: Option<Timestamp>) {
        *self.set.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    /// Returns the time.
    pub(super) fn now(&self) -> Timestamp {
        let set = *self.set.lock().unwrap_or_else(PoisonError::into_inner);
        set.unwrap_or_else(|| {
            let run = i64::try_from(self.since.elapsed().as_millis()).unwrap_or(i64::MAX);
            self.start + SignedDuration::from_millis(run)
        })
    }

    /// Returns the time as Kubernetes writes it: whole seconds, UTC.
    pub(super) fn text(&self) -> String {
        seconds(self.now())
    }
}

/// Returns a time as Kubernetes writes it: whole seconds, UTC.
pub(super) fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
