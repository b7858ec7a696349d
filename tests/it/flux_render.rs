//! What Flux's own controllers rendered, byte for byte, and what they refused, by name.
//!
//! The recordings come from real controllers (`tests/corpus/flux/render`); the cases F* from public reports.

use std::path::Path;

use gitops_tui::domain::fault::{Fault, FaultKind};
use gitops_tui::domain::render::flux::inventory_id;
use gitops_tui::domain::render::{Profile, Rendered, Request, render};
use sha2::{Digest as _, Sha256};

use crate::folder::{Folder, cases, difference, objects, text};

/// What a problem must say where the controller refused the build: the heart of its own message.
const REFUSED: [(&str, &str); 15] = [
    ("17-path-is-a-file", "not a directory"),
    (
        "28-patch-without-target-no-match",
        "no matches for Id ConfigMap.v1.[noGrp]/absent.[noNs]",
    ),
    (
        "29-patch-json6902-test-fails",
        "testing value /data/colour failed: test failed",
    ),
    (
        "34-components-remote-refused",
        "'http://git.example.test/other.git//comp' must be local and relative",
    ),
    (
        "38-substitute-unset-is-strict",
        "post build failed for 'ConfigMap.v1.[noGrp]/subst-strict': envsubst error: variable substitution failed: variable not set (strict mode): \"nowhere\"",
    ),
    (
        "44-substitute-two-objects-same-name-after",
        "id matched 2 resources",
    ),
    (
        "50-substitute-bad-variable-name",
        "'bad-name' var name is invalid",
    ),
    (
        "64-duplicate-objects",
        "may not add resource with an already registered id: ConfigMap.v1.[noGrp]/dup.shop",
    ),
    ("68-non-string-keys", "kustomize refuses it"),
    ("70-template-text-in-yaml", "templates/dep.yaml"),
    ("73-symlinked-resource-in-kustomization", "link.yaml"),
    (
        "76-unknown-field-in-nested-file",
        "unknown field \"namePrefx\"",
    ),
    (
        "77-two-kustomization-files",
        "Found multiple kustomization files",
    ),
    ("80-helm-charts-field", "elm"),
    (
        "95-remote-base-missing-ref",
        "http://git.example.test/shared2.git//web?ref=absent",
    ),
];

/// Needs another repository, which a rendering without a network does not have: a problem by name.
const REMOTE: [&str; 1] = ["74-remote-base"];

fn render_case(case: &Path, app: &str) -> Rendered {
    let one = |name: &str| text(case, name).map(|text| objects(&text).remove(0));
    let tree = Folder::new(case.join("tree"));
    let mut read = vec![];
    for name in ["objects.yaml", "cluster.yaml"] {
        read.extend(
            text(case, name)
                .map(|text| objects(&text))
                .unwrap_or_default(),
        );
    }
    let app = one(app).unwrap();
    let profile = Profile::Flux {
        app,
        objects: read,
        source: one("source.yaml"),
    };
    render(
        &tree,
        &Request {
            profile,
            path: String::new(),
        },
    )
}

fn says(problems: &[Fault]) -> String {
    let lines: Vec<String> = problems
        .iter()
        .map(|fault| format!("  {fault}\n"))
        .collect();
    lines.concat()
}

/// Returns what is wrong with a case; nothing where it is right.
fn check(case: &Path, name: &str) -> String {
    let rendered = render_case(case, "ks.yaml");
    let problems = says(&rendered.problems);
    if REMOTE.contains(&name) {
        let named = rendered
            .problems
            .iter()
            .any(|fault| fault.kind == FaultKind::Unsupported);
        return if named {
            String::new()
        } else {
            format!("no problem names the remote base\n{problems}")
        };
    }
    let Some(expected) = text(case, "expected.yaml") else {
        let heart = REFUSED
            .iter()
            .find(|(refused, _)| *refused == name)
            .unwrap()
            .1;
        return if problems.contains(heart) && rendered.text.is_none() {
            String::new()
        } else {
            format!("no problem says `{heart}`, but:\n{problems}")
        };
    };
    let Some(got) = rendered.text else {
        return format!("no text, because of:\n{problems}");
    };
    let mut wrong = String::new();
    if got != expected {
        wrong += &difference(&expected, &got);
    }
    let digest: String = Sha256::digest(&got)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let recorded = text(case, "digest.txt").unwrap();
    if wrong.is_empty() && recorded.trim() != format!("sha256:{digest}") {
        wrong += "the digest differs\n";
    }
    if let Some(inventory) = text(case, "inventory.txt") {
        let recorded: Vec<&str> = inventory
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        let mut got: Vec<String> = rendered
            .objects
            .iter()
            .map(|object| inventory_id(&object.id))
            .collect();
        let mut recorded: Vec<String> = recorded.into_iter().map(str::to_owned).collect();
        got.sort();
        recorded.sort();
        if got != recorded {
            wrong += &format!("inventory: expected {recorded:?}, got {got:?}\n");
        }
    }
    if !rendered.problems.is_empty() && !wrong.is_empty() {
        wrong += &problems;
    }
    wrong
}

#[test]
fn renders_what_the_controller_rendered() {
    let cases = cases("flux/render");
    assert_eq!(cases.len(), 66, "the recordings are all there");
    let mut failed = vec![];
    for case in &cases {
        let name = case.file_name().unwrap().to_str().unwrap();
        let wrong = check(case, name);
        if !wrong.is_empty() {
            println!("==== {name}\n{wrong}");
            failed.push(name.to_owned());
        }
    }
    assert!(
        failed.is_empty(),
        "{} of 66 cases fail: {failed:?}",
        failed.len()
    );
}
