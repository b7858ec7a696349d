//! All apps of all contexts: Flux and Argo CD objects turned into one kind of value, urgent first.
//!
//! This file holds the words that everything else uses (kinds, names, states); [`App`] is one app read from its
//! object, [`Fleet`] keeps them all, [`Query`] and [`SortKey`] choose rows. Comparing is done elsewhere and folded in
//! by [`Fleet::set_drift`].

mod app;
mod argo;
mod flux;
pub mod hold;
mod inventory;
mod json;
mod query;
mod source;
mod state;
mod store;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::fault::{Fault, FaultKind};

pub use app::{
    App, Condition, DriftSummary, Hold, HoldKind, LastHand, Operation, Parent, Policy, Settings,
};
pub use argo::SKIP_RECONCILE;
pub use inventory::Managed;
pub use query::{Query, SortKey};
pub use source::{
    CredentialHint, FluxSource, Reference, Source, SourceId, SourceKind, SourceObject, commit_of,
    same_revision,
};
pub use store::{Change, ContextState, Delta, Fleet, FleetContext, KindState};

/// The kind of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AppKind {
    /// A Flux Kustomization.
    Kustomization,
    /// A Flux HelmRelease.
    HelmRelease,
    /// An Argo CD Application.
    Application,
}

impl AppKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Kustomization, Self::HelmRelease, Self::Application];

    /// Returns the short word of the command line and of JSON documents: `ks`, `hr`, `app`.
    pub fn short(self) -> &'static str {
        match self {
            Self::Kustomization => "ks",
            Self::HelmRelease => "hr",
            Self::Application => "app",
        }
    }

    /// Returns the API group that serves it.
    pub fn group(self) -> &'static str {
        match self {
            Self::Kustomization => "kustomize.toolkit.fluxcd.io",
            Self::HelmRelease => "helm.toolkit.fluxcd.io",
            Self::Application => "argoproj.io",
        }
    }

    /// Returns the Kubernetes kind.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Kustomization => "Kustomization",
            Self::HelmRelease => "HelmRelease",
            Self::Application => "Application",
        }
    }
}

/// An app's name within a context, as the command line takes it: `ks/flux-system/apps`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// Its kind.
    pub kind: AppKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.kind.short(), self.namespace, self.name)
    }
}

impl FromStr for Target {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let wrong = || {
            Fault::new(FaultKind::Usage, format!("`{text}` names no app"))
                .hint("write ks/NAMESPACE/NAME, hr/NAMESPACE/NAME or app/NAMESPACE/NAME")
        };
        let mut parts = text.split('/');
        let (Some(kind), Some(namespace), Some(name), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong());
        };
        let kind = match kind.to_ascii_lowercase().as_str() {
            "ks" | "kustomization" => AppKind::Kustomization,
            "hr" | "helmrelease" => AppKind::HelmRelease,
            "app" | "application" => AppKind::Application,
            _ => return Err(wrong()),
        };
        if namespace.is_empty() || name.is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            kind,
            namespace: namespace.into(),
            name: name.into(),
        })
    }
}

/// An app's identity in the fleet: its context by exact name, and its target there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AppRef {
    /// The kubeconfig context's exact name (it may hold `/`, `:`, `@`, spaces).
    pub context: Arc<str>,
    /// The app within it.
    pub target: Target,
}

/// Prints `prod-eu: ks/flux-system/apps`.
impl fmt::Display for AppRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.context, self.target)
    }
}

/// The state of an app, most urgent first: the order of the list is the order of this enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AppState {
    /// A failing condition that has lasted.
    Failed,
    /// Live was edited.
    Drifted,
    /// Git moved, not yet applied.
    GitAhead,
    /// Drifted and Git ahead.
    Both,
    /// Cannot tell; the cause says why.
    Unknown,
    /// Under way, or failing for less than the grace time.
    Progressing,
    /// Suspended, or automated sync taken off.
    Held,
    /// Drift that is allowed until a time.
    Excepted,
    /// Live has more than Git, nothing that Git sets differs.
    AdditionsOnly,
    /// Git and live agree, and this was compared.
    InSync,
}

impl AppState {
    /// All states, most urgent first.
    pub const ALL: [Self; 10] = [
        Self::Failed,
        Self::Drifted,
        Self::GitAhead,
        Self::Both,
        Self::Unknown,
        Self::Progressing,
        Self::Held,
        Self::Excepted,
        Self::AdditionsOnly,
        Self::InSync,
    ];

    /// Returns the word of screens and JSON documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Drifted => "drifted",
            Self::GitAhead => "git-ahead",
            Self::Both => "both",
            Self::Unknown => "unknown",
            Self::Progressing => "progressing",
            Self::Held => "held",
            Self::Excepted => "excepted",
            Self::AdditionsOnly => "additions-only",
            Self::InSync => "in-sync",
        }
    }

    /// Returns the sign that stands before the word, so that colour is never needed.
    pub fn sign(self) -> char {
        match self {
            Self::Failed => '!',
            Self::Drifted => '~',
            Self::GitAhead => '>',
            Self::Both => '%',
            Self::Unknown => '?',
            Self::Progressing => '…',
            Self::Held => 'H',
            Self::Excepted => 'E',
            Self::AdditionsOnly => '+',
            Self::InSync => '=',
        }
    }
}
