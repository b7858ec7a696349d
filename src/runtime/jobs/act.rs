//! Acts on a cluster: planned from what is there now, shown by the caller, then performed and followed to their end.

use std::time::Duration;

use super::{Compared, Jobs};
use crate::domain::drift::ObjectState;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet::{App, AppKind, AppRef, SourceObject};
use crate::domain::object::{FieldPath, ObjectId};
use crate::domain::operate::{
    self, Actor, Chosen, Expect, HoldNote, Plan, RevertObject, Surroundings, SyncOptions, Verb,
};
use crate::runtime::clock;
use crate::world::cluster::{Cluster, Progress};
use crate::world::disk::JournalEntry;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Let the controller apply Git now.
    Sync(SyncOptions),
    /// Let the controller look again.
    Refresh {
        /// Drop its caches, too.
        hard: bool,
    },
    /// Take the app out of the controller's hands.
    Hold(HoldNote),
    /// Give it back.
    Resume,
    /// Put these objects or fields back to Git.
    Revert(Vec<(ObjectId, Chosen)>),
    /// Apply an entry of Argo CD's history.
    Rollback {
        /// The entry.
        history_id: i64,
        /// Delete what it does not have.
        prune: bool,
    },
    /// Stop the running operation.
    Terminate,
}

/// What an act came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Acted {
    /// What was done, step by step.
    pub done: Vec<String>,
    /// The controller's last sentence, where it was waited for.
    pub message: Option<String>,
    /// What a person should know besides (a journal that could not be written).
    pub notes: Vec<Fault>,
}

impl Jobs {
    fn actor(&self) -> Actor {
        Actor {
            name: self.0.options.actor.clone(),
            now: clock::now(),
        }
    }

    /// Plans an act on an app, as the cluster has it now.
    pub async fn plan(&self, app: &AppRef, asked: &Asked) -> Result<Plan, Fault> {
        if let Asked::Revert(chosen) = asked {
            let compared = self.compare(app).await?;
            return plan_revert(&compared, chosen);
        }
        let (cluster, app, sources) = self.app(app).await?;
        let project = project(&cluster, &app).await;
        let nearest: Vec<&SourceObject> = sources.iter().collect();
        let around = Surroundings {
            sources: &nearest,
            project: project.as_ref(),
        };
        match asked {
            Asked::Sync(options) => operate::sync(&app, around, options, &self.actor()),
            Asked::Refresh { hard } => operate::refresh(&app, around, *hard, &self.actor()),
            Asked::Hold(note) => operate::hold(&app, note, &self.actor()),
            Asked::Resume => operate::resume(&app),
            Asked::Rollback { history_id, prune } => {
                operate::rollback(&app, *history_id, *prune, &self.actor())
            }
            Asked::Terminate => operate::terminate(&app),
            Asked::Revert(_) => Err(Fault::new(
                FaultKind::Internal,
                "a revert is planned from a comparison",
            )),
        }
    }

    /// Performs a plan, and waits at most `wait` for its effect; `tell` hears of each change on the way.
    ///
    /// # Errors
    /// The first refused step, or what the controller answered.
    pub async fn perform(
        &self,
        plan: &Plan,
        wait: Option<Duration>,
        tell: impl FnMut(Progress) + Send,
    ) -> Result<Acted, Fault> {
        let permit = self.permit()?;
        let cluster = self.cluster(&plan.app.context).await?;
        let performed = cluster.perform(plan, permit, false).await;
        let done: Vec<String> = performed
            .outcomes
            .iter()
            .filter(|o| o.result.is_ok())
            .map(|o| o.words.clone())
            .collect();
        let result = match (performed.fault(), wait) {
            (Some(fault), _) => Err(fault.clone()),
            (None, Some(limit)) if plan.expect != Expect::Answer => cluster
                .watch_result(plan, &performed, limit, tell)
                .await
                .map(Some),
            _ => Ok(None),
        };
        let note = self.note(&JournalEntry {
            time: clock::now().to_string(),
            context: plan.app.context.to_string(),
            app: plan.app.target.to_string(),
            verb: plan.verb.word().to_owned(),
            result: result
                .as_ref()
                .map_or_else(|fault| fault.kind.word().to_owned(), |_| "done".to_owned()),
            words: done.join("; "),
        });
        Ok(Acted {
            done,
            message: result?,
            notes: note.into_iter().collect(),
        })
    }
}

async fn project(cluster: &Cluster, app: &App) -> Option<serde_json::Value> {
    if app.app.target.kind != AppKind::Application {
        return None;
    }
    let object = app.object();
    let name = object
        .pointer("/spec/project")
        .and_then(serde_json::Value::as_str)
        .unwrap_or("default");
    let id = ObjectId {
        api_version: app.api_version.clone(),
        kind: "AppProject".to_owned(),
        namespace: Some(app.app.target.namespace.clone()),
        name: name.to_owned(),
    };
    cluster.get(&id).await.ok().flatten()
}

/// Plans a revert from a comparison.
fn plan_revert(compared: &Compared, chosen: &[(ObjectId, Chosen)]) -> Result<Plan, Fault> {
    let mut objects = vec![];
    for (id, chosen) in chosen {
        let Some(drift) = compared.drift.objects.iter().find(|o| o.id == *id) else {
            return Err(Fault::new(
                FaultKind::NotFound,
                format!("{id} is not one of the app's objects"),
            )
            .about(compared.app.app.to_string()));
        };
        objects.push(RevertObject {
            desired: compared.desired.iter().find(|d| d.id == *id),
            live: compared.live.iter().find(|l| {
                ObjectId::of(l).is_some_and(|live| {
                    live.same_object(id)
                        || (id.namespace.is_none() && live.kind == id.kind && live.name == id.name)
                })
            }),
            drift,
            chosen: chosen.clone(),
        });
    }
    operate::revert(&compared.app, &objects)
}

/// Returns every object that something can be reverted in, whole.
pub fn everything(compared: &Compared) -> Vec<(ObjectId, Chosen)> {
    compared
        .drift
        .objects
        .iter()
        .filter(|o| matches!(o.state, ObjectState::Drifted | ObjectState::Missing))
        .map(|o| (o.id.clone(), Chosen::All))
        .collect()
}

/// Groups chosen fields by their object.
pub fn group(picked: Vec<(ObjectId, FieldPath)>) -> Vec<(ObjectId, Chosen)> {
    let mut all: Vec<(ObjectId, Vec<FieldPath>)> = vec![];
    for (id, path) in picked {
        match all.iter_mut().find(|(other, _)| *other == id) {
            Some((_, paths)) => paths.push(path),
            None => all.push((id, vec![path])),
        }
    }
    all.into_iter()
        .map(|(id, paths)| (id, Chosen::Fields(paths)))
        .collect()
}

/// Returns how long an act is waited for by default.
pub fn default_wait(verb: Verb) -> Duration {
    match verb {
        Verb::Sync => Duration::from_mins(5),
        _ => Duration::from_mins(1),
    }
}
