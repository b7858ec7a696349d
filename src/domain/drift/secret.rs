//! Masks: no secret value leaves the comparison, while a change of one stays visible.
//!
//! What is secret is known by source: the data of a Secret, copies of it in its annotations (last-applied and what
//! vendors keep), and fields that Flux filled from a Secret. Masks have one length, whatever they stand for.

use serde_json::Value;

use super::FieldDrift;
use super::walk::Difference;
use crate::domain::object::{Desired, FieldPath, ObjectId, PathStep};
use crate::domain::text::{self, MASK};
use crate::domain::yaml::RouteStep;

/// Metadata of a Secret that is shown.
const HARMLESS: &[&str] = &[
    "name",
    "namespace",
    "labels",
    "ownerReferences",
    "finalizers",
    "generateName",
];

/// Tells whether an object is a Secret.
pub(super) fn is_secret(id: &ObjectId) -> bool {
    id.kind == "Secret" && id.group().is_empty()
}

/// Tells whether a value is SOPS cipher text, or base64 of it.
pub(super) fn is_encrypted(value: &Value) -> bool {
    use base64::Engine as _;
    let Some(text) = value.as_str() else {
        return false;
    };
    let sealed = |text: &str| text.contains("ENC[AES256_GCM,");
    if sealed(text) {
        return true;
    }
    let plain: String = text.split_ascii_whitespace().collect();
    let decoded = base64::engine::general_purpose::STANDARD.decode(plain);
    decoded.is_ok_and(|bytes| sealed(&String::from_utf8_lossy(&bytes)))
}

/// Tells whether a Secret's manifest holds SOPS cipher text.
pub(super) fn holds_encrypted(secret: &Value) -> bool {
    ["data", "stringData"].iter().any(|map| {
        let map = secret.get(map).and_then(Value::as_object);
        map.into_iter()
            .flatten()
            .any(|(_, value)| is_encrypted(value))
    })
}

/// What of one object must never be shown.
pub(super) struct Secrecy<'a> {
    secret: bool,
    desired: Option<&'a Desired>,
}

impl<'a> Secrecy<'a> {
    pub(super) fn of(id: &ObjectId, desired: Option<&'a Desired>) -> Self {
        Self {
            secret: is_secret(id),
            desired,
        }
    }

    /// Tells whether the value at this path is secret, or holds something that is.
    pub(super) fn hides(&self, path: &FieldPath) -> bool {
        let first = |at: usize| match path.0.get(at) {
            Some(PathStep::Key(key)) => Some(key.as_str()),
            _ => None,
        };
        // Fail closed: of a Secret only what is known to be harmless is shown.
        if self.secret {
            let harmless = match first(0) {
                Some("apiVersion" | "kind" | "type" | "immutable") => true,
                Some("metadata") => first(1).is_some_and(|key| HARMLESS.contains(&key)),
                _ => false,
            };
            if !harmless {
                return true;
            }
        }
        self.desired.is_some_and(|desired| {
            !desired.secret_routes.is_empty()
                && path
                    .route_in(&desired.value)
                    .is_none_or(|route| desired.holds_secret(&route))
                && self.near_secret(path)
        })
    }

    /// A path that Git does not have is hidden only where a secret field lies under the same parent.
    fn near_secret(&self, path: &FieldPath) -> bool {
        let Some(desired) = self.desired else {
            return false;
        };
        path.route_in(&desired.value)
            .is_some_and(|route| desired.holds_secret(&route))
    }

    /// Replaces the values of a difference by masks where they are secret.
    pub(super) fn mask_field(&self, difference: &mut Difference) -> bool {
        let hidden = self.hides(&difference.path);
        if hidden {
            for side in [&mut difference.git, &mut difference.live] {
                if side.is_some() {
                    *side = Some(Value::from(MASK));
                }
            }
        }
        hidden
    }

    /// Returns both sides with every secret value masked: equal values by the same mask, others by masks that name the
    /// side.
    pub(super) fn mask_sides(
        &self,
        git: Option<Value>,
        live: Option<Value>,
    ) -> (Option<Value>, Option<Value>) {
        let (mut git, mut live) = (git, live);
        if self.secret {
            for field in ["data", "stringData", "binaryData"] {
                mask_map(&mut git, &mut live, &[field]);
            }
            mask_map(&mut git, &mut live, &["metadata", "annotations"]);
            mask_the_rest(&mut git);
            mask_the_rest(&mut live);
        }
        for route in self.desired.into_iter().flat_map(|d| &d.secret_routes) {
            let pointer = route.0.iter().map(pointer_step).collect::<String>();
            let twins = match (self.desired, &live) {
                (Some(desired), Some(live)) => twins(&desired.value, live, &route.0),
                _ => vec![],
            };
            let of_git = git.as_ref().and_then(|g| g.pointer(&pointer));
            let equal = !twins.is_empty()
                && twins.iter().all(|twin| {
                    of_git == live.as_ref().and_then(|l| l.pointer(twin)) && of_git.is_some()
                });
            let (one, other) = text::mask(equal);
            if let Some(value) = git.as_mut().and_then(|g| g.pointer_mut(&pointer)) {
                *value = Value::from(one);
            }
            for twin in twins {
                if let Some(value) = live.as_mut().and_then(|l| l.pointer_mut(&twin)) {
                    *value = Value::from(other);
                }
            }
        }
        (git, live)
    }
}

