//! One state per app, from facts, comparison and time.
//!
//! The order of the questions is the order of urgency. What calms ("in sync") needs a comparison that is still about
//! this state of the app; what alarms does not. A contradiction between the engine and the comparison is `unknown`,
//! never green.

use jiff::Timestamp;

use super::AppState;
use super::app::{App, HoldKind, Settings};
use super::flux;

/// Seconds for which a routine pass does not count as `progressing`.
pub(super) const ROUTINE: i64 = 30;

/// A state with its reason and its beginning.
type Verdict = (AppState, Option<String>, Option<Timestamp>);

impl App {
    /// Settles the state at `now`.
    pub fn settle(&mut self, now: Timestamp, settings: &Settings) {
        let status = self.by_status(now, *settings);
        let (state, cause, since) = self.with_drift(status);
        (self.state, self.cause, self.since) = (state, cause, since);
    }

    /// What the controller's own status says, without any comparison.
    fn by_status(&self, now: Timestamp, settings: Settings) -> Verdict {
        if self.deleting {
            return (
                AppState::Progressing,
                Some("being deleted".to_owned()),
                None,
            );
        }
        if let Some(hold) = self.hold.as_ref().filter(|h| h.kind == HoldKind::Suspended) {
            let mut cause = self.held_cause();
            if let Some((failing, _)) = &self.facts.failing {
                cause = format!("{cause}; its last pass failed: {failing}");
            }
            return (AppState::Held, Some(cause), hold.since);
        }
        if let Some((cause, since)) = &self.facts.failing {
            // without any time the failure is taken as one that has just begun
            let seconds = since.map_or(0, |s| now.as_second() - s.as_second());
            let state = if seconds >= settings.failed_after {
                AppState::Failed
            } else {
                AppState::Progressing
            };
            return (state, Some(cause.clone()), *since);
        }
        let ahead = self.ahead();
        if let Some((cause, since)) = &self.facts.progressing {
            let young = since.is_none_or(|s| now.as_second() - s.as_second() < ROUTINE);
            if !(self.facts.routine && young && ahead.is_none()) {
                return (AppState::Progressing, Some(cause.clone()), *since);
            }
        }
        if let Some(hold) = &self.hold {
            return (AppState::Held, Some(self.held_cause()), hold.since);
        }
        if let Some(cause) = ahead {
            return (AppState::GitAhead, Some(cause), None);
        }
        if let Some(cause) = &self.facts.says_drifted {
            return (AppState::Drifted, Some(cause.clone()), None);
        }
        (
            AppState::Unknown,
            Some(
                self.blind()
                    .unwrap_or_else(|| "not compared yet".to_owned()),
            ),
            None,
        )
    }

    /// Why no comparison could calm: the controller is silent, the source cannot be fetched, the kind is not compared.
    fn blind(&self) -> Option<String> {
        if let Some(silent) = &self.facts.silent {
            return Some(silent.clone());
        }
        let source = self.sources.iter().find_map(|s| {
            let id = s.object.as_ref()?;
            if let Some(fault) = &s.fault {
                return Some(format!("{id}: {fault}"));
            }
            s.suspended
                .then(|| format!("{id} is suspended, so that Git may have moved"))
        });
        source.or_else(|| self.later.clone())
    }

    fn ahead(&self) -> Option<String> {
        if let Some(said) = &self.facts.says_ahead {
            return Some(said.clone());
        }
        // a HelmRelease's revisions are chart versions, an artifact's are digests: not comparable
        if self.app.target.kind == super::AppKind::HelmRelease {
            return None;
        }
        let source = self
            .sources
            .iter()
            .find(|s| flux::is_flux(self.app.target.kind) && s.ahead() == Some(true))?;
        let wanted = source.wanted.as_deref().map(flux::short)?;
        Some(format!("{wanted} is not applied yet"))
    }

    fn held_cause(&self) -> String {
        let Some(hold) = &self.hold else {
            return String::new();
        };
        let mut text = match hold.kind {
            HoldKind::Suspended => "suspended".to_owned(),
            HoldKind::AutomatedTaken => "automated sync was taken off".to_owned(),
            HoldKind::AutomatedDisabled => "automated sync is disabled".to_owned(),
            HoldKind::SkipReconcile => "skip-reconcile freezes it".to_owned(),
        };
        if let Some(by) = &hold.by {
            text = format!("{text} by {by}");
        }
        if let Some(reason) = &hold.reason {
            text = format!("{text}: {reason}");
        }
        if let Some(until) = hold.until {
            text = format!("{text}, until {until}");
        }
        if let Some(ahead) = self.ahead() {
            text = format!("{text}; {ahead}");
        }
        text
    }

    fn with_drift(&self, status: Verdict) -> Verdict {
        let Some(drift) = self.current_drift() else {
            return if self.drift.is_some() && status.0 == AppState::Unknown {
                let cause = self
                    .blind()
                    .unwrap_or_else(|| "changed since it was compared".to_owned());
                (AppState::Unknown, Some(cause), None)
            } else {
                status
            };
        };
        let since = drift.owner.as_ref().and_then(|o| o.time).or(drift.at);
        let compared = (drift.state, drift.cause.clone(), since);
        let edited = matches!(drift.state, AppState::Drifted | AppState::Both);
        match status.0 {
            AppState::Progressing | AppState::Held => {
                if edited {
                    compared
                } else {
                    status
                }
            }
            AppState::GitAhead if edited => {
                (AppState::Both, drift.cause.clone().or(status.1), since)
            }
            AppState::GitAhead | AppState::Failed => status,
            AppState::Drifted => match drift.state {
                AppState::InSync | AppState::AdditionsOnly => {
                    let said = status.1.unwrap_or_default();
                    let cause = format!("{said}, but comparing found no difference");
                    (AppState::Unknown, Some(cause), None)
                }
                AppState::Unknown => status,
                _ => compared,
            },
            _ => match (drift.state, self.blind()) {
                (AppState::InSync | AppState::AdditionsOnly | AppState::Excepted, Some(blind)) => {
                    (AppState::Unknown, Some(blind), None)
                }
                (AppState::InSync, None) => (AppState::InSync, None, self.facts.good.or(drift.at)),
                _ => compared,
            },
        }
    }
}
