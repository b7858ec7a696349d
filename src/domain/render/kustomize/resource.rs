//! An object under way: its tree, the names it had before, and what the build remembers about it.
//!
//! kustomize keeps these notes in annotations and takes them out at the end; here they stand beside the tree.

use std::sync::Arc;

use super::model::FieldSpec;
use super::node::{Node, Scalar};
use super::place::Mark;
use super::schema::Schema;

/// Stands in for the namespace of objects that have none.
pub(super) const NO_NAMESPACE: &str = "_non_namespaceable_";

/// Who an object is, or was.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Id {
    pub(super) group: Arc<str>,
    pub(super) version: Arc<str>,
    pub(super) kind: Arc<str>,
    pub(super) name: Arc<str>,
    /// As written: empty where there is none.
    pub(super) namespace: Arc<str>,
    pub(super) is_cluster: bool,
}

impl Id {
    /// Returns the namespace by which ids are compared.
    pub(super) fn effective_namespace(&self) -> &str {
        match &*self.namespace {
            _ if self.is_cluster => NO_NAMESPACE,
            "" => "default",
            namespace => namespace,
        }
    }

    /// Tells whether both name the same object.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.is_same_but_namespace(other)
            && self.effective_namespace() == other.effective_namespace()
    }

    /// Tells whether both name the same object, whatever the namespace.
    pub(super) fn is_same_but_namespace(&self, other: &Self) -> bool {
        self.name == other.name
            && self.kind == other.kind
            && self.group == other.group
            && self.version == other.version
    }

    /// Returns what identifies the object among its like.
    pub(super) fn key(&self) -> (Arc<str>, Arc<str>, Arc<str>, Arc<str>, String) {
        (
            Arc::clone(&self.group),
            Arc::clone(&self.version),
            Arc::clone(&self.kind),
            Arc::clone(&self.name),
            self.effective_namespace().to_owned(),
        )
    }

    /// Tells whether group, version and kind are those of the specification, as far as it names them.
    pub(super) fn is_selected(&self, group: &str, version: &str, kind: &str) -> bool {
        (group.is_empty() || *self.group == *group)
            && (version.is_empty() || *self.version == *version)
            && (kind.is_empty() || *self.kind == *kind)
    }

    /// As [`Id::is_selected`], for a field.
    pub(super) fn has_field(&self, spec: &FieldSpec) -> bool {
        self.is_selected(&spec.group, &spec.version, &spec.kind)
    }

    /// Returns `Kind.version.group` as kustomize prints it.
    pub(super) fn gvk_text(&self) -> String {
        let or = |text: &str, otherwise: &str| {
            if text.is_empty() {
                otherwise.to_owned()
            } else {
                text.to_owned()
            }
        };
        format!(
            "{}.{}.{}",
            or(&self.kind, "[noKind]"),
            or(&self.version, "[noVer]"),
            or(&self.group, "[noGrp]")
        )
    }
}

/// Prints `Deployment.v1.apps/web.prod` as kustomize does.
impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let or = |text: &str, otherwise: &str| {
            if text.is_empty() {
                otherwise.to_owned()
            } else {
                text.to_owned()
            }
        };
        write!(
            f,
            "{}/{}.{}",
            self.gvk_text(),
            or(&self.name, "[noName]"),
            or(&self.namespace, "[noNs]")
        )
    }
}

/// A former name.
#[derive(Debug, Clone)]
pub(super) struct Former {
    pub(super) name: Arc<str>,
    pub(super) namespace: Arc<str>,
    pub(super) kind: Arc<str>,
}

/// What a generated object does to one that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Behavior {
    #[default]
    Unspecified,
    Create,
    Merge,
    Replace,
}

/// An object under way.
#[derive(Debug, Clone)]
pub(super) struct Resource {
    pub(super) root: Node,
    pub(super) former: Vec<Former>,
    pub(super) prefixes: Vec<String>,
    pub(super) suffixes: Vec<String>,
    pub(super) behavior: Behavior,
    pub(super) needs_hash: bool,
    pub(super) vars: Vec<String>,
    /// Whether a patch took the whole object away.
    pub(super) is_gone: bool,
    /// How many nodes kustomize has hung into several places of it.
    shares: usize,
}

impl Resource {
    pub(super) fn new(root: Node) -> Self {
        Self {
            root,
            former: vec![],
            prefixes: vec![],
            suffixes: vec![],
            behavior: Behavior::default(),
            needs_hash: false,
            vars: vec![],
            is_gone: false,
            shares: 0,
        }
    }

    /// Numbers a node that is hung into several places of the object.
    pub(super) fn new_share(&mut self) -> usize {
        self.shares += 1;
        self.shares
    }

    /// Gives all places of a node what was written to one of them. To be called after each step that writes.
    pub(super) fn settle(&mut self) {
        if self.shares > 0 {
            self.root.settle();
        }
    }

