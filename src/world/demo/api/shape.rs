//! How the server takes a list or map apart: which items have keys, which lists and maps are one value.
//!
//! The built-in kinds' rules are the server's own, kept in [`crate::domain::object::types`]. Flux's and Argo CD's
//! definitions mark none of the lists that the demo uses, so theirs are atomic.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::Value;

use super::kinds::{KINDS, Kind};
use crate::domain::object::types::{KindSchema, ListType, Node};

/// The shape of a list or map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Items of a list are owned one by one, told apart by these keys.
    Keyed(&'static [String]),
    /// A list of values that are owned one by one.
    Set,
    /// Owned and replaced as one.
    Atomic,
    /// A map or struct whose fields are owned one by one.
    Granular,
}

/// Returns a served kind's schema.
fn schema(kind: &Kind) -> &'static KindSchema {
    static SCHEMAS: OnceLock<HashMap<(&str, &str), KindSchema>> = OnceLock::new();
    static NONE: OnceLock<KindSchema> = OnceLock::new();
    SCHEMAS
        .get_or_init(|| {
            let of = |k: &'static Kind| {
                let schema = KindSchema::builtin(&k.api_version(), k.kind);
                ((k.group, k.kind), schema)
            };
            KINDS.iter().map(of).collect()
        })
        .get(&(kind.group, kind.kind))
        .unwrap_or_else(|| NONE.get_or_init(|| KindSchema::builtin("", "")))
}

/// Returns the place in a kind's schema that `path` names (`spec.template.spec.containers[]`).
fn node(kind: &Kind, path: &str) -> Node<'static> {
    let mut node = schema(kind).root();
    for step in path.split('.').filter(|step| !step.is_empty()) {
        let key = step.trim_end_matches("[]");
        node = node.field(key);
        for _ in 0..(step.len() - key.len()) / 2 {
            node = node.item();
        }
    }
    node
}

/// Returns the shape of the list or map at `path` (`spec.template.spec.containers[]`).
pub(super) fn shape(kind: &Kind, path: &str, value: &Value) -> Shape {
    let node = node(kind, path);
    match node.list() {
        ListType::Map(keys) => Shape::Keyed(keys),
        ListType::Set => Shape::Set,
        ListType::Atomic if value.is_array() || node.atomic() => Shape::Atomic,
        ListType::Atomic => Shape::Granular,
    }
}

/// Returns the `fieldsV1` step of a list's item: by its keys (an absent `protocol` is TCP) or by its value.
pub(super) fn item_step(shape: Shape, item: &Value) -> String {
    match shape {
        Shape::Keyed(keys) => {
            let keys: serde_json::Map<String, Value> = keys
                .iter()
                .filter_map(|key| {
                    let default = || (key == "protocol").then(|| Value::from("TCP"));
                    Some((key.clone(), item.get(key).cloned().or_else(default)?))
                })
                .collect();
            format!("k:{}", Value::Object(keys))
        }
        _ => format!("v:{item}"),
    }
}
