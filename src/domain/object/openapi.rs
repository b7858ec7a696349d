//! Places in a schema that a server or a CustomResourceDefinition states, and documents reduced to what is read of them.
//!
//! A property that refers to a type stands in OpenAPI v3 as `allOf: [$ref]` with its own markers beside; both are read.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::types::{Holds, KindSchema, ListType, interned};

/// The kinds of a server's documents, by group version and kind.
#[derive(Debug, Clone, Default)]
pub struct Schemas(BTreeMap<String, Arc<BTreeMap<String, KindSchema>>>);

impl Schemas {
    /// Reads the kinds of one group version (`apps/v1`) from its document.
    pub fn of(api_version: &str, document: &Arc<Value>) -> Self {
        let kinds = KindSchema::all_of(document, api_version);
        Self(BTreeMap::from([(api_version.to_owned(), Arc::new(kinds))]))
    }

    /// Adds what another one holds.
    pub fn extend(&mut self, other: &Self) {
        let others = other.0.iter();
        self.0
            .extend(others.map(|(version, kinds)| (version.clone(), Arc::clone(kinds))));
    }

    /// Returns a kind's schema.
    pub fn get(&self, api_version: &str, kind: &str) -> Option<&KindSchema> {
        self.0.get(api_version)?.get(kind)
    }
}

/// A place in a schema document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open<'s> {
    document: &'s Value,
    /// What the place itself says.
    outer: &'s Value,
    /// The type that it refers to; itself where it refers to none.
    schema: &'s Value,
}

/// What a key below a place leads to.
#[derive(Clone, Copy)]
pub(super) enum Below<'s> {
    Schema(Open<'s>),
    Any,
    Undeclared,
}

impl<'s> Open<'s> {
    pub(super) fn at(document: &'s Value, place: &'s Value) -> Self {
        Self {
            document,
            outer: place,
            schema: resolve(document, place),
        }
    }

    /// Returns the place that a type of the document's components is.
    pub(super) fn component(document: &'s Value, name: &str) -> Option<Self> {
        let schema = document.get("components")?.get("schemas")?.get(name)?;
        Some(Self::at(document, schema))
    }

    fn mark(self, key: &str) -> Option<&'s Value> {
        self.outer.get(key).or_else(|| self.schema.get(key))
    }

    fn flag(self, key: &str) -> bool {
        self.mark(key) == Some(&Value::Bool(true))
    }

    fn text(self, key: &str) -> Option<&'s str> {
        self.mark(key).and_then(Value::as_str)
    }

    pub(super) fn field(self, key: &str) -> Below<'s> {
        if let Some(below) = self.property(key) {
            return Below::Schema(below);
        }
        match self.schema.get("additionalProperties") {
            Some(below @ Value::Object(_)) => Below::Schema(Self::at(self.document, below)),
            Some(Value::Bool(true)) => Below::Any,
            _ if self.preserves()
                || self.schema.get("properties").is_none()
                || matches!(key, "apiVersion" | "kind" | "metadata") =>
            {
                Below::Any
            }
            _ => Below::Undeclared,
        }
    }

    fn property(self, key: &str) -> Option<Self> {
        let below = self.schema.get("properties")?.get(key)?;
        Some(Self::at(self.document, below))
    }

    pub(super) fn properties(self) -> impl Iterator<Item = (&'s str, Self)> {
        let fields = self.schema.get("properties").and_then(Value::as_object);
        fields
            .into_iter()
            .flatten()
            .map(move |(key, below)| (key.as_str(), Self::at(self.document, below)))
    }

    pub(super) fn items(self) -> Option<Self> {
        let items = self.schema.get("items")?;
        Some(Self::at(self.document, items))
    }

    pub(super) fn list(self) -> &'static ListType {
        static ATOMIC: ListType = ListType::Atomic;
        static SET: ListType = ListType::Set;
        match self.text("x-kubernetes-list-type") {
            Some("set") => &SET,
            Some("map") => self
                .mark("x-kubernetes-list-map-keys")
                .map_or(&ATOMIC, interned),
            _ => &ATOMIC,
        }
    }

    pub(super) fn atomic(self) -> bool {
        self.text("x-kubernetes-map-type") == Some("atomic")
    }

    pub(super) fn default(self) -> Option<&'s Value> {
        self.mark("default")
    }

    pub(super) fn keeps_null(self) -> bool {
        self.flag("nullable") || self.preserves()
    }

    fn preserves(self) -> bool {
        self.flag("x-kubernetes-preserve-unknown-fields")
    }

    pub(super) fn format(self) -> Option<&'s str> {
        self.text("format")
    }

    pub(super) fn holds(self) -> Holds<'static> {
        if self.flag("x-kubernetes-int-or-string") || self.format() == Some("int-or-string") {
            return Holds::IntOrString;
        }
        let has = |key: &str| self.schema.get(key).is_some();
        match self.text("type") {
            Some("string") => match self.format() {
                Some("byte") => Holds::Bytes,
                _ => Holds::String,
            },
            Some("integer") => Holds::Integer,
            Some("number") => Holds::Number,
            Some("boolean") => Holds::Boolean,
            Some("array") => Holds::List,
            Some("object") if has("additionalProperties") => Holds::Map,
            Some("object") if has("properties") => Holds::Struct(""),
            _ => Holds::Any,
        }
    }
}

