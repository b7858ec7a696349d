//! Our plans against what the real Argo CD 3.2.6 did with writes (`tests/corpus/argo/acts`).
//!
//! Each folder holds an Application before and after one write, the write, and what the controller made of it. Where
//! the write was one that a plan of ours can make, the plan must send the same operation, plus the two guards that the
//! recordings teach: `operationState` cleared in the same write, and the resourceVersion. Where the write was a trap,
//! the plan must refuse or warn.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gitops_tui::domain::fault::{Fault, FaultKind};
use gitops_tui::domain::fleet::{App, AppKind, AppState, Settings};
use gitops_tui::domain::operate::{
    Actor, HoldNote, Plan, Surroundings, SyncOptions, Write, hold, refresh, resume, rollback, sync,
    terminate,
};
use gitops_tui::domain::yaml::{Dialect, parse};
use jiff::Timestamp;
use serde_json::{Value, json};

const VERSION: &str = "1";

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/argo/acts");
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folders.sort();
    folders
}

fn folder(number: &str) -> PathBuf {
    folders()
        .into_iter()
        .find(|f| name(f).starts_with(number))
        .unwrap_or_else(|| panic!("no recording {number}"))
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap().to_string_lossy().into_owned()
}

fn yaml(path: &Path) -> Option<Value> {
    let bytes = std::fs::read(path).ok()?;
    let stream = parse(&bytes);
    assert!(stream.problems.is_empty(), "{}", path.display());
    // the Application of one recording is gone afterwards
    Some(stream.documents.first()?.to_json(Dialect::Kubectl).unwrap())
}

fn object(folder: &Path, when: &str) -> Value {
    found(folder, when).unwrap()
}

fn found(folder: &Path, when: &str) -> Option<Value> {
    let mut object = yaml(&folder.join(format!("app-{when}.yaml")))?;
    object["metadata"]["resourceVersion"] = json!(VERSION);
    Some(object)
}

fn now() -> Timestamp {
    "2026-01-01T01:00:00Z".parse().unwrap()
}

fn app(object: &Value) -> App {
    let context: Arc<str> = "prod".into();
    App::read(
        &context,
        AppKind::Application,
        object,
        now(),
        &Settings::default(),
    )
    .unwrap()
}

fn before(number: &str) -> App {
    app(&object(&folder(number), "before"))
}

fn actor() -> Actor {
    Actor {
        name: "alice".into(),
        now: now(),
    }
}

fn plain(app: &App, options: &SyncOptions) -> Result<Plan, Fault> {
    let project = json!({"spec": {}});
    let around = Surroundings {
        project: Some(&project),
        ..Surroundings::default()
    };
    sync(app, around, options, &actor())
}

fn body(plan: &Plan) -> Value {
    assert_eq!(plan.steps.len(), 1);
    plan.steps[0].write.body().clone()
}

/// Reads from a recorded operation how a person would have asked for it; `None` where no plan of ours says that.
fn options(write: &Value, object: &Value) -> Option<SyncOptions> {
    let sync = write.pointer("/operation/sync")?.as_object()?;
    let known = [
        "prune",
        "dryRun",
        "resources",
        "syncStrategy",
        "syncOptions",
    ];
    if sync.keys().any(|key| !known.contains(&key.as_str())) {
        return None;
    }
    if sync.get("syncOptions") != object.pointer("/spec/syncPolicy/syncOptions") {
        return None;
    }
    let flag = |key: &str| sync.get(key).and_then(Value::as_bool).unwrap_or(false);
    let strategy = sync.get("syncStrategy").cloned().unwrap_or(json!({}));
    if strategy.get("hook") == Some(&json!({})) || strategy.get("aply").is_some() {
        return None;
    }
    let text = |item: &Value, key: &str| {
        item.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    Some(SyncOptions {
        prune: flag("prune"),
        dry_run: flag("dryRun"),
        force: strategy.pointer("/hook/force").is_some(),
        apply_only: strategy.get("apply").is_some(),
        resources: sync
            .get("resources")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|i| {
                (
                    text(i, "group"),
                    text(i, "kind"),
                    text(i, "namespace"),
                    text(i, "name"),
                )
            })
            .collect(),
        ..SyncOptions::default()
    })
}

