//! Public bug reports turned into small cases: false drift, missed drift, Argo CD's rules, secrets.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gitops_tui::domain::drift::{
    AppDrift, Comparison, Engine, ObjectState, Verdict, compare, offline,
};
use gitops_tui::domain::object::{Desired, Origins};
use gitops_tui::domain::text::MASK;
use gitops_tui::domain::yaml::Route;
use serde_json::{Value, json};

use super::{corpus, desired, dump, finish, object_name, objects, shown};

fn case(name: &str) -> PathBuf {
    corpus(&format!("cases/{name}"))
}

/// Reads expected-fields.tsv: `Kind/namespace/name path`, status, blame (may be empty).
fn expected(folder: &Path) -> Vec<(String, String, String)> {
    std::fs::read_to_string(folder.join("expected-fields.tsv"))
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            (
                cells[0].into(),
                cells[1].into(),
                cells.get(4).copied().unwrap_or_default().into(),
            )
        })
        .collect()
}

fn differs(app: &AppDrift, expected: &[(String, String, String)]) -> Vec<String> {
    let mut wrong = vec![];
    let mut found = BTreeSet::new();
    for object in &app.objects {
        for field in shown(object) {
            let path = format!("{} {}", object_name(object, ""), field.path);
            let fits = expected.iter().any(|(p, status, blame)| {
                *p == path
                    && *status == field.status.word()
                    && (blame.is_empty() || field.owners.iter().any(|o| o.manager == *blame))
            });
            if !fits {
                wrong.push(format!("   not expected: {path} {}", super::line(field)));
            }
            found.insert(path);
        }
    }
    for (path, status, _) in expected.iter().filter(|(path, _, _)| !found.contains(path)) {
        wrong.push(format!("   not found: {path} {status}"));
    }
    wrong
}

#[test]
fn reported_drift_is_found_and_nothing_else() {
    let mut failures = vec![];
    let names = [
        "A01", "A02", "A04", "A05", "A07", "A08", "A10", "B01", "B03", "B04", "G07", "S01",
    ];
    for name in names {
        let folder = case(name);
        let app = offline(
            &desired(objects(&folder.join("git.yaml"))),
            &objects(&folder.join("live.yaml")),
            &[],
        );
        let wrong = differs(&app, &expected(&folder));
        if !wrong.is_empty() {
            failures.push(format!("{name}\n{}\n{}", wrong.join("\n"), dump(&app)));
        }
    }
    finish("cases A, B, G07, S01", names.len(), 12, &failures);
}

#[test]
fn verdicts_of_the_reports() {
    let run = |name: &str| {
        let folder = case(name);
        offline(
            &desired(objects(&folder.join("git.yaml"))),
            &objects(&folder.join("live.yaml")),
            &[],
        )
    };
    let mesh = run("A07");
    let state = |app: &AppDrift, kind: &str| {
        app.objects
            .iter()
            .find(|o| o.id.kind == kind)
            .unwrap()
            .state
    };
    assert_eq!(state(&mesh, "Deployment"), ObjectState::InSync);
    assert_eq!(
        state(&mesh, "ValidatingWebhookConfiguration"),
        ObjectState::Drifted
    );
    assert_eq!(mesh.hidden.foreign, 3);

    let by_hand = run("B01");
    assert!(
        by_hand.objects[0]
            .fields
            .iter()
            .filter(|f| super::visible(f))
            .all(|f| {
                f.verdict == Verdict::Drift
                    && f.rule.is_none()
                    && f.note
                        .as_ref()
                        .unwrap()
                        .contains("an apply alone would not")
            })
    );

    let port = run("B04");
    let notes: Vec<_> = shown(&port.objects[0])
        .filter_map(|f| f.note.clone())
        .collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(
        notes
            .iter()
            .all(|note| note.contains("one change: 80/TCP became 8080/TCP")
                && note.contains("fails")),
        "{notes:?}"
    );
}

#[test]
fn rules_with_conditions_match_what_argo_matches() {
    let folder = case("G01");
    let app = objects(&folder.join("application.yaml")).remove(0);
    let (git, live) = (
        desired(objects(&folder.join("git.yaml"))),
        objects(&folder.join("live.yaml")),
    );
    let drift = compare(&Comparison {
        app_object: Some(&app),
        desired: &git,
        live: &live,
        ..Comparison::of(Engine::Argo)
    });
    let wrong = differs(&drift, &expected(&folder));
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), dump(&drift));
    let ignored: BTreeSet<String> = drift
        .objects
        .iter()
        .flat_map(|o| o.fields.iter().map(move |f| (o, f)))
        .filter(|(_, f)| f.verdict == Verdict::Ignored)
        .map(|(o, f)| {
            format!(
                "{} {} {}",
                object_name(o, ""),
                f.path,
                f.rule.as_ref().unwrap().split(' ').next().unwrap()
            )
        })
        .collect();
    let rules: BTreeSet<String> = std::fs::read_to_string(folder.join("expected-ignored.tsv"))
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (path, rule) = line.split_once('\t').unwrap();
            format!(
                "{path} spec.ignoreDifferences[{}]",
                rule.trim().parse::<usize>().unwrap() - 1
            )
        })
        .collect();
    assert_eq!(ignored, rules);
}

