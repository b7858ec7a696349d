//! Acts on the cluster as plain values: a [`Plan`] is shown, tested, then executed by `world::cluster`.

use serde_json::Value;

use super::fleet::AppRef;

/// What an act is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// Let the controller apply Git now.
    Sync,
    /// Let the controller look again.
    Refresh,
    /// Take the app out of the controller's hands.
    Hold,
    /// Give it back as it was found.
    Resume,
    /// Put live fields or objects back to Git.
    Revert,
}

/// How a write is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// A JSON merge patch.
    Merge(Value),
    /// A JSON patch (RFC 6902).
    Json(Value),
    /// A server-side apply of `body` as `manager`.
    Apply {
        /// The object with the fields to apply.
        body: Value,
        /// The field manager.
        manager: String,
        /// Takes fields from other managers.
        force: bool,
    },
    /// A create of the whole object as `manager`.
    Create {
        /// The object.
        body: Value,
        /// The field manager.
        manager: String,
    },
}

/// One write to one object.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// In words, as the dialog shows it: `annotate GitRepository/flux-system/fleet requestedAt`.
    pub words: String,
    /// apiVersion of the object to write.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// What is sent.
    pub write: Write,
}

/// A write as a plain value: shown in full, then executed step by step; the first refused step ends it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// On which app.
    pub app: AppRef,
    /// What it is called.
    pub verb: Verb,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// What the engineer should know first (a window that blocks, an owner that undoes it).
    pub warnings: Vec<String>,
    /// Whether it deletes, prunes, forces or overwrites: the default button is then *Cancel*.
    pub destructive: bool,
}
