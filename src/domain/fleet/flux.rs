//! Flux Kustomizations and HelmReleases, read.
//!
//! Two traps shape this file. Ready turns to `Unknown` during each pass, so its transition time says how long the
//! *last attempt* has failed, not the app: the beginning of a failure is taken from the history, too. And one status
//! update is several writes: Ready is believed only together with `observedGeneration`.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::app::{App, Condition, Facts, Hold, HoldKind};
use super::hold::{self, HELD};
use super::source::{FluxSource, Source, SourceId, SourceKind, from_root, same_revision};
use super::{AppKind, Target, json};

/// Reads what only a Kustomization has.
pub(super) fn kustomization(app: &mut App, object: &Value) {
    common(app, object);
    app.applied = json::owned(object, "/status/lastAppliedRevision");
    app.wanted = json::owned(object, "/status/lastAttemptedRevision");
    app.policy.prune = json::flag(object, "/spec/prune");
    app.policy.self_heal = app.policy.automated;
    app.objects = json::items(object, "/status/inventory/entries").len();
    app.reconciled = json::time(object, "/status/history/0/lastReconciled");
    let mut source = Source::new(SourceKind::Unknown, "");
    source.path = from_root(json::text(object, "/spec/path").unwrap_or_default());
    source.applied.clone_from(&app.applied);
    if let Some(id) = source_ref(object, "/spec/sourceRef", &app.app.target.namespace) {
        source.object = Some(id.clone());
        app.source_ref = Some(id);
    }
    app.sources = vec![source];
    if object
        .pointer("/spec/kubeConfig")
        .is_some_and(|v| !v.is_null())
    {
        app.remote = Some("spec.kubeConfig puts its objects into another cluster".to_owned());
    }
    app.facts = facts(app, object, began(app, object));
    let attempted = app.wanted.clone().zip(app.applied.clone());
    if let Some((attempted, applied)) = attempted
        && !same_revision(&attempted, &applied)
    {
        app.facts.says_ahead = Some(format!("{} is not applied yet", short(&attempted)));
    }
    next(app, object);
}

/// Reads what only a HelmRelease has.
pub(super) fn helm_release(app: &mut App, object: &Value) {
    common(app, object);
    app.applied = json::owned(object, "/status/history/0/chartVersion")
        .or_else(|| json::owned(object, "/status/lastAppliedRevision"));
    app.wanted = json::owned(object, "/status/lastAttemptedRevision");
    app.policy.prune = true;
    app.policy.self_heal =
        json::text(object, "/spec/driftDetection/mode") == Some("enabled") && app.policy.automated;
    app.objects = json::items(object, "/status/inventory/entries").len();
    app.later = Some("comparing HelmReleases comes later".to_owned());
    let namespace = app.app.target.namespace.clone();
    let mut source = Source::new(SourceKind::Helm, "");
    source.chart = json::owned(object, "/spec/chart/spec/chart");
    source.reference.any = json::owned(object, "/spec/chart/spec/version");
    source.applied.clone_from(&app.applied);
    let id = source_ref(object, "/spec/chartRef", &namespace).or_else(|| {
        let repository = source_ref(object, "/spec/chart/spec/sourceRef", &namespace)?;
        Some(SourceId {
            kind: FluxSource::HelmChart,
            name: format!("{namespace}-{}", app.app.target.name),
            namespace: repository.namespace,
        })
    });
    source.object.clone_from(&id);
    app.source_ref = id;
    app.sources = vec![source];
    if object
        .pointer("/spec/kubeConfig")
        .is_some_and(|v| !v.is_null())
    {
        app.remote = Some("spec.kubeConfig puts its objects into another cluster".to_owned());
    }
    let began = app
        .conditions
        .iter()
        .filter(|c| c.kind == "Released" && c.status == "False")
        .find_map(|c| c.since);
    app.facts = facts(app, object, began);
    if let Some(drifted) = condition(&app.conditions, "Drifted").filter(|c| c.status == "True") {
        app.facts.says_drifted = Some(format!("helm-controller reports: {}", drifted.message));
    }
    next(app, object);
}

fn common(app: &mut App, object: &Value) {
    app.interval = json::text(object, "/spec/interval").and_then(json::go_duration);
    app.message = condition(&app.conditions, "Ready").map(|ready| plain(&ready.message));
    app.depends_on = json::items(object, "/spec/dependsOn")
        .iter()
        .filter_map(|item| {
            Some(Target {
                kind: app.app.target.kind,
                namespace: json::owned(item, "/namespace")
                    .unwrap_or_else(|| app.app.target.namespace.clone()),
                name: json::owned(item, "/name")?,
            })
        })
        .collect();
    let suspended = json::flag(object, "/spec/suspend");
    app.policy.automated = !suspended;
    app.hold = suspended.then(|| {
        let taken = json::annotation(object, HELD).and_then(hold::Note::read);
        let hand = hold::hand(object, "f:suspend");
        Hold {
            kind: HoldKind::Suspended,
            by: taken
                .as_ref()
                .and_then(|t| t.by.clone())
                .or_else(|| hand.as_ref().map(|(manager, _)| manager.clone())),
            since: taken
                .as_ref()
                .and_then(|t| t.at)
                .or_else(|| hand.and_then(|(_, time)| time)),
            reason: taken.as_ref().and_then(|t| t.reason.clone()),
            until: taken.and_then(|t| t.until),
        }
    });
}

