//! The demo through the shipping kube client: the API's contract, the planted story, the controllers' answers.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use gitops_tui::world::demo::Demo;
use kube::api::{
    Api, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, discovery::Discovery};
use serde_json::{Value, json};

fn now() -> jiff::Timestamp {
    "2026-03-04T03:07:00Z".parse().unwrap()
}

fn demo() -> (Demo, Client, Client) {
    let demo = Demo::start(now()).unwrap();
    let mut contexts = demo.contexts().into_iter();
    let prod = contexts.next().unwrap().1.unwrap();
    let staging = contexts.next().unwrap().1.unwrap();
    (demo, prod, staging)
}

fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

fn api(client: &Client, api_version: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &resource(api_version, kind))
}

async fn get(
    client: &Client,
    (api_version, kind, namespace, name): (&str, &str, &str, &str),
) -> Value {
    let object = api(client, api_version, kind, namespace)
        .get(name)
        .await
        .unwrap();
    serde_json::to_value(object).unwrap()
}

const API: (&str, &str, &str, &str) = ("apps/v1", "Deployment", "checkout", "checkout-api");
const KS: (&str, &str) = ("kustomize.toolkit.fluxcd.io/v1", "Kustomization");

/// Returns `manager/operation[/subresource]` of every entry that holds the field at `steps`.
fn owners(object: &Value, steps: &[&str]) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    entries
        .iter()
        .filter(|entry| {
            steps
                .iter()
                .try_fold(&entry["fieldsV1"], |node, step| node.get(step))
                .is_some()
        })
        .map(|entry| {
            let mut who = format!(
                "{}/{}",
                entry["manager"].as_str().unwrap(),
                entry["operation"].as_str().unwrap()
            );
            if let Some(subresource) = entry["subresource"].as_str() {
                who = format!("{who}/{subresource}");
            }
            who
        })
        .collect()
}

