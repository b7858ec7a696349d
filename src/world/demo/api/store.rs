//! What the server holds: objects by kind, namespace and name, one version counter, and a log of changes for watches.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::broadcast;

use super::kinds::Kind;

/// How many changes a watch may start behind; older starts get a 410 and list again.
const LOG: usize = 2_000;

/// Which object: its plural and group, its namespace (empty for cluster-scoped ones), its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) group: &'static str,
    pub(super) plural: &'static str,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Key {
    pub(super) fn new(kind: &Kind, namespace: Option<&str>, name: &str) -> Self {
        Self {
            group: kind.group,
            plural: kind.plural,
            namespace: namespace.unwrap_or_default().to_owned(),
            name: name.to_owned(),
        }
    }
}

/// One change of one object; `None` on a side means that it did not exist there.
#[derive(Debug, Clone)]
pub(in crate::world::demo) struct Change {
    /// The version after the change.
    pub version: u64,
    /// The object's kind.
    pub kind: &'static Kind,
    /// The object before.
    pub before: Option<Arc<Value>>,
    /// The object after; for a deletion `None`, and [`Change::before`] carries the last version.
    pub after: Option<Arc<Value>>,
}

/// The objects and the log.
#[derive(Debug)]
pub(super) struct State {
    pub(super) version: u64,
    pub(super) objects: BTreeMap<Key, Arc<Value>>,
    log: VecDeque<Change>,
}

/// The store of one cluster.
#[derive(Debug)]
pub(super) struct Store {
    state: Mutex<State>,
    changes: broadcast::Sender<Change>,
}

/// What a watch starts from: what is to be sent first, and what comes then.
pub(super) struct Feed {
    /// The version at the start.
    pub(super) version: u64,
    /// The objects at the start, in key order.
    pub(super) initial: Vec<Arc<Value>>,
    /// The changes since the version asked for.
    pub(super) missed: Vec<Change>,
    /// The changes to come.
    pub(super) changes: broadcast::Receiver<Change>,
}

impl Store {
    /// Makes an empty store whose versions count from `version`.
    pub(super) fn new(version: u64) -> Self {
        Self {
            state: Mutex::new(State {
                version,
                objects: BTreeMap::new(),
                log: VecDeque::new(),
            }),
            changes: broadcast::channel(1_024).0,
        }
    }

    /// Locks the objects for one request; a panic of another request does not spoil them.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts `after` (or nothing) where `key` is and tells the watches; the object gets the new version.
    pub(super) fn put(
        &self,
        state: &mut State,
        kind: &'static Kind,
        key: Key,
        after: Option<Value>,
    ) -> Option<Arc<Value>> {
        state.version += 1;
        let version = state.version;
        let before = state.objects.get(&key).cloned();
        let stamped = |mut object: Value| {
            object["metadata"]["resourceVersion"] = version.to_string().into();
            Arc::new(object)
        };
        let after = after.map(stamped);
        match &after {
            Some(object) => state.objects.insert(key, Arc::clone(object)),
            None => state.objects.remove(&key),
        };
        let before = match &after {
            Some(_) => before,
            None => before.map(|b| stamped(Value::clone(&b))),
        };
        let change = Change {
            version,
            kind,
            before,
            after: after.clone(),
        };
        state.log.push_back(change.clone());
        if state.log.len() > LOG {
            state.log.pop_front();
        }
        // Nobody may be listening.
        drop(self.changes.send(change));
        after
    }

    /// Returns one object.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.lock().objects.get(key).cloned()
    }

    /// Returns the objects of a kind, in one namespace or in all, in key order, with the version they are of.
    pub(super) fn list(&self, kind: &Kind, namespace: Option<&str>) -> (u64, Vec<Arc<Value>>) {
        let state = self.lock();
        (state.version, state.of(kind, namespace))
    }

    /// Starts a feed of changes after `since`; `None` where the log no longer reaches back to it.
    pub(super) fn follow(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        since: Option<u64>,
    ) -> Option<Feed> {
        let state = self.lock();
        let missed = match since {
            None => vec![],
            Some(since) => {
                let reaches = state.log.front().is_none_or(|c| c.version <= since + 1);
                if !reaches || since > state.version {
                    return None;
                }
                let after = |c: &&Change| c.version > since;
                state.log.iter().filter(after).cloned().collect()
            }
        };
        Some(Feed {
            version: state.version,
            initial: state.of(kind, namespace),
            missed,
            changes: self.changes.subscribe(),
        })
    }

    /// Follows every change of every kind, for the controllers.
    pub(super) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}

impl State {
    fn of(&self, kind: &Kind, namespace: Option<&str>) -> Vec<Arc<Value>> {
        self.objects
            .iter()
            .filter(|(key, _)| key.group == kind.group && key.plural == kind.plural)
            .filter(|(key, _)| namespace.is_none_or(|n| n == key.namespace))
            .map(|(_, object)| Arc::clone(object))
            .collect()
    }
}
