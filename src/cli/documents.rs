//! The documents that scripts build on: `gitops-tui/<name>/v1`, the same for every command that prints them.
//!
//! Absent values are `null`, times RFC 3339, paths as people read them, secret values `"***"`. All text that came from
//! a cluster or from Git is cleaned here, since JSON that is printed reaches a terminal too.

use serde_json::{Value, json};

use crate::domain::drift::{AppDrift, FieldDrift, ObjectDrift, Owner};
use crate::domain::fault::Fault;
use crate::domain::fleet::AppRef;
use crate::domain::object::Origin;
use crate::domain::{text, yaml};

/// Returns `value` with every string cleaned of what a terminal would obey.
pub(super) fn cleaned(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text::clean(&text).into_owned()),
        Value::Array(items) => items.into_iter().map(cleaned).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| (text::clean(&key).into_owned(), cleaned(value)))
            .collect(),
        other => other,
    }
}

/// Returns a document as YAML.
pub(super) fn emit(value: &Value) -> String {
    yaml::emit(value)
}

/// Returns the identity block of an app, as every document holds it.
pub(super) fn app(app: Option<&AppRef>, revision: Option<&str>) -> Value {
    match app {
        None => Value::Null,
        Some(app) => json!({
            "context": &*app.context,
            "kind": app.target.kind.short(),
            "namespace": app.target.namespace,
            "name": app.target.name,
            "revision": revision,
        }),
    }
}

/// Returns the `diff/v1` document.
pub(super) fn diff(drift: &AppDrift, revision: Option<&str>) -> Value {
    cleaned(json!({
        "schema": "gitops-tui/diff/v1",
        "app": app(drift.app.as_ref(), revision),
        "state": drift.state.word(),
        "cause": drift.cause,
        "objects": drift.objects.iter().map(object).collect::<Vec<_>>(),
        "hidden": {"ignored": drift.hidden.ignored, "noise": drift.hidden.noise, "foreign": drift.hidden.foreign},
        "problems": drift.problems.iter().map(problem).collect::<Vec<_>>(),
    }))
}

/// Returns one object of `diff/v1` and `check/v1`.
pub(super) fn object(object: &ObjectDrift) -> Value {
    json!({
        "apiVersion": object.id.api_version,
        "kind": object.id.kind,
        "namespace": object.id.namespace,
        "name": object.id.name,
        "state": object.state.word(),
        "cause": object.cause,
        "fields": object.fields.iter().map(field).collect::<Vec<_>>(),
    })
}

fn field(field: &FieldDrift) -> Value {
    json!({
        "path": field.path.to_string(),
        "status": field.status.word(),
        "verdict": field.verdict.word(),
        "git": field.git,
        "live": field.live,
        "masked": field.masked,
        "owners": field.owners.iter().map(owner).collect::<Vec<_>>(),
        "origin": field.origin.as_deref().map(origin),
        "rule": field.rule,
        "note": field.note,
    })
}

fn owner(owner: &Owner) -> Value {
    json!({
        "manager": owner.manager,
        "operation": owner.operation,
        "subresource": owner.subresource,
        "time": owner.time,
        "class": owner.class.word(),
    })
}

/// Returns an origin as documents hold it; the document number counts from 0.
pub(super) fn origin(origin: &Origin) -> Value {
    json!({
        "file": &*origin.file,
        "document": origin.document,
        "line": origin.line,
        "step": origin.step.word(),
    })
}

/// Returns a problem as documents hold it.
pub(super) fn problem(fault: &Fault) -> Value {
    json!({
        "kind": fault.kind.word(),
        "subject": fault.subject,
        "sentence": fault.sentence,
        "file": fault.place.as_ref().map(|place| place.file.as_str()),
        "line": fault.place.as_ref().and_then(|place| place.line),
        "cause": fault.causes.first(),
        "hint": fault.hint,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fault::FaultKind;

    #[test]
    fn no_escape_reaches_a_document() {
        assert_eq!(
            cleaned(json!({"a": ["\u{1b}[2J"]})),
            json!({"a": ["\u{FFFD}[2J"]})
        );
    }

    #[test]
    fn a_problem_keeps_file_and_line() {
        let fault = Fault::new(FaultKind::Unsupported, "not supported yet: helmCharts")
            .at("a/kustomization.yaml", 3);
        assert_eq!(problem(&fault)["line"], json!(3));
        assert_eq!(problem(&fault)["kind"], json!("unsupported"));
    }
}