    fn text(node: Option<&Node>) -> Arc<str> {
        node.filter(|node| !node.is_empty())
            .and_then(Node::text)
            .cloned()
            .unwrap_or_default()
    }

    /// Returns the kind.
    pub(super) fn kind(&self) -> Arc<str> {
        self.root
            .get("kind")
            .and_then(Node::text)
            .cloned()
            .unwrap_or_default()
    }

    /// Returns the API version.
    pub(super) fn api_version(&self) -> Arc<str> {
        self.root
            .get("apiVersion")
            .and_then(Node::text)
            .cloned()
            .unwrap_or_default()
    }

    fn metadata(&self, key: &str) -> Option<&Node> {
        self.root.get("metadata")?.get(key)
    }

    /// Returns the name.
    pub(super) fn name(&self) -> Arc<str> {
        Self::text(self.metadata("name"))
    }

    /// Returns the namespace as written.
    pub(super) fn namespace(&self) -> Arc<str> {
        Self::text(self.metadata("namespace"))
    }

    /// Returns who the object is now.
    pub(super) fn id(&self, schema: &Schema) -> Id {
        let api_version = self.api_version();
        let kind = self.kind();
        let (group, version) = split(&api_version);
        Id {
            is_cluster: schema.is_cluster(&api_version, &kind),
            group,
            version,
            kind,
            name: self.name(),
            namespace: self.namespace(),
        }
    }

    /// Returns who the object was, oldest first.
    pub(super) fn former_ids(&self) -> impl Iterator<Item = Id> + '_ {
        let (group, version) = split(&self.api_version());
        self.former.iter().map(move |former| Id {
            group: Arc::clone(&group),
            version: Arc::clone(&version),
            kind: Arc::clone(&former.kind),
            name: Arc::clone(&former.name),
            namespace: Arc::clone(&former.namespace),
            is_cluster: false,
        })
    }

    /// Returns who the object was at first.
    pub(super) fn first_id(&self, schema: &Schema) -> Id {
        self.former_ids().next().unwrap_or_else(|| self.id(schema))
    }

    /// Tells whether the object has or had an id that matches.
    pub(super) fn any_id(&self, schema: &Schema, matches: impl Fn(&Id) -> bool) -> bool {
        self.former_ids().any(|id| matches(&id)) || matches(&self.id(schema))
    }

    /// Notes the present id as a former one.
    pub(super) fn remember_id(&mut self, schema: &Schema) {
        let id = self.id(schema);
        self.former.push(Former {
            namespace: id.effective_namespace().into(),
            name: id.name,
            kind: id.kind,
        });
    }

    /// Sets `metadata.name`.
    pub(super) fn set_name(&mut self, name: &str, mark: Option<&Mark>) {
        if let Some(metadata) = self.root.map_at("metadata") {
            metadata.set("name", Scalar::untyped(name), mark);
        }
    }

    /// Sets `metadata.namespace`, or takes it out.
    pub(super) fn set_namespace(&mut self, namespace: &str, mark: Option<&Mark>) {
        if namespace.is_empty() {
            if let Some(metadata) = self.root.get_mut("metadata") {
                metadata.remove("namespace");
            }
        } else if let Some(metadata) = self.root.map_at("metadata") {
            metadata.set("namespace", Scalar::untyped(namespace), mark);
        }
    }

    /// Returns `metadata.labels` or `metadata.annotations` as kustomize sees them: the text of every scalar.
    pub(super) fn texts(&self, field: &str) -> Vec<(Arc<str>, Arc<str>)> {
        let entries = self.metadata(field).map(Node::entries).unwrap_or_default();
        entries
            .iter()
            .map(|(key, node)| (Arc::clone(key), node.text().cloned().unwrap_or_default()))
            .collect()
    }

    /// Writes `metadata.labels` or `metadata.annotations` anew: only texts, an empty map not at all.
    pub(super) fn normalize_texts(&mut self, field: &str) {
        let Some(metadata) = self.root.map_at("metadata") else {
            return;
        };
        let Some(old) = metadata.remove(field) else {
            return;
        };
        let mut map = Node::map();
        map.mark.clone_from(&old.mark);
        for (key, node) in old.entries() {
            let mut text = Node::string(node.text().cloned().unwrap_or_default());
            text.mark.clone_from(&node.mark);
            map.put(key, text);
        }
        if !map.is_empty() {
            metadata.put(field, map);
        }
    }

    /// Tells whether kustomize would carry notes in the annotations by now.
    pub(super) fn has_notes(&self) -> bool {
        !self.former.is_empty()
            || !self.prefixes.is_empty()
            || !self.suffixes.is_empty()
            || self.needs_hash
            || self.behavior != Behavior::Unspecified
    }
}

fn split(api_version: &Arc<str>) -> (Arc<str>, Arc<str>) {
    match api_version.split_once('/') {
        Some((group, version)) => (group.into(), version.into()),
        None => (Arc::default(), Arc::clone(api_version)),
    }
}