#[test]
fn a_plan_sends_the_operation_that_was_recorded_with_both_guards() {
    let mut compared = 0;
    for folder in folders() {
        let object = object(&folder, "before");
        let Some(write) = yaml(&folder.join("write.yaml")) else {
            continue;
        };
        let Some(options) = options(&write, &object) else {
            continue;
        };
        let Ok(plan) = plain(&app(&object), &options) else {
            continue;
        };
        let body = body(&plan);
        assert_eq!(
            body["operation"]["sync"],
            write["operation"]["sync"],
            "{}",
            name(&folder)
        );
        assert_eq!(body["operation"]["initiatedBy"]["username"], "alice");
        assert_eq!(
            (&body["metadata"], &body["status"]),
            (
                &json!({"resourceVersion": VERSION}),
                &json!({"operationState": null})
            ),
            "{}",
            name(&folder)
        );
        compared += 1;
    }
    assert!(compared >= 20, "only {compared} recordings were compared");
}

/// No recording may be read as calm: nothing was compared, whatever Argo CD says.
#[test]
fn no_recorded_state_reads_as_in_sync() {
    for folder in folders() {
        for when in ["before", "after"] {
            let Some(object) = found(&folder, when) else {
                continue;
            };
            let app = app(&object);
            let place = format!("{} {when}: {:?}", name(&folder), app.cause);
            assert!(app.state <= AppState::Held, "{place}");
            let out = object.pointer("/status/sync/status") == Some(&json!("OutOfSync"));
            if out {
                assert_ne!(app.state, AppState::Unknown, "{place}");
            }
        }
    }
}

#[test]
fn states_are_what_the_controller_meant() {
    let check = |number: &str| {
        let app = app(&object(&folder(number), "after"));
        format!("{}: {}", app.state.word(), app.cause.unwrap_or_default())
    };
    assert_eq!(check("01"), "unknown: not compared yet");
    assert!(check("17").starts_with("failed: sync failed: one or more objects failed to apply"));
    assert!(
        check("52").starts_with("failed: SyncError: "),
        "{}",
        check("52")
    );
    assert!(
        check("58").starts_with("failed: InvalidSpecError"),
        "{}",
        check("58")
    );
    assert_eq!(
        check("55"),
        "progressing: Sync operation blocked by sync window"
    );
    assert_eq!(check("64"), "held: skip-reconcile freezes it");
    assert!(check("79").starts_with("drifted: Argo CD reports OutOfSync: ConfigMap/"));
    assert!(check("26").starts_with("git-ahead"), "{}", check("26"));
}

#[test]
fn options_of_the_spec_are_copied_since_the_controller_copies_nothing() {
    let plan = plain(&before("07"), &SyncOptions::default()).unwrap();
    assert_eq!(
        body(&plan)["operation"]["sync"],
        json!({"syncOptions": ["CreateNamespace=true"]})
    );
}

#[test]
fn without_prune_it_says_what_stays_and_with_prune_what_goes() {
    let plan = plain(&before("08"), &SyncOptions::default()).unwrap();
    assert!(!plan.destructive);
    assert!(
        plan.warnings
            .iter()
            .any(|w| w.contains("without prune it stays")),
        "{:?}",
        plan.warnings
    );
    let prune = SyncOptions {
        prune: true,
        ..SyncOptions::default()
    };
    let plan = plain(&before("10"), &prune).unwrap();
    assert!(plan.destructive);
    assert!(
        plan.warnings
            .iter()
            .any(|w| w.starts_with("deletes what Git no longer has: ConfigMap/"))
    );
}

#[test]
fn a_choice_that_matches_nothing_is_refused_since_it_would_end_as_a_success() {
    let nobody = SyncOptions {
        resources: vec![(
            String::new(),
            "ConfigMap".into(),
            String::new(),
            "nobody".into(),
        )],
        ..SyncOptions::default()
    };
    let fault = plain(&before("13"), &nobody).unwrap_err();
    assert!(fault.sentence.contains("report success"), "{fault}");
}

#[test]
fn several_sources_get_one_revision_each_since_the_singular_is_ignored() {
    let app = before("25");
    let revisions = |all: &[&str]| SyncOptions {
        revisions: all.iter().map(|r| (*r).to_owned()).collect(),
        ..SyncOptions::default()
    };
    assert!(plain(&app, &revisions(&["a"])).is_err());
    let plan = plain(&app, &revisions(&["a", "b"])).unwrap();
    assert_eq!(
        body(&plan)["operation"]["sync"],
        json!({"revisions": ["a", "b"]})
    );
    let plan = plain(&before("23"), &revisions(&["a1a1a1a"])).unwrap();
    assert_eq!(
        body(&plan)["operation"]["sync"],
        json!({"revision": "a1a1a1a"})
    );
}

#[test]
fn refreshes_as_recorded() {
    for (number, hard) in [("28", false), ("29", true)] {
        let plan = refresh(&before(number), Surroundings::default(), hard, &actor()).unwrap();
        let write = yaml(&folder(number).join("write.yaml")).unwrap();
        assert_eq!(body(&plan), write);
    }
}

