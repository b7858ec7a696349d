//! Patches: JSON merge patch, JSON patch, and strategic merge as far as `kubectl set`, `edit` and `patch` send it.

use serde_json::Value;

use super::kinds::Kind;
use super::refusal::Refusal;

/// Applies a JSON merge patch (RFC 7386).
pub(super) fn json_merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    for (key, value) in patch {
        if value.is_null() {
            if let Some(map) = target.as_object_mut() {
                map.remove(key);
            }
        } else {
            json_merge(&mut target[key.as_str()], value);
        }
    }
}

/// Applies a JSON patch (RFC 6902).
///
/// # Errors
/// Returns the 422 of a failed `test` or of a path that is not there, the 400 of something that is no patch.
pub(super) fn json_patch(
    kind: &Kind,
    name: &str,
    target: &mut Value,
    patch: &Value,
) -> Result<(), Refusal> {
    let patch: json_patch::Patch = serde_json::from_value(patch.clone())
        .map_err(|e| Refusal::bad_request(format!("error decoding patch: {e}")))?;
    json_patch::patch(target, &patch).map_err(|e| {
        Refusal::invalid(
            kind,
            name,
            "",
            &format!("the server rejected our request due to an error in our request ({e})"),
        )
    })
}

/// Applies a strategic merge patch: lists with a patch key merge by it, `$patch: delete` takes an item or a map out.
pub(super) fn strategic(path: &str, target: &mut Value, patch: &Value) {
    match patch {
        Value::Object(changes) => {
            if changes.get("$patch").is_some_and(|p| p == "replace") || !target.is_object() {
                *target = Value::Object(serde_json::Map::new());
            }
            let Some(map) = target.as_object_mut() else {
                return;
            };
            for (key, value) in changes.iter().filter(|(key, _)| !key.starts_with('$')) {
                if value.is_null() || value.get("$patch").is_some_and(|p| p == "delete") {
                    map.remove(key);
                    continue;
                }
                let below = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                strategic(&below, map.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        Value::Array(changes) => match patch_key(path) {
            Some(key) => merge_items(path, key, target, changes),
            None => *target = patch.clone(),
        },
        _ => *target = patch.clone(),
    }
}

fn merge_items(path: &str, key: &str, target: &mut Value, changes: &[Value]) {
    if !target.is_array() {
        *target = Value::Array(vec![]);
    }
    let Some(items) = target.as_array_mut() else {
        return;
    };
    if changes
        .iter()
        .any(|c| c.get("$patch").is_some_and(|p| p == "replace"))
    {
        items.clear();
    }
    for change in changes {
        let Some(wanted) = change.get(key) else {
            continue;
        };
        let found = items.iter().position(|item| item.get(key) == Some(wanted));
        match (found, change.get("$patch").and_then(Value::as_str)) {
            (Some(at), Some("delete")) => drop(items.remove(at)),
            (Some(at), _) => strategic(&format!("{path}[]"), &mut items[at], change),
            (None, Some("delete")) => {}
            (None, _) => items.push(change.clone()),
        }
    }
}

/// Returns the key by which a list of a built-in kind merges in a strategic patch.
fn patch_key(path: &str) -> Option<&'static str> {
    match path.rsplit('.').next().unwrap_or(path) {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "secrets" => Some("name"),
        "ports" if path.contains("ontainers[]") => Some("containerPort"),
        "ports" if path == "spec.ports" => Some("port"),
        "volumeMounts" => Some("mountPath"),
        "volumeDevices" => Some("devicePath"),
        "hostAliases" => Some("ip"),
        "topologySpreadConstraints" => Some("topologyKey"),
        "conditions" => Some("type"),
        "ownerReferences" => Some("uid"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn strategic_merges_keyed_lists_and_replaces_others() {
        let mut object = json!({"spec": {"template": {"spec": {"containers": [
            {"name": "app", "image": "a:1", "args": ["x"], "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        ]}}}});
        strategic(
            "",
            &mut object,
            &json!({"spec": {"template": {"spec": {"containers": [
                {"name": "app", "image": "a:2", "args": ["y"], "env": [{"name": "A", "$patch": "delete"}, {"name": "C", "value": "3"}]},
                {"name": "proxy", "image": "p:1"},
            ]}}}}),
        );
        assert_eq!(
            object["spec"]["template"]["spec"]["containers"],
            json!([
                {"name": "app", "image": "a:2", "args": ["y"], "env": [{"name": "B", "value": "2"}, {"name": "C", "value": "3"}]},
                {"name": "proxy", "image": "p:1"},
            ])
        );
    }

    #[test]
    fn merge_patch_deletes_by_null() {
        let mut object = json!({"a": {"b": 1, "c": 2}});
        json_merge(&mut object, &json!({"a": {"b": null, "d": {"e": 1}}}));
        assert_eq!(object, json!({"a": {"c": 2, "d": {"e": 1}}}));
    }
}
