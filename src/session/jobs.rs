//! Answers of background work, and the comparisons that nobody asked for by a key.
//!
//! Every app is compared once when it appears or changes, and again after a while, since a live edit does not change
//! the app's own object. Answers with an older ticket are dropped.

use std::sync::Arc;

use super::message::{Effect, JournalLine, Message, Slot, Ticket, Tone};
use super::screen::Screen;
use super::sheet::{Button, Confirm, Review, Sheet};
use super::{Compared, Planning, Running, Session, summarise};
use crate::domain::drift::AppDrift;
use crate::domain::fault::Fault;
use crate::domain::fleet::{AppRef, AppState, Change, DriftSummary};

/// Apps that are compared again in one sweep.
const SWEEP: usize = 16;

/// Seconds between two sweeps.
const SWEEP_EVERY: i64 = 5;

impl Session {
    /// Takes the answer of a job.
    pub(super) fn answer(&mut self, message: Message) {
        match message {
            Message::Fleet(changes) => self.changed(changes),
            Message::Drift { ticket, result } => self.compared(&ticket, result),
            Message::Planned { ticket, result } => self.planned(&ticket, result),
            Message::Progress { ticket, words } => {
                if let Some(act) = self.running.get_mut(&ticket) {
                    act.words = words;
                }
            }
            Message::Done { ticket, result } => self.done(&ticket, &result),
            Message::Proposed { ticket, result } if self.is_newest(&ticket) => {
                let app = self
                    .planning
                    .take_if(|p| p.ticket == ticket)
                    .and_then(|p| p.app);
                match (result, app) {
                    (Ok(proposal), Some(app)) => self.sheets.push(Sheet::Accept(Review {
                        app,
                        button: if proposal.plan.also_changes.is_empty() {
                            Button::Commit
                        } else {
                            Button::Cancel
                        },
                        proposal,
                        scroll: 0,
                        running: None,
                    })),
                    (Err(fault), _) => self.tell_fault(&fault),
                    (Ok(_), None) => {}
                }
            }
            Message::Committed { ticket, result } => self.committed(&ticket, &result),
            _ => {}
        }
    }

    fn changed(&mut self, changes: Vec<Change>) {
        let delta = self.fleet.apply(changes, self.now);
        if delta.is_empty() {
            return;
        }
        for app in &delta.apps {
            if self.fleet.get(app).is_none() {
                self.compared.remove(app);
                self.bases.remove(app);
                self.newest.remove(&Slot::Compare(app.clone()));
            } else {
                self.compare_if_needed(app);
            }
        }
        self.refresh();
    }

    /// Asks for a comparison where none is current and none is under way for the app as it is now.
    fn compare_if_needed(&mut self, app: &AppRef) {
        let Some(known) = self.fleet.get(app) else {
            return;
        };
        let basis = known.basis();
        if known.later.is_none()
            && known.current_drift().is_none()
            && self.bases.get(app) != Some(&basis)
        {
            self.compare(app, false);
        }
    }

    /// Asks for a comparison.
    pub(super) fn compare(&mut self, app: &AppRef, urgent: bool) {
        let Some(known) = self.fleet.get(app) else {
            return;
        };
        self.bases.insert(app.clone(), known.basis());
        let ticket = self.ticket(Slot::Compare(app.clone()));
        self.effects.push(Effect::Compare {
            ticket,
            app: app.clone(),
            urgent,
        });
    }

    /// Asks again for the comparisons that are the oldest.
    pub(super) fn sweep(&mut self) {
        if self.now.as_second() - self.swept.as_second() < SWEEP_EVERY {
            return;
        }
        self.swept = self.now;
        let due = self.now.as_second() - self.options.recompare;
        let mut old: Vec<(i64, AppRef)> = self
            .compared
            .iter()
            .filter(|(app, c)| {
                c.at.as_second() <= due && !self.newest.contains_key(&Slot::Compare((*app).clone()))
            })
            .map(|(app, c)| (c.at.as_second(), app.clone()))
            .collect();
        old.sort();
        for (_, app) in old.into_iter().take(SWEEP) {
            self.compare(&app, false);
        }
    }

