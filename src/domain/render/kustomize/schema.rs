//! What kustomize knows about kinds: which have no namespace, and which lists merge by which keys.
//!
//! This is kustomize's own, frozen knowledge (Kubernetes 1.21.2), not the server's: a kind that came later has no merge
//! keys and counts as namespaced, as there. A custom schema (`openapi.path`) stands in for it or adds to it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use serde_json::Value;

const CLUSTER_KINDS: &str = include_str!("cluster_kinds.txt");
const MERGE_KEYS: &str = include_str!("merge_keys.txt");

/// A type of the schema, by its number.
pub(super) type TypeId = usize;

/// What stands under a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    /// An object of a type.
    Object(TypeId),
    /// A list that is replaced; its items may have a type.
    Items(Option<TypeId>),
    /// A list that merges, by these keys (none: by value).
    Merge {
        keys: Vec<String>,
        items: Option<TypeId>,
    },
}

/// Types and kinds.
#[derive(Debug, Clone, Default)]
pub(super) struct Schema {
    names: HashMap<String, TypeId>,
    types: Vec<HashMap<String, Field>>,
    kinds: HashMap<(String, String), TypeId>,
    cluster: HashSet<(String, String)>,
    namespaced: HashSet<(String, String)>,
}

static BUILT_IN: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(Schema::built_in()));

impl Schema {
    /// Returns kustomize's own schema.
    pub(super) fn shared() -> Arc<Self> {
        Arc::clone(&BUILT_IN)
    }

    fn built_in() -> Self {
        let mut schema = Self::default();
        for line in MERGE_KEYS.lines().filter(|line| !line.starts_with('#')) {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["kind", api_version, kind, name] => {
                    let id = schema.id(name);
                    schema.kinds.insert((api_version.into(), kind.into()), id);
                }
                ["field", owner, field, name] => {
                    let id = schema.id(name);
                    schema.add(owner, field, Field::Object(id));
                }
                ["list", owner, field, name] => {
                    let id = schema.id(name);
                    schema.add(owner, field, Field::Items(Some(id)));
                }
                ["merge", owner, field, keys, name] => {
                    let items = (name != "-").then(|| schema.id(name));
                    let keys = keys
                        .split(',')
                        .filter(|key| *key != "-")
                        .map(str::to_owned)
                        .collect();
                    schema.add(owner, field, Field::Merge { keys, items });
                }
                _ => {}
            }
        }
        schema.scopes();
        schema
    }

    fn scopes(&mut self) {
        for line in CLUSTER_KINDS.lines().filter(|line| !line.starts_with('#')) {
            if let Some((api_version, kind)) = line.split_once(' ') {
                self.cluster.insert((api_version.into(), kind.into()));
            }
        }
    }

    fn id(&mut self, name: &str) -> TypeId {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let id = self.types.len();
        self.types.push(HashMap::new());
        self.names.insert(name.to_owned(), id);
        id
    }

    fn add(&mut self, owner: &str, field: &str, what: Field) {
        let owner = self.id(owner);
        self.types[owner].insert(field.to_owned(), what);
    }

    /// Returns the type of a kind.
    pub(super) fn kind(&self, api_version: &str, kind: &str) -> Option<TypeId> {
        self.kinds
            .get(&(api_version.to_owned(), kind.to_owned()))
            .copied()
    }

    /// Returns what a type has under a field.
    pub(super) fn field(&self, owner: TypeId, field: &str) -> Option<&Field> {
        let fields = self.types.get(owner)?;
        fields.get(field).or_else(|| fields.get("*"))
    }

    /// Tells whether a kind certainly has no namespace.
    pub(super) fn is_cluster(&self, api_version: &str, kind: &str) -> bool {
        self.cluster
            .contains(&(api_version.to_owned(), kind.to_owned()))
    }

    /// Returns a schema of an OpenAPI document, on top of the built-in types or instead of them.
    pub(super) fn custom(document: &Value, adds: bool) -> Self {
        let mut schema = if adds {
            Self::built_in()
        } else {
            Self::default()
        };
        if !adds {
            schema.scopes();
        }
        let empty = serde_json::Map::new();
        let definitions = document
            .get("definitions")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        for (name, definition) in definitions {
            let id = schema.id(name);
            schema.types[id] = HashMap::new();
            for gvk in definition
                .get("x-kubernetes-group-version-kind")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                if let Some(key) = kind_key(gvk) {
                    schema.kinds.insert(key, id);
                }
            }
            schema.properties(id, definition);
        }
        schema.paths(document);
        schema
    }

    fn properties(&mut self, id: TypeId, definition: &Value) {
        for (name, property) in definition
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let field = self.property(property);
            if let Some(field) = field {
                self.types[id].insert(name.clone(), field);
            }
        }
        if let Some(values) = definition.get("additionalProperties")
            && let Some(field) = self.property(values)
        {
            self.types[id].insert("*".into(), field);
        }
    }

    /// Reads the type of an inline or referenced object.
    fn object(&mut self, property: &Value) -> Option<TypeId> {
        if let Some(name) = property.get("$ref").and_then(Value::as_str) {
            return Some(self.id(name.trim_start_matches("#/definitions/")));
        }
        if property.get("properties").is_none() && property.get("additionalProperties").is_none() {
            return None;
        }
        let id = self.types.len();
        self.types.push(HashMap::new());
        self.properties(id, property);
        Some(id)
    }

    fn property(&mut self, property: &Value) -> Option<Field> {
        let items = property.get("items").and_then(|items| self.object(items));
        let strategy = property
            .get("x-kubernetes-patch-strategy")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if strategy.split(',').any(|word| word == "merge") {
            let mut keys: Vec<String> = property
                .get("x-kubernetes-list-map-keys")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            if property.get("x-kubernetes-list-map-keys").is_none() {
                keys.extend(
                    property
                        .get("x-kubernetes-patch-merge-key")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                );
            }
            return Some(Field::Merge { keys, items });
        }
        if property.get("items").is_some() {
            return Some(Field::Items(items));
        }
        self.object(property).map(Field::Object)
    }

    fn paths(&mut self, document: &Value) {
        for (path, item) in document
            .get("paths")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let Some(key) = item
                .pointer("/get/x-kubernetes-group-version-kind")
                .and_then(kind_key)
            else {
                continue;
            };
            if path.contains("namespaces/{namespace}") {
                self.cluster.remove(&key);
                self.namespaced.insert(key);
            } else if !self.namespaced.contains(&key) {
                self.cluster.insert(key);
            }
        }
    }
}

fn kind_key(gvk: &Value) -> Option<(String, String)> {
    let text = |key: &str| gvk.get(key).and_then(Value::as_str);
    let version = text("version")?;
    let api_version = match text("group") {
        Some(group) if !group.is_empty() => format!("{group}/{version}"),
        _ => version.to_owned(),
    };
    Some((api_version, text("kind")?.to_owned()))
}
