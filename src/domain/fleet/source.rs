//! Where an app's manifests come from: a Git repository, an OCI artifact, a bucket or a chart, at a wanted revision.
//!
//! Flux keeps this in an object of its own ([`SourceObject`]), which the fleet joins to the apps that name it; Argo CD
//! keeps it in the Application. What the revision strings say is read here and nowhere else.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::app::{Condition, conditions};
use super::json;

/// What kind of place a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SourceKind {
    /// A Git repository.
    Git,
    /// An OCI artifact.
    Oci,
    /// A bucket.
    Bucket,
    /// A Helm repository or chart.
    Helm,
    /// An artifact of a third party.
    External,
    /// Not known (yet): the source object was not seen.
    Unknown,
}

impl SourceKind {
    /// Returns the word of screens and JSON documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Git => "git",
            Self::Oci => "oci",
            Self::Bucket => "bucket",
            Self::Helm => "helm",
            Self::External => "external",
            Self::Unknown => "unknown",
        }
    }
}

/// The kinds of source objects that Flux has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FluxSource {
    /// GitRepository.
    GitRepository,
    /// OCIRepository.
    OciRepository,
    /// Bucket.
    Bucket,
    /// HelmRepository.
    HelmRepository,
    /// HelmChart.
    HelmChart,
    /// ExternalArtifact.
    ExternalArtifact,
}

impl FluxSource {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::GitRepository,
        Self::OciRepository,
        Self::Bucket,
        Self::HelmRepository,
        Self::HelmChart,
        Self::ExternalArtifact,
    ];

    /// The API group that serves them.
    pub const GROUP: &'static str = "source.toolkit.fluxcd.io";

    /// Returns the Kubernetes kind.
    pub fn kind(self) -> &'static str {
        match self {
            Self::GitRepository => "GitRepository",
            Self::OciRepository => "OCIRepository",
            Self::Bucket => "Bucket",
            Self::HelmRepository => "HelmRepository",
            Self::HelmChart => "HelmChart",
            Self::ExternalArtifact => "ExternalArtifact",
        }
    }

    /// Returns the kind of that name.
    pub fn of(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.kind() == kind)
    }

    fn place(self) -> SourceKind {
        match self {
            Self::GitRepository => SourceKind::Git,
            Self::OciRepository => SourceKind::Oci,
            Self::Bucket => SourceKind::Bucket,
            Self::HelmRepository | Self::HelmChart => SourceKind::Helm,
            Self::ExternalArtifact => SourceKind::External,
        }
    }
}

/// A Flux source object's identity within a context.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId {
    /// Its kind.
    pub kind: FluxSource,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Prints `GitRepository/flux-system/fleet`.
impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.kind.kind(), self.namespace, self.name)
    }
}

/// What a Git source asks for; the first that is set counts, in the order of the fields (Flux's order).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Reference {
    /// A full commit.
    pub commit: Option<String>,
    /// A full reference: `refs/heads/main`.
    pub name: Option<String>,
    /// A semver range over tags.
    pub semver: Option<String>,
    /// A tag.
    pub tag: Option<String>,
    /// A branch.
    pub branch: Option<String>,
    /// Argo CD's `targetRevision`: a branch, tag, commit, `HEAD` or range; which one only the repository tells.
    pub any: Option<String>,
}

/// Prints what is asked for: `main`, `v1.2`, `HEAD`.
impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = [
            &self.commit,
            &self.name,
            &self.semver,
            &self.tag,
            &self.branch,
            &self.any,
        ]
        .into_iter()
        .find_map(Option::as_deref);
        f.write_str(first.unwrap_or("HEAD"))
    }
}

/// Where the cluster keeps the credentials of a source; the values themselves are never read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct CredentialHint {
    /// Namespace and name of the Secret.
    pub secret: Option<(String, String)>,
    /// `generic`, `azure`, `github` …
    pub provider: Option<String>,
}

/// Where manifests come from, as one app sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Source {
    /// What kind of place.
    pub kind: SourceKind,
    /// The Flux source object.
    pub object: Option<SourceId>,
    /// The repository's URL; empty where the source object was not seen.
    pub url: String,
    /// The folder, from the repository's root, without leading `./` or `/`; empty for the root.
    pub path: String,
    /// What is asked for.
    pub reference: Reference,
    /// The chart's name.
    pub chart: Option<String>,
    /// Argo CD's `ref` name (`$values/…`).
    pub ref_name: Option<String>,
    /// The revision that the controller applied last, as it writes it (`main@sha1:…`).
    pub applied: Option<String>,
    /// The revision at the tip, as the controller last saw it.
    pub wanted: Option<String>,
    /// Where the credentials are.
    pub credentials: CredentialHint,
    /// Why the source cannot be fetched now, where it cannot.
    pub fault: Option<String>,
    /// Whether the source itself is suspended.
    pub suspended: bool,
}

