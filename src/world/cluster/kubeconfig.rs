//! The contexts of the user's kubeconfig, merged as kubectl merges, and one client for each.
//!
//! What is wrong with one file, context, user or plugin is that one's fault: everything else loads. Proxies follow
//! kubectl's rules, which are not kube's: the kubeconfig's own wins, the environment's depends on the server's
//! scheme, and loopback is never proxied.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use tokio::sync::mpsc::Sender;

use super::exec::{Credentials, ExecLayer};
use super::watch::Pauses;
use super::{Cluster, fault};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet::{Change, ContextState};

/// What the kubeconfig is read from and reached through; read from the environment once, by the caller.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KubeEnv {
    /// The files, in order: `--kubeconfig`, else the list in `KUBECONFIG`, else `~/.kube/config`.
    pub files: Vec<PathBuf>,
    /// Whether the files were named by the user: then it is a fault if none of them exists.
    pub named: bool,
    /// `HTTPS_PROXY` or `https_proxy`.
    pub https_proxy: Option<String>,
    /// `HTTP_PROXY` or `http_proxy`.
    pub http_proxy: Option<String>,
    /// `NO_PROXY` or `no_proxy`.
    pub no_proxy: Option<String>,
    /// Seconds that a server has for its first answer; 10 where `None`.
    pub answer_within: Option<u64>,
}

/// The longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// The longest wait for the first answer of a server.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// The contexts of a merged kubeconfig.
#[derive(Debug, Clone)]
pub struct Contexts {
    merged: Arc<Kubeconfig>,
    env: Arc<KubeEnv>,
    names: Vec<Arc<str>>,
    problems: Vec<Fault>,
}

impl Contexts {
    /// Reads and merges the kubeconfig files: missing ones are skipped, broken ones become [`Contexts::problems`], and
    /// of equal names the first file's wins.
    ///
    /// # Errors
    /// Where no file could be read, or where there is no context at all.
    pub fn load(env: &KubeEnv) -> Result<Self, Fault> {
        let mut merged: Option<Kubeconfig> = None;
        let mut problems = vec![];
        for file in env.files.iter().filter(|f| !f.as_os_str().is_empty()) {
            if !file.exists() {
                continue;
            }
            if let Err(fault) = is_text(file) {
                problems.push(fault);
                continue;
            }
            let next = Kubeconfig::read_from(file).and_then(|next| match merged.clone() {
                Some(before) => before.merge(next),
                None => Ok(next),
            });
            match next {
                Ok(next) => merged = Some(next),
                Err(error) => problems.push(broken(file, &error)),
            }
        }
        let Some(merged) = merged else {
            return Err(problems.pop().unwrap_or_else(|| missing(env)));
        };
        let mut names: Vec<Arc<str>> = vec![];
        for context in &merged.contexts {
            names.push(context.name.as_str().into());
        }
        if names.is_empty() {
            return Err(problems.pop().unwrap_or_else(|| {
                let files: Vec<String> =
                    env.files.iter().map(|f| f.display().to_string()).collect();
                Fault::new(FaultKind::Config, "the kubeconfig has no context")
                    .about(files.join(", "))
                    .hint("`kubectl config get-contexts` lists them; `gitops-tui demo` needs none")
            }));
        }
        Ok(Self {
            merged: Arc::new(merged),
            env: Arc::new(env.clone()),
            names,
            problems,
        })
    }

    /// Returns the contexts' exact names, in the order of the files.
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// Returns the name of the current context, where one is set.
    pub fn current(&self) -> Option<&str> {
        self.merged
            .current_context
            .as_deref()
            .filter(|c| !c.is_empty())
    }

    /// Returns the files that could not be read.
    pub fn problems(&self) -> &[Fault] {
        &self.problems
    }

