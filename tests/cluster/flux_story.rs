//! Flux end to end: a base and two overlays applied by the real controllers, changed live, told, held, undone,
//! accepted into Git, and applied again.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::git_http::git;
use crate::world::{World, tools, wait_for};

const DEPLOYMENT: &str = "# the shop's front
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: web
          image: registry.example.test/web:1.0.0
          env:
            - name: LOG_LEVEL   # info in production
              value: info
";

const CONFIG: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  mode: calm
  limit: \"10\"   # requests a second
";

const SERVICE: &str = "apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  selector: {app: web}
  ports:
    - port: 80
      targetPort: 8080
";

const BASE: &str = "resources:
  - deployment.yaml
  - service.yaml
  - settings.yaml
";

const PROD: &str = "namespace: prod
resources:
  - ../base
images:
  - name: registry.example.test/web
    newTag: 1.4.2   # released on Monday
replicas:
  - name: web
    count: 3
";

const STAGING: &str = "namespace: staging
resources:
  - ../base
";

fn apps(url: &str) -> String {
    format!(
        "apiVersion: v1
kind: Namespace
metadata: {{name: prod}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: staging}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {{name: fleet, namespace: flux-system}}
spec: {{interval: 60m, url: '{url}', ref: {{branch: main}}}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: prod, namespace: flux-system}}
spec: {{interval: 60m, path: ./apps/prod, prune: true, sourceRef: {{kind: GitRepository, name: fleet}}}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: staging, namespace: flux-system}}
spec: {{interval: 60m, path: ./apps/staging, prune: true, sourceRef: {{kind: GitRepository, name: fleet}}}}
"
    )
}

/// Returns the fields of one object of a `diff/v1` document that count as drift, as `path git live manager`.
fn drifted(document: &Value, kind: &str) -> Vec<String> {
    let empty = vec![];
    document["objects"]
        .as_array()
        .unwrap_or(&empty)
        .iter()
        .filter(|object| object["kind"] == kind)
        .flat_map(|object| object["fields"].as_array().unwrap().clone())
        .filter(|field| ["drift", "held"].contains(&field["verdict"].as_str().unwrap()))
        .map(|field| {
            format!(
                "{} {} {} {}",
                field["path"].as_str().unwrap(),
                field["git"],
                field["live"],
                field["owners"][0]["manager"].as_str().unwrap_or("-")
            )
        })
        .collect()
}

fn applied(world: &World, name: &str) -> Option<String> {
    let app = world.get(
        "kustomizations.kustomize.toolkit.fluxcd.io",
        "flux-system",
        name,
    );
    let ready = app["status"]["conditions"]
        .as_array()?
        .iter()
        .any(|c| c["type"] == "Ready" && c["status"] == "True");
    ready.then(|| {
        app["status"]["lastAppliedRevision"]
            .as_str()
            .map(str::to_owned)
    })?
}

fn edit(world: &World, args: &[&str], sed: &str) {
    let editor = world.dir.path().join("editor.sh");
    fs::write(&editor, format!("#!/bin/sh\nexec sed -i '{sed}' \"$1\"\n")).unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let out = std::process::Command::new(world.bin.join("kubectl"))
        .arg("--kubeconfig")
        .arg(world.kubeconfig())
        .arg("edit")
        .args(args)
        .env("KUBE_EDITOR", editor)
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "kubectl edit: {}",
        String::from_utf8_lossy(&out.stderr)
    );
}

