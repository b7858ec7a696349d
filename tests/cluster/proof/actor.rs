//! Hands that change live objects: kubectl by its verbs, and other managers as their requests reach the server.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use serde_json::Value;

use super::case::{Case, Change};
use crate::world::World;

/// The API as `kubectl proxy` gives it: plain HTTP with the admin's rights.
pub(crate) struct Api {
    root: String,
    agent: ureq::Agent,
    /// Resource names and whether they are namespaced, by `apiVersion/kind`.
    known: Mutex<HashMap<String, (String, bool)>>,
}

impl Api {
    pub(crate) fn new(root: &str) -> Self {
        Self {
            root: root.to_owned(),
            agent: ureq::Agent::new_with_config(
                ureq::Agent::config_builder()
                    .http_status_as_error(false)
                    .build(),
            ),
            known: Mutex::default(),
        }
    }

    fn get(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.root);
        let mut answer = self.agent.get(&url).call().unwrap();
        serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap()
    }

    /// Returns the path of an object.
    fn path(&self, object: &Value) -> String {
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (version, kind) = (text("/apiVersion"), text("/kind"));
        let group = if version.contains('/') {
            format!("/apis/{version}")
        } else {
            format!("/api/{version}")
        };
        let key = format!("{version}/{kind}");
        let cached = self.known.lock().unwrap().get(&key).cloned();
        let (plural, namespaced) = cached.unwrap_or_else(|| {
            let list = self.get(&group);
            let found = list["resources"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|r| r["kind"] == kind && r["name"].as_str().is_some_and(|n| !n.contains('/')))
                .unwrap_or_else(|| panic!("{key} is not served: {list}"));
            let found = (
                found["name"].as_str().unwrap_or_default().to_owned(),
                found["namespaced"] == true,
            );
            self.known.lock().unwrap().insert(key, found.clone());
            found
        });
        let name = text("/metadata/name");
        if namespaced {
            let namespace = text("/metadata/namespace");
            format!("{group}/namespaces/{namespace}/{plural}/{name}")
        } else {
            format!("{group}/{plural}/{name}")
        }
    }

    /// Reads an object as it is.
    pub(crate) fn read(&self, object: &Value) -> Value {
        self.get(&self.path(object))
    }

    /// Sends a patch in a manager's name; the error is the server's message.
    fn patch(&self, object: &Value, kind: &str, manager: &str, body: &Value) -> Result<(), String> {
        let force = if kind == "apply-patch+yaml" {
            "&force=true"
        } else {
            ""
        };
        let url = format!(
            "{}{}?fieldManager={manager}{force}",
            self.root,
            self.path(object)
        );
        let mut answer = self
            .agent
            .patch(&url)
            .header("Content-Type", &format!("application/{kind}"))
            .send(body.to_string())
            .map_err(|error| error.to_string())?;
        let text = answer
            .body_mut()
            .read_to_string()
            .map_err(|error| error.to_string())?;
        if answer.status().is_success() {
            Ok(())
        } else {
            Err(text)
        }
    }
}

/// Makes a case's change; the error says what the server or kubectl said.
pub(crate) fn act(world: &World, api: &Api, folder: &Path, case: &Case) -> Result<(), String> {
    let Some(change) = &case.change else {
        return Ok(());
    };
    let built_in = !case.object["apiVersion"]
        .as_str()
        .is_some_and(|v| v.ends_with("lab.example.test/v1"));
    let (kind, body) = match change {
        Change::Words(words) => return words_of_kubectl(world, case, words),
        Change::Json(body) => ("json", body),
        Change::Merge(body) if built_in => ("strategic", body),
        Change::Merge(body) => ("merge", body),
    };
    let content = match kind {
        "json" => "json-patch+json",
        "strategic" => "strategic-merge-patch+json",
        _ => "merge-patch+json",
    };
    match case.actor.as_str() {
        "patch" => api.patch(&case.object, content, "kubectl-patch", body),
        "edit" => edit(world, folder, case, kind, body),
        "replace" => {
            let file = folder.join(format!("{}.json", case.id));
            fs::write(&file, api.read(&case.object).to_string()).map_err(|e| e.to_string())?;
            locally(world, &file, kind, body)?;
            kubectl(world, &["replace", "-f", &file.display().to_string()])
        }
        "apply" => {
            let file = folder.join(format!("{}.json", case.id));
            fs::write(&file, case.object.to_string()).map_err(|e| e.to_string())?;
            locally(world, &file, kind, body)?;
            kubectl(world, &["apply", "-f", &file.display().to_string()])
        }
        actor => match actor.strip_prefix('+') {
            Some(manager) => {
                let mut partial = applied(case, change);
                partial["apiVersion"] = case.object["apiVersion"].clone();
                partial["kind"] = case.object["kind"].clone();
                api.patch(&case.object, "apply-patch+yaml", manager, &partial)
            }
            None => api.patch(&case.object, content, actor, body),
        },
    }
}