    /// Returns the address of a context's server, without a user.
    pub fn server(&self, name: &str) -> Option<String> {
        let context = self.merged.contexts.iter().find(|c| c.name == name)?;
        let cluster = &context.context.as_ref()?.cluster;
        let cluster = self.merged.clusters.iter().find(|c| c.name == *cluster)?;
        Some(fault::without_user(
            cluster.cluster.as_ref()?.server.as_ref()?,
        ))
    }

    /// Connects to one context: reads its certificates, runs its credential plugin (never interactively) and asks the
    /// server what it serves. Every wait is bounded; call it in a task of its own.
    ///
    /// # Errors
    /// `config` names the missing file, user or cluster; `unreachable`, `timeout`, `unauthorized` and `forbidden` say
    /// what the server did.
    pub async fn connect(&self, name: &str) -> Result<Cluster, Fault> {
        let server = self.server(name).unwrap_or_else(|| name.to_owned());
        let client = self.client(name).await?;
        let mut cluster = Cluster::from_client(name, client);
        cluster.namespaces.extend(self.namespace(name));
        let bound = self
            .env
            .answer_within
            .map_or(FIRST_ANSWER, Duration::from_secs);
        tokio::time::timeout(bound, cluster.discover())
            .await
            .map_err(|_| fault::no_answer(name, &server, bound.as_secs()))??;
        Ok(cluster)
    }

    /// Keeps one context: connects (again and again, with growing pauses, unless the kubeconfig itself is wrong), hands
    /// the cluster to `connected`, and sends what its fleet does until the receiver is dropped. Never fails: faults are
    /// sent as the context's state.
    pub async fn keep(
        &self,
        name: &str,
        changes: Sender<Vec<Change>>,
        connected: impl FnOnce(Cluster),
    ) {
        let mut pauses = Pauses::new();
        let cluster = loop {
            let fault = match self.connect(name).await {
                Ok(cluster) => break cluster,
                Err(fault) => fault,
            };
            let state = ContextState::of(&fault);
            let change = Change::Context {
                context: name.into(),
                state,
                fault: Some(fault),
            };
            if changes.send(vec![change]).await.is_err() {
                return;
            }
            if state == ContextState::Misconfigured {
                changes.closed().await;
                return;
            }
            tokio::select! {
                () = pauses.wait() => {}
                () = changes.closed() => return,
            }
        };
        connected(cluster.clone());
        cluster.watch_fleet(changes).await;
    }

    fn namespace(&self, name: &str) -> Option<String> {
        let context = self.merged.contexts.iter().find(|c| c.name == name)?;
        context
            .context
            .as_ref()?
            .namespace
            .clone()
            .filter(|n| !n.is_empty())
    }

    async fn client(&self, name: &str) -> Result<Client, Fault> {
        let wrong = |sentence: String| Fault::new(FaultKind::Config, sentence).about(name);
        let mut own = self.only(name)?;
        let exec = own
            .auth_infos
            .first_mut()
            .and_then(|user| user.auth_info.as_mut())
            .and_then(|info| info.exec.take());
        let proxy_url = own
            .clusters
            .first()
            .and_then(|c| c.cluster.as_ref())
            .and_then(|c| c.proxy_url.clone())
            .filter(|p| !p.is_empty());
        let exec_cluster = own.clusters.first().and_then(|c| c.cluster.clone());
        let options = KubeConfigOptions {
            context: Some(name.to_owned()),
            ..KubeConfigOptions::default()
        };
        let mut config = Config::from_custom_kubeconfig(own, &options)
            .await
            .map_err(|error| named(name, &error))?;
        config.connect_timeout = Some(CONNECT);
        config.read_timeout = None;
        config.write_timeout = Some(Duration::from_secs(30));
        // kube would retry writes, too; reads are retried by their callers, who know what they are
        config.default_retry = false;
        config.proxy_url = match proxy(&self.env, proxy_url.as_deref(), &config.cluster_url) {
            Some(text) => Some(text.parse().map_err(|_| {
                wrong(format!(
                    "proxy-url {} is no URL",
                    fault::without_user(&text)
                ))
            })?),
            None => None,
        };
        let credentials = match exec {
            Some(exec) => Some(Credentials::new(name, &exec, exec_cluster.as_ref())?),
            None => None,
        };
        if let Some(credentials) = &credentials
            && let Some((certificate, key)) = credentials.certificate().await?
        {
            config.auth_info.client_certificate_data = Some(certificate);
            config.auth_info.client_key_data = Some(key.into());
        }
        let builder = ClientBuilder::try_from(config)
            .map_err(|e| fault::of(name, "set up the connection", &e))?;
        Ok(match credentials {
            Some(credentials) => builder.with_layer(&ExecLayer::new(credentials)).build(),
            None => builder.build(),
        })
    }

