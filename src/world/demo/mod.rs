//! The demo: an embedded cluster behind the shipping kube client, and a repository in a temporary folder.
//!
//! Three contexts: `prod-eu` under Flux after a busy night, `staging` under Flux and Argo CD, and `dr-west`, which
//! cannot be reached. The clients, watches, renderings and acts of the product run unchanged over it; only the wire and
//! the remote end of Git are ours. The same `now` always gives the same fleet: uids, times and commit ids.

mod api;
mod argo;
mod assets;
mod clock;
mod controllers;
mod flux;
#[cfg(test)]
mod judged;
mod render;
mod repository;
mod story;

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::task::AbortHandle;

use api::{Character, Cluster, Denial};
use argo::Argo;
use clock::Clock;
use controllers::Controllers;
use flux::Flux;
use repository::Repository;
use story::Teller;

use crate::domain::fault::{Fault, FaultKind};

/// Returns a hash as hexadecimal digits, fit for a digest, a uid or an address.
fn sha256(of: impl AsRef<[u8]>) -> String {
    let digits = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(digits[usize::from(nibble & 15)]);
    Sha256::digest(of)
        .iter()
        .flat_map(|b| [digit(b >> 4), digit(*b)])
        .collect()
}

/// The user that the demo's contexts log in as.
const USER: &str = "oncall@acme.example";

const PRODUCTION: Character = Character {
    name: "prod-eu",
    user: USER,
    without: &["argoproj.io"],
    denials: &[],
};

const STAGING: Character = Character {
    name: "staging",
    user: USER,
    without: &["helm.toolkit.fluxcd.io"],
    denials: &[Denial {
        group: "",
        plural: "secrets",
        namespace: Some("identity"),
        verbs: &[],
    }],
};

/// The running demo: two clusters with their controllers, one repository. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub struct Demo {
    repository: Arc<Repository>,
    clusters: Vec<Arc<Cluster>>,
    controllers: Vec<AbortHandle>,
    // Held for its drop, which removes the folder.
    _folder: TempDir,
}

impl Demo {
    /// Writes the repository, tells the story up to `now` and lets the controllers run.
    ///
    /// # Errors
    /// Returns a fault where the temporary folder cannot be made, or outside of a tokio runtime.
    pub fn start(now: Timestamp) -> Result<Self, Fault> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|error| {
            Fault::new(FaultKind::Internal, "the demo needs a tokio runtime").because(error)
        })?;
        let folder = tempfile::Builder::new()
            .prefix("gitops-tui-demo-")
            .tempdir()
            .map_err(|error| {
                Fault::new(
                    FaultKind::Internal,
                    "the demo could not make a temporary folder",
                )
                .because(error)
                .hint("set TMPDIR to a folder that may be written")
            })?;
        let repository = Arc::new(Repository::write(folder.path(), now)?);
        let clock = Arc::new(Clock::standing(now));
        let mut demo = Self {
            repository: Arc::clone(&repository),
            clusters: vec![],
            controllers: vec![],
            _folder: folder,
        };
        for character in [PRODUCTION, STAGING] {
            let cluster = Arc::new(Cluster::new(character, Arc::clone(&clock)));
            let teller = Teller {
                cluster: Arc::clone(&cluster),
                repository: Arc::clone(&repository),
            };
            if character.name == PRODUCTION.name {
                teller.production()?;
            } else {
                teller.staging()?;
            }
            demo.clusters.push(cluster);
        }
        clock.run();
        for cluster in &demo.clusters {
            let flux = Flux {
                cluster: Arc::clone(cluster),
                repository: Arc::clone(&repository),
            };
            let argo = Argo {
                cluster: Arc::clone(cluster),
                repository: Arc::clone(&repository),
            };
            let task = runtime.spawn(Controllers::new(flux, argo).run(cluster.changes()));
            demo.controllers.push(task.abort_handle());
        }
        Ok(demo)
    }

    /// Returns the contexts by name, each with its client; `dr-west` is the fault of an unreachable server.
    ///
    /// Must be called inside the tokio runtime.
    pub fn contexts(&self) -> Vec<(String, Result<kube::Client, Fault>)> {
        let unreachable = Fault::new(FaultKind::Unreachable, "the API server cannot be reached")
            .about("dr-west")
            .because(
                "connect to https://dr-west.acme.example:6443: connection refused (os error 111)",
            )
            .hint("check the VPN, then try again");
        let reached = self
            .clusters
            .iter()
            .map(|c| (c.name().to_owned(), Ok(api::client(c))));
        reached
            .chain([("dr-west".to_owned(), Err(unreachable))])
            .collect()
    }

    /// Returns the bare repository's folder; the apps name it as `file://` and this path.
    pub fn repository(&self) -> &Path {
        self.repository.path()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        for task in &self.controllers {
            task.abort();
        }
    }
}
