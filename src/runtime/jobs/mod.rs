//! The jobs that screens and commands share: list the fleet, compare an app, plan and perform an act, write back.
//!
//! A job is an async function over [`Jobs`], which holds the clusters, the mirrors and the settings. It never prints
//! and never asks: it returns values and faults. What blocks (Git, rendering) runs on threads of its own. One context,
//! repository or object that is broken never takes the rest down.

mod accept;
mod act;
mod compare;
mod desired;
mod fleet;
mod offline;
mod places;
mod schema;

pub use accept::{Backfill, Commits, Committed, acceptable};
pub use act::{Acted, Asked, default_wait, everything, group};
pub use compare::{Compared, summary};
pub use desired::{At, Rendering};
pub use offline::{FileApp, compare_files, render_files};
pub use places::{Options, Places};

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::settings::Settings;
use crate::world::cluster::{Cluster, Permit};
use crate::world::disk::{Journal, JournalEntry};
use crate::world::git::{Access, Mirror};

/// A mirror, and when it was fetched last in this run.
#[derive(Debug, Default)]
struct Mirrored {
    mirror: Option<Arc<Mirror>>,
    fetched: Option<tokio::time::Instant>,
    fault: Option<Fault>,
}

/// What one task makes while the others wait for it.
type Slot<T> = Arc<Mutex<T>>;

/// What the jobs work on; cheap to clone.
#[derive(Debug, Clone)]
pub struct Jobs(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    places: Places,
    settings: Settings,
    options: Options,
    access: Access,
    clusters: Mutex<HashMap<Arc<str>, Slot<Option<Cluster>>>>,
    mirrors: Mutex<HashMap<String, Slot<Mirrored>>>,
    schemas: Mutex<HashMap<Arc<str>, Slot<schema::Known>>>,
    journal: Option<Journal>,
}

impl Jobs {
    /// Makes the jobs over `places`.
    pub fn new(places: Places, settings: Settings, options: Options, access: Access) -> Self {
        let journal = options.state.as_deref().map(Journal::new);
        Self(Arc::new(Inner {
            places,
            settings,
            options,
            access,
            clusters: Mutex::default(),
            mirrors: Mutex::default(),
            schemas: Mutex::default(),
            journal,
        }))
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Returns the options of this run.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Returns the contexts that are looked at, in the kubeconfig's order.
    pub fn contexts(&self) -> Vec<Arc<str>> {
        self.0
            .places
            .names()
            .into_iter()
            .filter(|name| {
                let chosen = &self.0.options.contexts;
                if chosen.is_empty() {
                    self.0.settings.contexts.takes(name)
                } else {
                    chosen.iter().any(|c| **c == **name)
                }
            })
            .collect()
    }

    /// Returns what was wrong with single kubeconfig files.
    pub fn kubeconfig_problems(&self) -> Vec<Fault> {
        self.0.places.problems()
    }

    /// Returns the longest wait for one answer.
    pub fn patience(&self) -> Duration {
        self.0.options.timeout.unwrap_or(Duration::from_secs(30))
    }

    /// Connects to a context; an earlier connection is used again.
    pub async fn cluster(&self, context: &str) -> Result<Cluster, Fault> {
        let name = self
            .contexts()
            .into_iter()
            .find(|name| **name == *context)
            .ok_or_else(|| self.no_context(context))?;
        let slot = Arc::clone(
            self.0
                .clusters
                .lock()
                .await
                .entry(Arc::clone(&name))
                .or_default(),
        );
        let mut slot = slot.lock().await;
        if let Some(cluster) = &*slot {
            return Ok(cluster.clone());
        }
        let limit = self.patience();
        let cluster = tokio::time::timeout(limit, self.0.places.connect(&name))
            .await
            .map_err(|_| {
                Fault::new(
                    FaultKind::Timeout,
                    format!("no answer within {} s", limit.as_secs()),
                )
                .about(&*name)
                .hint("check the network or VPN, or give it longer with --timeout")
            })??;
        *slot = Some(cluster.clone());
        Ok(cluster)
    }

    /// Says that there is no such context, and which there are.
    pub fn no_context(&self, context: &str) -> Fault {
        let names: Vec<String> = self
            .0
            .places
            .names()
            .iter()
            .map(ToString::to_string)
            .collect();
        Fault::new(FaultKind::Usage, format!("there is no context `{context}`"))
            .hint(format!("there are: {}", names.join(", ")))
    }

    /// Gives the permit to write, unless the run is read-only.
    pub fn permit(&self) -> Result<Permit, Fault> {
        Permit::unless(self.0.options.read_only || self.0.settings.read_only)
    }

    /// Tells whether writes are off.
    pub fn is_read_only(&self) -> bool {
        self.0.options.read_only || self.0.settings.read_only
    }

    /// Tells whether a journal is kept on disk (the demo keeps none).
    pub fn keeps_journal(&self) -> bool {
        self.0.journal.is_some()
    }

    /// Reads the newest entries of the journal, oldest first.
    pub fn journal(&self, most: usize) -> Result<Vec<JournalEntry>, Fault> {
        self.0
            .journal
            .as_ref()
            .map_or_else(|| Ok(vec![]), |journal| journal.read(most))
    }

    /// Notes in the journal what was done. A journal that cannot be written is no reason to fail what was done.
    fn note(&self, entry: &JournalEntry) -> Option<Fault> {
        self.0.journal.as_ref()?.append(entry).err()
    }
}
