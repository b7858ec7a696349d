//! The kustomization that Flux makes up for a folder without one.
//!
//! Every manifest below the folder is taken in, so a YAML file that is no manifest fails the whole build in the cluster.
//! Here it becomes a problem with the controller's words, and the others are built.

use serde_json::Value;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::render::paths::join;
use crate::domain::render::{EntryKind, Tree};
use crate::domain::yaml::{self, Dialect};

/// What a folder without a kustomization file is built from.
#[derive(Debug, Default)]
pub(super) struct Generated {
    /// Paths that start with `./`, in the controller's order: every manifest, folder by folder, and every sub-folder that
    /// has a kustomization file of its own, as a whole.
    pub(super) resources: Vec<String>,
    /// Files that are no manifests.
    pub(super) problems: Vec<Fault>,
}

/// Lists what `folder` is built from.
pub(super) fn generate(tree: &dyn Tree, folder: &str) -> Result<Generated, Fault> {
    let mut generated = Generated::default();
    walk(tree, folder, ".", &mut generated)?;
    Ok(generated)
}

fn walk(
    tree: &dyn Tree,
    folder: &str,
    relative: &str,
    generated: &mut Generated,
) -> Result<(), Fault> {
    for entry in tree.list(folder)?.unwrap_or_default() {
        let path = join(folder, &entry.name);
        let relative = format!("{relative}/{}", entry.name);
        match entry.kind {
            EntryKind::Directory if super::kustomization_file(tree, &path)?.is_some() => {
                generated.resources.push(relative);
            }
            EntryKind::Directory => walk(tree, &path, &relative, generated)?,
            EntryKind::File if is_manifest(&entry.name) => {
                let bytes = tree.read(&path)?.unwrap_or_default();
                match refusal(&bytes) {
                    None => generated.resources.push(relative),
                    Some((line, why)) => generated.problems.push(
                        Fault::new(
                            FaultKind::Render,
                            format!("failed to decode Kubernetes YAML from {path}: {why}"),
                        )
                        .at(path, line)
                        .hint("without a kustomization.yaml Flux takes in every .yaml file: list the resources in one, or ignore the file in .sourceignore"),
                    ),
                }
            }
            EntryKind::File | EntryKind::Link | EntryKind::Submodule => {}
        }
    }
    Ok(())
}

fn is_manifest(name: &str) -> bool {
    [".yaml", ".yml"].iter().any(|end| name.ends_with(end))
}

/// Says why a file is no manifest, and the line.
fn refusal(bytes: &[u8]) -> Option<(usize, String)> {
    let stream = yaml::parse(bytes);
    if let Some(problem) = stream.problems.first() {
        return Some((problem.line, format!("MalformedYAMLError: yaml: {problem}")));
    }
    stream.documents.iter().find_map(|document| {
        let root = document.root()?;
        // what only the build refuses (a duplicate key, a key that is no text) is left to it
        let value = root
            .to_json(Dialect::Kubectl)
            .ok()
            .filter(|value| !value.is_null())?;
        Some((root.line(), missing(&value)?))
    })
}

fn missing(value: &Value) -> Option<String> {
    let set = |key: &str| match value.get(key) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(map)) => !map.is_empty(),
        Some(_) => true,
    };
    if !set("apiVersion") && !set("kind") && !set("metadata") {
        return Some("missing Resource metadata".into());
    }
    let kind = value
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if kind.is_empty() {
        return Some("missing kind in object".into());
    }
    let name = value
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    (name.is_empty() && !kind.ends_with("List")).then(|| "missing metadata.name in object".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_manifests_from_other_files() {
        let why = |text: &str| refusal(text.as_bytes()).map(|(line, why)| format!("{line}: {why}"));
        assert_eq!(why(""), None);
        assert_eq!(why("# nothing\n---\n"), None);
        assert_eq!(why("kind: ConfigMapList\nitems: []\n"), None);
        assert_eq!(why("kind: A\nmetadata: {name: x}\n"), None);
        assert_eq!(
            why("a: 1\n").as_deref(),
            Some("1: missing Resource metadata")
        );
        assert_eq!(
            why("kind: A\nmetadata: {generateName: x}\n").as_deref(),
            Some("1: missing metadata.name in object")
        );
        assert_eq!(
            why("metadata: {name: x}\n").as_deref(),
            Some("1: missing kind in object")
        );
        assert!(
            why("a: {{ .x }}\nb: [\n")
                .unwrap()
                .contains("MalformedYAMLError")
        );
    }
}
