//! Flux in the demo: what source-controller and kustomize-controller do, one pass at a time.
//!
//! A pass renders the source's artifact, takes over what `kubectl` added, applies as `kustomize-controller` by force,
//! prunes what is no longer rendered, and writes status as the real controller does. When passes run is the loop's
//! business.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::api::{Caller, Cluster, Kind, Refusal};
use super::render::{self, Rendered};
use super::repository::Repository;
use super::sha256;

/// The field manager of applied objects.
const APPLIER: &str = "kustomize-controller";
/// The field manager of the Kustomizations' own status and finalizers.
const KEEPER: &str = "gotk-kustomize-controller";
/// The annotation by which a pass is asked for.
const REQUESTED: &str = "reconcile.fluxcd.io/requestedAt";

/// Flux in one cluster.
#[derive(Debug, Clone)]
pub(super) struct Flux {
    pub(super) cluster: Arc<Cluster>,
    pub(super) repository: Arc<Repository>,
}

/// The end of a pass: reason and message of the Ready condition.
struct Verdict {
    ready: bool,
    reason: &'static str,
    message: String,
}

impl Verdict {
    fn failed(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            ready: false,
            reason,
            message: message.into(),
        }
    }
}

/// Returns the namespace and name of an object.
pub(super) fn place(object: &Value) -> (String, String) {
    let text = |key: &str| {
        object["metadata"][key]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    (text("namespace"), text("name"))
}

/// Returns the value of the request that an object carries and its status has not taken up yet.
pub(super) fn requested(object: &Value) -> Option<String> {
    let asked = object["metadata"]["annotations"][REQUESTED].as_str()?;
    (object["status"]["lastHandledReconcileAt"] != asked).then(|| asked.to_owned())
}

pub(super) fn is_suspended(object: &Value) -> bool {
    object["spec"]["suspend"] == true
}

/// Tells whether a Kustomization waits for one that it depends on.
pub(super) fn waits(app: &Value) -> bool {
    let conditions = app["status"]["conditions"].as_array();
    conditions.is_some_and(|c| c.iter().any(|c| c["reason"] == "DependencyNotReady"))
}

/// Returns a condition, keeping the time of the last change of its status.
fn condition(
    old: &Value,
    kind: &str,
    status: &str,
    (reason, message): (&str, &str),
    now: &str,
) -> Value {
    let before = old["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|c| c["type"] == kind);
    let since = match before {
        Some(before) if before["status"] == status => before["lastTransitionTime"].clone(),
        _ => now.into(),
    };
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since})
}

