//! Acts and backfills: from a key to a plan that is asked for, shown, and confirmed.
//!
//! Nothing here writes. A key asks for a plan, the plan comes back as a sheet, and only the sheet's button returns the
//! effect that writes, with the very plan that was shown.

use super::action::Action;
use super::message::{Act, Effect, Slot, Tone};
use super::screen::Screen;
use super::sheet::{Button, Confirm, Prompt, Purpose, Review, Sheet};
use super::summary::counts;
use super::{Planning, Running, Session};
use crate::domain::backfill::{Wish, by_difference};
use crate::domain::drift::{FieldDrift, ObjectDrift, Verdict};
use crate::domain::fleet::AppRef;
use crate::domain::object::{FieldPath, ObjectId};
use crate::domain::operate::{Chosen, HoldNote, SyncOptions};

/// What is chosen of an object: some of its fields, or all that differ.
type Choice<'a> = (&'a ObjectDrift, Option<Vec<&'a FieldDrift>>);

impl Session {
    /// Returns the apps that a write is about: the marked ones, else the one under the cursor.
    fn chosen_apps(&self) -> Vec<AppRef> {
        match self.screen() {
            Screen::Fleet(fleet) if !fleet.marked.is_empty() => {
                fleet.marked.iter().cloned().collect()
            }
            _ => self.app_at().cloned().into_iter().collect(),
        }
    }

    /// Begins an act: asks for its plan.
    pub(super) fn begin(&mut self, action: Action) {
        let apps = self.chosen_apps();
        let act = match action {
            Action::Sync => Act::Sync(SyncOptions {
                with_source: true,
                ..SyncOptions::default()
            }),
            Action::SyncPrune => Act::Sync(SyncOptions {
                with_source: true,
                prune: true,
                ..SyncOptions::default()
            }),
            Action::Refresh => Act::Refresh { hard: false },
            Action::HardRefresh => Act::Refresh { hard: true },
            Action::Terminate => Act::Terminate,
            Action::Revert => Act::Revert(self.chosen_reverts()),
            _ => return self.begin_hold(apps),
        };
        self.plan(&apps, &act);
    }

    /// Gives held apps back, or asks why the others are held.
    fn begin_hold(&mut self, apps: Vec<AppRef>) {
        let held = |app: &AppRef| self.fleet.get(app).is_some_and(|a| a.hold.is_some());
        let (back, take): (Vec<AppRef>, Vec<AppRef>) = apps.into_iter().partition(held);
        match (back.is_empty(), take.is_empty()) {
            (false, false) => self.tell(
                Tone::Bad,
                "some of the marked apps are held and some are not; mark only the ones or the others",
            ),
            (false, true) => self.plan(&back, &Act::Resume),
            _ => self.sheets.push(Sheet::Prompt(Prompt {
                purpose: Purpose::HoldReason(take),
                text: String::new(),
                wrong: None,
                before: String::new(),
            })),
        }
    }

    /// Asks for the plan of an act on each of these apps.
    pub(super) fn plan(&mut self, apps: &[AppRef], act: &Act) {
        if apps.is_empty() {
            return;
        }
        let ticket = self.ticket(Slot::Plan);
        self.planning = Some(Planning {
            ticket: ticket.clone(),
            app: None,
            waiting: apps.len(),
            plans: vec![],
            faults: vec![],
        });
        for app in apps {
            self.effects.push(Effect::PlanAct {
                ticket: ticket.clone(),
                app: app.clone(),
                act: act.clone(),
            });
        }
    }

    /// Asks for a hold with its reason.
    pub(super) fn hold(&mut self, apps: &[AppRef], reason: &str) {
        let reason = Some(reason.trim().to_owned()).filter(|r| !r.is_empty());
        self.plan(
            apps,
            &Act::Hold(HoldNote {
                reason,
                until: None,
            }),
        );
    }

    /// Asks for the plan of a backfill of what is chosen.
    pub(super) fn begin_accept(&mut self) {
        let Some(app) = self.app_at().cloned() else {
            return;
        };
        let wishes: Vec<Wish> = self
            .choices()
            .into_iter()
            .flat_map(|(object, fields)| {
                let fields = fields.unwrap_or_else(|| {
                    object
                        .fields
                        .iter()
                        .filter(|f| counts(f) || f.verdict == Verdict::Residual)
                        .collect()
                });
                fields
                    .into_iter()
                    .map(|field| wish(&object.id, field))
                    .collect::<Vec<_>>()
            })
            .collect();
        let ticket = self.ticket(Slot::Accept);
        self.planning = Some(Planning {
            ticket: ticket.clone(),
            app: Some(app.clone()),
            waiting: 1,
            plans: vec![],
            faults: vec![],
        });
        self.effects.push(Effect::PlanAccept {
            ticket,
            app,
            wishes,
        });
    }

