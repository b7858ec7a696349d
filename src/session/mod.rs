//! The running program as a pure state machine: [`Session::update`] takes what happened ([`Message`]) and returns what
//! is asked for ([`Effect`]).
//!
//! Screens form a stack, sheets lie over them, and the top one takes the keys. Nothing here reads a clock, a file or a
//! terminal: the time is a message, so that a played session always gives the same screens. Drawing is `ui`'s, doing is
//! `runtime`'s. What every action is called stands in one table ([`action`]).

pub mod action;
mod browse;
mod diff;
mod jobs;
pub mod key;
pub mod keymap;
pub mod layout;
mod list;
mod message;
pub mod screen;
pub mod sheet;
mod sheets;
mod summary;
#[cfg(test)]
mod tests;
mod writes;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;

use self::action::{Action, Entry, On, Risk, TABLE};
use self::keymap::Keymap;
use self::layout::Layout;
use self::screen::{FleetScreen, Screen};
use self::sheet::Sheet;
use crate::domain::drift::AppDrift;
use crate::domain::fault::Fault;
use crate::domain::fleet::{App, AppRef, Fleet};
use crate::domain::operate;
use crate::domain::settings::matches;

pub use list::List;
pub use message::{
    Act, Committed, Effect, JournalLine, Message, Mouse, Proposal, Slot, Ticket, Tone,
};
pub use summary::summarise;

/// Seconds for which a notice stays on the screen.
const NOTICE: i64 = 8;

/// Notices that are kept.
const KEPT: usize = 200;

/// What the session is started with.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Patterns of contexts in which a write asks for the context's name.
    pub guard: Vec<String>,
    /// Whether every write is off.
    pub read_only: bool,
    /// The keys.
    pub keymap: Keymap,
    /// Seconds after which an app is compared again.
    pub recompare: i64,
    /// The time at the start.
    pub now: Timestamp,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            guard: vec!["*prod*".to_owned()],
            read_only: false,
            keymap: Keymap::default(),
            recompare: 120,
            now: Timestamp::UNIX_EPOCH,
        }
    }
}

/// Something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How loud.
    pub tone: Tone,
    /// One sentence.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

/// A comparison as the screens use it.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The answer.
    pub result: Result<Arc<AppDrift>, Fault>,
    /// When.
    pub at: Timestamp,
}

impl Compared {
    /// Returns the comparison, if it could be made.
    pub fn drift(&self) -> Option<&AppDrift> {
        self.result.as_deref().ok()
    }
}

/// Plans under way for one dialog.
#[derive(Debug, Clone, PartialEq)]
struct Planning {
    ticket: Ticket,
    /// The app that a backfill is for: the cursor may have moved on when its plan comes back.
    app: Option<AppRef>,
    waiting: usize,
    plans: Vec<operate::Plan>,
    faults: Vec<Fault>,
}

/// An act that was confirmed and has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// On which app.
    pub app: AppRef,
    /// What it is called.
    pub verb: operate::Verb,
    /// How far it is, in words.
    pub words: String,
}

/// The running program.
#[derive(Debug)]
pub struct Session {
    /// What it was started with; `read_only` may be turned on later.
    pub options: Options,
    /// The time, as the last message told it.
    pub now: Timestamp,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// Every app.
    pub fleet: Fleet,
    /// The screens, the root first; never empty.
    screens: Vec<Screen>,
    /// What lies over the top screen, the top last.
    pub sheets: Vec<Sheet>,
    /// The comparisons.
    pub compared: HashMap<AppRef, Compared>,
    /// What was told, newest last.
    pub notices: VecDeque<Notice>,
    /// What was done from here, newest last.
    pub journal: Vec<JournalLine>,
    /// The acts under way: each is kept until its own answer comes, also where a newer one was begun on the same app.
    pub running: BTreeMap<Ticket, Running>,
    /// The commits under way, which go on when their dialog is closed.
    commits: BTreeMap<Ticket, AppRef>,
    generation: u64,
    newest: HashMap<Slot, u64>,
    bases: HashMap<AppRef, u64>,
    planning: Option<Planning>,
    swept: Timestamp,
    effects: Vec<Effect>,
}

impl Session {
    /// Starts over `fleet`, on the fleet's screen.
    pub fn new(fleet: Fleet, options: Options) -> Self {
        let now = options.now;
        let mut session = Self {
            options,
            now,
            size: (80, 24),
            fleet,
            screens: vec![Screen::Fleet(FleetScreen::default())],
            sheets: vec![],
            compared: HashMap::new(),
            notices: VecDeque::new(),
            journal: vec![],
            running: BTreeMap::new(),
            commits: BTreeMap::new(),
            generation: 0,
            newest: HashMap::new(),
            bases: HashMap::new(),
            planning: None,
            swept: now,
            effects: vec![],
        };
        session.refresh();
        session
    }

    /// Takes what happened; returns what is asked for, in order.
    pub fn update(&mut self, message: Message) -> Vec<Effect> {
        match message {
            Message::Key(key) => self.key(key),
            Message::Paste(text) => self.paste(&text),
            Message::Mouse(mouse) => self.mouse(mouse),
            Message::Resize { width, height } => self.size = (width, height),
            Message::Tick(now) => self.tick(now),
            Message::Stop => self.effects.push(Effect::Quit),
            Message::Journal(lines) => self.journal = lines,
            Message::Notice { tone, text } => self.tell(tone, text),
            job => self.answer(job),
        }
        self.settle();
        std::mem::take(&mut self.effects)
    }

