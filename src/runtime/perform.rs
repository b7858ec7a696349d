//! What the session asks for, done in the background: each effect a task, each answer a message with its ticket.
//!
//! Comparisons that nobody waits for queue behind a few permits, so that a large fleet does not press on its servers.
//! A task that panics answers with a fault.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

use super::jobs::{Asked, Backfill, Commits, Compared, Jobs, default_wait};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet::{AppRef, Change};
use crate::session::{Act, Committed, Effect, JournalLine, Message, Proposal, Ticket, Tone};

/// Background comparisons at once.
const BACKGROUND: usize = 4;

/// Performs effects; its answers go to the session's inbox.
#[derive(Debug)]
pub struct Performer {
    jobs: Jobs,
    inbox: mpsc::UnboundedSender<Message>,
    queue: Arc<Semaphore>,
    kept: Arc<Kept>,
    watches: Vec<JoinHandle<()>>,
}

/// What later effects need of earlier ones.
#[derive(Debug, Default)]
struct Kept {
    compared: Mutex<HashMap<AppRef, Arc<Compared>>>,
    backfills: Mutex<HashMap<AppRef, Arc<Backfill>>>,
}

impl Performer {
    /// Makes a performer over `jobs` that answers to `inbox`.
    pub fn new(jobs: Jobs, inbox: mpsc::UnboundedSender<Message>) -> Self {
        Self {
            jobs,
            inbox,
            queue: Arc::new(Semaphore::new(BACKGROUND)),
            kept: Arc::default(),
            watches: vec![],
        }
    }

    /// Starts to watch every context.
    pub fn watch(&mut self) {
        for context in self.jobs.contexts() {
            let (jobs, inbox) = (self.jobs.clone(), self.inbox.clone());
            let (sender, mut receiver) = mpsc::channel::<Vec<Change>>(64);
            self.watches.push(tokio::spawn(
                async move { jobs.watch(context, sender).await },
            ));
            self.watches.push(tokio::spawn(async move {
                while let Some(mut changes) = receiver.recv().await {
                    // What has come meanwhile goes along: one batch, one message.
                    while let Ok(mut more) = receiver.try_recv() {
                        changes.append(&mut more);
                    }
                    if inbox.send(Message::Fleet(changes)).is_err() {
                        return;
                    }
                }
            }));
        }
    }

