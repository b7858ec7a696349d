//! The demo's server against recordings of a real one: what a manifest becomes, and who then owns what.
//!
//! Each folder of `tests/corpus/demo` holds a manifest, what kube-apiserver 1.37 held after a server-side apply by
//! kustomize-controller, and mostly what it held after a client-side apply by argocd-controller.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Caller, Character, Cluster, Kind};
use crate::domain::yaml::{self, Dialect};
use crate::world::demo::clock::Clock;

#[expect(clippy::disallowed_methods, reason = "a test reads its corpus")]
fn document(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap();
    yaml::parse(&bytes).documents[0]
        .to_json(Dialect::Kubectl)
        .unwrap()
}

fn fresh(namespace: Option<&str>) -> Cluster {
    let character = Character {
        name: "recorded",
        user: "tester",
        without: &[],
        denials: &[],
    };
    let cluster = Cluster::new(
        character,
        Arc::new(Clock::standing(jiff::Timestamp::UNIX_EPOCH)),
    );
    if let Some(namespace) = namespace {
        let kind = Kind::of("v1", "Namespace").unwrap();
        let object = json!({"metadata": {"name": namespace}});
        cluster
            .create(kind, None, object, &Caller::new("tester"))
            .unwrap();
    }
    cluster
}

/// Returns what an apply decides: all but metadata, status and what each server allocates for itself.
fn content(object: &Value) -> Value {
    let mut content = object.clone();
    let root = content.as_object_mut().unwrap();
    root.remove("metadata");
    root.remove("status");
    if object["kind"] == "Service" {
        for key in ["clusterIP", "clusterIPs", "healthCheckNodePort"] {
            content["spec"].as_object_mut().unwrap().remove(key);
        }
        for port in content["spec"]["ports"]
            .as_array_mut()
            .into_iter()
            .flatten()
        {
            port.as_object_mut().unwrap().remove("nodePort");
        }
    }
    content
}

fn owned(object: &Value, manager: &str) -> Value {
    let entries = object["metadata"]["managedFields"].as_array();
    let entry = entries
        .into_iter()
        .flatten()
        .find(|e| e["manager"] == manager && e["subresource"].is_null());
    entry
        .map(|e| json!([e["operation"], e["apiVersion"], e["fieldsV1"]]))
        .unwrap_or_default()
}

#[tokio::test]
async fn manifests_become_what_a_real_server_made_of_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/demo");
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    folders.sort();
    assert!(folders.len() > 20);
    for folder in folders {
        let git = document(&folder.join("git.yaml"));
        let (api, kind) = (
            git["apiVersion"].as_str().unwrap(),
            git["kind"].as_str().unwrap(),
        );
        let kind = Kind::of(api, kind).unwrap();
        let name = git["metadata"]["name"].as_str().unwrap();
        let namespace = git["metadata"]["namespace"].as_str();
        let check = |file: &str, manager: &str, write: &dyn Fn(&Cluster, &Caller)| {
            let recorded = folder.join(file);
            if recorded.exists() {
                let (live, cluster) = (document(&recorded), fresh(namespace));
                write(&cluster, &Caller::new(manager));
                let made = cluster.get(kind, namespace, name).unwrap();
                assert_eq!(content(&made), content(&live), "{}", recorded.display());
                assert_eq!(
                    owned(&made, manager),
                    owned(&live, manager),
                    "{}",
                    recorded.display()
                );
            }
        };
        check("live.yaml", "kustomize-controller", &|cluster, caller| {
            cluster
                .apply(kind, namespace, git.clone(), caller, true)
                .unwrap();
        });
        check("live-csa.yaml", "argocd-controller", &|cluster, caller| {
            cluster
                .client_side_apply(kind, namespace, &git, caller)
                .unwrap();
        });
    }
}
