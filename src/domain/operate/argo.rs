//! Acts on Argo CD Applications through the Kubernetes API alone.
//!
//! The API accepts any `operation`, and the controller fills in nothing: what argocd-server would check and copy is
//! checked and copied here. Three rules make a write safe: it carries the resourceVersion that it was planned on (a
//! second operation would silently swallow the first), it clears `operationState` in the same write (else the
//! controller may resume the old one and report success without doing anything), and it names nothing that the CRD
//! would prune unseen.

use serde_json::{Map, Value, json};

use super::window::{self, Window};
use super::{
    Actor, Expect, HoldNote, Plan, Surroundings, SyncOptions, Verb, Write, empty, own_step,
    refused, version,
};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet::hold::{Before, HELD, Note};
use crate::domain::fleet::{App, HoldKind, SKIP_RECONCILE};

const REFRESH: &str = "argocd.argoproj.io/refresh";

pub(super) fn sync(
    app: &App,
    around: Surroundings<'_>,
    options: &SyncOptions,
    actor: &Actor,
) -> Result<Plan, Fault> {
    let object = app.object();
    may_operate(app, &object)?;
    if options.with_source || options.reset {
        return Err(refused(
            app,
            "an Application has no source of its own and nothing to reset",
        )
        .hint("leave these options out"));
    }
    let mut plan = empty(app, Verb::Sync);
    let mut sync = Map::new();
    revisions(app, options, &mut sync)?;
    if options.prune {
        sync.insert("prune".into(), true.into());
    }
    if options.dry_run {
        sync.insert("dryRun".into(), true.into());
    }
    let sync_options = sync_options(&object);
    if !sync_options.is_empty() {
        sync.insert("syncOptions".into(), json!(sync_options));
    }
    if let Some(strategy) = strategy(options) {
        sync.insert("syncStrategy".into(), strategy);
    }
    if !options.resources.is_empty() {
        sync.insert("resources".into(), selection(app, options)?);
        plan.warnings.push(
            "only the chosen objects are synced: no hook runs, nothing enters the history"
                .to_owned(),
        );
    }
    say_what_it_does(app, options, &sync_options, &mut plan);
    say_windows(app, &object, around.project, actor, &mut plan);
    let has = |word: &str| sync_options.iter().any(|o| o.eq_ignore_ascii_case(word));
    plan.destructive = !options.dry_run
        && (options.prune || options.force || has("Replace=true") || has("Force=true"));
    operate(app, &object, actor, &sync, &mut plan)?;
    Ok(plan)
}

/// Adds the one write that starts an operation.
fn operate(
    app: &App,
    object: &Value,
    actor: &Actor,
    sync: &Map<String, Value>,
    plan: &mut Plan,
) -> Result<(), Fault> {
    let mut operation = json!({"initiatedBy": {"username": actor.name}, "sync": sync});
    if let Some(retry) = object
        .pointer("/spec/syncPolicy/retry")
        .filter(|r| r.is_object())
    {
        operation["retry"] = retry.clone();
    }
    if phase(object) == Some("Running") {
        plan.warnings
            .push("the state of an older operation that was never finished is cleared".to_owned());
    }
    plan.steps.push(own_step(
        app,
        format!("set operation of {}", app.app.target),
        Write::Merge(json!({
            "metadata": {"resourceVersion": version(app)?},
            "operation": operation,
            "status": {"operationState": null},
        })),
    ));
    plan.expect = Expect::Operation;
    Ok(())
}

/// Refuses where the controller would lose, freeze or misread an operation.
fn may_operate(app: &App, object: &Value) -> Result<(), Fault> {
    if app.deleting {
        return Err(refused(app, "it is being deleted"));
    }
    if let Some(operation) = object.get("operation").filter(|o| !o.is_null()) {
        let by = operation
            .pointer("/initiatedBy/username")
            .and_then(Value::as_str)
            .map_or_else(|| "the controller".to_owned(), str::to_owned);
        return Err(Fault::new(
            FaultKind::Conflict,
            format!("another operation is already in progress, started by {by}"),
        )
        .about(app.app.to_string())
        .hint("wait until it ends, or terminate it"));
    }
    if app
        .hold
        .as_ref()
        .is_some_and(|h| h.kind == HoldKind::SkipReconcile)
    {
        return Err(refused(
            app,
            "skip-reconcile freezes it: the operation would wait until that is taken away",
        )
        .hint("resume it first"));
    }
    Ok(())
}

