//! Clusters: contexts, clients, watches, reads and acts over kube.
//!
//! [`Contexts`] reads the kubeconfig and connects; a [`Cluster`] is one context's client with what its server serves.
//! Everything below takes a [`kube::Client`], so that an in-process service serves as well as a real server: the demo
//! and the tests run the shipping code. Objects travel as untyped JSON, just as they came, `managedFields` included.
//!
//! Watching turns into batches of [`Change`](crate::domain::fleet::Change); reads fail object by object; writes are
//! sent once, never again by themselves.

mod act;
mod discovery;
mod exec;
mod fault;
mod follow;
mod kubeconfig;
mod openapi;
mod read;
mod watch;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use jiff::Timestamp;
use kube::Client;

pub use act::{Performed, Permit, StepOutcome};
pub use discovery::{Discovery, Served};
pub use follow::Progress;
pub use kubeconfig::{Contexts, KubeEnv};
pub use read::Access;

use crate::domain::fault::Fault;

/// One context's client, and what its server serves.
#[derive(Clone)]
pub struct Cluster {
    /// The context's exact name.
    pub context: Arc<str>,
    client: Client,
    discovery: Arc<RwLock<Option<Arc<Discovery>>>>,
    /// Namespaces to try where not all may be listed.
    namespaces: Vec<String>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// Takes a client; the server is not asked yet.
    pub fn from_client(context: impl Into<Arc<str>>, client: Client) -> Self {
        Self {
            context: context.into(),
            client,
            discovery: Arc::default(),
            namespaces: vec![],
        }
    }

    /// Returns the client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns what the server serves; asks it the first time.
    pub async fn discovery(&self) -> Result<Arc<Discovery>, Fault> {
        let known = self
            .discovery
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match known {
            Some(known) => Ok(known),
            None => self.discover().await,
        }
    }

    /// Asks the server what it serves, again where it was asked before.
    pub async fn discover(&self) -> Result<Arc<Discovery>, Fault> {
        let found = Arc::new(Discovery::ask(&self.context, &self.client).await?);
        let mut known = self
            .discovery
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *known = Some(Arc::clone(&found));
        Ok(found)
    }

    /// Finds a kind; a kind that is not known yet makes the server be asked once more (its CRD may be new).
    pub(super) async fn served(
        &self,
        group: &str,
        version: &str,
        kind: &str,
    ) -> Result<Option<Served>, Fault> {
        if let Some(served) = self.discovery().await?.find(group, version, kind) {
            return Ok(Some(served.clone()));
        }
        let again = self.discover().await?;
        if let Some(fault) = again.broken(group) {
            return Err(fault.clone());
        }
        Ok(again.find(group, version, kind).cloned())
    }
}

/// The time, for what servers and plugins date: expiries and the names of requests.
#[expect(
    clippy::disallowed_methods,
    reason = "expiries of credentials are wall-clock times of others"
)]
fn now() -> Timestamp {
    Timestamp::now()
}
