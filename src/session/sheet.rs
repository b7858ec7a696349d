//! What lies over a screen: dialogs, palette, prompts, help. The top one takes the keys.

use super::action::Action;
use super::message::{Proposal, Ticket};
use crate::domain::fault::Fault;
use crate::domain::fleet::AppRef;
use crate::domain::operate;

/// A sheet.
#[derive(Debug, Clone, PartialEq)]
pub enum Sheet {
    /// Plans, shown in full, to be confirmed.
    Confirm(Confirm),
    /// A backfill, shown in full, to be committed.
    Accept(Review),
    /// A line to type.
    Prompt(Prompt),
    /// Actions by name.
    Palette(Palette),
    /// Every key.
    Help(Scroll),
    /// Every action that applies here, and why others do not.
    Menu(Palette),
    /// A text to read.
    Text(Scroll),
    /// Whether to quit.
    Quit,
}

/// Plans to be confirmed.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirm {
    /// The plans, one for each app.
    pub plans: Vec<operate::Plan>,
    /// Why some marked apps have no plan.
    pub faults: Vec<Fault>,
    /// The context's name that must be typed first, where a guard asks for it.
    pub guard: Option<String>,
    /// What was typed so far.
    pub typed: String,
    /// Whether the act's button has the focus (else *Cancel*).
    pub act: bool,
    /// Lines scrolled.
    pub scroll: usize,
}

impl Confirm {
    /// Makes the dialog; *Cancel* is the default where anything is deleted or overwritten.
    pub fn new(plans: Vec<operate::Plan>, faults: Vec<Fault>, guard: Option<String>) -> Self {
        let act = !plans.iter().any(|plan| plan.destructive) && !plans.is_empty();
        Self {
            plans,
            faults,
            guard,
            typed: String::new(),
            act,
            scroll: 0,
        }
    }

    /// Tells whether the guard's name was typed.
    pub fn allowed(&self) -> bool {
        self.guard.as_ref().is_none_or(|name| *name == self.typed)
    }
}

/// The buttons of a backfill's review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Button {
    /// Do nothing.
    Cancel,
    /// Commit to the branch.
    Commit,
    /// Commit and push.
    Push,
}

/// A backfill to be committed.
#[derive(Debug, Clone, PartialEq)]
pub struct Review {
    /// For which app.
    pub app: AppRef,
    /// The plan, its branch and message.
    pub proposal: Box<Proposal>,
    /// The button that has the focus.
    pub button: Button,
    /// Lines scrolled.
    pub scroll: usize,
    /// The commit under way.
    pub running: Option<Ticket>,
}

impl Review {
    /// Returns why the plan cannot be committed, if it cannot.
    pub fn why_not(&self) -> Option<String> {
        let plan = &self.proposal.plan;
        if plan.accepted.is_empty() || plan.files.is_empty() {
            return Some("nothing is left to commit: every field was refused".to_owned());
        }
        if plan.proof.moved > 0 {
            return Some(format!(
                "rendering again shows {} other field(s) that would move, so the plan is not safe",
                plan.proof.moved
            ));
        }
        None
    }
}

/// What a line is typed for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// The fleet's filter.
    Filter,
    /// A word to look for.
    Search,
    /// Why the apps are held.
    HoldReason(Vec<AppRef>),
    /// The branch of the backfill below.
    Branch,
}

/// A line to type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What for.
    pub purpose: Purpose,
    /// What was typed.
    pub text: String,
    /// What is wrong with it.
    pub wrong: Option<String>,
    /// What it was before, for Escape.
    pub before: String,
}

/// A list of actions to choose from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Palette {
    /// What was typed.
    pub text: String,
    /// The actions that match, each with the reason why it does not apply here.
    pub items: Vec<(Action, Option<String>)>,
    /// The chosen one.
    pub at: usize,
}

/// A text to read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scroll {
    /// What it is.
    pub title: String,
    /// Its lines, as they are (not yet made safe for the terminal).
    pub lines: Vec<String>,
    /// The first line in view.
    pub top: usize,
}