fn phase(object: &Value) -> Option<&str> {
    object.pointer("/status/operationState/phase")?.as_str()
}

fn revisions(app: &App, options: &SyncOptions, sync: &mut Map<String, Value>) -> Result<(), Fault> {
    let wanted = &options.revisions;
    if wanted.is_empty() {
        return Ok(());
    }
    if app.policy.automated {
        return Err(refused(
            app,
            "automated sync is on: it would return from another revision at once",
        )
        .hint("hold it first"));
    }
    let sources = app.sources.len();
    if wanted.len() != sources {
        return Err(refused(
            app,
            &format!(
                "it has {sources} sources, and {} revisions are named",
                wanted.len()
            ),
        )
        .hint("name one revision for each source"));
    }
    // with several sources the controller ignores the singular without a word
    if several(&app.object()) {
        sync.insert("revisions".into(), json!(wanted));
    } else {
        sync.insert("revision".into(), json!(wanted[0]));
    }
    Ok(())
}

fn several(object: &Value) -> bool {
    object
        .pointer("/spec/sources")
        .and_then(Value::as_array)
        .is_some_and(|s| !s.is_empty())
}

fn sync_options(object: &Value) -> Vec<String> {
    object
        .pointer("/spec/syncPolicy/syncOptions")
        .and_then(Value::as_array)
        .map(|options| {
            options
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        })
        .unwrap_or_default()
}

fn strategy(options: &SyncOptions) -> Option<Value> {
    let inner = if options.force {
        json!({"force": true})
    } else {
        json!({})
    };
    match (options.apply_only, options.force) {
        (true, _) => Some(json!({"apply": inner})),
        (false, true) => Some(json!({"hook": inner})),
        (false, false) => None,
    }
}

/// Writes the chosen objects; a choice that matches nothing would end as a success, so it is refused.
fn selection(app: &App, options: &SyncOptions) -> Result<Value, Fault> {
    let inventory = app.inventory();
    let mut chosen = vec![];
    for (group, kind, namespace, name) in &options.resources {
        let known = inventory.iter().any(|m| {
            m.id.group() == group
                && m.id.kind == *kind
                && m.id.name == *name
                && (namespace.is_empty() || m.id.namespace.as_ref() == Some(namespace))
        });
        if !known {
            return Err(refused(
                app,
                &format!("it has no {kind} {name}: Argo CD would do nothing and report success"),
            ));
        }
        let mut item = Map::new();
        for (key, value) in [
            ("group", group),
            ("kind", kind),
            ("namespace", namespace),
            ("name", name),
        ] {
            if !value.is_empty() {
                item.insert(key.into(), value.as_str().into());
            }
        }
        chosen.push(Value::Object(item));
    }
    Ok(Value::Array(chosen))
}

fn say_what_it_does(app: &App, options: &SyncOptions, sync_options: &[String], plan: &mut Plan) {
    let pruned: Vec<String> = app
        .inventory()
        .into_iter()
        .filter(|m| m.requires_pruning && !m.hook)
        .map(|m| m.id.to_string())
        .collect();
    match (options.prune, pruned.is_empty()) {
        (true, false) => plan.warnings.push(format!(
            "deletes what Git no longer has: {}",
            pruned.join(", ")
        )),
        (false, false) => plan.warnings.push(format!(
            "Git no longer has {}: without prune it stays, and the app stays OutOfSync",
            pruned.join(", ")
        )),
        _ => {}
    }
    if sync_options
        .iter()
        .any(|o| o.eq_ignore_ascii_case("Replace=true"))
    {
        plan.warnings.push(
            "Replace=true replaces whole objects: fields that only live has go, though no diff shows them".to_owned(),
        );
    }
    if app.sync.as_deref() == Some("Synced") && !options.dry_run {
        plan.warnings.push(
            "Argo CD says Synced: everything is applied again, and the history gets an entry"
                .to_owned(),
        );
    }
    plan.warnings.push(
        "whether Argo CD's own rules (argocd-rbac-cm) let you do this cannot be checked from here"
            .to_owned(),
    );
}

