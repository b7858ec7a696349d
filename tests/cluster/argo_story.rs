//! Argo CD end to end: an Application without and with automated sync, as the real controller sees and syncs it.

use serde_json::Value;

use crate::world::{World, tools, wait_for};

fn application(url: &str, name: &str, automated: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: {name}, namespace: argocd}}
spec:
  project: default
  source: {{repoURL: '{url}', path: {name}, targetRevision: main}}
  destination: {{server: 'https://kubernetes.default.svc', namespace: {name}}}
  syncPolicy:
    {automated}
    syncOptions: [CreateNamespace=true]
    retry: {{limit: 2, backoff: {{duration: 5s, factor: 2, maxDuration: 1m}}}}
"
    )
}

const CONFIG: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  mode: calm
";

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: registry.example.test/web:1.0.0
";

fn app(world: &World, name: &str) -> Value {
    world.get("applications.argoproj.io", "argocd", name)
}

fn synced(world: &World, name: &str, word: &str) -> Option<()> {
    (app(world, name)["status"]["sync"]["status"] == word).then_some(())
}

#[test]
fn argo_story() {
    let Some(bin) = tools() else { return };
    let mut world = World::start(bin);
    world.start_argo();
    world.git.create(
        "shop",
        &[
            ("manual/deployment.yaml", DEPLOYMENT),
            ("manual/settings.yaml", CONFIG),
            ("auto/deployment.yaml", DEPLOYMENT),
            ("auto/settings.yaml", CONFIG),
            (
                "auto/kustomization.yaml",
                "resources: [deployment.yaml, settings.yaml]\nnamePrefix: auto-\n",
            ),
        ],
    );
    let url = world.git.url("shop");
    world.apply(&application(&url, "manual", ""));
    world.apply(&application(
        &url,
        "auto",
        "automated: {prune: true, selfHeal: false}",
    ));
    wait_for("manual is compared", 90, || {
        synced(&world, "manual", "OutOfSync")
    });
    wait_for("auto is synced", 90, || synced(&world, "auto", "Synced"));

    // Nothing was applied yet: our verdict is Argo's.
    let document = world
        .run(&[
            "diff",
            "app/argocd/manual",
            "--context",
            "real",
            "-o",
            "json",
        ])
        .exits(1)
        .json();
    let states: Vec<&str> = document["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| o["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["missing", "missing"], "{document}");

    // Sync with the spec's own options: the namespace is made, as CreateNamespace=true says.
    world
        .run(&["sync", "app/argocd/manual", "--context", "real", "--yes"])
        .exits(0);
    wait_for("manual is synced", 60, || {
        synced(&world, "manual", "Synced")
    });
    let operation = app(&world, "manual")["status"]["operationState"]["operation"].clone();
    assert_eq!(
        operation["sync"]["syncOptions"],
        serde_json::json!(["CreateNamespace=true"])
    );
    assert_eq!(operation["retry"]["limit"], 2);
    for name in ["app/argocd/manual", "app/argocd/auto"] {
        let document = world
            .run(&["diff", name, "--context", "real", "-o", "json"])
            .exits(0)
            .json();
        assert_eq!(document["state"], "in-sync", "{document}");
    }

    // A hotfix: OutOfSync as Argo says it, with the hand and the line.
    world.kubectl_ok(&[
        "set",
        "image",
        "-n",
        "manual",
        "deploy/web",
        "web=registry.example.test/web:1.0.1",
    ]);
    wait_for("Argo CD sees the hotfix", 60, || {
        synced(&world, "manual", "OutOfSync")
    });
    let document = world
        .run(&[
            "diff",
            "app/argocd/manual",
            "--context",
            "real",
            "-o",
            "json",
        ])
        .exits(1)
        .json();
    let deployment = document["objects"]
        .as_array()
        .unwrap()
        .iter()
        .find(|o| o["kind"] == "Deployment")
        .unwrap()
        .clone();
    let fields = deployment["fields"].as_array().unwrap();
    let counted: Vec<&Value> = fields
        .iter()
        .filter(|f| ["drift", "held"].contains(&f["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(counted.len(), 1, "{document}");
    assert_eq!(counted[0]["owners"][0]["manager"], "kubectl-set");
    assert_eq!(counted[0]["origin"]["file"], "manual/deployment.yaml");

    // Hold and resume give back what was found, byte for byte.
    let before = app(&world, "auto")["spec"]["syncPolicy"].to_string();
    world
        .run(&["suspend", "app/argocd/auto", "--context", "real", "--yes"])
        .exits(0);
    let held = app(&world, "auto")["spec"]["syncPolicy"].clone();
    assert!(
        held["automated"].is_null() || held["automated"]["enabled"] == false,
        "{held}"
    );
    world
        .run(&["resume", "app/argocd/auto", "--context", "real", "--yes"])
        .exits(0);
    assert_eq!(
        app(&world, "auto")["spec"]["syncPolicy"].to_string(),
        before
    );

    // Sync undoes the hotfix.
    world
        .run(&["sync", "app/argocd/manual", "--context", "real", "--yes"])
        .exits(0);
    wait_for("manual is synced again", 60, || {
        synced(&world, "manual", "Synced")
    });
    world.run(&["check", "--context", "real"]).exits(0);
}
