//! What the next pass would run into: changes that the server refuses, and changed list keys that are one change.

use serde_json::Value;

use super::compare::Engine;
use super::judge::Judge;
use super::{FieldDrift, FieldStatus, Verdict};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::object::types::{Holds, KindSchema, ListType, Node};
use crate::domain::object::{FieldPath, ObjectId, PathStep};

/// Fields that the server lets nobody change, by kind; a path stands for all below it.
const IMMUTABLE: &[(&str, &[&str])] = &[
    ("Deployment", &["spec.selector"]),
    ("DaemonSet", &["spec.selector"]),
    ("ReplicaSet", &["spec.selector"]),
    (
        "StatefulSet",
        &[
            "spec.selector",
            "spec.serviceName",
            "spec.podManagementPolicy",
            "spec.volumeClaimTemplates",
        ],
    ),
    (
        "Job",
        &["spec.selector", "spec.template", "spec.completionMode"],
    ),
    ("RoleBinding", &["roleRef"]),
    ("ClusterRoleBinding", &["roleRef"]),
    ("Secret", &["type"]),
    (
        "StorageClass",
        &[
            "provisioner",
            "parameters",
            "reclaimPolicy",
            "volumeBindingMode",
        ],
    ),
    ("PriorityClass", &["value"]),
    ("IngressClass", &["spec.controller"]),
    (
        "PersistentVolumeClaim",
        &[
            "spec.accessModes",
            "spec.storageClassName",
            "spec.selector",
            "spec.volumeMode",
        ],
    ),
];

/// Adds to the fields what a person should know before the engine acts; returns why the next pass fails, where it does.
pub(super) fn outcome(
    judge: &Judge<'_>,
    fields: &mut [FieldDrift],
    git: &Value,
    live: &Value,
    forces: bool,
) -> Option<String> {
    let keys = changed_keys(judge, fields, git, live, forces);
    keys.or_else(|| immutable(judge.id, fields, live, forces))
}

/// Returns what a refused change leads to.
fn consequence(forces: bool) -> &'static str {
    if forces {
        "the pass fails at first, then deletes and creates it anew (force): it is gone in between"
    } else {
        "the next pass fails"
    }
}

fn immutable(
    id: &ObjectId,
    fields: &mut [FieldDrift],
    live: &Value,
    forces: bool,
) -> Option<String> {
    let listed = IMMUTABLE.iter().find(|(kind, _)| *kind == id.kind);
    let mut paths: Vec<FieldPath> = listed
        .into_iter()
        .flat_map(|(_, paths)| *paths)
        .filter_map(|path| path.parse().ok())
        .collect();
    if live.get("immutable") == Some(&Value::Bool(true)) {
        paths.extend(
            ["data", "binaryData"]
                .iter()
                .filter_map(|path| path.parse::<FieldPath>().ok()),
        );
    }
    let mut cause = None;
    for field in fields
        .iter_mut()
        .filter(|field| field.verdict == Verdict::Drift)
    {
        if paths.iter().any(|path| path.contains(&field.path)) {
            let text = format!(
                "the server refuses to change {}: {}",
                field.path,
                consequence(forces)
            );
            field.note = Some(text.clone());
            cause.get_or_insert(text);
        }
    }
    cause
}

/// An item of a keyed list whose key was edited is missing under one key and extra under the other: one change. The
/// server-side apply puts Git's item beside the live one, which validation may refuse.
fn changed_keys(
    judge: &Judge<'_>,
    fields: &mut [FieldDrift],
    git: &Value,
    live: &Value,
    forces: bool,
) -> Option<String> {
    let mut cause = None;
    for lost in 0..fields.len() {
        if fields[lost].status != FieldStatus::Missing {
            continue;
        }
        let found = (0..fields.len()).find(|&other| {
            matches!(
                fields[other].status,
                FieldStatus::Extra | FieldStatus::ExtraForeign
            ) && is_same_item(&fields[lost], &fields[other], git, live)
        });
        let Some(came) = found else { continue };
        let (from, to) = (key_of(&fields[lost].path), key_of(&fields[came].path));
        let mut note = format!("one change: {from} became {to}");
        let acts = matches!(judge.engine, Engine::Flux | Engine::Argo | Engine::Plain);
        if acts && clashes(judge.id, &fields[lost], &fields[came], git, live) {
            note = format!(
                "{note}; a server-side apply puts both side by side, which the server refuses: {}",
                consequence(forces && judge.engine == Engine::Flux)
            );
            cause.get_or_insert_with(|| note.clone());
        }
        for at in [lost, came] {
            fields[at].note = Some(note.clone());
        }
    }
    cause
}

