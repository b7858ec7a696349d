//! Acts on the cluster as plain values: a [`Plan`] is shown, tested, then executed by `world::cluster`.
//!
//! Whatever a controller would do wrongly with a careless write is refused or said here, before anything is sent:
//! an operation over a running one, a sync of a suspended app, a hold that its owner undoes. Every write that changes
//! what somebody else may change is guarded by the version it was planned on.

mod argo;
mod flux;
mod revert;
#[cfg(test)]
mod tests;
mod window;

use jiff::Timestamp;
use serde_json::Value;

use super::fault::{Fault, FaultKind};
use super::fleet::{App, AppKind, AppRef, HoldKind, Parent, SourceObject};

pub use revert::{Chosen, RevertObject, revert};

/// The field manager of every write that is not made in a controller's name. Never one that begins with `kubectl`:
/// Flux undoes those.
pub const MANAGER: &str = "gitops-tui";

/// What an act is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// Let the controller apply Git now.
    Sync,
    /// Let the controller look again.
    Refresh,
    /// Take the app out of the controller's hands.
    Hold,
    /// Give it back as it was found.
    Resume,
    /// Put live fields or objects back to Git.
    Revert,
    /// Apply an older revision of the history (Argo CD).
    Rollback,
    /// Stop the running operation, or withdraw one that waits (Argo CD).
    Terminate,
}

impl Verb {
    /// Returns the word of screens, the command line and JSON documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Refresh => "refresh",
            Self::Hold => "hold",
            Self::Resume => "resume",
            Self::Revert => "revert",
            Self::Rollback => "rollback",
            Self::Terminate => "terminate",
        }
    }
}

/// How a write is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// A JSON merge patch.
    Merge(Value),
    /// A JSON patch (RFC 6902).
    Json(Value),
    /// A server-side apply of `body` as `manager`.
    Apply {
        /// The object with the fields to apply.
        body: Value,
        /// The field manager.
        manager: String,
        /// Takes fields from other managers.
        force: bool,
    },
    /// A create of the whole object as `manager`.
    Create {
        /// The object.
        body: Value,
        /// The field manager.
        manager: String,
    },
}

impl Write {
    /// Returns the body that is sent. It may hold secret values.
    pub fn body(&self) -> &Value {
        let (Self::Merge(body)
        | Self::Json(body)
        | Self::Apply { body, .. }
        | Self::Create { body, .. }) = self;
        body
    }
}

/// One write to one object.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// In words, as the dialog shows it: `annotate GitRepository/flux-system/fleet requestedAt`.
    pub words: String,
    /// apiVersion of the object to write.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// What is sent.
    pub write: Write,
    /// What is sent as it may be shown, where it holds secret values; see [`Step::shown`].
    pub masked: Option<Value>,
}

impl Step {
    /// Returns what is sent, for the eye: secret values masked.
    pub fn shown(&self) -> Value {
        self.masked
            .clone()
            .unwrap_or_else(|| self.write.body().clone())
    }

    /// Returns the field manager that the write is made as.
    pub fn manager(&self) -> &str {
        match &self.write {
            Write::Merge(_) | Write::Json(_) => MANAGER,
            Write::Apply { manager, .. } | Write::Create { manager, .. } => manager,
        }
    }
}

/// What tells that an act has had its effect; `world::cluster` watches for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Expect {
    /// The answer to the write is the effect.
    #[default]
    Answer,
    /// Flux has handled the request on the app (and its sources): `lastHandledReconcileAt` is this value, Ready is
    /// current, and what the sources hold by then is applied.
    Handled {
        /// The value of the `requestedAt` annotation.
        requested_at: String,
        /// The source objects that were asked, too: apiVersion, kind, namespace, name.
        sources: Vec<(String, String, String, String)>,
        /// Whether the app itself was asked.
        app: bool,
    },
    /// Argo CD has run an operation that started after the write.
    Operation,
    /// Argo CD has taken the refresh annotation away.
    Refreshed,
}

/// A write as a plain value: shown in full, then executed step by step; the first refused step ends it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// On which app.
    pub app: AppRef,
    /// What it is called.
    pub verb: Verb,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// What the engineer should know first (a window that blocks, an owner that undoes it).
    pub warnings: Vec<String>,
    /// Whether it deletes, prunes, forces or overwrites: the default button is then *Cancel*.
    pub destructive: bool,
    /// What tells that it has had its effect.
    pub expect: Expect,
}

/// How to sync.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one flag of the command line"
)]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyncOptions {
    /// Flux: let the source fetch first.
    pub with_source: bool,
    /// Argo CD: delete what Git no longer has.
    pub prune: bool,
    /// Argo CD: say what would be done, do nothing.
    pub dry_run: bool,
    /// Argo CD: replace what cannot be patched; HelmRelease: upgrade though nothing changed.
    pub force: bool,
    /// HelmRelease: forget failed attempts.
    pub reset: bool,
    /// Argo CD: no hooks.
    pub apply_only: bool,
    /// Argo CD: a revision other than what the spec asks for, one for each source.
    pub revisions: Vec<String>,
    /// Argo CD: only these objects (group, kind, namespace, name); hooks do not run and nothing enters the history.
    pub resources: Vec<(String, String, String, String)>,
}

