//! docs/drift.md says what `diff --all` prints: every example of the page is compared and its lines are checked.
//!
//! An example is a run of fenced blocks (`yaml app`, `yaml settings`, `yaml git`, `yaml live`) that ends with
//! `text diff`.

use std::collections::BTreeSet;

use gitops_tui::domain::drift::{AppDrift, Comparison, Engine, compare, offline, report};
use gitops_tui::domain::fleet::AppRef;
use gitops_tui::domain::object::ObjectId;
use gitops_tui::domain::yaml::{Dialect, parse};
use serde_json::Value;

use super::desired;

#[derive(Default)]
struct Example {
    app: Vec<Value>,
    settings: Vec<Value>,
    git: Vec<Value>,
    live: Vec<Value>,
}

fn values(text: &str) -> Vec<Value> {
    let documents = parse(text.as_bytes()).documents;
    let all = documents
        .iter()
        .map(|d| d.to_json(Dialect::Kubectl).unwrap());
    all.filter(|value| !value.is_null()).collect()
}

/// Reads the fenced blocks of a page: what follows the fence, and the text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut all = vec![];
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        match (open.as_mut(), line.strip_prefix("```")) {
            (None, Some(info)) => open = Some((info.to_owned(), String::new())),
            (Some(_), Some(_)) => all.extend(open.take()),
            (Some((_, text)), None) => text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    all
}

impl Example {
    fn compared(&self) -> AppDrift {
        let git = desired(self.git.clone());
        let Some(app) = self.app.first() else {
            return offline(&git, &self.live, &[]);
        };
        let (engine, target) = match app["kind"].as_str().unwrap() {
            "Kustomization" => (Engine::Flux, "ks/flux-system/shop"),
            "HelmRelease" => (Engine::Helm, "hr/flux-system/shop"),
            _ => (Engine::Argo, "app/argocd/shop"),
        };
        let inventory: Vec<ObjectId> = self.live.iter().filter_map(ObjectId::of).collect();
        compare(&Comparison {
            app: Some(AppRef {
                context: "prod".into(),
                target: target.parse().unwrap(),
            }),
            app_object: Some(app),
            settings: self.settings.first(),
            desired: &git,
            live: &self.live,
            inventory: &inventory,
            ..Comparison::of(engine)
        })
    }
}

fn words_of(app: &AppDrift) -> Vec<String> {
    let mut all = vec![format!("app {}", app.state.word())];
    for object in &app.objects {
        all.push(format!("object {}", object.state.word()));
        for field in &object.fields {
            all.push(format!("status {}", field.status.word()));
            all.push(format!("verdict {}", field.verdict.word()));
            let owners = field.owners.iter();
            all.extend(owners.map(|owner| format!("owner {}", owner.class.word())));
        }
    }
    all
}

#[test]
fn the_page_says_what_is_printed() {
    let page = include_str!("../../../docs/drift.md");
    let mut example = Example::default();
    let (mut walked, mut wrong, mut seen) = (0, vec![], BTreeSet::new());
    for (info, text) in blocks(page) {
        match info.as_str() {
            "yaml app" => example.app = values(&text),
            "yaml settings" => example.settings = values(&text),
            "yaml git" => example.git = values(&text),
            "yaml live" => example.live = values(&text),
            "text diff" => {
                walked += 1;
                let drift = std::mem::take(&mut example).compared();
                seen.extend(words_of(&drift));
                let printed = report(&drift, true, &|_| None);
                if printed.trim() != text.trim() {
                    wrong.push(format!("=== example {walked}\n{}", printed.trim()));
                }
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "printed is:\n{}\n===", wrong.join("\n"));
    assert!(walked >= 20, "{walked} examples");
    let told = [
        "app in-sync",
        "app drifted",
        "app additions-only",
        "app unknown",
        "object drifted",
        "object missing",
        "object extra",
        "object unknown",
        "object ignored",
        "object in-sync",
        "status changed",
        "status extra",
        "status missing",
        "status extra-foreign",
        "status changed-format",
        "status changed-type",
        "status order-only",
        "verdict drift",
        "verdict held",
        "verdict residual",
        "verdict ignored",
        "verdict noise",
        "verdict unknown",
        "owner person",
        "owner automation",
        "owner gitops",
        "owner unknown",
    ];
    let untold: Vec<&str> = told
        .into_iter()
        .filter(|word| !seen.contains(*word))
        .collect();
    assert!(untold.is_empty(), "no example has {untold:?}");
}