#[test]
fn copied_marks_are_not_ours() {
    let folder = case("G04");
    let app = objects(&folder.join("application.yaml")).remove(0);
    let settings = objects(&folder.join("argocd-cm.yaml")).into_iter().next();
    let (git, live) = (
        desired(objects(&folder.join("git.yaml"))),
        objects(&folder.join("live.yaml")),
    );
    let drift = compare(&Comparison {
        app_object: Some(&app),
        settings: settings.as_ref(),
        desired: &git,
        live: &live,
        ..Comparison::of(Engine::Argo)
    });
    let states: BTreeSet<String> = drift
        .objects
        .iter()
        .map(|o| {
            let fields: Vec<String> = shown(o).map(|f| f.path.to_string()).collect();
            format!(
                "{} {} {}",
                object_name(o, ""),
                o.state.word(),
                fields.join(" ")
            )
            .trim_end()
            .to_owned()
        })
        .collect();
    let expect = [
        "ClusterRole//shop-view extra",
        "ConfigMap/shop/extraneous extra",
        "ConfigMap/shop/leftover extra",
        "ConfigMap/shop/protected extra",
        "Database/shop/orders in-sync",
        r#"Ingress/shop/old drifted metadata.annotations["argocd.argoproj.io/tracking-id"]"#,
        "Job/shop/migrate ignored",
    ];
    assert_eq!(states, expect.map(str::to_owned).into(), "{}", dump(&drift));
}

/// Everything that an answer can print.
fn everything(app: &AppDrift) -> String {
    format!("{app:?}")
}

#[test]
fn no_secret_value_leaves_the_comparison() {
    let folder = case("S01");
    let app = offline(
        &desired(objects(&folder.join("git.yaml"))),
        &objects(&folder.join("live.yaml")),
        &[],
    );
    let text = everything(&app);
    let words = std::fs::read_to_string(folder.join("must-not-contain.txt")).unwrap();
    for word in words
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        assert!(!text.contains(word), "{word} in {text}");
    }
}

#[test]
fn encrypted_secrets_cannot_be_compared_and_are_paired_by_base_name() {
    let folder = case("S03");
    let mut git = objects(&folder.join("tree/secret.yaml"));
    git.push(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "envs-abcdefgh12", "namespace": "shop"},
        "data": {"fum": "RU5DW0FFUzI1Nl9HQ00sZGF0YTpBQUFBLGl2OkFBQUEsdGFnOkFBQUEsdHlwZTpzdHJd"}, "type": "Opaque"}));
    let git = desired(git);
    let live = objects(&folder.join("live.yaml"));
    let app = compare(&Comparison {
        desired: &git,
        live: &live,
        inventory: &live
            .iter()
            .filter_map(gitops_tui::domain::object::ObjectId::of)
            .collect::<Vec<_>>(),
        ..Comparison::of(Engine::Flux)
    });
    assert_eq!(app.objects.len(), 2, "{}", dump(&app));
    for object in &app.objects {
        assert_ne!(object.state, ObjectState::InSync);
        let values = object
            .fields
            .iter()
            .filter(|f| f.path.to_string().starts_with("data."));
        assert!(
            values.clone().count() > 0
                && values
                    .clone()
                    .all(|f| f.verdict == Verdict::Unknown && f.masked),
            "{}",
            dump(&app)
        );
        assert!(
            !object
                .fields
                .iter()
                .any(|f| f.path.to_string().starts_with("sops"))
        );
    }
    let text = everything(&app);
    let words = std::fs::read_to_string(folder.join("must-not-contain.txt")).unwrap();
    for word in words
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        assert!(!text.contains(word), "{word} in {text}");
    }
}

#[test]
fn values_substituted_from_a_secret_are_masked_everywhere() {
    let folder = case("S04");
    let value = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app", "namespace": "shop"},
        "data": {"url": "https://api:Brisk-Walnut-77@up.example.test/", "region": "eu-1"}});
    let mut git = Desired::new(value, Origins::default()).unwrap();
    git.secret_routes
        .insert(Route::root().key("data").key("url"));
    let app = offline(&[git], &objects(&folder.join("live.yaml")), &[]);
    let text = everything(&app);
    assert!(!text.contains("Brisk-Walnut-77"), "{text}");
    let url = shown(&app.objects[0])
        .find(|f| f.path.to_string() == "data.url")
        .unwrap();
    let is_mask = |v: &Option<Value>| {
        v.as_ref()
            .and_then(Value::as_str)
            .is_some_and(|t| t.starts_with(MASK))
    };
    assert!(url.masked && is_mask(&url.git) && is_mask(&url.live));
    let region = shown(&app.objects[0])
        .find(|f| f.path.to_string() == "data.region")
        .unwrap();
    assert!(!region.masked);
}

#[test]
fn a_broken_secret_shows_nothing() {
    let secret = |fields: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "b",
            "annotations": {"copy": "hunter2", "kubectl.kubernetes.io/last-applied-configuration": "{\"stringData\":{\"a\":\"hunter2\"}}"}}});
        for (key, value) in fields.as_object().unwrap() {
            object[key] = value.clone();
        }
        object
    };
    let shapes = [
        json!({"data": "hunter2"}),
        json!({"data": ["hunter2"]}),
        json!({"stringData": "hunter2"}),
        json!({"stringData": {"a": {"b": "hunter2"}}}),
        json!({"data": {"a": 1, "b": {"c": "hunter2"}}}),
        json!({"stringdata": {"a": "hunter2"}, "dta": "hunter2"}),
        json!({"spec": {"password": "hunter2"}}),
        json!({"metadata": {"name": "a", "namespace": "b", "password": "hunter2"}}),
    ];
    let good = secret(json!({"data": {"a": "aHVudGVyMw=="}}));
    for shape in shapes {
        for (git, live) in [
            (secret(shape.clone()), good.clone()),
            (good.clone(), secret(shape.clone())),
        ] {
            let app = offline(&desired(vec![git]), &[live], &[]);
            let text = everything(&app);
            for word in ["hunter2", "aHVudGVyM"] {
                assert!(!text.contains(word), "{shape}: {text}");
            }
        }
    }
}
