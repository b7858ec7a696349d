//! What the fleet says about objects as the controllers leave them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

const A: &str = "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1";
const B: &str = "b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2";

fn at(time: &str) -> Timestamp {
    format!("2026-01-01T{time}Z").parse().unwrap()
}

fn context() -> Arc<str> {
    "prod".into()
}

fn ks(spec: Value, status: Value) -> Value {
    let mut object = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "web", "namespace": "flux-system", "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"path": "./apps", "interval": "10m", "prune": true,
            "sourceRef": {"kind": "GitRepository", "name": "fleet"}},
        "status": {"observedGeneration": 1},
    });
    merge(&mut object["spec"], spec);
    merge(&mut object["status"], status);
    object
}

fn merge(into: &mut Value, more: Value) {
    let Value::Object(more) = more else {
        panic!("an object");
    };
    for (key, value) in more {
        into[key.as_str()] = value;
    }
}

fn ready(status: &str, since: &str, reason: &str, message: &str) -> Value {
    json!([{"type": "Ready", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": format!("2026-01-01T{since}Z")}])
}

fn good(since: &str) -> Value {
    json!({"conditions": ready("True", since, "ReconciliationSucceeded", "Applied revision"),
        "lastAppliedRevision": format!("main@sha1:{A}"), "lastAttemptedRevision": format!("main@sha1:{A}"),
        "history": [{"lastReconciledStatus": "ReconciliationSucceeded",
            "firstReconciled": "2026-01-01T01:00:00Z", "lastReconciled": "2026-01-01T01:00:00Z"}]})
}

fn read(kind: AppKind, object: &Value, now: &str) -> App {
    App::read(&context(), kind, object, at(now), &Settings::default()).unwrap()
}

fn says(kind: AppKind, object: &Value, now: &str) -> String {
    let app = read(kind, object, now);
    format!("{}: {}", app.state.word(), app.cause.unwrap_or_default())
}

fn source(revision: &str) -> SourceObject {
    let object = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "fleet", "namespace": "flux-system"},
        "spec": {"url": "https://git.example.test/fleet", "ref": {"branch": "main"}},
        "status": {"artifact": {"revision": format!("main@sha1:{revision}")}},
    });
    SourceObject::read(&context(), FluxSource::GitRepository, &object).unwrap()
}

fn fleet(objects: &[Value], now: &str) -> Fleet {
    let apps = objects
        .iter()
        .map(|o| App::decode(&context(), AppKind::Kustomization, o).unwrap())
        .collect();
    let mut fleet = Fleet::new(Settings::default(), [context()]);
    fleet.apply(
        vec![
            Change::Context {
                context: context(),
                state: ContextState::Ready,
                fault: None,
            },
            Change::Reset {
                context: context(),
                kind: AppKind::Kustomization,
                namespace: None,
                apps,
            },
        ],
        at(now),
    );
    fleet
}

fn only(fleet: &Fleet) -> &App {
    fleet.iter().next().unwrap()
}

fn compared(app: &App, state: AppState, drifted: usize) -> DriftSummary {
    DriftSummary {
        state,
        cause: None,
        drifted,
        additions: 0,
        hidden: 0,
        owner: None,
        at: None,
        basis: app.basis(),
    }
}

#[test]
fn is_never_in_sync_without_a_comparison() {
    assert_eq!(
        says(
            AppKind::Kustomization,
            &ks(json!({}), good("01:00:00")),
            "02:00:00"
        ),
        "unknown: not compared yet"
    );
    let synced = json!({"metadata": {"name": "web", "namespace": "argocd"},
        "spec": {"source": {"repoURL": "r", "path": "p"}},
        "status": {"sync": {"status": "Synced", "revision": A}, "health": {"status": "Healthy"}}});
    assert_eq!(
        says(AppKind::Application, &synced, "02:00:00"),
        "unknown: not compared yet"
    );
}

#[test]
fn a_failure_counts_only_when_it_has_lasted() {
    let mut status = good("01:00:00");
    status["conditions"] = ready("False", "01:05:00", "BuildFailed", "kustomize build failed");
    let object = ks(json!({}), status);
    assert_eq!(
        says(AppKind::Kustomization, &object, "01:06:00"),
        "progressing: BuildFailed: kustomize build failed"
    );
    assert_eq!(
        says(AppKind::Kustomization, &object, "01:10:00"),
        "failed: BuildFailed: kustomize build failed"
    );
}

