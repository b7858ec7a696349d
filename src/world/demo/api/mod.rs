//! A Kubernetes API server in one process: the demo's cluster, served to the shipping kube client as a tower service.
//!
//! It is small but not lenient: discovery, lists in pages, watches from a version, server-side apply with managers and
//! conflicts, dry runs, defaults, `Status` answers in a real server's words. What the product sees here is what it
//! sees in the field, so no screen and no act needs to know that it is in the demo.

mod access;
mod address;
mod client_side;
mod defaults;
mod discovery;
mod fields;
pub(super) mod kinds;
mod merge;
mod ownership;
mod patches;
#[cfg(test)]
mod recorded;
mod refusal;
mod select;
mod serve;
mod shape;
mod store;
mod watch;
mod workloads;
mod write;

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::broadcast;

pub(super) use access::Denial;
pub(super) use kinds::{KINDS, Kind};
pub(super) use refusal::Refusal;
pub(super) use serve::client;
pub(super) use store::Change;
pub(super) use write::Caller;

/// Lays a strategic merge patch over an object.
pub(super) fn strategic_merge(object: &mut Value, patch: &Value) {
    patches::strategic("", object, patch);
}

use store::{Key, Store};

use super::clock::Clock;

/// What makes one cluster different from another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Character {
    /// Its name; uids grow from it.
    pub(super) name: &'static str,
    /// The user that the kube client is.
    pub(super) user: &'static str,
    /// Groups that are not installed.
    pub(super) without: &'static [&'static str],
    /// What the user may not do.
    pub(super) denials: &'static [Denial],
}

/// One embedded cluster.
#[derive(Debug)]
pub(super) struct Cluster {
    character: Character,
    clock: Arc<Clock>,
    store: Store,
}

impl Cluster {
    /// Makes a cluster that holds nothing yet.
    pub(super) fn new(character: Character, clock: Arc<Clock>) -> Self {
        Self {
            character,
            clock,
            store: Store::new(48_210),
        }
    }

    /// Returns an object, as its controllers see it: no rights asked.
    pub(super) fn get(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<Arc<Value>> {
        self.store.get(&Key::new(kind, namespace, name))
    }

    /// Returns the objects of a kind in all namespaces.
    pub(super) fn list(&self, kind: &Kind) -> Vec<Arc<Value>> {
        self.store.list(kind, None).1
    }

    /// Follows every change from now on.
    pub(super) fn changes(&self) -> broadcast::Receiver<Change> {
        self.store.changes()
    }

    /// Returns the cluster's name.
    pub(super) fn name(&self) -> &'static str {
        self.character.name
    }

    /// Returns the cluster's clock.
    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }
}
