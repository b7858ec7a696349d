//! From a document to a value that knows where each of its fields stands.

use std::sync::Arc;

use serde_json::Value;

use crate::domain::object::{Home, Origin, Origins, Step};
use crate::domain::yaml::{Dialect, Node, Problem, Route};

/// Reads a node as JSON, with the place of every field below it; routes count from the node, places from `at`.
pub(super) fn read_node(
    node: Node<'_>,
    dialect: Dialect,
    file: &Arc<str>,
    at: &Route,
) -> Result<(Value, Origins), Problem> {
    let value = node.to_json(dialect)?;
    let mut origins = Origins::default();
    let document = node.document().index;
    collect(
        node,
        dialect,
        &mut origins,
        (&Route::root(), at),
        &|line, route| Origin {
            home: Home::Repository,
            file: Arc::clone(file),
            document,
            line,
            route,
            inner: None,
            step: Step::Resource,
            before: None,
        },
    );
    Ok((value, origins))
}

fn collect(
    node: Node<'_>,
    dialect: Dialect,
    origins: &mut Origins,
    (route, at): (&Route, &Route),
    origin: &dyn Fn(usize, Route) -> Origin,
) {
    origins
        .0
        .insert(route.clone(), Arc::new(origin(node.line(), at.clone())));
    for entry in node.entries_resolved(dialect).unwrap_or_default() {
        if let Ok(key) = entry.key.key_text(dialect, false) {
            let written = entry.key.text().unwrap_or(&key);
            let places = (&route.key(key.as_str()), &at.key(written));
            collect(entry.value, dialect, origins, places, origin);
        }
    }
    for (index, item) in node.items().enumerate() {
        collect(
            item,
            dialect,
            origins,
            (&route.index(index), &at.index(index)),
            origin,
        );
    }
}
