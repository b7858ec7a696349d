//! Plans as a person reads them: the object, the wish, and what would be sent.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::domain::drift::{FieldDrift, FieldStatus, ObjectDrift, ObjectState, Sides, Verdict};
use crate::domain::fleet::{FluxSource, Settings};
use crate::domain::object::{Desired, ObjectId, Origins};
use crate::domain::yaml::Route;

fn now() -> Timestamp {
    "2026-01-01T00:00:05.204728Z".parse().unwrap()
}

fn actor() -> Actor {
    Actor {
        name: "alice".into(),
        now: now(),
    }
}

fn read(kind: AppKind, object: &Value) -> App {
    let context: Arc<str> = "prod".into();
    App::read(&context, kind, object, now(), &Settings::default()).unwrap()
}

fn ks(spec: &Value) -> App {
    let object = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "web", "namespace": "flux-system", "resourceVersion": "7"}, "spec": spec});
    read(AppKind::Kustomization, &object)
}

fn source(suspended: bool) -> SourceObject {
    let context: Arc<str> = "prod".into();
    let object = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "fleet", "namespace": "flux-system"}, "spec": {"suspend": suspended}});
    SourceObject::read(&context, FluxSource::GitRepository, &object).unwrap()
}

fn words(plan: &Plan) -> Vec<&str> {
    plan.steps.iter().map(|s| s.words.as_str()).collect()
}

#[test]
fn a_flux_sync_asks_the_source_and_then_the_app_with_one_time() {
    let source = source(false);
    let options = SyncOptions {
        with_source: true,
        ..SyncOptions::default()
    };
    let around = Surroundings {
        sources: &[&source],
        project: None,
    };
    let plan = sync(&ks(&json!({"prune": true})), around, &options, &actor()).unwrap();
    assert_eq!(
        words(&plan),
        [
            "annotate GitRepository/flux-system/fleet requestedAt",
            "annotate ks/flux-system/web requestedAt"
        ]
    );
    let asked = json!({"metadata": {"annotations":
        {"reconcile.fluxcd.io/requestedAt": "2026-01-01T00:00:05.204728Z"}}});
    assert!(
        plan.steps
            .iter()
            .all(|s| s.write == Write::Merge(asked.clone()))
    );
    assert!(plan.warnings.iter().any(|w| w.contains("spec.prune is on")));
}

#[test]
fn a_suspended_source_is_not_asked_and_a_suspended_app_not_synced() {
    let source = source(true);
    let around = Surroundings {
        sources: &[&source],
        project: None,
    };
    let options = SyncOptions {
        with_source: true,
        ..SyncOptions::default()
    };
    let plan = sync(&ks(&json!({})), around, &options, &actor()).unwrap();
    assert_eq!(words(&plan), ["annotate ks/flux-system/web requestedAt"]);
    assert!(plan.warnings[0].contains("is suspended"));
    let held = ks(&json!({"suspend": true}));
    assert!(sync(&held, around, &options, &actor()).is_err());
    assert!(refresh(&ks(&json!({})), around, false, &actor()).is_err());
}

#[test]
fn a_forced_helm_upgrade_repeats_the_time() {
    let hr = read(
        AppKind::HelmRelease,
        &json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "metadata": {"name": "r", "namespace": "d"}}),
    );
    let options = SyncOptions {
        force: true,
        reset: true,
        ..SyncOptions::default()
    };
    let plan = sync(&hr, Surroundings::default(), &options, &actor()).unwrap();
    let annotations = &plan.steps[0].write.body()["metadata"]["annotations"];
    for key in ["requestedAt", "forceAt", "resetAt"] {
        assert_eq!(
            annotations[format!("reconcile.fluxcd.io/{key}")],
            "2026-01-01T00:00:05.204728Z"
        );
    }
    assert!(plan.destructive);
}

