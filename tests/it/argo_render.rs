//! What Argo CD's repo server and controller rendered for real Applications (`tests/corpus/argo/diff`).

use std::path::Path;

use gitops_tui::domain::fault::FaultKind;
use gitops_tui::domain::object::ObjectId;
use gitops_tui::domain::render::argo::managed_namespace;
use gitops_tui::domain::render::{Profile, Rendered, Request, render};
use gitops_tui::domain::yaml;
use serde_json::Value;

use crate::folder::{Folder, cases, check_places, difference, objects, text};

/// What a problem must say where the server could not render the app.
const REFUSED: [(&str, &str); 5] = [
    (
        "07-dir-json-array",
        "Failed to unmarshal \"arr.json\": json: cannot unmarshal array",
    ),
    (
        "10-dir-bad-manifest",
        "Failed to unmarshal \"bad.yaml\": failed to unmarshal manifest: error converting YAML to JSON",
    ),
    ("12-dir-no-path", "apps/nowhere: app path does not exist"),
    ("160-kz-outside-denied", "apps/kz-outside-denied"),
    (
        "22-kz-common-annotation-clash",
        "label team already in kustomization file. Use --force to override.",
    ),
];

/// Charts: a problem by name.
const CHARTS: [&str; 7] = [
    "24-helm-precedence",
    "25-helm-values-object",
    "27-helm-hooks",
    "28-helm-crds",
    "30-helm-random",
    "31-multi-ref-values",
    "169-helm-valuefiles-glob",
];

fn render_case(case: &Path) -> (Value, Vec<Rendered>) {
    let one = |name: &str| text(case, name).map(|text| objects(&text).remove(0));
    let app = one("app.yaml").unwrap();
    let tree = Folder::new(case.join("tree"));
    let sources = app
        .pointer("/spec/sources")
        .and_then(Value::as_array)
        .map_or(1, Vec::len);
    let rendered = (0..sources).map(|source| {
        let profile = Profile::Argo {
            app: app.clone(),
            source,
            settings: one("argocd-cm.yaml"),
        };
        render(
            &tree,
            &Request {
                profile,
                path: String::new(),
            },
        )
    });
    (app.clone(), rendered.collect())
}

/// Prints objects sorted by identity, so that order and spelling do not matter.
fn printed(values: &[Value]) -> String {
    let mut texts: Vec<(Option<ObjectId>, String)> = values
        .iter()
        .map(|value| (ObjectId::of(value), yaml::emit(value)))
        .collect();
    texts.sort();
    let texts: Vec<String> = texts.into_iter().map(|(_, text)| text).collect();
    texts.join("---\n")
}

/// Returns what is wrong with a case; nothing where it is right.
fn check(case: &Path, name: &str) -> String {
    let (app, rendered) = render_case(case);
    let problems: Vec<_> = rendered
        .iter()
        .flat_map(|rendered| &rendered.problems)
        .collect();
    let says: String = problems
        .iter()
        .map(|fault| format!("  {fault}\n"))
        .collect();
    if CHARTS.contains(&name) {
        let named = problems
            .iter()
            .any(|fault| fault.kind == FaultKind::Unsupported);
        return if named {
            String::new()
        } else {
            format!("no problem names the chart\n{says}")
        };
    }
    if let Some((_, heart)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return if says.contains(heart) {
            String::new()
        } else {
            format!("no problem says `{heart}`, but:\n{says}")
        };
    }
    let mut expected = objects(&text(case, "desired.yaml").unwrap());
    // the controller adds the Namespace it manages where the live one carries the app's tracking id
    if let Some(managed) = managed_namespace(&app) {
        expected.retain(|value| *value != managed.value);
    }
    let got = rendered.into_iter().flat_map(|rendered| rendered.objects);
    let (expected, got) = (
        printed(&expected),
        printed(&got.map(|object| object.value).collect::<Vec<_>>()),
    );
    let mut wrong = String::new();
    if expected != got {
        wrong += &difference(&expected, &got);
    }
    wrong + &says
}

#[test]
fn renders_what_the_server_rendered() {
    let cases = cases("argo/diff");
    assert_eq!(cases.len(), 114, "the recordings are all there");
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
        "{} of 114 cases fail: {failed:?}",
        failed.len()
    );
}

#[test]
fn every_field_of_every_recording_knows_its_place() {
    let mut fields = 0;
    for case in cases("argo/diff") {
        for object in render_case(&case)
            .1
            .iter()
            .flat_map(|rendered| &rendered.objects)
        {
            fields += check_places(&case.join("tree"), object);
        }
    }
    assert!(fields > 1000, "{fields} fields");
}
