//! Where the clusters are: the kubeconfig's contexts, or the demo's.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::fault::{Fault, FaultKind};
use crate::world::cluster::{Cluster, Contexts};
use crate::world::demo::Demo;

/// What one run was asked for.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only these contexts; nothing means all.
    pub contexts: Vec<String>,
    /// No writes.
    pub read_only: bool,
    /// Fetch nothing.
    pub offline: bool,
    /// The longest wait for one answer.
    pub timeout: Option<Duration>,
    /// The folder of mirrors.
    pub mirrors: PathBuf,
    /// The folder of what can be read again (the servers' OpenAPI documents); `None` keeps none on disk.
    pub cache: Option<PathBuf>,
    /// The folder of our own state (journal); `None` writes none.
    pub state: Option<PathBuf>,
    /// Who acts, for annotations and `initiatedBy`.
    pub actor: String,
    /// Fixed names for commits where git itself would not decide (the demo): name and email.
    pub identity: Option<(String, String)>,
}

/// The clusters that can be reached.
#[derive(Debug)]
pub enum Places {
    /// The user's kubeconfig.
    Kubeconfig(Contexts),
    /// The embedded demo; its clients are made once.
    Demo {
        /// Kept, since dropping it ends it.
        demo: Box<Demo>,
        /// Names in order.
        names: Vec<Arc<str>>,
        /// Client or fault by name.
        clients: HashMap<Arc<str>, Result<Cluster, Fault>>,
    },
}

impl Places {
    /// Takes a running demo; must be called inside the runtime.
    pub fn demo(demo: Demo) -> Self {
        let mut names = vec![];
        let mut clients = HashMap::new();
        for (name, client) in demo.contexts() {
            let name: Arc<str> = name.into();
            names.push(Arc::clone(&name));
            let cluster = client.map(|client| Cluster::from_client(Arc::clone(&name), client));
            clients.insert(name, cluster);
        }
        Self::Demo {
            demo: Box::new(demo),
            names,
            clients,
        }
    }

    /// Returns the names of all contexts.
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        match self {
            Self::Kubeconfig(contexts) => contexts.names().to_vec(),
            Self::Demo { names, .. } => names.clone(),
        }
    }

    /// Returns what was wrong with single files.
    pub(super) fn problems(&self) -> Vec<Fault> {
        match self {
            Self::Kubeconfig(contexts) => contexts.problems().to_vec(),
            Self::Demo { .. } => vec![],
        }
    }

    /// Connects to one context.
    pub(super) async fn connect(&self, name: &str) -> Result<Cluster, Fault> {
        match self {
            Self::Kubeconfig(contexts) => contexts.connect(name).await,
            Self::Demo { clients, .. } => clients.get(name).cloned().unwrap_or_else(|| {
                Err(Fault::new(
                    FaultKind::NotFound,
                    format!("the demo has no context `{name}`"),
                ))
            }),
        }
    }
}