#[test]
fn a_flux_hold_remembers_what_was_there() {
    for (spec, restored) in [
        (json!({}), Value::Null),
        (json!({"suspend": false}), json!(false)),
    ] {
        let plan = hold(&ks(&spec), &HoldNote::default(), &actor()).unwrap();
        let body = plan.steps[0].write.body().clone();
        assert_eq!(body["spec"], json!({"suspend": true}));
        assert_eq!(body["metadata"]["resourceVersion"], "7");
        let mut object = json!({"metadata": {"name": "web", "namespace": "flux-system", "resourceVersion": "8"},
            "spec": {"suspend": true}});
        object["metadata"]["annotations"] = body["metadata"]["annotations"].clone();
        let plan = resume(&read(AppKind::Kustomization, &object)).unwrap();
        let body = plan.steps[0].write.body();
        assert_eq!(body["spec"], json!({"suspend": restored}));
        assert_eq!(
            body["metadata"]["annotations"],
            json!({"gitops-tui/held": null})
        );
    }
    assert!(resume(&ks(&json!({}))).is_err());
    assert!(
        hold(
            &ks(&json!({"suspend": true})),
            &HoldNote::default(),
            &actor()
        )
        .is_err()
    );
}

#[test]
fn says_who_undoes_a_hold() {
    let object = json!({"apiVersion": "argoproj.io/v1alpha1", "metadata": {"name": "web", "namespace": "argocd",
        "resourceVersion": "1", "ownerReferences": [{"kind": "ApplicationSet", "name": "all"}],
        "annotations": {"argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/web"}},
        "spec": {"syncPolicy": {"automated": {}}}});
    let plan = hold(
        &read(AppKind::Application, &object),
        &HoldNote::default(),
        &actor(),
    )
    .unwrap();
    let said = plan.warnings.join("\n");
    assert!(said.contains("ApplicationSet all owns it"), "{said}");
    assert!(
        said.contains("app/argocd/root applies it from Git"),
        "{said}"
    );
}

fn field(path: &str, status: FieldStatus) -> FieldDrift {
    FieldDrift {
        path: path.parse().unwrap(),
        status,
        verdict: Verdict::Drift,
        git: None,
        live: None,
        masked: false,
        owners: vec![],
        origin: None,
        rule: None,
        note: None,
    }
}

fn drift(object: &Value, fields: Vec<FieldDrift>) -> ObjectDrift {
    ObjectDrift {
        id: ObjectId::of(object).unwrap(),
        state: ObjectState::Drifted,
        cause: None,
        fields,
        sides: Sides::default(),
    }
}

fn desired(value: &Value) -> Desired {
    Desired::new(value.clone(), Origins::default()).unwrap()
}

fn deployment(replicas: u32, image: &str, env: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [
            {"name": "side", "image": "s"}, {"name": "app", "image": image, "env": env}]}}}})
}

fn fields(paths: &[&str]) -> Chosen {
    Chosen::Fields(paths.iter().map(|p| p.parse().unwrap()).collect())
}

const IMAGE: &str = "spec.template.spec.containers[name=app].image";
const DEBUG: &str = "spec.template.spec.containers[name=app].env[name=DEBUG]";