fn say_windows(app: &App, object: &Value, project: Option<&Value>, actor: &Actor, plan: &mut Plan) {
    let name = object
        .pointer("/spec/project")
        .and_then(Value::as_str)
        .unwrap_or("default");
    let Some(project) = project else {
        plan.warnings.push(format!(
            "project {name} could not be read: a sync window may block this"
        ));
        return;
    };
    match window::manual(project, object, &app.app.target.name, actor.now) {
        Window::Open => {}
        Window::Blocked(why) => plan.warnings.push(format!(
            "{why}: the operation will wait, and can then only be withdrawn (terminate)"
        )),
        Window::Unclear(why) => plan.warnings.push(why),
    }
}

pub(super) fn refresh(app: &App, hard: bool) -> Result<Plan, Fault> {
    if app
        .hold
        .as_ref()
        .is_some_and(|h| h.kind == HoldKind::SkipReconcile)
    {
        return Err(
            refused(app, "skip-reconcile freezes it: nothing would look").hint("resume it first"),
        );
    }
    let value = if hard { "hard" } else { "normal" };
    let mut plan = empty(app, Verb::Refresh);
    plan.steps.push(own_step(
        app,
        format!("annotate {} refresh={value}", app.app.target),
        Write::Merge(json!({"metadata": {"annotations": {REFRESH: value}}})),
    ));
    plan.expect = Expect::Refreshed;
    if app.policy.automated {
        plan.warnings.push(
            "automated sync is on: a new revision is applied as soon as it is seen".to_owned(),
        );
    }
    Ok(plan)
}

pub(super) fn hold(app: &App, note: &HoldNote, actor: &Actor) -> Result<Plan, Fault> {
    let object = app.object();
    let Some(automated) = object
        .pointer("/spec/syncPolicy/automated")
        .filter(|a| !a.is_null())
    else {
        return Err(refused(
            app,
            "automated sync is not on: nothing undoes a live change by itself",
        )
        .hint("no hold is needed; a manual sync would still undo it"));
    };
    let note = Note {
        by: Some(actor.name.clone()),
        at: Some(actor.now),
        reason: note.reason.clone(),
        until: note.until,
        before: Before::Value(automated.clone()),
    };
    let mut plan = empty(app, Verb::Hold);
    plan.steps.push(own_step(
        app,
        format!("take spec.syncPolicy.automated out of {}", app.app.target),
        Write::Merge(json!({
            "metadata": {"resourceVersion": version(app)?, "annotations": {HELD: note.write()}},
            "spec": {"syncPolicy": {"automated": null}},
        })),
    ));
    if object.get("operation").is_some_and(|o| !o.is_null()) {
        plan.warnings
            .push("the operation that runs now goes on to its end".to_owned());
    }
    plan.warnings
        .push("a manual sync is still possible, and undoes live changes".to_owned());
    Ok(plan)
}

pub(super) fn resume(app: &App, kind: HoldKind) -> Result<Plan, Fault> {
    let object = app.object();
    let target = &app.app.target;
    let test = json!({"op": "test", "path": "/metadata/resourceVersion", "value": version(app)?});
    let (words, operations) = match kind {
        HoldKind::AutomatedTaken => {
            let note = object
                .pointer("/metadata/annotations")
                .and_then(|a| a.get(HELD))
                .and_then(Value::as_str)
                .and_then(Note::read)
                .ok_or_else(|| refused(app, "the note of its hold cannot be read"))?;
            let held = format!("/metadata/annotations/{}", HELD.replace('/', "~1"));
            let mut operations = vec![test, json!({"op": "remove", "path": held})];
            if let Before::Value(automated) = note.before {
                if !object
                    .pointer("/spec/syncPolicy")
                    .is_some_and(Value::is_object)
                {
                    operations.push(json!({"op": "add", "path": "/spec/syncPolicy", "value": {}}));
                }
                operations.push(
                    json!({"op": "add", "path": "/spec/syncPolicy/automated", "value": automated}),
                );
            }
            (
                format!("put spec.syncPolicy.automated of {target} back"),
                operations,
            )
        }
        HoldKind::AutomatedDisabled => (
            format!("take spec.syncPolicy.automated.enabled=false out of {target}"),
            vec![
                test,
                json!({"op": "remove", "path": "/spec/syncPolicy/automated/enabled"}),
            ],
        ),
        HoldKind::SkipReconcile => {
            let path = format!(
                "/metadata/annotations/{}",
                SKIP_RECONCILE.replace('/', "~1")
            );
            (
                format!("take skip-reconcile off {target}"),
                vec![test, json!({"op": "remove", "path": path})],
            )
        }
        HoldKind::Suspended => return Err(refused(app, "an Application is not suspended")),
    };
    let mut plan = empty(app, Verb::Resume);
    plan.steps
        .push(own_step(app, words, Write::Json(Value::Array(operations))));
    if object.get("operation").is_some_and(|o| !o.is_null()) {
        plan.warnings
            .push("an operation waits in it and starts at once".to_owned());
    }
    Ok(plan)
}