    /// Returns the kubeconfig reduced to one context, its cluster and its user.
    fn only(&self, name: &str) -> Result<Kubeconfig, Fault> {
        let wrong = |sentence: String| {
            Fault::new(FaultKind::Config, sentence)
                .about(name)
                .hint("`kubectl config view` shows the merged kubeconfig")
        };
        let context = self
            .merged
            .contexts
            .iter()
            .find(|c| c.name == name)
            .ok_or_else(|| {
                wrong("there is no such context".to_owned())
                    .hint(format!("known contexts: {}", self.names.join(", ")))
            })?;
        let inner = context
            .context
            .as_ref()
            .ok_or_else(|| wrong("the context is empty".to_owned()))?;
        let cluster = self
            .merged
            .clusters
            .iter()
            .find(|c| c.name == inner.cluster)
            .ok_or_else(|| {
                wrong(format!(
                    "its cluster `{}` is not in the kubeconfig",
                    inner.cluster
                ))
            })?;
        let user = inner.user.as_ref().filter(|u| !u.is_empty());
        let user = match user {
            Some(user) => Some(
                self.merged
                    .auth_infos
                    .iter()
                    .find(|u| u.name == *user)
                    .ok_or_else(|| wrong(format!("its user `{user}` is not in the kubeconfig")))?,
            ),
            None => None,
        };
        Ok(Kubeconfig {
            contexts: vec![context.clone()],
            clusters: vec![cluster.clone()],
            auth_infos: user.into_iter().cloned().collect(),
            other: BTreeMap::new(),
            ..Kubeconfig::default()
        })
    }
}

fn missing(env: &KubeEnv) -> Fault {
    let files: Vec<String> = env.files.iter().map(|f| f.display().to_string()).collect();
    let sentence = if env.named {
        format!("no kubeconfig at {}", files.join(", "))
    } else {
        "there is no kubeconfig".to_owned()
    };
    Fault::new(FaultKind::Config, sentence)
        .hint("set KUBECONFIG or --kubeconfig; `gitops-tui demo` needs no cluster")
}

/// Says where a file cannot be read as text. kube takes UTF-16 for granted where a byte order mark says so, and panics
/// where such a file ends within a character.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where the kubeconfig is read"
)]
fn is_text(file: &std::path::Path) -> Result<(), Fault> {
    let wrong = |why: String| {
        Fault::new(FaultKind::Config, "the kubeconfig cannot be read")
            .at(file.display().to_string(), None)
            .because(why)
            .hint("mend the file, or leave it out of KUBECONFIG")
    };
    if file.is_dir() {
        return Err(wrong("it is a folder, not a file".to_owned()));
    }
    let bytes = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
    match bytes.as_slice() {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] if bytes.len() % 2 == 0 => Ok(()),
        bytes if std::str::from_utf8(bytes).is_ok() => Ok(()),
        _ => Err(wrong("it is not UTF-8 text".to_owned())),
    }
}

fn broken(file: &std::path::Path, error: &KubeconfigError) -> Fault {
    let line = match error {
        KubeconfigError::Parse(inner) => inner.location().map(|l| l.line() as usize),
        _ => None,
    };
    Fault::new(FaultKind::Config, "the kubeconfig cannot be read")
        .at(file.display().to_string(), line)
        .because(first_line(&error.to_string()))
        .hint("mend the file, or leave it out of KUBECONFIG")
}