/// A server-side apply drops what its manager does not send: so the whole object goes, with live's value for what is
/// not chosen.
#[test]
fn one_reverted_field_leaves_every_other_difference_as_it_is() {
    let git = deployment(2, "app:1", &json!([{"name": "A", "value": "a"}]));
    let mut live = deployment(
        5,
        "app:2",
        &json!([{"name": "A", "value": "a"}, {"name": "DEBUG", "value": "1"}]),
    );
    live["metadata"]["resourceVersion"] = json!("9");
    let drift = drift(
        &git,
        vec![
            field("spec.replicas", FieldStatus::Changed),
            field(IMAGE, FieldStatus::Changed),
            field(DEBUG, FieldStatus::Extra),
        ],
    );
    let desired = desired(&git);
    let object = |chosen| RevertObject {
        desired: Some(&desired),
        live: Some(&live),
        drift: &drift,
        chosen,
    };
    let plan = revert(&ks(&json!({})), &[object(fields(&[IMAGE]))]).unwrap();
    assert_eq!(
        words(&plan),
        [format!(
            "apply {IMAGE} of Deployment/shop/web as kustomize-controller"
        )]
    );
    let mut sent = deployment(5, "app:1", &json!([{"name": "A", "value": "a"}]));
    sent["metadata"]["resourceVersion"] = json!("9");
    assert_eq!(
        plan.steps[0].write,
        Write::Apply {
            body: sent,
            manager: "kustomize-controller".into(),
            force: true
        }
    );

    let plan = revert(&ks(&json!({})), &[object(Chosen::All)]).unwrap();
    let pointer = "/spec/template/spec/containers/1/env/1";
    assert_eq!(
        plan.steps[0].write,
        Write::Json(json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": "9"},
            {"op": "test", "path": pointer, "value": {"name": "DEBUG", "value": "1"}},
            {"op": "remove", "path": pointer},
        ]))
    );
    assert_eq!(plan.steps[0].manager(), "gitops-tui");
    assert_eq!(
        plan.steps[1].write.body(),
        &git,
        "no version: the removal moved it"
    );

    assert!(revert(&ks(&json!({})), &[object(fields(&["spec.paused"]))]).is_err());
}

#[test]
fn a_missing_object_is_created_and_one_that_git_lacks_is_refused() {
    let git = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}});
    let drift = drift(&git, vec![]);
    let desired = desired(&git);
    let object = |desired, live| RevertObject {
        desired,
        live,
        drift: &drift,
        chosen: Chosen::All,
    };
    let plan = revert(&ks(&json!({})), &[object(Some(&desired), None)]).unwrap();
    assert_eq!(
        words(&plan),
        ["create ConfigMap/shop/c as kustomize-controller"]
    );
    assert!(matches!(&plan.steps[0].write, Write::Create { body, .. } if *body == git));
    assert!(revert(&ks(&json!({})), &[object(None, Some(&git))]).is_err());
    assert!(
        revert(&ks(&json!({})), &[object(Some(&desired), Some(&git))]).is_err(),
        "nothing to do"
    );
}

#[test]
fn a_secrets_values_are_sent_and_never_shown() {
    let git = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"},
        "data": {"k": "b2xk"}, "stringData": {"new": "plain"}});
    let live = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"},
        "data": {"k": "bGl2ZQ==", "added": "YWRkZWQ="}});
    let drift = drift(
        &git,
        vec![
            field("data.k", FieldStatus::Changed),
            field("data.added", FieldStatus::Extra),
        ],
    );
    let desired = desired(&git);
    let object = RevertObject {
        desired: Some(&desired),
        live: Some(&live),
        drift: &drift,
        chosen: Chosen::All,
    };
    let plan = revert(&ks(&json!({})), &[object]).unwrap();
    assert_eq!(
        plan.steps[1].write.body()["data"],
        json!({"k": "b2xk", "new": "cGxhaW4="})
    );
    assert_eq!(plan.steps[1].write.body().get("stringData"), None);
    for step in &plan.steps {
        let shown = step.shown().to_string();
        for value in ["b2xk", "bGl2ZQ", "YWRkZWQ", "cGxhaW4", "plain"] {
            assert!(!shown.contains(value), "{shown}");
        }
    }
}

#[test]
fn a_value_that_came_from_a_secret_is_masked_in_other_kinds_too() {
    let git = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"},
        "data": {"url": "postgres://u:hunter2@db", "plain": "p"}});
    let drift = drift(&git, vec![]);
    let mut desired = desired(&git);
    desired.secret_routes = BTreeSet::from([Route::root().key("data").key("url")]);
    let object = RevertObject {
        desired: Some(&desired),
        live: None,
        drift: &drift,
        chosen: Chosen::All,
    };
    let plan = revert(&ks(&json!({})), &[object]).unwrap();
    assert_eq!(
        plan.steps[0].shown()["data"],
        json!({"url": "***", "plain": "p"})
    );
    assert_eq!(plan.steps[0].write.body(), &git);
}
