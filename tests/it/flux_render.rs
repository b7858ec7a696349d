//! What Flux's own controllers rendered, byte for byte, and what they refused, by name.
//!
//! The recordings come from real controllers (`tests/corpus/flux/render`); the cases F* from public reports.

use std::path::Path;

use gitops_tui::domain::fault::{Fault, FaultKind};
use gitops_tui::domain::render::flux::inventory_id;
use gitops_tui::domain::render::{Entry, EntryKind, Profile, Rendered, Request, Tree, render};
use gitops_tui::domain::yaml;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::folder::{Folder, cases, check_places, corpus, difference, objects, text};

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

/// Objects without what the build does not add: owner labels.
fn without_owner(rendered: &Rendered) -> Vec<Value> {
    let values = rendered.objects.iter().map(|object| {
        let mut value = object.value.clone();
        let labels = value["metadata"]["labels"].as_object_mut().unwrap();
        labels.retain(|key, _| !key.starts_with("kustomize.toolkit.fluxcd.io/"));
        if labels.is_empty() {
            value["metadata"].as_object_mut().unwrap().remove("labels");
        }
        value
    });
    values.collect()
}

fn sorted(mut values: Vec<Value>) -> Vec<String> {
    values.sort_by_key(|value| {
        (
            value["kind"].to_string(),
            value["metadata"]["name"].to_string(),
        )
    });
    values.iter().map(yaml::emit).collect()
}

#[test]
fn substitutes_as_the_reports_say() {
    for case in ["F02", "F06", "F08"] {
        let case = corpus("cases").join(case);
        let rendered = render_case(&case, "flux-kustomization.yaml");
        assert_eq!(says(&rendered.problems), "");
        let expected = objects(&text(&case, "expected.yaml").unwrap());
        let (expected, got) = (
            sorted(expected).concat(),
            sorted(without_owner(&rendered)).concat(),
        );
        assert_eq!(expected, got, "{}", difference(&expected, &got));
    }
    let strict = render_case(&corpus("cases/F01"), "flux-kustomization.yaml");
    assert!(says(&strict.problems).contains("PW_URL") && strict.text.is_none());
    let broken =
        says(&render_case(&corpus("cases/F08"), "flux-kustomization-broken.yaml").problems);
    assert!(
        broken.contains("Kubernetes YAML") && broken.contains("apps/broken/values.yaml"),
        "{broken}"
    );
}

/// A repository of one file.
struct OneFile(String);

impl Tree for OneFile {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        Ok((path == "cm.yaml").then(|| self.0.clone().into_bytes()))
    }

    fn list(&self, path: &str) -> Result<Option<Vec<Entry>>, Fault> {
        let entry = Entry {
            name: "cm.yaml".into(),
            kind: EntryKind::File,
        };
        Ok(path.is_empty().then(|| vec![entry]))
    }

    fn real_path(&self, path: &str) -> Result<Option<String>, Fault> {
        Ok(["", "cm.yaml"].contains(&path).then(|| path.to_owned()))
    }
}

/// Renders one template inside a ConfigMap with the variables of the case F04.
fn expanded(template: &str) -> Result<String, String> {
    let cm = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"line": template}});
    let app = json!({"metadata": {"name": "app", "namespace": "flux-system"}, "spec": {"postBuild": {"substitute": {
        "SET": "value", "EMPTY": "", "NUM": "1234567", "PATH_": "a/b/c.tar.gz",
    }}}});
    let profile = Profile::Flux {
        app,
        objects: vec![],
        source: None,
    };
    let rendered = render(
        &OneFile(yaml::emit(&cm)),
        &Request {
            profile,
            path: String::new(),
        },
    );
    match rendered.problems.first() {
        Some(fault) => Err(fault.sentence.clone()),
        None => Ok(rendered.objects[0].value["data"]["line"]
            .as_str()
            .unwrap()
            .to_owned()),
    }
}

#[test]
fn expands_the_table_of_operators() {
    let table = text(&corpus("cases/F04"), "expected-table.txt").unwrap();
    let mut checked = 0;
    for block in table.split("\n\n").filter(|block| block.starts_with("in:")) {
        let line = |start: &str| {
            block
                .lines()
                .find_map(|line| line.strip_prefix(start))
                .unwrap()
                .trim_start()
                .to_owned()
        };
        let got = expanded(&line("in:"));
        let expected = line("strict:");
        match expected.strip_prefix("ERROR ") {
            Some(error) => assert!(
                got.as_ref().unwrap_err().contains(error),
                "{block}\n{got:?}"
            ),
            None => assert_eq!(got.as_deref(), Ok(expected.as_str()), "{block}"),
        }
        checked += 1;
    }
    assert_eq!(checked, 16);
    for template in [
        "unclosed ${SET",
        "space ${SET }",
        "dot ${my.var}",
        "emptyname ${}",
    ] {
        let error = expanded(template).unwrap_err();
        assert!(
            error.contains("ConfigMap") && error.contains("envsubst error"),
            "{template}: {error}"
        );
    }
}

#[test]
fn every_field_of_every_recording_knows_its_place() {
    let mut fields = 0;
    for case in cases("flux/render") {
        let rendered = render_case(&case, "ks.yaml");
        for object in &rendered.objects {
            fields += check_places(&case.join("tree"), object);
        }
    }
    assert!(fields > 1000, "{fields} fields");
}
