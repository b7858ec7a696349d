//! What the servers say of their kinds' fields: the OpenAPI documents of just the group versions that are compared, kept
//! in memory by context and on disk by the hash that the server gives each (which is another one where the server or a
//! CRD is another one).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use serde_json::Value;
use tokio::time::Instant;

use super::Jobs;
use super::desired::blocking;
use crate::domain::object::ObjectId;
use crate::domain::object::openapi::{Schemas, trimmed};
use crate::world::cluster::Cluster;
use crate::world::disk::Cache;

/// How long an index is taken as it is: a new version of a CRD is seen after this.
const FRESH: Duration = Duration::from_mins(5);
/// The longest wait for the index: a comparison goes on without it.
const LONGEST: Duration = Duration::from_secs(10);
/// Documents that are read at once.
const AT_ONCE: usize = 4;
/// Documents that are kept in memory for one context.
const IN_MEMORY: usize = 64;
/// Documents that are kept on disk.
const ON_DISK: usize = 512;

/// What is known of one context's documents.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Addresses by group version; none where the server has no documents for us.
    index: Option<(Instant, BTreeMap<String, String>)>,
    /// By address; none where the document could not be had.
    documents: HashMap<String, Option<Schemas>>,
}

impl Jobs {
    /// Returns the schemas of the objects' kinds. What cannot be had is left out: the built-in table, a definition or the
    /// objects' own managedFields then say what they can.
    pub(super) async fn schemas(&self, cluster: &Cluster, ids: &[ObjectId]) -> Schemas {
        let mut found = Schemas::default();
        let wanted: BTreeSet<&str> = ids.iter().map(|id| id.api_version.as_str()).collect();
        if wanted.is_empty() {
            return found;
        }
        let slot = Arc::clone(
            self.0
                .schemas
                .lock()
                .await
                .entry(Arc::clone(&cluster.context))
                .or_default(),
        );
        // One task reads while the others wait: a fleet in one cluster needs each document once.
        let mut known = slot.lock().await;
        let fresh = known
            .index
            .as_ref()
            .is_some_and(|(at, _)| at.elapsed() < FRESH);
        if !fresh {
            let index = tokio::time::timeout(self.patience().min(LONGEST), cluster.openapi()).await;
            let index = index.ok().and_then(Result::ok).unwrap_or_default();
            known.documents.retain(|_, document| document.is_some());
            known.index = Some((Instant::now(), index));
        }
        let addresses: Vec<(String, String)> = wanted
            .into_iter()
            .filter_map(|version| {
                let (_, index) = known.index.as_ref()?;
                Some((version.to_owned(), index.get(version)?.clone()))
            })
            .collect();
        let missing: Vec<(String, String)> = addresses
            .iter()
            .filter(|(_, address)| !known.documents.contains_key(address))
            .cloned()
            .collect();
        if known.documents.len() + missing.len() > IN_MEMORY {
            known.documents.clear();
        }
        let read: Vec<(String, Option<Schemas>)> = futures::stream::iter(missing)
            .map(|(version, address)| async move {
                let document = self.document(cluster, &version, &address).await;
                (address, document)
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        known.documents.extend(read);
        for (_, address) in &addresses {
            if let Some(Some(schemas)) = known.documents.get(address) {
                found.extend(schemas);
            }
        }
        found
    }

    /// Reads one document from disk, else from the server.
    async fn document(&self, cluster: &Cluster, version: &str, address: &str) -> Option<Schemas> {
        let cache = self
            .0
            .options
            .cache
            .as_ref()
            .map(|folder| Cache::new(&folder.join("openapi"), ON_DISK));
        // Without a hash in it, an address may mean another document tomorrow.
        let cache = cache.filter(|_| address.contains("hash="));
        let key = format!("{} {address}", cluster.context);
        let version = version.to_owned();
        let (from, kept, of) = (cache.clone(), key.clone(), version.clone());
        let read = move || {
            let document: Value = serde_json::from_slice(&from?.read(&kept)?).ok()?;
            Some(Schemas::of(&of, &Arc::new(document)))
        };
        if let Ok(Some(schemas)) = blocking(read).await {
            return Some(schemas);
        }
        let text = tokio::time::timeout(self.patience(), cluster.openapi_document(address));
        let text = text.await.ok()?.ok()?;
        let parse = move || {
            let document: Value = serde_json::from_str(&text).ok()?;
            let document = trimmed(document);
            if let Some(cache) = cache {
                cache.write(&key, document.to_string().as_bytes());
            }
            Some(Schemas::of(&version, &Arc::new(document)))
        };
        blocking(parse).await.ok().flatten()
    }
}
