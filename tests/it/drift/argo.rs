//! Argo CD 3.2's verdict per object: OutOfSync exactly where a field is drift or held, the object is missing, or it is
//! to be pruned. The desired side is what Argo CD itself rendered.

use std::path::Path;

use gitops_tui::domain::drift::{Comparison, Engine, ObjectState, Verdict, compare};
use gitops_tui::domain::object::Desired;

use super::{desired, dump, finish, folders, name, objects};

/// The object's verdict in Argo CD's word.
fn word(state: ObjectState, fields: &[gitops_tui::domain::drift::FieldDrift]) -> &'static str {
    match state {
        ObjectState::Missing | ObjectState::Extra => "OutOfSync",
        ObjectState::Unknown => "Unknown",
        ObjectState::Ignored => "",
        _ if fields
            .iter()
            .any(|f| matches!(f.verdict, Verdict::Drift | Verdict::Held)) =>
        {
            "OutOfSync"
        }
        _ => "Synced",
    }
}

fn check(folder: &Path) -> Vec<String> {
    let app = objects(&folder.join("app.yaml")).remove(0);
    let settings = objects(&folder.join("argocd-cm.yaml")).into_iter().next();
    let desired: Vec<Desired> = desired(objects(&folder.join("desired.yaml")));
    let live = objects(&folder.join("live.yaml"));
    let drift = compare(&Comparison {
        app_object: Some(&app),
        settings: settings.as_ref(),
        desired: &desired,
        live: &live,
        ..Comparison::of(Engine::Argo)
    });
    let table = std::fs::read_to_string(folder.join("resources.tsv")).unwrap();
    let mut wrong = vec![];
    for row in table.lines().skip(1) {
        let cells: Vec<&str> = row.split('\t').collect();
        let [_, kind, namespace, object, status] = cells[..5] else {
            panic!("{row}")
        };
        let found = drift.objects.iter().find(|o| {
            o.id.kind == kind
                && o.id.group() == cells[0]
                && o.id.name == object
                && (namespace.is_empty()
                    || o.id.namespace.is_none()
                    || o.id.namespace.as_deref() == Some(namespace))
        });
        let word = found.map_or("", |object| word(object.state, &object.fields));
        if word != status {
            wrong.push(format!(
                "   {kind}/{namespace}/{object}: expected `{status}`, found `{word}`"
            ));
        }
    }
    if !wrong.is_empty() {
        wrong.push(dump(&drift));
    }
    wrong
}

#[test]
fn an_object_is_out_of_sync_exactly_where_argo_says_so() {
    let mut failures = vec![];
    let mut walked = 0;
    for folder in folders("argo/diff") {
        walked += 1;
        let wrong = check(&folder);
        if !wrong.is_empty() {
            let why = std::fs::read_to_string(folder.join("why.txt")).unwrap_or_default();
            failures.push(format!(
                "{}: {}\n{}",
                name(&folder),
                why.trim(),
                wrong.join("\n")
            ));
        }
    }
    finish("argo/diff", walked, 114, &failures);
}
