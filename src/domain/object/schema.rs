//! How the API server merges the fields of a kind: which lists have keys, which are sets, what is replaced as one.
//!
//! The built-in kinds come from the server's own OpenAPI (recorded in `list_types.txt`). A custom resource's definition
//! adds its own types ([`Schema::with_definition`]). What no one knows is said to be unknown, so that the caller can ask
//! managedFields, which show the keys that the server used.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::Value;

/// How the server merges a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    /// Replaced, owned and compared as one.
    Atomic,
    /// A list of distinct values.
    Set,
    /// A list whose items are told apart by these keys, sorted by name.
    Keyed(Vec<String>),
    /// A map or struct whose fields live on their own.
    Granular,
}

type Fields = HashMap<String, Merge>;

fn built_in() -> &'static HashMap<(String, String), Fields> {
    static TABLE: OnceLock<HashMap<(String, String), Fields>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table: HashMap<(String, String), Fields> = HashMap::new();
        let mut kind = None;
        for line in include_str!("list_types.txt").lines() {
            let mut words = line.split(' ');
            match (words.next(), words.next(), words.next()) {
                (Some("="), Some(version), Some(name)) => {
                    kind = Some((version.to_owned(), name.to_owned()));
                }
                (Some(path), Some(merge), keys) => {
                    let merge = match merge {
                        "map" => Merge::Keyed(sorted(keys.unwrap_or_default().split(','))),
                        "set" => Merge::Set,
                        _ => Merge::Atomic,
                    };
                    if let Some(kind) = &kind {
                        table
                            .entry(kind.clone())
                            .or_default()
                            .insert(path.to_owned(), merge);
                    }
                }
                _ => {}
            }
        }
        table
    })
}

fn sorted<'k>(keys: impl Iterator<Item = &'k str>) -> Vec<String> {
    let mut keys: Vec<String> = keys.map(str::to_owned).collect();
    keys.sort();
    keys
}

/// What is known about the fields of one kind.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    built_in: Option<&'static Fields>,
    own: Fields,
    known: bool,
}

impl Schema {
    /// Returns the schema of a built-in kind; for a version that the table does not hold, that of another version of
    /// the same group and kind. Knows nothing about other kinds.
    pub fn of(api_version: &str, kind: &str) -> Self {
        let table = built_in();
        let group = |version: &str| version.split_once('/').map_or("", |(g, _)| g).to_owned();
        let exact = table.get(&(api_version.to_owned(), kind.to_owned()));
        let found = exact.or_else(|| {
            let wanted = group(api_version);
            let mut same: Vec<_> = table
                .iter()
                .filter(|((version, name), _)| name == kind && group(version) == wanted)
                .collect();
            same.sort_by_key(|((version, _), _)| version.clone());
            same.pop().map(|(_, fields)| fields)
        });
        Self {
            built_in: found,
            own: Fields::new(),
            known: found.is_some() || is_built_in(api_version),
        }
    }

    /// Adds the types of a custom resource from its CustomResourceDefinition, for the version that `api_version` names.
    #[must_use]
    pub fn with_definition(mut self, api_version: &str, definition: &Value) -> Self {
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let versions = definition
            .pointer("/spec/versions")
            .and_then(Value::as_array);
        let schema = versions
            .into_iter()
            .flatten()
            .find(|v| v.get("name").and_then(Value::as_str) == Some(version))
            .and_then(|v| v.pointer("/schema/openAPIV3Schema"));
        if let Some(schema) = schema {
            read_schema(schema, "", &mut self.own);
            self.known = true;
        }
        self
    }

    /// Tells whether the kind's fields are known at all.
    pub fn is_known(&self) -> bool {
        self.known
    }

    /// Returns how the field at `pattern` merges (`spec.template.spec.containers[].env`); `None` where it is not named.
    pub fn merge(&self, pattern: &str) -> Option<&Merge> {
        if let Some(own) = self.own.get(pattern) {
            return Some(own);
        }
        if pattern == "metadata.ownerReferences" {
            static UID: OnceLock<Merge> = OnceLock::new();
            return Some(UID.get_or_init(|| Merge::Keyed(vec!["uid".to_owned()])));
        }
        if pattern == "metadata.finalizers" {
            return Some(&Merge::Set);
        }
        self.built_in?.get(pattern)
    }
}

/// Tells whether a group is served by kube-apiserver itself.
pub fn is_built_in(api_version: &str) -> bool {
    match api_version.split_once('/') {
        None => true,
        Some((group, _)) => {
            matches!(
                group,
                "apps" | "batch" | "autoscaling" | "policy" | "extensions"
            ) || (group.ends_with(".k8s.io")
                && built_in()
                    .keys()
                    .any(|(version, _)| version.split('/').next() == Some(group)))
        }
    }
}

fn read_schema(schema: &Value, path: &str, into: &mut Fields) {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let merge = match (
        text("x-kubernetes-list-type"),
        text("x-kubernetes-map-type"),
    ) {
        (Some("map"), _) => {
            let keys = schema
                .get("x-kubernetes-list-map-keys")
                .and_then(Value::as_array);
            Some(Merge::Keyed(sorted(
                keys.into_iter().flatten().filter_map(Value::as_str),
            )))
        }
        (Some("set"), _) => Some(Merge::Set),
        (Some(_), _) | (_, Some("atomic")) => Some(Merge::Atomic),
        _ => None,
    };
    if let Some(merge) = merge {
        into.insert(path.to_owned(), merge);
    }
    if let Some(items) = schema.get("items") {
        read_schema(items, &format!("{path}[]"), into);
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, child) in properties.into_iter().flatten() {
        let path = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        read_schema(child, &path, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn knows_the_built_in_kinds() {
        let deployment = Schema::of("apps/v1", "Deployment");
        let keyed =
            |keys: &[&str]| Some(Merge::Keyed(keys.iter().map(|&k| k.to_owned()).collect()));
        let table = [
            ("spec.template.spec.containers", keyed(&["name"])),
            (
                "spec.template.spec.containers[].ports",
                keyed(&["containerPort", "protocol"]),
            ),
            ("spec.selector", Some(Merge::Atomic)),
            ("spec.template.spec.containers[].args", None),
            ("metadata.finalizers", Some(Merge::Set)),
        ];
        for (path, expect) in table {
            assert_eq!(deployment.merge(path).cloned(), expect, "{path}");
        }
        assert!(Schema::of("apps/v1beta1", "Deployment").is_known());
        assert!(!Schema::of("lab.example.test/v1", "Widget").is_known());
    }

    #[test]
    fn reads_a_definition() {
        let definition = json!({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
            "properties": {"spec": {"properties": {
                "listeners": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"properties": {"tags": {"x-kubernetes-list-type": "set"}}}}}}}}}}]}});
        let schema = Schema::of("lab.example.test/v1", "Widget")
            .with_definition("lab.example.test/v1", &definition);
        assert_eq!(
            schema.merge("spec.listeners"),
            Some(&Merge::Keyed(vec!["name".into()]))
        );
        assert_eq!(schema.merge("spec.listeners[].tags"), Some(&Merge::Set));
    }
}