#[test]
fn flux_story() {
    let Some(bin) = tools() else { return };
    let mut world = World::start(bin);
    world.start_flux();
    world.git.create(
        "fleet",
        &[
            ("apps/base/deployment.yaml", DEPLOYMENT),
            ("apps/base/service.yaml", SERVICE),
            ("apps/base/settings.yaml", CONFIG),
            ("apps/base/kustomization.yaml", BASE),
            ("apps/prod/kustomization.yaml", PROD),
            ("apps/staging/kustomization.yaml", STAGING),
        ],
    );
    world.apply(&apps(&world.git.url("fleet")));
    for name in ["prod", "staging"] {
        wait_for(
            &format!("{name} is applied\n{}", world.log("kustomize-controller")),
            90,
            || applied(&world, name),
        );
    }

    // The fleet: three contexts, each with its own fate; the good one is complete.
    let list = world
        .run(&["list", "-o", "json", "--timeout", "10s"])
        .exits(2)
        .json();
    let contexts: Vec<(String, String)> = list["contexts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            (
                c["name"].as_str().unwrap().to_owned(),
                c["state"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let of = |name: &str| {
        contexts
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, s)| s.as_str())
    };
    assert_eq!(
        (of("real"), of("nobody"), of("dead")),
        (Some("ready"), Some("forbidden"), Some("unreachable"))
    );
    assert_eq!(list["apps"].as_array().unwrap().len(), 2, "{list}");

    // Nothing touched: nothing differs, although the servers defaulted and annotated.
    for name in ["ks/flux-system/prod", "ks/flux-system/staging"] {
        let document = world
            .run(&["diff", name, "--context", "real", "-o", "json"])
            .exits(0)
            .json();
        assert_eq!(document["state"], "in-sync", "{document}");
    }
    world.run(&["check", "--context", "real"]).exits(0);

    // Two hands change it live.
    world.kubectl_ok(&[
        "set",
        "image",
        "-n",
        "prod",
        "deploy/web",
        "web=registry.example.test/web:1.4.3-hotfix",
    ]);
    edit(
        &world,
        &["-n", "prod", "deploy/web"],
        "s/value: info/value: debug/",
    );
    let document = world
        .run(&[
            "diff",
            "ks/flux-system/prod",
            "--context",
            "real",
            "-o",
            "json",
        ])
        .exits(1)
        .json();
    assert_eq!(
        drifted(&document, "Deployment"),
        [
            r#"spec.template.spec.containers[name=web].env[name=LOG_LEVEL].value "info" "debug" kubectl-edit"#,
            r#"spec.template.spec.containers[name=web].image "registry.example.test/web:1.4.2" "registry.example.test/web:1.4.3-hotfix" kubectl-set"#,
        ]
    );
    let image = document["objects"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|o| o["fields"].as_array().unwrap())
        .find(|f| {
            f["path"]
                .as_str()
                .unwrap()
                .rsplit_once('.')
                .is_some_and(|(_, last)| last == "image")
        })
        .unwrap()
        .clone();
    assert_eq!(
        (&image["origin"]["file"], &image["origin"]["line"]),
        (&"apps/prod/kustomization.yaml".into(), &6.into())
    );
    assert_eq!(image["owners"][0]["class"], "person");
    let text = world
        .run(&["diff", "ks/flux-system/prod", "--context", "real"])
        .exits(1)
        .stdout;
    assert!(
        text.contains("kubectl-set") && text.contains("apps/prod/kustomization.yaml:6"),
        "{text}"
    );
    let check = world
        .run(&["check", "--context", "real", "-o", "json"])
        .exits(1)
        .json();
    assert_eq!(check["compared"], 2, "{check}");

    // Held: the next pass leaves the fix alone. Given back and synced: it is undone.
    world
        .run(&[
            "suspend",
            "ks/flux-system/prod",
            "--context",
            "real",
            "--yes",
        ])
        .exits(0);
    let app = world.get(
        "kustomizations.kustomize.toolkit.fluxcd.io",
        "flux-system",
        "prod",
    );
    assert_eq!(app["spec"]["suspend"], true);
    let held = world
        .run(&[
            "diff",
            "ks/flux-system/prod",
            "--context",
            "real",
            "-o",
            "json",
        ])
        .exits(1)
        .json();
    assert!(
        held["objects"].to_string().contains(r#""verdict":"held""#),
        "{held}"
    );
    world
        .run(&["sync", "ks/flux-system/prod", "--context", "real", "--yes"])
        .exits(1);
    let live = || {
        world.get("deployment", "prod", "web")["spec"]["template"]["spec"]["containers"][0]["image"]
            .clone()
    };
    assert_eq!(live(), "registry.example.test/web:1.4.3-hotfix");
    world
        .run(&[
            "resume",
            "ks/flux-system/prod",
            "--context",
            "real",
            "--yes",
        ])
        .exits(0);
    world
        .run(&["sync", "ks/flux-system/prod", "--context", "real", "--yes"])
        .exits(0);
    assert_eq!(live(), "registry.example.test/web:1.4.2");
    world
        .run(&["diff", "ks/flux-system/prod", "--context", "real"])
        .exits(0);

    // Another change is accepted: a branch with the smallest edit, pushed, merged by a person, applied by Flux.
    world.kubectl_ok(&[
        "set",
        "image",
        "-n",
        "prod",
        "deploy/web",
        "web=registry.example.test/web:1.5.0",
    ]);
    world.kubectl_ok(&["scale", "-n", "prod", "deploy/web", "--replicas=5"]);
    let accepted = world
        .run(&[
            "accept",
            "ks/flux-system/prod",
            "--context",
            "real",
            "--all",
            "--branch",
            "fix/web",
            "--push",
            "--yes",
            "-o",
            "json",
        ])
        .exits(0)
        .json();
    assert_eq!(accepted["branch"], "fix/web");
    assert_eq!(
        accepted["accepted"].as_array().unwrap().len(),
        2,
        "{accepted}"
    );
    let shown = git(
        &world.git.bare("fleet"),
        &["show", "--format=", "--unified=0", "fix/web"],
    );
    let changed: Vec<&str> = shown
        .lines()
        .filter(|l| {
            (l.starts_with('+') || l.starts_with('-'))
                && !l.starts_with("+++")
                && !l.starts_with("---")
        })
        .collect();
    assert_eq!(
        changed,
        [
            "-    newTag: 1.4.2   # released on Monday",
            "+    newTag: 1.5.0   # released on Monday",
            "-    count: 3",
            "+    count: 5",
        ]
    );
    world.git.merge("fleet", "fix/web");
    world
        .run(&["sync", "ks/flux-system/prod", "--context", "real", "--yes"])
        .exits(0);
    let tip = git(&world.git.bare("fleet"), &["rev-parse", "main"]);
    wait_for("the accepted commit is applied", 60, || {
        applied(&world, "prod").filter(|revision| revision.contains(tip.trim()))
    });
    wait_for("the other overlay is applied too", 60, || {
        applied(&world, "staging").filter(|revision| revision.contains(tip.trim()))
    });
    world.run(&["check", "--context", "real"]).exits(0);

    // Revert puts one field back and leaves the other.
    world.kubectl_ok(&[
        "patch",
        "-n",
        "staging",
        "configmap/settings",
        "--type=merge",
        "-p",
        r#"{"data":{"mode":"wild","limit":"99"}}"#,
    ]);
    world
        .run(&[
            "revert",
            "ks/flux-system/staging",
            "--context",
            "real",
            "--field",
            "data.mode",
            "--yes",
        ])
        .exits(0);
    let data = world.get("configmap", "staging", "settings")["data"].clone();
    assert_eq!(
        (&data["mode"], &data["limit"]),
        (&"calm".into(), &"99".into())
    );
}