impl Flux {
    fn kind(kind: &str) -> Option<&'static Kind> {
        let api = if kind == "GitRepository" {
            "source.toolkit.fluxcd.io/v1"
        } else {
            "kustomize.toolkit.fluxcd.io/v1"
        };
        Kind::of(api, kind)
    }

    /// Returns all objects of one of Flux's kinds.
    pub(super) fn all(&self, kind: &str) -> Vec<Arc<Value>> {
        Self::kind(kind)
            .map(|k| self.cluster.list(k))
            .unwrap_or_default()
    }

    /// Returns one object of Flux's.
    pub(super) fn one(&self, kind: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.cluster.get(Self::kind(kind)?, Some(namespace), name)
    }

    fn set_status(&self, kind: &str, object: &Value, manager: &str, edit: impl FnOnce(&mut Value)) {
        let Some(kind) = Self::kind(kind) else { return };
        let (namespace, name) = place(object);
        let caller = Caller::new(manager).through("status");
        let done = self
            .cluster
            .edit(kind, Some(&namespace), &name, &caller, |object| {
                if object["status"].is_null() {
                    object["status"] = json!({});
                }
                edit(&mut object["status"]);
                Ok(())
            });
        // The object may have gone in between; then there is no status to write.
        drop(done);
    }

    /// Looks at the branch of a GitRepository and stores what it finds as its artifact.
    pub(super) fn fetch(&self, source: &Value) {
        let branch = source["spec"]["ref"]["branch"].as_str().unwrap_or("master");
        match self.repository.resolve(branch) {
            Ok(commit) => self.store(source, &commit),
            Err(fault) => self.fetch_failed(source, &fault.to_string()),
        }
    }

    /// Stores a commit as the artifact of a GitRepository.
    pub(super) fn store(&self, source: &Value, commit: &str) {
        let branch = source["spec"]["ref"]["branch"].as_str().unwrap_or("master");
        let revision = format!("{branch}@sha1:{commit}");
        let now = self.cluster.clock().text();
        let (namespace, name) = place(source);
        let generation = source["metadata"]["generation"].clone();
        let asked = source["metadata"]["annotations"][REQUESTED].clone();
        let suspended = is_suspended(source);
        self.set_status("GitRepository", source, "source-controller", |status| {
            if !asked.is_null() {
                status["lastHandledReconcileAt"] = asked;
            }
            if suspended {
                return;
            }
            if status["artifact"]["revision"] != revision.as_str() {
                let digest = sha256(&revision);
                status["artifact"] = json!({
                    "revision": revision, "digest": format!("sha256:{digest}"), "size": 9_216, "lastUpdateTime": now,
                    "path": format!("gitrepository/{namespace}/{name}/{commit}.tar.gz"),
                    "url": format!("http://source-controller.flux-system.svc.cluster.local./gitrepository/{namespace}/{name}/{commit}.tar.gz"),
                });
            }
            let message = format!("stored artifact for revision '{revision}'");
            let says = ("Succeeded", message.as_str());
            let mut conditions = vec![
                condition(status, "Ready", "True", says, &now),
                condition(status, "ArtifactInStorage", "True", says, &now),
            ];
            for condition in &mut conditions {
                condition["observedGeneration"] = generation.clone();
            }
            status["conditions"] = conditions.into();
            status["observedGeneration"] = generation;
        });
    }

    fn fetch_failed(&self, source: &Value, message: &str) {
        let now = self.cluster.clock().text();
        let message = format!("failed to checkout and determine revision: {message}");
        let asked = source["metadata"]["annotations"][REQUESTED].clone();
        self.set_status("GitRepository", source, "source-controller", |status| {
            let says = ("GitOperationFailed", message.as_str());
            let in_storage = status["conditions"].as_array().into_iter().flatten();
            let in_storage = in_storage
                .filter(|c| c["type"] == "ArtifactInStorage")
                .cloned();
            let mut conditions = vec![
                condition(status, "Ready", "False", says, &now),
                condition(status, "FetchFailed", "True", says, &now),
            ];
            conditions.extend(in_storage);
            status["conditions"] = conditions.into();
            if !asked.is_null() {
                status["lastHandledReconcileAt"] = asked;
            }
        });
    }

    /// Says that a pass has begun.
    pub(super) fn begin(&self, app: &Value) {
        let now = self.cluster.clock().text();
        let generation = app["metadata"]["generation"].clone();
        let revision = self.artifact(app).unwrap_or_default();
        self.set_status("Kustomization", app, KEEPER, |status| {
            let fetching =
                format!("Fetching manifests for revision {revision} with a timeout of 3m0s");
            let mut conditions = vec![
                condition(
                    status,
                    "Reconciling",
                    "True",
                    ("Progressing", &fetching),
                    &now,
                ),
                condition(
                    status,
                    "Ready",
                    "Unknown",
                    ("Progressing", "Reconciliation in progress"),
                    &now,
                ),
            ];
            for condition in &mut conditions {
                condition["observedGeneration"] = generation.clone();
            }
            status["conditions"] = conditions.into();
        });
    }

    /// Returns the revision of the artifact that an app's source holds.
    pub(super) fn artifact(&self, app: &Value) -> Option<String> {
        let source = &app["spec"]["sourceRef"];
        let namespace = source["namespace"]
            .as_str()
            .or(app["metadata"]["namespace"].as_str())?;
        let source = self.one("GitRepository", namespace, source["name"].as_str()?)?;
        source["status"]["artifact"]["revision"]
            .as_str()
            .map(str::to_owned)
    }

    /// Only takes up the request of a suspended app, as the real controller does.
    pub(super) fn acknowledge(&self, app: &Value) {
        let asked = app["metadata"]["annotations"][REQUESTED].clone();
        let generation = app["metadata"]["generation"].clone();
        self.set_status("Kustomization", app, KEEPER, |status| {
            if !asked.is_null() {
                status["lastHandledReconcileAt"] = asked;
            }
            let ready = status["conditions"].as_array().into_iter().flatten();
            if ready
                .filter(|c| c["type"] == "Ready")
                .any(|c| c["status"] == "True")
            {
                status["observedGeneration"] = generation;
            }
        });
    }

    /// Runs one pass over a Kustomization, from its source's artifact to its status.
    pub(super) fn reconcile(&self, app: &Value) {
        let Some(revision) = self.artifact(app) else {
            let says = Verdict::failed(
                "ArtifactFailed",
                "Source artifact not found, retrying in 30s",
            );
            return self.finish(app, "", &says, None, None);
        };
        if let Some(missing) = self.waits_for(app) {
            let says = Verdict::failed(
                "DependencyNotReady",
                format!("dependency '{missing}' is not ready"),
            );
            return self.finish(app, &revision, &says, None, None);
        }
        let (mut objects, digest) = match self.render(app, &revision) {
            Ok(rendered) => {
                let digest = format!("sha256:{}", sha256(&rendered.text));
                (rendered.objects, digest)
            }
            Err(message) => {
                let says = Verdict::failed("BuildFailed", message);
                return self.finish(app, &revision, &says, None, None);
            }
        };
        objects.sort_by_key(stage);
        let inventory: Vec<Value> = objects.iter().map(entry).collect();
        for object in &objects {
            if let Err(refusal) = self.apply(object) {
                let (namespace, name) = place(object);
                let kind = object["kind"].as_str().unwrap_or_default();
                let message = format!(
                    "{kind}/{namespace}/{name} dry-run failed: {}",
                    refusal.message()
                );
                let says = Verdict::failed("ReconciliationFailed", message);
                return self.finish(app, &revision, &says, None, Some(digest));
            }
        }
        if app["spec"]["prune"] == true {
            self.prune(app, &inventory);
        }
        let says = Verdict {
            ready: true,
            reason: "ReconciliationSucceeded",
            message: format!("Applied revision: {revision}"),
        };
        self.finish(app, &revision, &says, Some(inventory), Some(digest));
    }

    fn render(&self, app: &Value, revision: &str) -> Result<Rendered, String> {
        let commit = revision.rsplit(':').next().unwrap_or_default();
        let files = self
            .repository
            .files(commit)
            .map_err(|fault| fault.to_string())?;
        render::flux(&files, app)
    }

    /// Returns what an app's source says now.
    #[cfg(test)]
    pub(super) fn desired(&self, app: &Value) -> Result<Vec<Value>, String> {
        let revision = self.artifact(app).unwrap_or_default();
        self.render(app, &revision).map(|rendered| rendered.objects)
    }

    /// Returns the first dependency that is not ready.
    fn waits_for(&self, app: &Value) -> Option<String> {
        let (own, _) = place(app);
        app["spec"]["dependsOn"].as_array()?.iter().find_map(|on| {
            let namespace = on["namespace"].as_str().unwrap_or(&own);
            let name = on["name"].as_str().unwrap_or_default();
            let other = self.one("Kustomization", namespace, name);
            let ready = other.is_some_and(|other| {
                let conditions = other["status"]["conditions"].as_array();
                conditions.is_some_and(|c| {
                    c.iter()
                        .any(|c| c["type"] == "Ready" && c["status"] == "True")
                })
            });
            (!ready).then(|| format!("{namespace}/{name}"))
        })
    }

    fn apply(&self, object: &Value) -> Result<(), Refusal> {
        let Some((kind, namespace, name)) = known(object) else {
            return Ok(());
        };
        let namespace = namespace.as_deref();
        let live = self.cluster.get(kind, namespace, &name);
        let says = |key: &str, value: &str| {
            let key = format!("kustomize.toolkit.fluxcd.io/{key}");
            let on = |object: &Value| {
                ["annotations", "labels"].iter().any(|place| {
                    let text = object["metadata"][*place][key.as_str()].as_str();
                    text.is_some_and(|text| text.eq_ignore_ascii_case(value))
                })
            };
            (on(object), live.as_deref().is_some_and(on))
        };
        let either = |(desired, live): (bool, bool)| desired || live;
        if either(says("reconcile", "disabled"))
            || either(says("ssa", "Ignore"))
            || (live.is_some() && says("ssa", "IfNotPresent").0)
        {
            return Ok(());
        }
        let caller = Caller::new(APPLIER);
        self.cluster
            .apply(kind, namespace, object.clone(), &caller.clone().dry(), true)?;
        if live.is_some() && !either(says("ssa", "Merge")) {
            self.cluster
                .hand_over(kind, namespace, &name, APPLIER, |manager, operation| {
                    manager.starts_with("kubectl")
                        || (operation == "Update"
                            && (manager == "before-first-apply" || manager == APPLIER))
                });
        }
        self.cluster
            .apply(kind, namespace, object.clone(), &caller, true)
            .map(drop)
    }

    /// Deletes what the last pass applied and this one no longer renders.
    fn prune(&self, app: &Value, inventory: &[Value]) {
        let keep: BTreeSet<&str> = inventory.iter().filter_map(|e| e["id"].as_str()).collect();
        let old = app["status"]["inventory"]["entries"].as_array();
        for entry in old.into_iter().flatten().rev() {
            let id = entry["id"].as_str().unwrap_or_default();
            if !keep.contains(id) {
                self.remove(app, id, entry["v"].as_str().unwrap_or_default());
            }
        }
    }

    fn remove(&self, app: &Value, id: &str, version: &str) {
        let Some((namespace, name, group, kind)) = parse(id) else {
            return;
        };
        let api = if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        };
        let Some(kind) = Kind::of(&api, &kind) else {
            return;
        };
        let namespace = (!namespace.is_empty()).then_some(namespace.as_str());
        let Some(live) = self.cluster.get(kind, namespace, &name) else {
            return;
        };
        let (own_namespace, own) = place(app);
        let labels = &live["metadata"]["labels"];
        let ours = labels["kustomize.toolkit.fluxcd.io/name"] == own
            && labels["kustomize.toolkit.fluxcd.io/namespace"] == own_namespace;
        let kept =
            live["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/prune"] == "disabled";
        if ours && !kept {
            drop(self.cluster.delete(kind, namespace, &name, None, false));
        }
    }

    /// Ends the life of a Kustomization that is being deleted: prunes, then lets it go.
    pub(super) fn finalize(&self, app: &Value) {
        if !is_suspended(app) && app["spec"]["prune"] == true {
            self.prune(app, &[]);
        }
        let (namespace, name) = place(app);
        if let Some(kind) = Self::kind("Kustomization") {
            let caller = Caller::new(KEEPER);
            let done = self
                .cluster
                .edit(kind, Some(&namespace), &name, &caller, |object| {
                    object["metadata"]["finalizers"] = json!([]);
                    Ok(())
                });
            drop(done);
        }
    }

    fn finish(
        &self,
        app: &Value,
        revision: &str,
        says: &Verdict,
        inventory: Option<Vec<Value>>,
        digest: Option<String>,
    ) {
        let now = self.cluster.clock().text();
        let generation = app["metadata"]["generation"].clone();
        let asked = app["metadata"]["annotations"][REQUESTED].clone();
        self.set_status("Kustomization", app, KEEPER, |status| {
            let text = says.message.as_str();
            let mut conditions = vec![];
            if !says.ready && says.reason != "DependencyNotReady" {
                let retrying = ("ProgressingWithRetry", text);
                conditions.push(condition(status, "Reconciling", "True", retrying, &now));
            }
            let word = if says.ready { "True" } else { "False" };
            conditions.push(condition(status, "Ready", word, (says.reason, text), &now));
            for condition in &mut conditions {
                condition["observedGeneration"] = generation.clone();
            }
            status["conditions"] = conditions.into();
            if !revision.is_empty() && says.reason != "ArtifactFailed" {
                status["lastAttemptedRevision"] = revision.into();
            }
            if let Some(digest) = digest {
                remember(status, &digest, says.reason, revision, &now);
            }
            if let Some(inventory) = inventory {
                status["inventory"] = json!({ "entries": inventory });
            }
            if says.ready {
                status["lastAppliedRevision"] = revision.into();
                status["observedGeneration"] = generation;
            } else if status["observedGeneration"].is_null() {
                status["observedGeneration"] = (-1).into();
            }
            if !asked.is_null() {
                status["lastHandledReconcileAt"] = asked;
            }
        });
    }
}

