//! The fleet: every app of every context, kept current from batches of changes.
//!
//! Rows are indices: an app keeps its index for as long as it exists, so that a selection stays on its app while
//! others come and go. What is known only from before (its context or its kind cannot be watched now) never reads
//! calm: it is `unknown` with the fault as its cause, until the watch has recovered.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;
use jiff::Timestamp;

use super::app::{App, DriftSummary, Settings};
use super::query::{Query, SortKey};
use super::source::{FluxSource, SourceId, SourceObject};
use super::{AppKind, AppRef, AppState, Target};
use crate::domain::fault::{Fault, FaultKind};

/// The state of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ContextState {
    /// Not connected yet.
    Connecting,
    /// Connected, at least one kind of app can be watched or is known not to be installed.
    Ready,
    /// The server does not answer.
    Unreachable,
    /// The server does not know us.
    Unauthorized,
    /// The server knows us and lets us see nothing.
    Forbidden,
    /// Its kubeconfig is wrong.
    Misconfigured,
}

impl ContextState {
    /// Returns the word of screens and JSON documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Unreachable => "unreachable",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::Misconfigured => "misconfigured",
        }
    }

    /// Returns the state that a fault puts a context into.
    pub fn of(fault: &Fault) -> Self {
        match fault.kind {
            FaultKind::Unauthorized => Self::Unauthorized,
            FaultKind::Forbidden => Self::Forbidden,
            FaultKind::Config | FaultKind::Usage | FaultKind::Unsupported | FaultKind::NotFound => {
                Self::Misconfigured
            }
            _ => Self::Unreachable,
        }
    }
}

/// What is known about one kind of app in one context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KindState {
    /// Not listed yet.
    Waiting,
    /// Listed and watched.
    Listed,
    /// Listed and watched, but only in the namespaces where that is allowed.
    Partial {
        /// Those namespaces.
        namespaces: Vec<String>,
        /// What was refused for all of them.
        fault: Fault,
    },
    /// Not installed there: quiet.
    Absent,
    /// Cannot be listed or watched now; what is shown is from before.
    Degraded(Fault),
}

/// One context as the fleet sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetContext {
    /// Its exact name.
    pub name: Arc<str>,
    /// Its state.
    pub state: ContextState,
    /// Why, where it is not ready.
    pub fault: Option<Fault>,
    /// Each kind of app.
    pub kinds: BTreeMap<AppKind, KindState>,
    /// How many apps it has.
    pub apps: usize,
}

impl FleetContext {
    fn new(name: &Arc<str>) -> Self {
        Self {
            name: Arc::clone(name),
            state: ContextState::Connecting,
            fault: None,
            kinds: AppKind::ALL.map(|kind| (kind, KindState::Waiting)).into(),
            apps: 0,
        }
    }

    /// Tells whether everything that the context can show has been shown: no kind is waited for.
    pub fn settled(&self) -> bool {
        match self.state {
            ContextState::Connecting => false,
            ContextState::Ready => !self.kinds.values().any(|k| *k == KindState::Waiting),
            _ => true,
        }
    }

    /// Returns what a person should know about it: its own fault, else the first of its kinds'.
    pub fn cause(&self) -> Option<&Fault> {
        self.fault.as_ref().or_else(|| {
            self.kinds.values().find_map(|kind| match kind {
                KindState::Degraded(fault) | KindState::Partial { fault, .. } => Some(fault),
                _ => None,
            })
        })
    }

    /// Notes how a kind is; a context in which no installed kind may be read at all is `forbidden`.
    fn set_kind(&mut self, kind: AppKind, state: KindState) {
        self.kinds.insert(kind, state);
        let mut installed = self
            .kinds
            .values()
            .filter(|k| !matches!(k, KindState::Absent))
            .peekable();
        let refused = installed.peek().is_some()
            && installed.all(
                |k| matches!(k, KindState::Degraded(fault) if fault.kind == FaultKind::Forbidden),
            );
        match (self.state, refused) {
            (ContextState::Ready, true) => self.state = ContextState::Forbidden,
            (ContextState::Forbidden, false) if self.fault.is_none() => {
                self.state = ContextState::Ready;
            }
            _ => {}
        }
    }
}

