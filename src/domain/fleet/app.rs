//! One app as the fleet shows it: what the controller's own status says, joined with its source and with the last
//! comparison.
//!
//! Reading ([`App::decode`]) keeps the facts and is independent of the clock; [`App::settle`] turns facts, comparison
//! and time into one [`AppState`], so that a failure that lasts becomes `failed` without a new event. Without a
//! comparison no app is ever `in-sync`. The object itself is kept as compact text, not as a tree: a fleet of
//! thousands must stay small, and only the chosen app is ever looked into ([`App::object`]).

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::inventory::{self, Managed};
use super::source::{Source, SourceId, SourceObject};
use super::{AppKind, AppRef, AppState, Target, argo, flux, json};

/// What decides about states besides the objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Seconds that a condition must have failed before the app counts as `failed`.
    pub failed_after: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { failed_after: 300 }
    }
}

/// One condition of a status.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Condition {
    /// `Ready`, `Reconciling`, `ComparisonError` …
    pub kind: String,
    /// `True`, `False`, `Unknown`; Argo CD's conditions have none and read `True`.
    pub status: String,
    /// The reason's word; empty for Argo CD.
    pub reason: String,
    /// The controller's sentence.
    pub message: String,
    /// When it changed last.
    pub since: Option<Timestamp>,
    /// For which generation it was written.
    pub observed_generation: Option<i64>,
}

/// Reads `status.conditions`.
pub(super) fn conditions(object: &Value) -> Vec<Condition> {
    json::items(object, "/status/conditions")
        .iter()
        .map(|item| Condition {
            kind: json::owned(item, "/type").unwrap_or_default(),
            status: json::owned(item, "/status").unwrap_or_else(|| "True".to_owned()),
            reason: json::owned(item, "/reason").unwrap_or_default(),
            message: json::owned(item, "/message").unwrap_or_default(),
            since: json::time(item, "/lastTransitionTime"),
            observed_generation: item.get("observedGeneration").and_then(Value::as_i64),
        })
        .collect()
}

/// Returns a copy of an object without `metadata.managedFields`.
pub(super) fn without_managed_fields(object: &Value) -> Value {
    let mut copy = object.clone();
    if let Some(metadata) = copy.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    copy
}

/// How an app is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HoldKind {
    /// Flux `spec.suspend`.
    Suspended,
    /// Argo CD: the automated block was taken out by a hold of ours, which remembers it.
    AutomatedTaken,
    /// Argo CD: `automated.enabled: false`.
    AutomatedDisabled,
    /// Argo CD: `argocd.argoproj.io/skip-reconcile`.
    SkipReconcile,
}

/// That an app is held, and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hold {
    /// How.
    pub kind: HoldKind,
    /// Who did it: the name given with the hold, else the field manager that set the field.
    pub by: Option<String>,
    /// When.
    pub since: Option<Timestamp>,
    /// Why, where it was taken with a reason.
    pub reason: Option<String>,
    /// Until when, where it was taken with an expiry.
    pub until: Option<Timestamp>,
}

/// What the controller does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Policy {
    /// Applies new revisions by itself.
    pub automated: bool,
    /// Undoes live edits by itself.
    pub self_heal: bool,
    /// Deletes what Git no longer has.
    pub prune: bool,
}

/// An object that owns the app's own object and may undo what is written to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Parent {
    /// A Flux Kustomization or HelmRelease, an Argo CD Application: it applies the app from Git.
    App(Target),
    /// An Argo CD ApplicationSet of that name.
    ApplicationSet(String),
}

/// What is running or ran last (Argo CD's `operationState`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Operation {
    /// `Running`, `Succeeded`, `Failed`, `Error`, `Terminating`.
    pub phase: String,
    /// The controller's sentence.
    pub message: String,
    /// When it started: the operation's identity.
    pub started: Option<Timestamp>,
    /// When it finished (or, while `Running`, when the last attempt did).
    pub finished: Option<Timestamp>,
    /// Who started it: a user's name, or `automated`.
    pub by: String,
}

