//! Revert: chosen live fields or whole objects put back to Git, in the controller's name.
//!
//! A server-side apply takes away what its manager applied before and does not send now. So a revert of one field
//! sends the whole object: Git's values for what is chosen, live's for every other difference. Fields that only live
//! has cannot be applied away when others own them; they are taken out by a JSON patch that tests their value first.

use base64::Engine as _;
use serde_json::{Value, json};

use super::{Expect, MANAGER, Plan, Step, Verb, Write, empty, refused};
use crate::domain::drift::{FieldDrift, FieldStatus, ObjectDrift, ObjectState, Verdict};
use crate::domain::fault::Fault;
use crate::domain::fleet::{App, AppKind};
use crate::domain::object::{Desired, FieldPath, ObjectId};
use crate::domain::text::MASK;
use crate::domain::yaml::{Route, RouteStep};

/// What of an object is put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// Everything that drifted, is held or is residual.
    All,
    /// These fields.
    Fields(Vec<FieldPath>),
}

/// One object to put back.
#[derive(Debug, Clone)]
pub struct RevertObject<'a> {
    /// What Git says, unmasked.
    pub desired: Option<&'a Desired>,
    /// What live says, unmasked, as the server gave it.
    pub live: Option<&'a Value>,
    /// How they differ.
    pub drift: &'a ObjectDrift,
    /// What is put back.
    pub chosen: Chosen,
}