fn key_of(path: &FieldPath) -> String {
    match path.0.last() {
        Some(PathStep::Item(keys)) => {
            let texts: Vec<&str> = keys.iter().map(|(_, text)| text.as_str()).collect();
            texts.join("/")
        }
        _ => path.to_string(),
    }
}

/// Tells whether both fields are items of one keyed list that share a key, or agree in everything but the keys.
fn is_same_item(lost: &FieldDrift, came: &FieldDrift, git: &Value, live: &Value) -> bool {
    let (Some((PathStep::Item(from), above)), Some((PathStep::Item(to), beside))) =
        (lost.path.0.split_last(), came.path.0.split_last())
    else {
        return false;
    };
    if above != beside {
        return false;
    }
    let (Some(git), Some(live)) = (lost.path.get(git), came.path.get(live)) else {
        return false;
    };
    let shares_key = from.len() > 1
        && from.iter().filter(|pair| to.contains(pair)).count() + 1 == from.len()
        && from
            .iter()
            .any(|(key, text)| key != "protocol" && to.contains(&(key.clone(), text.clone())));
    let name = |item: &Value| item.get("name").cloned();
    let named = !from.iter().any(|(key, _)| key == "name")
        && name(git).is_some()
        && name(git) == name(live);
    let is_port = from
        .iter()
        .any(|(key, _)| key == "port" || key == "containerPort");
    shares_key || named || (is_port && name(git).is_none() && name(live).is_none())
}

/// Tells whether the server refuses both items side by side: Service ports always (same or missing names), container
/// ports of one name.
fn clashes(id: &ObjectId, lost: &FieldDrift, came: &FieldDrift, git: &Value, live: &Value) -> bool {
    let (Some(git), Some(live)) = (lost.path.get(git), came.path.get(live)) else {
        return false;
    };
    let list = lost.path.0.iter().rev().find_map(|step| match step {
        PathStep::Key(key) => Some(key.as_str()),
        _ => None,
    });
    if list != Some("ports") {
        return false;
    }
    let same_name = git.get("name").is_some() && git.get("name") == live.get("name");
    same_name || (id.kind == "Service" && id.group().is_empty() && git.get("name").is_none())
}

/// Returns why a server-side apply of Git's object is refused whatever live is: fields that the kind does not have, and
/// two items of a keyed list with one key.
pub(super) fn refusal(schema: &KindSchema, id: &ObjectId, git: &Value) -> Option<Fault> {
    let sentence = refused(&schema.root(), git, &FieldPath::default())?;
    Some(Fault::new(FaultKind::Refused, sentence).about(id.to_string()))
}

fn refused(node: &Node<'_>, value: &Value, at: &FieldPath) -> Option<String> {
    match value {
        Value::Null => None,
        _ if node.holds() == Holds::Undeclared => Some(format!("{at}: the kind has no such field")),
        Value::Object(map) => map
            .iter()
            .find_map(|(key, value)| refused(&node.field(key), value, &at.key(key.as_str()))),
        Value::Array(items) => {
            if let Some(text) = duplicate(node, items) {
                return Some(format!("{at}: two items with the key {text}"));
            }
            let item = node.item();
            items
                .iter()
                .enumerate()
                .find_map(|(index, value)| refused(&item, value, &at.join(PathStep::Index(index))))
        }
        _ => None,
    }
}

fn duplicate(node: &Node<'_>, items: &[Value]) -> Option<String> {
    let ListType::Map(keys) = node.list() else {
        return None;
    };
    let name = |item: &Value| -> Vec<String> {
        keys.iter()
            .map(|key| match item.get(key.as_str()) {
                Some(value) if !value.is_null() => value.to_string(),
                _ => node
                    .item()
                    .field(key)
                    .default_key(key)
                    .map(|value| value.to_string())
                    .unwrap_or_default(),
            })
            .collect()
    };
    let names: Vec<_> = items.iter().map(name).collect();
    let twice = names
        .iter()
        .enumerate()
        .find(|(nth, name)| names[..*nth].contains(name));
    twice.map(|(_, name)| name.join(","))
}
