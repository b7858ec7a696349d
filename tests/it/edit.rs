//! Edits of files, byte for byte: the cases W01, W03, W04, W06, W07 (`tests/corpus/cases`).

use std::path::{Path, PathBuf};

use gitops_tui::domain::object::FieldPath;
use gitops_tui::domain::yaml::edit::{Edit, EditError, apply};
use gitops_tui::domain::yaml::{Dialect, Route, RouteStep, emit, parse};
use serde_json::{Value, json};

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus/cases")
        .join(name)
}

/// Carries the case's edits out, each on the result of the one before.
fn edited(name: &str, file: &str) -> Vec<u8> {
    let folder = case(name);
    let edits: Value =
        serde_json::from_slice(&std::fs::read(folder.join("edit.json")).unwrap()).unwrap();
    let mut bytes = std::fs::read(folder.join("before").join(file)).unwrap();
    for edit in edits
        .as_array()
        .unwrap()
        .iter()
        .filter(|edit| edit["file"] == file)
    {
        let stream = parse(&bytes);
        let (document, value) = stream
            .documents
            .iter()
            .map(|document| {
                (
                    document.index,
                    document.to_json(Dialect::Kustomize).unwrap(),
                )
            })
            .find(|(_, value)| {
                value["kind"] == edit["document"]["kind"]
                    && value["metadata"]["name"] == edit["document"]["name"]
            })
            .unwrap();
        let path: FieldPath = edit["path"].as_str().unwrap().parse().unwrap();
        let route = path.route_in(&value).unwrap();
        let set = Edit::Set {
            route,
            value: edit["value"].clone(),
        };
        bytes = apply(&bytes, document, &[set]).unwrap();
    }
    bytes
}

#[test]
fn edits_touch_only_what_they_must() {
    for name in ["W01", "W03", "W04", "W06", "W07"] {
        for entry in std::fs::read_dir(case(name).join("after")).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            let expected = std::fs::read(case(name).join("after").join(&file)).unwrap();
            let ours = edited(name, &file);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(text(&ours), text(&expected), "{name}/{file}");
        }
    }
}

/// Lists the ways to every value of a document.
fn routes(value: &Value, at: &Route, found: &mut Vec<Route>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                found.push(at.key(key));
                routes(value, &at.key(key), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                found.push(at.index(index));
                routes(value, &at.index(index), found);
            }
        }
        _ => {}
    }
}

/// Returns the lines of `before` that are not in `after`, by longest common subsequence of lines.
fn lost(before: &[u8], after: &[u8]) -> usize {
    let (before, after) = (
        String::from_utf8_lossy(before),
        String::from_utf8_lossy(after),
    );
    let diff = similar::TextDiff::from_lines(&*before, &*after);
    diff.iter_all_changes()
        .filter(|change| change.tag() == similar::ChangeTag::Delete)
        .count()
}

/// Every edit of every value of 500 documents of all styles either gives exactly the wanted value (`apply` proves that
/// itself) or is refused for a reason; nothing panics and no edit of one scalar costs other lines.
#[test]
fn every_value_of_hostile_documents_can_be_edited_or_is_refused_by_name() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/yaml/documents.jsonl");
    let (mut done, mut refused) = (0, vec![]);
    let values = [
        json!("new"),
        json!("yes"),
        json!(7),
        json!("two\nlines\n"),
        json!({"k": ["v"]}),
        json!(null),
    ];
    for (number, line) in std::fs::read_to_string(path).unwrap().lines().enumerate() {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = case["doc"].as_str().unwrap();
        let stream = parse(text.as_bytes());
        let Some(Ok(value)) = stream
            .documents
            .first()
            .map(|document| document.to_json(Dialect::Kustomize))
        else {
            continue;
        };
        let mut all = vec![];
        routes(&value, &Route::root(), &mut all);
        for (at, route) in all.iter().enumerate() {
            let new = values[(number + at) % values.len()].clone();
            let edit = match (number + at) % 9 {
                7 => Edit::Remove {
                    route: route.clone(),
                },
                8 if route
                    .get(&value)
                    .is_some_and(|node| node.is_object() || node.is_null()) =>
                {
                    Edit::Insert {
                        parent: route.clone(),
                        at: RouteStep::Key("added".to_owned()),
                        value: new,
                    }
                }
                _ => Edit::Set {
                    route: route.clone(),
                    value: new,
                },
            };
            match apply(text.as_bytes(), 0, std::slice::from_ref(&edit)) {
                Ok(after) => {
                    done += 1;
                    let was_scalar = route
                        .get(&value)
                        .is_some_and(|node| !node.is_object() && !node.is_array());
                    let written = stream.documents[0]
                        .at(route)
                        .map_or("", |node| &text[node.span()]);
                    if was_scalar && !matches!(edit, Edit::Remove { .. }) {
                        let allowed = written.split('\n').count();
                        assert!(lost(text.as_bytes(), &after) <= allowed, "{text}\n{edit:?}");
                    }
                }
                Err(EditError::Shared { .. }) => {}
                Err(error) => refused.push(format!("{error}\n{text}\n{edit:?}")),
            }
        }
    }
    assert!(
        refused.len() * 50 < done,
        "{} of {done} refused:\n{}",
        refused.len(),
        refused.join("\n")
    );
}

/// Pieces from which broken, odd and right files are put together.
const PIECES: &[&str] = &[
    "a",
    "b:",
    "c: ",
    "- ",
    "-",
    ": ",
    "? ",
    "\n",
    "\n",
    "\n  ",
    "\n    ",
    "\r\n",
    "{",
    "}",
    "[",
    "]",
    ", ",
    "'",
    "\"",
    "|",
    ">",
    "|2-",
    ">+",
    "&x ",
    "*x",
    "!!str ",
    "!t ",
    "# c",
    " #",
    "---\n",
    "...\n",
    "\u{feff}",
    "é",
    "\u{1f600}",
    "\t",
    "<<: ",
    "%YAML 1.2\n",
    "~",
    "1",
    "yes",
    "\\",
    "\u{85}",
    "\u{2028}",
    " ",
    "  ",
    "x: y",
    "- z",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2000))]

    /// Whatever the bytes are, reading gives spans that can be cut out, and editing gives an answer.
    #[test]
    fn nothing_panics_on_odd_files(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..40)) {
        let text = pieces.concat();
        let stream = parse(text.as_bytes());
        for document in &stream.documents {
            document.duplicates();
            for dialect in [Dialect::Kustomize, Dialect::Kubectl] {
                let Ok(value) = document.to_json(dialect) else { continue };
                emit(&value);
                let mut all = vec![];
                routes(&value, &Route::root(), &mut all);
                for route in all.iter().take(6) {
                    if let Some(span) = document.span_of(route) {
                        proptest::prop_assert!(text.get(span).is_some(), "{text:?} {route}");
                    }
                    for edit in [
                        Edit::Set { route: route.clone(), value: json!("new\nvalue") },
                        Edit::Set { route: route.clone(), value: json!({"k": [1]}) },
                        Edit::Insert { parent: route.clone(), at: RouteStep::Key("z".into()), value: json!(1) },
                        Edit::Insert { parent: route.clone(), at: RouteStep::Index(0), value: json!({"k": 1}) },
                        Edit::Remove { route: route.clone() },
                        Edit::Rename { route: route.clone(), key: "r".into() },
                    ] {
                        drop(apply(text.as_bytes(), document.index, &[edit]));
                    }
                }
            }
        }
    }
}
