//! What became of an act: watched on the objects themselves until the controller has had its say.
//!
//! Neither engine's first sign of success is one. Flux marks a request as handled after failures, too, and writes
//! Ready before the rest of its status; Argo CD keeps the old state until its first patch and calls a sync without
//! pruning a success. So several signs must agree here.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{Cluster, Performed};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet::same_revision;
use crate::domain::object::ObjectId;
use crate::domain::operate::{Expect, Plan};

const EVERY: Duration = Duration::from_millis(500);
/// A blocked operation is reported only after this: the controller says "blocked" for a moment even where it is not.
const SURE: Duration = Duration::from_secs(2);
/// How long a finished operation's sync status may take to follow.
const FOLLOWS: Duration = Duration::from_secs(3);

/// A word from an act that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// The controller's sentence now.
    pub message: String,
    /// What Argo CD has done to each object so far: object, result, message.
    pub results: Vec<(String, String, String)>,
}

impl Cluster {
    /// Watches until the act has had its effect, at most `limit`; tells of each change on the way. Returns the
    /// controller's last sentence.
    ///
    /// # Errors
    /// `refused` where the controller failed, with its sentence; `timeout` where it is still under way.
    pub async fn watch_result(
        &self,
        plan: &Plan,
        performed: &Performed,
        limit: Duration,
        mut tell: impl FnMut(Progress),
    ) -> Result<String, Fault> {
        if let Some(fault) = performed.fault() {
            return Err(fault.clone());
        }
        let mut told = Progress::default();
        let begun = Instant::now();
        let mut watch = Watch {
            cluster: self,
            plan,
            before: performed
                .outcomes
                .last()
                .and_then(|o| o.result.as_ref().ok())
                .map(passes)
                .unwrap_or_default(),
            finished: None,
            blocked: None,
        };
        loop {
            let (progress, end) = watch.look().await?;
            if progress != told {
                told = progress.clone();
                tell(progress.clone());
            }
            match end {
                Some(Ok(())) => return Ok(progress.message),
                Some(Err(why)) => {
                    return Err(Fault::new(FaultKind::Refused, why).about(plan.app.to_string()));
                }
                None => {}
            }
            if begun.elapsed() >= limit {
                return Err(Fault::new(
                    FaultKind::Timeout,
                    format!("still under way after {} s", limit.as_secs()),
                )
                .about(plan.app.to_string())
                .because(progress.message)
                .hint("it goes on in the cluster; the list shows how it ends"));
            }
            sleep(EVERY).await;
        }
    }
}

type Look = (Progress, Option<Result<(), String>>);

struct Watch<'a> {
    cluster: &'a Cluster,
    plan: &'a Plan,
    /// When the last pass had ended before the act.
    before: String,
    finished: Option<Instant>,
    blocked: Option<Instant>,
}

/// Returns when the last pass of a Kustomization ended, and how many there were: it moves with every pass.
fn passes(object: &Value) -> String {
    let at = |key: &str| {
        object
            .pointer(&format!("/status/history/0/{key}"))
            .map(Value::to_string)
            .unwrap_or_default()
    };
    format!("{} {}", at("lastReconciled"), at("totalReconciliations"))
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Returns status and message of the Ready condition, if it is about this generation.
fn ready(object: &Value) -> Option<(&str, &str)> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    let ready = conditions.iter().find(|c| text(c, "/type") == "Ready")?;
    let generation = object.pointer("/metadata/generation");
    let about = ready.get("observedGeneration");
    if about.is_some() && about != generation {
        return None;
    }
    Some((text(ready, "/status"), text(ready, "/message")))
}