#[test]
fn an_operation_over_another_one_is_refused_and_a_stuck_state_is_cleared() {
    let fault = plain(&before("34"), &SyncOptions::default()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Conflict);
    let plan = plain(&before("77"), &SyncOptions::default()).unwrap();
    assert!(plan.warnings.iter().any(|w| w.contains("never finished")));
    assert_eq!(body(&plan)["status"], json!({"operationState": null}));
}

#[test]
fn terminates_only_in_the_way_that_works() {
    let sent = |number: &str| body(&terminate(&before(number)).unwrap());
    assert_eq!(
        sent("34")["status"],
        json!({"operationState": {"phase": "Terminating"}})
    );
    let mut withdrawn = yaml(&folder("85").join("write.yaml")).unwrap();
    withdrawn["metadata"] = json!({"resourceVersion": VERSION});
    assert_eq!(sent("85"), withdrawn);
    assert_eq!(sent("86"), withdrawn);
    assert!(terminate(&before("01")).is_err());
}

#[test]
fn rolls_back_as_recorded_and_never_under_automated_sync() {
    let recorded = |number: &str| -> Value {
        let command = std::fs::read_to_string(folder(number).join("command.txt")).unwrap();
        let json = command.split('\'').nth(1).unwrap();
        serde_json::from_str(json).unwrap()
    };
    for number in ["40", "44"] {
        let plan = rollback(&before(number), 0, false, &actor()).unwrap();
        assert_eq!(
            body(&plan)["operation"]["sync"],
            recorded(number)["operation"]["sync"],
            "{number}"
        );
        assert!(plan.destructive);
    }
    let fault = rollback(&before("43"), 0, false, &actor()).unwrap_err();
    assert!(fault.sentence.contains("automated sync is on"), "{fault}");
}

#[test]
fn a_frozen_app_takes_no_operation() {
    for number in ["64", "82"] {
        let mut frozen = object(&folder(number), "before");
        frozen["metadata"]["annotations"] = json!({"argocd.argoproj.io/skip-reconcile": "true"});
        assert!(plain(&app(&frozen), &SyncOptions::default()).is_err());
        let plan = resume(&app(&frozen)).unwrap();
        assert_eq!(
            body(&plan)[1],
            json!({"op": "remove", "path": "/metadata/annotations/argocd.argoproj.io~1skip-reconcile"})
        );
    }
}

/// Merge patch as the API server does it.
fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            into.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut into[key.as_str()], value);
        }
    }
}

/// JSON patch with the three operations that plans use.
fn patch(into: &mut Value, operations: &Value) {
    for operation in operations.as_array().unwrap() {
        let path = operation["path"].as_str().unwrap();
        let (parent, key) = path.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/").replace("~0", "~");
        match operation["op"].as_str().unwrap() {
            "test" => assert_eq!(into.pointer(path), Some(&operation["value"])),
            "add" => into.pointer_mut(parent).unwrap()[key.as_str()] = operation["value"].clone(),
            "remove" => {
                let parent = into.pointer_mut(parent).unwrap().as_object_mut().unwrap();
                assert!(parent.remove(&key).is_some(), "{path}");
            }
            other => panic!("{other}"),
        }
    }
}

/// Whatever the automated block was, hold and resume leave the very spec that was there.
#[test]
fn hold_and_resume_restore_the_sync_policy_exactly() {
    let mut tried = 0;
    for folder in folders() {
        for when in ["before", "after"] {
            let Some(mut object) = found(&folder, when) else {
                continue;
            };
            let automated = object.pointer("/spec/syncPolicy/automated").cloned();
            if automated.is_none()
                || automated.as_ref().unwrap().get("enabled") == Some(&json!(false))
            {
                continue;
            }
            let was = object["spec"].to_string();
            let plan = hold(&app(&object), &HoldNote::default(), &actor()).unwrap();
            merge(&mut object, &body(&plan));
            let held = app(&object);
            assert!(held.hold.is_some() && !held.policy.automated);
            let plan = resume(&held).unwrap();
            let Write::Json(operations) = &plan.steps[0].write else {
                panic!("a JSON patch");
            };
            patch(&mut object, operations);
            assert_eq!(object["spec"].to_string(), was, "{}", name(&folder));
            assert_eq!(object["metadata"]["annotations"], json!({}));
            tried += 1;
        }
    }
    assert!(tried >= 10, "only {tried}");
    assert!(hold(&before("01"), &HoldNote::default(), &actor()).is_err());
}
