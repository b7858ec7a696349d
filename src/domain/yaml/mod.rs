//! YAML that remembers its bytes.
//!
//! Manifests are read the way the Go tools read them ([`parse()`]), and every node knows the bytes and the line it came
//! from, so that a value can be traced to its place and edited there without touching anything else. Two dialects
//! exist, since two exist in the field ([`Dialect`]). Writing follows `kustomize build` byte for byte ([`emit()`]).
//! granit-parser is wrapped in `parse` and named nowhere else.

pub mod edit;
mod emit;
mod float;
mod folded;
mod json;
mod merge;
mod node;
mod order;
mod parse;
mod resolve;
pub mod route;
mod source;
mod timestamp;

use std::fmt;

pub use emit::emit;
pub use json::{float_text, scalar_json};
pub use node::{Document, Duplicate, Entry, Kind, Node, Style};
pub use parse::parse;
pub use resolve::{Resolved, resolve};
pub use route::{Route, RouteStep};

/// How deep values may nest once aliases are expanded.
const DEPTH: usize = 400;

/// Whose rules turn a plain scalar into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// kustomize's resources, patches and generators (go-yaml v3): `yes` and `on` are strings, dates become
    /// RFC 3339 strings, a duplicate key is an error.
    Kustomize,
    /// kubectl, Argo CD directories, Helm output, kustomization files, Flux after substitution (sigs.k8s.io/yaml,
    /// go-yaml v2): `yes` is `true`, dates stay strings, the last duplicate key wins.
    Kubectl,
}

/// What a file holds: its documents, and what could not be read.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    /// The documents that could be read, in file order; their `index` counts the broken and the empty ones too.
    pub documents: Vec<Document>,
    /// What could not be read, or what the Go tools refuse although YAML allows it (those documents are kept all the
    /// same), in file order: not empty means that the Go tools refuse the whole file.
    pub problems: Vec<Problem>,
}

impl Stream {
    /// Returns the document with this 0-based number in the file; `None` where it is broken or does not exist.
    pub fn document(&self, index: usize) -> Option<&Document> {
        self.documents
            .iter()
            .find(|document| document.index == index)
    }
}

/// Why a part of a file is no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// 1-based line.
    pub line: usize,
    /// 1-based column, in characters.
    pub column: usize,
    /// One sentence without the place.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}, column {}: {}",
            self.line, self.column, self.message
        )
    }
}

impl std::error::Error for Problem {}