/// Returns what a server-side apply of a change sends: the merge itself; of a JSON patch `add LIST/- ITEM` that list.
fn applied(case: &Case, change: &Change) -> Value {
    let mut partial = match change {
        Change::Merge(body) => body.clone(),
        Change::Json(steps) => {
            let path = steps[0]["path"].as_str().unwrap_or_default();
            let list = path
                .strip_suffix("/-")
                .unwrap_or_else(|| panic!("{}: not for a server-side apply", case.words));
            list.split('/')
                .skip(1)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .fold(
                    serde_json::json!([steps[0]["value"]]),
                    |below, key| serde_json::json!({key: below}),
                )
        }
        Change::Words(_) => Value::Null,
    };
    partial["metadata"]["name"] = case.object["metadata"]["name"].clone();
    if let Some(namespace) = case.object.pointer("/metadata/namespace") {
        partial["metadata"]["namespace"] = namespace.clone();
    }
    partial
}

fn reference(object: &Value) -> String {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let kind = text("/kind").to_lowercase();
    let group = text("/apiVersion").split_once('/').map_or("", |(g, _)| g);
    let resource = if group.is_empty() {
        kind
    } else {
        format!(
            "{kind}.{}.{group}",
            text("/apiVersion").split_once('/').map_or("", |(_, v)| v)
        )
    };
    format!("{resource}/{}", text("/metadata/name"))
}

fn kubectl(world: &World, args: &[&str]) -> Result<(), String> {
    let out = world.kubectl(args);
    if out.status.success() {
        Ok(())
    } else {
        Err(format!(
            "kubectl {args:?}: {}",
            String::from_utf8_lossy(&out.stderr)
        ))
    }
}

fn namespace(case: &Case) -> String {
    case.object
        .pointer("/metadata/namespace")
        .and_then(Value::as_str)
        .unwrap_or("default")
        .to_owned()
}

fn words_of_kubectl(world: &World, case: &Case, words: &str) -> Result<(), String> {
    let (reference, namespace) = (reference(&case.object), namespace(case));
    let mut args: Vec<&str> = words
        .split(' ')
        .map(|word| {
            if word == "REF" {
                reference.as_str()
            } else {
                word
            }
        })
        .collect();
    args.extend(["-n", namespace.as_str()]);
    kubectl(world, &args)
}

/// Changes a file as `kubectl patch --local` does.
fn locally(world: &World, file: &Path, kind: &str, body: &Value) -> Result<(), String> {
    let out = world.kubectl(&[
        "patch",
        "--local",
        "-f",
        &file.display().to_string(),
        "--type",
        kind,
        "-p",
        &body.to_string(),
        "-o",
        "json",
    ]);
    if !out.status.success() {
        return Err(String::from_utf8_lossy(&out.stderr).into_owned());
    }
    fs::write(file, out.stdout).map_err(|e| e.to_string())
}

/// Runs `kubectl edit` with an editor that makes the change.
fn edit(world: &World, folder: &Path, case: &Case, kind: &str, body: &Value) -> Result<(), String> {
    let kubectl = world.bin.join("kubectl");
    let (patch, editor) = (
        folder.join(format!("{}.patch", case.id)),
        folder.join(format!("{}.sh", case.id)),
    );
    fs::write(&patch, body.to_string()).map_err(|e| e.to_string())?;
    let script = format!(
        "#!/bin/sh\nset -e\ngrep -v '^#' \"$1\" > \"$1.in.json\"\n{} patch --local -f \"$1.in.json\" --type {kind} \
         --patch-file {} -o json > \"$1.out\"\nmv \"$1.out\" \"$1\"\nrm \"$1.in.json\"\n",
        kubectl.display(),
        patch.display()
    );
    fs::write(&editor, script).map_err(|e| e.to_string())?;
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).map_err(|e| e.to_string())?;
    let out = Command::new(&kubectl)
        .arg("--kubeconfig")
        .arg(world.kubeconfig())
        .args(["edit", "-o", "json", "-n", &namespace(case)])
        .arg(reference(&case.object))
        .env("KUBE_EDITOR", &editor)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| e.to_string())?;
    let said =
        String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout);
    if out.status.success() && !said.contains("Edit cancelled") {
        Ok(())
    } else {
        Err(format!("kubectl edit: {said}"))
    }
}
