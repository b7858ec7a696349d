//! Drift: what differs between Git and live, whose hand it was, and what the controller will do about it.
//!
//! The words of the answer are here; the folder's files compute it. Nothing is hidden without a trace: what is left
//! out is counted with its rule, and what could not be decided is `unknown` with its cause.

mod argo;
mod blame;
mod compare;
mod defaults;
mod follow;
mod foresee;
mod jq;
mod judge;
mod manager;
mod noise;
mod normal;
mod readable;
mod rules;
mod secret;
mod walk;
mod words;

use std::sync::Arc;

use serde_json::Value;

use super::fault::Fault;
use super::fleet::{AppRef, AppState};
use super::object::{FieldPath, ObjectId, Origin};

pub use compare::{Comparison, Engine, compare, offline};
pub use defaults::defaulted;
pub use manager::classify;
pub use words::{is_hidden, report};

/// How a field differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldStatus {
    /// Both sides have it, with other values.
    Changed,
    /// Live only.
    Extra,
    /// Git only.
    Missing,
    /// Live only, Git does not set it, owned by another controller: shown apart, not counted.
    ExtraForeign,
    /// The same meaning in another spelling.
    ChangedFormat,
    /// The same text in another type.
    ChangedType,
    /// The same items in another order.
    OrderOnly,
}

impl FieldStatus {
    /// Returns the word of screens and JSON documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Extra => "extra",
            Self::Missing => "missing",
            Self::ExtraForeign => "extra-foreign",
            Self::ChangedFormat => "changed-format",
            Self::ChangedType => "changed-type",
            Self::OrderOnly => "order-only",
        }
    }
}

/// What a difference means to the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// The controller's next pass would undo it.
    Drift,
    /// Drift that nothing will undo now (suspended, no self-heal, closed window …).
    Held,
    /// The controller leaves it alone.
    Residual,
    /// Left out by a named rule.
    Ignored,
    /// Server-set, defaulted or normalised: hidden by default.
    Noise,
    /// Could not be decided.
    Unknown,
}

impl Verdict {
    /// Returns the word of screens and JSON documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Drift => "drift",
            Self::Held => "held",
            Self::Residual => "residual",
            Self::Ignored => "ignored",
            Self::Noise => "noise",
            Self::Unknown => "unknown",
        }
    }
}

/// Whose hand a manager is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OwnerClass {
    /// kubectl, k9s, Lens, a browser, a script.
    Person,
    /// HPA, cert-manager, webhooks, cloud controllers …
    Automation,
    /// The GitOps controller itself, or its command line.
    Gitops,
    /// Not known.
    Unknown,
}

impl OwnerClass {
    /// Returns the word of screens and JSON documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Automation => "automation",
            Self::Gitops => "gitops",
            Self::Unknown => "unknown",
        }
    }
}

/// Who holds a live field, from managedFields.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The manager's name; `unknown` where nobody owns a removed field.
    pub manager: String,
    /// `Apply` or `Update`; `None` for unknown.
    pub operation: Option<String>,
    /// `scale`, `status` …
    pub subresource: Option<String>,
    /// The last change of any field of that entry: an upper bound (RFC 3339).
    pub time: Option<String>,
    /// Whose hand.
    pub class: OwnerClass,
}

/// One difference.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldDrift {
    /// Where.
    pub path: FieldPath,
    /// How it differs.
    pub status: FieldStatus,
    /// What it means.
    pub verdict: Verdict,
    /// What Git says; `None` where Git does not have it. Never a secret value: see [`FieldDrift::masked`].
    pub git: Option<Value>,
    /// What live says; `None` where live does not have it. Never a secret value.
    pub live: Option<Value>,
    /// Whether the values are masks.
    pub masked: bool,
    /// All who hold it, last writer first.
    pub owners: Vec<Owner>,
    /// Where in Git it comes from.
    pub origin: Option<Arc<Origin>>,
    /// The rule that ignores it, or the reason why it is held, noise or unknown.
    pub rule: Option<String>,
    /// What a person should know besides ("HPA checkout scales this").
    pub note: Option<String>,
}

/// The state of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectState {
    /// A field drifted.
    Drifted,
    /// Git has it, live does not.
    Missing,
    /// The app's inventory holds it, Git no longer renders it: to be pruned.
    Extra,
    /// Could not be compared.
    Unknown,
    /// Left out by a rule.
    Ignored,
    /// Agrees.
    InSync,
}

impl ObjectState {
    /// Returns the word of screens and JSON documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Drifted => "drifted",
            Self::Missing => "missing",
            Self::Extra => "extra",
            Self::Unknown => "unknown",
            Self::Ignored => "ignored",
            Self::InSync => "in-sync",
        }
    }
}

/// One object compared.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectDrift {
    /// Who it is.
    pub id: ObjectId,
    /// Its state.
    pub state: ObjectState,
    /// Why, where the state needs a reason.
    pub cause: Option<String>,
    /// Every difference, hidden ones (ignored, noise, foreign) included, in path order.
    pub fields: Vec<FieldDrift>,
    /// The two sides for the diff screen, normalised for reading (server-set metadata left out) and masked.
    pub sides: Sides,
}

/// Git's and live's object as a person reads them, masked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sides {
    /// What Git says.
    pub git: Option<Value>,
    /// What live says where a difference is shown; Git's words everywhere else.
    pub live: Option<Value>,
    /// All that live says, defaults and the machinery's fields included, where that is more.
    pub live_full: Option<Value>,
}

impl Sides {
    /// Returns live's side: as it is read, or all of it.
    pub fn live(&self, full: bool) -> Option<&Value> {
        self.live_full
            .as_ref()
            .filter(|_| full)
            .or(self.live.as_ref())
    }
}

/// What was left out, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hidden {
    /// By a rule.
    pub ignored: usize,
    /// Defaults, server-set fields.
    pub noise: usize,
    /// Live only, of another controller.
    pub foreign: usize,
}

/// One app compared.
#[derive(Debug, Clone, PartialEq)]
pub struct AppDrift {
    /// Which app; `None` offline.
    pub app: Option<AppRef>,
    /// The state that follows from the comparison.
    pub state: AppState,
    /// Why, where the state needs a reason.
    pub cause: Option<String>,
    /// The objects, urgent first.
    pub objects: Vec<ObjectDrift>,
    /// What was left out.
    pub hidden: Hidden,
    /// What could not be rendered or read.
    pub problems: Vec<Fault>,
}