    /// Performs one effect of background work; what concerns the terminal is not ours and is left alone.
    pub fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Compare {
                ticket,
                app,
                urgent,
            } => self.compare(ticket, app, urgent),
            Effect::PlanAct { ticket, app, act } => {
                let jobs = self.jobs.clone();
                self.answer(
                    async move { jobs.plan(&app, &asked(act)).await },
                    move |result| Message::Planned { ticket, result },
                );
            }
            Effect::Execute { ticket, plan } => self.execute(ticket, *plan),
            Effect::PlanAccept {
                ticket,
                app,
                wishes,
            } => {
                let (jobs, kept) = (self.jobs.clone(), Arc::clone(&self.kept));
                let picked = wishes
                    .into_iter()
                    .map(|wish| (wish.object, wish.path))
                    .collect();
                self.answer(
                    async move {
                        let known = kept
                            .compared
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .get(&app)
                            .cloned();
                        let compared = match known {
                            Some(compared) => compared,
                            None => Arc::new(jobs.compare(&app).await?),
                        };
                        let backfill = Arc::new(jobs.plan_accept(&compared, &picked, None).await?);
                        let proposal = Proposal {
                            plan: backfill.plan.clone(),
                            branch: backfill.branch.clone(),
                            message: backfill.message.clone(),
                            repository: backfill.repository().display().to_string(),
                        };
                        kept.backfills
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .insert(app, backfill);
                        Ok(Box::new(proposal))
                    },
                    move |result| Message::Proposed { ticket, result },
                );
            }
            Effect::Commit {
                ticket,
                app,
                proposal,
                push,
            } => self.commit(ticket, app, *proposal, push),
            Effect::Reconnect => {
                for watch in self.watches.drain(..) {
                    watch.abort();
                }
                self.watch();
            }
            // Without one on disk, what the session remembers is all there is.
            Effect::ReadJournal if !self.jobs.keeps_journal() => {}
            Effect::ReadJournal => self.read_journal(),
            // The jobs note what they do in the journal themselves; the rest is the terminal's.
            Effect::Record(_)
            | Effect::Copy(_)
            | Effect::Page(_)
            | Effect::Suspend
            | Effect::Redraw
            | Effect::Quit => {}
        }
    }

    /// Runs `work` as a task and sends its answer; a panic becomes a fault.
    fn answer<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Fault>> + Send + 'static,
        message: impl FnOnce(Result<T, Fault>) -> Message + Send + 'static,
    ) {
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            let result = tokio::spawn(work).await.unwrap_or_else(|_| {
                Err(Fault::new(FaultKind::Internal, "a job ended unexpectedly")
                    .hint("the log has the place"))
            });
            // The session may have ended meanwhile.
            drop(inbox.send(message(result)));
        });
    }

    fn compare(&self, ticket: Ticket, app: AppRef, urgent: bool) {
        let (jobs, kept, queue) = (
            self.jobs.clone(),
            Arc::clone(&self.kept),
            Arc::clone(&self.queue),
        );
        self.answer(
            async move {
                let _permit = if urgent {
                    None
                } else {
                    queue.acquire_owned().await.ok()
                };
                let compared = Arc::new(jobs.compare(&app).await?);
                let drift = Box::new(compared.drift.clone());
                kept.compared
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(app, compared);
                Ok(drift)
            },
            move |result| Message::Drift { ticket, result },
        );
    }

    fn execute(&self, ticket: Ticket, plan: crate::domain::operate::Plan) {
        let (jobs, inbox, tell) = (self.jobs.clone(), self.inbox.clone(), ticket.clone());
        self.answer(
            async move {
                let wait = Some(default_wait(plan.verb));
                let acted = jobs
                    .perform(&plan, wait, |progress| {
                        let words = progress.message;
                        drop(inbox.send(Message::Progress {
                            ticket: tell.clone(),
                            words,
                        }));
                    })
                    .await?;
                Ok(acted.message.unwrap_or_else(|| acted.done.join("; ")))
            },
            move |result| Message::Done { ticket, result },
        );
    }

    fn commit(&self, ticket: Ticket, app: AppRef, proposal: Proposal, push: bool) {
        let (jobs, kept, inbox) = (
            self.jobs.clone(),
            Arc::clone(&self.kept),
            self.inbox.clone(),
        );
        self.answer(
            async move {
                let backfill = kept
                    .backfills
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get(&app)
                    .cloned();
                let backfill = backfill
                    .filter(|b| b.plan == proposal.plan)
                    .ok_or_else(|| {
                        Fault::new(FaultKind::Conflict, "another plan was made meanwhile")
                            .hint("plan it again")
                    })?;
                let asked = Commits {
                    branch: Some(proposal.branch),
                    message: Some(proposal.message),
                    push,
                };
                let done = jobs.commit(&backfill, &asked).await?;
                for note in &done.notes {
                    drop(inbox.send(Message::Notice {
                        tone: Tone::Plain,
                        text: note.clone(),
                    }));
                }
                if let Some(fault) = &done.push_fault {
                    drop(inbox.send(Message::Notice {
                        tone: Tone::Bad,
                        text: fault.to_string(),
                    }));
                }
                let next = (!done.pushed)
                    .then(|| format!("git -C {} show {}", done.repository, done.branch));
                Ok(Committed {
                    pushed: done.pushed.then(|| backfill.url.clone()),
                    branch: done.branch,
                    commit: done.commit,
                    next,
                })
            },
            move |result| Message::Committed { ticket, result },
        );
    }

    fn read_journal(&self) {
        let (jobs, inbox) = (self.jobs.clone(), self.inbox.clone());
        tokio::task::spawn_blocking(move || {
            let message = match jobs.journal(500) {
                Ok(entries) => Message::Journal(
                    entries
                        .into_iter()
                        .map(|entry| JournalLine {
                            time: entry.time,
                            context: entry.context,
                            app: entry.app,
                            verb: entry.verb,
                            result: entry.result,
                            words: entry.words,
                        })
                        .collect(),
                ),
                Err(fault) => Message::Notice {
                    tone: Tone::Bad,
                    text: fault.to_string(),
                },
            };
            drop(inbox.send(message));
        });
    }
}

impl Drop for Performer {
    fn drop(&mut self) {
        for watch in &self.watches {
            watch.abort();
        }
    }
}

fn asked(act: Act) -> Asked {
    match act {
        Act::Sync(options) => Asked::Sync(options),
        Act::Refresh { hard } => Asked::Refresh { hard },
        Act::Hold(note) => Asked::Hold(note),
        Act::Resume => Asked::Resume,
        Act::Revert(chosen) => Asked::Revert(chosen),
        Act::Rollback { history_id, prune } => Asked::Rollback { history_id, prune },
        Act::Terminate => Asked::Terminate,
    }
}
