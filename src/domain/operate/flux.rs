//! Acts on Flux apps: annotations that ask, and `spec.suspend`.
//!
//! A suspended object takes a request as handled without doing anything, so that a sync of one would look done: it is
//! refused instead.

use serde_json::{Map, Value, json};

use super::{
    Actor, Expect, HoldNote, Plan, Step, Surroundings, SyncOptions, Verb, Write, empty, own_step,
    refused, version,
};
use crate::domain::fault::Fault;
use crate::domain::fleet::hold::{Before, HELD, Note};
use crate::domain::fleet::{App, AppKind, SourceObject};

const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";
const FORCE_AT: &str = "reconcile.fluxcd.io/forceAt";
const RESET_AT: &str = "reconcile.fluxcd.io/resetAt";

pub(super) fn sync(
    app: &App,
    around: Surroundings<'_>,
    options: &SyncOptions,
    actor: &Actor,
) -> Result<Plan, Fault> {
    let argo_only = options.prune
        || options.dry_run
        || options.apply_only
        || !options.revisions.is_empty()
        || !options.resources.is_empty();
    if argo_only {
        return Err(refused(
            app,
            "Flux cannot sync a part, another revision or as a dry run",
        )
        .hint("leave these options out; prune follows spec.prune"));
    }
    if app.hold.is_some() {
        return Err(
            refused(app, "it is suspended: Flux would say done and do nothing")
                .hint("resume it: that applies Git at once"),
        );
    }
    let mut plan = empty(app, Verb::Sync);
    let at = actor.now.to_string();
    if options.with_source {
        ask_sources(&mut plan, around.sources, &at);
    }
    plan.steps.push(ask_app(app, options, &at));
    plan.expect = expect(around.sources, options.with_source, true, &at);
    plan.destructive = options.force;
    if app.policy.prune && app.app.target.kind == AppKind::Kustomization {
        plan.warnings
            .push("spec.prune is on: what Git no longer has is deleted".to_owned());
    }
    if options.force && app.app.target.kind == AppKind::HelmRelease {
        plan.warnings
            .push("force runs an upgrade even though nothing changed".to_owned());
    }
    for target in &app.depends_on {
        plan.warnings
            .push(format!("it waits until {target} is ready"));
    }
    for source in &app.sources {
        if let (Some(id), Some(fault)) = (&source.object, &source.fault) {
            plan.warnings.push(format!(
                "{id} cannot be fetched now, so that an older revision is applied: {fault}"
            ));
        }
    }
    Ok(plan)
}

pub(super) fn refresh(
    app: &App,
    around: Surroundings<'_>,
    hard: bool,
    actor: &Actor,
) -> Result<Plan, Fault> {
    if hard {
        let options = SyncOptions {
            with_source: true,
            ..SyncOptions::default()
        };
        let mut plan = sync(app, around, &options, actor)?;
        plan.verb = Verb::Refresh;
        return Ok(plan);
    }
    let mut plan = empty(app, Verb::Refresh);
    let at = actor.now.to_string();
    ask_sources(&mut plan, around.sources, &at);
    if plan.steps.is_empty() {
        return Err(refused(
            app,
            "its source is not known or is suspended, so that nothing can be asked to fetch",
        ));
    }
    plan.expect = expect(around.sources, true, false, &at);
    plan.warnings
        .push("a new revision is applied by itself as soon as the source has it".to_owned());
    Ok(plan)
}

fn expect(sources: &[&SourceObject], asked: bool, app: bool, at: &str) -> Expect {
    let sources = sources
        .iter()
        .filter(|s| asked && !s.suspended)
        .map(|s| {
            (
                s.api_version.clone(),
                s.id.kind.kind().to_owned(),
                s.id.namespace.clone(),
                s.id.name.clone(),
            )
        })
        .collect();
    Expect::Handled {
        requested_at: at.to_owned(),
        sources,
        app,
    }
}

/// Asks the farthest source first: a HelmChart is made from what its repository holds.
fn ask_sources(plan: &mut Plan, sources: &[&SourceObject], at: &str) {
    for source in sources.iter().rev() {
        if source.suspended {
            plan.warnings.push(format!(
                "{} is suspended: it fetches nothing new",
                source.id
            ));
            continue;
        }
        plan.steps.push(Step {
            words: format!("annotate {} requestedAt", source.id),
            api_version: source.api_version.clone(),
            kind: source.id.kind.kind().to_owned(),
            namespace: Some(source.id.namespace.clone()),
            name: source.id.name.clone(),
            write: annotate(&[(REQUESTED_AT, at)]),
            masked: None,
        });
    }
}

fn ask_app(app: &App, options: &SyncOptions, at: &str) -> Step {
    let mut keys = vec![(REQUESTED_AT, at)];
    let helm = app.app.target.kind == AppKind::HelmRelease;
    // Flux takes these two only where they equal the request
    if helm && options.force {
        keys.push((FORCE_AT, at));
    }
    if helm && options.reset {
        keys.push((RESET_AT, at));
    }
    let names: Vec<&str> = keys
        .iter()
        .filter_map(|(key, _)| key.rsplit('/').next())
        .collect();
    own_step(
        app,
        format!("annotate {} {}", app.app.target, names.join(", ")),
        annotate(&keys),
    )
}

fn annotate(keys: &[(&str, &str)]) -> Write {
    let annotations: Map<String, Value> = keys
        .iter()
        .map(|(key, value)| ((*key).to_owned(), Value::from(*value)))
        .collect();
    Write::Merge(json!({"metadata": {"annotations": annotations}}))
}

pub(super) fn hold(app: &App, note: &HoldNote, actor: &Actor) -> Result<Plan, Fault> {
    let before = match app.object().pointer("/spec/suspend") {
        Some(value) => Before::Value(value.clone()),
        None => Before::Absent,
    };
    let note = Note {
        by: Some(actor.name.clone()),
        at: Some(actor.now),
        reason: note.reason.clone(),
        until: note.until,
        before,
    };
    let mut plan = empty(app, Verb::Hold);
    plan.steps.push(own_step(
        app,
        format!("set spec.suspend of {}", app.app.target),
        Write::Merge(json!({
            "metadata": {"resourceVersion": version(app)?, "annotations": {HELD: note.write()}},
            "spec": {"suspend": true},
        })),
    ));
    plan.warnings
        .push("nothing of Git is applied to it until it is resumed".to_owned());
    Ok(plan)
}

pub(super) fn resume(app: &App) -> Result<Plan, Fault> {
    let object = app.object();
    let note = object
        .pointer("/metadata/annotations")
        .and_then(|a| a.get(HELD))
        .and_then(Value::as_str)
        .and_then(Note::read);
    let restored = match note.as_ref().map(|n| &n.before) {
        Some(Before::Absent) => Value::Null,
        _ => Value::Bool(false),
    };
    let mut metadata = json!({"resourceVersion": version(app)?});
    if object
        .pointer("/metadata/annotations")
        .is_some_and(|a| a.get(HELD).is_some())
    {
        metadata["annotations"] = json!({HELD: null});
    }
    let words = if restored.is_null() {
        format!("take spec.suspend out of {}", app.app.target)
    } else {
        format!("set spec.suspend of {} to false", app.app.target)
    };
    let mut plan = empty(app, Verb::Resume);
    plan.steps.push(own_step(
        app,
        words,
        Write::Merge(json!({"metadata": metadata, "spec": {"suspend": restored}})),
    ));
    Ok(plan)
}
