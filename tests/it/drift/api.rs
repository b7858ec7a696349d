//! What kube-apiserver 1.37 made of a manifest is no drift; one change by one actor is exactly that change.

use std::collections::BTreeSet;

use gitops_tui::domain::drift::{AppDrift, FieldStatus, offline};
use gitops_tui::domain::text::MASK;
use serde_json::Value;

use super::{desired, dump, finish, folders, line, name, object_name, objects, shown};

#[test]
fn what_the_server_adds_is_no_drift() {
    let mut failures = vec![];
    let mut walked = 0;
    for folder in folders("api/fixtures") {
        walked += 1;
        for file in ["live.yaml", "live-csa.yaml"] {
            let live = objects(&folder.join(file));
            if live.is_empty() {
                continue;
            }
            let app = offline(&desired(objects(&folder.join("git.yaml"))), &live, &[]);
            let noisy = app
                .objects
                .iter()
                .any(|object| shown(object).next().is_some());
            if noisy || app.state.word() != "in-sync" {
                failures.push(format!("{} {file}\n{}", name(&folder), dump(&app)));
            }
            for object in app.objects.iter().filter(|o| o.sides.git != o.sides.live) {
                failures.push(format!(
                    "{} {file}: the sides differ: {:?}",
                    name(&folder),
                    object.sides
                ));
            }
        }
    }
    finish("api/fixtures", walked, 96, &failures);
}

/// One line of expected-fields.tsv.
struct Expected {
    path: String,
    status: String,
    git: String,
    live: String,
    owners: BTreeSet<String>,
}

fn expected(folder: &std::path::Path) -> Vec<Expected> {
    std::fs::read_to_string(folder.join("expected-fields.tsv"))
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            Expected {
                path: plain(cells[0]),
                status: cells[1].into(),
                git: cells[2].into(),
                live: cells[3].into(),
                owners: cells[4]
                    .split(',')
                    .map(|owner| format!("{owner} {} {}", cells[5], cells[6]))
                    .collect(),
            }
        })
        .collect()
}

/// The corpus writes items of sets `tags["c"]`, the product `tags[="c"]`.
fn plain(path: &str) -> String {
    path.replace("[=\"", "[\"")
}

fn differs(app: &AppDrift, expected: &[Expected], allowed: &[String]) -> Vec<String> {
    let mut wrong = vec![];
    let mut found = BTreeSet::new();
    for object in &app.objects {
        for field in shown(object) {
            let path = plain(&format!("{} {}", object_name(object, "-"), field.path));
            let Some(expect) = expected.iter().find(|expect| expect.path == path) else {
                if !allowed.iter().any(|allow| path.starts_with(allow)) {
                    wrong.push(format!("   not expected: {path} {}", line(field)));
                }
                continue;
            };
            found.insert(path.clone());
            let owners: BTreeSet<String> = field
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
            let status = match field.status {
                FieldStatus::ExtraForeign => "extra",
                FieldStatus::ChangedType => "changed",
                other => other.word(),
            };
            let same = |cell: &str, value: &Option<Value>| match value {
                _ if field.masked => {
                    value.is_none() == (cell == "-")
                        && value
                            .as_ref()
                            .is_none_or(|v| v.as_str().is_some_and(|t| t.starts_with(MASK)))
                }
                None => cell == "-",
                Some(value) => serde_json::from_str::<Value>(cell).is_ok_and(|cell| &cell == value),
            };
            if status != expect.status
                || owners != expect.owners
                || !same(&expect.git, &field.git)
                || !same(&expect.live, &field.live)
            {
                wrong.push(format!(
                    "   {path}: expected {} {} {} by {:?}\n      found {}",
                    expect.status,
                    expect.git,
                    expect.live,
                    expect.owners,
                    line(field)
                ));
            }
        }
    }
    for expect in expected
        .iter()
        .filter(|expect| !found.contains(&expect.path))
    {
        wrong.push(format!("   not found: {} {}", expect.path, expect.status));
    }
    wrong
}

#[test]
fn one_change_is_that_change_with_its_owner() {
    let mut failures = vec![];
    let mut walked = 0;
    for folder in folders("api/mutations") {
        walked += 1;
        let allowed: Vec<String> = std::fs::read_to_string(folder.join("also-allowed.tsv"))
            .unwrap_or_default()
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty())
            .map(|line| plain(line.split('\t').next().unwrap_or_default()))
            .collect();
        let app = offline(
            &desired(objects(&folder.join("git.yaml"))),
            &objects(&folder.join("live.yaml")),
            &[],
        );
        let wrong = differs(&app, &expected(&folder), &allowed);
        if !wrong.is_empty() {
            failures.push(format!("{}\n{}", name(&folder), wrong.join("\n")));
        }
    }
    finish("api/mutations", walked, 143, &failures);
}
