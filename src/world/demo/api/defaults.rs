//! What a real server makes of an object that is written to it: the product's own table of defaults, the spellings of
//! Go's types, and what the server allocates.
//!
//! The table is [`crate::domain::drift::defaulted`], proven against recordings; here is only what a comparison does not
//! need and a server does.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::kinds::Kind;
use crate::domain::drift::defaulted;
use crate::domain::object::{ObjectId, quantity};

/// Fills in defaults; `live` keeps what was allocated before.
pub(super) fn fill(kind: &Kind, object: &mut Value, live: Option<&Value>) {
    if kind.traits.custom {
        return;
    }
    texts(object);
    drop_empties(object);
    if kind.kind == "Secret" {
        merge_string_data(object);
    }
    if let Some(id) = ObjectId::of(object) {
        *object = defaulted(&id, object);
    }
    match kind.kind {
        "Service" => allocate(object, live),
        "Namespace" => default(object, "status", json!({"phase": "Active"})),
        "PersistentVolumeClaim" => quantities(&mut object["spec"]["resources"]),
        "Pod" => pod(&mut object["spec"]),
        "CronJob" => {
            default(&mut object["spec"]["jobTemplate"], "metadata", json!({}));
            let template = &mut object["spec"]["jobTemplate"]["spec"]["template"];
            default(template, "metadata", json!({}));
            pod(&mut template["spec"]);
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            for subject in items(object, "subjects").filter_map(Value::as_object_mut) {
                subject.retain(|key, value| key != "apiGroup" || value != "");
            }
        }
        "DaemonSet" => {
            count_templates(object, live);
            pod(&mut object["spec"]["template"]["spec"]);
        }
        _ => {
            object
                .pointer_mut("/spec/template/spec")
                .into_iter()
                .for_each(pod);
            for claim in object
                .get_mut("spec")
                .into_iter()
                .flat_map(|s| items(s, "volumeClaimTemplates"))
            {
                quantities(&mut claim["spec"]["resources"]);
                default(claim, "status", json!({}));
                default(&mut claim["status"], "phase", json!("Pending"));
            }
        }
    }
}

/// Writes a pod's amounts and empty texts as the server does.
fn pod(spec: &mut Value) {
    for list in ["initContainers", "containers"] {
        for container in items(spec, list) {
            quantities(&mut container["resources"]);
            for env in items(container, "env") {
                if env["value"] == ""
                    && let Some(env) = env.as_object_mut()
                {
                    env.remove("value");
                }
            }
        }
    }
    for volume in items(spec, "volumes") {
        if let Some(folder) = volume.get_mut("emptyDir").and_then(Value::as_object_mut) {
            folder.retain(|_, value| value != "");
            if let Some(limit) = folder.get("sizeLimit").and_then(canonical) {
                folder.insert("sizeLimit".into(), limit.into());
            }
        }
    }
}

/// Counts a DaemonSet's templates in the annotation that the server still keeps for it.
fn count_templates(object: &mut Value, live: Option<&Value>) {
    let key = "deprecated.daemonset.template.generation";
    let count = |live: &Value| {
        live["metadata"]["annotations"][key]
            .as_str()?
            .parse::<u64>()
            .ok()
    };
    let same = live.is_some_and(|live| live["spec"]["template"] == object["spec"]["template"]);
    let next = live.and_then(count).unwrap_or(0) + u64::from(!same);
    default(&mut object["metadata"], "annotations", json!({}));
    object["metadata"]["annotations"][key] = next.max(1).to_string().into();
}

/// Gives a Service its addresses; what it had it keeps.
fn allocate(object: &mut Value, live: Option<&Value>) {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
    let hash = Sha256::digest(format!("{}/{}", text("namespace"), text("name")));
    let address = json!(format!("10.96.{}.{}", hash[0] % 64, 1 + hash[1] % 250));
    let spec = &mut object["spec"];
    if spec["type"] == "ExternalName" {
        return;
    }
    let kept = |key: &str| {
        live.and_then(|l| l.get("spec"))
            .and_then(|s| s.get(key))
            .cloned()
    };
    default(spec, "clusterIP", kept("clusterIP").unwrap_or(address));
    let one = json!([spec["clusterIP"]]);
    default(spec, "clusterIPs", one);
    default(spec, "ipFamilies", json!(["IPv4"]));
    default(spec, "ipFamilyPolicy", json!("SingleStack"));
}

fn merge_string_data(object: &mut Value) {
    use base64::Engine as _;
    let Some(root) = object.as_object_mut() else {
        return;
    };
    let Some(Value::Object(plain)) = root.remove("stringData") else {
        return;
    };
    let data = root
        .entry("data")
        .or_insert_with(|| Value::Object(Map::new()));
    for (key, value) in plain {
        let text = value.as_str().unwrap_or_default();
        data[key.as_str()] = base64::engine::general_purpose::STANDARD
            .encode(text)
            .into();
    }
}

/// Makes a `null` in a map of texts the empty text that Go makes of it.
fn texts(object: &mut Value) {
    for path in ["/metadata/labels", "/metadata/annotations", "/data"] {
        let map = object.pointer_mut(path).and_then(Value::as_object_mut);
        for value in map
            .into_iter()
            .flat_map(|m| m.values_mut())
            .filter(|v| v.is_null())
        {
            *value = "".into();
        }
    }
}

/// Writes the amounts of a `resources` block as the server does.
fn quantities(resources: &mut Value) {
    for list in ["limits", "requests"] {
        let map = resources.get_mut(list).and_then(Value::as_object_mut);
        for value in map.into_iter().flat_map(|m| m.values_mut()) {
            if let Some(canonical) = canonical(value) {
                *value = canonical.into();
            }
        }
    }
}

/// Returns a quantity in the server's spelling: the largest suffix of its family that keeps it whole.
fn canonical(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let by_exponent = text.contains(['e', 'E']) && !text.ends_with(['E', 'i']);
    if by_exponent && value.is_string() {
        return None;
    }
    let nanos = quantity::nanos(&text)?;
    let (mut amount, base, mut suffixes): (i128, i128, &[&str]) = if text.ends_with('i') {
        (
            nanos / 1_000_000_000,
            1024,
            &["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"],
        )
    } else {
        (
            nanos,
            1000,
            &["n", "u", "m", "", "k", "M", "G", "T", "P", "E"],
        )
    };
    if amount == 0 {
        return Some("0".to_owned());
    }
    while suffixes.len() > 1 && amount % base == 0 {
        amount /= base;
        suffixes = &suffixes[1..];
    }
    Some(format!("{amount}{}", suffixes[0]))
}

/// Sets a field that is not there, or is `null`.
fn default(node: &mut Value, key: &str, value: Value) {
    if !node.is_object() {
        if !node.is_null() {
            return;
        }
        *node = json!({});
    }
    if node[key].is_null() {
        node[key] = value;
    }
}

/// Takes out what Go's types do not keep: nulls, and empty lists.
fn drop_empties(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, below| !below.is_null() && !below.as_array().is_some_and(Vec::is_empty));
            map.values_mut().for_each(drop_empties);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_empties),
        _ => {}
    }
}

fn items<'v>(node: &'v mut Value, key: &str) -> impl Iterator<Item = &'v mut Value> {
    node.get_mut(key)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}
