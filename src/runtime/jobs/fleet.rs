//! The fleet: watched for the screens, gathered once for the commands.

use std::sync::Arc;

use futures::StreamExt as _;
use serde_json::Value;
use tokio::sync::mpsc;

use super::Jobs;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet::{
    App, AppKind, AppRef, Change, ContextState, Fleet, FluxSource, Settings as FleetSettings,
    SourceObject, Target,
};
use crate::domain::object::ObjectId;
use crate::runtime::clock;
use crate::world::cluster::Cluster;

/// How many contexts are asked at once.
const CONTEXTS_AT_ONCE: usize = 32;

/// What a context said of an app.
type Asked = Result<Option<Value>, Fault>;

impl Jobs {
    /// Returns what decides about states.
    pub fn fleet_settings(&self) -> FleetSettings {
        FleetSettings {
            failed_after: i64::try_from(self.settings().failed_after.0.as_secs())
                .unwrap_or(i64::MAX),
        }
    }

    /// Makes an empty fleet over the contexts of this run.
    pub fn empty_fleet(&self) -> Fleet {
        Fleet::new(self.fleet_settings(), self.contexts())
    }

    /// Watches one context and sends what changes, until the receiver is dropped. A context that cannot be reached is
    /// said and tried again.
    pub async fn watch(&self, context: Arc<str>, changes: mpsc::Sender<Vec<Change>>) {
        let mut pause = std::time::Duration::from_secs(2);
        loop {
            match self.cluster(&context).await {
                Ok(cluster) => return cluster.watch_fleet(changes).await,
                Err(fault) => {
                    let state = ContextState::of(&fault);
                    let change = Change::Context {
                        context: Arc::clone(&context),
                        state,
                        fault: Some(fault),
                    };
                    if changes.send(vec![change]).await.is_err() {
                        return;
                    }
                }
            }
            tokio::select! {
                () = changes.closed() => return,
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(std::time::Duration::from_mins(1));
        }
    }

    /// Gathers the fleet once: each context until it has answered, at most the patience of this run.
    pub async fn gather(&self) -> Fleet {
        let (sender, mut receiver) = mpsc::channel(256);
        let tasks: Vec<_> = self
            .contexts()
            .into_iter()
            .map(|context| {
                let (jobs, sender) = (self.clone(), sender.clone());
                tokio::spawn(async move { jobs.watch(context, sender).await })
            })
            .collect();
        drop(sender);
        let mut fleet = self.empty_fleet();
        let end = tokio::time::sleep(self.patience());
        tokio::pin!(end);
        loop {
            if fleet
                .contexts()
                .all(crate::domain::fleet::FleetContext::settled)
            {
                break;
            }
            tokio::select! {
                changes = receiver.recv() => match changes {
                    Some(changes) => {
                        fleet.apply(changes, clock::now());
                    }
                    None => break,
                },
                () = &mut end => break,
            }
        }
        for task in &tasks {
            task.abort();
        }
        self.give_up_waiting(&mut fleet);
        fleet
    }

    /// Says of each context that has not answered that it did not.
    fn give_up_waiting(&self, fleet: &mut Fleet) {
        let limit = self.patience().as_secs();
        let late: Vec<Change> = fleet
            .contexts()
            .filter(|context| context.state == ContextState::Connecting)
            .map(|context| Change::Context {
                context: Arc::clone(&context.name),
                state: ContextState::Unreachable,
                fault: Some(
                    Fault::new(FaultKind::Timeout, format!("no answer within {limit} s"))
                        .about(&*context.name)
                        .hint("check the network or VPN, or give it longer with --timeout"),
                ),
            })
            .collect();
        fleet.apply(late, clock::now());
    }

    /// Finds the app that a command names: in the one context given, or in the only one that has it.
    pub async fn find(&self, target: &Target) -> Result<AppRef, Fault> {
        let contexts = self.contexts();
        if let [only] = contexts.as_slice() {
            return Ok(AppRef {
                context: Arc::clone(only),
                target: target.clone(),
            });
        }
        let asked: Vec<(Arc<str>, Asked)> = futures::stream::iter(contexts)
            .map(|context| async move {
                let found = async {
                    let cluster = self.cluster(&context).await?;
                    read_app(&cluster, target).await
                };
                let found = tokio::time::timeout(self.patience(), found)
                    .await
                    .unwrap_or_else(|_| {
                        Err(Fault::new(FaultKind::Timeout, "no answer in time").about(&*context))
                    });
                (context, found)
            })
            .buffer_unordered(CONTEXTS_AT_ONCE)
            .collect()
            .await;
        let mut have: Vec<Arc<str>> = asked
            .iter()
            .filter(|(_, found)| matches!(found, Ok(Some(_))))
            .map(|(context, _)| Arc::clone(context))
            .collect();
        have.sort();
        match have.as_slice() {
            [only] => Ok(AppRef {
                context: Arc::clone(only),
                target: target.clone(),
            }),
            [] => {
                let unread = asked.iter().any(|(_, found)| found.is_err());
                let which = if unread {
                    "contexts that could be read"
                } else {
                    "contexts"
                };
                let mut fault = Fault::new(
                    FaultKind::NotFound,
                    format!("{target} is in none of the {which}"),
                );
                for (_, found) in &asked {
                    if let Err(why) = found {
                        fault = fault.because(why);
                    }
                }
                Err(fault.hint("see what there is with gitops-tui list"))
            }
            several => Err(Fault::new(
                FaultKind::Usage,
                format!("{target} is in {} contexts", several.len()),
            )
            .hint(format!("name one with --context: {}", several.join(", ")))),
        }
    }

    /// Reads one app with its sources, as the cluster has it now.
    pub async fn app(&self, app: &AppRef) -> Result<(Cluster, App, Vec<SourceObject>), Fault> {
        let cluster = self.cluster(&app.context).await?;
        let limit = self.patience();
        let read = async {
            let object = read_app(&cluster, &app.target).await?.ok_or_else(|| {
                Fault::new(FaultKind::NotFound, "there is no such app")
                    .about(app.to_string())
                    .hint("see what there is with gitops-tui list")
            })?;
            self.join(&cluster, app.target.kind, &object).await
        };
        let (app, sources) = tokio::time::timeout(limit, read).await.map_err(|_| {
            Fault::new(
                FaultKind::Timeout,
                format!("no answer within {} s", limit.as_secs()),
            )
            .about(app.to_string())
        })??;
        Ok((cluster, app, sources))
    }

    /// Joins an app's object with the source objects it names.
    async fn join(
        &self,
        cluster: &Cluster,
        kind: AppKind,
        object: &Value,
    ) -> Result<(App, Vec<SourceObject>), Fault> {
        let now = clock::now();
        let mut fleet = Fleet::new(self.fleet_settings(), [Arc::clone(&cluster.context)]);
        let broken = || {
            Fault::new(FaultKind::Internal, "the app's object has no name").about(&*cluster.context)
        };
        let app = App::read(&cluster.context, kind, object, now, &self.fleet_settings())
            .ok_or_else(broken)?;
        let name = app.app.clone();
        let mut wanted = app.source_ref.clone();
        let mut sources = vec![];
        // A HelmChart leads on to its repository; two steps are all there are.
        while let Some(id) = wanted.take().filter(|_| sources.len() < 2) {
            let Some(object) = read_source(cluster, id.kind, &id.namespace, &id.name).await? else {
                break;
            };
            let Some(source) = SourceObject::read(&cluster.context, id.kind, &object) else {
                break;
            };
            wanted.clone_from(&source.parent);
            sources.push(source);
        }
        let mut changes = vec![Change::Upsert(Box::new(app))];
        changes.extend(
            sources
                .iter()
                .cloned()
                .map(|source| Change::Source(Box::new(source))),
        );
        fleet.apply(changes, now);
        let app = fleet.get(&name).cloned().ok_or_else(broken)?;
        Ok((app, sources))
    }
}

/// Reads an app's object at the best version that the server offers.
async fn read_app(cluster: &Cluster, target: &Target) -> Result<Option<Value>, Fault> {
    let discovery = cluster.discovery().await?;
    let kind = target.kind;
    let Some(served) = discovery.best(kind.group(), kind.kind()) else {
        return match discovery.broken(kind.group()) {
            Some(fault) => Err(fault.clone()),
            None => Ok(None),
        };
    };
    cluster
        .get(&ObjectId {
            api_version: served.resource.api_version.clone(),
            kind: kind.kind().to_owned(),
            namespace: Some(target.namespace.clone()),
            name: target.name.clone(),
        })
        .await
}

async fn read_source(
    cluster: &Cluster,
    kind: FluxSource,
    namespace: &str,
    name: &str,
) -> Result<Option<Value>, Fault> {
    let discovery = cluster.discovery().await?;
    let Some(served) = discovery.best(FluxSource::GROUP, kind.kind()) else {
        return Ok(None);
    };
    cluster
        .get(&ObjectId {
            api_version: served.resource.api_version.clone(),
            kind: kind.kind().to_owned(),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        })
        .await
}
