//! Backfill plans, proven by rendering again: the cases W09 and W11, and one picture per way a value arrives.

pub(crate) mod files;

use std::path::{Path, PathBuf};

use gitops_tui::domain::backfill::{App, Hand, Message, Other, Plan, Wish, plan};
use gitops_tui::domain::object::{FieldPath, ObjectId, PathStep};
use gitops_tui::domain::render::Tree;
use serde_json::{Value, json};

use files::Files;
use gitops_tui::domain::render::{Profile, Rendered, Request, render as engine};

/// Renders a folder as `kustomize build` does.
fn render(tree: &dyn Tree, folder: &str) -> Rendered {
    let request = Request {
        profile: Profile::Kustomize,
        path: folder.to_owned(),
    };
    engine(tree, &request)
}

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus/cases")
        .join(name)
}

/// Makes a wish about an object of `folder`; the object is named by kind and a prefix of its name.
fn wish(files: &Files, folder: &str, object: &str, path: &str, to: Option<Value>) -> Wish {
    let rendered = render(files, folder);
    let (kind, name) = object.split_once('/').unwrap();
    let desired = rendered
        .objects
        .iter()
        .find(|desired| desired.id.kind == kind && desired.id.name.starts_with(name))
        .unwrap_or_else(|| panic!("no {object}: {:?}", rendered.problems));
    let path: FieldPath = path.parse().unwrap();
    Wish {
        object: desired.id.clone(),
        from: path.get(&desired.value).cloned(),
        origin: path
            .route_in(&desired.value)
            .and_then(|route| desired.origins.of(&route).cloned()),
        path,
        to,
    }
}

type Render<'r> = Box<dyn Fn(&dyn Tree) -> Rendered + 'r>;

fn plan_for(files: &Files, folder: &str, wishes: &[Wish], others: &[&str]) -> Plan {
    let own = |tree: &dyn Tree| render(tree, folder);
    let renders: Vec<Render<'_>> = others
        .iter()
        .map(|other| Box::new(move |tree: &dyn Tree| render(tree, other)) as Render<'_>)
        .collect();
    let others: Vec<Other<'_>> = others
        .iter()
        .zip(&renders)
        .map(|(words, render)| Other {
            words: (*words).to_owned(),
            render,
            before: None,
        })
        .collect();
    let app = App {
        folder,
        render: &own,
    };
    plan(files, &app, wishes, &others)
}

fn after(plan: &Plan, path: &str) -> String {
    let edit = plan.files.iter().find(|edit| edit.path == path);
    let edit = edit.unwrap_or_else(|| {
        panic!(
            "{path} is not edited: {:?} {:?}",
            plan.accepted, plan.refused
        )
    });
    String::from_utf8(edit.after.clone()).unwrap()
}

#[test]
fn w09_values_go_where_they_are_decided() {
    let files = Files::corpus(&case("W09/tree"));
    let changes: Value =
        serde_json::from_slice(&std::fs::read(case("W09/live-changes.json")).unwrap()).unwrap();
    let wishes: Vec<Wish> = changes
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            let object = change["object"]
                .as_str()
                .unwrap()
                .trim_end_matches("-<hash>");
            let path = change["path"].as_str().unwrap();
            wish(
                &files,
                "overlays/prod",
                object,
                path,
                Some(change["live"].clone()),
            )
        })
        .collect();
    let (level, others): (Vec<Wish>, Vec<Wish>) = wishes
        .into_iter()
        .partition(|wish| wish.path.to_string().contains("LEVEL"));
    let plan = plan_for(&files, "overlays/prod", &others, &["overlays/dev"]);
    for file in [
        "overlays/prod/kustomization.yaml",
        "overlays/prod/memory.yaml",
    ] {
        let expected = std::fs::read_to_string(case("W09/expected").join(file)).unwrap();
        assert_eq!(after(&plan, file), expected, "{file}");
    }
    let places: Vec<&str> = plan
        .accepted
        .iter()
        .map(|accepted| accepted.place.as_str())
        .collect();
    assert_eq!(
        places,
        [
            "overlays/prod/kustomization.yaml:8 replicas[0].count",
            "overlays/prod/kustomization.yaml:11 images[0].newTag",
            "overlays/prod/memory.yaml:9 spec.template.spec.containers[0].resources.limits.memory",
            "overlays/prod/kustomization.yaml:16 configMapGenerator[0].literals[1]",
        ]
    );
    assert_eq!(
        plan.refused.len(),
        1,
        "the name is never a candidate: {:?}",
        plan.refused
    );
    assert_eq!(
        (plan.proof.agree, plan.proof.moved, plan.also_changes.len()),
        (4, 0, 0)
    );
    assert!(
        plan.notes[0].contains("rolls out again"),
        "{:?}",
        plan.notes
    );
    // A value that only the shared base sets goes into the overlay; the base stays.
    let plan = plan_for(&files, "overlays/prod", &level, &["overlays/dev"]);
    assert_eq!(plan.files.len(), 1);
    assert!(after(&plan, "overlays/prod/memory.yaml").contains("LEVEL"));
    assert_eq!(
        (plan.proof.agree, plan.proof.moved, plan.also_changes.len()),
        (1, 0, 0)
    );
}