/// Plans a revert.
///
/// # Errors
/// `refused` where Git has no such object, where the two could not be compared, or where nothing is chosen.
pub fn revert(app: &App, objects: &[RevertObject<'_>]) -> Result<Plan, Fault> {
    let manager = match app.app.target.kind {
        AppKind::Kustomization => "kustomize-controller",
        AppKind::Application => "argocd-controller",
        AppKind::HelmRelease => {
            return Err(refused(
                app,
                "reverting objects of a HelmRelease comes later",
            ));
        }
    };
    let mut plan = empty(app, Verb::Revert);
    plan.destructive = true;
    plan.expect = Expect::Answer;
    for object in objects {
        one(app, manager, object, &mut plan)?;
    }
    if plan.steps.is_empty() {
        return Err(refused(app, "nothing is chosen that could be put back"));
    }
    if app.hold.is_none() && app.policy.self_heal {
        plan.warnings
            .push("its controller would undo drift by itself at its next pass".to_owned());
    }
    Ok(plan)
}

fn one(app: &App, manager: &str, object: &RevertObject<'_>, plan: &mut Plan) -> Result<(), Fault> {
    let id = &object.drift.id;
    let Some(desired) = object.desired else {
        return Err(refused(
            app,
            &format!("Git has no {id}: to delete it is the controller's to do"),
        )
        .hint("sync with prune"));
    };
    if object.drift.state == ObjectState::Unknown {
        let fault = refused(
            app,
            &format!("{id} could not be compared, so that a revert could overwrite anything"),
        );
        return Err(match &object.drift.cause {
            Some(cause) => fault.because(cause),
            None => fault,
        });
    }
    let body = applicable(&desired.value);
    let Some(live) = object.live else {
        let masked = masked(id, desired, &body, &[]);
        plan.steps.push(step(
            id,
            format!("create {id} as {manager}"),
            Write::Create {
                body,
                manager: manager.to_owned(),
            },
            masked,
        ));
        return Ok(());
    };
    let (chosen, kept): (Vec<&FieldDrift>, Vec<&FieldDrift>) = object
        .drift
        .fields
        .iter()
        .partition(|f| is_chosen(f, &object.chosen));
    if let Chosen::Fields(paths) = &object.chosen
        && let Some(unknown) = paths.iter().find(|p| !chosen.iter().any(|f| f.path == **p))
    {
        return Err(refused(
            app,
            &format!("{id} has no difference at {unknown}"),
        ));
    }
    let version = live.pointer("/metadata/resourceVersion").cloned();
    let (extra, set): (Vec<&FieldDrift>, Vec<&FieldDrift>) =
        chosen.into_iter().partition(|f| is_extra(f));
    if !extra.is_empty() {
        plan.steps
            .push(remove(app, id, live, &extra, version.as_ref())?);
    }
    if set.is_empty() {
        return Ok(());
    }
    let mut body = body;
    for field in kept.into_iter().filter(|f| !is_extra(f)) {
        keep(app, id, &mut body, live, field)?;
    }
    // after a removal the version is another one: then the values tested there are the guard
    if let (true, Some(version)) = (extra.is_empty(), version) {
        body["metadata"]["resourceVersion"] = version;
    }
    let names: Vec<String> = set.iter().map(|f| f.path.to_string()).collect();
    let masked = masked(id, desired, &body, &object.drift.fields);
    plan.steps.push(step(
        id,
        format!("apply {} of {id} as {manager}", names.join(", ")),
        Write::Apply {
            body,
            manager: manager.to_owned(),
            force: true,
        },
        masked,
    ));
    Ok(())
}

fn step(id: &ObjectId, words: String, write: Write, masked: Option<Value>) -> Step {
    Step {
        words,
        api_version: id.api_version.clone(),
        kind: id.kind.clone(),
        namespace: id.namespace.clone(),
        name: id.name.clone(),
        write,
        masked,
    }
}

fn is_extra(field: &FieldDrift) -> bool {
    matches!(field.status, FieldStatus::Extra | FieldStatus::ExtraForeign)
}

fn is_chosen(field: &FieldDrift, chosen: &Chosen) -> bool {
    match chosen {
        Chosen::All => {
            field.status != FieldStatus::ExtraForeign
                && matches!(
                    field.verdict,
                    Verdict::Drift | Verdict::Held | Verdict::Residual
                )
        }
        Chosen::Fields(paths) => paths.contains(&field.path),
    }
}

/// Returns an object as it may be applied: without what only servers write, a Secret's `stringData` as `data`.
fn applicable(desired: &Value) -> Value {
    let mut body = desired.clone();
    if let Some(object) = body.as_object_mut() {
        object.remove("status");
    }
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in [
            "managedFields",
            "resourceVersion",
            "uid",
            "generation",
            "creationTimestamp",
            "selfLink",
        ] {
            metadata.remove(key);
        }
    }
    if body.get("kind").and_then(Value::as_str) == Some("Secret")
        && let Some(Value::Object(plain)) =
            body.as_object_mut().and_then(|o| o.remove("stringData"))
    {
        for (key, value) in plain {
            if let Some(text) = value.as_str() {
                body["data"][&key] =
                    Value::from(base64::engine::general_purpose::STANDARD.encode(text));
            }
        }
    }
    body
}

/// Leaves a difference that is not chosen as it is live.
fn keep(
    app: &App,
    id: &ObjectId,
    body: &mut Value,
    live: &Value,
    field: &FieldDrift,
) -> Result<(), Fault> {
    let Some(route) = field.path.route_in(body) else {
        // the server's own spelling of something that the body does not hold: nothing is sent for it
        return Ok(());
    };
    let done = match field.path.get(live) {
        Some(value) => route_mut(body, &route.0).map(|slot| *slot = value.clone()),
        None => take(body, &route.0),
    };
    done.ok_or_else(|| {
        refused(
            app,
            &format!("{} of {id} cannot be left as it is", field.path),
        )
    })
}

fn route_mut<'v>(value: &'v mut Value, steps: &[RouteStep]) -> Option<&'v mut Value> {
    steps.iter().try_fold(value, |node, step| match step {
        RouteStep::Key(key) => node.get_mut(key.as_str()),
        RouteStep::Index(index) => node.get_mut(*index),
    })
}

fn take(value: &mut Value, steps: &[RouteStep]) -> Option<()> {
    let (last, parents) = steps.split_last()?;
    match (route_mut(value, parents)?, last) {
        (Value::Object(map), RouteStep::Key(key)) => map.remove(key.as_str()).map(drop),
        (Value::Array(items), RouteStep::Index(index)) if *index < items.len() => {
            items.remove(*index);
            Some(())
        }
        _ => None,
    }
}

