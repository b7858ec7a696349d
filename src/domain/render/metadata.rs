//! What both controllers do to a rendered object before they apply it: labels, annotations, a namespace.
//!
//! Every value set here brings its own origin, and what it replaced stays behind it.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::domain::object::{Desired, Home, Origin, Step};
use crate::domain::yaml::Route;

/// Returns the origin of something that has no home in Git: tracking labels, owner labels.
pub(super) fn derived(step: Step) -> Origin {
    Origin {
        home: Home::Derived,
        file: "".into(),
        document: 0,
        line: 0,
        route: Route::root(),
        inner: None,
        step,
        before: None,
    }
}

/// Returns the origin of a value that stands in the app's own object at `route`.
pub(super) fn in_app(route: Route, step: Step) -> Origin {
    Origin {
        home: Home::AppSpec,
        file: "spec".into(),
        route,
        ..derived(step)
    }
}

/// Sets `metadata.FIELD[KEY]`.
pub(super) fn set_entry(object: &mut Desired, field: &str, key: &str, text: &str, origin: Origin) {
    let metadata = entry_map(&mut object.value, "metadata");
    let map = entry_map(metadata, field);
    if let Value::Object(map) = map {
        map.insert(key.to_owned(), Value::from(text));
    }
    let route = Route::root().key("metadata").key(field).key(key);
    let before = object.origins.of(&route).cloned();
    object
        .origins
        .0
        .insert(route, Arc::new(Origin { before, ..origin }));
}

/// Takes `metadata.FIELD[KEY]` away, and the map with its last entry.
pub(super) fn remove_entry(object: &mut Desired, field: &str, key: &str) {
    let Some(Value::Object(metadata)) = object.value.get_mut("metadata") else {
        return;
    };
    let Some(Value::Object(map)) = metadata.get_mut(field) else {
        return;
    };
    if map.remove(key).is_none() {
        return;
    }
    if map.is_empty() {
        metadata.remove(field);
    }
    object
        .origins
        .0
        .remove(&Route::root().key("metadata").key(field).key(key));
}

/// Sets `metadata.namespace`.
pub(super) fn set_namespace(object: &mut Desired, namespace: &str, origin: Origin) {
    if let Value::Object(metadata) = entry_map(&mut object.value, "metadata") {
        metadata.insert("namespace".into(), namespace.into());
    }
    let route = Route::root().key("metadata").key("namespace");
    let before = object.origins.of(&route).cloned();
    object
        .origins
        .0
        .insert(route, Arc::new(Origin { before, ..origin }));
    object.id.namespace = Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty());
}

/// Takes `metadata.namespace` away.
pub(super) fn remove_namespace(object: &mut Desired) {
    if let Some(Value::Object(metadata)) = object.value.get_mut("metadata") {
        metadata.remove("namespace");
    }
    object
        .origins
        .0
        .remove(&Route::root().key("metadata").key("namespace"));
    object.id.namespace = None;
}

/// Returns the map under `key`, made anew where there is none.
fn entry_map<'v>(value: &'v mut Value, key: &str) -> &'v mut Value {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let entry = &mut value[key];
    if !entry.is_object() {
        *entry = Value::Object(Map::new());
    }
    entry
}
