//! A kustomize-compatible engine (5.8.1) that keeps the origin of every field.
//!
//! [`build`] renders a folder as `kustomize build` does, byte for byte, except that a broken part becomes a problem
//! instead of ending the build. [`load()`] hands out the words of a kustomization file ([`Kustomization`]), so that the
//! layers above can add their own entries and hand the file back. One file holds one transformer; all of them work on
//! the same tree ([`Node`]), whose nodes know where they came from.

mod accumulate;
mod config;
mod crds;
mod decode;
mod field;
mod generators;
mod hash;
mod images;
mod json6902;
mod labels;
mod load;
mod metadata;
pub mod model;
mod names;
mod namespace;
mod node;
mod order;
mod patch_merge;
mod patches;
mod place;
mod references;
mod replacements;
mod replicas;
mod resource;
mod schema;
mod selector;
mod vars;

pub use decode::Refusal;
pub use load::{Cache, load, parse};
pub use model::Kustomization;
pub use node::Node;
pub use place::{Place, Placed};

use crate::domain::fault::Fault;
use crate::domain::object::{Desired, ObjectId};

/// Which files a kustomization may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadRestriction {
    /// Files below the folder of the kustomization that names them (kustomize's and Argo CD's default).
    #[default]
    Root,
    /// Files of the artifact, which is the tree (Flux).
    Artifact,
    /// Any file of the tree (`--load-restrictor LoadRestrictionsNone`).
    None,
}

/// In which order the objects are printed, where the file has no `sortOptions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// By kind (`kustomize build`, Argo CD).
    #[default]
    Legacy,
    /// As they were read (Flux).
    Fifo,
}

/// How to build.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Which files may be read.
    pub restriction: LoadRestriction,
    /// In which order the objects come out.
    pub order: Order,
    /// Whether an `openapi.path` adds to the built-in schema (Flux) instead of standing in for it.
    pub openapi_adds: bool,
    /// The version that `buildMetadata: [managedByLabel]` names: that of the program which builds, `v5.8.1` where empty.
    pub program_version: &'static str,
}

/// What a build gave.
#[derive(Debug, Default)]
pub struct Built {
    /// The objects in output order.
    pub objects: Vec<Object>,
    /// What could not be rendered.
    pub problems: Vec<Fault>,
    /// What is odd but faithful.
    pub warnings: Vec<Fault>,
    /// Every file and folder that was read, sorted.
    pub inputs: Vec<String>,
}

/// A rendered object.
#[derive(Debug)]
pub struct Object {
    /// The object as it is printed.
    pub value: serde_json::Value,
    root: Node,
}

impl Object {
    /// Writes out every origin; `None` where the object has no kind or no name.
    pub fn desired(self) -> Option<Desired> {
        Some(Desired {
            id: ObjectId::of(&self.value)?,
            origins: self.root.origins(),
            secret_routes: std::collections::BTreeSet::default(),
            value: self.value,
        })
    }
}

/// Prints objects as `kustomize build` does.
pub fn text<'v>(values: impl IntoIterator<Item = &'v serde_json::Value>) -> String {
    let texts: Vec<String> = values.into_iter().map(crate::domain::yaml::emit).collect();
    texts.join("---\n")
}

/// Renders the folder `dir`. `top` stands in for that folder's own kustomization file, where a layer has added to it.
pub fn build(
    tree: &dyn super::Tree,
    dir: &str,
    top: Option<Kustomization>,
    options: &Options,
    cache: &Cache,
) -> Built {
    accumulate::run(tree, dir, top, options, cache)
}