/// Plans the removal of fields that only live has; the last ones of a list first, so that no index moves.
fn remove(
    app: &App,
    id: &ObjectId,
    live: &Value,
    extra: &[&FieldDrift],
    version: Option<&Value>,
) -> Result<Step, Fault> {
    let mut routes = vec![];
    for field in extra {
        let route = field
            .path
            .route_in(live)
            .ok_or_else(|| refused(app, &format!("{} of {id} is not live any more", field.path)))?;
        routes.push((route, field));
    }
    routes.sort_by(|(a, _), (b, _)| b.cmp(a));
    let mut operations = vec![];
    let mut shown = vec![];
    let secret = id.kind == "Secret";
    if let Some(version) = version {
        let test = json!({"op": "test", "path": "/metadata/resourceVersion", "value": version});
        operations.push(test.clone());
        shown.push(test);
    }
    for (route, field) in &routes {
        let path = pointer(route);
        let value = route.get(live).cloned().unwrap_or(Value::Null);
        let seen = if secret || field.masked {
            Value::from(MASK)
        } else {
            value.clone()
        };
        let remove = json!({"op": "remove", "path": path});
        operations.extend([
            json!({"op": "test", "path": path, "value": value}),
            remove.clone(),
        ]);
        shown.extend([json!({"op": "test", "path": path, "value": seen}), remove]);
    }
    let names: Vec<String> = extra.iter().map(|f| f.path.to_string()).collect();
    Ok(step(
        id,
        format!("remove {} from {id} as {MANAGER}", names.join(", ")),
        Write::Json(Value::Array(operations)),
        Some(Value::Array(shown)),
    ))
}

fn pointer(route: &Route) -> String {
    route.0.iter().fold(String::new(), |mut text, step| {
        text.push('/');
        match step {
            RouteStep::Key(key) => text.push_str(&key.replace('~', "~0").replace('/', "~1")),
            RouteStep::Index(index) => text.push_str(&index.to_string()),
        }
        text
    })
}

/// Returns a body as it may be shown, where it holds secret values.
fn masked(id: &ObjectId, desired: &Desired, body: &Value, fields: &[FieldDrift]) -> Option<Value> {
    let secret = id.kind == "Secret";
    let hidden: Vec<&FieldDrift> = fields.iter().filter(|f| f.masked).collect();
    if !secret && hidden.is_empty() && desired.secret_routes.is_empty() {
        return None;
    }
    let mut shown = body.clone();
    if secret {
        for key in ["data", "stringData"] {
            if let Some(values) = shown.get_mut(key).and_then(Value::as_object_mut) {
                for value in values.values_mut() {
                    *value = Value::from(MASK);
                }
            }
        }
        if let Some(annotations) = shown
            .pointer_mut("/metadata/annotations")
            .and_then(Value::as_object_mut)
            && let Some(applied) =
                annotations.get_mut("kubectl.kubernetes.io/last-applied-configuration")
        {
            *applied = Value::from(MASK);
        }
    }
    for route in hidden.iter().filter_map(|f| f.path.route_in(body)) {
        if let Some(slot) = route_mut(&mut shown, &route.0) {
            *slot = Value::from(MASK);
        }
    }
    // by value, not by route: list items may have moved
    let texts: Vec<&Value> = desired
        .secret_routes
        .iter()
        .filter_map(|route| route.get(&desired.value))
        .collect();
    mask_texts(&mut shown, &texts);
    Some(shown)
}

fn mask_texts(value: &mut Value, texts: &[&Value]) {
    if texts.contains(&&*value) {
        *value = Value::from(MASK);
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| mask_texts(item, texts)),
        Value::Object(map) => map.values_mut().for_each(|item| mask_texts(item, texts)),
        _ => {}
    }
}
