//! The tables: which kinds there are (kinds.yaml), and what is changed in them by whom (changes.tsv).

use gitops_tui::domain::yaml::{Dialect, parse};
use serde_json::Value;

const KINDS: &str = include_str!("kinds.yaml");
const CHANGES: &str = include_str!("changes.tsv");

/// Whose rules hold: who applied the object and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// The real kustomize-controller, by server-side apply.
    Flux,
    /// The real Argo CD, by client-side apply.
    Argo,
}

impl Column {
    /// Its word: the name of its folder and of its namespace.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Flux => "flux",
            Self::Argo => "argo",
        }
    }
}

/// One change, and how it is written.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// A merge patch: strategic for built-in kinds, and what a server-side apply sends.
    Merge(Value),
    /// A JSON patch.
    Json(Value),
    /// kubectl's own words.
    Words(String),
}

/// What one side of a field is to be.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    Absent,
    /// Any value.
    Some,
    Exactly(Value),
}

/// A field that is to be reported.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    pub status: String,
    pub path: String,
    pub git: Wanted,
    pub live: Wanted,
    /// `manager operation subresource`.
    pub owner: String,
}

/// One object of its own, with the one change that is made to it.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    /// The part of the object's name that is its own.
    pub id: String,
    pub column: Column,
    /// The line of changes.tsv, for people.
    pub words: String,
    /// The manifest's documents; the first is changed.
    pub text: String,
    /// The first document.
    pub object: Value,
    pub actor: String,
    /// `None`: untouched.
    pub change: Option<Change>,
    pub expected: Vec<Expected>,
}

/// Returns the sections of kinds.yaml, by name.
fn kinds() -> Vec<(&'static str, &'static str)> {
    KINDS
        .split("### ")
        .filter_map(|section| section.split_once('\n'))
        .collect()
}

/// Reads every document of a manifest.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    parse(text.as_bytes())
        .documents
        .iter()
        .map(|document| {
            document
                .to_json(Dialect::Kubectl)
                .unwrap_or_else(|problem| panic!("{problem}\n{text}"))
        })
        .filter(|value| !value.is_null())
        .collect()
}

fn manifest(template: &str, column: Column, id: &str) -> (String, Value) {
    let (_, text) = kinds()
        .into_iter()
        .find(|(name, _)| *name == template)
        .unwrap_or_else(|| panic!("changes.tsv: no template {template}"));
    let text = text.replace("{{c}}", id).replace("{{ns}}", column.word());
    let object = documents(&text).remove(0);
    (text, object)
}

/// Returns every kind once untouched, and every change as one object of its own: all actors under Flux, one of them in
/// turn under Argo CD.
pub(crate) fn cases() -> Vec<Case> {
    let mut all = vec![];
    for column in [Column::Flux, Column::Argo] {
        let letter = &column.word()[..1];
        for (name, _) in kinds() {
            let id = format!("{letter}000");
            let (text, object) = manifest(name, column, &id);
            all.push(Case {
                words: format!("{name} untouched"),
                actor: "-".to_owned(),
                change: None,
                expected: vec![],
                id,
                column,
                text,
                object,
            });
        }
        let lines = CHANGES
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty());
        let mut number = 0;
        for (turn, line) in lines.enumerate() {
            let cells: Vec<&str> = line.split('\t').collect();
            let (template, only) = cells[0].split_once('@').unwrap_or((cells[0], ""));
            if !only.is_empty() && only != column.word() {
                continue;
            }
            let actors: Vec<&str> = cells[1].split(' ').collect();
            let here = match column {
                Column::Flux => actors,
                Column::Argo => vec![actors[turn % actors.len()]],
            };
            for actor in here {
                number += 1;
                let id = format!("{letter}{number:03}");
                let (text, object) = manifest(template, column, &id);
                let owner = owner(actor, cells[2]);
                all.push(Case {
                    words: format!("{actor} {}", cells[2]),
                    expected: cells[3..]
                        .iter()
                        .filter(|cell| **cell != "nothing")
                        .map(|cell| expected(cell, &owner))
                        .collect(),
                    change: Some(change(cells[2])),
                    actor: actor.to_owned(),
                    id,
                    column,
                    text,
                    object,
                });
            }
        }
    }
    all
}

fn change(cell: &str) -> Change {
    let json = |text: &str| -> Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("changes.tsv: {error}: {text}"))
    };
    if let Some(words) = cell.strip_prefix("! ") {
        return Change::Words(words.to_owned());
    }
    if let Some(below) = cell.strip_prefix('~') {
        return Change::Merge(serde_json::json!({"spec": {"template": {"spec": json(below)}}}));
    }
    if cell.starts_with('{') {
        return Change::Merge(json(cell));
    }
    let mut parts = cell.splitn(3, ' ');
    let (op, pointer) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let mut step = serde_json::json!({
        "op": op,
        "path": pointer.replacen('~', "/spec/template/spec", 1),
    });
    if let Some(value) = parts.next() {
        step["value"] = json(value);
    }
    Change::Json(Value::Array(vec![step]))
}

/// Returns who owns a field that the actor set, as `manager operation subresource`.
fn owner(actor: &str, change: &str) -> String {
    let manager = match actor {
        "apply" => "kubectl-client-side-apply".to_owned(),
        "patch" | "edit" | "replace" => format!("kubectl-{actor}"),
        "-" => {
            let verb = change.split(' ').nth(1).unwrap_or_default();
            format!("kubectl-{verb}")
        }
        other => match other.strip_prefix('+') {
            Some(manager) => return format!("{manager} Apply -"),
            None => other.to_owned(),
        },
    };
    format!("{manager} Update -")
}

fn expected(cell: &str, owner: &str) -> Expected {
    let parts: Vec<&str> = cell.split(" | ").collect();
    let value = |text: &str| match text {
        "*" => Wanted::Some,
        "-" => Wanted::Absent,
        text => Wanted::Exactly(
            serde_json::from_str(text)
                .unwrap_or_else(|error| panic!("changes.tsv: {error}: {text}")),
        ),
    };
    Expected {
        status: parts[0].to_owned(),
        path: parts[1].replacen('~', "spec.template.spec", 1),
        git: value(parts[2]),
        live: value(parts[3]),
        owner: match (parts.get(4), parts[0]) {
            (Some(&"unknown"), _) | (None, "missing") => "unknown - -".to_owned(),
            (Some(owner), _) => (*owner).to_owned(),
            (None, _) => owner.to_owned(),
        },
    }
}