    /// Returns the screen on top.
    pub fn screen(&self) -> &Screen {
        // the stack is never empty: only `back` pops, and it leaves the root
        self.screens
            .last()
            .unwrap_or(const { &Screen::Journal(List { at: 0, top: 0 }) })
    }

    fn screen_mut(&mut self) -> Option<&mut Screen> {
        self.screens.last_mut()
    }

    /// Returns the names of the screens below and of the top one.
    pub fn trail(&self) -> impl Iterator<Item = &'static str> {
        self.screens.iter().map(Screen::name)
    }

    /// Returns the notice that is to be shown now.
    pub fn notice(&self) -> Option<&Notice> {
        self.notices
            .back()
            .filter(|n| self.now.as_second() - n.at.as_second() < NOTICE)
    }

    /// Tells whether the screen changes by itself in the next second: a notice that ends, a job that runs.
    pub fn is_moving(&self) -> bool {
        self.notice().is_some() || self.waiting().is_some()
    }

    /// Returns the newest act that is under way on an app.
    pub fn running_on(&self, app: &AppRef) -> Option<&Running> {
        let ours = self.running.iter().filter(|(_, act)| act.app == *app);
        ours.max_by_key(|(ticket, _)| ticket.generation)
            .map(|(_, act)| act)
    }

    /// Returns what is waited for, in words.
    pub fn waiting(&self) -> Option<String> {
        if let Some(planning) = &self.planning {
            return Some(match planning.ticket.slot {
                Slot::Accept => "planning the backfill".to_owned(),
                _ => "planning the act".to_owned(),
            });
        }
        let acts = self.running.values().map(|act| (&act.app, &*act.words));
        let commits = self.commits.values().map(|app| (app, "committing"));
        let (app, words) = acts.chain(commits).next()?;
        Some(match self.running.len() + self.commits.len() {
            1 => format!("{app}: {words}"),
            n => format!("{app}: {words} (and {} more)", n - 1),
        })
    }

    /// Returns the rows of the screen's parts.
    pub fn layout(&self) -> Layout {
        Layout::of(self.screen(), self.size.1)
    }

    /// Returns the app that the cursor is on.
    pub fn app_at(&self) -> Option<&AppRef> {
        match self.screen() {
            Screen::Fleet(fleet) => Some(&self.fleet.at(*fleet.rows.get(fleet.list.at)?)?.app),
            Screen::App(app) => Some(&app.app),
            Screen::Diff(diff) => Some(&diff.app),
            Screen::Drift(drift) => Some(&drift.rows.get(drift.list.at)?.app),
            Screen::Contexts(_) | Screen::Journal(_) => None,
        }
    }

    /// Returns the comparison of an app.
    pub fn drift_of(&self, app: &AppRef) -> Option<&AppDrift> {
        self.compared.get(app)?.drift()
    }

    /// Tells whether a write in this context asks for its name.
    pub fn is_guarded(&self, context: &str) -> bool {
        self.options.guard.iter().any(|p| matches(p, context))
    }

    /// Returns the lines of the action table that apply on this screen, with why they do not apply now.
    pub fn actions(&self) -> Vec<(&'static Entry, Option<String>)> {
        TABLE
            .iter()
            .filter(|entry| entry.on.meets(self.screen().on()))
            .map(|entry| (entry, self.why_not(entry.action)))
            .collect()
    }

    /// Returns why an action does not apply here and now; `None` where it does.
    pub fn why_not(&self, action: Action) -> Option<String> {
        let entry = action::entry_of(action);
        let on = self.screen().on();
        if !entry.on.meets(on) {
            return Some(format!(
                "it does not apply to the {} screen",
                self.screen().name()
            ));
        }
        if entry.risk != Risk::None && self.options.read_only {
            return Some("the program is read-only".to_owned());
        }
        if entry.on != On::ALL
            && entry.on.meets(On::APP)
            && entry.on.meets(On::DIFF)
            && self.app_at().is_none()
        {
            return Some("nothing is under the cursor".to_owned());
        }
        let app = self.app_at().and_then(|app| self.fleet.get(app));
        match action {
            Action::Terminate | Action::SyncPrune if app.is_some_and(is_flux) => {
                Some("only Argo CD can do that".to_owned())
            }
            Action::Accept | Action::Revert => self.why_no_wish(action),
            Action::Diff | Action::Open => self.why_not_open(),
            _ => None,
        }
    }

    fn tick(&mut self, now: Timestamp) {
        self.now = now;
        if !self.fleet.tick(now).is_empty() {
            self.refresh();
        }
        self.sweep();
    }

    /// Says something, and keeps it.
    fn tell(&mut self, tone: Tone, text: impl Into<String>) {
        if self.notices.len() == KEPT {
            self.notices.pop_front();
        }
        self.notices.push_back(Notice {
            tone,
            text: text.into(),
            at: self.now,
        });
    }

    fn tell_fault(&mut self, fault: &Fault) {
        let text = match &fault.hint {
            Some(hint) => format!("{fault}; {hint}"),
            None => fault.to_string(),
        };
        self.tell(Tone::Bad, text);
    }

    /// Names a piece of background work; older work in the same slot is no longer waited for.
    fn ticket(&mut self, slot: Slot) -> Ticket {
        self.generation += 1;
        self.newest.insert(slot.clone(), self.generation);
        Ticket {
            slot,
            generation: self.generation,
        }
    }

    /// Tells whether an answer is the one that is waited for.
    fn is_newest(&self, ticket: &Ticket) -> bool {
        self.newest.get(&ticket.slot) == Some(&ticket.generation)
    }
}

fn is_flux(app: &App) -> bool {
    app.app.target.kind != crate::domain::fleet::AppKind::Application
}
