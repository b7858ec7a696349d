//! The two lists by which a reader learns the program: what happens ([`Message`]) and what is asked for ([`Effect`]).
//!
//! Background work carries a [`Ticket`]: its slot and its generation. The newest ticket of a slot wins; an answer with
//! an older one is dropped.

use jiff::Timestamp;

use super::key::Key;
use crate::domain::backfill::{self, Wish};
use crate::domain::drift::AppDrift;
use crate::domain::fault::Fault;
use crate::domain::fleet::{AppRef, Change};
use crate::domain::object::ObjectId;
use crate::domain::operate::{self, Chosen, HoldNote, SyncOptions, Verb};

/// What a piece of background work is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// The comparison of an app.
    Compare(AppRef),
    /// The plan of an act that will be shown.
    Plan,
    /// The run of an act.
    Act(AppRef),
    /// The plan of a backfill that will be shown.
    Accept,
    /// The commit of a backfill.
    Commit,
}

/// The name that background work answers with.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket {
    /// What it is about.
    pub slot: Slot,
    /// Which try; the newest wins.
    pub generation: u64,
}

/// What the engineer asks of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Let the controller apply Git now.
    Sync(SyncOptions),
    /// Let the controller look again.
    Refresh {
        /// Forget what was rendered.
        hard: bool,
    },
    /// Take the app out of its controller's hands.
    Hold(HoldNote),
    /// Give it back.
    Resume,
    /// Put live back to Git.
    Revert(Vec<(ObjectId, Chosen)>),
    /// Apply an entry of Argo CD's history.
    Rollback {
        /// The entry.
        history_id: i64,
        /// Delete what it does not have.
        prune: bool,
    },
    /// Stop the running operation.
    Terminate,
}

impl Act {
    /// Returns what it is called.
    pub fn verb(&self) -> Verb {
        match self {
            Self::Sync(_) => Verb::Sync,
            Self::Refresh { .. } => Verb::Refresh,
            Self::Hold(_) => Verb::Hold,
            Self::Resume => Verb::Resume,
            Self::Revert(_) => Verb::Revert,
            Self::Rollback { .. } => Verb::Rollback,
            Self::Terminate => Verb::Terminate,
        }
    }
}

/// A backfill's plan with what the commit would be called.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The plan.
    pub plan: backfill::Plan,
    /// The branch it would go to.
    pub branch: String,
    /// The commit's message.
    pub message: String,
    /// The repository, as a person knows it.
    pub repository: String,
}

/// What a commit came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The branch.
    pub branch: String,
    /// The commit's id.
    pub commit: String,
    /// Where it was pushed to, if it was.
    pub pushed: Option<String>,
    /// The next step: the address at which a pull request is opened, or the command that pushes.
    pub next: Option<String>,
}

/// One thing that was done, as the journal keeps it; never a field's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalLine {
    /// When, RFC 3339.
    pub time: String,
    /// The context; empty for what touched Git only.
    pub context: String,
    /// The app.
    pub app: String,
    /// What was asked for.
    pub verb: String,
    /// `done`, or the fault's kind.
    pub result: String,
    /// In words.
    pub words: String,
}

/// How loud a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tone {
    /// Something was done.
    Good,
    /// Something to know.
    Plain,
    /// Something went wrong.
    Bad,
}

/// A mouse event, in cells from the top left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mouse {
    /// The left button went down.
    Click {
        /// 0-based column.
        column: u16,
        /// 0-based row.
        row: u16,
    },
    /// The wheel turned: negative is up.
    Wheel(i32),
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// The mouse.
    Mouse(Mouse),
    /// The terminal has this size now.
    Resize {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// The time is this.
    Tick(Timestamp),
    /// The fleet changed.
    Fleet(Vec<Change>),
    /// An app was compared.
    Drift {
        /// Its name.
        ticket: Ticket,
        /// The answer.
        result: Result<Box<AppDrift>, Fault>,
    },
    /// An act was planned.
    Planned {
        /// Its name.
        ticket: Ticket,
        /// The answer.
        result: Result<operate::Plan, Fault>,
    },
    /// An act that was asked for goes on.
    Progress {
        /// Its name.
        ticket: Ticket,
        /// In words.
        words: String,
    },
    /// An act ended.
    Done {
        /// Its name.
        ticket: Ticket,
        /// In words, what it came to.
        result: Result<String, Fault>,
    },
    /// A backfill was planned.
    Proposed {
        /// Its name.
        ticket: Ticket,
        /// The answer.
        result: Result<Box<Proposal>, Fault>,
    },
    /// A backfill was committed.
    Committed {
        /// Its name.
        ticket: Ticket,
        /// The answer.
        result: Result<Committed, Fault>,
    },
    /// The journal as it stands on disk, newest last.
    Journal(Vec<JournalLine>),
    /// Something to tell.
    Notice {
        /// How loud.
        tone: Tone,
        /// One sentence.
        text: String,
    },
    /// The system asks the program to end.
    Stop,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Compare an app; answered by [`Message::Drift`].
    Compare {
        /// The name to answer with.
        ticket: Ticket,
        /// Which app.
        app: AppRef,
        /// Whether somebody waits for it (else it may queue).
        urgent: bool,
    },
    /// Plan an act; answered by [`Message::Planned`].
    PlanAct {
        /// The name to answer with.
        ticket: Ticket,
        /// On which app.
        app: AppRef,
        /// What.
        act: Act,
    },
    /// Execute a confirmed plan; answered by [`Message::Done`].
    Execute {
        /// The name to answer with.
        ticket: Ticket,
        /// The plan that was shown.
        plan: Box<operate::Plan>,
    },
    /// Plan a backfill; answered by [`Message::Proposed`].
    PlanAccept {
        /// The name to answer with.
        ticket: Ticket,
        /// For which app.
        app: AppRef,
        /// Which fields.
        wishes: Vec<Wish>,
    },
    /// Commit a confirmed backfill; answered by [`Message::Committed`].
    Commit {
        /// The name to answer with.
        ticket: Ticket,
        /// For which app.
        app: AppRef,
        /// What was shown.
        proposal: Box<Proposal>,
        /// Whether to push the branch.
        push: bool,
    },
    /// Connect again to what cannot be reached, and list anew.
    Reconnect,
    /// Read the journal; answered by [`Message::Journal`].
    ReadJournal,
    /// Append to the journal.
    Record(JournalLine),
    /// Put text on the clipboard: the true value, not what stands for it on the screen.
    Copy(String),
    /// Show text in `$PAGER` or `$EDITOR`.
    Page(String),
    /// Stop the program as Ctrl-Z does, until it is continued.
    Suspend,
    /// Draw the whole screen anew.
    Redraw,
    /// End.
    Quit,
}
