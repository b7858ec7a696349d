//! Backfill: the smallest edit of the files that makes Git say what is live, proven by rendering again, or a refusal
//! with its reason.
//!
//! A [`Plan`] is a plain value: the very bytes of each touched file before and after, what was accepted from what to
//! what, what was refused and why, what else would change, and the proof. `world::git` commits it, nothing else.

mod change;
mod edited;
mod graft;
mod image;
mod message;
mod overlay;
mod plan;
mod proof;
mod refuse;
mod source;

use std::sync::Arc;

use serde_json::Value;

pub use message::{Hand, Message};
pub use plan::{App, Other, Render, plan};
pub use refuse::by_difference;

use super::object::{FieldPath, ObjectId, Origin};

/// What the engineer wants to accept.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// The object.
    pub object: ObjectId,
    /// The field.
    pub path: FieldPath,
    /// What Git says now; `None` where it has nothing.
    pub from: Option<Value>,
    /// What live says; `None` where it has nothing (the field is to be removed).
    pub to: Option<Value>,
    /// Where the desired value comes from.
    pub origin: Option<Arc<Origin>>,
}

/// One file, before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// Path from the repository's root.
    pub path: String,
    /// Its bytes in the commit that the plan starts from; empty for a new file.
    pub before: Vec<u8>,
    /// Its bytes afterwards.
    pub after: Vec<u8>,
}

/// One field that the plan accepts.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted {
    /// The wish it answers.
    pub wish: Wish,
    /// Where it is written, in words: `apps/prod/kustomization.yaml:14 images[0].newTag`.
    pub place: String,
}

/// One field that the plan refuses.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// The wish.
    pub wish: Wish,
    /// Why, in one sentence.
    pub reason: String,
    /// The next step.
    pub hint: String,
}

/// A field of this or another app that the edit would change besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlsoChanges {
    /// The app or kustomization, in words.
    pub app: String,
    /// The object.
    pub object: ObjectId,
    /// The field.
    pub path: FieldPath,
}

/// What rendering again over the edited tree showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Proof {
    /// Accepted fields that now equal live.
    pub agree: usize,
    /// Other fields that moved: more than 0 means the plan is not safe and is never committed.
    pub moved: usize,
}

/// The edit as a plain value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// The files it touches.
    pub files: Vec<FileEdit>,
    /// What it accepts.
    pub accepted: Vec<Accepted>,
    /// What it refuses.
    pub refused: Vec<Refused>,
    /// What would change elsewhere.
    pub also_changes: Vec<AlsoChanges>,
    /// The proof.
    pub proof: Proof,
    /// What the engineer should know besides: pods that roll because a ConfigMap's name follows its content.
    pub notes: Vec<String>,
}
