//! Precision and recall: every kind of kinds.yaml applied by the real kustomize-controller and by the real Argo CD, with
//! kube-controller-manager running. Untouched, nothing is reported; after one change by one hand, exactly that field with
//! that owner. What is scored is what a user gets: `gitops-tui diff -o json` of the whole app.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::actor::{Api, act};
use super::case::{Case, Column, cases};
use super::score::{Score, score};
use crate::world::{World, wait_for};

const DEFINITIONS: &str = include_str!("definitions.yaml");
const FLUX: &str = "ks/flux-system/proof";
const ARGO: &str = "app/argocd/proof";

/// Runs the whole; returns what is wrong.
pub(super) fn run(world: &World, proxy: &str) -> Vec<String> {
    let api = Api::new(proxy);
    let start = Instant::now();
    let cases = cases();
    world.apply(DEFINITIONS);
    wait_for("the lab's kinds are served", 30, || {
        let out = world.kubectl(&[
            "get",
            "widgets.lab.example.test,blobs.lab.example.test",
            "-A",
        ]);
        out.status.success().then_some(())
    });
    put_into_git(world, &cases);
    apply_as_the_engines_do(world);
    println!("applied in {} s", start.elapsed().as_secs());
    // The controllers of the cluster write for a while; what they wrote is part of the question.
    thread::sleep(Duration::from_secs(5));
    let mut wrong = vec![];
    let untouched: Vec<Case> = cases
        .iter()
        .map(|case| Case {
            expected: vec![],
            ..case.clone()
        })
        .collect();
    wrong.extend(report(world, &api, "untouched", &untouched));
    let started = Instant::now();
    wrong.extend(change_all(world, &api, &cases));
    println!("changed in {} s", started.elapsed().as_secs());
    thread::sleep(Duration::from_secs(5));
    wrong.extend(report(world, &api, "changed", &cases));
    println!("all in {} s", start.elapsed().as_secs());
    wrong
}

fn put_into_git(world: &World, cases: &[Case]) {
    let mut files = vec![];
    for column in [Column::Flux, Column::Argo] {
        let word = column.word();
        let namespaces = format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {word}}}\n---\n\
             apiVersion: v1\nkind: Namespace\nmetadata: {{name: {word}-quiet}}\n"
        );
        files.push((format!("{word}/namespaces.yaml"), namespaces));
    }
    for (number, case) in cases.iter().enumerate() {
        let path = format!("{}/{number:04}.yaml", case.column.word());
        files.push((path, case.text.clone()));
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    world.git.create("proof", &files);
}

fn apply_as_the_engines_do(world: &World) {
    let url = world.git.url("proof");
    world.apply(&format!(
        "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {{name: proof, namespace: flux-system}}
spec: {{interval: 60m, url: '{url}', ref: {{branch: main}}}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: proof, namespace: flux-system}}
spec: {{interval: 60m, path: ./flux, prune: true, sourceRef: {{kind: GitRepository, name: proof}}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: proof, namespace: argocd}}
spec:
  project: default
  source: {{repoURL: '{url}', path: argo, targetRevision: main}}
  destination: {{server: 'https://kubernetes.default.svc', namespace: argo}}
operation: {{initiatedBy: {{username: proof}}, sync: {{}}}}
"
    ));
    wait_for("Argo CD has applied", 180, || {
        let app = world.get("applications.argoproj.io", "argocd", "proof");
        let phase = app
            .pointer("/status/operationState/phase")?
            .as_str()?
            .to_owned();
        assert!(
            !["Failed", "Error"].contains(&phase.as_str()),
            "{:#}",
            failures(&app)
        );
        (phase == "Succeeded").then_some(())
    });
    wait_for("Flux has applied", 180, || {
        let app = world.get(
            "kustomizations.kustomize.toolkit.fluxcd.io",
            "flux-system",
            "proof",
        );
        let ready = app["status"]["conditions"]
            .as_array()?
            .iter()
            .find(|c| c["type"] == "Ready")?
            .clone();
        assert!(ready["status"] != "False", "{ready:#}");
        (ready["status"] == "True" && app["status"]["lastAppliedRevision"].is_string())
            .then_some(())
    });
}

/// Returns the objects that a sync could not apply.
fn failures(app: &Value) -> Value {
    let results = app
        .pointer("/status/operationState/syncResult/resources")
        .and_then(Value::as_array);
    let failed: Vec<&Value> = results
        .into_iter()
        .flatten()
        .filter(|r| r["status"] != "Synced")
        .collect();
    json!({"message": app.pointer("/status/operationState/message"), "failed": failed})
}

fn change_all(world: &World, api: &Api, cases: &[Case]) -> Vec<String> {
    let folder = world.dir.path().join("edits");
    fs::create_dir_all(&folder).unwrap();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = vec![];
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(said) = act(world, api, &folder, case) {
                wrong.push(format!("{} {}: not done: {said}", case.id, case.words));
            }
        }
        wrong
    };
    thread::scope(|scope| {
        let hands: Vec<_> = (0..3).map(|_| scope.spawn(work)).collect();
        hands
            .into_iter()
            .flat_map(|hand| hand.join().unwrap())
            .collect()
    })
}

fn report(world: &World, api: &Api, what: &str, cases: &[Case]) -> Vec<String> {
    let mut wrong = vec![];
    let (mut right, mut reported, mut expected) = (0, 0, 0);
    for (column, app) in [(Column::Flux, FLUX), (Column::Argo, ARGO)] {
        let said = world.run(&[
            "diff",
            app,
            "--context",
            "real",
            "-o",
            "json",
            "--timeout",
            "60s",
        ]);
        let document = said.json();
        let here: Vec<&Case> = cases.iter().filter(|c| c.column == column).collect();
        let Score {
            right: r,
            reported: p,
            expected: e,
            ..
        } = {
            let score = score(&document, &here);
            let kinds: BTreeSet<&str> = here
                .iter()
                .filter_map(|case| case.object["kind"].as_str())
                .collect();
            println!(
                "{what}, applied by {}: {} objects of {} kinds, {} changes; expected {} fields, reported {}, right {}: \
                 precision {:.4}, recall {:.4}",
                column.word(),
                document["objects"].as_array().map_or(0, Vec::len),
                kinds.len(),
                here.iter().filter(|c| !c.expected.is_empty()).count(),
                score.expected,
                score.reported,
                score.right,
                score.precision(),
                score.recall(),
            );
            for problem in document["problems"].as_array().into_iter().flatten() {
                wrong.push(format!("{what} {app}: {problem}"));
            }
            for line in &score.wrong {
                println!("   {line}");
            }
            wrong.extend(score.wrong.iter().map(|line| format!("{what} {line}")));
            keep(api, &here, &score);
            score
        };
        right += r;
        reported += p;
        expected += e;
    }
    let all = Score {
        right,
        reported,
        expected,
        ..Score::default()
    };
    println!(
        "{what}: precision {:.4}, recall {:.4}",
        all.precision(),
        all.recall()
    );
    wrong
}

/// Keeps both sides of what went wrong, to become a recording.
fn keep(api: &Api, cases: &[&Case], score: &Score) {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proof");
    for case in cases.iter().filter(|case| score.cases.contains(&case.id)) {
        let folder = root.join(&case.id);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("git.yaml"), &case.text).unwrap();
        let live = gitops_tui::domain::yaml::emit(&api.read(&case.object));
        fs::write(folder.join("live.yaml"), live).unwrap();
        fs::write(folder.join("command.txt"), &case.words).unwrap();
    }
}
