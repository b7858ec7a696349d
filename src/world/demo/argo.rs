//! Argo CD in the demo: what its application controller does with an Application.
//!
//! It compares by a three-way client-side apply that is not carried out, syncs by one that is, and writes status the
//! way the real controller does: on the main object, since Applications have no status subresource.

use std::sync::Arc;

use serde_json::{Value, json};

use super::api::{Caller, Cluster, KINDS, Kind};
use super::flux::known;
use super::render;
use super::repository::Repository;

/// The field manager of managed objects.
const APPLIER: &str = "argocd-controller";
/// The field manager of Applications.
const KEEPER: &str = "argocd-application-controller";
/// The annotation that says whose an object is.
const TRACKING: &str = "argocd.argoproj.io/tracking-id";
/// The annotation that asks for a comparison.
const REFRESH: &str = "argocd.argoproj.io/refresh";

/// Argo CD in one cluster.
#[derive(Debug, Clone)]
pub(super) struct Argo {
    pub(super) cluster: Arc<Cluster>,
    pub(super) repository: Arc<Repository>,
}

/// What an Application's Git says, and at which commit.
struct Target {
    commit: String,
    objects: Vec<Value>,
}

pub(super) fn is_frozen(app: &Value) -> bool {
    app["metadata"]["annotations"]["argocd.argoproj.io/skip-reconcile"] == "true"
}

pub(super) fn wants_refresh(app: &Value) -> bool {
    app["metadata"]["annotations"][REFRESH].is_string()
}

/// Returns the name of the Application that an object belongs to.
pub(super) fn owner(object: &Value) -> Option<&str> {
    let id = object["metadata"]["annotations"][TRACKING].as_str()?;
    id.split_once(':').map(|(app, _)| app)
}

/// Tells whether an Application renders a chart, which the demo's Argo CD takes as it is.
fn is_chart(app: &Value) -> bool {
    app["spec"]["source"]["chart"].is_string()
}