/// Ready turns to Unknown in each attempt, so its own time is always young: the history says since when.
#[test]
fn a_failure_that_is_retried_each_minute_has_lasted_all_the_same() {
    let mut status = good("01:00:00");
    status["conditions"] = ready("False", "05:00:00", "BuildFailed", "broken");
    let object = ks(json!({"timeout": "1m"}), status);
    assert_eq!(
        says(AppKind::Kustomization, &object, "05:00:10"),
        "failed: BuildFailed: broken"
    );
}

#[test]
fn remembers_a_failure_over_the_attempts_it_saw() {
    let failing = |since: &str| {
        let mut status = good("01:00:00");
        status["conditions"] = ready("False", since, "HealthCheckFailed", "timeout");
        App::decode(&context(), AppKind::Kustomization, &ks(json!({}), status)).unwrap()
    };
    let trying = |since: &str| {
        let mut status = good("01:00:00");
        status["conditions"] = ready(
            "Unknown",
            since,
            "Progressing",
            "Reconciliation in progress",
        );
        App::decode(&context(), AppKind::Kustomization, &ks(json!({}), status)).unwrap()
    };
    let mut fleet = fleet(&[ks(json!({}), good("01:00:00"))], "01:00:30");
    for (app, now) in [
        (failing("01:01:00"), "01:01:00"),
        (trying("01:03:00"), "01:03:00"),
        (failing("01:03:10"), "01:03:10"),
    ] {
        fleet.apply(vec![Change::Upsert(Box::new(app))], at(now));
    }
    assert_eq!(only(&fleet).state, AppState::Progressing);
    assert_eq!(fleet.next_due(at("01:03:10")), Some(at("01:06:00")));
    let delta = fleet.tick(at("01:06:00"));
    assert_eq!(
        (only(&fleet).state, delta.apps.len()),
        (AppState::Failed, 1)
    );
}

#[test]
fn an_object_without_conditions_is_unknown() {
    assert_eq!(
        says(
            AppKind::Kustomization,
            &ks(
                json!({}),
                json!({"conditions": [], "observedGeneration": -1})
            ),
            "01:00:00"
        ),
        "unknown: the controller has not reported yet"
    );
}

#[test]
fn ready_counts_only_for_the_generation_it_observed() {
    let mut status = good("01:00:00");
    status["observedGeneration"] = json!(0);
    assert_eq!(
        says(AppKind::Kustomization, &ks(json!({}), status), "02:00:00"),
        "progressing: a change of its own object waits for the controller"
    );
}

#[test]
fn git_is_ahead_when_the_artifact_is_newer_and_both_when_live_was_edited_too() {
    let mut fleet = fleet(&[ks(json!({}), good("01:00:00"))], "02:00:00");
    fleet.apply(vec![Change::Source(Box::new(source(A)))], at("02:00:00"));
    assert_eq!(only(&fleet).state, AppState::Unknown);
    assert_eq!(
        only(&fleet).sources[0].url,
        "https://git.example.test/fleet"
    );
    fleet.apply(vec![Change::Source(Box::new(source(B)))], at("02:00:00"));
    let app = only(&fleet).clone();
    assert_eq!(
        (app.state, app.cause.as_deref()),
        (AppState::GitAhead, Some("main@b2b2b2b is not applied yet"))
    );
    fleet.set_drift(
        &app.app,
        compared(&app, AppState::Drifted, 1),
        at("02:00:00"),
    );
    assert_eq!(only(&fleet).state, AppState::Both);
}

#[test]
fn a_comparison_counts_only_for_what_it_compared() {
    let mut fleet = fleet(&[ks(json!({}), good("01:00:00"))], "02:00:00");
    let app = only(&fleet).clone();
    fleet.set_drift(
        &app.app,
        compared(&app, AppState::InSync, 0),
        at("02:00:00"),
    );
    assert_eq!(only(&fleet).state, AppState::InSync);
    let mut status = good("01:00:00");
    status["lastAppliedRevision"] = json!(format!("main@sha1:{B}"));
    status["lastAttemptedRevision"] = json!(format!("main@sha1:{B}"));
    let newer = App::decode(&context(), AppKind::Kustomization, &ks(json!({}), status)).unwrap();
    fleet.apply(vec![Change::Upsert(Box::new(newer))], at("02:00:00"));
    let app = only(&fleet);
    assert_eq!(
        (app.state, app.cause.as_deref()),
        (AppState::Unknown, Some("changed since it was compared"))
    );
}

