//! Argo CD Applications, read.
//!
//! An Application keeps old answers for long: a failed operation stays in its status until the next one, and its
//! health says nothing where rendering failed. So an operation counts as failing only while it is about what is
//! wanted now, and health only beside a sync status.

use serde_json::Value;

use super::app::{App, Facts, Hold, HoldKind, Operation};
use super::hold::{self, HELD};
use super::json;
use super::source::{Source, SourceKind, from_root};

/// The annotation that freezes an Application.
pub const SKIP_RECONCILE: &str = "argocd.argoproj.io/skip-reconcile";

/// The conditions that say that something is broken; all others are warnings.
const BROKEN: [&str; 5] = [
    "ComparisonError",
    "InvalidSpecError",
    "SyncError",
    "DeletionError",
    "UnknownError",
];

/// Reads what only an Application has.
pub(super) fn application(app: &mut App, object: &Value) {
    app.sync = json::owned(object, "/status/sync/status");
    app.health = json::owned(object, "/status/health/status");
    app.operation = operation(object);
    app.reconciled = json::time(object, "/status/reconciledAt");
    app.objects = json::items(object, "/status/resources").len();
    let automated = object
        .pointer("/spec/syncPolicy/automated")
        .filter(|a| !a.is_null());
    app.policy.automated =
        automated.is_some_and(|a| a.get("enabled").and_then(Value::as_bool) != Some(false));
    if let Some(automated) = automated {
        app.policy.self_heal = app.policy.automated && json::flag(automated, "/selfHeal");
        app.policy.prune = app.policy.automated && json::flag(automated, "/prune");
    }
    app.hold = held(object, automated);
    app.sources = sources(object);
    app.later = later(object, &app.sources);
    app.applied = applied(object);
    app.wanted = revisions(object, "/status/sync");
    for (at, source) in app.sources.iter_mut().enumerate() {
        source.applied = nth_revision(object, last_synced(object), at);
        source.wanted = nth_revision(object, Some("/status/sync".to_owned()), at);
    }
    app.remote = remote(object);
    app.facts = facts(app, object);
    app.message = app
        .facts
        .failing
        .as_ref()
        .map(|(cause, _)| cause.clone())
        .or_else(|| app.operation.as_ref().map(|o| o.message.clone()))
        .filter(|m| !m.is_empty());
}

fn operation(object: &Value) -> Option<Operation> {
    let state = object
        .pointer("/status/operationState")
        .filter(|s| !s.is_null())?;
    Some(Operation {
        phase: json::owned(state, "/phase").unwrap_or_default(),
        message: json::owned(state, "/message").unwrap_or_default(),
        started: json::time(state, "/startedAt"),
        finished: json::time(state, "/finishedAt"),
        by: if json::flag(state, "/operation/initiatedBy/automated") {
            "automated".to_owned()
        } else {
            json::owned(state, "/operation/initiatedBy/username").unwrap_or_default()
        },
    })
}

fn held(object: &Value, automated: Option<&Value>) -> Option<Hold> {
    let note = json::annotation(object, HELD).and_then(hold::Note::read);
    let kind = if json::annotation(object, SKIP_RECONCILE) == Some("true") {
        HoldKind::SkipReconcile
    } else if automated.is_some_and(|a| a.get("enabled").and_then(Value::as_bool) == Some(false)) {
        HoldKind::AutomatedDisabled
    } else if automated.is_none() && note.is_some() {
        HoldKind::AutomatedTaken
    } else {
        return None;
    };
    let note = note.filter(|_| kind == HoldKind::AutomatedTaken);
    Some(Hold {
        kind,
        by: note.as_ref().and_then(|n| n.by.clone()),
        since: note.as_ref().and_then(|n| n.at),
        reason: note.as_ref().and_then(|n| n.reason.clone()),
        until: note.and_then(|n| n.until),
    })
}