fn pointer_step(step: &RouteStep) -> String {
    match step {
        RouteStep::Key(key) => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
        RouteStep::Index(index) => format!("/{index}"),
    }
}

/// Returns where in `live` the place `route` of `git` may be: list items by their name, which may have moved; items
/// without one at their place, or anywhere where the list has another length.
fn twins(git: &Value, live: &Value, route: &[RouteStep]) -> Vec<String> {
    let Some((step, rest)) = route.split_first() else {
        return vec![String::new()];
    };
    let below = |git: &Value, live: Option<&Value>, step: &RouteStep| -> Vec<String> {
        let found = live.map_or(vec![], |live| twins(git, live, rest));
        let head = pointer_step(step);
        found
            .into_iter()
            .map(|tail| format!("{head}{tail}"))
            .collect()
    };
    match step {
        RouteStep::Key(key) => {
            let git = git.get(key.as_str()).unwrap_or(&Value::Null);
            below(git, live.get(key.as_str()), step)
        }
        RouteStep::Index(index) => {
            let items = |side: &'_ Value| side.as_array().map_or(0, Vec::len);
            let item = git.get(*index).unwrap_or(&Value::Null);
            let name = item.get("name");
            let is_twin = |at: &usize| match (name, live.get(*at).and_then(|l| l.get("name"))) {
                (Some(one), Some(other)) => one == other,
                _ => at == index || items(git) != items(live),
            };
            (0..items(live))
                .filter(is_twin)
                .flat_map(|at| below(item, live.get(at), &RouteStep::Index(at)))
                .collect()
        }
    }
}

/// Masks the values of one map on both sides.
fn mask_map(git: &mut Option<Value>, live: &mut Option<Value>, keys: &[&str]) {
    let at = |side: &Option<Value>| {
        side.as_ref()
            .and_then(|v| keys.iter().try_fold(v, |v, k| v.get(*k)))
            .cloned()
    };
    let (old_git, old_live) = (at(git), at(live));
    for (side, other, is_git) in [(git, &old_live, true), (live, &old_git, false)] {
        let Some(node) = side
            .as_mut()
            .and_then(|v| keys.iter().try_fold(v, |v, k| v.get_mut(*k)))
        else {
            continue;
        };
        let Some(map) = node.as_object_mut() else {
            // A Secret whose data is no map is broken; nothing of it is shown.
            *node = Value::from(MASK);
            continue;
        };
        for (key, value) in map.iter_mut() {
            let equal = other.as_ref().and_then(|o| o.get(key.as_str())) == Some(value);
            let (git, live) = text::mask(equal);
            *value = Value::from(if is_git { git } else { live });
        }
    }
}

/// Masks what a Secret should not even have: misspelt fields may hold values too.
fn mask_the_rest(side: &mut Option<Value>) {
    let Some(object) = side.as_mut().and_then(Value::as_object_mut) else {
        return;
    };
    for (key, value) in object.iter_mut() {
        match key.as_str() {
            "apiVersion" | "kind" | "type" | "immutable" | "data" | "stringData" | "binaryData" => {
            }
            "metadata" => match value.as_object_mut() {
                Some(metadata) => {
                    for (key, value) in metadata.iter_mut() {
                        if key != "annotations" && !HARMLESS.contains(&key.as_str()) {
                            *value = Value::from(MASK);
                        }
                    }
                }
                None => *value = Value::from(MASK),
            },
            _ => *value = Value::from(MASK),
        }
    }
}

/// Returns a person's word for a masked pair.
pub(super) fn note(field: &FieldDrift) -> Option<String> {
    (field.masked && field.git.is_some() && field.live.is_some())
        .then(|| "the secret values differ".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn finds_a_secret_field_where_live_moved_it() {
        let key = |key: &str| RouteStep::Key(key.into());
        let route = [key("env"), RouteStep::Index(0), key("value")];
        let git = json!({"env": [{"name": "A", "value": "s"}, {"name": "B", "value": "t"}]});
        for (live, expect) in [
            (git.clone(), vec!["/env/0/value"]),
            (
                json!({"env": [{"name": "X"}, {"name": "B"}, {"name": "A", "value": "s"}]}),
                vec!["/env/2/value"],
            ),
            (json!({"env": [{"name": "B", "value": "t"}]}), vec![]),
            (json!({}), vec![]),
        ] {
            assert_eq!(twins(&git, &live, &route), expect, "{live}");
        }
        let git = json!({"env": [{"value": "s"}]});
        let live = json!({"env": [{"value": "x"}, {"value": "s"}]});
        assert_eq!(
            twins(&git, &live, &route),
            ["/env/0/value", "/env/1/value"],
            "nobody knows which of the two it is"
        );
    }
}
