//! Writes: sent once, in order, as planned; and what becomes of them.

use std::sync::Arc;
use std::time::Duration;

use gitops_tui::domain::fault::FaultKind;
use gitops_tui::domain::fleet::{App, AppKind, Settings};
use gitops_tui::domain::operate::{
    Actor, HoldNote, Plan, Surroundings, SyncOptions, hold, refresh, resume, sync,
};
use gitops_tui::world::cluster::{Cluster, Permit};
use serde_json::{Value, json};

use super::script::Script;
use super::{KS, kustomizations, now, serves};

const APP: &str = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/web";
const WEB: &str = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/shop/kustomizations/web";

fn actor() -> Actor {
    Actor {
        name: "alice".into(),
        now: now(),
    }
}

fn ks() -> Value {
    json!({"apiVersion": format!("{KS}/v1"), "kind": "Kustomization",
        "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "5", "generation": 1},
        "spec": {"path": "a"}, "status": {"observedGeneration": 1, "history": [{"lastReconciled": "t0"}],
            "conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1, "message": "Applied"}]}})
}

fn application() -> Value {
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
        "metadata": {"name": "web", "namespace": "argocd", "resourceVersion": "5"},
        "spec": {"source": {"repoURL": "r", "path": "a"}}, "status": {"sync": {"status": "OutOfSync"}}})
}

fn app(kind: AppKind, object: &Value) -> App {
    let context: Arc<str> = "prod".into();
    App::read(&context, kind, object, now(), &Settings::default()).unwrap()
}

fn ks_sync() -> Plan {
    sync(
        &app(AppKind::Kustomization, &ks()),
        Surroundings::default(),
        &SyncOptions::default(),
        &actor(),
    )
    .unwrap()
}

fn cluster(routes: Vec<Value>, serves: Vec<Value>) -> (Script, Cluster) {
    let script = Script::new(Value::Array(routes.into_iter().chain(serves).collect()));
    let cluster = Cluster::from_client("prod", script.client());
    (script, cluster)
}

fn permit() -> Permit {
    Permit::unless(false).unwrap()
}

fn patched(path: &str, body: Value) -> Value {
    let mut route = json!({"method": "PATCH", "path": path, "status": 200});
    route["body"] = body;
    route
}

fn seen(path: &str, times: Option<u64>, body: Value) -> Value {
    let mut route = json!({"method": "GET", "path": path, "status": 200});
    route["body"] = body;
    if let Some(times) = times {
        route["times"] = json!(times);
    }
    route
}

#[tokio::test(start_paused = true)]
async fn a_write_is_sent_once_with_our_name_and_strictly() {
    let (script, cluster) = cluster(
        vec![
            json!({"method": "PATCH", "path": WEB, "status": 503, "body": {"kind": "Status", "status": "Failure",
            "code": 503, "message": "busy"}}),
        ],
        kustomizations(),
    );
    let done = cluster.perform(&ks_sync(), permit(), true).await;
    assert_eq!(done.fault().unwrap().kind, FaultKind::Unreachable);
    let writes: Vec<String> = script
        .seen()
        .into_iter()
        .filter(|s| s.line.starts_with("PATCH"))
        .map(|s| s.line)
        .collect();
    assert_eq!(
        writes,
        [format!(
            "PATCH {WEB}?fieldManager=gitops-tui&fieldValidation=Strict&dryRun=All"
        )]
    );
}

#[tokio::test(start_paused = true)]
async fn a_conflict_says_that_somebody_changed_it() {
    let (script, cluster) = cluster(
        vec![
            json!({"method": "PATCH", "path": WEB, "status": 409, "body": {"kind": "Status", "status": "Failure",
            "code": 409, "reason": "Conflict", "message": "the object has been modified"}}),
        ],
        kustomizations(),
    );
    let plan = hold(
        &app(AppKind::Kustomization, &ks()),
        &HoldNote::default(),
        &actor(),
    )
    .unwrap();
    let done = cluster.perform(&plan, permit(), false).await;
    assert_eq!(done.fault().unwrap().kind, FaultKind::Conflict);
    let sent = script.seen().last().unwrap().body.clone();
    assert_eq!(
        (&sent["metadata"]["resourceVersion"], &sent["spec"]),
        (&json!("5"), &json!({"suspend": true}))
    );
}

/// The real server answers a failed `test` of a JSON patch with 422 and no word about which.
#[tokio::test(start_paused = true)]
async fn a_failed_test_of_a_json_patch_is_a_conflict_too() {
    let (_, cluster) = cluster(
        vec![
            json!({"method": "PATCH", "path": APP, "status": 422, "body": {"kind": "Status", "status": "Failure",
            "code": 422, "reason": "Invalid",
            "message": "the server rejected our request due to an error in our request"}}),
        ],
        applications(),
    );
    let mut frozen = application();
    frozen["metadata"]["annotations"] = json!({"argocd.argoproj.io/skip-reconcile": "true"});
    let plan = resume(&app(AppKind::Application, &frozen)).unwrap();
    let done = cluster.perform(&plan, permit(), false).await;
    assert_eq!(done.fault().unwrap().kind, FaultKind::Conflict);
}

#[test]
fn nothing_is_written_in_a_read_only_run() {
    assert_eq!(Permit::unless(true).unwrap_err().kind, FaultKind::Refused);
}

/// `lastHandledReconcileAt` alone is no success: Ready, the generation and a new pass must agree.
#[tokio::test(start_paused = true)]
async fn a_flux_sync_has_succeeded_only_when_a_new_pass_is_seen() {
    let handled = |pass: &str, status: &str| {
        let mut object = ks();
        object["status"]["lastHandledReconcileAt"] = json!(now().to_string());
        object["status"]["history"][0]["lastReconciled"] = json!(pass);
        object["status"]["conditions"][0]["status"] = json!(status);
        object
    };
    let (script, cluster) = cluster(
        vec![
            patched(WEB, ks()),
            seen(WEB, Some(2), ks()),
            seen(WEB, Some(2), handled("t0", "True")),
            seen(WEB, None, handled("t1", "True")),
        ],
        kustomizations(),
    );
    let plan = ks_sync();
    let done = cluster.perform(&plan, permit(), false).await;
    let mut told = vec![];
    let end = cluster
        .watch_result(&plan, &done, Duration::from_mins(1), |p| {
            told.push(p.message);
        })
        .await;
    assert_eq!(end.unwrap(), "Applied");
    assert_eq!(
        script.count("GET /apis/kustomize.toolkit.fluxcd.io/v1/namespaces/shop"),
        5
    );
}

#[tokio::test(start_paused = true)]
async fn a_flux_sync_that_fails_says_why_and_one_that_never_ends_is_left() {
    let mut failed = ks();
    failed["status"]["lastHandledReconcileAt"] = json!(now().to_string());
    failed["status"]["conditions"][0] = json!({"type": "Ready", "status": "False", "observedGeneration": 1, "message": "build failed"});
    let plan = ks_sync();
    let (_, one) = cluster(
        vec![patched(WEB, ks()), seen(WEB, None, failed)],
        kustomizations(),
    );
    let done = one.perform(&plan, permit(), false).await;
    let end = one
        .watch_result(&plan, &done, Duration::from_mins(1), |_| {})
        .await;
    assert_eq!(end.unwrap_err().sentence, "build failed");
    let (_, two) = cluster(
        vec![patched(WEB, ks()), seen(WEB, None, ks())],
        kustomizations(),
    );
    let done = two.perform(&plan, permit(), false).await;
    let end = two
        .watch_result(&plan, &done, Duration::from_mins(1), |_| {})
        .await;
    assert_eq!(end.unwrap_err().kind, FaultKind::Timeout);
}

fn argo_sync() -> Plan {
    sync(
        &app(AppKind::Application, &application()),
        Surroundings::default(),
        &SyncOptions::default(),
        &actor(),
    )
    .unwrap()
}

fn argo_state(operation: bool, phase: &str, message: &str, sync: &str) -> Value {
    let mut object = application();
    if operation {
        object["operation"] = json!({"sync": {}});
    }
    if !phase.is_empty() {
        object["status"]["operationState"] = json!({"phase": phase, "message": message, "syncResult":
            {"resources": [{"kind": "ConfigMap", "namespace": "web", "name": "c", "status": "SyncFailed",
                "message": "is invalid"}]}});
    }
    object["status"]["sync"]["status"] = json!(sync);
    object
}

fn applications() -> Vec<Value> {
    serves("argoproj.io", "v1alpha1", "Application", "applications")
}

async fn argo_end(states: Vec<Value>) -> Result<String, String> {
    let last = states.len() - 1;
    let mut routes = vec![patched(APP, argo_state(true, "", "", "OutOfSync"))];
    for (at, state) in states.into_iter().enumerate() {
        routes.push(seen(APP, (at < last).then_some(1), state));
    }
    let (_, cluster) = cluster(routes, applications());
    let plan = argo_sync();
    let done = cluster.perform(&plan, permit(), false).await;
    cluster
        .watch_result(&plan, &done, Duration::from_mins(1), |_| {})
        .await
        .map_err(|fault| fault.sentence)
}

#[tokio::test(start_paused = true)]
async fn an_argo_operation_is_followed_to_its_end_and_a_success_is_not_called_synced() {
    let running = argo_state(true, "Running", "", "OutOfSync");
    let end = argo_end(vec![
        argo_state(true, "", "", "OutOfSync"),
        running.clone(),
        argo_state(false, "Succeeded", "successfully synced", "OutOfSync"),
        argo_state(false, "Succeeded", "successfully synced", "Synced"),
    ]);
    assert_eq!(end.await.unwrap(), "successfully synced; the app is Synced");
    let end = argo_end(vec![
        running.clone(),
        argo_state(false, "Succeeded", "successfully synced", "OutOfSync"),
    ]);
    assert_eq!(
        end.await.unwrap(),
        "successfully synced; the app is OutOfSync"
    );
    let end = argo_end(vec![
        running,
        argo_state(false, "Failed", "one task failed", "OutOfSync"),
    ]);
    assert_eq!(
        end.await.unwrap_err(),
        "one task failed: ConfigMap/web/c: is invalid"
    );
}

/// The controller says "blocked" for a moment even where a manual sync is let through.
#[tokio::test(start_paused = true)]
async fn a_blocked_operation_is_reported_only_when_it_stays_blocked() {
    let blocked = argo_state(
        true,
        "Running",
        "Sync operation blocked by sync window",
        "OutOfSync",
    );
    let end = argo_end(vec![
        blocked.clone(),
        argo_state(false, "Succeeded", "successfully synced", "Synced"),
    ]);
    assert!(end.await.is_ok());
    let end = argo_end(vec![blocked]);
    assert!(end.await.unwrap_err().contains("sync window blocks it"));
}

#[tokio::test(start_paused = true)]
async fn a_refresh_is_done_when_its_annotation_is_gone() {
    let mut waiting = application();
    waiting["metadata"]["annotations"] = json!({"argocd.argoproj.io/refresh": "normal"});
    let (_, cluster) = cluster(
        vec![
            patched(APP, waiting.clone()),
            seen(APP, Some(3), waiting),
            seen(APP, None, application()),
        ],
        applications(),
    );
    let plan = refresh(
        &app(AppKind::Application, &application()),
        Surroundings::default(),
        false,
        &actor(),
    )
    .unwrap();
    let done = cluster.perform(&plan, permit(), false).await;
    let end = cluster
        .watch_result(&plan, &done, Duration::from_mins(1), |_| {})
        .await;
    assert_eq!(end.unwrap(), "compared: OutOfSync");
}