#[test]
fn w11_encrypted_files_and_secrets_are_refused_by_name() {
    let mut files = Files::corpus(&case("W11/before"));
    files.0.insert(
        "kustomization.yaml".to_owned(),
        b"resources: [plain-secret.yaml, secret.enc.yaml, macenc.enc.yaml]\n".to_vec(),
    );
    let files = Files(
        files
            .0
            .into_iter()
            .map(|(path, bytes)| (format!("app/{path}"), bytes))
            .collect(),
    );
    let edits: Value =
        serde_json::from_slice(&std::fs::read(case("W11/edit.json")).unwrap()).unwrap();
    let wishes: Vec<Wish> = edits
        .as_array()
        .unwrap()
        .iter()
        .map(|edit| {
            let object = ObjectId {
                api_version: "v1".to_owned(),
                kind: "Secret".to_owned(),
                namespace: None,
                name: edit["document"]["name"].as_str().unwrap().to_owned(),
            };
            let made = wish(
                &files,
                "app",
                &format!("Secret/{}", object.name),
                edit["path"].as_str().unwrap(),
                Some(edit["value"].clone()),
            );
            Wish { object, ..made }
        })
        .collect();
    let plan = plan_for(&files, "app", &wishes, &[]);
    let accepted: Vec<String> = plan
        .accepted
        .iter()
        .map(|accepted| accepted.place.clone())
        .collect();
    assert_eq!(accepted, ["app/macenc.enc.yaml:6 metadata.labels.tier"]);
    let before = String::from_utf8(files.0["app/macenc.enc.yaml"].clone()).unwrap();
    assert_eq!(
        after(&plan, "app/macenc.enc.yaml"),
        before.replace("tier: web", "tier: api")
    );
    let reasons: Vec<&str> = plan
        .refused
        .iter()
        .map(|refused| refused.reason.as_str())
        .collect();
    assert_eq!(plan.files.len(), 1);
    assert!(
        reasons[0].contains("in clear") && reasons[2].contains("in clear"),
        "{reasons:?}"
    );
    assert!(reasons[1].contains("MAC"), "{reasons:?}");
    let words = std::fs::read_to_string(case("W11/must-not-contain.txt")).unwrap();
    for word in words.lines().filter(|line| !line.starts_with('#')) {
        for refused in &plan.refused {
            assert!(!format!("{}{}", refused.reason, refused.hint).contains(word));
        }
        assert!(
            !plan
                .files
                .iter()
                .any(|file| String::from_utf8_lossy(&file.after).contains(word))
        );
    }
}

const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  labels:\n    tier: front # ours\nspec:\n  replicas: 2 # two\n  template:\n    spec:\n      containers:\n      - name: app\n        image: r/app:1\n        args: [--a, --b]\n      - name: side\n        image: r/app:1\n";

fn plain() -> Files {
    Files::new(&[
        ("app/kustomization.yaml", "resources:\n- web.yaml\n"),
        ("app/web.yaml", DEPLOYMENT),
    ])
}

