//! Desired state: what the controllers would make of a tree of files, every field with its origin.
//!
//! Rendering never fails as a whole: it returns objects *and* problems, so that one bad overlay does not blind the
//! on-call, and an app with a problem is never `in-sync`. Nothing here reads a disk or a repository: a [`Tree`] does.

pub mod argo;
pub mod flux;
pub mod kustomize;
mod metadata;
mod paths;
mod place;
mod run;

use serde_json::Value;

use super::fault::Fault;
use super::object::Desired;

pub use run::render;

/// What an entry of a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link.
    Link,
    /// A submodule.
    Submodule,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name, without a path.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

/// A tree of files to render from: a Git tree, a folder on disk, an edited copy in memory. The only trait between the
/// domain and the world.
///
/// Paths count from the root, `/`-separated, without a leading `/`, already normalised (no `.` or `..`); the root is
/// `""`. Links inside the tree are followed by [`Tree::read`] and [`Tree::list`] as far as they stay inside; a link
/// that leaves the tree is an error.
pub trait Tree: Send + Sync {
    /// Returns the file's bytes; `Ok(None)` where nothing (or a folder) is at `path`.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Fault>;

    /// Returns the folder's entries sorted by name; `Ok(None)` where no folder is at `path`.
    fn list(&self, path: &str) -> Result<Option<Vec<Entry>>, Fault>;

    /// Returns where a path really lies after following links (for load restrictions); `None` where nothing is there.
    fn real_path(&self, path: &str) -> Result<Option<String>, Fault>;
}

/// By whose rules to render.
#[derive(Debug, Clone)]
pub enum Profile {
    /// `kustomize build PATH` (legacy order, files inside the root only).
    Kustomize,
    /// As Flux's kustomize-controller does: `app` is the Kustomization object, `objects` the ConfigMaps and Secrets
    /// that `substituteFrom` reads, `source` the GitRepository where it matters (ignore rules, includes).
    Flux {
        /// The Flux Kustomization.
        app: Value,
        /// ConfigMaps and Secrets for `substituteFrom`.
        objects: Vec<Value>,
        /// The source object, where it is known.
        source: Option<Value>,
    },
    /// As Argo CD's repo server does: `app` is the Application, `source` the index of the source to render (0 for
    /// `spec.source`), `settings` the `argocd-cm` data where it may be read.
    Argo {
        /// The Application.
        app: Value,
        /// Which of its sources.
        source: usize,
        /// `argocd-cm`.
        settings: Option<Value>,
    },
}

/// What to render.
#[derive(Debug, Clone)]
pub struct Request {
    /// By whose rules.
    pub profile: Profile,
    /// The folder, from the tree's root. Not read for Flux and Argo CD: the app names its folder itself, from the root of
    /// its repository, which the tree is.
    pub path: String,
}

/// What came out.
#[derive(Debug, Clone, Default)]
pub struct Rendered {
    /// The objects in output order, as they are applied (owner labels or tracking included for Flux and Argo).
    pub objects: Vec<Desired>,
    /// The very bytes that `kustomize build` prints, or that Flux hashes into `status.history[].digest`; `None` where
    /// a problem makes them worthless.
    pub text: Option<String>,
    /// What could not be rendered: not empty means the app is at best `unknown`.
    pub problems: Vec<Fault>,
    /// What is odd but faithful (lost directives, deprecated fields).
    pub warnings: Vec<Fault>,
    /// Every file and folder that was read, sorted: what this rendering depends on.
    pub inputs: Vec<String>,
}
