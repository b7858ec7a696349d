//! The screens: what each remembers about where the engineer is. What they show is in the fleet and the comparisons.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::action::On;
use super::list::List;
use crate::domain::diff::{Aligned, Shown};
use crate::domain::drift::ObjectState;
use crate::domain::fleet::{AppRef, Query, SortKey};
use crate::domain::object::{FieldPath, ObjectId};

/// A full view.
#[derive(Debug, Clone, PartialEq)]
pub enum Screen {
    /// The list of apps.
    Fleet(FleetScreen),
    /// One app.
    App(AppScreen),
    /// Git and live side by side.
    Diff(Box<DiffScreen>),
    /// Every drifted field of the fleet.
    Drift(DriftScreen),
    /// The contexts.
    Contexts(List),
    /// What was done from here.
    Journal(List),
}

impl Screen {
    /// Returns its bit in the action table.
    pub fn on(&self) -> On {
        match self {
            Self::Fleet(_) => On::FLEET,
            Self::App(_) => On::APP,
            Self::Diff(_) => On::DIFF,
            Self::Drift(_) => On::DRIFT,
            Self::Contexts(_) => On::CONTEXTS,
            Self::Journal(_) => On::JOURNAL,
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fleet(_) => "fleet",
            Self::App(_) => "app",
            Self::Diff(_) => "diff",
            Self::Drift(_) => "drift",
            Self::Contexts(_) => "contexts",
            Self::Journal(_) => "journal",
        }
    }
}

/// The list of apps.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FleetScreen {
    /// The rows: indices into the fleet.
    pub rows: Vec<usize>,
    /// Where the cursor is.
    pub list: List,
    /// The app under the cursor, so that the cursor stays on it while others come and go; `None` while the cursor
    /// was never moved, and then stays on top.
    pub on: Option<AppRef>,
    /// The filter as typed.
    pub filter: String,
    /// The filter as read.
    pub query: Query,
    /// The order.
    pub sort: SortKey,
    /// The marked apps.
    pub marked: BTreeSet<AppRef>,
}

/// One object of an app, as its screen lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectRow {
    /// Who it is.
    pub id: ObjectId,
    /// Its state by our comparison; `None` where there is none yet.
    pub state: Option<ObjectState>,
    /// The fields that drifted (or are held).
    pub drifted: usize,
    /// The fields that only live has and that stay.
    pub residual: usize,
    /// The fields that are hidden.
    pub hidden: usize,
    /// What else is known: a cause, Argo CD's own words, a person's hand.
    pub words: String,
    /// Its place in the comparison.
    pub index: Option<usize>,
}

/// One app.
#[derive(Debug, Clone, PartialEq)]
pub struct AppScreen {
    /// Which.
    pub app: AppRef,
    /// Its objects.
    pub rows: Vec<ObjectRow>,
    /// Where the cursor is: objects first, problems after them.
    pub list: List,
    /// The marked objects.
    pub marked: BTreeSet<ObjectId>,
}

/// How the diff is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum View {
    /// Git left, live right.
    SideBySide,
    /// One column.
    Unified,
    /// The differing fields as a table.
    Fields,
}

impl View {
    /// Returns its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::SideBySide => "side by side",
            Self::Unified => "unified",
            Self::Fields => "fields",
        }
    }
}

/// One line of the unified view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnifiedLine {
    /// Unchanged, or a fold.
    Shown(Shown),
    /// A row's Git side.
    Minus(usize),
    /// A row's live side.
    Plus(usize),
}

impl UnifiedLine {
    /// Returns the row that it belongs to.
    pub fn row(self) -> usize {
        match self {
            Self::Shown(shown) => shown.row(),
            Self::Minus(row) | Self::Plus(row) => row,
        }
    }
}

/// Git and live side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct DiffScreen {
    /// Of which app.
    pub app: AppRef,
    /// The object, by its place in the comparison.
    pub object: usize,
    /// Who that is: it stays on it when the app is compared again.
    pub id: ObjectId,
    /// How it is drawn.
    pub view: View,
    /// Unchanged lines around a change.
    pub context: usize,
    /// Whether what is ignored, noise or foreign is shown.
    pub noise: bool,
    /// Whether the blame column is shown.
    pub blame: bool,
    /// The two texts.
    pub aligned: Arc<Aligned>,
    /// What is shown of them.
    pub shown: Vec<Shown>,
    /// The same, for the unified view.
    pub unified: Vec<UnifiedLine>,
    /// For each row, the difference that it shows: its place in the object's fields.
    pub fields: Vec<Option<usize>>,
    /// For each row, whether it differs without being a difference that is shown: a default, noise.
    pub quiet: Vec<bool>,
    /// The rows at which the changes begin that are shown, top to bottom.
    pub stops: Vec<usize>,
    /// The fields that the field view lists.
    pub listed: Vec<usize>,
    /// Where the cursor is, in what the view shows.
    pub list: List,
    /// Cells scrolled to the right.
    pub column: usize,
    /// The marked fields, by object.
    pub marked: BTreeMap<ObjectId, BTreeSet<FieldPath>>,
    /// What was searched for last.
    pub search: String,
}

/// A drifted field somewhere in the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftRow {
    /// The app.
    pub app: AppRef,
    /// The object's place in the comparison.
    pub object: usize,
    /// The field's place in the object; `None` where the whole object is missing or extra.
    pub field: Option<usize>,
}

/// Every drifted field of the fleet.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DriftScreen {
    /// The rows.
    pub rows: Vec<DriftRow>,
    /// Where the cursor is.
    pub list: List,
}