fn source_ref(object: &Value, pointer: &str, namespace: &str) -> Option<SourceId> {
    let reference = object.pointer(pointer)?;
    Some(SourceId {
        kind: FluxSource::of(json::text(reference, "/kind")?)?,
        namespace: json::text(reference, "/namespace")
            .unwrap_or(namespace)
            .to_owned(),
        name: json::owned(reference, "/name")?,
    })
}

fn condition<'c>(conditions: &'c [Condition], kind: &str) -> Option<&'c Condition> {
    conditions.iter().find(|c| c.kind == kind)
}

/// Turns conditions into facts; `began` is when a failure that is seen now began as far as other fields tell.
fn facts(app: &App, object: &Value, began: Option<Timestamp>) -> Facts {
    let mut facts = Facts::default();
    let observed = object
        .pointer("/status/observedGeneration")
        .and_then(Value::as_i64)
        .unwrap_or(-1);
    let ready = condition(&app.conditions, "Ready");
    let stalled = condition(&app.conditions, "Stalled").filter(|c| c.status == "True");
    let reconciling = condition(&app.conditions, "Reconciling").filter(|c| c.status == "True");
    let failed = ready.filter(|c| c.status == "False").or(stalled);
    if let Some(failed) = failed {
        let since = [failed.since, stalled.and_then(|c| c.since), began]
            .into_iter()
            .flatten()
            .min();
        facts.failing = Some((worded(failed), since));
        return facts;
    }
    let Some(ready) = ready else {
        facts.silent = Some(if reconciling.is_some() || observed >= 0 {
            "no Ready condition".to_owned()
        } else {
            "the controller has not reported yet".to_owned()
        });
        return facts;
    };
    if ready.status != "True" {
        let what = reconciling.map_or(&ready.message, |c| &c.message);
        facts.progressing = Some((plain(what), ready.since));
        facts.routine = observed == app.generation
            && json::text(object, "/status/history/0/lastReconciledStatus")
                == Some("ReconciliationSucceeded");
        return facts;
    }
    facts.good = ready.since;
    // served objects have a generation; one without (from a file) cannot be asked
    if app.generation != 0 && observed != app.generation {
        facts.progressing = Some((
            "a change of its own object waits for the controller".to_owned(),
            reconciling.and_then(|c| c.since),
        ));
    } else if let Some(reconciling) = reconciling {
        facts.progressing = Some((plain(&reconciling.message), reconciling.since));
        facts.routine = true;
    }
    facts
}

/// Returns since when, at the latest, a Kustomization that fails now has failed: the first failed pass of the history
/// after the last good one, else the pass that was due after the last good one (or after the creation).
fn began(app: &App, object: &Value) -> Option<Timestamp> {
    let history = json::items(object, "/status/history");
    let good = history
        .iter()
        .find(|h| json::text(h, "/lastReconciledStatus") == Some("ReconciliationSucceeded"))
        .and_then(|h| json::time(h, "/lastReconciled"));
    let first_failed = history
        .first()
        .filter(|h| json::text(h, "/lastReconciledStatus") != Some("ReconciliationSucceeded"))
        .and_then(|h| json::time(h, "/firstReconciled"))
        .filter(|first| good.is_none_or(|good| *first > good));
    let base = good.or_else(|| app.created.filter(|_| app.applied.is_none()));
    let interval = app.interval.unwrap_or(600);
    let timeout = json::text(object, "/spec/timeout")
        .and_then(json::go_duration)
        .unwrap_or(interval)
        .max(30);
    let due = base.and_then(|base| {
        base.checked_add(SignedDuration::from_secs(interval + timeout))
            .ok()
    });
    first_failed.into_iter().chain(due).min()
}

fn next(app: &mut App, object: &Value) {
    if app.hold.is_some() {
        return;
    }
    let pause = if app.facts.failing.is_some() {
        json::text(object, "/spec/retryInterval")
            .and_then(json::go_duration)
            .or(app.interval)
    } else {
        app.interval
    };
    if let (Some(last), Some(pause)) = (app.reconciled, pause) {
        app.next = last.checked_add(SignedDuration::from_secs(pause)).ok();
    }
}

fn worded(condition: &Condition) -> String {
    let message = plain(&condition.message);
    match (condition.reason.as_str(), message.is_empty()) {
        (reason, true) => reason.to_owned(),
        ("" | "ReconciliationFailed", false) => message,
        (reason, false) => format!("{reason}: {message}"),
    }
}

/// Takes the controller's temporary folder out of its messages: it differs in each pass and means nothing.
fn plain(message: &str) -> String {
    const FOLDER: &str = "/tmp/kustomization-";
    let mut text = String::with_capacity(message.len());
    let mut rest = message.trim();
    while let Some(at) = rest.find(FOLDER) {
        text.push_str(&rest[..at]);
        let tail = &rest[at + FOLDER.len()..];
        rest = tail.find(|c: char| !c.is_ascii_digit()).map_or("", |end| {
            tail[end..].strip_prefix('/').unwrap_or(&tail[end..])
        });
    }
    text.push_str(rest);
    text
}

/// Returns a revision as a person reads it: `main@45691eb`.
pub(super) fn short(revision: &str) -> String {
    let Some(commit) = super::source::commit_of(revision) else {
        return revision.to_owned();
    };
    let name = revision
        .rsplit_once('@')
        .map(|(name, _)| name)
        .or_else(|| revision.rsplit_once('/').map(|(name, _)| name));
    match name {
        Some(name) => format!("{name}@{}", &commit[..7]),
        None => commit[..7].to_owned(),
    }
}

/// Tells whether a kind of app is Flux's.
pub(super) fn is_flux(kind: AppKind) -> bool {
    kind != AppKind::Application
}
