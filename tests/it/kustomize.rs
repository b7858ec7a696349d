//! Reported kustomize cases: our rendering against what kustomize 5.8.1 printed, as data.

use std::path::{Path, PathBuf};

use gitops_tui::domain::render::kustomize::{self, Built, Cache, LoadRestriction, Options};
use gitops_tui::domain::yaml::{self, Dialect};
use gitops_tui::world::disk::DiskTree;
use serde_json::Value;

use crate::backfill::files::Files;

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus/cases")
        .join(name)
}

fn build(name: &str, folder: &str, options: &Options) -> Built {
    let tree = DiskTree::open(&case(name)).unwrap();
    kustomize::build(&tree, folder, None, options, &Cache::default())
}

/// Reads a stream's objects, in an order of their own.
fn objects(text: &str) -> Vec<String> {
    let mut objects: Vec<String> = yaml::parse(text.as_bytes())
        .documents
        .iter()
        .map(|document| document.to_json(Dialect::Kubectl).unwrap())
        .filter(|value| *value != Value::Null)
        .map(|value| serde_json::to_string_pretty(&value).unwrap())
        .collect();
    objects.sort();
    objects
}

fn assert_renders(name: &str, folder: &str, expected: &str, options: &Options) {
    let built = build(name, folder, options);
    assert_eq!(built.problems, [], "{name}/{folder}");
    let text = kustomize::text(built.objects.iter().map(|object| &object.value));
    let expected = std::fs::read_to_string(case(name).join(expected)).unwrap();
    pretty(
        &objects(&expected),
        &objects(&text),
        &format!("{name}/{folder}"),
    );
}

fn pretty(expected: &[String], found: &[String], what: &str) {
    assert_eq!(expected.join("\n"), found.join("\n"), "{what}");
}

fn assert_fails(name: &str, folder: &str, words: &[&str]) {
    let built = build(name, folder, &Options::default());
    let text: Vec<String> = built.problems.iter().map(ToString::to_string).collect();
    assert!(!text.is_empty(), "{name}/{folder} renders");
    for word in words {
        assert!(
            text.iter().any(|text| text.contains(word)),
            "{name}/{folder}: `{word}` not in {text:?}"
        );
    }
}

#[test]
fn cases_render_as_kustomize_renders_them() {
    let options = Options::default();
    for (name, folder, expected) in [
        ("K01", "tree", "expected.yaml"),
        ("K02", "tree", "expected.yaml"),
        ("K04", "tree", "expected.yaml"),
        ("K05", "tree", "expected.yaml"),
        ("K05", "tree-crlfhash", "expected-crlfhash.yaml"),
        ("K07", "tree-multi", "expected-multi.yaml"),
        ("K07", "tree-comments", "expected-5.8.yaml"),
        ("K07", "tree-empty", "expected-5.8.yaml"),
        ("K08", "tree", "expected.yaml"),
        ("K10", "tree", "expected.yaml"),
        ("K11", "tree/overlay", "expected.yaml"),
        ("K13", "tree", "expected.yaml"),
        ("K13", "tree-structured", "expected-structured-5.8.yaml"),
        ("K14", "tree", "expected-5.8.yaml"),
        ("K16", "tree", "expected.yaml"),
        ("K17", "tree", "expected.yaml"),
        ("K18", "tree-link/app", "expected-link.yaml"),
    ] {
        assert_renders(name, folder, expected, &options);
    }
}

#[test]
fn lists_that_lose_entries_are_warned_about() {
    let built = build("K01", "tree", &Options::default());
    let warnings: Vec<String> = built.warnings.iter().map(ToString::to_string).collect();
    assert!(
        warnings
            .iter()
            .any(|warning| warning.contains("loses entries")),
        "{warnings:?}"
    );
}

#[test]
fn cases_fail_where_kustomize_fails() {
    assert_fails("K05", "tree-tabindent", &["t.yaml", "line 4"]);
    assert_fails("K07", "tree-multi-target", &["both.yaml", "target"]);
    assert_fails("K18", "tree-dotdot/app", &["security"]);
    assert_fails("K18", "tree-escape/app", &["security", "outside.yaml"]);
}

#[test]
fn flux_reads_files_of_the_whole_artifact() {
    let options = Options {
        restriction: LoadRestriction::Artifact,
        ..Options::default()
    };
    assert_renders(
        "K18",
        "tree-dotdot/app",
        "expected-dotdot-flux.yaml",
        &options,
    );
}

/// kustomize hangs one node into every place where a label or an annotation was missing, so whoever writes to one of
/// them later writes to all: each row is what the real tool printed for the value in the metadata, the selector and the
/// template.
#[test]
fn a_label_that_was_set_in_many_places_at_once_is_one_node() {
    const MERGE: &str =
        "patches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, ";
    let merged = |field: &str| format!("{MERGE}{field}: {{x: two}}}}}}'}}]");
    let replaced = |path: &str| {
        format!(
            "replacements: [{{sourceValue: three, targets: [{{select: {{kind: Deployment}}, fieldPaths: [{path}]}}]}}]"
        )
    };
    let json = "patches: [{target: {kind: Deployment}, patch: '[{op: replace, path: /metadata/labels/x, value: two}]'}]";
    let notes = "commonAnnotations: {x: one}";
    let everywhere = "commonLabels: {x: one}";
    let templates = "labels: [{pairs: {x: one}, includeTemplates: true}]";
    for (base, top, field, expected) in [
        (notes, merged("annotations"), "annotations", "two - two"),
        (
            everywhere,
            "labels: [{pairs: {x: two}}]".to_owned(),
            "labels",
            "two two two",
        ),
        (templates, merged("labels"), "labels", "two - two"),
        (everywhere, json.to_owned(), "labels", "two one one"),
        (
            templates,
            replaced("metadata.labels.x"),
            "labels",
            "three - three",
        ),
        (
            notes,
            format!("namePrefix: a-\n{}", replaced("metadata.annotations.x")),
            "annotations",
            "three - three",
        ),
        (
            notes,
            format!("namespace: a\n{}", replaced("metadata.annotations.x")),
            "annotations",
            "three - three",
        ),
    ] {
        let files = Files::new(&[
            (
                "base/kustomization.yaml",
                &format!("resources: [web.yaml]\n{base}\n"),
            ),
            (
                "base/web.yaml",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {}}}\n",
            ),
            (
                "top/kustomization.yaml",
                &format!("resources: [../base]\n{top}\n"),
            ),
        ]);
        let built = kustomize::build(&files, "top", None, &Options::default(), &Cache::default());
        assert_eq!(built.problems, [], "{base} below {top}");
        let value = &built.objects[0].value;
        let found = [
            format!("/metadata/{field}/x"),
            "/spec/selector/matchLabels/x".to_owned(),
            format!("/spec/template/metadata/{field}/x"),
        ]
        .map(|at| {
            value
                .pointer(&at)
                .map_or("-", |value| value.as_str().unwrap())
        });
        assert_eq!(found.join(" "), expected, "{base} below {top}");
    }
}
