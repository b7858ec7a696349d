//! Where a chart comes from: a folder of a tree, a place on disk, a repository of charts, a registry.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::folder::Folder;
use super::{Helm, cannot_keep};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::render::Tree;
use crate::domain::text;

/// A chart.
#[derive(Clone, Copy)]
pub enum Chart<'a> {
    /// The folder `path` of a tree; what its `Chart.yaml` depends on and is not there is fetched.
    Tree {
        /// The tree.
        tree: &'a dyn Tree,
        /// The folder that holds `Chart.yaml`.
        path: &'a str,
    },
    /// A folder or an archive on this machine.
    Path(&'a Path),
    /// A chart of a repository, by the repository's http address.
    Repository {
        /// The repository's address.
        url: &'a str,
        /// The chart's name in it.
        name: &'a str,
        /// The version, or a range of versions; empty for the newest.
        version: &'a str,
        /// Who asks.
        login: Option<&'a Login>,
    },
    /// A chart of a registry.
    Registry {
        /// `oci://registry/path/chart`.
        reference: &'a str,
        /// The version, or a range of versions; empty for the newest.
        version: &'a str,
        /// Who asks; the user's own login at the registry where it is `None`.
        login: Option<&'a Login>,
    },
}

/// Who asks a server for a chart.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user's name.
    pub username: String,
    /// The password or token.
    pub password: String,
    /// The login may follow the chart to another host (`passCredentials`).
    pub everywhere: bool,
}

/// Shows the name only.
impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login")
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

/// The name that a repository has in helm's own configuration during a run.
const NAME: &str = "source";

impl Helm {
    /// Puts the chart where helm reads it: into the folder, or at its place in the cache.
    pub(super) fn place(&self, folder: &Folder, chart: Chart<'_>) -> Result<PathBuf, Fault> {
        match chart {
            Chart::Tree { tree, path } => {
                let place = folder.copy(tree, path)?;
                self.complete(folder, (tree, path), &place)?;
                Ok(place)
            }
            Chart::Path(path) => Ok(path.to_owned()),
            Chart::Repository { version, .. } | Chart::Registry { version, .. } => {
                self.fetch(folder, chart, version)
            }
        }
    }

    /// Fetches what the chart depends on and does not bring.
    fn complete(
        &self,
        folder: &Folder,
        (tree, path): (&dyn Tree, &str),
        chart: &Path,
    ) -> Result<(), Fault> {
        let lists = ["Chart.yaml", "requirements.yaml"];
        if !lists
            .iter()
            .any(|file| declares_dependencies(&chart.join(file)))
        {
            return Ok(());
        }
        let mut command = self.command(folder);
        command.args(["dependency", "list", "--"]).arg(chart);
        let listed = self.run(folder, &mut command, "dependency list", &[])?;
        let rows = rows(&listed);
        if !rows.iter().any(|(_, status)| status.ends_with("missing")) {
            return Ok(());
        }
        for (url, _) in &rows {
            let beside = url.strip_prefix("file://");
            if let Some(beside) = beside.and_then(|beside| resolve(path, beside)) {
                folder.copy(tree, &beside)?;
            }
        }
        let fetches = |(url, status): &(&str, &str)| {
            status.ends_with("missing") && !url.is_empty() && !url.starts_with("file://")
        };
        if self.limits.offline && rows.iter().any(fetches) {
            return Err(Fault::new(
                FaultKind::Unsupported,
                "the chart lacks charts that it depends on, and --offline fetches nothing",
            )
            .hint("run it without --offline, or commit the chart's charts/ folder"));
        }
        let mut urls: Vec<&str> = rows
            .iter()
            .map(|(url, _)| *url)
            .filter(|url| url.starts_with("http"))
            .collect();
        urls.sort_unstable();
        urls.dedup();
        let entries: Vec<Value> = urls
            .iter()
            .enumerate()
            .map(|(nth, url)| repository(&format!("{NAME}-{nth}"), url, None))
            .collect();
        folder.write("home/config/repositories.yaml", &repositories(&entries))?;
        let mut command = self.command(folder);
        command.args(["dependency", "build", "--"]).arg(chart);
        self.run(folder, &mut command, "dependency build", &[])?;
        Ok(())
    }

