//! Clusters: the shipping client against scripted API services, reported cases among them (`tests/corpus/cluster`).

mod contexts;
mod script;
mod writes;

use std::path::{Path, PathBuf};
use std::time::Duration;

use gitops_tui::domain::fault::FaultKind;
use gitops_tui::domain::fleet::{
    AppKind, AppState, Change, ContextState, Fleet, KindState, Query, Settings, SortKey,
};
use gitops_tui::domain::object::ObjectId;
use gitops_tui::world::cluster::{Access, Cluster};
use jiff::Timestamp;
use script::Script;
use serde_json::{Value, json};
use tokio::sync::mpsc;

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus/cluster")
        .join(name)
}

fn routes(name: &str) -> Value {
    let text = std::fs::read_to_string(case(name).join("routes.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// Discovery of one kind, as an old server answers it.
fn serves(group: &str, version: &str, kind: &str, plural: &str) -> Vec<Value> {
    vec![
        json!({"method": "GET", "path": "/apis", "status": 200, "body": {"kind": "APIGroupList", "groups": [
            {"name": group, "versions": [{"groupVersion": format!("{group}/{version}"), "version": version}]}]}}),
        json!({"method": "GET", "path": format!("/apis/{group}/{version}"), "status": 200, "body":
            {"kind": "APIResourceList", "groupVersion": format!("{group}/{version}"), "resources": [
                {"name": plural, "kind": kind, "namespaced": true, "verbs": ["get", "list", "watch", "patch"]},
                {"name": format!("{plural}/status"), "kind": kind, "namespaced": true, "verbs": ["get"]}]}}),
        json!({"method": "GET", "path": "/api/v1", "status": 200, "body": {"resources": [
            {"name": "configmaps", "kind": "ConfigMap", "namespaced": true, "verbs": ["get"]},
            {"name": "namespaces", "kind": "Namespace", "namespaced": false, "verbs": ["get", "list"]}]}}),
    ]
}

#[tokio::test]
async fn openapi_documents_are_named_by_their_group_version() {
    let document = json!({"components": {"schemas": {"W": {"type": "object"}}}});
    let script = Script::new(json!([
        {"method": "GET", "path": "/openapi/v3", "status": 200, "body": {"paths": {
            "api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash=A"},
            "apis/lab.example.test/v1": {"serverRelativeURL": "/openapi/v3/apis/lab.example.test/v1?hash=B"},
            "apis/odd.example.test/v1": {"serverRelativeURL": "https://elsewhere.example.test/x"},
            ".well-known/openid-configuration": {"serverRelativeURL": "/openapi/v3/.well-known?hash=C"}}}},
        {"method": "GET", "path": "/openapi/v3/apis/lab.example.test/v1", "query": {"hash": "B"}, "status": 200,
            "body": document},
    ]));
    let cluster = Cluster::from_client("prod", script.client());
    let index = cluster.openapi().await.unwrap();
    let names: Vec<&str> = index.keys().map(String::as_str).collect();
    assert_eq!(names, ["lab.example.test/v1", "v1"]);
    let text = cluster
        .openapi_document(&index["lab.example.test/v1"])
        .await
        .unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
    // a server without them, or one that does not let us
    let bare = Cluster::from_client("old", Script::new(json!([])).client());
    assert_eq!(bare.openapi().await.unwrap_err().kind, FaultKind::NotFound);
}

const KS: &str = "kustomize.toolkit.fluxcd.io";

fn kustomizations() -> Vec<Value> {
    serves(KS, "v1", "Kustomization", "kustomizations")
}

/// The running watch of one cluster, folded into a fleet.
struct Watched {
    fleet: Fleet,
    changes: mpsc::Receiver<Vec<Change>>,
    script: Script,
}

impl Watched {
    fn start(routes: Vec<Value>) -> Self {
        let script = Script::new(Value::Array(routes));
        let cluster = Cluster::from_client("prod", script.client());
        let (sender, changes) = mpsc::channel(64);
        tokio::spawn(async move { cluster.watch_fleet(sender).await });
        Self {
            fleet: Fleet::new(Settings::default(), ["prod".into()]),
            changes,
            script,
        }
    }

    /// Applies what comes until `done` holds; panics when nothing comes for an hour (of paused time).
    async fn until(&mut self, done: impl Fn(&Fleet) -> bool) {
        while !done(&self.fleet) {
            let batch = tokio::time::timeout(Duration::from_hours(1), self.changes.recv())
                .await
                .unwrap_or_else(|_| panic!("nothing comes any more: {}", self.shown()))
                .unwrap();
            self.fleet.apply(batch, now());
        }
    }

    fn shown(&self) -> String {
        let rows = self.fleet.rows(&Query::default(), SortKey::Name, now());
        let names: Vec<String> = rows
            .into_iter()
            .map(|row| {
                let app = self.fleet.at(row).unwrap();
                format!(
                    "{} {}",
                    app.app.target.name,
                    app.message.as_deref().unwrap_or("-")
                )
            })
            .collect();
        names.join(", ")
    }

    fn kind(&self, kind: AppKind) -> KindState {
        self.fleet.context("prod").unwrap().kinds[&kind].clone()
    }
}

fn has(name: &'static str) -> impl Fn(&Fleet) -> bool {
    move |fleet| fleet.iter().any(|a| a.app.target.name == name)
}

/// N05: a version that is too old in the middle of a watch.
#[tokio::test(start_paused = true)]
async fn lists_again_when_the_version_is_too_old_and_never_spins() {
    let mut all = routes("N05").as_array().unwrap().clone();
    all.extend(kustomizations());
    let mut watched = Watched::start(all);
    watched.until(has("gone")).await;
    let first = watched
        .fleet
        .iter()
        .find(|a| a.app.target.name == "a")
        .unwrap()
        .app
        .clone();
    let row = watched.fleet.index_of(&first);
    watched
        .until(|fleet| fleet.iter().any(|a| a.message.as_deref() == Some("first")))
        .await;
    watched.until(has("new")).await;
    assert_eq!(watched.shown(), "a second, new -");
    let new = watched
        .fleet
        .iter()
        .find(|a| a.app.target.name == "new")
        .unwrap();
    assert_eq!(new.state, AppState::Unknown);
    assert_eq!(
        watched.fleet.index_of(&first),
        row,
        "the row stays on its app"
    );
    assert_eq!(watched.fleet.context("prod").unwrap().cause(), None);

    let asked = watched.script.count("kustomizations?");
    tokio::time::sleep(Duration::from_secs(10)).await;
    let more = watched.script.count("kustomizations?") - asked;
    assert!(more <= 5, "{more} requests in 10 s");
    let lists = watched.script.count("kustomizations?limit");
    assert_eq!(lists, 2, "listed twice, each time without a version");
    assert!(watched.script.count("resourceVersion=100") >= 1);
}

/// A server that ends every watch at once is not asked in a tight loop.
#[tokio::test(start_paused = true)]
async fn pauses_longer_each_time_a_watch_ends_without_events() {
    let mut all = vec![
        json!({"method": "GET", "path": format!("/apis/{KS}/v1/kustomizations"), "query": {"watch": "true"},
            "status": 200, "stream": [{"close": true}]}),
        json!({"method": "GET", "path": format!("/apis/{KS}/v1/kustomizations"), "status": 200,
            "body": {"metadata": {"resourceVersion": "7"}, "items": []}}),
    ];
    all.extend(kustomizations());
    let mut watched = Watched::start(all);
    watched
        .until(|fleet| fleet.context("prod").unwrap().settled())
        .await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let asked = watched.script.count("watch=true");
    assert!((2..=5).contains(&asked), "{asked} watches in 10 s");
}

/// N07: an old Helm version, no Argo CD, a broken metrics group.
#[tokio::test(start_paused = true)]
async fn takes_the_best_version_served_and_is_quiet_about_what_is_not_installed() {
    let mut watched = Watched::start(routes("N07").as_array().unwrap().clone());
    watched
        .until(|fleet| fleet.context("prod").unwrap().settled())
        .await;
    let shown: Vec<String> = watched
        .fleet
        .iter()
        .map(|a| a.app.target.to_string())
        .collect();
    assert_eq!(shown, ["hr/apps/old"]);
    let old = watched.fleet.iter().next().unwrap();
    assert_eq!(
        (old.api_version.as_str(), old.applied.as_deref()),
        ("helm.toolkit.fluxcd.io/v2beta1", Some("1.0.0"))
    );
    assert_eq!(watched.kind(AppKind::Application), KindState::Absent);
    assert_eq!(watched.kind(AppKind::Kustomization), KindState::Listed);
    assert_eq!(watched.fleet.context("prod").unwrap().cause(), None);
}

fn forbidden(path: &str) -> Value {
    json!({"method": "GET", "path": path, "status": 403, "body": {"kind": "Status", "status": "Failure",
        "reason": "Forbidden", "code": 403, "message": "kustomizations is forbidden: User \"u\" cannot list"}})
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_kind_says_which_verb_on_what() {
    let mut all = vec![forbidden(&format!("/apis/{KS}/v1/kustomizations"))];
    all.extend(kustomizations());
    let mut watched = Watched::start(all);
    watched
        .until(|fleet| fleet.context("prod").unwrap().settled())
        .await;
    let context = watched.fleet.context("prod").unwrap();
    assert_eq!(context.state, ContextState::Forbidden);
    let fault = context.cause().unwrap();
    assert_eq!(
        fault.sentence,
        "not allowed to list kustomizations.kustomize.toolkit.fluxcd.io"
    );
    assert_eq!(
        fault.hint.as_deref(),
        Some("it needs list and watch on kustomizations.kustomize.toolkit.fluxcd.io")
    );
}

#[tokio::test(start_paused = true)]
async fn where_not_all_namespaces_may_be_read_those_that_may_are() {
    let mut all = vec![
        forbidden(&format!("/apis/{KS}/v1/kustomizations")),
        json!({"method": "GET", "path": "/api/v1/namespaces", "status": 200, "body": {"metadata": {},
            "items": [{"metadata": {"name": "shop"}}]}}),
        json!({"method": "POST", "path": "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "status": 201,
            "body": {"status": {"allowed": true}}}),
        json!({"method": "GET", "path": format!("/apis/{KS}/v1/namespaces/shop/kustomizations"), "query": {"watch": "true"},
            "status": 200, "stream": []}),
        json!({"method": "GET", "path": format!("/apis/{KS}/v1/namespaces/shop/kustomizations"), "status": 200,
            "body": {"metadata": {"resourceVersion": "3"}, "items": [{"metadata": {"name": "web", "namespace": "shop"}}]}}),
    ];
    all.extend(kustomizations());
    let mut watched = Watched::start(all);
    watched.until(has("web")).await;
    let once = Cluster::from_client("prod", watched.script.client())
        .list_fleet()
        .await;
    let mut listed = Fleet::new(Settings::default(), ["prod".into()]);
    listed.apply(once, now());
    let context = listed.context("prod").unwrap();
    assert_eq!(
        context.kinds[&AppKind::Kustomization],
        watched.kind(AppKind::Kustomization)
    );
    assert!(has("web")(&listed) && context.settled());
    let KindState::Partial { namespaces, fault } = watched.kind(AppKind::Kustomization) else {
        panic!("{:?}", watched.kind(AppKind::Kustomization));
    };
    assert_eq!(
        (namespaces, fault.kind),
        (vec!["shop".to_owned()], FaultKind::Forbidden)
    );
    assert_eq!(
        watched.fleet.context("prod").unwrap().state,
        ContextState::Ready
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_makes_the_fleet_unknown_until_it_is_back() {
    let path = format!("/apis/{KS}/v1/kustomizations");
    let mut all = vec![
        json!({"method": "GET", "path": path, "query": {"watch": "true"}, "times": 3, "status": 500, "body":
            {"kind": "Status", "status": "Failure", "code": 500, "message": "etcd is away"}}),
        json!({"method": "GET", "path": path, "query": {"watch": "true"}, "status": 200, "stream": []}),
        json!({"method": "GET", "path": path, "status": 200, "body": {"metadata": {"resourceVersion": "3"},
            "items": [{"metadata": {"name": "web", "namespace": "shop"}}]}}),
    ];
    all.extend(kustomizations());
    let mut watched = Watched::start(all);
    watched
        .until(|fleet| fleet.context("prod").unwrap().state == ContextState::Unreachable)
        .await;
    let cause = watched.fleet.iter().next().unwrap().cause.clone().unwrap();
    assert!(!cause.contains("was in-sync"), "{cause}");
    watched
        .until(|fleet| fleet.context("prod").unwrap().state == ContextState::Ready)
        .await;
    assert_eq!(watched.kind(AppKind::Kustomization), KindState::Listed);
}

/// N09: thousands of apps in pages, one page token expired.
#[tokio::test(start_paused = true)]
async fn an_expired_page_leads_to_a_fresh_list_and_never_to_half_of_one() {
    const APPS: usize = 6_000;
    const PAGE: usize = 500;
    let path = "/apis/argoproj.io/v1alpha1/applications";
    let item = |i: usize| {
        json!({"metadata": {"name": format!("app-{i:05}"), "namespace": "argocd", "resourceVersion": i.to_string()},
            "spec": {"source": {"repoURL": "https://git.example.test/r.git", "path": "a"}},
            "status": {"sync": {"status": if i.is_multiple_of(10) { "OutOfSync" } else { "Synced" }, "revision": "a"},
                "history": [{"id": 0, "revision": "a"}]}})
    };
    let page = |from: usize| {
        let mut metadata = json!({"resourceVersion": "9"});
        if from + PAGE < APPS {
            metadata["continue"] = json!(format!("tok-{}", from + PAGE));
        }
        json!({"metadata": metadata, "items": (from..from + PAGE).map(item).collect::<Vec<_>>()})
    };
    let mut all = vec![
        json!({"method": "GET", "path": path, "query": {"watch": "true"}, "status": 200, "stream": []}),
        json!({"method": "GET", "path": path, "query": {"continue": "tok-1000"}, "times": 1, "status": 410, "body":
            {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410, "message": "too old"}}),
    ];
    for from in (PAGE..APPS).step_by(PAGE) {
        all.push(json!({"method": "GET", "path": path, "query": {"continue": format!("tok-{from}")}, "status": 200,
            "body": page(from)}));
    }
    all.push(json!({"method": "GET", "path": path, "status": 200, "body": page(0)}));
    all.extend(serves(
        "argoproj.io",
        "v1alpha1",
        "Application",
        "applications",
    ));
    let mut watched = Watched::start(all);
    watched.until(|fleet| !fleet.is_empty()).await;
    assert_eq!(
        watched.fleet.len(),
        PAGE,
        "the first page is shown before the rest is there"
    );
    assert_ne!(watched.kind(AppKind::Application), KindState::Listed);
    watched.until(|fleet| fleet.len() == APPS).await;
    let out = watched
        .fleet
        .iter()
        .filter(|a| a.state == AppState::Drifted)
        .count();
    assert_eq!(out, APPS / 10);
}

fn id(kind: &str, namespace: Option<&str>, name: &str) -> ObjectId {
    ObjectId {
        api_version: "v1".into(),
        kind: kind.into(),
        namespace: namespace.map(str::to_owned),
        name: name.into(),
    }
}

#[tokio::test(start_paused = true)]
async fn reads_fail_object_by_object_and_come_back_when_told_to() {
    let config = |name: &str| format!("/api/v1/namespaces/shop/configmaps/{name}");
    let mut all = vec![
        json!({"method": "GET", "path": config("busy"), "times": 2, "status": 429, "body": {"kind": "Status",
            "status": "Failure", "code": 429, "message": "slow down", "details": {"retryAfterSeconds": 2}}}),
        json!({"method": "GET", "path": config("busy"), "status": 200, "body": {"kind": "ConfigMap"}}),
        json!({"method": "GET", "path": config("secret"), "status": 403, "body": {"kind": "Status",
            "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no"}}),
        json!({"method": "GET", "path": config("silent"), "status": 200, "body": {}, "delay_s": 300}),
    ];
    all.extend(kustomizations());
    let cluster = Cluster::from_client("prod", Script::new(Value::Array(all)).client());
    let ids =
        ["busy", "secret", "absent", "silent"].map(|name| id("ConfigMap", Some("shop"), name));
    let mut read = cluster.get_all(&ids).await.into_iter();
    assert!(read.next().unwrap().unwrap().is_some());
    let refused = read.next().unwrap().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "prod: not allowed to get configmaps shop/secret: no"
    );
    assert_eq!(read.next().unwrap(), Ok(None));
    assert_eq!(read.next().unwrap().unwrap_err().kind, FaultKind::Timeout);
    assert_eq!(
        cluster.get(&id("Unicorn", Some("shop"), "x")).await,
        Ok(None)
    );
}

#[tokio::test(start_paused = true)]
async fn asks_for_rights_before_they_are_used() {
    let mut all = vec![
        json!({"method": "POST", "path": "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "status": 201, "body": {"status": {"allowed": false}}}),
    ];
    all.extend(kustomizations());
    let script = Script::new(Value::Array(all));
    let cluster = Cluster::from_client("prod", script.client());
    let access = Access {
        verb: "patch",
        group: KS,
        resource: "kustomizations",
        namespace: Some("shop"),
        name: None,
    };
    assert_eq!(cluster.access(&access).await, Ok(false));
    assert_eq!(
        script.seen()[0].body["spec"]["resourceAttributes"],
        json!({"verb": "patch", "group": KS, "resource": "kustomizations", "namespace": "shop"})
    );
}
