//! What the demo's controllers make of the repository. (Interim: plain folders and simple overlays.)

use serde_json::{Value, json};

use super::repository::Files;
use crate::domain::render::{EntryKind, Tree as _};
use crate::domain::yaml::{self, Dialect};

/// What came out: the objects in order, and the bytes that a digest covers.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    pub(super) objects: Vec<Value>,
    pub(super) text: String,
}

/// Renders a Kustomization of Flux; the error is the sentence of the build tool.
pub(super) fn flux(files: &Files, app: &Value) -> Result<Rendered, String> {
    render(files, app["spec"]["path"].as_str().unwrap_or_default())
}

/// Renders an Application of Argo CD; the error is the sentence of the build tool.
pub(super) fn argo(files: &Files, app: &Value) -> Result<Rendered, String> {
    render(
        files,
        app["spec"]["source"]["path"].as_str().unwrap_or_default(),
    )
}

/// Renders a folder; the error is the sentence of the build tool.
fn render(files: &Files, path: &str) -> Result<Rendered, String> {
    let mut root = path
        .trim_start_matches("./")
        .trim_end_matches('/')
        .to_owned();
    if root == "." {
        root.clear();
    }
    let objects = folder(files, &root)?;
    let text = objects
        .iter()
        .map(yaml::emit)
        .collect::<Vec<_>>()
        .join("---\n");
    Ok(Rendered { objects, text })
}

fn documents(files: &Files, path: &str) -> Result<Vec<Value>, String> {
    let bytes = files.read(path).map_err(|f| f.to_string())?;
    let bytes = bytes.ok_or_else(|| {
        format!(
            "kustomize build failed: accumulating resources: accumulation err='accumulating resources from '{0}': open \
             {0}: no such file or directory': must build at directory: not a valid directory: evalsymlink failure on '{0}' \
             : lstat {0}: no such file or directory",
            path.rsplit('/').next().unwrap_or(path)
        )
    })?;
    let stream = yaml::parse(&bytes);
    stream
        .documents
        .iter()
        .map(|d| d.to_json(Dialect::Kustomize).map_err(|p| p.message))
        .filter(|v| !matches!(v, Ok(Value::Null)))
        .collect()
}

fn folder(files: &Files, path: &str) -> Result<Vec<Value>, String> {
    let file = format!("{path}/kustomization.yaml");
    if files.read(&file).map_err(|f| f.to_string())?.is_none() {
        return plain(files, path);
    }
    let build = documents(files, &file)?
        .into_iter()
        .next()
        .unwrap_or_default();
    let list = |key: &str| build[key].as_array().cloned().unwrap_or_default();
    let mut objects = vec![];
    for resource in list("resources") {
        let target = join(path, resource.as_str().unwrap_or_default());
        let is_folder = files.list(&target).map_err(|f| f.to_string())?.is_some();
        objects.extend(if is_folder {
            folder(files, &target)?
        } else {
            documents(files, &target)?
        });
    }
    for patch in list("patches") {
        for patch in documents(
            files,
            &join(path, patch["path"].as_str().unwrap_or_default()),
        )? {
            for object in &mut objects {
                if object["kind"] == patch["kind"]
                    && object["metadata"]["name"] == patch["metadata"]["name"]
                {
                    super::api::strategic_merge(object, &patch);
                }
            }
        }
    }
    for object in &mut objects {
        if let Some(namespace) = build["namespace"].as_str()
            && object["kind"] != "Namespace"
        {
            object["metadata"]["namespace"] = namespace.into();
        }
        for label in list("labels") {
            for (key, value) in label["pairs"].as_object().into_iter().flatten() {
                if object["metadata"]["labels"].is_null() {
                    object["metadata"]["labels"] = json!({});
                }
                object["metadata"]["labels"][key] = value.clone();
            }
        }
        for count in list("replicas") {
            let scaled = ["Deployment", "StatefulSet"]
                .iter()
                .any(|k| object["kind"] == *k);
            if scaled && object["metadata"]["name"] == count["name"] {
                object["spec"]["replicas"] = count["count"].clone();
            }
        }
        let containers = object
            .pointer_mut("/spec/template/spec/containers")
            .and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            for image in list("images") {
                let name = image["name"].as_str().unwrap_or_default();
                let is = container["image"]
                    .as_str()
                    .and_then(|i| i.split_once(':'))
                    .is_some_and(|(n, _)| n == name);
                if is {
                    container["image"] =
                        format!("{name}:{}", image["newTag"].as_str().unwrap_or_default()).into();
                }
            }
        }
    }
    Ok(objects)
}

fn plain(files: &Files, path: &str) -> Result<Vec<Value>, String> {
    let entries = files.list(path).map_err(|f| f.to_string())?;
    let entries = entries.ok_or_else(|| {
        format!("kustomization path not found: stat {path}: no such file or directory")
    })?;
    let mut objects = vec![];
    for entry in entries {
        let below = join(path, &entry.name);
        match entry.kind {
            EntryKind::Directory => objects.extend(folder(files, &below)?),
            _ if below.ends_with(".yaml") => objects.extend(documents(files, &below)?),
            _ => {}
        }
    }
    Ok(objects)
}

fn join(path: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}
