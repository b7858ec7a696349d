//! A comparison in short, as the fleet keeps it for each app.

use jiff::Timestamp;

use crate::domain::drift::{AppDrift, FieldDrift, ObjectState, Owner, Verdict};
use crate::domain::fleet::{DriftSummary, LastHand};

/// Counts a comparison that was made at `at` over the state of the app with this basis.
pub fn summarise(drift: &AppDrift, at: Option<Timestamp>, basis: u64) -> DriftSummary {
    let fields = || drift.objects.iter().flat_map(|o| &o.fields);
    let whole = drift
        .objects
        .iter()
        .filter(|o| matches!(o.state, ObjectState::Missing | ObjectState::Extra))
        .count();
    DriftSummary {
        state: drift.state,
        cause: drift.cause.clone(),
        drifted: fields().filter(|f| counts(f)).count() + whole,
        additions: fields().filter(|f| f.verdict == Verdict::Residual).count(),
        hidden: drift.hidden.ignored + drift.hidden.noise + drift.hidden.foreign,
        owner: fields()
            .filter(|f| counts(f))
            .filter_map(|f| f.owners.first())
            .max_by_key(|owner| owner.time.as_deref().and_then(read))
            .map(hand),
        at,
        basis,
    }
}

/// Tells whether a difference counts as drift: undone at the next pass, or held.
pub(super) fn counts(field: &FieldDrift) -> bool {
    matches!(field.verdict, Verdict::Drift | Verdict::Held)
}

fn read(time: &str) -> Option<Timestamp> {
    time.parse().ok()
}

fn hand(owner: &Owner) -> LastHand {
    LastHand {
        manager: owner.manager.clone(),
        time: owner.time.as_deref().and_then(read),
        class: owner.class.word().to_owned(),
    }
}