    fn compared(&mut self, ticket: &Ticket, result: Result<Box<AppDrift>, Fault>) {
        let Slot::Compare(app) = &ticket.slot else {
            return;
        };
        if !self.is_newest(ticket) {
            return;
        }
        self.newest.remove(&ticket.slot);
        let basis = self.bases.get(app).copied().unwrap_or_default();
        let summary = match &result {
            Ok(drift) => summarise(drift, Some(self.now), basis),
            Err(fault) => DriftSummary {
                state: AppState::Unknown,
                cause: Some(fault.to_string()),
                drifted: 0,
                additions: 0,
                hidden: 0,
                owner: None,
                at: Some(self.now),
                basis,
            },
        };
        self.fleet.set_drift(app, summary, self.now);
        let compared = Compared {
            result: result.map(Arc::from),
            at: self.now,
        };
        self.compared.insert(app.clone(), compared);
        // the app moved on while it was compared: this answer is about what it was
        self.compare_if_needed(&app.clone());
        self.refresh();
    }

    fn planned(&mut self, ticket: &Ticket, result: Result<crate::domain::operate::Plan, Fault>) {
        let Some(planning) = self.planning.as_mut().filter(|p| p.ticket == *ticket) else {
            return;
        };
        match result {
            Ok(plan) => planning.plans.push(plan),
            Err(fault) => planning.faults.push(fault),
        }
        planning.waiting = planning.waiting.saturating_sub(1);
        if planning.waiting > 0 {
            return;
        }
        let Some(Planning {
            mut plans, faults, ..
        }) = self.planning.take()
        else {
            return;
        };
        plans.sort_by(|a, b| a.app.cmp(&b.app));
        if plans.is_empty() {
            for fault in &faults {
                self.tell_fault(fault);
            }
            return;
        }
        let mut guarded: Vec<String> = plans
            .iter()
            .map(|plan| plan.app.context.to_string())
            .filter(|context| self.is_guarded(context))
            .collect();
        guarded.dedup();
        if guarded.len() > 1 {
            self.tell(
                Tone::Bad,
                format!(
                    "the marks span {} guarded contexts; act on one context at a time",
                    guarded.len()
                ),
            );
            return;
        }
        self.sheets
            .push(Sheet::Confirm(Confirm::new(plans, faults, guarded.pop())));
    }

    fn done(&mut self, ticket: &Ticket, result: &Result<String, Fault>) {
        let Some(Running { app, verb, .. }) = self.running.remove(ticket) else {
            return;
        };
        let words = match result {
            Ok(words) => {
                self.tell(Tone::Good, format!("{app}: {words}"));
                words.clone()
            }
            Err(fault) => {
                self.tell_fault(fault);
                fault.to_string()
            }
        };
        self.record(&app, verb.word(), result_word(result), words);
        self.compare(&app, true);
    }

    /// Takes the end of a commit, whether or not its dialog is still open.
    fn committed(&mut self, ticket: &Ticket, result: &Result<super::Committed, Fault>) {
        let Some(app) = self.commits.remove(ticket) else {
            return;
        };
        self.sheets.retain(
            |s| !matches!(s, Sheet::Accept(review) if review.running.as_ref() == Some(ticket)),
        );
        let words = match result {
            Ok(done) => {
                let pushed = match &done.pushed {
                    Some(place) => format!(", pushed to {place}"),
                    None => String::new(),
                };
                let next = done
                    .next
                    .as_ref()
                    .map_or(String::new(), |next| format!("; next: {next}"));
                let short: String = done.commit.chars().take(9).collect();
                let words = format!("committed {short} on branch {}{pushed}{next}", done.branch);
                self.tell(Tone::Good, words.clone());
                words
            }
            Err(fault) => {
                self.tell_fault(fault);
                fault.to_string()
            }
        };
        if result.is_ok()
            && let Some(Screen::Diff(diff)) = self.screen_mut()
            && diff.app == app
        {
            diff.marked.clear();
        }
        self.record(&app, "accept", result_word(result), words);
    }

    fn record(&mut self, app: &AppRef, verb: &str, result: &str, words: String) {
        let line = JournalLine {
            time: self.now.to_string(),
            context: app.context.to_string(),
            app: app.target.to_string(),
            verb: verb.to_owned(),
            result: result.to_owned(),
            words,
        };
        self.journal.push(line.clone());
        self.effects.push(Effect::Record(line));
    }
}

fn result_word<T>(result: &Result<T, Fault>) -> &'static str {
    match result {
        Ok(_) => "done",
        Err(fault) => fault.kind.word(),
    }
}
