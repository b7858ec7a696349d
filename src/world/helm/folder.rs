//! The folder that one run of helm lives in: home, caches, charts and values; gone with everything in it at the end.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::cannot_keep;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::render::{EntryKind, Tree};
use crate::domain::settings::Variables;

/// Most bytes of a chart's files together.
const LARGEST_CHART: usize = 256 << 20;
/// Most folders below each other in a chart.
const DEEPEST: usize = 64;

/// A folder for one run, readable by nobody else.
#[derive(Debug)]
pub(super) struct Folder(TempDir);

impl Folder {
    /// Makes it: in the user's runtime folder, which is in memory, where there is one.
    pub(super) fn new(variables: &Variables) -> Result<Self, Fault> {
        let place = variables
            .get("XDG_RUNTIME_DIR")
            .map(PathBuf::from)
            .filter(|folder| folder.is_dir())
            .or_else(|| variables.get("TMPDIR").map(PathBuf::from))
            .unwrap_or_else(std::env::temp_dir);
        // tempfile makes folders with mode 0700.
        tempfile::Builder::new()
            .prefix("gitops-tui-helm-")
            .tempdir_in(&place)
            .map(Self)
            .map_err(|e| cannot_keep(&place, &e))
    }

    /// Returns the place of something in the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Sets what helm takes for its homes, and where it runs.
    pub(super) fn enter(&self, command: &mut Command) {
        command
            .current_dir(self.0.path())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.0.path())
            .env("HELM_CACHE_HOME", self.path("home/cache"))
            .env("HELM_CONFIG_HOME", self.path("home/config"))
            .env("HELM_DATA_HOME", self.path("home/data"))
            .env("HELM_PLUGINS", self.path("home/plugins"))
            // A template must not read a cluster: there is none.
            .env("KUBECONFIG", self.path("home/kubeconfig"));
    }

    /// Takes the folder's own name out of a complaint: it means nothing to the reader.
    pub(super) fn unnamed(&self, said: &str) -> String {
        let own = self.0.path().display().to_string();
        let real = fs::canonicalize(self.0.path()).map(|path| path.display().to_string());
        let said = said.replace(&format!("{own}/"), "");
        match real {
            Ok(real) if real != own => said.replace(&format!("{real}/"), ""),
            _ => said,
        }
    }

    /// Writes a file that only we and helm read.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Fault> {
        let path = self.path(name);
        write_new(&path, bytes).map_err(|e| cannot_keep(&path, &e))?;
        Ok(path)
    }

    /// Copies the folder `from` of a tree here, at the place it has in the tree; links are followed as the tree follows
    /// them. What is there already stays.
    pub(super) fn copy(&self, tree: &dyn Tree, from: &str) -> Result<PathBuf, Fault> {
        let path = self.path("tree").join(from);
        if !path.exists() {
            let mut left = LARGEST_CHART;
            copy(tree, from, &path, (&mut left, DEEPEST))?;
        }
        Ok(path)
    }
}

fn copy(
    tree: &dyn Tree,
    from: &str,
    to: &Path,
    (left, depth): (&mut usize, usize),
) -> Result<(), Fault> {
    let entries = tree.list(from)?.ok_or_else(|| {
        Fault::new(FaultKind::NotFound, format!("no chart is at `{from}`")).at(from, None)
    })?;
    let too_much = |what: &str| {
        Fault::new(
            FaultKind::Unsupported,
            format!("the chart at `{from}` holds {what}"),
        )
        .at(from, None)
        .hint("name the folder of one chart")
    };
    if depth == 0 {
        return Err(too_much("folders too deep in each other"));
    }
    fs::create_dir_all(to).map_err(|e| cannot_keep(to, &e))?;
    for entry in entries {
        if entry.name == ".git" || entry.kind == EntryKind::Submodule {
            continue;
        }
        let inner = if from.is_empty() {
            entry.name.clone()
        } else {
            format!("{from}/{}", entry.name)
        };
        let path = to.join(&entry.name);
        let file = match entry.kind {
            EntryKind::Directory => None,
            _ => tree.read(&inner)?,
        };
        match file {
            Some(bytes) => {
                *left = left
                    .checked_sub(bytes.len())
                    .ok_or_else(|| too_much("more than 256 MB"))?;
                write_new(&path, &bytes).map_err(|e| cannot_keep(&path, &e))?;
            }
            None if tree.list(&inner)?.is_some() => {
                copy(tree, &inner, &path, (left, depth - 1))?;
            }
            None => {}
        }
    }
    Ok(())
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)?.write_all(bytes)
}