impl Argo {
    pub(super) fn kind() -> Option<&'static Kind> {
        Kind::of("argoproj.io/v1alpha1", "Application")
    }

    /// Returns an Application of the demo's one Argo CD namespace.
    pub(super) fn app(&self, name: &str) -> Option<Arc<Value>> {
        self.cluster.get(Self::kind()?, Some("argocd"), name)
    }

    fn edit(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        let Some(kind) = Self::kind() else { return };
        let caller = Caller::new(KEEPER);
        let done = self
            .cluster
            .edit(kind, Some("argocd"), name, &caller, |object| {
                if object["status"].is_null() {
                    object["status"] = json!({});
                }
                edit(object);
                Ok(())
            });
        // It may have been deleted in between.
        drop(done);
    }

    /// Renders an Application at its revision, or at `revision` where an operation names one.
    fn target(&self, app: &Value, revision: Option<&str>) -> Result<Target, String> {
        let source = &app["spec"]["source"];
        let wanted = revision
            .or(source["targetRevision"].as_str())
            .unwrap_or("HEAD");
        let commit = self.repository.resolve(wanted).map_err(|f| f.to_string())?;
        let files = self.repository.files(&commit).map_err(|f| f.to_string())?;
        let rendered = render::argo(&files, app)?;
        let objects = rendered.objects;
        Ok(Target { commit, objects })
    }

    /// Returns what an Application's Git says now.
    #[cfg(test)]
    pub(super) fn desired(&self, app: &Value) -> Result<Vec<Value>, String> {
        self.target(app, None).map(|target| target.objects)
    }

    /// Returns the live objects that carry an Application's tracking id.
    fn tracked(&self, app: &str) -> Vec<Arc<Value>> {
        let mine = |object: &Arc<Value>| owner(object) == Some(app);
        KINDS
            .iter()
            .filter(|k| !k.traits.custom)
            .flat_map(|k| self.cluster.list(k))
            .filter(mine)
            .collect()
    }

    /// Compares an Application and writes what was found; takes a refresh request away in the same write.
    pub(super) fn refresh(&self, name: &str) {
        let Some(app) = self.app(name) else { return };
        let now = self.cluster.clock().text();
        if is_chart(&app) {
            return self.edit(name, |app| {
                unask(app);
                app["status"]["reconciledAt"] = now.into();
            });
        }
        let source = app["spec"]["source"].clone();
        let compared = json!({"source": source, "destination": app["spec"]["destination"]});
        match self.target(&app, None) {
            Ok(target) => {
                let resources = self.compare(&app, &target);
                let clean = resources.iter().all(|r| r["status"] == "Synced");
                let images = images(&target.objects);
                let health = if resources.iter().any(|r| r["health"]["status"] == "Missing") {
                    "Missing"
                } else {
                    "Healthy"
                };
                self.edit(name, |app| {
                    unask(app);
                    let status = &mut app["status"];
                    let word = if clean { "Synced" } else { "OutOfSync" };
                    status["sync"] = json!({"status": word, "revision": target.commit, "comparedTo": compared});
                    status["resources"] = resources.into_iter().map(persisted).collect();
                    set_health(status, health, &now);
                    status["summary"] = json!({ "images": images });
                    status["reconciledAt"] = now.as_str().into();
                    status["sourceType"] = source_type(&source).into();
                    status["controllerNamespace"] = "argocd".into();
                    status["resourceHealthSource"] = "appTree".into();
                    if let Some(status) = status.as_object_mut() {
                        status.remove("conditions");
                    }
                });
            }
            Err(message) => self.edit(name, |app| {
                unask(app);
                let message = format!(
                    "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown \
                     desc = {message}"
                );
                let status = &mut app["status"];
                status["sync"] = json!({"status": "Unknown", "comparedTo": compared});
                status["conditions"] =
                    json!([{"type": "ComparisonError", "message": message, "lastTransitionTime": now}]);
                status["reconciledAt"] = now.as_str().into();
            }),
        }
    }

    fn compare(&self, app: &Value, target: &Target) -> Vec<Value> {
        let caller = Caller::new(APPLIER).dry();
        let mut seen = vec![];
        let mut resources = vec![];
        for object in &target.objects {
            let Some((kind, namespace, name)) = known(object) else {
                continue;
            };
            let there = self
                .cluster
                .get(kind, namespace.as_deref(), &name)
                .is_some();
            let changed = self
                .cluster
                .client_side_apply(kind, namespace.as_deref(), object, &caller)
                .map_or(true, |applied| applied.changed);
            let mut resource = resource(kind, namespace.as_deref(), &name);
            resource["status"] = if changed { "OutOfSync" } else { "Synced" }.into();
            if !there && has_health(kind) {
                resource["health"] = json!({"status": "Missing"});
            }
            seen.push((kind.kind, namespace, name));
            resources.push(resource);
        }
        for live in self.tracked(app["metadata"]["name"].as_str().unwrap_or_default()) {
            let Some((kind, namespace, name)) = known(&live) else {
                continue;
            };
            if !seen
                .iter()
                .any(|(k, s, n)| (*k, s, n) == (kind.kind, &namespace, &name))
            {
                let mut resource = resource(kind, namespace.as_deref(), &name);
                resource["status"] = "OutOfSync".into();
                resource["requiresPruning"] = true.into();
                resources.push(resource);
            }
        }
        resources
    }

    /// Takes up the operation of an Application.
    pub(super) fn start(&self, name: &str) {
        let now = self.cluster.clock().text();
        self.edit(name, |app| {
            if app["operation"].is_null() {
                return;
            }
            let operation = app["operation"].clone();
            let state = &mut app["status"]["operationState"];
            if state.is_null() {
                *state = json!({});
            }
            state["phase"] = "Running".into();
            state["operation"] = operation;
            state["startedAt"] = now.into();
            if state["message"].is_null() {
                state["message"] = "one or more tasks are running".into();
            }
            if let Some(state) = state.as_object_mut() {
                state.remove("finishedAt");
            }
        });
    }

    /// Carries the running operation of an Application out and ends it.
    pub(super) fn finish(&self, name: &str) {
        let Some(app) = self.app(name) else { return };
        let operation = app["operation"].clone();
        if operation.is_null() {
            return;
        }
        if app["status"]["operationState"]["phase"] == "Terminating" {
            return self.end(name, &operation, ("Failed", "Operation terminated"), None);
        }
        if is_chart(&app) {
            return self.end(
                name,
                &operation,
                ("Succeeded", "successfully synced (all tasks run)"),
                None,
            );
        }
        let revision = operation["sync"]["revision"]
            .as_str()
            .filter(|r| !r.is_empty());
        match self.target(&app, revision) {
            Ok(target) => {
                let (results, failed) = self.sync(&app, &target, &operation["sync"]);
                let words = if failed {
                    ("Failed", "one or more objects failed to apply")
                } else if results.is_empty() {
                    ("Succeeded", "successfully synced (no more tasks)")
                } else {
                    ("Succeeded", "successfully synced (all tasks run)")
                };
                let result = json!({"revision": target.commit, "source": app["spec"]["source"], "resources": results});
                self.end(name, &operation, words, Some(result));
            }
            Err(message) => {
                let message = format!("ComparisonError: Failed to load target state: {message}");
                self.end(name, &operation, ("Error", &message), None);
            }
        }
    }

    fn sync(&self, app: &Value, target: &Target, sync: &Value) -> (Vec<Value>, bool) {
        let dry = sync["dryRun"] == true;
        let mut caller = Caller::new(APPLIER);
        caller.dry = dry;
        let chosen = sync["resources"].as_array().filter(|r| !r.is_empty());
        let is_chosen = |kind: &Kind, name: &str| {
            chosen.is_none_or(|list| {
                list.iter().any(|r| {
                    r["kind"] == kind.kind
                        && r["name"] == name
                        && r["group"].as_str().unwrap_or_default() == kind.group
                })
            })
        };
        let mut results = vec![];
        let mut failed = false;
        let tail = if dry { " (dry run)" } else { "" };
        for object in &target.objects {
            let Some((kind, namespace, name)) = known(object) else {
                continue;
            };
            if !is_chosen(kind, &name) {
                continue;
            }
            let applied =
                self.cluster
                    .client_side_apply(kind, namespace.as_deref(), object, &caller);
            let what = format!("{}/{name}", singular(kind));
            let (status, message) = match applied {
                Ok(applied) if applied.created => ("Synced", format!("{what} created{tail}")),
                Ok(applied) if applied.changed => ("Synced", format!("{what} configured{tail}")),
                Ok(_) => ("Synced", format!("{what} unchanged{tail}")),
                Err(refusal) => {
                    failed = true;
                    ("SyncFailed", refusal.message().to_owned())
                }
            };
            results.push(result(kind, namespace.as_deref(), &name, status, &message));
        }
        let rendered: Vec<_> = target
            .objects
            .iter()
            .filter_map(known)
            .map(|(k, s, n)| (k.kind, s, n))
            .collect();
        for live in self.tracked(app["metadata"]["name"].as_str().unwrap_or_default()) {
            let Some((kind, namespace, name)) = known(&live) else {
                continue;
            };
            let extra = !rendered.contains(&(kind.kind, namespace.clone(), name.clone()));
            if !extra || !is_chosen(kind, &name) {
                continue;
            }
            let (status, message) = if sync["prune"] == true {
                drop(
                    self.cluster
                        .delete(kind, namespace.as_deref(), &name, None, dry),
                );
                ("Pruned", format!("pruned{tail}"))
            } else {
                ("PruneSkipped", "ignored (requires pruning)".to_owned())
            };
            results.push(result(kind, namespace.as_deref(), &name, status, &message));
        }
        (results, failed)
    }

    fn end(
        &self,
        name: &str,
        operation: &Value,
        (phase, message): (&str, &str),
        result: Option<Value>,
    ) {
        let now = self.cluster.clock().text();
        let sync = &operation["sync"];
        let whole =
            sync["dryRun"] != true && sync["resources"].as_array().is_none_or(Vec::is_empty);
        self.edit(name, |app| {
            let source = app["spec"]["source"].clone();
            let status = &mut app["status"];
            let started = status["operationState"]["startedAt"].clone();
            if let Some(result) = result.filter(|_| phase != "Error") {
                if phase == "Succeeded" && whole {
                    let mut history = status["history"].as_array().cloned().unwrap_or_default();
                    let id = history.last().and_then(|h| h["id"].as_i64()).map_or(0, |id| id + 1);
                    history.push(json!({
                        "id": id, "revision": result["revision"], "source": source, "deployedAt": now,
                        "deployStartedAt": started, "initiatedBy": operation["initiatedBy"],
                    }));
                    let surplus = history.len().saturating_sub(10);
                    status["history"] = history.split_off(surplus).into();
                }
                status["operationState"]["syncResult"] = result;
            }
            let state = &mut status["operationState"];
            state["operation"] = operation.clone();
            state["phase"] = phase.into();
            state["message"] = message.into();
            state["finishedAt"] = now.as_str().into();
            if state["startedAt"].is_null() {
                state["startedAt"] = now.into();
            }
            if let Some(root) = app.as_object_mut() {
                root.remove("operation");
            }
        });
    }

    /// Starts an automated sync where the Application's policy asks for one; returns whether it did.
    pub(super) fn automate(&self, name: &str) -> bool {
        let Some(app) = self.app(name) else {
            return false;
        };
        let automated = &app["spec"]["syncPolicy"]["automated"];
        let on = automated.is_object() && automated["enabled"] != false;
        let status = &app["status"];
        if !on
            || status["sync"]["status"] != "OutOfSync"
            || !app["operation"].is_null()
            || is_frozen(&app)
        {
            return false;
        }
        let revision = status["sync"]["revision"].clone();
        let last = &status["operationState"];
        let tried = last["syncResult"]["revision"] == revision;
        let heals = automated["selfHeal"] == true && last["phase"] == "Succeeded";
        let extra_only = status["resources"]
            .as_array()
            .into_iter()
            .flatten()
            .all(|r| r["status"] == "Synced" || r["requiresPruning"] == true);
        if (tried && !heals) || (extra_only && automated["prune"] != true) {
            return false;
        }
        let mut sync = json!({"revision": revision});
        if automated["prune"] == true {
            sync["prune"] = true.into();
        }
        if let Some(options) = app["spec"]["syncPolicy"].get("syncOptions") {
            sync["syncOptions"] = options.clone();
        }
        if tried {
            let resources = status["resources"].as_array().into_iter().flatten();
            let chosen: Vec<Value> = resources
                .filter(|r| r["status"] != "Synced")
                .map(|r| json!({"group": r["group"], "kind": r["kind"], "name": r["name"]}))
                .collect();
            sync["resources"] = chosen.into();
            sync["autoHealAttemptsCount"] = 1.into();
        }
        self.edit(name, |app| {
            app["operation"] =
                json!({"initiatedBy": {"automated": true}, "retry": {"limit": 5}, "sync": sync});
        });
        true
    }
}

