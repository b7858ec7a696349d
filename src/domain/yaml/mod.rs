//! YAML that remembers its bytes.
//!
//! Manifests are read the way the Go tools read them, and every node knows the bytes and the line it came from, so
//! that a value can be traced to its place and edited there without touching anything else. Two dialects exist, since
//! two exist in the field ([`Dialect`]). Writing follows `kustomize build` byte for byte ([`emit`]).
//! granit-parser is wrapped here and named nowhere else.

pub mod route;

pub use route::{Route, RouteStep};

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