    /// Fetches a chart's archive; exact versions are kept for good, since a released version never changes.
    fn fetch(&self, folder: &Folder, chart: Chart<'_>, version: &str) -> Result<PathBuf, Fault> {
        let kept = self.limits.cache.as_ref().map(|cache| {
            let address = address(chart);
            let digest = Sha256::digest(format!("{address}\n{version}"));
            let mark = digest
                .iter()
                .take(8)
                .fold(0_u64, |mark, byte| (mark << 8) | u64::from(*byte));
            cache.join(format!("{mark:016x}.tgz"))
        });
        let kept = kept.filter(|_| is_exact(version));
        if let Some(kept) = kept.as_ref().filter(|kept| kept.is_file()) {
            return Ok(kept.clone());
        }
        if self.limits.offline {
            return Err(Fault::new(
                FaultKind::Unsupported,
                format!(
                    "the chart {} {version} needs the network",
                    text::without_logins(&address(chart))
                ),
            )
            .because("--offline fetches nothing, and the chart is not in the cache")
            .hint("run it once without --offline"));
        }
        let into = folder.path("fetched");
        fs::create_dir_all(&into).map_err(|e| cannot_keep(&into, &e))?;
        self.pull(folder, chart, version, &into)?;
        let archive = fs::read_dir(&into)
            .map_err(|e| cannot_keep(&into, &e))?
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|ending| ending == "tgz"))
            .ok_or_else(|| Fault::new(FaultKind::Render, "`helm pull` brought no chart"))?;
        let Some(kept) = kept else {
            return Ok(archive);
        };
        match keep(&archive, &kept) {
            Ok(()) => Ok(kept),
            // A cache that cannot be written costs the next run a fetch, nothing else.
            Err(_) => Ok(archive),
        }
    }

    fn pull(
        &self,
        folder: &Folder,
        chart: Chart<'_>,
        version: &str,
        into: &Path,
    ) -> Result<(), Fault> {
        let mut secrets = vec![];
        let mut command = self.command(folder);
        command.arg("pull").arg("--destination").arg(into);
        if !version.is_empty() {
            command.arg(format!("--version={version}"));
        }
        match chart {
            Chart::Repository {
                url, name, login, ..
            } => {
                // A password on the command line could be read by every user of this machine.
                folder.write(
                    "home/config/repositories.yaml",
                    &repositories(&[repository(NAME, url, login)]),
                )?;
                secrets.extend(login.map(|login| login.password.clone()));
                let mut update = self.command(folder);
                update.args(["repo", "update", NAME]);
                self.run(folder, &mut update, "repo update", &secrets)?;
                command.arg("--").arg(format!("{NAME}/{name}"));
            }
            Chart::Registry {
                reference, login, ..
            } => {
                if let Some(login) = login {
                    secrets.push(login.password.clone());
                    let place = folder.write("home/registry.json", &registry(reference, login))?;
                    command.env("HELM_REGISTRY_CONFIG", place);
                }
                command.arg("--").arg(reference);
            }
            Chart::Tree { .. } | Chart::Path(_) => return Ok(()),
        }
        self.run(folder, &mut command, "pull", &secrets)
            .map_err(|fault| {
                fault.hint(
                    "check the chart's address, name and version, and that its server answers",
                )
            })
            .map(drop)
    }
}

/// Returns what tells one chart of a server from every other.
fn address(chart: Chart<'_>) -> String {
    match chart {
        Chart::Repository { url, name, .. } => format!("{}/{name}", url.trim_end_matches('/')),
        Chart::Registry { reference, .. } => reference.to_owned(),
        Chart::Tree { path, .. } => path.to_owned(),
        Chart::Path(path) => path.display().to_string(),
    }
}

