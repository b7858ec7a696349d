//! The demo's controllers at work: one loop per cluster that notices changes and acts on them after a short while, so
//! that progress can be seen.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until};

use super::api::{Caller, Change, Cluster, Kind};
use super::argo::{self, Argo};
use super::flux::{self, Flux, place};

/// Something to do for one object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    /// Look at a GitRepository's branch.
    Fetch(String, String),
    /// Say that a pass over a Kustomization has begun.
    Begin(String, String),
    /// Carry it out.
    Pass(String, String),
    /// Try again what waited for another.
    Retry(String, String),
    /// Take up the request of a suspended Kustomization.
    Acknowledge(String, String),
    /// End the life of a Kustomization.
    Finalize(String, String),
    /// Compare an Application.
    Compare(String),
    /// Take up an Application's operation.
    Start(String),
    /// Carry it out.
    Finish(String),
    /// Let an autoscaler have its way.
    Scale(String, String),
}

/// The loop of one cluster.
pub(super) struct Controllers {
    flux: Flux,
    argo: Argo,
    tasks: BTreeMap<Task, Instant>,
}

fn quick(task: &Task) -> Duration {
    Duration::from_millis(match task {
        Task::Acknowledge(..) | Task::Start(_) => 100,
        Task::Begin(..) | Task::Finalize(..) => 250,
        Task::Compare(_) => 400,
        Task::Fetch(..) => 600,
        Task::Pass(..) => 900,
        Task::Finish(_) => 1_300,
        Task::Retry(..) => 3_000,
        Task::Scale(..) => 8_000,
    })
}

impl Controllers {
    /// Makes the loop of one cluster.
    pub(super) fn new(flux: Flux, argo: Argo) -> Self {
        Self {
            flux,
            argo,
            tasks: BTreeMap::new(),
        }
    }

    fn cluster(&self) -> &Cluster {
        &self.flux.cluster
    }

    /// Runs until the cluster is gone.
    pub(super) async fn run(mut self, mut changes: Receiver<Change>) {
        loop {
            let next = self.tasks.values().min().copied();
            let far = Instant::now() + Duration::from_hours(1);
            tokio::select! {
                change = changes.recv() => match change {
                    Ok(change) => self.notice(&change),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                },
                () = sleep_until(next.unwrap_or(far)), if next.is_some() => self.work(),
            }
        }
    }

    fn later(&mut self, task: Task) {
        let at = Instant::now() + quick(&task);
        self.tasks.entry(task).or_insert(at);
    }

    fn is_due(&self, task: &Task) -> bool {
        self.tasks.contains_key(task)
    }

    fn notice(&mut self, change: &Change) {
        let before = change.before.as_deref();
        let Some(after) = change.after.as_deref() else {
            if let Some(app) = before.and_then(argo::owner) {
                self.later(Task::Compare(app.to_owned()));
            }
            return;
        };
        let moved =
            before.is_none_or(|b| b["metadata"]["generation"] != after["metadata"]["generation"]);
        match change.kind.kind {
            "GitRepository" => self.notice_source(before, after, moved),
            "Kustomization" => self.notice_kustomization(after, moved),
            "Application" => self.notice_application(before, after),
            _ => {
                if let Some(app) = argo::owner(after).or(before.and_then(argo::owner)) {
                    self.later(Task::Compare(app.to_owned()));
                }
                if change.kind.kind == "Deployment" && moved {
                    self.notice_deployment(after);
                }
            }
        }
    }

    fn notice_source(&mut self, before: Option<&Value>, source: &Value, moved: bool) {
        let (namespace, name) = place(source);
        if moved || flux::requested(source).is_some() {
            self.later(Task::Fetch(namespace.clone(), name.clone()));
        }
        let revision = |object: &Value| object["status"]["artifact"]["revision"].clone();
        if before.map(revision) == Some(revision(source)) {
            return;
        }
        for app in self.flux.all("Kustomization") {
            let on = &app["spec"]["sourceRef"];
            let (own, app_name) = place(&app);
            let there = on["namespace"].as_str().unwrap_or(&own) == namespace;
            if there && on["name"] == name && !flux::is_suspended(&app) {
                self.later(Task::Begin(own, app_name));
            }
        }
    }

    fn notice_kustomization(&mut self, app: &Value, moved: bool) {
        let (namespace, name) = place(app);
        if !app["metadata"]["deletionTimestamp"].is_null() {
            return self.later(Task::Finalize(namespace, name));
        }
        let pass = Task::Pass(namespace.clone(), name.clone());
        if self.is_due(&pass) || !(moved || flux::requested(app).is_some()) {
            return;
        }
        if flux::is_suspended(app) {
            self.later(Task::Acknowledge(namespace, name));
        } else {
            self.later(Task::Begin(namespace, name));
        }
    }