/// Puts a pass into `status.history`: newest first, at most five, merged by digest and outcome.
fn remember(status: &mut Value, digest: &str, outcome: &str, revision: &str, now: &str) {
    let mut history = status["history"].as_array().cloned().unwrap_or_default();
    let same = history
        .iter()
        .position(|h| h["digest"] == digest && h["lastReconciledStatus"] == outcome);
    let mut entry = match same {
        Some(at) => history.remove(at),
        None => json!({"digest": digest, "firstReconciled": now, "totalReconciliations": 0}),
    };
    entry["lastReconciled"] = now.into();
    entry["lastReconciledDuration"] = "412.806114ms".into();
    entry["lastReconciledStatus"] = outcome.into();
    entry["metadata"] = json!({ "revision": revision });
    entry["totalReconciliations"] =
        (entry["totalReconciliations"].as_i64().unwrap_or(0) + 1).into();
    history.insert(0, entry);
    history.truncate(5);
    status["history"] = history.into();
}

/// Returns an object's place in the order of applying.
fn stage(object: &Value) -> (usize, String, String, String) {
    const ORDER: &[&str] = &[
        "CustomResourceDefinition",
        "Namespace",
        "ClusterRole",
        "ClusterRoleBinding",
        "ResourceQuota",
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "ConfigMap",
        "Secret",
        "Service",
        "LimitRange",
        "Deployment",
        "StatefulSet",
        "CronJob",
        "PodDisruptionBudget",
    ];
    let kind = object["kind"].as_str().unwrap_or_default();
    let rank = ORDER.iter().position(|k| *k == kind).unwrap_or(ORDER.len());
    let (namespace, name) = place(object);
    (rank, kind.to_owned(), namespace, name)
}

/// Returns what serves an object, with its namespace and name; `None` for kinds that the cluster does not have.
pub(super) fn known(object: &Value) -> Option<(&'static Kind, Option<String>, String)> {
    let kind = Kind::of(object["apiVersion"].as_str()?, object["kind"].as_str()?)?;
    let (namespace, name) = place(object);
    Some((kind, kind.namespaced.then_some(namespace), name))
}

/// Returns an object's inventory entry.
fn entry(object: &Value) -> Value {
    let (namespace, name) = place(object);
    let api = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api.split_once('/').unwrap_or(("", api));
    let kind = object["kind"].as_str().unwrap_or_default();
    json!({"id": format!("{namespace}_{}_{group}_{kind}", name.replace(':', "__")), "v": version})
}

/// Takes an inventory id apart: namespace, name, group, kind.
fn parse(id: &str) -> Option<(String, String, String, String)> {
    let (namespace, rest) = id.split_once('_')?;
    let (rest, kind) = rest.rsplit_once('_')?;
    let (name, group) = rest.rsplit_once('_')?;
    Some((
        namespace.into(),
        name.replace("__", ":"),
        group.into(),
        kind.into(),
    ))
}