/// Moves an archive into the cache, whole or not at all.
fn keep(archive: &Path, kept: &Path) -> std::io::Result<()> {
    let Some(cache) = kept.parent() else {
        return Ok(());
    };
    fs::create_dir_all(cache)?;
    let copy = tempfile::NamedTempFile::new_in(cache)?;
    fs::copy(archive, copy.path())?;
    copy.persist(kept).map_err(|e| e.error)?;
    Ok(())
}

/// Tells whether a version is one version and no range: `1.2.3`, `v1.2.3-rc.1+build`.
fn is_exact(version: &str) -> bool {
    let plain = version.strip_prefix('v').unwrap_or(version);
    let core = plain.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    parts.len() == 3
        && parts
            .iter()
            .all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
        && plain
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))
}

#[expect(
    clippy::disallowed_methods,
    reason = "our own copy of the chart, a file of helm's and not of the tree"
)]
fn declares_dependencies(file: &Path) -> bool {
    fs::read_to_string(file)
        .is_ok_and(|text| text.lines().any(|line| line.starts_with("dependencies")))
}

/// Returns where `beside`, written in the chart at `path`, leads in the tree; `None` where it leaves the tree.
fn resolve(path: &str, beside: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    for part in beside.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Reads what `helm dependency list` prints, one line a dependency, tabs between its columns: the repository and the
/// status of each.
fn rows(listed: &str) -> Vec<(&str, &str)> {
    listed
        .lines()
        .skip(1)
        .filter_map(|line| {
            let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
            match columns[..] {
                [_, _, url, status, ..] => Some((url, status)),
                _ => None,
            }
        })
        .collect()
}

/// Makes an entry of helm's list of repositories.
fn repository(name: &str, url: &str, login: Option<&Login>) -> Value {
    let mut entry = json!({"name": name, "url": url});
    if let (Some(login), Some(entry)) = (login, entry.as_object_mut()) {
        entry.insert("username".into(), login.username.clone().into());
        entry.insert("password".into(), login.password.clone().into());
        entry.insert("pass_credentials_all".into(), login.everywhere.into());
    }
    entry
}

/// Writes helm's list of repositories, as JSON, which is YAML.
fn repositories(entries: &[Value]) -> Vec<u8> {
    json!({"apiVersion": "", "repositories": entries})
        .to_string()
        .into_bytes()
}

/// Writes a registry's login as Docker's configuration file has it.
fn registry(reference: &str, login: &Login) -> Vec<u8> {
    use base64::Engine as _;
    let host = reference
        .trim_start_matches("oci://")
        .split('/')
        .next()
        .unwrap_or_default();
    let pair = format!("{}:{}", login.username, login.password);
    let auth = base64::engine::general_purpose::STANDARD.encode(pair);
    json!({"auths": {host: {"auth": auth}}})
        .to_string()
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_versions_from_ranges() {
        for exact in ["1.2.3", "v0.1.0", "1.2.3-rc.1+b5"] {
            assert!(is_exact(exact), "{exact}");
        }
        for range in [
            "",
            "1.2",
            "^1.2.3",
            ">=1.2.3",
            "1.2.x",
            "1.2.3 || 2.0.0",
            "*",
        ] {
            assert!(!is_exact(range), "{range}");
        }
    }

    #[test]
    fn reads_the_list_of_dependencies() {
        let listed = "NAME\tVERSION\tREPOSITORY           \tSTATUS \n\
                      redis\t~17.0 \thttps://a.example.test\tmissing\n\
                      common\t*     \tfile://../common     \tok     \n\n";
        assert_eq!(
            rows(listed),
            [
                ("https://a.example.test", "missing"),
                ("file://../common", "ok")
            ]
        );
    }

    #[test]
    fn a_login_shows_no_password() {
        let login = Login {
            username: "ada".into(),
            password: "s3cret".into(),
            everywhere: false,
        };
        assert!(!format!("{login:?}").contains("s3cret"));
    }
}