/// What happened to the fleet.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A context's own state.
    Context {
        /// Which.
        context: Arc<str>,
        /// Its state now.
        state: ContextState,
        /// Why, where it is not ready.
        fault: Option<Fault>,
    },
    /// The complete list of one kind: what is not in it is gone.
    Reset {
        /// Where.
        context: Arc<str>,
        /// Which kind.
        kind: AppKind,
        /// The one namespace that the list is about; all of them where `None`.
        namespace: Option<String>,
        /// The apps.
        apps: Vec<App>,
    },
    /// One app came or changed.
    Upsert(Box<App>),
    /// One app went.
    Remove(AppRef),
    /// A kind may only be listed in some namespaces.
    Partial {
        /// Where.
        context: Arc<str>,
        /// Which kind.
        kind: AppKind,
        /// Those namespaces.
        namespaces: Vec<String>,
        /// What was refused for all of them.
        fault: Fault,
    },
    /// A kind is not installed.
    Absent {
        /// Where.
        context: Arc<str>,
        /// Which kind.
        kind: AppKind,
    },
    /// A kind (or, with `None`, the whole context) cannot be watched now.
    Degraded {
        /// Where.
        context: Arc<str>,
        /// Which kind.
        kind: Option<AppKind>,
        /// Why.
        fault: Fault,
    },
    /// The watch works again.
    Recovered {
        /// Where.
        context: Arc<str>,
        /// Which kind.
        kind: Option<AppKind>,
    },
    /// The complete list of one kind of Flux source.
    Sources {
        /// Where.
        context: Arc<str>,
        /// Which kind.
        kind: FluxSource,
        /// The one namespace that the list is about; all of them where `None`.
        namespace: Option<String>,
        /// The sources.
        sources: Vec<SourceObject>,
    },
    /// One source came or changed.
    Source(Box<SourceObject>),
    /// One source went.
    SourceGone {
        /// Where.
        context: Arc<str>,
        /// Which.
        id: SourceId,
    },
}

/// What a batch of changes touched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delta {
    /// The apps that came, changed or went.
    pub apps: Vec<AppRef>,
    /// Whether a context changed.
    pub contexts: bool,
}

impl Delta {
    /// Tells whether nothing that is shown changed.
    pub fn is_empty(&self) -> bool {
        self.apps.is_empty() && !self.contexts
    }
}

/// Every app of every context.
#[derive(Debug, Default)]
pub struct Fleet {
    settings: Settings,
    apps: Vec<Option<App>>,
    free: Vec<usize>,
    index: HashMap<AppRef, usize>,
    contexts: IndexMap<Arc<str>, FleetContext>,
    sources: HashMap<(Arc<str>, SourceId), SourceObject>,
    listed: HashSet<(Arc<str>, FluxSource)>,
    users: HashMap<(Arc<str>, SourceId), HashSet<usize>>,
}

impl Fleet {
    /// Makes an empty fleet over `contexts`, all of them still connecting.
    pub fn new(settings: Settings, contexts: impl IntoIterator<Item = Arc<str>>) -> Self {
        Self {
            settings,
            contexts: contexts
                .into_iter()
                .map(|name| (Arc::clone(&name), FleetContext::new(&name)))
                .collect(),
            ..Self::default()
        }
    }

    /// Applies a batch of changes at `now`, in order.
    pub fn apply(&mut self, changes: Vec<Change>, now: Timestamp) -> Delta {
        let mut delta = Delta::default();
        for change in changes {
            self.take(change, now, &mut delta);
        }
        delta
    }