/// The last comparison of an app, folded into its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftSummary {
    /// The state that follows from the comparison alone.
    pub state: AppState,
    /// Why, where the state needs a reason.
    pub cause: Option<String>,
    /// Fields (or missing objects) that drifted.
    pub drifted: usize,
    /// Fields that only live has and that nothing will undo.
    pub additions: usize,
    /// Differences left out by rules, as noise or as foreign.
    pub hidden: usize,
    /// Whose hand made the newest drift.
    pub owner: Option<LastHand>,
    /// When it was compared.
    pub at: Option<Timestamp>,
    /// Of which state of the app: [`App::basis`] as it was when the comparison started. Another basis by now makes
    /// the comparison stale, and the app `unknown` again.
    pub basis: u64,
}

/// Whose hand changed a field last.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LastHand {
    /// The field manager.
    pub manager: String,
    /// When, at the latest.
    pub time: Option<Timestamp>,
    /// `person`, `automation`, `gitops` or `unknown`.
    pub class: String,
}

/// What the controller's own status says, whatever the time is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Facts {
    /// Something fails: the sentence, and since when as far as the object tells.
    pub(super) failing: Option<(String, Option<Timestamp>)>,
    /// A pass is under way: the sentence, and since when.
    pub(super) progressing: Option<(String, Option<Timestamp>)>,
    /// The pass under way is a routine one: nothing new to apply, the last one was fine.
    pub(super) routine: bool,
    /// The controller has reported nothing: why no state can be told.
    pub(super) silent: Option<String>,
    /// The engine itself says that live differs (Argo CD `OutOfSync`, Helm `Drifted`).
    pub(super) says_drifted: Option<String>,
    /// The engine itself says that a newer revision waits.
    pub(super) says_ahead: Option<String>,
    /// The last pass was fine, since then.
    pub(super) good: Option<Timestamp>,
}