impl Watch<'_> {
    async fn look(&mut self) -> Result<Look, Fault> {
        match &self.plan.expect {
            Expect::Answer => Ok((said("done"), Some(Ok(())))),
            Expect::Refreshed => self.refreshed().await,
            Expect::Operation => self.operation().await,
            Expect::Handled {
                requested_at,
                sources,
                app,
            } => self.handled(requested_at, sources, *app).await,
        }
    }

    async fn app(&self) -> Result<Value, Fault> {
        let target = &self.plan.app.target;
        let step = self.plan.steps.last();
        let id = ObjectId {
            api_version: step.map(|s| s.api_version.clone()).unwrap_or_default(),
            kind: target.kind.kind().to_owned(),
            namespace: Some(target.namespace.clone()),
            name: target.name.clone(),
        };
        self.object(&id).await
    }

    async fn object(&self, id: &ObjectId) -> Result<Value, Fault> {
        self.cluster.get(id).await?.ok_or_else(|| {
            Fault::new(FaultKind::NotFound, format!("{id} does not exist any more"))
                .about(&*self.cluster.context)
        })
    }

    async fn handled(
        &self,
        requested_at: &str,
        sources: &[(String, String, String, String)],
        app: bool,
    ) -> Result<Look, Fault> {
        let mut revision = None;
        for (api_version, kind, namespace, name) in sources {
            let id = ObjectId {
                api_version: api_version.clone(),
                kind: kind.clone(),
                namespace: Some(namespace.clone()),
                name: name.clone(),
            };
            let object = self.object(&id).await?;
            if text(&object, "/status/lastHandledReconcileAt") != requested_at {
                return Ok((said(&format!("{id} is fetching")), None));
            }
            match ready(&object) {
                Some(("False", message)) => {
                    return Ok((said(message), Some(Err(format!("{id}: {message}")))));
                }
                Some(("True", _)) => {}
                _ => return Ok((said(&format!("{id} is fetching")), None)),
            }
            if revision.is_none() {
                revision = object
                    .pointer("/status/artifact/revision")
                    .and_then(Value::as_str)
                    .map(str::to_owned);
            }
        }
        if !app {
            let message = revision.map_or_else(|| "fetched".to_owned(), |r| format!("fetched {r}"));
            return Ok((said(&message), Some(Ok(()))));
        }
        let object = self.app().await?;
        if text(&object, "/status/lastHandledReconcileAt") != requested_at {
            let doing = ready(&object).map_or("waiting for the controller", |(_, message)| message);
            return Ok((said(doing), None));
        }
        let kustomization = object.pointer("/status/history/0/lastReconciled").is_some();
        match ready(&object) {
            Some(("False", message)) => Ok((said(message), Some(Err(message.to_owned())))),
            Some(("True", message)) => {
                let observed = object.pointer("/status/observedGeneration")
                    == object.pointer("/metadata/generation");
                let moved = !kustomization || passes(&object) != self.before;
                let applied = text(&object, "/status/lastAppliedRevision");
                let newest =
                    !kustomization || revision.as_ref().is_none_or(|r| same_revision(r, applied));
                let done = observed && moved && newest;
                Ok((said(message), done.then_some(Ok(()))))
            }
            _ => Ok((said("waiting for the controller"), None)),
        }
    }

    async fn refreshed(&self) -> Result<Look, Fault> {
        let object = self.app().await?;
        let waits = object
            .pointer("/metadata/annotations")
            .is_some_and(|a| a.get("argocd.argoproj.io/refresh").is_some());
        if waits {
            return Ok((said("waiting for the controller"), None));
        }
        let status = text(&object, "/status/sync/status");
        Ok((said(&format!("compared: {status}")), Some(Ok(()))))
    }

    async fn operation(&mut self) -> Result<Look, Fault> {
        let object = self.app().await?;
        let waits = object.get("operation").is_some_and(|o| !o.is_null());
        let phase = text(&object, "/status/operationState/phase");
        let message = text(&object, "/status/operationState/message");
        let mut progress = said(if message.is_empty() {
            "waiting for the controller"
        } else {
            message
        });
        progress.results = results(&object);
        if waits && message.contains("blocked by sync window") {
            let since = *self.blocked.get_or_insert_with(Instant::now);
            let end = (since.elapsed() >= SURE).then(|| {
                Err("a sync window blocks it: it waits; terminate withdraws it".to_owned())
            });
            return Ok((progress, end));
        }
        self.blocked = None;
        if waits || matches!(phase, "Running" | "Terminating") {
            return Ok((progress, None));
        }
        match phase {
            "Succeeded" => {
                let since = *self.finished.get_or_insert_with(Instant::now);
                let status = text(&object, "/status/sync/status");
                let dry = object.pointer("/status/operationState/operation/sync/dryRun")
                    == Some(&Value::Bool(true));
                if status == "Synced" || dry || since.elapsed() >= FOLLOWS {
                    if !dry {
                        progress.message = format!("{message}; the app is {status}");
                    }
                    return Ok((progress, Some(Ok(()))));
                }
                Ok((progress, None))
            }
            "Failed" | "Error" => {
                let why = reasons(message, &progress.results);
                Ok((progress, Some(Err(why))))
            }
            _ => Ok((
                progress,
                Some(Err("somebody took the operation away".to_owned())),
            )),
        }
    }
}

fn said(message: &str) -> Progress {
    Progress {
        message: message.to_owned(),
        results: vec![],
    }
}

fn results(object: &Value) -> Vec<(String, String, String)> {
    object
        .pointer("/status/operationState/syncResult/resources")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .map(|item| {
            let id = format!(
                "{}/{}/{}",
                text(item, "/kind"),
                text(item, "/namespace"),
                text(item, "/name")
            );
            let status = [text(item, "/status"), text(item, "/hookPhase")]
                .into_iter()
                .find(|s| !s.is_empty())
                .unwrap_or_default();
            (id, status.to_owned(), text(item, "/message").to_owned())
        })
        .collect()
}

/// Argo CD's own sentence is often general: the reason stands with the object that failed.
fn reasons(message: &str, results: &[(String, String, String)]) -> String {
    let failed: Vec<String> = results
        .iter()
        .filter(|(_, status, _)| matches!(status.as_str(), "SyncFailed" | "Failed" | "Error"))
        .map(|(id, _, message)| format!("{id}: {message}"))
        .collect();
    if failed.is_empty() || message.len() > 200 {
        message.to_owned()
    } else {
        format!("{message}: {}", failed.join("; "))
    }
}