#[test]
fn a_plain_file_takes_changes_extras_and_removals() {
    let files = plain();
    let ask = |path: &str, to: Option<Value>| wish(&files, "app", "Deployment/web", path, to);
    let plan = plan_for(
        &files,
        "app",
        &[
            ask("spec.replicas", Some(json!(5))),
            ask(
                "spec.template.spec.containers[name=app].args[1]",
                Some(json!("--c=1")),
            ),
            ask("metadata.labels.tier", None),
            ask("metadata.annotations[\"a.b/c\"]", Some(json!("yes"))),
            ask(
                "spec.template.spec.containers[name=side].resources.limits.cpu",
                Some(json!("1")),
            ),
            ask(
                "spec.template.spec.containers[name=side].resources.limits.memory",
                Some(json!("1Gi")),
            ),
        ],
        &[],
    );
    assert_eq!(plan.refused, vec![]);
    assert_eq!((plan.proof.agree, plan.proof.moved), (6, 0));
    assert_eq!(
        after(&plan, "app/web.yaml"),
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  labels: {}\n  annotations:\n    a.b/c: \"yes\"\nspec:\n  replicas: 5 # two\n  template:\n    spec:\n      containers:\n      - name: app\n        image: r/app:1\n        args: [--a, --c=1]\n      - name: side\n        image: r/app:1\n        resources:\n          limits:\n            cpu: \"1\"\n            memory: 1Gi\n"
    );
}

#[test]
fn two_containers_of_one_image_move_together_or_not_at_all() {
    let mut files = plain();
    files.0.insert(
        "app/kustomization.yaml".to_owned(),
        b"resources:\n- web.yaml\nimages:\n- name: r/app\n  newTag: \"1\"\n".to_vec(),
    );
    let ask = |container: &str| {
        let path = format!("spec.template.spec.containers[name={container}].image");
        wish(
            &files,
            "app",
            "Deployment/web",
            &path,
            Some(json!("r/app:2")),
        )
    };
    let both = plan_for(&files, "app", &[ask("app"), ask("side")], &[]);
    assert_eq!(
        (both.proof.agree, both.proof.moved, both.refused.len()),
        (2, 0, 0)
    );
    assert!(after(&both, "app/kustomization.yaml").contains("newTag: \"2\""));
    // One of them alone: the entry would move the other too, and no patch wins over it.
    let one = plan_for(&files, "app", &[ask("app")], &[]);
    assert_eq!((one.files.len(), one.refused.len()), (0, 1));
    assert!(
        one.refused[0].reason.contains("would also change"),
        "{:?}",
        one.refused
    );
}

#[test]
fn inline_patches_env_files_and_data_files_are_edited_in_place() {
    let files = Files::new(&[
        ("base/kustomization.yaml", "resources:\n- web.yaml\n"),
        ("base/web.yaml", DEPLOYMENT),
        (
            "app/kustomization.yaml",
            "resources:\n- ../base\npatches:\n- patch: |-  # ours\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata:\n      name: web\n    spec:\n      replicas: 3   # three\nconfigMapGenerator:\n- name: env\n  envs: [app.env]\n  files: [notes.txt]\n",
        ),
        ("app/app.env", "# settings\nA=1\r\nB=two\n"),
        ("app/notes.txt", "one\ntwo\n"),
    ]);
    let wishes = [
        wish(
            &files,
            "app",
            "Deployment/web",
            "spec.replicas",
            Some(json!(7)),
        ),
        wish(
            &files,
            "app",
            "ConfigMap/env",
            "data.B",
            Some(json!("2 = two")),
        ),
        wish(
            &files,
            "app",
            "ConfigMap/env",
            "data[\"notes.txt\"]",
            Some(json!("one\nthree\n")),
        ),
        wish(
            &files,
            "app",
            "ConfigMap/env",
            "data.A",
            Some(json!("x\ny")),
        ),
    ];
    let plan = plan_for(&files, "app", &wishes, &[]);
    assert!(after(&plan, "app/kustomization.yaml").contains("\n      replicas: 7   # three\n"));
    assert!(after(&plan, "app/kustomization.yaml").contains("- patch: |-  # ours\n"));
    assert_eq!(
        after(&plan, "app/app.env"),
        "# settings\nA=1\r\nB=2 = two\n"
    );
    assert_eq!(after(&plan, "app/notes.txt"), "one\nthree\n");
    assert_eq!((plan.accepted.len(), plan.refused.len()), (3, 1));
    assert!(
        plan.refused[0].reason.contains("one line"),
        "{:?}",
        plan.refused
    );
}