/// One app.
#[derive(Debug, Clone, PartialEq)]
pub struct App {
    /// Its identity.
    pub app: AppRef,
    /// The API version that served it.
    pub api_version: String,
    /// Its state.
    pub state: AppState,
    /// Why, where the state needs a reason.
    pub cause: Option<String>,
    /// Since when it is in this state, as far as it is known.
    pub since: Option<Timestamp>,
    /// The controller's own sentence.
    pub message: Option<String>,
    /// Where its manifests come from; Argo CD may have several.
    pub sources: Vec<Source>,
    /// The Flux source object it names (for a HelmRelease the chart's).
    pub source_ref: Option<SourceId>,
    /// The revision that was applied last.
    pub applied: Option<String>,
    /// The newest revision that the controller knows of.
    pub wanted: Option<String>,
    /// That it is held.
    pub hold: Option<Hold>,
    /// What the controller does by itself.
    pub policy: Policy,
    /// Its conditions.
    pub conditions: Vec<Condition>,
    /// Argo CD's sync status (`Synced`, `OutOfSync`, `Unknown`).
    pub sync: Option<String>,
    /// Argo CD's health (`Healthy`, `Degraded` …).
    pub health: Option<String>,
    /// Argo CD's running or last operation.
    pub operation: Option<Operation>,
    /// Apps that must be ready first.
    pub depends_on: Vec<Target>,
    /// Who owns the app's own object.
    pub parents: Vec<Parent>,
    /// Why its objects live in another cluster than its own object, where they do.
    pub remote: Option<String>,
    /// Seconds between two passes.
    pub interval: Option<i64>,
    /// When the last pass ended.
    pub reconciled: Option<Timestamp>,
    /// When the next pass is due.
    pub next: Option<Timestamp>,
    /// How many objects its inventory holds.
    pub objects: usize,
    /// Why it cannot be compared by this version at all (`comparing HelmReleases comes later`).
    pub later: Option<String>,
    /// The last comparison.
    pub drift: Option<DriftSummary>,
    /// `metadata.labels`, for filters.
    pub labels: Vec<(String, String)>,
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.resourceVersion`.
    pub resource_version: Option<String>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// Whether it is being deleted.
    pub deleting: bool,
    pub(super) facts: Facts,
    /// Since when it has been failing, over all attempts that were seen.
    memory: Option<Timestamp>,
    spec: u64,
    text: Arc<str>,
}

impl App {
    /// Reads an app from its object and settles its state at `now`, without a comparison. `None` where the object has
    /// no name or no namespace.
    pub fn read(
        context: &Arc<str>,
        kind: AppKind,
        object: &Value,
        now: Timestamp,
        settings: &Settings,
    ) -> Option<Self> {
        let mut app = Self::decode(context, kind, object)?;
        app.settle(now, settings);
        Some(app)
    }

    /// Reads the facts of an app's object; its state stays `unknown` until [`App::settle`].
    pub fn decode(context: &Arc<str>, kind: AppKind, object: &Value) -> Option<Self> {
        let target = Target {
            kind,
            namespace: json::owned(object, "/metadata/namespace")?,
            name: json::owned(object, "/metadata/name")?,
        };
        let mut app = Self {
            app: AppRef {
                context: Arc::clone(context),
                target,
            },
            api_version: json::owned(object, "/apiVersion").unwrap_or_default(),
            state: AppState::Unknown,
            cause: Some("not read yet".to_owned()),
            since: None,
            message: None,
            sources: vec![],
            source_ref: None,
            applied: None,
            wanted: None,
            hold: None,
            policy: Policy::default(),
            conditions: conditions(object),
            sync: None,
            health: None,
            operation: None,
            depends_on: vec![],
            parents: parents(object),
            remote: None,
            interval: None,
            reconciled: None,
            next: None,
            objects: 0,
            later: None,
            drift: None,
            labels: labels(object),
            generation: object
                .pointer("/metadata/generation")
                .and_then(Value::as_i64)
                .unwrap_or(0),
            resource_version: json::owned(object, "/metadata/resourceVersion"),
            created: json::time(object, "/metadata/creationTimestamp"),
            deleting: json::text(object, "/metadata/deletionTimestamp").is_some(),
            facts: Facts::default(),
            memory: None,
            spec: hash(object.get("spec").unwrap_or(&Value::Null)),
            text: without_managed_fields(object).to_string().into(),
        };
        match kind {
            AppKind::Kustomization => flux::kustomization(&mut app, object),
            AppKind::HelmRelease => flux::helm_release(&mut app, object),
            AppKind::Application => argo::application(&mut app, object),
        }
        app.memory = app.facts.failing.as_ref().and_then(|(_, since)| *since);
        Some(app)
    }

    /// Returns the object as it was served, without `managedFields`.
    pub fn object(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    /// Returns the objects of its inventory: Flux's `status.inventory`, Argo CD's `status.resources`.
    pub fn inventory(&self) -> Vec<Managed> {
        inventory::of(self.app.target.kind, &self.object())
    }

    /// Returns the fingerprint of what a comparison of this app rests on: its spec and both revisions.
    pub fn basis(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.spec, &self.applied, &self.wanted).hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the last comparison, if it is still about this state of the app.
    pub fn current_drift(&self) -> Option<&DriftSummary> {
        self.drift.as_ref().filter(|d| d.basis == self.basis())
    }

    /// Takes over what an older version of the same app knows and its object does not say: the comparison, and since
    /// when it has been failing (Ready forgets that with each attempt).
    pub(super) fn inherit(&mut self, old: &mut Self) {
        self.drift = self.drift.take().or_else(|| old.drift.take());
        self.memory = if self.facts.good.is_some() {
            None
        } else {
            let said = self.facts.failing.as_ref().and_then(|(_, since)| *since);
            old.memory.into_iter().chain(said).min()
        };
        if let Some((_, since)) = &mut self.facts.failing {
            *since = self.memory.or(*since);
        }
        (self.state, self.since) = (old.state, old.since);
        self.cause.clone_from(&old.cause);
    }

    /// Tells whether nothing but the state differs.
    pub(super) fn same_but_state(&self, other: &Self) -> bool {
        self.text == other.text && self.sources == other.sources && self.wanted == other.wanted
    }

    /// Joins the Flux source object: URL, revisions, credentials, and why it cannot be fetched. `listed` tells whether
    /// the kind of source has been listed, so that an absent object is known to be missing.
    pub(super) fn join(
        &mut self,
        joined: Option<(&SourceObject, Option<&SourceObject>)>,
        listed: bool,
    ) {
        let kustomization = self.app.target.kind == AppKind::Kustomization;
        let Some(source) = self.sources.first_mut() else {
            return;
        };
        let Some((object, parent)) = joined else {
            if listed {
                source.fault = Some("does not exist".to_owned());
            }
            return;
        };
        source.kind = object.kind;
        source.reference = object.reference.clone();
        source.credentials = parent.unwrap_or(object).credentials.clone();
        source.url.clone_from(&parent.unwrap_or(object).url);
        source.suspended = object.suspended;
        source.fault = [Some(object), parent]
            .into_iter()
            .flatten()
            .find_map(|o| o.fault().map(str::to_owned));
        if object.chart.is_some() {
            source.chart.clone_from(&object.chart);
        }
        source.wanted.clone_from(&object.revision);
        if kustomization && object.revision.is_some() {
            self.wanted.clone_from(&object.revision);
        }
    }

    /// Returns when the state may change without any event: a failure that is about to have lasted, a pass that is
    /// about to count as slow.
    pub fn due(&self, settings: &Settings) -> Option<Timestamp> {
        let failing = self
            .facts
            .failing
            .as_ref()
            .and_then(|(_, since)| since.map(|s| s.as_second() + settings.failed_after));
        let slow = self
            .facts
            .progressing
            .as_ref()
            .filter(|_| self.facts.routine)
            .and_then(|(_, since)| since.map(|s| s.as_second() + super::state::ROUTINE));
        failing
            .into_iter()
            .chain(slow)
            .min()
            .and_then(|second| Timestamp::from_second(second).ok())
    }
}

fn labels(object: &Value) -> Vec<(String, String)> {
    object
        .pointer("/metadata/labels")
        .and_then(Value::as_object)
        .map(|map| {
            map.iter()
                .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
                .collect()
        })
        .unwrap_or_default()
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    hasher.finish()
}

/// Finds who applies the app's own object: Flux's owner labels, Argo CD's tracking id, an owning ApplicationSet.
fn parents(object: &Value) -> Vec<Parent> {
    let mut found = vec![];
    for (group, kind) in [
        ("kustomize.toolkit.fluxcd.io", AppKind::Kustomization),
        ("helm.toolkit.fluxcd.io", AppKind::HelmRelease),
    ] {
        let label = |part: &str| {
            object
                .pointer("/metadata/labels")?
                .get(format!("{group}/{part}"))?
                .as_str()
                .map(str::to_owned)
        };
        if let (Some(name), Some(namespace)) = (label("name"), label("namespace")) {
            let own = ObjectSelf::of(object);
            if (own.kind, own.namespace, own.name) != (kind.kind(), &namespace, &name) {
                found.push(Parent::App(Target {
                    kind,
                    namespace,
                    name,
                }));
            }
        }
    }
    if let Some((owner, _)) =
        json::annotation(object, "argocd.argoproj.io/tracking-id").and_then(|id| id.split_once(':'))
    {
        let own = json::text(object, "/metadata/namespace").unwrap_or_default();
        let (namespace, name) = owner.split_once('_').unwrap_or((own, owner));
        found.push(Parent::App(Target {
            kind: AppKind::Application,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }));
    }
    for owner in json::items(object, "/metadata/ownerReferences") {
        if json::text(owner, "/kind") == Some("ApplicationSet")
            && let Some(name) = json::owned(owner, "/name")
        {
            found.push(Parent::ApplicationSet(name));
        }
    }
    found
}

struct ObjectSelf<'v> {
    kind: &'v str,
    namespace: &'v str,
    name: &'v str,
}

impl<'v> ObjectSelf<'v> {
    fn of(object: &'v Value) -> Self {
        let get = |pointer: &str| json::text(object, pointer).unwrap_or_default();
        Self {
            kind: get("/kind"),
            namespace: get("/metadata/namespace"),
            name: get("/metadata/name"),
        }
    }
}
