//! Setting a field inside a partial object: a strategic-merge patch, or a manifest that lacks the field.

use serde_json::{Map, Value, json};

use crate::domain::object::path::key_text;
use crate::domain::object::{FieldPath, PathStep};
use crate::domain::yaml::edit::Edit;
use crate::domain::yaml::{Route, RouteStep};

/// Returns the edit that makes `object` hold `value` at `path`; `None` where an index or a set's item would have to be
/// made. List items that are missing are made with their keys.
pub(super) fn edit(object: &Value, path: &[PathStep], value: &Value) -> Option<Edit> {
    let mut node = object;
    let mut route = Route::root();
    for (at, step) in path.iter().enumerate() {
        let found = match step {
            PathStep::Key(key) => node
                .get(key.as_str())
                .map(|next| (RouteStep::Key(key.clone()), next)),
            PathStep::Item(keys) => item(node, keys),
            PathStep::Index(index) => node
                .get(*index)
                .map(|next| (RouteStep::Index(*index), next)),
            PathStep::Value(_) => None,
        };
        let Some((step, next)) = found else {
            return missing(node, route, &path[at..], value);
        };
        route.0.push(step);
        node = next;
    }
    Some(Edit::Set {
        route,
        value: value.clone(),
    })
}

fn item<'v>(node: &'v Value, keys: &[(String, String)]) -> Option<(RouteStep, &'v Value)> {
    let path = FieldPath(vec![PathStep::Item(keys.to_vec())]);
    let route = path.route_in(node)?;
    let found = route.get(node)?;
    Some((route.0.into_iter().next()?, found))
}

fn missing(node: &Value, parent: Route, rest: &[PathStep], value: &Value) -> Option<Edit> {
    let (step, rest) = rest.split_first()?;
    let (at, value) = match step {
        PathStep::Key(key) => (RouteStep::Key(key.clone()), nest(rest, value)?),
        PathStep::Item(keys) => {
            let len = node.as_array().map_or(0, Vec::len);
            (RouteStep::Index(len), with_keys(keys, nest(rest, value)?))
        }
        PathStep::Value(_) | PathStep::Index(_) if rest.is_empty() => {
            let len = node.as_array().map_or(0, Vec::len);
            (RouteStep::Index(len), value.clone())
        }
        PathStep::Index(_) | PathStep::Value(_) => return None,
    };
    Some(Edit::Insert { parent, at, value })
}

/// Builds the objects and items along `path` around `value`.
pub(super) fn nest(path: &[PathStep], value: &Value) -> Option<Value> {
    path.iter().rev().try_fold(value.clone(), |inner, step| {
        Some(match step {
            PathStep::Key(key) => json!({ key: inner }),
            PathStep::Item(keys) => json!([with_keys(keys, inner)]),
            PathStep::Index(_) | PathStep::Value(_) => return None,
        })
    })
}

/// Adds the keys that tell an item apart.
fn with_keys(keys: &[(String, String)], item: Value) -> Value {
    let Value::Object(fields) = item else {
        return item;
    };
    let mut map = Map::new();
    for (key, text) in keys {
        // Merge keys are names, or numbers such as ports.
        let number = text
            .parse::<i64>()
            .ok()
            .filter(|_| key.to_lowercase().ends_with("port"));
        map.insert(
            key.clone(),
            number.map_or_else(|| Value::from(text.as_str()), Value::from),
        );
    }
    for (key, value) in fields {
        map.entry(key).or_insert(value);
    }
    Value::Object(map)
}

/// Returns the JSON pointer to `path` inside `object`; the last step may be missing there.
pub(super) fn pointer(object: &Value, path: &FieldPath) -> Option<String> {
    let (last, parents) = path.0.split_last()?;
    let parent = FieldPath(parents.to_vec()).route_in(object)?;
    let mut pointer = String::new();
    let mut push = |text: &str| {
        pointer.push('/');
        pointer.push_str(&text.replace('~', "~0").replace('/', "~1"));
    };
    for step in &parent.0 {
        match step {
            RouteStep::Key(key) => push(key),
            RouteStep::Index(index) => push(&index.to_string()),
        }
    }
    match last {
        PathStep::Key(key) => push(key),
        step => match FieldPath(vec![step.clone()]).route_in(parent.get(object)?) {
            Some(route) => match route.0.first()? {
                RouteStep::Index(index) => push(&index.to_string()),
                RouteStep::Key(key) => push(key),
            },
            None => push("-"),
        },
    }
    Some(pointer)
}

/// Tells whether a merge key's text fits a value.
pub(super) fn has_key(item: &Value, key: &str, text: &str) -> bool {
    item.get(key).is_some_and(|value| key_text(value) == text)
}