impl Source {
    /// Makes a source of `kind` at `url` with nothing else known.
    pub fn new(kind: SourceKind, url: impl Into<String>) -> Self {
        Self {
            kind,
            object: None,
            url: url.into(),
            path: String::new(),
            reference: Reference::default(),
            chart: None,
            ref_name: None,
            applied: None,
            wanted: None,
            credentials: CredentialHint::default(),
            fault: None,
            suspended: false,
        }
    }

    /// Returns the Git commit that was applied last.
    pub fn applied_commit(&self) -> Option<&str> {
        commit_of(self.applied.as_deref()?)
    }

    /// Returns the Git commit at the tip as the controller saw it.
    pub fn wanted_commit(&self) -> Option<&str> {
        commit_of(self.wanted.as_deref()?)
    }

    /// Tells whether the tip is another revision than the applied one; `None` where one of them is not known.
    pub fn ahead(&self) -> Option<bool> {
        Some(!same_revision(
            self.applied.as_deref()?,
            self.wanted.as_deref()?,
        ))
    }
}

/// Returns the digest part of a revision: what stands after the last `@` (or after the last `/` in the old form
/// `main/<sha>`), without `sha1:` or `sha256:`.
fn digest_of(revision: &str) -> &str {
    let last = revision.rsplit_once('@').map_or(revision, |(_, last)| last);
    if let Some((algorithm, digest)) = last.split_once(':')
        && matches!(algorithm, "sha1" | "sha256" | "sha384" | "sha512")
    {
        return digest;
    }
    match last.rsplit_once('/') {
        Some((_, tail)) if is_commit(tail) => tail,
        _ => last,
    }
}

fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Returns the Git commit within a revision as Flux or Argo CD writes it; `None` where it names none (an OCI or bucket
/// digest, a chart version).
pub fn commit_of(revision: &str) -> Option<&str> {
    Some(digest_of(revision)).filter(|digest| is_commit(digest))
}

/// Tells whether two revisions name the same content, whatever they call it: `main@sha1:X`, `v1@sha1:X`, `main/X`.
pub fn same_revision(one: &str, other: &str) -> bool {
    digest_of(one) == digest_of(other)
}

/// Returns a path as it counts from the repository's root: no leading `./` or `/`, no `.`; `..` above the root is cut.
pub(super) fn from_root(path: &str) -> String {
    let mut parts: Vec<&str> = vec![];
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// One Flux source object, read.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceObject {
    /// Its context.
    pub context: Arc<str>,
    /// Who it is.
    pub id: SourceId,
    /// What API version served it.
    pub api_version: String,
    /// What kind of place it names.
    pub kind: SourceKind,
    /// The URL (a HelmChart has none: see `parent`).
    pub url: String,
    /// What is asked for.
    pub reference: Reference,
    /// The chart's name (HelmChart).
    pub chart: Option<String>,
    /// The source behind a HelmChart.
    pub parent: Option<SourceId>,
    /// The revision of the artifact in storage.
    pub revision: Option<String>,
    /// The Git commit that an OCI artifact says it was made from.
    pub origin_revision: Option<String>,
    /// The repository that an OCI artifact says it was made from.
    pub origin_url: Option<String>,
    /// Where the credentials are.
    pub credentials: CredentialHint,
    /// Its conditions.
    pub conditions: Vec<Condition>,
    /// Whether it is suspended.
    pub suspended: bool,
    /// The object as served, without `managedFields`.
    pub raw: Arc<Value>,
}

impl SourceObject {
    /// Reads a source object; `None` where it has no name, or no namespace.
    pub fn read(context: &Arc<str>, kind: FluxSource, object: &Value) -> Option<Self> {
        let namespace = json::owned(object, "/metadata/namespace")?;
        let url = match kind {
            FluxSource::Bucket => match (
                json::text(object, "/spec/endpoint"),
                json::text(object, "/spec/bucketName"),
            ) {
                (Some(endpoint), Some(bucket)) => format!("{endpoint}/{bucket}"),
                _ => String::new(),
            },
            _ => json::owned(object, "/spec/url").unwrap_or_default(),
        };
        let place = match kind {
            FluxSource::HelmRepository if url.starts_with("oci://") => SourceKind::Helm,
            kind => kind.place(),
        };
        Some(Self {
            context: Arc::clone(context),
            api_version: json::owned(object, "/apiVersion").unwrap_or_default(),
            kind: place,
            reference: reference(kind, object),
            chart: json::owned(object, "/spec/chart"),
            parent: parent(kind, object, &namespace),
            revision: json::owned(object, "/status/artifact/revision"),
            origin_revision: metadata(object, "org.opencontainers.image.revision"),
            origin_url: metadata(object, "org.opencontainers.image.source"),
            credentials: CredentialHint {
                secret: json::owned(object, "/spec/secretRef/name")
                    .map(|name| (namespace.clone(), name)),
                provider: json::owned(object, "/spec/provider"),
            },
            conditions: conditions(object),
            suspended: json::flag(object, "/spec/suspend"),
            raw: Arc::new(super::app::without_managed_fields(object)),
            id: SourceId {
                kind,
                namespace,
                name: json::owned(object, "/metadata/name")?,
            },
            url,
        })
    }

    /// Returns why the source cannot be fetched, where its Ready condition says so.
    pub fn fault(&self) -> Option<&str> {
        self.conditions
            .iter()
            .find(|c| c.kind == "Ready" && c.status == "False")
            .map(|c| c.message.as_str())
    }
}

fn reference(kind: FluxSource, object: &Value) -> Reference {
    let get = |pointer: &str| json::owned(object, pointer);
    let mut found = Reference {
        commit: get("/spec/ref/commit"),
        name: get("/spec/ref/name"),
        semver: get("/spec/ref/semver"),
        tag: get("/spec/ref/tag"),
        branch: get("/spec/ref/branch"),
        any: get("/spec/ref/digest").or_else(|| get("/spec/version")),
    };
    if kind == FluxSource::GitRepository && found == Reference::default() {
        found.branch = Some("master".to_owned());
    }
    found
}

fn parent(kind: FluxSource, object: &Value, namespace: &str) -> Option<SourceId> {
    if kind != FluxSource::HelmChart {
        return None;
    }
    Some(SourceId {
        kind: FluxSource::of(json::text(object, "/spec/sourceRef/kind")?)?,
        namespace: namespace.to_owned(),
        name: json::owned(object, "/spec/sourceRef/name")?,
    })
}

fn metadata(object: &Value, key: &str) -> Option<String> {
    object
        .pointer("/status/artifact/metadata")?
        .get(key)?
        .as_str()
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SHA: &str = "45691eba687d2430ce14000b902016de2d2ce9a4";

    #[test]
    fn finds_the_commit_in_every_form_of_a_revision() {
        for revision in [
            format!("main@sha1:{SHA}"),
            format!("feature/x@sha1:{SHA}"),
            format!("refs/heads/main@sha1:{SHA}"),
            format!("sha1:{SHA}"),
            format!("main/{SHA}"),
            SHA.to_owned(),
        ] {
            assert_eq!(commit_of(&revision), Some(SHA), "{revision}");
            assert!(same_revision(&revision, SHA), "{revision}");
        }
        assert_eq!(commit_of("6.5.4"), None);
        assert_eq!(
            commit_of(&format!("latest@sha256:{}", "a".repeat(64))),
            None
        );
    }

    #[test]
    fn counts_paths_from_the_root() {
        let shown: Vec<_> = ["./apps//web/", "../../apps", "/", "", "a/./b"]
            .into_iter()
            .map(from_root)
            .collect();
        assert_eq!(shown, ["apps/web", "apps", "", "", "a/b"]);
    }

    #[test]
    fn reads_a_git_repository_and_why_it_cannot_be_fetched() {
        let object = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": "fleet", "namespace": "flux-system"},
            "spec": {"url": "ssh://git@git.example.test/fleet", "secretRef": {"name": "key"}},
            "status": {"artifact": {"revision": format!("master@sha1:{SHA}")},
                "conditions": [{"type": "Ready", "status": "False", "reason": "GitOperationFailed", "message": "no route"}]}
        });
        let read = SourceObject::read(&"prod".into(), FluxSource::GitRepository, &object).unwrap();
        assert_eq!(read.id.to_string(), "GitRepository/flux-system/fleet");
        assert_eq!(read.reference.to_string(), "master");
        assert_eq!(
            read.credentials.secret,
            Some(("flux-system".into(), "key".into()))
        );
        assert_eq!(read.fault(), Some("no route"));
    }
}