    fn notice_application(&mut self, before: Option<&Value>, app: &Value) {
        let (_, name) = place(app);
        if argo::is_frozen(app) {
            return;
        }
        let respecified = before.is_none_or(|b| b["spec"] != app["spec"]);
        if argo::wants_refresh(app) || respecified {
            self.later(Task::Compare(name.clone()));
        }
        if !app["operation"].is_null() && !self.is_due(&Task::Finish(name.clone())) {
            self.later(Task::Start(name));
        }
    }

    fn notice_deployment(&mut self, deployment: &Value) {
        let (namespace, name) = place(deployment);
        if self
            .wanted_replicas(&namespace, &name)
            .is_some_and(|n| deployment["spec"]["replicas"] != n)
        {
            self.later(Task::Scale(namespace, name));
        }
    }

    /// Returns how many replicas an autoscaler wants of a Deployment.
    fn wanted_replicas(&self, namespace: &str, name: &str) -> Option<i64> {
        let kind = Kind::of("autoscaling/v2", "HorizontalPodAutoscaler")?;
        let scaler = self.cluster().list(kind).into_iter().find(|hpa| {
            let target = &hpa["spec"]["scaleTargetRef"];
            place(hpa).0 == namespace && target["kind"] == "Deployment" && target["name"] == name
        })?;
        scaler["status"]["desiredReplicas"]
            .as_i64()
            .filter(|n| *n > 0)
    }

    /// Does what is due.
    fn work(&mut self) {
        let now = Instant::now();
        let due: Vec<Task> = self
            .tasks
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|(t, _)| t.clone())
            .collect();
        for task in due {
            self.tasks.remove(&task);
            self.perform(task);
        }
    }

    fn perform(&mut self, task: Task) {
        match task {
            Task::Fetch(namespace, name) => {
                if let Some(source) = self.flux.one("GitRepository", &namespace, &name) {
                    self.flux.fetch(&source);
                }
            }
            Task::Begin(namespace, name) => {
                if let Some(app) = self.flux.one("Kustomization", &namespace, &name) {
                    self.later(Task::Pass(namespace, name));
                    self.flux.begin(&app);
                }
            }
            Task::Pass(namespace, name) => {
                if let Some(app) = self.flux.one("Kustomization", &namespace, &name) {
                    self.pass(&app);
                }
            }
            Task::Retry(namespace, name) => self.later(Task::Begin(namespace, name)),
            Task::Acknowledge(namespace, name) => {
                if let Some(app) = self.flux.one("Kustomization", &namespace, &name) {
                    self.flux.acknowledge(&app);
                }
            }
            Task::Finalize(namespace, name) => {
                if let Some(app) = self.flux.one("Kustomization", &namespace, &name) {
                    self.flux.finalize(&app);
                }
            }
            Task::Compare(name) => self.compare(name),
            Task::Start(name) => {
                self.later(Task::Finish(name.clone()));
                self.argo.start(&name);
            }
            Task::Finish(name) => {
                self.argo.finish(&name);
                self.later(Task::Compare(name));
            }
            Task::Scale(namespace, name) => self.scale(&namespace, &name),
        }
    }

    fn pass(&mut self, app: &Value) {
        if flux::is_suspended(app) {
            return self.flux.acknowledge(app);
        }
        self.flux.reconcile(app);
        let (namespace, name) = place(app);
        let after = self.flux.one("Kustomization", &namespace, &name);
        if after.is_some_and(|app| flux::waits(&app)) {
            self.later(Task::Retry(namespace, name));
        }
    }

    fn compare(&mut self, name: String) {
        let busy = self.is_due(&Task::Finish(name.clone()));
        let frozen = self.argo.app(&name).is_none_or(|app| argo::is_frozen(&app));
        if frozen {
            return;
        }
        if busy {
            return self.later(Task::Compare(name));
        }
        self.argo.refresh(&name);
        if self.argo.automate(&name) {
            self.later(Task::Start(name));
        }
    }

    fn scale(&self, namespace: &str, name: &str) {
        let Some(wanted) = self.wanted_replicas(namespace, name) else {
            return;
        };
        if let Some(kind) = Kind::of("apps/v1", "Deployment") {
            let caller = Caller::new("kube-controller-manager").through("scale");
            let done = self
                .cluster()
                .edit(kind, Some(namespace), name, &caller, |object| {
                    object["spec"]["replicas"] = wanted.into();
                    Ok(())
                });
            drop(done);
        }
    }
}
