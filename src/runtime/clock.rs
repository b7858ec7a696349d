//! The one place that reads the clock.

use jiff::Timestamp;

/// Returns the time now.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn now() -> Timestamp {
    Timestamp::now()
}