#[test]
fn a_source_that_cannot_be_fetched_calms_nobody() {
    let mut broken = source(A);
    broken.conditions = vec![Condition {
        kind: "Ready".into(),
        status: "False".into(),
        reason: "GitOperationFailed".into(),
        message: "authentication required".into(),
        since: None,
        observed_generation: None,
    }];
    let mut fleet = fleet(&[ks(json!({}), good("01:00:00"))], "02:00:00");
    fleet.apply(vec![Change::Source(Box::new(broken))], at("02:00:00"));
    let app = only(&fleet).clone();
    fleet.set_drift(
        &app.app,
        compared(&app, AppState::InSync, 0),
        at("02:00:00"),
    );
    assert_eq!(
        only(&fleet).cause.as_deref(),
        Some("GitRepository/flux-system/fleet: authentication required")
    );
    fleet.set_drift(
        &app.app,
        compared(&app, AppState::Drifted, 2),
        at("02:00:00"),
    );
    assert_eq!(only(&fleet).state, AppState::Drifted);
}

#[test]
fn what_cannot_be_watched_any_more_is_unknown_until_it_recovers() {
    let mut fleet = fleet(&[ks(json!({}), good("01:00:00"))], "02:00:00");
    let app = only(&fleet).clone();
    fleet.set_drift(
        &app.app,
        compared(&app, AppState::InSync, 0),
        at("02:00:00"),
    );
    let delta = fleet.apply(
        vec![Change::Degraded {
            context: context(),
            kind: None,
            fault: Fault::new(FaultKind::Unreachable, "connection refused"),
        }],
        at("02:00:00"),
    );
    assert!(delta.contexts && delta.apps.len() == 1);
    assert_eq!(
        (only(&fleet).state, only(&fleet).cause.as_deref()),
        (
            AppState::Unknown,
            Some("connection refused; it was in-sync before")
        )
    );
    fleet.apply(
        vec![Change::Recovered {
            context: context(),
            kind: None,
        }],
        at("02:00:00"),
    );
    assert_eq!(only(&fleet).state, AppState::InSync);
}

