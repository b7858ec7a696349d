//! Where in Git a rendered field came from, and the step that wrote it last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::ObjectId;
use crate::domain::yaml::Route;

/// Whose file an origin's file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Home {
    /// A file of the app's repository; the path counts from its root.
    Repository,
    /// A file of another repository or a URL (remote base).
    Remote,
    /// The app's own object in the cluster (a Flux Kustomization's `spec.patches`, an Application's
    /// `kustomize.images`): its home in Git is wherever that object is declared.
    AppSpec,
    /// Another object in the cluster that the app reads (a ConfigMap or Secret of `substituteFrom`); the file is its
    /// `Kind/namespace/name`.
    Cluster,
    /// No home: hashes, tracking labels, owner labels, defaults.
    Derived,
}

/// The step that wrote a field last.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// A resource file.
    Resource,
    /// A strategic-merge patch.
    Patch,
    /// A JSON 6902 patch; the number of its operation.
    Json6902(usize),
    /// An `images` entry.
    Image,
    /// A `replicas` entry.
    Replicas,
    /// `labels`, `commonLabels`.
    Label,
    /// `commonAnnotations`.
    Annotation,
    /// `namespace`, `targetNamespace`.
    Namespace,
    /// `namePrefix`, `nameSuffix`.
    Name,
    /// A generator's literal, file or env line.
    Generator,
    /// A `replacements` entry or a `vars` reference.
    Replacement,
    /// A name that follows a renamed object.
    Reference,
    /// Flux `postBuild`: the variable's name.
    Substitution(String),
    /// Flux `commonMetadata`.
    CommonMetadata,
    /// Owner labels, tracking ids, Helm's own labels.
    Tracking,
    /// A Helm template.
    Helm,
}

impl Step {
    /// Returns the word that JSON documents and screens carry.
    pub fn word(&self) -> String {
        match self {
            Self::Resource => "resource".into(),
            Self::Patch => "patch".into(),
            Self::Json6902(op) => format!("json6902[{op}]"),
            Self::Image => "images".into(),
            Self::Replicas => "replicas".into(),
            Self::Label => "labels".into(),
            Self::Annotation => "annotations".into(),
            Self::Namespace => "namespace".into(),
            Self::Name => "name".into(),
            Self::Generator => "generator".into(),
            Self::Replacement => "replacement".into(),
            Self::Reference => "reference".into(),
            Self::Substitution(variable) => format!("substitute ${{{variable}}}"),
            Self::CommonMetadata => "commonMetadata".into(),
            Self::Tracking => "tracking".into(),
            Self::Helm => "helm".into(),
        }
    }
}

/// The literal that produced a field: file, document, line and route; and what it wrote over.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Whose file.
    pub home: Home,
    /// Path from the repository's root (or a URL; `spec` for the app's own object, whose routes start at `spec`).
    pub file: Arc<str>,
    /// 0-based document in the file's stream.
    pub document: usize,
    /// 1-based line of the value in the file; inline patches count in the file that holds them. 0 where there is no
    /// file to count in.
    pub line: usize,
    /// The way to the value inside that document. For an inline patch (text inside a block scalar) it ends at the
    /// scalar that holds the text and [`Origin::inner`] goes on from there.
    pub route: Route,
    /// The way inside the inline text, where the value stands in one.
    pub inner: Option<Route>,
    /// What wrote it.
    pub step: Step,
    /// What was there before this step wrote over it.
    pub before: Option<Arc<Self>>,
}

/// The origins of one object's fields, by their way in the rendered object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origins(pub BTreeMap<Route, Arc<Origin>>);

impl Origins {
    /// Returns the origin of exactly this node.
    pub fn of(&self, route: &Route) -> Option<&Arc<Origin>> {
        self.0.get(route)
    }

    /// Returns the origin of this node or of its nearest ancestor that has one.
    pub fn nearest(&self, route: &Route) -> Option<&Arc<Origin>> {
        let mut at = route.clone();
        loop {
            if let Some(origin) = self.0.get(&at) {
                return Some(origin);
            }
            at = at.split_last()?.0;
        }
    }
}

/// One object as Git says it, after all rendering, every field with its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Desired {
    /// Who it is.
    pub id: ObjectId,
    /// The rendered object.
    pub value: Value,
    /// Where its fields came from.
    pub origins: Origins,
    /// Fields whose text holds a value of a Secret (by Flux's substitution): never to be shown.
    pub secret_routes: BTreeSet<Route>,
}

impl Desired {
    /// Makes an object that holds no value of a Secret but its own; `None` where it has no kind or name.
    pub fn new(value: Value, origins: Origins) -> Option<Self> {
        Some(Self {
            id: ObjectId::of(&value)?,
            value,
            origins,
            secret_routes: BTreeSet::new(),
        })
    }

    /// Tells whether the field at `route`, or one below it, holds a value of a Secret.
    pub fn holds_secret(&self, route: &Route) -> bool {
        self.secret_routes
            .iter()
            .any(|secret| secret.0.starts_with(&route.0))
    }
}