#[test]
fn a_shared_base_stays_and_the_overlay_gets_a_patch() {
    let files = Files::new(&[
        ("base/kustomization.yaml", "resources:\n- web.yaml\n"),
        ("base/web.yaml", DEPLOYMENT),
        (
            "a/kustomization.yaml",
            "namePrefix: a-\nresources:\n- ../base\n",
        ),
        ("b/kustomization.yaml", "resources:\n- ../base\n"),
    ]);
    let ask = |path: &str, to: Option<Value>| wish(&files, "a", "Deployment/a-web", path, to);
    let plan = plan_for(
        &files,
        "a",
        &[
            ask(
                "spec.template.spec.containers[name=app].image",
                Some(json!("r/app:9")),
            ),
            ask("metadata.labels.tier", None),
        ],
        &["b"],
    );
    assert_eq!(plan.refused, vec![]);
    assert_eq!(plan.also_changes, vec![]);
    assert_eq!(
        after(&plan, "a/kustomization.yaml"),
        "namePrefix: a-\nresources:\n- ../base\npatches:\n- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata:\n      name: web\n      labels:\n        tier: null\n    spec:\n      template:\n        spec:\n          containers:\n          - image: r/app:9\n            name: app\n"
    );
}

#[test]
fn a_file_that_another_app_reads_is_named_when_it_must_change() {
    // `b` has no way around: it is the base itself that `a` builds on.
    let files = Files::new(&[
        (
            "b/kustomization.yaml",
            "resources:\n- web.yaml\nimages:\n- name: r/app\n  newTag: \"3\"\n",
        ),
        ("b/web.yaml", DEPLOYMENT),
        (
            "a/kustomization.yaml",
            "namePrefix: a-\nresources:\n- ../b\n",
        ),
    ]);
    let ask = |container: &str| {
        let path = format!("spec.template.spec.containers[name={container}].image");
        wish(&files, "b", "Deployment/web", &path, Some(json!("r/app:4")))
    };
    let plan = plan_for(&files, "b", &[ask("app"), ask("side")], &["a"]);
    assert_eq!((plan.proof.agree, plan.proof.moved), (2, 0));
    let named: Vec<String> = plan
        .also_changes
        .iter()
        .map(|also| format!("{} {} {}", also.app, also.object, also.path))
        .collect();
    assert_eq!(
        named,
        [
            "a Deployment/a-web spec.template.spec.containers[name=app].image",
            "a Deployment/a-web spec.template.spec.containers[name=side].image"
        ]
    );
}

