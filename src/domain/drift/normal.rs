//! What is left out of both sides before they are compared, because no manifest decides about it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::secret::is_secret;
use crate::domain::object::ObjectId;

const SERVER_SET: &[&str] = &[
    "managedFields",
    "resourceVersion",
    "uid",
    "generation",
    "creationTimestamp",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// What else is compared.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Options {
    /// The rules of aggregated ClusterRoles, which a controller writes.
    pub(super) aggregated_rules: bool,
    /// The status, where Git has one.
    pub(super) status: bool,
}

/// The annotation in which client-side apply keeps what it applied last.
pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Returns what of both sides is compared: server-set metadata and status left out, `stringData` merged, and what Git
/// leaves to others (owner references, finalizers, an unnamed namespace) not held against live.
pub(super) fn sides(id: &ObjectId, git: &Value, live: &Value, options: Options) -> (Value, Value) {
    let (mut git, mut live) = (git.clone(), live.clone());
    for side in [&mut git, &mut live] {
        let Some(object) = side.as_object_mut() else {
            continue;
        };
        if !options.status {
            object.remove("status");
        }
        if let Some(metadata) = metadata(object) {
            for key in SERVER_SET {
                metadata.remove(*key);
            }
            if let Some(annotations) = metadata
                .get_mut("annotations")
                .and_then(Value::as_object_mut)
            {
                annotations.remove(LAST_APPLIED);
            }
        }
        if is_secret(id) {
            merge_string_data(object);
            // What SOPS keeps beside the encrypted values never reaches the cluster.
            object.remove("sops");
        }
        drop_claim_status(object);
    }
    if git
        .pointer("/metadata/namespace")
        .is_none_or(Value::is_null)
        && let Some(metadata) = live.as_object_mut().and_then(metadata)
    {
        metadata.remove("namespace");
    }
    if live.pointer("/metadata/namespace").is_none()
        && let Some(metadata) = git.as_object_mut().and_then(metadata)
    {
        // A cluster-scoped object: the server drops the namespace that a renderer put there.
        metadata.remove("namespace");
    }
    if options.status
        && git.get("status").is_none()
        && let Some(object) = live.as_object_mut()
    {
        object.remove("status");
    }
    if id.kind == "ClusterRole"
        && !options.aggregated_rules
        && [&git, &live]
            .iter()
            .any(|side| side.get("aggregationRule").is_some_and(|r| !r.is_null()))
    {
        for side in [&mut git, &mut live] {
            if let Some(object) = side.as_object_mut() {
                object.remove("rules");
            }
        }
    }
    (git, live)
}

fn metadata(object: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata")?.as_object_mut()
}

/// Claim templates of a StatefulSet come back with a status that nobody applies.
fn drop_claim_status(object: &mut Map<String, Value>) {
    let claims = object
        .get_mut("spec")
        .and_then(|spec| spec.get_mut("volumeClaimTemplates"))
        .and_then(Value::as_array_mut);
    for claim in claims
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        claim.remove("status");
        if let Some(metadata) = metadata(claim) {
            metadata.remove("creationTimestamp");
        }
    }
}

fn merge_string_data(object: &mut Map<String, Value>) {
    let Some(Value::Object(plain)) = object.remove("stringData") else {
        return;
    };
    let data = object
        .entry("data")
        .or_insert_with(|| Value::Object(Map::new()));
    if data.is_null() {
        *data = Value::Object(Map::new());
    }
    if let Some(data) = data.as_object_mut() {
        for (key, value) in plain {
            // Encrypted text stays as it is, so that it is known as such; a value that is no text is refused by the server.
            let encoded = match value.as_str() {
                Some(text) if super::secret::is_encrypted(&value) => Value::from(text),
                Some(text) => Value::from(STANDARD.encode(text)),
                None => value,
            };
            data.insert(key, encoded);
        }
    }
}

/// Returns what client-side apply kept of the object it applied last.
pub(super) fn last_applied(live: &Value) -> Option<Value> {
    let text = live
        .pointer("/metadata/annotations")?
        .get(LAST_APPLIED)?
        .as_str()?;
    serde_json::from_str(text).ok()
}
