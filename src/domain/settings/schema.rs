//! What can be set, typed. The words and the reasons stand in `assets/config.yaml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::duration::Span;
use super::pattern::matches;

/// Every setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Which kubeconfig contexts to watch.
    pub contexts: Contexts,
    /// Patterns of contexts in which a write asks for the context's name.
    pub guard: Vec<String>,
    /// Turns every write off.
    pub read_only: bool,
    /// How long a condition must have failed before the app counts as failed.
    pub failed_after: Span,
    /// A theme's name, or `auto`.
    pub theme: String,
    /// A file with key bindings; empty for the default place.
    pub keymap: String,
    /// The folder for mirrors; empty for the system's cache folder.
    pub cache: String,
    /// Bounds of waiting.
    pub timeouts: Timeouts,
    /// How often repositories are fetched while the program runs; zero for never by itself.
    pub fetch_every: Span,
    /// Other places to read a repository from, by its address.
    pub repositories: BTreeMap<String, String>,
    /// Contexts by Argo CD destination (server address or name).
    pub destinations: BTreeMap<String, String>,
    /// Kinds of field managers, by patterns.
    pub owners: Owners,
}

/// Which kubeconfig contexts to watch, by patterns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Contexts {
    /// Only these; nothing means all.
    pub include: Vec<String>,
    /// Not these, even where included.
    pub exclude: Vec<String>,
}

/// Bounds of waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Timeouts {
    /// Until a cluster accepts a connection.
    pub connect: Span,
    /// For one answer of a cluster.
    pub request: Span,
    /// Until a Git server accepts a connection.
    pub git_connect: Span,
    /// Without a byte from a Git server.
    pub git_idle: Span,
    /// For helper programs.
    pub helper: Span,
}

/// Kinds of field managers, by patterns of their names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Owners {
    /// People.
    pub person: Vec<String>,
    /// Controllers, autoscalers, webhooks.
    pub automation: Vec<String>,
    /// GitOps engines.
    pub gitops: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            contexts: Contexts::default(),
            guard: vec!["*prod*".into()],
            read_only: false,
            failed_after: Span::seconds(300),
            theme: "auto".into(),
            keymap: String::new(),
            cache: String::new(),
            timeouts: Timeouts::default(),
            fetch_every: Span::seconds(60),
            repositories: BTreeMap::new(),
            destinations: BTreeMap::new(),
            owners: Owners::default(),
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Span::seconds(5),
            request: Span::seconds(30),
            git_connect: Span::seconds(10),
            git_idle: Span::seconds(60),
            helper: Span::seconds(30),
        }
    }
}

impl Contexts {
    /// Tells whether a context is to be watched.
    pub fn takes(&self, context: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|p| matches(p, context));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }
}

impl Owners {
    /// Returns the word of a manager's kind (`person`, `automation`, `gitops`); `None` where nothing is set for it.
    pub fn kind_of(&self, manager: &str) -> Option<&'static str> {
        [
            ("person", &self.person),
            ("automation", &self.automation),
            ("gitops", &self.gitops),
        ]
        .into_iter()
        .find(|(_, patterns)| patterns.iter().any(|p| matches(p, manager)))
        .map(|(word, _)| word)
    }
}

impl Settings {
    /// Tells whether a write in this context asks for the context's name to be typed.
    pub fn is_guarded(&self, context: &str) -> bool {
        self.guard.iter().any(|pattern| matches(pattern, context))
    }

    /// Returns where to read a repository from: what is set for its address (a final `/` or `.git` aside), else itself.
    pub fn repository<'a>(&'a self, url: &'a str) -> &'a str {
        let bare = |text: &'a str| text.trim_end_matches('/').trim_end_matches(".git");
        self.repositories
            .iter()
            .find(|(from, _)| bare(from) == bare(url))
            .map_or(url, |(_, to)| to)
    }

    /// Returns the context that an Argo CD destination is, by its server address or its name, where that is set.
    pub fn destination(&self, server_or_name: &str) -> Option<&str> {
        let bare = server_or_name.trim_end_matches('/');
        self.destinations
            .iter()
            .find(|(from, _)| from.trim_end_matches('/') == bare)
            .map(|(_, context)| context.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_by_pattern_and_by_address() {
        let settings = Settings {
            contexts: Contexts {
                include: vec!["eu-*".into()],
                exclude: vec!["*-old".into()],
            },
            repositories: BTreeMap::from([(
                "https://git.example.test/fleet".into(),
                "~/src/fleet".into(),
            )]),
            destinations: BTreeMap::from([("https://10.0.0.1:6443".into(), "prod".into())]),
            owners: Owners {
                person: vec!["lens*".into()],
                ..Owners::default()
            },
            ..Settings::default()
        };
        assert!(
            settings.contexts.takes("eu-1")
                && !settings.contexts.takes("eu-old")
                && !settings.contexts.takes("us")
        );
        assert!(settings.is_guarded("eu-prod-1") && !settings.is_guarded("dev"));
        assert_eq!(
            settings.repository("https://git.example.test/fleet.git"),
            "~/src/fleet"
        );
        assert_eq!(
            settings.repository("https://git.example.test/fleet2"),
            "https://git.example.test/fleet2"
        );
        assert_eq!(settings.destination("https://10.0.0.1:6443/"), Some("prod"));
        assert_eq!(settings.owners.kind_of("lens-desktop"), Some("person"));
        assert_eq!(settings.owners.kind_of("helm"), None);
    }
}