/// Returns the sources in the order in which the controller renders them; `sources` wins over `source`, and a
/// hydrated Application is synced from its rendered branch.
fn sources(object: &Value) -> Vec<Source> {
    let several = json::items(object, "/spec/sources");
    if !several.is_empty() {
        return several.iter().map(source).collect();
    }
    if let Some(one) = object.pointer("/spec/source").filter(|s| s.is_object()) {
        return vec![source(one)];
    }
    let Some(hydrator) = object
        .pointer("/spec/sourceHydrator")
        .filter(|s| s.is_object())
    else {
        return vec![];
    };
    let mut found = Source::new(
        SourceKind::Git,
        json::text(hydrator, "/drySource/repoURL").unwrap_or_default(),
    );
    found.path = from_root(json::text(hydrator, "/syncSource/path").unwrap_or_default());
    found.reference.branch = json::owned(hydrator, "/syncSource/targetBranch");
    vec![found]
}

fn source(value: &Value) -> Source {
    let url = json::text(value, "/repoURL").unwrap_or_default();
    let chart = json::owned(value, "/chart");
    let kind = if chart.is_some() {
        SourceKind::Helm
    } else if url.starts_with("oci://") {
        SourceKind::Oci
    } else {
        SourceKind::Git
    };
    let mut found = Source::new(kind, url);
    found.path = from_root(json::text(value, "/path").unwrap_or_default());
    found.reference.any = json::owned(value, "/targetRevision");
    found.chart = chart;
    found.ref_name = json::owned(value, "/ref");
    found
}

/// Says why this version cannot compare the Application, where it cannot.
fn later(object: &Value, sources: &[Source]) -> Option<String> {
    let decided: Vec<&str> = json::text(object, "/status/sourceType")
        .into_iter()
        .chain(
            json::items(object, "/status/sourceTypes")
                .iter()
                .filter_map(Value::as_str),
        )
        .collect();
    let explicit = |word: &str| {
        let has = |v: &Value| v.get(word).is_some_and(|v| !v.is_null());
        object.pointer("/spec/source").is_some_and(has)
            || json::items(object, "/spec/sources").iter().any(has)
    };
    if object
        .pointer("/spec/sourceHydrator")
        .is_some_and(Value::is_object)
    {
        return Some("comparing hydrated Applications comes later".to_owned());
    }
    if decided.contains(&"Helm") || explicit("helm") || sources.iter().any(|s| s.chart.is_some()) {
        return Some("comparing Helm-sourced Applications comes later".to_owned());
    }
    if decided.contains(&"Plugin") || explicit("plugin") {
        return Some("comparing Applications of a config management plugin comes later".to_owned());
    }
    if sources.iter().any(|s| s.kind == SourceKind::Oci) {
        return Some("comparing OCI-sourced Applications comes later".to_owned());
    }
    None
}

/// Returns where the status keeps what was synced last: the newest history entry (they stand oldest first).
fn last_synced(object: &Value) -> Option<String> {
    let history = json::items(object, "/status/history");
    (!history.is_empty()).then(|| format!("/status/history/{}", history.len() - 1))
}

fn applied(object: &Value) -> Option<String> {
    revisions(object, &last_synced(object)?)
}

fn revisions(object: &Value, at: &str) -> Option<String> {
    let several: Vec<&str> = json::items(object, &format!("{at}/revisions"))
        .iter()
        .filter_map(Value::as_str)
        .collect();
    if several.is_empty() {
        json::owned(object, &format!("{at}/revision"))
    } else {
        Some(several.join(", "))
    }
}

fn nth_revision(object: &Value, at: Option<String>, nth: usize) -> Option<String> {
    let at = at?;
    json::owned(object, &format!("{at}/revisions/{nth}"))
        .or_else(|| json::owned(object, &format!("{at}/revision")).filter(|_| nth == 0))
}

fn remote(object: &Value) -> Option<String> {
    let server = json::text(object, "/spec/destination/server");
    let name = json::text(object, "/spec/destination/name");
    match (server, name) {
        (Some(server), _) if server.trim_end_matches('/') == "https://kubernetes.default.svc" => {
            None
        }
        (Some(server), _) => Some(format!("its objects live in the cluster {server}")),
        (None, Some("in-cluster") | None) => None,
        (None, Some(name)) => Some(format!("its objects live in the cluster named {name}")),
    }
}