pub(super) fn rollback(
    app: &App,
    history_id: i64,
    prune: bool,
    actor: &Actor,
) -> Result<Plan, Fault> {
    let object = app.object();
    may_operate(app, &object)?;
    if app.policy.automated {
        return Err(refused(
            app,
            "automated sync is on: Argo CD would roll back and return to the head at once, rolling the workloads twice",
        )
        .hint("hold it first"));
    }
    let entry = object
        .pointer("/status/history")
        .and_then(Value::as_array)
        .and_then(|history| {
            history
                .iter()
                .find(|e| e.get("id").and_then(Value::as_i64) == Some(history_id))
        })
        .ok_or_else(|| refused(app, &format!("its history has no entry {history_id}")))?;
    let mut sync = Map::new();
    for key in ["revision", "revisions", "source", "sources"] {
        let value = entry.get(key).filter(|v| match v {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        });
        if let Some(value) = value {
            sync.insert(key.into(), value.clone());
        }
    }
    if sync.contains_key("sources") {
        // with several sources the controller ignores the singular forms
        sync.remove("revision");
        sync.remove("source");
    }
    sync.insert("syncStrategy".into(), json!({"apply": {}}));
    if prune {
        sync.insert("prune".into(), true.into());
    }
    let sync_options = sync_options(&object);
    if !sync_options.is_empty() {
        sync.insert("syncOptions".into(), json!(sync_options));
    }
    let mut plan = empty(app, Verb::Rollback);
    plan.destructive = true;
    plan.warnings.push(
        "afterwards the app is OutOfSync with Git until somebody reverts the commit or syncs"
            .to_owned(),
    );
    operate(app, &object, actor, &sync, &mut plan)?;
    Ok(plan)
}

pub(super) fn terminate(app: &App) -> Result<Plan, Fault> {
    let object = app.object();
    let waiting = object.get("operation").is_some_and(|o| !o.is_null());
    let running = matches!(phase(&object), Some("Running" | "Terminating"));
    let blocked = app
        .operation
        .as_ref()
        .is_some_and(|o| o.message.contains("blocked by sync window"));
    let mut plan = empty(app, Verb::Terminate);
    plan.destructive = true;
    let (words, mut body) = match (waiting, running) {
        (true, true) if blocked => (
            "withdraw the operation that a sync window blocks",
            json!({"operation": null, "status": {"operationState": null}}),
        ),
        (true, true) => (
            "stop the running operation",
            json!({"status": {"operationState": {"phase": "Terminating"}}}),
        ),
        (true, false) => (
            "withdraw the operation that has not started",
            json!({"operation": null}),
        ),
        (false, true) => {
            plan.warnings.push(
                "its operation was taken out without being stopped: what it created may still run"
                    .to_owned(),
            );
            (
                "clear the state of an operation that nothing runs any more",
                json!({"status": {"operationState": null}}),
            )
        }
        (false, false) => return Err(refused(app, "no operation is running")),
    };
    body["metadata"] = json!({"resourceVersion": version(app)?});
    plan.steps.push(own_step(app, words, Write::Merge(body)));
    Ok(plan)
}