fn container<'s>(name: &'s str, rest: &[&'s str]) -> Vec<&'s str> {
    let mut steps = vec!["f:spec", "f:template", "f:spec", "f:containers", name];
    steps.extend(rest);
    steps
}

/// Waits until an object is as `done` wants it; the clock of the test is tokio's, so this takes no real time.
async fn until(
    client: &Client,
    what: (&str, &str, &str, &str),
    done: impl Fn(&Value) -> bool,
) -> Value {
    for _ in 0..600 {
        let object = get(client, what).await;
        if done(&object) {
            return object;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!(
        "{what:?} never came to be so: {:#}",
        get(client, what).await
    );
}

fn ready(object: &Value) -> (String, String) {
    let conditions = object["status"]["conditions"].as_array().unwrap();
    let ready = conditions.iter().find(|c| c["type"] == "Ready").unwrap();
    (
        ready["status"].as_str().unwrap().into(),
        ready["reason"].as_str().unwrap().into(),
    )
}

async fn merge(
    client: &Client,
    (api_version, kind, namespace, name): (&str, &str, &str, &str),
    patch: Value,
) {
    let params = PatchParams {
        field_manager: Some("gitops-tui".into()),
        ..PatchParams::default()
    };
    api(client, api_version, kind, namespace)
        .patch(name, &params, &Patch::Merge(patch))
        .await
        .unwrap();
}

fn ks(name: &str) -> (&str, &str, &str, &str) {
    (
        "kustomize.toolkit.fluxcd.io/v1",
        "Kustomization",
        "flux-system",
        name,
    )
}

fn app(name: &str) -> (&str, &str, &str, &str) {
    ("argoproj.io/v1alpha1", "Application", "argocd", name)
}

fn ask(value: &str) -> Value {
    json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": value}}})
}

#[tokio::test(start_paused = true)]
async fn discovery_tells_what_each_context_serves() {
    let (_demo, prod, staging) = demo();
    for aggregated in [true, false] {
        for (client, argo) in [(&prod, false), (&staging, true)] {
            let discovery = Discovery::new(client.clone());
            let found = if aggregated {
                discovery.run_aggregated().await
            } else {
                discovery.run().await
            }
            .unwrap();
            let gvk = |g: &str, v: &str, k: &str| {
                found.resolve_gvk(&GroupVersionKind::gvk(g, v, k)).is_some()
            };
            assert!(gvk("kustomize.toolkit.fluxcd.io", "v1", "Kustomization"));
            assert!(gvk("apps", "v1", "Deployment") && gvk("", "v1", "Secret"));
            assert_eq!(gvk("argoproj.io", "v1alpha1", "Application"), argo);
            assert_eq!(gvk("helm.toolkit.fluxcd.io", "v2", "HelmRelease"), !argo);
        }
    }
    assert_eq!(
        prod.apiserver_version().await.unwrap().git_version,
        "v1.37.2"
    );
}

#[tokio::test(start_paused = true)]
async fn lists_come_in_pages_and_watches_go_on_from_there() {
    let (_demo, prod, _) = demo();
    let all: Api<DynamicObject> = Api::all_with(prod.clone(), &resource("apps/v1", "Deployment"));
    let whole = all.list(&ListParams::default()).await.unwrap();
    let mut names = vec![];
    let mut token: Option<String> = None;
    loop {
        let mut params = ListParams::default().limit(3);
        params.continue_token.clone_from(&token);
        let page = all.list(&params).await.unwrap();
        assert!(page.items.len() <= 3);
        names.extend(page.items.iter().map(|o| o.metadata.name.clone().unwrap()));
        token = page.metadata.continue_.filter(|t| !t.is_empty());
        if token.is_none() {
            break;
        }
    }
    let wanted: Vec<String> = whole
        .items
        .iter()
        .map(|o| o.metadata.name.clone().unwrap())
        .collect();
    assert_eq!(names, wanted);

    let version = whole.metadata.resource_version.unwrap();
    merge(&prod, API, json!({"spec": {"replicas": 6}})).await;
    let mut events = all
        .watch(&WatchParams::default().timeout(5), &version)
        .await
        .unwrap()
        .boxed();
    match events.try_next().await.unwrap() {
        Some(WatchEvent::Modified(object)) => assert_eq!(object.data["spec"]["replicas"], 6),
        other => panic!("{other:?}"),
    }
    let labelled = ListParams::default().labels("app.kubernetes.io/name in (cart,payments)");
    assert_eq!(all.list(&labelled).await.unwrap().items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn streaming_lists_end_with_a_bookmark_and_old_versions_are_gone() {
    let (_demo, prod, _) = demo();
    let maps = api(&prod, "v1", "ConfigMap", "catalog");
    let params = WatchParams::default().timeout(5).initial_events();
    let events: Vec<_> = maps
        .watch(&params, "0")
        .await
        .unwrap()
        .take(2)
        .collect()
        .await;
    assert!(
        matches!(&events[0], Ok(WatchEvent::Added(o)) if o.metadata.name.as_deref() == Some("catalog-settings"))
    );
    match &events[1] {
        Ok(WatchEvent::Bookmark(mark)) => {
            assert_eq!(
                mark.metadata.annotations["k8s.io/initial-events-end"],
                "true"
            );
        }
        other => panic!("{other:?}"),
    }
    let mut gone = maps
        .watch(&WatchParams::default(), "99999999")
        .await
        .unwrap()
        .boxed();
    assert!(matches!(gone.try_next().await.unwrap(), Some(WatchEvent::Error(s)) if s.code == 410));
}

#[tokio::test(start_paused = true)]
async fn a_foreign_field_is_a_conflict_that_names_its_manager_and_force_takes_it() {
    let (_demo, prod, _) = demo();
    let deployments = api(&prod, API.0, API.1, API.2);
    let image = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "checkout-api"},
        "spec": {"template": {"spec": {"containers": [{"name": "api", "image": "ghcr.io/acme/checkout-api:2.14.0"}]}}}});
    let params = PatchParams::apply("kustomize-controller");
    match deployments
        .patch("checkout-api", &params, &Patch::Apply(&image))
        .await
    {
        Err(kube::Error::Api(status)) => {
            assert!(status.is_conflict());
            assert_eq!(
                status.message,
                "Apply failed with 1 conflict: conflict with \"kubectl-set\" using apps/v1: \
                 .spec.template.spec.containers[name=\"api\"].image"
            );
        }
        other => panic!("{other:?}"),
    }
    let by_us = PatchParams::apply("gitops-tui");
    let before = get(&prod, API).await;
    let mut tried = by_us.clone().force();
    tried.dry_run = true;
    let predicted = deployments
        .patch("checkout-api", &tried, &Patch::Apply(&image))
        .await
        .unwrap();
    assert_eq!(get(&prod, API).await, before, "a dry run changes nothing");
    deployments
        .patch("checkout-api", &by_us.force(), &Patch::Apply(&image))
        .await
        .unwrap();
    let after = get(&prod, API).await;
    assert_eq!(after["spec"], predicted.data["spec"]);
    let steps = container(r#"k:{"name":"api"}"#, &["f:image"]);
    assert_eq!(owners(&after, &steps), ["gitops-tui/Apply"]);
}

#[tokio::test(start_paused = true)]
async fn refusals_are_worded_as_a_real_server_words_them() {
    let (_demo, prod, staging) = demo();
    let words = |error: kube::Error| match error {
        kube::Error::Api(status) => (status.code, status.message.clone()),
        other => panic!("{other:?}"),
    };
    let missing = api(&prod, "apps/v1", "Deployment", "shop")
        .get("web")
        .await
        .unwrap_err();
    assert_eq!(
        words(missing),
        (404, "deployments.apps \"web\" not found".into())
    );
    let secrets = api(&staging, "v1", "Secret", "identity");
    let denied = secrets.get("identity-keys").await.unwrap_err();
    let sentence = "secrets \"identity-keys\" is forbidden: User \"oncall@acme.example\" cannot get resource \"secrets\" \
                    in API group \"\" in the namespace \"identity\"";
    assert_eq!(words(denied), (403, sentence.into()));
    let all: Api<DynamicObject> = Api::all_with(staging.clone(), &resource("v1", "Secret"));
    let (code, sentence) = words(all.list(&ListParams::default()).await.unwrap_err());
    assert!(
        code == 403 && sentence.ends_with("at the cluster scope"),
        "{sentence}"
    );
    let maps = api(&prod, "v1", "ConfigMap", "catalog");
    let mut stale = maps.get("catalog-settings").await.unwrap();
    stale.metadata.resource_version = Some("1".into());
    let (code, sentence) = words(
        maps.replace("catalog-settings", &PostParams::default(), &stale)
            .await
            .unwrap_err(),
    );
    assert!(
        code == 409 && sentence.contains("the object has been modified"),
        "{sentence}"
    );
    stale.metadata.resource_version = None;
    let taken = words(
        maps.create(&PostParams::default(), &stale)
            .await
            .unwrap_err(),
    );
    assert_eq!(
        taken,
        (409, "configmaps \"catalog-settings\" already exists".into())
    );
    let immutable = json!({"spec": {"selector": {"matchLabels": {"a": "b"}}}});
    let patched = api(&prod, API.0, API.1, API.2)
        .patch(API.3, &PatchParams::default(), &Patch::Merge(immutable))
        .await;
    let (code, sentence) = words(patched.unwrap_err());
    assert!(
        code == 422 && sentence.ends_with("field is immutable"),
        "{sentence}"
    );
}

#[tokio::test(start_paused = true)]
async fn scaling_goes_through_its_subresource() {
    let (_demo, prod, _) = demo();
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> =
        Api::namespaced(prod.clone(), "cart");
    assert!(
        deployments.get_scale("cart").await.is_err(),
        "a StatefulSet is no Deployment"
    );
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> =
        Api::namespaced(prod.clone(), "catalog");
    let mut params = PatchParams::default();
    params.field_manager = Some("kubectl".into());
    let patch = Patch::Merge(json!({"spec": {"replicas": 9}}));
    let scale = deployments
        .patch_scale("catalog", &params, &patch)
        .await
        .unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(9));
    let catalog = get(&prod, ("apps/v1", "Deployment", "catalog", "catalog")).await;
    assert_eq!(
        owners(&catalog, &["f:spec", "f:replicas"]),
        ["kubectl/Update/scale"]
    );
}

#[tokio::test(start_paused = true)]
async fn deletions_can_be_tried_and_wait_for_finalizers() {
    use kube::api::DeleteParams;
    let (_demo, prod, _) = demo();
    let maps = api(&prod, "v1", "ConfigMap", "catalog");
    let mut tried = DeleteParams::default();
    tried.dry_run = true;
    maps.delete("catalog-settings", &tried).await.unwrap();
    assert!(maps.get_opt("catalog-settings").await.unwrap().is_some());
    // Deleting a Kustomization lets its controller prune first, then lets it go.
    let apps = api(&prod, KS.0, KS.1, "flux-system");
    let going = apps
        .delete("cart", &DeleteParams::default())
        .await
        .unwrap()
        .left()
        .unwrap();
    assert!(going.metadata.deletion_timestamp.is_some());
    for _ in 0..100 {
        if apps.get_opt("cart").await.unwrap().is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(apps.get_opt("cart").await.unwrap().is_none());
    let sets = api(&prod, "apps/v1", "StatefulSet", "cart");
    assert!(sets.get_opt("cart").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn access_reviews_agree_with_the_answers() {
    use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview};
    let (_demo, _, staging) = demo();
    for (namespace, allowed) in [("identity", false), ("orders", true)] {
        let mut review = SelfSubjectAccessReview::default();
        review.spec.resource_attributes = Some(ResourceAttributes {
            namespace: Some(namespace.into()),
            verb: Some("get".into()),
            resource: Some("secrets".into()),
            ..ResourceAttributes::default()
        });
        let reviews: Api<SelfSubjectAccessReview> = Api::all(staging.clone());
        let answer = reviews
            .create(&PostParams::default(), &review)
            .await
            .unwrap();
        assert_eq!(answer.status.unwrap().allowed, allowed);
    }
}

#[tokio::test(start_paused = true)]
async fn every_planted_drift_is_there_with_its_manager() {
    let (_demo, prod, staging) = demo();
    let api_now = get(&prod, API).await;
    assert_eq!(
        api_now["spec"]["template"]["spec"]["containers"][0]["image"],
        "ghcr.io/acme/checkout-api:2.14.1-hotfix"
    );
    assert_eq!(
        owners(&api_now, &container(r#"k:{"name":"api"}"#, &["f:image"])),
        ["kubectl-set/Update"]
    );
    let replicas = ["f:spec", "f:replicas"];
    for (namespace, name, count, who) in [
        ("checkout", "checkout-worker", 5, "kubectl/Update/scale"),
        (
            "storefront",
            "storefront",
            7,
            "kube-controller-manager/Update/scale",
        ),
        ("notifications", "notifications", 0, "kubectl/Update/scale"),
    ] {
        let object = get(&prod, ("apps/v1", "Deployment", namespace, name)).await;
        assert_eq!(object["spec"]["replicas"], count);
        assert_eq!(owners(&object, &replicas), [who]);
    }
    let storefront = get(&prod, ("apps/v1", "Deployment", "storefront", "storefront")).await;
    assert_eq!(
        owners(&storefront, &container(r#"k:{"name":"mesh-proxy"}"#, &[])),
        ["mesh-injector/Update"]
    );
    let payments = get(&prod, ("apps/v1", "Deployment", "payments", "payments")).await;
    let added = container(
        r#"k:{"name":"payments"}"#,
        &["f:env", r#"k:{"name":"PROVIDER_DEBUG"}"#],
    );
    assert_eq!(owners(&payments, &added), ["kubectl-edit/Update"]);
    let secret = get(&prod, ("v1", "Secret", "payments", "payments-provider")).await;
    assert_eq!(
        owners(&secret, &["f:data", "f:webhook-token"]),
        ["kubectl-patch/Update"]
    );
    assert_eq!(
        owners(&secret, &["f:data", "f:account"]),
        ["kustomize-controller/Apply"]
    );
    let settings = get(&prod, ("v1", "ConfigMap", "catalog", "catalog-settings")).await;
    assert_eq!(settings["data"]["price.rounding"], Value::Null);
    assert!(owners(&settings, &["f:data", "f:price.rounding"]).is_empty());
    let budgets = api(&prod, "policy/v1", "PodDisruptionBudget", "catalog");
    assert!(budgets.get_opt("catalog").await.unwrap().is_none());
    let broken = get(&prod, ks("recommendations")).await;
    assert_eq!(ready(&broken), ("False".into(), "BuildFailed".into()));
    assert_ne!(
        broken["status"]["lastAppliedRevision"],
        broken["status"]["lastAttemptedRevision"]
    );
    assert_eq!(
        get(&prod, ks("notifications")).await["spec"]["suspend"],
        true
    );
    let website = get(&staging, ("apps/v1", "Deployment", "website", "website")).await;
    assert_eq!(
        owners(&website, &container(r#"k:{"name":"nginx"}"#, &["f:image"])),
        ["kubectl-set/Update"]
    );
    for (name, status) in [
        ("website", "OutOfSync"),
        ("docs", "Synced"),
        ("orders", "Synced"),
        ("grafana", "Synced"),
    ] {
        assert_eq!(
            get(&staging, app(name)).await["status"]["sync"]["status"],
            status,
            "{name}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn flux_answers_a_request_and_undoes_what_kubectl_added() {
    let (_demo, prod, _) = demo();
    merge(&prod, ks("payments"), ask("2026-03-04T03:07:01Z")).await;
    until(&prod, ks("payments"), |ks| {
        ready(ks) == ("Unknown".into(), "Progressing".into())
    })
    .await;
    let done = |ks: &Value| ks["status"]["lastHandledReconcileAt"] == "2026-03-04T03:07:01Z";
    let after = until(&prod, ks("payments"), done).await;
    assert_eq!(
        ready(&after),
        ("True".into(), "ReconciliationSucceeded".into())
    );
    let payments = get(&prod, ("apps/v1", "Deployment", "payments", "payments")).await;
    let env = payments["spec"]["template"]["spec"]["containers"][0]["env"]
        .as_array()
        .unwrap();
    assert!(env.iter().all(|e| e["name"] != "PROVIDER_DEBUG"), "{env:?}");
    let secret = get(&prod, ("v1", "Secret", "payments", "payments-provider")).await;
    assert_eq!(
        owners(&secret, &["f:data", "f:webhook-token"]),
        ["kustomize-controller/Apply"]
    );
    merge(&prod, ks("catalog"), ask("c")).await;
    until(&prod, ks("catalog"), |ks| {
        ks["status"]["lastHandledReconcileAt"] == "c"
    })
    .await;
    let budgets = api(&prod, "policy/v1", "PodDisruptionBudget", "catalog");
    assert!(
        budgets.get_opt("catalog").await.unwrap().is_some(),
        "a deleted object is there again"
    );
}

#[tokio::test(start_paused = true)]
async fn flux_keeps_its_hands_off_a_suspended_app_and_acts_on_resume() {
    let (_demo, prod, _) = demo();
    let replicas = ("apps/v1", "Deployment", "notifications", "notifications");
    merge(&prod, ks("notifications"), ask("a")).await;
    until(&prod, ks("notifications"), |ks| {
        ks["status"]["lastHandledReconcileAt"] == "a"
    })
    .await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(get(&prod, replicas).await["spec"]["replicas"], 0);
    merge(
        &prod,
        ks("notifications"),
        json!({"spec": {"suspend": false}}),
    )
    .await;
    until(&prod, replicas, |d| d["spec"]["replicas"] == 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_source_sync_brings_the_commit_that_git_is_ahead_by() {
    let (_demo, _, staging) = demo();
    let search = ("apps/v1", "Deployment", "search", "search");
    let image = |d: &Value| d["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    assert_eq!(
        image(&get(&staging, search).await),
        "ghcr.io/acme/search:0.8.7"
    );
    let source = (
        "source.toolkit.fluxcd.io/v1",
        "GitRepository",
        "flux-system",
        "search",
    );
    merge(&staging, source, ask("b")).await;
    until(&staging, search, |d| {
        image(d) == "ghcr.io/acme/search:0.9.0"
    })
    .await;
    let after = until(&staging, ks("search"), |ks| ready(ks).0 == "True").await;
    let source = get(&staging, source).await;
    assert_eq!(
        after["status"]["lastAppliedRevision"],
        source["status"]["artifact"]["revision"]
    );
}

#[tokio::test(start_paused = true)]
async fn argo_carries_out_an_operation_and_takes_a_refresh_away() {
    let (_demo, _, staging) = demo();
    let refresh = json!({"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}});
    merge(&staging, app("website"), refresh).await;
    until(&staging, app("website"), |a| {
        a["metadata"]["annotations"]["argocd.argoproj.io/refresh"].is_null()
    })
    .await;
    let before = get(&staging, app("website")).await;
    let operation = json!({"operation": {"initiatedBy": {"username": "gitops-tui"}, "sync": {"syncStrategy": {"hook": {}}}},
        "status": {"operationState": null}});
    merge(&staging, app("website"), operation).await;
    until(&staging, app("website"), |a| {
        a["status"]["operationState"]["phase"] == "Running"
    })
    .await;
    let after = until(&staging, app("website"), |a| {
        a["status"]["sync"]["status"] == "Synced"
    })
    .await;
    assert_eq!(after["operation"], Value::Null);
    assert_eq!(after["status"]["operationState"]["phase"], "Succeeded");
    let count = |a: &Value| a["status"]["history"].as_array().unwrap().len();
    assert_eq!(count(&after), count(&before) + 1);
    let website = get(&staging, ("apps/v1", "Deployment", "website", "website")).await;
    let image = &website["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(image, "ghcr.io/acme/website:2026.11.3");
    let note = &website["metadata"]["annotations"]["acme.example/note"];
    assert!(
        note.is_string(),
        "client-side apply leaves what it never set"
    );
}

#[tokio::test(start_paused = true)]
async fn argo_heals_the_app_that_asks_for_it_and_not_the_one_that_does_not() {
    let (_demo, _, staging) = demo();
    let orders = ("v1", "ConfigMap", "orders", "orders-settings");
    merge(&staging, orders, json!({"data": {"RETENTION_DAYS": "1"}})).await;
    until(&staging, app("orders"), |a| {
        a["status"]["sync"]["status"] == "OutOfSync"
    })
    .await;
    until(&staging, orders, |m| m["data"]["RETENTION_DAYS"] == "30").await;
    until(&staging, app("orders"), |a| {
        a["status"]["sync"]["status"] == "Synced"
    })
    .await;
    let docs = ("apps/v1", "Deployment", "docs", "docs");
    merge(&staging, docs, json!({"spec": {"replicas": 3}})).await;
    until(&staging, app("docs"), |a| {
        a["status"]["sync"]["status"] == "OutOfSync"
    })
    .await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(get(&staging, docs).await["spec"]["replicas"], 3);
}

#[tokio::test(start_paused = true)]
async fn the_same_time_gives_the_same_fleet() {
    async fn prints(path: String, client: &Client) -> Vec<String> {
        let mut all = vec![];
        for (api_version, kind) in [KS, ("apps/v1", "Deployment"), ("v1", "ConfigMap")] {
            let objects: Api<DynamicObject> =
                Api::all_with(client.clone(), &resource(api_version, kind));
            let list = objects.list(&ListParams::default()).await.unwrap();
            all.extend(
                list.items
                    .iter()
                    .map(|o| serde_json::to_string(o).unwrap().replace(&path, "PATH")),
            );
        }
        all
    }
    let (one, prod_one, staging_one) = demo();
    let (two, prod_two, staging_two) = demo();
    let path = |demo: &Demo| demo.repository().display().to_string();
    assert_eq!(
        prints(path(&one), &prod_one).await,
        prints(path(&two), &prod_two).await
    );
    assert_eq!(
        prints(path(&one), &staging_one).await,
        prints(path(&two), &staging_two).await
    );
}

#[tokio::test(start_paused = true)]
async fn one_context_cannot_be_reached_and_the_folder_goes_with_the_demo() {
    let (demo, _, _) = demo();
    let contexts = demo.contexts();
    assert_eq!(
        contexts.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(),
        ["prod-eu", "staging", "dr-west"]
    );
    let fault = contexts[2].1.as_ref().err().unwrap();
    assert_eq!(
        fault.kind,
        gitops_tui::domain::fault::FaultKind::Unreachable
    );
    assert!(fault.causes[0].contains("connection refused"));
    let path = demo.repository().to_owned();
    assert!(path.is_dir());
    drop(demo);
    assert!(!path.exists());
}

/// The shipping half of the story: the product's own watches, fleet, plans and acts over the demo.
mod through_the_product {
    use std::sync::Arc;

    use gitops_tui::domain::fleet::{AppState, Fleet, Settings, Target};
    use gitops_tui::domain::operate::{self, Actor, HoldNote, Plan, Surroundings, SyncOptions};
    use gitops_tui::world::cluster::{Cluster, Permit};
    use tokio::sync::mpsc;

    use super::*;

    struct Watched {
        fleet: Fleet,
        clusters: Vec<Cluster>,
        changes: mpsc::Receiver<Vec<gitops_tui::domain::fleet::Change>>,
    }

    impl Watched {
        fn start(demo: &Demo) -> Self {
            let (send, changes) = mpsc::channel(64);
            let mut clusters = vec![];
            for (name, client) in demo.contexts() {
                if let Ok(client) = client {
                    let cluster = Cluster::from_client(name.as_str(), client);
                    clusters.push(cluster.clone());
                    let send = send.clone();
                    tokio::spawn(async move { cluster.watch_fleet(send).await });
                }
            }
            let names = clusters.iter().map(|c| Arc::clone(&c.context));
            Self {
                fleet: Fleet::new(Settings::default(), names),
                clusters,
                changes,
            }
        }

        /// Takes changes until the fleet is as `done` wants it.
        async fn until(&mut self, done: impl Fn(&Fleet) -> bool) {
            while !done(&self.fleet) {
                let next = tokio::time::timeout(Duration::from_mins(1), self.changes.recv()).await;
                match next {
                    Ok(Some(batch)) => drop(self.fleet.apply(batch, now())),
                    _ => panic!("it never came to be so: {:#?}", states(&self.fleet)),
                }
            }
        }

        async fn perform(
            &self,
            context: &str,
            plan: Result<Plan, gitops_tui::domain::fault::Fault>,
        ) {
            let cluster = self
                .clusters
                .iter()
                .find(|c| &*c.context == context)
                .unwrap();
            let performed = cluster
                .perform(&plan.unwrap(), Permit::unless(false).unwrap(), false)
                .await;
            assert_eq!(performed.fault(), None);
        }
    }

    fn states(fleet: &Fleet) -> Vec<String> {
        let mut lines: Vec<String> = fleet
            .iter()
            .map(|app| {
                format!(
                    "{} {} {}",
                    app.app,
                    app.state.word(),
                    app.cause.as_deref().unwrap_or("-")
                )
            })
            .collect();
        lines.sort();
        lines
    }

    fn app<'f>(
        fleet: &'f Fleet,
        target: &str,
        context: &str,
    ) -> &'f gitops_tui::domain::fleet::App {
        fleet
            .find(&target.parse::<Target>().unwrap(), Some(context))
            .unwrap()
    }

    fn actor() -> Actor {
        Actor {
            name: "mei".into(),
            now: now(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_fleet_is_read_and_the_acts_have_their_effect() {
        let (demo, _, _) = demo();
        let mut watched = Watched::start(&demo);
        watched.until(|fleet| fleet.len() == 16).await;
        let state = |fleet: &Fleet, target: &str, context: &str| app(fleet, target, context).state;
        let is = |target: &str, context: &str| state(&watched.fleet, target, context);
        assert_eq!(
            is("ks/flux-system/recommendations", "prod-eu"),
            AppState::Failed
        );
        assert_eq!(
            is("ks/flux-system/notifications", "prod-eu"),
            AppState::Held
        );
        let release = app(&watched.fleet, "hr/ingress-nginx/ingress-nginx", "prod-eu");
        assert!(
            release.cause.as_deref().unwrap().contains("comes later"),
            "{:?}",
            release.cause
        );

        let held = app(&watched.fleet, "ks/flux-system/notifications", "prod-eu");
        watched.perform("prod-eu", operate::resume(held)).await;
        let target = "ks/flux-system/notifications";
        watched
            .until(|fleet| app(fleet, target, "prod-eu").hold.is_none())
            .await;

        let checkout = app(&watched.fleet, "ks/flux-system/checkout", "prod-eu");
        watched
            .perform(
                "prod-eu",
                operate::hold(checkout, &HoldNote::default(), &actor()),
            )
            .await;
        watched
            .until(|fleet| state(fleet, "ks/flux-system/checkout", "prod-eu") == AppState::Held)
            .await;

        let search = app(&watched.fleet, "ks/flux-system/search", "staging");
        let before = search.applied.clone();
        let id = search.source_ref.clone().unwrap();
        let source = watched.fleet.source(&search.app.context, &id).unwrap();
        let sources = [source];
        let around = Surroundings {
            sources: &sources,
            ..Surroundings::default()
        };
        let options = SyncOptions {
            with_source: true,
            ..SyncOptions::default()
        };
        watched
            .perform("staging", operate::sync(search, around, &options, &actor()))
            .await;
        watched
            .until(|fleet| app(fleet, "ks/flux-system/search", "staging").applied != before)
            .await;

        let website = app(&watched.fleet, "app/argocd/website", "staging");
        assert_eq!(website.sync.as_deref(), Some("OutOfSync"));
        let options = SyncOptions::default();
        watched
            .perform(
                "staging",
                operate::sync(website, Surroundings::default(), &options, &actor()),
            )
            .await;
        let synced = |fleet: &Fleet| {
            app(fleet, "app/argocd/website", "staging").sync.as_deref() == Some("Synced")
        };
        watched.until(synced).await;
    }
}