    fn take(&mut self, change: Change, now: Timestamp, delta: &mut Delta) {
        match change {
            Change::Context {
                context,
                state,
                fault,
            } => {
                let entry = self.context_mut(&context);
                (entry.state, entry.fault) = (state, fault);
                self.resettle(&context, None, now, delta);
            }
            Change::Reset {
                context,
                kind,
                namespace,
                apps,
            } => {
                let seen: HashSet<AppRef> = apps.iter().map(|a| a.app.clone()).collect();
                let gone: Vec<AppRef> = self
                    .iter()
                    .filter(|a| {
                        a.app.context == context
                            && a.app.target.kind == kind
                            && namespace
                                .as_ref()
                                .is_none_or(|n| *n == a.app.target.namespace)
                            && !seen.contains(&a.app)
                    })
                    .map(|a| a.app.clone())
                    .collect();
                for app in gone {
                    self.remove(&app, delta);
                }
                let entry = self.context_mut(&context);
                let partial = matches!(entry.kinds.get(&kind), Some(KindState::Partial { .. }));
                if !(partial && namespace.is_some()) {
                    entry.set_kind(kind, KindState::Listed);
                }
                delta.contexts = true;
                for app in apps {
                    self.upsert(app, now, delta);
                }
                self.resettle(&context, Some(kind), now, delta);
            }
            Change::Upsert(app) => self.upsert(*app, now, delta),
            Change::Remove(app) => self.remove(&app, delta),
            Change::Partial {
                context,
                kind,
                namespaces,
                fault,
            } => {
                let state = KindState::Partial { namespaces, fault };
                self.context_mut(&context).set_kind(kind, state);
                self.resettle(&context, Some(kind), now, delta);
            }
            Change::Absent { context, kind } => {
                self.take(
                    Change::Reset {
                        context: Arc::clone(&context),
                        kind,
                        namespace: None,
                        apps: vec![],
                    },
                    now,
                    delta,
                );
                self.context_mut(&context).set_kind(kind, KindState::Absent);
            }
            Change::Degraded {
                context,
                kind,
                fault,
            } => {
                let entry = self.context_mut(&context);
                match kind {
                    Some(kind) => entry.set_kind(kind, KindState::Degraded(fault)),
                    None => {
                        (entry.state, entry.fault) = (ContextState::of(&fault), Some(fault));
                    }
                }
                self.resettle(&context, kind, now, delta);
            }
            Change::Recovered { context, kind } => {
                let entry = self.context_mut(&context);
                if let Some(kind) = kind {
                    if matches!(entry.kinds.get(&kind), Some(KindState::Degraded(_))) {
                        entry.set_kind(kind, KindState::Listed);
                    }
                } else {
                    (entry.state, entry.fault) = (ContextState::Ready, None);
                }
                self.resettle(&context, kind, now, delta);
            }
            Change::Sources { .. } | Change::Source(_) | Change::SourceGone { .. } => {
                self.take_source(change, now, delta);
            }
        }
    }

    fn take_source(&mut self, change: Change, now: Timestamp, delta: &mut Delta) {
        match change {
            Change::Sources {
                context,
                kind,
                namespace,
                sources,
            } => {
                self.listed.insert((Arc::clone(&context), kind));
                self.sources.retain(|(c, id), _| {
                    !(*c == context
                        && id.kind == kind
                        && namespace.as_ref().is_none_or(|n| *n == id.namespace))
                });
                for source in sources {
                    self.sources
                        .insert((Arc::clone(&context), source.id.clone()), source);
                }
                let ids: Vec<SourceId> = self
                    .users
                    .keys()
                    .filter(|(c, _)| *c == context)
                    .map(|(_, id)| id.clone())
                    .collect();
                for id in ids {
                    self.rejoin(&context, &id, now, delta);
                }
            }
            Change::Source(source) => {
                let (context, id) = (Arc::clone(&source.context), source.id.clone());
                self.sources
                    .insert((Arc::clone(&context), id.clone()), *source);
                self.rejoin_with_charts(&context, &id, now, delta);
            }
            Change::SourceGone { context, id } => {
                self.sources.remove(&(Arc::clone(&context), id.clone()));
                self.rejoin_with_charts(&context, &id, now, delta);
            }
            _ => {}
        }
    }

    /// Folds the result of a comparison into an app; nothing happens where the app is gone.
    pub fn set_drift(&mut self, app: &AppRef, summary: DriftSummary, now: Timestamp) -> Delta {
        let mut delta = Delta::default();
        if let Some(&at) = self.index.get(app)
            && let Some(app) = self.apps[at].as_mut()
        {
            app.drift = Some(summary);
            self.settle(at, now, &mut delta, true);
        }
        delta
    }

    /// Lets time pass: failures that have lasted by `now` become `failed`.
    pub fn tick(&mut self, now: Timestamp) -> Delta {
        let mut delta = Delta::default();
        for at in 0..self.apps.len() {
            let due = self.apps[at]
                .as_ref()
                .and_then(|a| a.due(&self.settings))
                .is_some_and(|due| due <= now);
            if due {
                self.settle(at, now, &mut delta, false);
            }
        }
        delta
    }

