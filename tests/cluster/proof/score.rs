//! What was reported beside what was to be reported, field by field.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::case::{Case, Expected, Wanted};

/// How many fields were right, reported and expected.
#[derive(Debug, Default)]
pub(crate) struct Score {
    pub right: usize,
    pub reported: usize,
    pub expected: usize,
    /// Everything that was not right, for people.
    pub wrong: Vec<String>,
    /// The cases with something wrong.
    pub cases: BTreeSet<String>,
}

impl Score {
    pub(crate) fn precision(&self) -> f64 {
        ratio(self.right, self.reported)
    }

    pub(crate) fn recall(&self) -> f64 {
        ratio(self.right, self.expected)
    }
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        1.0
    } else {
        part as f64 / whole as f64
    }
}

/// Names an object of a `diff/v1` document or a manifest.
fn name(kind: &Value, namespace: &Value, name: &Value) -> String {
    format!(
        "{} {} {}",
        kind.as_str().unwrap_or_default(),
        namespace.as_str().unwrap_or_default(),
        name.as_str().unwrap_or_default()
    )
}

fn is_shown(field: &Value) -> bool {
    !["ignored", "noise"].contains(&field["verdict"].as_str().unwrap_or_default())
}

/// Scores a `diff/v1` document of one app against its cases.
pub(crate) fn score(document: &Value, cases: &[&Case]) -> Score {
    let mut score = Score::default();
    let mut objects: BTreeMap<String, &Value> = document["objects"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|o| (name(&o["kind"], &o["namespace"], &o["name"]), o))
        .collect();
    for case in cases {
        let metadata = &case.object["metadata"];
        let key = name(
            &case.object["kind"],
            &metadata["namespace"],
            &metadata["name"],
        );
        let empty = vec![];
        let found = objects.remove(&key);
        let fields = found.and_then(|o| o["fields"].as_array()).unwrap_or(&empty);
        if let Some(state) = found.map(|o| &o["state"])
            && !["in-sync", "drifted"].contains(&state.as_str().unwrap_or_default())
        {
            let cause = found.map(|o| o["cause"].to_string()).unwrap_or_default();
            score.add(case, 0, 1, &format!("the object is {state}: {cause}"));
        }
        score.fields(case, fields);
    }
    // What belongs to no case is untouched: nothing may be told of it.
    for (key, object) in objects {
        let shown = object["fields"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|f| is_shown(f));
        for field in shown {
            score.reported += 1;
            score
                .wrong
                .push(format!("{key}: not expected: {}", words(field)));
        }
        if object["state"] != "in-sync" {
            score.reported += 1;
            let text = format!("{key}: {} {}", object["state"], object["cause"]);
            score.wrong.push(text);
        }
    }
    score
}

impl Score {
    fn add(&mut self, case: &Case, expected: usize, reported: usize, text: &str) {
        self.expected += expected;
        self.reported += reported;
        self.cases.insert(case.id.clone());
        self.wrong.push(format!(
            "{} {} {}: {text}",
            case.id,
            case.object["kind"].as_str().unwrap_or_default(),
            case.words
        ));
    }

    fn fields(&mut self, case: &Case, fields: &[Value]) {
        let mut open: Vec<&Expected> = case.expected.iter().collect();
        for field in fields.iter().filter(|f| is_shown(f)) {
            let at = open
                .iter()
                .position(|e| field["path"] == e.path.as_str() && field["status"] == e.status);
            let Some(at) = at else {
                self.add(case, 0, 1, &format!("not expected: {}", words(field)));
                continue;
            };
            let expected = open.remove(at);
            let differs = differs(expected, field);
            if differs.is_empty() {
                self.right += 1;
                self.expected += 1;
                self.reported += 1;
            } else {
                let text = format!("expected {}; found {}", differs.join(", "), words(field));
                self.add(case, 1, 1, &text);
            }
        }
        for expected in open {
            let text = format!("not reported: {} {}", expected.status, expected.path);
            self.add(case, 1, 0, &text);
        }
    }
}

fn differs(expected: &Expected, field: &Value) -> Vec<String> {
    let mut wrong = vec![];
    let masked = field["masked"] == true;
    for (side, wanted) in [("git", &expected.git), ("live", &expected.live)] {
        let value = &field[side];
        let fits = match wanted {
            Wanted::Absent => value.is_null(),
            Wanted::Exactly(wanted) if !masked => wanted == value,
            Wanted::Some | Wanted::Exactly(_) => !value.is_null(),
        };
        if !fits {
            wrong.push(format!("{side} {wanted:?}"));
        }
    }
    let owners = owners(field);
    if owners != [expected.owner.clone()] {
        wrong.push(format!("by {}", expected.owner));
    }
    wrong
}

fn owners(field: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    field["owners"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|owner| {
            format!(
                "{} {} {}",
                text(&owner["manager"]),
                text(&owner["operation"]),
                text(&owner["subresource"])
            )
        })
        .collect()
}

fn words(field: &Value) -> String {
    format!(
        "{} {} {} → {} by {:?} [{}; {}]",
        field["status"].as_str().unwrap_or_default(),
        field["path"].as_str().unwrap_or_default(),
        field["git"],
        field["live"],
        owners(field),
        field["verdict"].as_str().unwrap_or_default(),
        field["rule"].as_str().unwrap_or_default()
    )
}
