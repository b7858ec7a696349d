//! How the server takes a list or map apart: which items have keys, which lists and maps are one value.
//!
//! The rules are those that the server's OpenAPI publishes for the served kinds. Flux's and Argo CD's definitions mark
//! none of the lists that the demo uses, so theirs are atomic.

use serde_json::Value;

use super::kinds::Kind;

/// The shape of a list or map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Fields or items are owned one by one; items of a list by these keys.
    Keyed(&'static [&'static str]),
    /// A list of values that are owned one by one.
    Set,
    /// Owned and replaced as one.
    Atomic,
    /// A map or struct whose fields are owned one by one.
    Granular,
}

/// Returns the shape of the list or map at `path` (`spec.template.spec.containers[]`).
pub(super) fn shape(kind: &Kind, path: &str, value: &Value) -> Shape {
    match value {
        Value::Array(_) => list(kind, path),
        _ if is_atomic_map(kind, path) => Shape::Atomic,
        _ => Shape::Granular,
    }
}

fn list(kind: &Kind, path: &str) -> Shape {
    let name = path.rsplit('.').next().unwrap_or(path);
    match name {
        "finalizers" => return Shape::Set,
        "ownerReferences" => return Shape::Keyed(&["uid"]),
        _ if kind.traits.custom => return Shape::Atomic,
        _ => {}
    }
    match (kind.kind, name) {
        ("Service", "ports") => Shape::Keyed(&["port", "protocol"]),
        ("NetworkPolicy" | "Ingress" | "Role" | "ClusterRole" | "HorizontalPodAutoscaler", n)
            if n != "conditions" =>
        {
            Shape::Atomic
        }
        (_, "ports") if path.contains("ontainers[]") => {
            Shape::Keyed(&["containerPort", "protocol"])
        }
        (
            _,
            "containers"
            | "initContainers"
            | "ephemeralContainers"
            | "volumes"
            | "env"
            | "imagePullSecrets",
        ) if kind.kind != "ServiceAccount" => Shape::Keyed(&["name"]),
        ("ServiceAccount", "secrets") => Shape::Keyed(&["name"]),
        (_, "volumeMounts") => Shape::Keyed(&["mountPath"]),
        (_, "volumeDevices") => Shape::Keyed(&["devicePath"]),
        (_, "hostAliases") => Shape::Keyed(&["ip"]),
        (_, "topologySpreadConstraints") => Shape::Keyed(&["topologyKey", "whenUnsatisfiable"]),
        (_, "conditions") => Shape::Keyed(&["type"]),
        _ => Shape::Atomic,
    }
}

fn is_atomic_map(kind: &Kind, path: &str) -> bool {
    let name = path.rsplit('.').next().unwrap_or(path);
    if name == "ownerReferences[]" {
        return true;
    }
    if kind.traits.custom {
        return false;
    }
    matches!(
        name,
        "imagePullSecrets[]"
            | "nodeSelector"
            | "labelSelector"
            | "podSelector"
            | "namespaceSelector"
            | "fieldRef"
            | "resourceFieldRef"
            | "secretKeyRef"
            | "configMapKeyRef"
            | "scaleTargetRef"
            | "roleRef"
    ) || (name == "selector" && path != "spec.selector.selector")
}

/// Returns the `fieldsV1` step of a list's item: by its keys (an absent `protocol` is TCP) or by its value.
pub(super) fn item_step(shape: Shape, item: &Value) -> String {
    match shape {
        Shape::Keyed(keys) => {
            let keys: serde_json::Map<String, Value> = keys
                .iter()
                .filter_map(|key| {
                    let default = || (*key == "protocol").then(|| Value::from("TCP"));
                    Some(((*key).to_owned(), item.get(*key).cloned().or_else(default)?))
                })
                .collect();
            format!("k:{}", Value::Object(keys))
        }
        _ => format!("v:{item}"),
    }
}