/// Follows `$ref` and single `allOf` to the schema that says something.
fn resolve<'s>(document: &'s Value, schema: &'s Value) -> &'s Value {
    let mut at = schema;
    for _ in 0..8 {
        let all = || at.get("allOf")?.get(0)?.get("$ref");
        let reference = at.get("$ref").or_else(all).and_then(Value::as_str);
        match reference.and_then(|reference| find(document, reference)) {
            Some(next) => at = next,
            None => break,
        }
    }
    at
}

fn find<'s>(document: &'s Value, reference: &str) -> Option<&'s Value> {
    match reference.strip_prefix("#/components/schemas/") {
        Some(name) if !name.contains(['/', '~', '%']) => {
            document.get("components")?.get("schemas")?.get(name)
        }
        _ => document.pointer(reference.strip_prefix('#')?),
    }
}

/// Types that so many kinds share belong to none of them (`DeleteOptions`).
const SHARED: usize = 4;

/// Reduces a document of `/openapi/v3/…` to what is read of it: the types, without prose, paths and limits.
///
/// ```
/// use gitops_tui::domain::object::openapi::trimmed;
/// use serde_json::json;
///
/// let document = json!({"paths": {"/apis": {}}, "components": {"schemas": {"Widget": {"description": "a widget",
///     "type": "object", "properties": {"description": {"type": "string", "maxLength": 4}}}}}});
/// assert_eq!(
///     trimmed(document),
///     json!({"components": {"schemas": {"Widget": {"type": "object",
///         "properties": {"description": {"type": "string"}}}}}})
/// );
/// ```
#[must_use]
pub fn trimmed(mut document: Value) -> Value {
    let schemas = document
        .pointer_mut("/components/schemas")
        .map(Value::take)
        .unwrap_or_default();
    let kept: Map<String, Value> = match schemas {
        Value::Object(map) => map.into_iter().map(|(k, v)| (k, schema(v))).collect(),
        _ => Map::new(),
    };
    serde_json::json!({"components": {"schemas": kept}})
}

fn schema(value: Value) -> Value {
    let Value::Object(map) = value else {
        return value;
    };
    let kept = map.into_iter().filter_map(|(key, value)| {
        let value = match key.as_str() {
            "properties" => match value {
                Value::Object(map) => {
                    Value::Object(map.into_iter().map(|(k, v)| (k, schema(v))).collect())
                }
                other => other,
            },
            "items" | "additionalProperties" => schema(value),
            "allOf" => match value {
                Value::Array(all) => Value::Array(all.into_iter().map(schema).collect()),
                other => other,
            },
            "x-kubernetes-group-version-kind" => {
                let shared = value.as_array().is_some_and(|ids| ids.len() > SHARED);
                return (!shared).then_some((key, value));
            }
            "x-kubernetes-validations" => return None,
            "$ref" | "type" | "format" | "default" | "nullable" => value,
            _ if key.starts_with("x-kubernetes-") => value,
            _ => return None,
        };
        Some((key, value))
    });
    Value::Object(kept.collect())
}
