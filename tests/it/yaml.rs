//! Reading and writing YAML against what the Go tools answered (`tests/corpus/yaml`).
//!
//! Each line of a `.jsonl` file is one document with the answers of kyaml 0.21.1 and sigs.k8s.io/yaml 1.6: `k`
//! (kustomize's value) or `ke` (its error), `c` (kubectl's value) or `ce`; `out` is the text that `kustomize build`
//! prints. `known.jsonl` holds the deviations that are known and left: tags and plain scalars of odd signs in flow
//! collections, U+0085 and U+2028 in plain text, keys that are collections, `\/` and surrogate pairs in JSON (accepted
//! here, refused there), and comments that go-yaml v3 lets slip into block scalars.

use std::path::Path;

use gitops_tui::domain::yaml::{Dialect, emit, parse};
use serde_json::{Value, json};

fn corpus(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus/yaml")
        .join(name);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn read(text: &str, dialect: Dialect) -> Result<Value, String> {
    let stream = parse(text.as_bytes());
    if let Some(problem) = stream.problems.first() {
        return Err(problem.to_string());
    }
    stream
        .documents
        .first()
        .map_or(Ok(Value::Null), |document| {
            document
                .to_json(dialect)
                .map_err(|problem| problem.to_string())
        })
}

/// Go's JSON can say `-0`, which nobody reads as anything but 0.
fn without_negative_zero(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.as_f64() == Some(0.0) => json!(0),
        Value::Array(items) => items.iter().map(without_negative_zero).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), without_negative_zero(value)))
            .collect(),
        other => other.clone(),
    }
}

/// Says how the answers differ from the stored ones, or nothing.
fn difference(case: &Value) -> Option<String> {
    let text = case["doc"].as_str().unwrap();
    for (value, error, dialect) in [
        ("k", "ke", Dialect::Kustomize),
        ("c", "ce", Dialect::Kubectl),
    ] {
        let ours = read(text, dialect);
        let agrees = match &ours {
            Ok(ours) => case
                .get(value)
                .is_some_and(|theirs| without_negative_zero(theirs) == *ours),
            Err(_) => case.get(error).is_some(),
        };
        if !agrees {
            let theirs = case.get(value).or_else(|| case.get(error));
            return Some(format!(
                "{text:?} {dialect:?}\n  ours   {ours:?}\n  theirs {theirs:?}"
            ));
        }
    }
    let (Ok(ours), Some(out)) = (read(text, Dialect::Kustomize), case["out"].as_str()) else {
        return None;
    };
    (emit(&ours) != out).then(|| format!("{text:?}\n  ours   {:?}\n  theirs {out:?}", emit(&ours)))
}

#[test]
fn reads_scalars_as_kustomize_and_kubectl_do() {
    let wrong: Vec<String> = corpus("scalars.jsonl")
        .iter()
        .filter_map(difference)
        .collect();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn reads_documents_of_every_style_as_kustomize_and_kubectl_do() {
    let wrong: Vec<String> = corpus("documents.jsonl")
        .iter()
        .filter_map(difference)
        .collect();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn writes_hostile_values_as_kustomize_does() {
    let wrong: Vec<String> = corpus("values.jsonl")
        .iter()
        .filter_map(|case| {
            let value: Value = serde_json::from_str(case["doc"].as_str().unwrap()).unwrap();
            let (ours, theirs) = (emit(&value), case["out"].as_str().unwrap());
            (ours != theirs).then(|| format!("{value}\n--- ours\n{ours}\n--- theirs\n{theirs}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_known_deviations_are_still_true() {
    for case in corpus("known.jsonl") {
        assert!(
            difference(&case).is_some(),
            "no deviation any more: {}",
            case["doc"]
        );
    }
}
