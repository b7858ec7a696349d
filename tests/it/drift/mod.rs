//! The comparison against what real servers and engines answered: one file per corpus.
//!
//! Every test walks all cases of its corpus, says how many, and prints each failing one with what was expected and found.

mod api;
mod argo;
mod cases;
mod docs;
mod flux;

use std::path::{Path, PathBuf};

use gitops_tui::domain::drift::{AppDrift, FieldDrift, ObjectDrift, Verdict};
use gitops_tui::domain::object::{Desired, Origins};
use gitops_tui::domain::yaml::{Dialect, parse};
use serde_json::Value;

fn corpus(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(path)
}

/// Lists the case folders of a corpus, sorted.
fn folders(path: &str) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(corpus(path))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    all.sort();
    all
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap().to_string_lossy().into_owned()
}

/// Reads every document of a YAML file, lists unfolded; nothing where the file is not there.
fn objects(file: &Path) -> Vec<Value> {
    let Ok(bytes) = std::fs::read(file) else {
        return vec![];
    };
    let mut all = vec![];
    for document in parse(&bytes).documents {
        let value = document
            .to_json(Dialect::Kubectl)
            .unwrap_or_else(|problem| panic!("{}: {problem}", file.display()));
        match value.get("items").and_then(Value::as_array) {
            Some(items)
                if value["kind"]
                    .as_str()
                    .is_some_and(|kind| kind.ends_with("List")) =>
            {
                all.extend(items.iter().cloned());
            }
            _ if value.is_null() => {}
            _ => all.push(value),
        }
    }
    all
}

fn desired(values: Vec<Value>) -> Vec<Desired> {
    values
        .into_iter()
        .filter_map(|value| Desired::new(value, Origins::default()))
        .collect()
}

/// Tells whether a person sees the field: not left out by a rule, no noise.
fn visible(field: &FieldDrift) -> bool {
    !matches!(field.verdict, Verdict::Ignored | Verdict::Noise)
}

fn shown(object: &ObjectDrift) -> impl Iterator<Item = &FieldDrift> {
    object.fields.iter().filter(|field| visible(field))
}

/// Names an object as the corpora do: `Kind/namespace/name`, `-` or nothing for no namespace.
fn object_name(object: &ObjectDrift, none: &str) -> String {
    let namespace = object.id.namespace.as_deref().unwrap_or(none);
    format!("{}/{namespace}/{}", object.id.kind, object.id.name)
}

fn line(field: &FieldDrift) -> String {
    let owners: Vec<String> = field
        .owners
        .iter()
        .map(|owner| {
            let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
            format!(
                "{} {} {}",
                owner.manager,
                text(&owner.operation),
                text(&owner.subresource)
            )
        })
        .collect();
    format!(
        "{} {} {} git={} live={} by {} ({})",
        field.path,
        field.status.word(),
        field.verdict.word(),
        field.git.as_ref().map_or("-".into(), Value::to_string),
        field.live.as_ref().map_or("-".into(), Value::to_string),
        owners.join(", "),
        field.rule.as_deref().unwrap_or("")
    )
}

fn dump(app: &AppDrift) -> String {
    let mut out = format!("   app {} {:?}\n", app.state.word(), app.cause);
    for object in &app.objects {
        out += &format!(
            "   {} {} {:?}\n",
            object_name(object, "-"),
            object.state.word(),
            object.cause
        );
        for field in shown(object) {
            out += &format!("      {}\n", line(field));
        }
    }
    out
}

/// Ends a walk: prints the failures and fails where there are any or where the number of cases is not the known one.
fn finish(what: &str, walked: usize, expected: usize, failures: &[String]) {
    println!("{what}: {} of {walked} cases", walked - failures.len());
    for failure in failures {
        println!("{failure}");
    }
    assert_eq!(walked, expected, "{what}: cases walked");
    assert!(
        failures.is_empty(),
        "{what}: {} of {walked} cases fail",
        failures.len()
    );
}
