//! Who an object is.

use std::fmt;

use serde_json::Value;

/// An object's identity: apiVersion, kind, namespace, name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId {
    /// `v1`, `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// `None` for cluster-scoped objects, and where the manifest says none.
    pub namespace: Option<String>,
    /// `web`.
    pub name: String,
}

impl ObjectId {
    /// Reads the identity of a manifest; `None` where kind or name is missing.
    pub fn of(value: &Value) -> Option<Self> {
        let text = |pointer: &str| {
            value
                .pointer(pointer)
                .and_then(Value::as_str)
                .filter(|s| !s.is_empty())
                .map(str::to_owned)
        };
        Some(Self {
            api_version: text("/apiVersion").unwrap_or_default(),
            kind: text("/kind")?,
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name")?,
        })
    }

    /// Returns the API group: empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or("", |(group, _)| group)
    }

    /// Returns the API version without its group.
    pub fn version(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or(self.api_version.as_str(), |(_, version)| version)
    }

    /// Tells whether both name the same object whatever the API version.
    pub fn same_object(&self, other: &Self) -> bool {
        self.group() == other.group()
            && self.kind == other.kind
            && self.namespace == other.namespace
            && self.name == other.name
    }
}

/// Prints `Deployment/prod/web`, or `Namespace/prod` for cluster-scoped ones.
impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{}/{namespace}/{}", self.kind, self.name),
            None => write!(f, "{}/{}", self.kind, self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_and_prints() {
        let id = ObjectId::of(&json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "prod"}}))
        .unwrap();
        assert_eq!(
            (id.group(), id.version(), id.to_string().as_str()),
            ("apps", "v1", "Deployment/prod/web")
        );
        assert_eq!(ObjectId::of(&json!({"kind": "ConfigMap"})), None);
    }
}