/// Who acts, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The person's name, for annotations and `initiatedBy`.
    pub name: String,
    /// Now.
    pub now: Timestamp,
}

/// What is known of the app's surroundings when a plan is made; what is not known is warned about.
#[derive(Debug, Clone, Copy, Default)]
pub struct Surroundings<'a> {
    /// Flux: the app's source objects, the nearest first (HelmChart, then HelmRepository).
    pub sources: &'a [&'a SourceObject],
    /// Argo CD: the app's AppProject.
    pub project: Option<&'a Value>,
}

/// Plans a sync.
///
/// # Errors
/// `refused` or `conflict` where the controller would do something else than a sync.
pub fn sync(
    app: &App,
    around: Surroundings<'_>,
    options: &SyncOptions,
    actor: &Actor,
) -> Result<Plan, Fault> {
    match app.app.target.kind {
        AppKind::Application => argo::sync(app, around, options, actor),
        _ => flux::sync(app, around, options, actor),
    }
}

/// Plans a refresh: the controller looks at Git again. `hard` makes Argo CD forget its rendered manifests and Flux
/// apply the app again, too.
pub fn refresh(
    app: &App,
    around: Surroundings<'_>,
    hard: bool,
    actor: &Actor,
) -> Result<Plan, Fault> {
    match app.app.target.kind {
        AppKind::Application => argo::refresh(app, hard),
        _ => flux::refresh(app, around, hard, actor),
    }
}

/// Why and until when an app is held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HoldNote {
    /// Why.
    pub reason: Option<String>,
    /// Until when.
    pub until: Option<Timestamp>,
}

/// Plans a hold: the app is taken out of its controller's hands, and what was there before is remembered on it.
pub fn hold(app: &App, note: &HoldNote, actor: &Actor) -> Result<Plan, Fault> {
    if let Some(hold) = &app.hold {
        let mut fault = refused(app, "it is held already");
        if let Some(by) = &hold.by {
            fault = fault.because(format!("by {by}"));
        }
        return Err(fault.hint("resume it first to hold it anew"));
    }
    let mut plan = match app.app.target.kind {
        AppKind::Application => argo::hold(app, note, actor)?,
        _ => flux::hold(app, note, actor)?,
    };
    plan.warnings.extend(undone_by(app));
    Ok(plan)
}

/// Plans a resume: what the hold changed is put back exactly as it was.
pub fn resume(app: &App) -> Result<Plan, Fault> {
    let Some(hold) = &app.hold else {
        return Err(refused(app, "it is not held").hint("gitops-tui list shows what is held"));
    };
    let mut plan = match hold.kind {
        HoldKind::Suspended => flux::resume(app)?,
        kind => argo::resume(app, kind)?,
    };
    plan.warnings
        .push("what was changed live while it was held may be undone at the next pass".to_owned());
    Ok(plan)
}

/// Plans a rollback to an entry of Argo CD's history.
pub fn rollback(app: &App, history_id: i64, prune: bool, actor: &Actor) -> Result<Plan, Fault> {
    argo::rollback(app, history_id, prune, actor)
}

/// Plans the end of Argo CD's running operation, or the withdrawal of one that a sync window blocks.
pub fn terminate(app: &App) -> Result<Plan, Fault> {
    argo::terminate(app)
}

/// A plan over the app's own object, with nothing in it yet.
fn empty(app: &App, verb: Verb) -> Plan {
    Plan {
        app: app.app.clone(),
        verb,
        steps: vec![],
        warnings: vec![],
        destructive: false,
        expect: Expect::Answer,
    }
}

/// A write to the app's own object.
fn own_step(app: &App, words: impl Into<String>, write: Write) -> Step {
    let target = &app.app.target;
    Step {
        words: words.into(),
        api_version: app.api_version.clone(),
        kind: target.kind.kind().to_owned(),
        namespace: Some(target.namespace.clone()),
        name: target.name.clone(),
        write,
        masked: None,
    }
}

fn refused(app: &App, why: &str) -> Fault {
    Fault::new(FaultKind::Refused, why).about(app.app.to_string())
}

/// The version of the app's object that guards a write.
fn version(app: &App) -> Result<&str, Fault> {
    app.resource_version.as_deref().ok_or_else(|| {
        refused(
            app,
            "its object carries no resourceVersion, so that no write can be guarded",
        )
    })
}

/// Who may undo a change of the app's own object.
fn undone_by(app: &App) -> Vec<String> {
    app.parents
        .iter()
        .map(|parent| match parent {
            Parent::ApplicationSet(name) => format!(
                "ApplicationSet {name} owns it and undoes changes of its spec, unless it is told not to \
                 (applicationsSync: create-only, or ignoreApplicationDifferences)"
            ),
            Parent::App(target) if target.kind == AppKind::Application => format!(
                "{target} applies it from Git: with self-heal on, it undoes this change"
            ),
            Parent::App(target) => format!(
                "{target} applies it from Git: if the manifest there sets the same field, its next pass undoes this"
            ),
        })
        .collect()
}