    /// Returns when [`Fleet::tick`] may change something next.
    pub fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        self.iter()
            .filter_map(|a| a.due(&self.settings))
            .filter(|due| *due > now)
            .min()
    }

    /// Returns every app, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &App> {
        self.apps.iter().flatten()
    }

    /// Returns how many apps there are.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Tells whether there is no app.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Returns the app at a row's index.
    pub fn at(&self, index: usize) -> Option<&App> {
        self.apps.get(index)?.as_ref()
    }

    /// Returns the app of that identity.
    pub fn get(&self, app: &AppRef) -> Option<&App> {
        self.at(*self.index.get(app)?)
    }

    /// Returns the index of that app.
    pub fn index_of(&self, app: &AppRef) -> Option<usize> {
        self.index.get(app).copied()
    }

    /// Finds the app that a target of the command line names, in `context` or, where it is `None`, in the only
    /// context that has it.
    pub fn find(&self, target: &Target, context: Option<&str>) -> Result<&App, Fault> {
        let mut found: Vec<&App> = self
            .iter()
            .filter(|a| a.app.target == *target && context.is_none_or(|c| *c == *a.app.context))
            .collect();
        found.sort_by(|a, b| a.app.cmp(&b.app));
        match found.as_slice() {
            [one] => Ok(one),
            [] => {
                let blind: Vec<&str> = self
                    .contexts
                    .values()
                    .filter(|c| context.is_none_or(|name| *name == *c.name) && c.cause().is_some())
                    .map(|c| &*c.name)
                    .collect();
                let fault = Fault::new(FaultKind::NotFound, format!("there is no {target}"));
                Err(if blind.is_empty() {
                    fault.hint("`gitops-tui list` names every app")
                } else {
                    fault.hint(format!(
                        "these contexts could not be read: {}",
                        blind.join(", ")
                    ))
                })
            }
            several => {
                let names: Vec<&str> = several.iter().map(|a| &*a.app.context).collect();
                Err(
                    Fault::new(FaultKind::Usage, format!("several contexts have {target}"))
                        .hint(format!("name one with --context: {}", names.join(", "))),
                )
            }
        }
    }

    /// Returns the contexts in the order of the kubeconfig.
    pub fn contexts(&self) -> impl Iterator<Item = &FleetContext> {
        self.contexts.values()
    }

    /// Returns one context.
    pub fn context(&self, name: &str) -> Option<&FleetContext> {
        self.contexts.get(name)
    }

    /// Returns a source object.
    pub fn source(&self, context: &Arc<str>, id: &SourceId) -> Option<&SourceObject> {
        self.sources.get(&(Arc::clone(context), id.clone()))
    }

    /// Returns the indices of the apps that match `query`, sorted.
    pub fn rows(&self, query: &Query, sort: SortKey, now: Timestamp) -> Vec<usize> {
        let mut rows: Vec<(usize, &App)> = self
            .apps
            .iter()
            .enumerate()
            .filter_map(|(at, app)| Some((at, app.as_ref()?)))
            .filter(|(_, app)| query.matches(app, now))
            .collect();
        rows.sort_by(|(_, a), (_, b)| sort.compare(a, b));
        rows.into_iter().map(|(at, _)| at).collect()
    }

    /// Counts the apps of each state, most urgent first, states without apps left out.
    pub fn counts(&self) -> Vec<(AppState, usize)> {
        let mut counts = BTreeMap::new();
        for app in self.iter() {
            *counts.entry(app.state).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    fn context_mut(&mut self, name: &Arc<str>) -> &mut FleetContext {
        self.contexts
            .entry(Arc::clone(name))
            .or_insert_with(|| FleetContext::new(name))
    }

    fn upsert(&mut self, mut app: App, now: Timestamp, delta: &mut Delta) {
        let context = Arc::clone(&app.app.context);
        let key = app.source_ref.clone().map(|id| (Arc::clone(&context), id));
        let at = if let Some(&at) = self.index.get(&app.app) {
            if let Some(old) = self.apps[at].as_mut() {
                if let Some(old_id) = old
                    .source_ref
                    .clone()
                    .filter(|id| Some(id) != app.source_ref.as_ref())
                    && let Some(users) = self.users.get_mut(&(Arc::clone(&context), old_id))
                {
                    users.remove(&at);
                }
                app.inherit(old);
            }
            at
        } else {
            let at = self.free.pop().unwrap_or_else(|| {
                self.apps.push(None);
                self.apps.len() - 1
            });
            self.index.insert(app.app.clone(), at);
            self.context_mut(&context).apps += 1;
            delta.contexts = true;
            at
        };
        if let Some(key) = key {
            self.users.entry(key).or_default().insert(at);
        }
        self.join(&mut app);
        let changed = self.apps[at]
            .as_ref()
            .is_none_or(|old| !old.same_but_state(&app));
        self.apps[at] = Some(app);
        self.settle(at, now, delta, changed);
    }

    fn remove(&mut self, app: &AppRef, delta: &mut Delta) {
        let Some(at) = self.index.remove(app) else {
            return;
        };
        if let Some(gone) = self.apps[at].take()
            && let Some(id) = gone.source_ref
            && let Some(users) = self.users.get_mut(&(Arc::clone(&app.context), id))
        {
            users.remove(&at);
        }
        self.free.push(at);
        let context = self.context_mut(&app.context);
        context.apps = context.apps.saturating_sub(1);
        delta.contexts = true;
        delta.apps.push(app.clone());
    }

    /// Joins an app with its Flux source object.
    fn join(&self, app: &mut App) {
        let Some(id) = app.source_ref.clone() else {
            return;
        };
        let key = (Arc::clone(&app.app.context), id.clone());
        let listed = self
            .listed
            .contains(&(Arc::clone(&app.app.context), id.kind));
        let parent = |object: &SourceObject| {
            let parent = object.parent.clone()?;
            self.sources.get(&(Arc::clone(&app.app.context), parent))
        };
        let joined = self
            .sources
            .get(&key)
            .map(|object| (object, parent(object)));
        app.join(joined, listed);
    }

    fn rejoin_with_charts(
        &mut self,
        context: &Arc<str>,
        id: &SourceId,
        now: Timestamp,
        delta: &mut Delta,
    ) {
        let charts: Vec<SourceId> = self
            .sources
            .values()
            .filter(|s| s.context == *context && s.parent.as_ref() == Some(id))
            .map(|s| s.id.clone())
            .collect();
        for id in charts.iter().chain([id]) {
            self.rejoin(context, id, now, delta);
        }
    }

    fn rejoin(&mut self, context: &Arc<str>, id: &SourceId, now: Timestamp, delta: &mut Delta) {
        let users: Vec<usize> = self
            .users
            .get(&(Arc::clone(context), id.clone()))
            .map(|users| users.iter().copied().collect())
            .unwrap_or_default();
        for at in users {
            let Some(mut app) = self.apps[at].take() else {
                continue;
            };
            let before = app.clone();
            self.join(&mut app);
            let changed = !before.same_but_state(&app);
            self.apps[at] = Some(app);
            self.settle(at, now, delta, changed);
        }
    }

    fn resettle(
        &mut self,
        context: &Arc<str>,
        kind: Option<AppKind>,
        now: Timestamp,
        delta: &mut Delta,
    ) {
        delta.contexts = true;
        for at in 0..self.apps.len() {
            let touched = self.apps[at].as_ref().is_some_and(|a| {
                a.app.context == *context && kind.is_none_or(|k| k == a.app.target.kind)
            });
            if touched {
                self.settle(at, now, delta, false);
            }
        }
    }

    /// Settles one app and notes it in `delta` when its state (or, with `changed`, anything else) moved.
    fn settle(&mut self, at: usize, now: Timestamp, delta: &mut Delta, changed: bool) {
        let Some(app) = self.apps[at].as_mut() else {
            return;
        };
        let before = (app.state, app.cause.clone(), app.since);
        app.settle(now, &self.settings);
        let stale = self.contexts.get(&app.app.context).and_then(|context| {
            let kind = match context.kinds.get(&app.app.target.kind) {
                Some(KindState::Degraded(fault)) => Some(fault),
                _ => None,
            };
            context.fault.as_ref().or(kind)
        });
        if let Some(fault) = stale
            && app.state > AppState::Unknown
        {
            let was = app.state.word();
            app.state = AppState::Unknown;
            app.cause = Some(format!("{}; it was {was} before", fault.sentence));
            app.since = None;
        }
        if changed || before != (app.state, app.cause.clone(), app.since) {
            delta.apps.push(app.app.clone());
        }
    }
}