    /// Returns what is marked, else what is under the cursor.
    fn choices(&self) -> Vec<Choice<'_>> {
        let Some(drift) = self.app_at().and_then(|app| self.drift_of(app)) else {
            return vec![];
        };
        match self.screen() {
            Screen::App(screen) => {
                let under = screen.rows.get(screen.list.at).map(|row| &row.id);
                drift
                    .objects
                    .iter()
                    .filter(|o| {
                        if screen.marked.is_empty() {
                            under == Some(&o.id)
                        } else {
                            screen.marked.contains(&o.id)
                        }
                    })
                    .map(|o| (o, None))
                    .collect()
            }
            Screen::Diff(screen) if screen.marked.values().any(|m| !m.is_empty()) => drift
                .objects
                .iter()
                .filter_map(|o| {
                    let marked = screen.marked.get(&o.id).filter(|m| !m.is_empty())?;
                    Some((
                        o,
                        Some(
                            o.fields
                                .iter()
                                .filter(|f| marked.contains(&f.path))
                                .collect(),
                        ),
                    ))
                })
                .collect(),
            Screen::Diff(screen) => drift
                .objects
                .get(screen.object)
                .and_then(|o| Some((o, Some(vec![o.fields.get(self.field_at()?)?]))))
                .into_iter()
                .collect(),
            Screen::Drift(screen) => screen
                .rows
                .get(screen.list.at)
                .and_then(|row| {
                    let object = drift.objects.get(row.object)?;
                    Some((
                        object,
                        row.field
                            .map(|at| object.fields.get(at).into_iter().collect()),
                    ))
                })
                .into_iter()
                .collect(),
            _ => vec![],
        }
    }

    fn chosen_reverts(&self) -> Vec<(ObjectId, Chosen)> {
        self.choices()
            .into_iter()
            .map(|(object, fields)| {
                let paths = |fields: Vec<&FieldDrift>| -> Vec<FieldPath> {
                    fields.into_iter().map(|f| f.path.clone()).collect()
                };
                (
                    object.id.clone(),
                    fields.map_or(Chosen::All, |fields| Chosen::Fields(paths(fields))),
                )
            })
            .collect()
    }

    /// Returns why nothing can be accepted or reverted here.
    pub(super) fn why_no_wish(&self, action: Action) -> Option<String> {
        let app = self.app_at()?;
        match self.compared.get(app).map(|c| &c.result) {
            None => return Some("it has not been compared yet".to_owned()),
            Some(Err(fault)) => {
                return Some(format!("it could not be compared: {}", fault.sentence));
            }
            Some(Ok(_)) => {}
        }
        let choices = self.choices();
        if choices.is_empty() {
            return Some("no difference is under the cursor".to_owned());
        }
        let fits = |field: &FieldDrift| counts(field) || field.verdict == Verdict::Residual;
        let any = choices.iter().any(|(object, fields)| match fields {
            Some(fields) => fields
                .iter()
                .any(|f| fits(f) || action == Action::Accept && by_difference(f).is_none()),
            None => {
                object.fields.iter().any(fits)
                    || action == Action::Revert
                        && object.state != crate::domain::drift::ObjectState::InSync
            }
        });
        if any {
            return None;
        }
        // a cursor that was put on a difference is told why that one is none to act on
        let mut chosen = choices.iter().flat_map(|(_, fields)| fields).flatten();
        let refused = chosen.find_map(|field| by_difference(field));
        Some(match refused {
            Some((reason, hint)) => format!("{reason}; {hint}"),
            None => "it does not differ".to_owned(),
        })
    }

    /// Executes the plans of a confirmed dialog.
    pub(super) fn confirm(&mut self, confirm: Confirm) {
        for plan in confirm.plans {
            let app = plan.app.clone();
            let ticket = self.ticket(Slot::Act(app.clone()));
            self.running.insert(
                ticket.clone(),
                Running {
                    app,
                    verb: plan.verb,
                    words: format!("{} asked for", plan.verb.word()),
                },
            );
            self.effects.push(Effect::Execute {
                ticket,
                plan: Box::new(plan),
            });
        }
        if let Some(Screen::Fleet(fleet)) = self.screen_mut() {
            fleet.marked.clear();
        }
    }

    /// Commits a confirmed backfill.
    pub(super) fn commit(&mut self, review: &mut Review) {
        let ticket = self.ticket(Slot::Commit);
        review.running = Some(ticket.clone());
        self.commits.insert(ticket.clone(), review.app.clone());
        self.effects.push(Effect::Commit {
            ticket,
            app: review.app.clone(),
            proposal: review.proposal.clone(),
            push: review.button == Button::Push,
        });
    }
}

fn wish(object: &ObjectId, field: &FieldDrift) -> Wish {
    Wish {
        object: object.clone(),
        path: field.path.clone(),
        from: field.git.clone(),
        to: field.live.clone(),
        origin: field.origin.clone(),
    }
}