fn named(context: &str, error: &KubeconfigError) -> Fault {
    Fault::new(
        FaultKind::Config,
        "its entry in the kubeconfig cannot be used",
    )
    .about(context)
    .because(first_line(&error.to_string()))
    .hint("`kubectl config view` shows the merged kubeconfig")
}

/// Parser errors print the source with them: a kubeconfig's source holds secrets.
fn first_line(text: &str) -> String {
    fault::without_user(text.lines().next().unwrap_or_default())
}

/// Returns the proxy of a server, as kubectl decides it.
fn proxy(env: &KubeEnv, own: Option<&str>, server: &http::Uri) -> Option<String> {
    if let Some(own) = own {
        return Some(own.to_owned());
    }
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
    let from_env = match server.scheme_str() {
        Some("http") => &env.http_proxy,
        _ => &env.https_proxy,
    };
    let proxy = from_env.as_ref().filter(|p| !p.is_empty())?;
    if is_loopback(host) || is_exempt(env.no_proxy.as_deref().unwrap_or_default(), host) {
        return None;
    }
    Some(if proxy.contains("://") {
        proxy.clone()
    } else {
        format!("http://{proxy}")
    })
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

/// Tells whether `NO_PROXY` names a host: `*`, a name with all below it, an address, a network in CIDR form.
fn is_exempt(no_proxy: &str, host: &str) -> bool {
    no_proxy
        .split(',')
        .map(str::trim)
        .filter(|e| !e.is_empty())
        .any(|entry| {
            let entry = entry
                .split_once(':')
                .filter(|(_, port)| port.parse::<u16>().is_ok())
                .map_or(entry, |(name, _)| name);
            let name = entry.trim_start_matches("*.").trim_start_matches('.');
            entry == "*"
                || host.eq_ignore_ascii_case(name)
                || host
                    .to_ascii_lowercase()
                    .strip_suffix(&name.to_ascii_lowercase())
                    .is_some_and(|head| head.ends_with('.'))
                || in_network(entry, host)
        })
}

fn in_network(entry: &str, host: &str) -> bool {
    let Some((network, bits)) = entry.split_once('/') else {
        return false;
    };
    let Ok(bits) = bits.parse::<u32>() else {
        return false;
    };
    match (network.parse(), host.parse()) {
        (Ok(std::net::IpAddr::V4(network)), Ok(std::net::IpAddr::V4(host))) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            u32::from(network) & mask == u32::from(host) & mask
        }
        (Ok(std::net::IpAddr::V6(network)), Ok(std::net::IpAddr::V6(host))) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            u128::from(network) & mask == u128::from(host) & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chooses_the_proxy_as_kubectl_does() {
        let env = |http: &str, https: &str, no: &str| KubeEnv {
            http_proxy: Some(http.into()),
            https_proxy: Some(https.into()),
            no_proxy: Some(no.into()),
            ..KubeEnv::default()
        };
        let check = |env: &KubeEnv, own, server: &str| proxy(env, own, &server.parse().unwrap());
        let both = env("http://h:1", "s:2", "10.0.0.0/8,.example.test,*.corp");
        assert_eq!(
            check(&both, Some("socks5://own:3"), "http://a").as_deref(),
            Some("socks5://own:3")
        );
        assert_eq!(
            check(&both, None, "http://a.test").as_deref(),
            Some("http://h:1")
        );
        assert_eq!(
            check(&both, None, "https://a.test:6443").as_deref(),
            Some("http://s:2")
        );
        for direct in [
            "http://127.0.0.1:1",
            "http://localhost:1",
            "https://[::1]:6443",
            "https://10.1.2.3",
            "https://api.example.test",
            "https://example.test",
            "https://api.corp",
        ] {
            assert_eq!(check(&both, None, direct), None, "{direct}");
        }
        assert_eq!(check(&env("", "", ""), None, "https://a.test"), None);
    }
}