fn facts(app: &App, object: &Value) -> Facts {
    let mut facts = Facts::default();
    let Some(sync) = app.sync.as_deref() else {
        facts.silent = Some("the controller has not reported yet".to_owned());
        facts.failing = broken(app);
        return facts;
    };
    facts.failing = broken(app)
        .or_else(|| failed_operation(app, object, sync))
        .or_else(|| {
            (app.health.as_deref() == Some("Degraded")).then(|| {
                (
                    json::owned(object, "/status/health/message").map_or_else(
                        || "health is Degraded".to_owned(),
                        |m| format!("Degraded: {m}"),
                    ),
                    json::time(object, "/status/health/lastTransitionTime"),
                )
            })
        });
    if let Some(operation) = &app.operation
        && matches!(operation.phase.as_str(), "Running" | "Terminating")
        && facts.failing.is_none()
    {
        let what = if operation.message.is_empty() {
            "an operation is running".to_owned()
        } else {
            operation.message.clone()
        };
        facts.progressing = Some((what, operation.started));
    } else if app.health.as_deref() == Some("Progressing") {
        facts.progressing = Some((
            "health is Progressing".to_owned(),
            json::time(object, "/status/health/lastTransitionTime"),
        ));
    }
    match sync {
        "OutOfSync" => out_of_sync(&mut facts, app, object),
        "Synced" => facts.good = app.reconciled,
        _ => facts.silent = Some("Argo CD could not compare it".to_owned()),
    }
    facts
}

fn broken(app: &App) -> Option<(String, Option<jiff::Timestamp>)> {
    app.conditions
        .iter()
        .find(|c| BROKEN.contains(&c.kind.as_str()))
        .map(|c| (format!("{}: {}", c.kind, c.message), c.since))
}

/// An operation fails the app while it waits for a retry, or when it ended badly and what it failed on is still what
/// is wanted; a dry run never does.
fn failed_operation(
    app: &App,
    object: &Value,
    sync: &str,
) -> Option<(String, Option<jiff::Timestamp>)> {
    let operation = app.operation.as_ref()?;
    if json::flag(object, "/status/operationState/operation/sync/dryRun") {
        return None;
    }
    let said = |word: &str| format!("{word}: {}", operation.message);
    match operation.phase.as_str() {
        "Running" if operation.finished.is_some() => {
            Some((said("sync is retried"), operation.started))
        }
        "Failed" | "Error" => {
            let tried = revisions(object, "/status/operationState/syncResult");
            let about_now = tried.is_some() && tried == app.wanted;
            (sync != "Synced" || about_now).then(|| {
                (
                    said("sync failed"),
                    operation.finished.or(operation.started),
                )
            })
        }
        _ => None,
    }
}

/// Tells "somebody merged" from "somebody edited" as far as the status can: another revision or another source than
/// the last synced one is ahead, the same one is drift.
fn out_of_sync(facts: &mut Facts, app: &App, object: &Value) {
    let names: Vec<String> = super::inventory::of(super::AppKind::Application, object)
        .into_iter()
        .filter(|m| m.status.as_deref() == Some("OutOfSync"))
        .map(|m| m.id.to_string())
        .collect();
    let what = match names.as_slice() {
        [] => "Argo CD reports OutOfSync".to_owned(),
        [one] => format!("Argo CD reports OutOfSync: {one}"),
        [one, rest @ ..] => format!("Argo CD reports OutOfSync: {one} and {} more", rest.len()),
    };
    let Some(last) = last_synced(object) else {
        facts.says_ahead = Some("never synced".to_owned());
        return;
    };
    let moved = app.applied.is_some() && app.wanted.is_some() && app.applied != app.wanted;
    let source_of =
        |at: &str| ["source", "sources"].map(|key| object.pointer(&format!("{at}/{key}")).cloned());
    let respecified = {
        let (then, now) = (source_of(&last), source_of("/status/sync/comparedTo"));
        now.iter().any(Option::is_some) && then != now
    };
    if moved || respecified {
        facts.says_ahead = Some(what);
    } else {
        facts.says_drifted = Some(what);
    }
}