fn unask(app: &mut Value) {
    if let Some(annotations) = app["metadata"]["annotations"].as_object_mut() {
        annotations.remove(REFRESH);
        if annotations.is_empty()
            && let Some(metadata) = app["metadata"].as_object_mut()
        {
            metadata.remove("annotations");
        }
    }
}

fn set_health(status: &mut Value, word: &str, now: &str) {
    if status["health"]["status"] != word {
        status["health"] = json!({"status": word, "lastTransitionTime": now});
    }
}

fn has_health(kind: &Kind) -> bool {
    matches!(
        kind.kind,
        "Deployment"
            | "StatefulSet"
            | "DaemonSet"
            | "Service"
            | "Ingress"
            | "PersistentVolumeClaim"
            | "CronJob"
            | "Job"
    )
}

/// Returns a resource entry as it is persisted: without health, which the app tree holds.
fn persisted(mut resource: Value) -> Value {
    if let Some(entry) = resource.as_object_mut() {
        entry.remove("health");
    }
    resource
}

fn resource(kind: &Kind, namespace: Option<&str>, name: &str) -> Value {
    let mut resource = json!({"version": kind.version, "kind": kind.kind, "name": name});
    if !kind.group.is_empty() {
        resource["group"] = kind.group.into();
    }
    if let Some(namespace) = namespace {
        resource["namespace"] = namespace.into();
    }
    resource
}

fn result(kind: &Kind, namespace: Option<&str>, name: &str, status: &str, message: &str) -> Value {
    json!({
        "group": kind.group, "version": kind.version, "kind": kind.kind, "namespace": namespace.unwrap_or_default(),
        "name": name, "status": status, "message": message, "hookPhase": "Running", "syncPhase": "Sync",
    })
}

/// Returns how apply messages name a kind: `deployment.apps`, `configmap`.
fn singular(kind: &Kind) -> String {
    let word = kind.kind.to_ascii_lowercase();
    if kind.group.is_empty() {
        word
    } else {
        format!("{word}.{}", kind.group)
    }
}

fn images(objects: &[Value]) -> Vec<String> {
    let mut images: Vec<String> = objects
        .iter()
        .filter_map(|o| {
            o.pointer("/spec/template/spec/containers")
                .and_then(Value::as_array)
        })
        .flatten()
        .filter_map(|c| c["image"].as_str().map(str::to_owned))
        .collect();
    images.sort();
    images.dedup();
    images
}

fn source_type(source: &Value) -> &'static str {
    if source["path"]
        .as_str()
        .is_some_and(|p| p.contains("overlays"))
    {
        "Kustomize"
    } else {
        "Directory"
    }
}