#[test]
fn the_commit_message_says_what_from_what_by_whom() {
    let files = plain();
    let plan = plan_for(
        &files,
        "app",
        &[wish(
            &files,
            "app",
            "Deployment/web",
            "spec.replicas",
            Some(json!(5)),
        )],
        &[],
    );
    let hand = Hand {
        manager: "kubectl-edit\n\u{1b}[31m".to_owned(),
        time: Some("2026-12-01T03:00:00Z".to_owned()),
    };
    let accepted = [(&plan.accepted[0], Some(hand))];
    let message = Message {
        context: "prod-eu",
        app: "ks/flux-system/apps",
        accepted: &accepted,
    };
    let text = message.write();
    assert!(!text.contains('\u{1b}'));
    assert_eq!(
        text.lines().next(),
        Some("ks/flux-system/apps: accept spec.replicas of Deployment/web")
    );
    for line in [
        "    from 2",
        "    to   5",
        "    in   app/web.yaml:8 spec.replicas",
        "Drift-Context: prod-eu",
        "Drift-App: ks/flux-system/apps",
        "Drift-Object: Deployment/web",
        "Drift-Field: spec.replicas",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn what_an_overlay_in_between_decides_is_edited_there_unless_somebody_else_reads_it() {
    let files = Files::new(&[
        ("base/kustomization.yaml", "resources:\n- web.yaml\n"),
        ("base/web.yaml", DEPLOYMENT),
        (
            "prod/kustomization.yaml",
            "resources:\n- ../base\nreplicas:\n- name: web\n  count: 3\n",
        ),
        ("eu/kustomization.yaml", "resources:\n- ../prod\n"),
        ("us/kustomization.yaml", "resources:\n- ../prod\n"),
    ]);
    let wish = wish(
        &files,
        "eu",
        "Deployment/web",
        "spec.replicas",
        Some(json!(4)),
    );
    let alone = plan_for(&files, "eu", std::slice::from_ref(&wish), &[]);
    assert_eq!(
        alone.accepted[0].place,
        "prod/kustomization.yaml:5 replicas[0].count"
    );
    let beside = plan_for(&files, "eu", &[wish], &["us"]);
    assert_eq!(
        beside.accepted[0].place,
        "eu/kustomization.yaml patches[0] (new)"
    );
    assert_eq!(beside.also_changes, vec![]);
}

/// Lists the paths of an object's scalars, list items by name where all have one.
fn leaves(value: &Value, at: &FieldPath, found: &mut Vec<FieldPath>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                leaves(value, &at.key(key.as_str()), found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let named = items.iter().all(|item| item["name"].is_string());
            for (index, item) in items.iter().enumerate() {
                let step = if named {
                    PathStep::Item(vec![("name".into(), item["name"].as_str().unwrap().into())])
                } else {
                    PathStep::Index(index)
                };
                leaves(item, &at.join(step), found);
            }
        }
        _ => found.push(at.clone()),
    }
}

/// Every field of every object: accepted and proven, or refused with a reason; never anything between.
#[test]
fn every_field_is_accepted_with_proof_or_refused_by_name() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut trees = vec![(Files::corpus(&case("W09/tree")), "overlays/prod".to_owned())];
    for entry in ["cases", "flux/render"]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(corpus.join(folder)).unwrap())
    {
        let tree = entry.unwrap().path().join("tree");
        if tree.is_dir() {
            let files = Files::corpus(&tree);
            let roots: Vec<String> = files
                .0
                .keys()
                .filter_map(|file| file.strip_suffix("kustomization.yaml"))
                .map(|folder| folder.trim_end_matches('/').to_owned())
                .collect();
            trees.extend(roots.into_iter().map(|root| (files.clone(), root)));
        }
    }
    let mut accepted = 0;
    for (files, folder) in trees {
        let rendered = render(&files, &folder);
        for (number, desired) in rendered.objects.iter().enumerate() {
            let mut all = vec![];
            leaves(&desired.value, &FieldPath::default(), &mut all);
            for (nth, path) in all
                .into_iter()
                .enumerate()
                .filter(|(nth, _)| nth % 3 == number % 3)
            {
                let to = match path.get(&desired.value) {
                    Some(Value::Number(_)) => Some(json!(41)),
                    Some(Value::Bool(bool)) => Some(json!(!bool)),
                    _ if nth % 5 == 0 => None,
                    _ => Some(json!("live")),
                };
                let wish = Wish {
                    object: desired.id.clone(),
                    from: path.get(&desired.value).cloned(),
                    origin: None,
                    path,
                    to,
                };
                let plan = plan_for(&files, &folder, std::slice::from_ref(&wish), &[]);
                assert_eq!(plan.proof.moved, 0, "{folder} {wish:?}");
                assert_eq!(plan.accepted.len() + plan.refused.len(), 1);
                assert_eq!(
                    plan.files.is_empty(),
                    plan.accepted.is_empty(),
                    "{folder} {wish:?}"
                );
                let reasoned = plan
                    .refused
                    .iter()
                    .all(|refused| !refused.reason.is_empty() && !refused.hint.is_empty());
                assert!(reasoned, "{:?}", plan.refused);
                accepted += plan.accepted.len();
            }
        }
    }
    assert!(accepted > 30, "{accepted}");
}