#[test]
fn a_suspended_app_is_held_with_who_and_why() {
    let mut object = ks(json!({"suspend": true}), good("01:00:00"));
    object["metadata"]["annotations"] = json!({
        hold::HELD: r#"{"by":"alice","at":"2026-01-01T01:30:00Z","reason":"hotfix stays"}"#});
    assert_eq!(
        says(AppKind::Kustomization, &object, "02:00:00"),
        "held: suspended by alice: hotfix stays"
    );
}

fn argo(status: Value) -> Value {
    let mut object = json!({"metadata": {"name": "web", "namespace": "argocd", "generation": 5},
        "spec": {"project": "default", "source": {"repoURL": "https://git.example.test/r", "path": "a"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "web"}},
        "status": {"health": {"status": "Healthy"},
            "history": [{"id": 0, "revision": A, "source": {"path": "a"}}],
            "sync": {"status": "OutOfSync", "revision": A, "comparedTo": {"source": {"path": "a"}}},
            "resources": [{"kind": "ConfigMap", "name": "conf", "namespace": "web", "version": "v1",
                "status": "OutOfSync"}]}});
    merge(&mut object["status"], status);
    object
}

#[test]
fn argo_tells_somebody_merged_from_somebody_edited() {
    let check = |status| says(AppKind::Application, &argo(status), "02:00:00");
    assert_eq!(
        check(json!({})),
        "drifted: Argo CD reports OutOfSync: ConfigMap/web/conf"
    );
    assert_eq!(
        check(json!({"sync": {"status": "OutOfSync", "revision": B}})),
        "git-ahead: Argo CD reports OutOfSync: ConfigMap/web/conf"
    );
    assert_eq!(
        check(
            json!({"sync": {"status": "OutOfSync", "revision": A, "comparedTo": {"source": {"path": "b"}}}})
        ),
        "git-ahead: Argo CD reports OutOfSync: ConfigMap/web/conf"
    );
    assert_eq!(check(json!({"history": []})), "git-ahead: never synced");
    assert_eq!(
        check(json!({"sync": {"status": "Unknown"}})),
        "unknown: Argo CD could not compare it"
    );
}

#[test]
fn argo_and_the_comparison_must_agree_before_anything_is_green() {
    let object = argo(json!({}));
    let app = App::decode(&context(), AppKind::Application, &object).unwrap();
    let mut fleet = Fleet::default();
    fleet.apply(vec![Change::Upsert(Box::new(app.clone()))], at("02:00:00"));
    fleet.set_drift(
        &app.app,
        compared(&app, AppState::InSync, 0),
        at("02:00:00"),
    );
    assert_eq!(only(&fleet).state, AppState::Unknown);
}

#[test]
fn an_old_failed_operation_does_not_fail_an_app_that_is_fine_now() {
    let failed = |revision: &str, sync: &str| {
        argo(json!({"sync": {"status": sync, "revision": A},
            "operationState": {"phase": "Failed", "message": "no", "finishedAt": "2026-01-01T01:00:00Z",
                "startedAt": "2026-01-01T00:59:00Z", "syncResult": {"revision": revision}}}))
    };
    assert_eq!(
        says(AppKind::Application, &failed(B, "Synced"), "02:00:00"),
        "unknown: not compared yet"
    );
    assert_eq!(
        says(AppKind::Application, &failed(A, "Synced"), "02:00:00"),
        "failed: sync failed: no"
    );
    assert_eq!(
        says(AppKind::Application, &failed(B, "OutOfSync"), "02:00:00"),
        "failed: sync failed: no"
    );
}

#[test]
fn helm_says_that_comparing_comes_later() {
    let hr = json!({"metadata": {"name": "redis", "namespace": "data", "generation": 1},
        "spec": {"chart": {"spec": {"chart": "redis", "sourceRef": {"kind": "HelmRepository", "name": "b"}}}},
        "status": {"observedGeneration": 1, "history": [{"chartVersion": "1.2.3"}],
            "conditions": ready("True", "01:00:00", "InstallSucceeded", "ok")}});
    let app = read(AppKind::HelmRelease, &hr, "02:00:00");
    assert_eq!(
        (app.cause.as_deref(), app.applied.as_deref()),
        (Some("comparing HelmReleases comes later"), Some("1.2.3"))
    );
    assert_eq!(
        app.source_ref.unwrap().to_string(),
        "HelmChart/data/data-redis"
    );
}

#[test]
fn a_reset_swaps_the_list_in_whole_and_keeps_rows_in_place() {
    let named = |name: &str| {
        let mut object = ks(json!({}), good("01:00:00"));
        object["metadata"]["name"] = json!(name);
        object
    };
    let mut fleet = fleet(&[named("a"), named("gone")], "02:00:00");
    let row = fleet
        .find(&"ks/flux-system/a".parse().unwrap(), None)
        .unwrap()
        .app
        .clone();
    let before = fleet.index_of(&row);
    let apps = [named("new"), named("a")]
        .iter()
        .map(|o| App::decode(&context(), AppKind::Kustomization, o).unwrap())
        .collect();
    let delta = fleet.apply(
        vec![Change::Reset {
            context: context(),
            kind: AppKind::Kustomization,
            namespace: None,
            apps,
        }],
        at("02:00:00"),
    );
    let names: Vec<_> = delta.apps.iter().map(|a| a.target.name.as_str()).collect();
    assert_eq!((fleet.index_of(&row), names), (before, vec!["gone", "new"]));
    assert_eq!(fleet.context("prod").unwrap().apps, 2);
}

#[test]
fn queries_choose_and_sort_rows() {
    let named = |name: &str, namespace: &str| {
        let mut object = ks(json!({}), good("01:00:00"));
        object["metadata"]["name"] = json!(name);
        object["metadata"]["namespace"] = json!(namespace);
        object["metadata"]["labels"] = json!({"team": namespace});
        object
    };
    let mut fleet = fleet(
        &[
            named("checkout", "shop"),
            named("cart", "shop"),
            named("infra", "flux-system"),
        ],
        "02:00:00",
    );
    let cart = fleet
        .find(&"ks/shop/cart".parse().unwrap(), None)
        .unwrap()
        .clone();
    fleet.set_drift(
        &cart.app,
        compared(&cart, AppState::Drifted, 3),
        at("02:00:00"),
    );
    let check = |text: &str| {
        let query: Query = text.parse().unwrap();
        let names: Vec<&str> = fleet
            .rows(&query, SortKey::State, at("02:00:00"))
            .into_iter()
            .map(|row| fleet.at(row).unwrap().app.target.name.as_str())
            .collect();
        names.join(" ")
    };
    assert_eq!(check(""), "cart infra checkout");
    assert_eq!(check("ns:shop"), "cart checkout");
    assert_eq!(check("!ns:shop"), "infra");
    assert_eq!(check("ckt"), "checkout");
    assert_eq!(check("state:drifted,failed"), "cart");
    assert_eq!(check("drift:>0"), "cart");
    assert_eq!(check("ctx:pr* kind:ks name:c*"), "cart checkout");
    assert_eq!(check("-l team=shop !cart"), "checkout");
    assert!("colour:red".parse::<Query>().is_err());
    assert!("drift:many".parse::<Query>().is_err());
}
