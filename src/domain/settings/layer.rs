//! Layers of settings, merged as trees, each value able to say its source.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::schema::Settings;
use super::variables::Variables;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::yaml;

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Nowhere: it is the default.
    Default,
    /// In this file.
    File(String),
    /// In this variable of the environment.
    Environment(String),
    /// By this flag.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => f.write_str(path),
            Self::Environment(name) => write!(f, "${name}"),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// One layer, from weakest to strongest in the order that [`load`] takes them.
#[derive(Debug, Clone, PartialEq)]
pub enum Layer {
    /// A file: its path as people know it, and its text.
    File {
        /// The path.
        path: String,
        /// The text.
        text: String,
    },
    /// The environment's `GITOPS_TUI_…` variables.
    Environment(Variables),
    /// A flag: its spelling, the setting (`readOnly`, `timeouts.connect`) and the value.
    Flag {
        /// `--read-only`.
        flag: String,
        /// The setting.
        setting: String,
        /// The value.
        value: Value,
    },
}

/// The settings that came of all layers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// Where each value was set, by its dotted path (`timeouts.connect`); what is not here is the default.
    pub sources: BTreeMap<String, Source>,
    /// Files and values that are broken and were left out.
    pub problems: Vec<Fault>,
    /// What is odd but harmless: unknown keys, with the nearest known one.
    pub warnings: Vec<Fault>,
}

impl Loaded {
    /// Returns where a setting comes from, by its dotted path.
    pub fn source(&self, setting: &str) -> Source {
        self.sources
            .get(setting)
            .cloned()
            .unwrap_or(Source::Default)
    }
}

/// Variables of the environment and the settings they set.
const VARIABLES: [(&str, &str); 4] = [
    ("GITOPS_TUI_READ_ONLY", "readOnly"),
    ("GITOPS_TUI_THEME", "theme"),
    ("GITOPS_TUI_KEYMAP", "keymap"),
    ("GITOPS_TUI_CACHE", "cache"),
];

/// Settings whose keys are the user's own.
const OPEN: [&str; 2] = ["repositories", "destinations"];

/// Merges layers over the defaults, weakest first.
pub fn load(layers: &[Layer]) -> Loaded {
    let mut merge = Merge {
        known: defaults(),
        tree: defaults(),
        loaded: Loaded::default(),
    };
    for layer in layers {
        match layer {
            Layer::File { path, text } => merge.file(path, text),
            Layer::Environment(variables) => merge.environment(variables),
            Layer::Flag {
                flag,
                setting,
                value,
            } => {
                let path: Path = setting.split('.').map(str::to_owned).collect();
                let source = Source::Flag(flag.clone());
                let about = |fault: Fault| fault.about(flag.clone());
                merge.set(&path, value, &source, &about);
            }
        }
    }
    let Merge {
        tree, mut loaded, ..
    } = merge;
    match serde_json::from_value(tree) {
        Ok(settings) => loaded.settings = settings,
        // Every value was decoded by itself before it was merged.
        Err(e) => loaded
            .problems
            .push(Fault::new(FaultKind::Internal, "the settings do not fit together").because(e)),
    }
    loaded
}

/// Keys from the root to a setting; the user's own keys may hold dots.
type Path = Vec<String>;

fn defaults() -> Value {
    serde_json::to_value(Settings::default()).unwrap_or_default()
}

struct Merge {
    known: Value,
    tree: Value,
    loaded: Loaded,
}

impl Merge {
    fn file(&mut self, path: &str, text: &str) {
        match read_file(path, text) {
            Ok(value) => {
                let line = lines(text);
                let source = Source::File(path.to_owned());
                for (setting, value) in leaves(&value) {
                    let at = |fault: Fault| fault.at(path, line(&setting));
                    self.set(&setting, &value, &source, &at);
                }
            }
            Err(fault) => self.loaded.problems.push(fault),
        }
    }

    fn environment(&mut self, variables: &Variables) {
        for (name, setting) in VARIABLES {
            if let Some(text) = variables.get(name) {
                let value = of_text(self.known.get(setting), text);
                let about = |fault: Fault| fault.about(format!("${name}"));
                self.set(
                    &[setting.to_owned()],
                    &value,
                    &Source::Environment(name.into()),
                    &about,
                );
            }
        }
    }

    /// Sets one value where it is known and decodes; says why not else, placed by `place`.
    fn set(
        &mut self,
        setting: &[String],
        value: &Value,
        source: &Source,
        place: &dyn Fn(Fault) -> Fault,
    ) {
        if value.is_null() {
            return;
        }
        if let Some(depth) = unknown_at(setting, &self.known) {
            self.loaded
                .warnings
                .push(place(unknown(&setting[..=depth], &self.known)));
            return;
        }
        let layer = setting.iter().rev().fold(value.clone(), |inner, key| {
            Value::Object(Map::from_iter([(key.clone(), inner)]))
        });
        if let Err(e) = serde_json::from_value::<Settings>(layer) {
            let sentence = format!("the setting `{}` is left out: {e}", setting.join("."));
            self.loaded.problems.push(place(
                Fault::new(FaultKind::Config, sentence).hint("docs/config.md lists every setting"),
            ));
            return;
        }
        let mut at = &mut self.tree;
        for key in setting {
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            at = &mut at[key.as_str()];
        }
        *at = value.clone();
        self.loaded
            .sources
            .insert(setting.join("."), source.clone());
    }
}

/// Reads one file as a tree of values.
#[expect(
    clippy::disallowed_methods,
    reason = "the door for our own configuration, never for manifests"
)]
fn read_file(path: &str, text: &str) -> Result<Value, Fault> {
    let wrong = |e: &serde_yaml::Error| {
        let message = e.to_string();
        let sentence = message.split(" at line ").next().unwrap_or(&message);
        Fault::new(
            FaultKind::Config,
            format!("the configuration is left out: {sentence}"),
        )
        .at(path, e.location().map(|l| l.line()))
        .hint("correct the file; docs/config.md lists every setting")
    };
    match serde_yaml::from_str(text.trim_start_matches('\u{FEFF}')).map_err(|e| wrong(&e))? {
        Value::Null => Ok(Value::Object(Map::new())),
        value @ Value::Object(_) => Ok(value),
        _ => Err(Fault::new(
            FaultKind::Config,
            "the configuration is left out: it is no map of settings",
        )
        .at(path, 1)),
    }
}

/// Reads a variable's text as the setting's own kind.
fn of_text(known: Option<&Value>, text: &str) -> Value {
    match (known, text.to_ascii_lowercase().as_str()) {
        (Some(Value::Bool(_)), "1" | "true" | "yes" | "on") => Value::Bool(true),
        (Some(Value::Bool(_)), "0" | "false" | "no" | "off") => Value::Bool(false),
        _ => Value::String(text.into()),
    }
}

/// Lists the values of a tree that are no maps, with their keys.
fn leaves(value: &Value) -> Vec<(Path, Value)> {
    let Value::Object(map) = value else {
        return vec![(vec![], value.clone())];
    };
    map.iter()
        .flat_map(|(key, inner)| {
            leaves(inner).into_iter().map(|(mut path, leaf)| {
                path.insert(0, key.clone());
                (path, leaf)
            })
        })
        .collect()
}

/// Returns the depth at which no setting has that key.
fn unknown_at(setting: &[String], known: &Value) -> Option<usize> {
    let mut level = known;
    for (depth, key) in setting.iter().enumerate() {
        if depth > 0 && OPEN.contains(&setting[depth - 1].as_str()) {
            return None;
        }
        match level.as_object().map(|map| map.get(key)) {
            Some(Some(inner)) => level = inner,
            Some(None) => return Some(depth),
            // A map where a value belongs: decoding says so.
            None => return None,
        }
    }
    None
}

/// Words an unknown setting, with the nearest known one.
fn unknown(setting: &[String], known: &Value) -> Fault {
    let Some((key, parents)) = setting.split_last() else {
        return Fault::new(FaultKind::Config, "there is no such setting");
    };
    let level = parents.iter().try_fold(known, |level, key| level.get(key));
    let names: Vec<&str> = level
        .and_then(Value::as_object)
        .map(|map| map.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let near = names
        .iter()
        .map(|name| (distance(&name.to_lowercase(), &key.to_lowercase()), *name))
        .min()
        .filter(|(steps, name)| *steps <= 2.max(name.len() / 3));
    let fault = Fault::new(
        FaultKind::Config,
        format!("there is no setting `{}`", setting.join(".")),
    );
    match near {
        Some((_, name)) => {
            let mut meant = parents.to_vec();
            meant.push(name.to_owned());
            fault.hint(format!("did you mean `{}`?", meant.join(".")))
        }
        None => fault.hint(format!("settings here are: {}", names.join(", "))),
    }
}

/// Counts the letters to change, add or drop to make one word the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Returns a function from a setting to the line of its key, or of the nearest key above that the file has.
fn lines(text: &str) -> impl Fn(&[String]) -> Option<usize> {
    let stream = yaml::parse(text.as_bytes());
    move |setting| {
        let mut node = stream.document(0)?.root()?;
        let mut line = None;
        for key in setting {
            let Some(entry) = node.own_entry(key) else {
                break;
            };
            line = Some(entry.key.line());
            node = entry.value;
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::settings::{DEFAULT_CONFIG, Span};
    use serde_json::json;

    fn file(text: &str) -> Layer {
        Layer::File {
            path: "config.yaml".into(),
            text: text.into(),
        }
    }

    #[test]
    fn the_documented_default_is_the_default_and_names_every_setting() {
        let loaded = load(&[file(DEFAULT_CONFIG)]);
        assert_eq!((loaded.problems, loaded.warnings), (vec![], vec![]));
        assert_eq!(loaded.settings, Settings::default());
        let value = read_file("config.yaml", DEFAULT_CONFIG).unwrap();
        assert_eq!(value, defaults());
    }

    #[test]
    fn later_layers_win_and_say_so() {
        let loaded = load(&[
            file("readOnly: true\ntimeouts:\n  connect: 1s\nrepositories: {a: b}\n"),
            file("timeouts: {helper: 2m}\nrepositories: {c: d}\nguard: []\n"),
            Layer::Environment(
                Variables::default()
                    .with("GITOPS_TUI_READ_ONLY", "off")
                    .with("GITOPS_TUI_THEME", "nord"),
            ),
            Layer::Flag {
                flag: "--timeout".into(),
                setting: "timeouts.request".into(),
                value: json!("3s"),
            },
        ]);
        assert_eq!((&loaded.problems, &loaded.warnings), (&vec![], &vec![]));
        let settings = &loaded.settings;
        assert!(!settings.read_only && settings.guard.is_empty() && settings.theme == "nord");
        assert_eq!(settings.timeouts.connect, Span::seconds(1));
        assert_eq!(settings.timeouts.request, Span::seconds(3));
        assert_eq!(settings.timeouts.helper, Span::seconds(120));
        assert_eq!(settings.repositories.len(), 2);
        let says = |setting: &str| loaded.source(setting).to_string();
        assert_eq!(
            [
                says("readOnly"),
                says("timeouts.connect"),
                says("timeouts.request"),
                says("failedAfter")
            ],
            [
                "$GITOPS_TUI_READ_ONLY",
                "config.yaml",
                "--timeout",
                "default"
            ]
        );
    }

    #[test]
    fn unknown_keys_warn_with_their_line_and_the_nearest_name() {
        let loaded = load(&[file(
            "# mine\nreadonly: true\ntimeouts:\n  conect: 1s\n  zzz: 1\n",
        )]);
        let said: Vec<String> = loaded
            .warnings
            .iter()
            .map(|w| format!("{w} ({})", w.hint.as_deref().unwrap_or_default()))
            .collect();
        assert_eq!(
            said,
            [
                "there is no setting `readonly`, config.yaml:2 (did you mean `readOnly`?)",
                "there is no setting `timeouts.conect`, config.yaml:4 (did you mean `timeouts.connect`?)",
                "there is no setting `timeouts.zzz`, config.yaml:5 (settings here are: connect, gitConnect, gitIdle, helper, request)",
            ]
        );
    }

    #[test]
    fn what_is_broken_is_left_out_with_its_line() {
        for (text, line) in [("theme: nord\n  a: [\n", 2), ("- a\n", 1)] {
            let loaded = load(&[file(text)]);
            assert_eq!(loaded.settings, Settings::default(), "{text}");
            let place = loaded.problems[0].place.clone().unwrap();
            assert_eq!(place.line, Some(line), "{text}: {}", loaded.problems[0]);
        }
        for empty in ["", "# nothing\n", "\u{FEFF}theme: auto\n"] {
            assert_eq!(load(&[file(empty)]).problems, vec![], "{empty}");
        }
        let partly = load(&[file(
            "theme: nord\nfailedAfter: soon\nguard: yes\ntimeouts: 3\n",
        )]);
        assert_eq!(partly.settings.theme, "nord");
        let said: Vec<String> = partly.problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "the setting `failedAfter` is left out: `soon` is no length of time: write 30s, 5m or 1h30m, config.yaml:2",
                "the setting `guard` is left out: invalid type: string \"yes\", expected a sequence, config.yaml:3",
                "the setting `timeouts` is left out: invalid type: integer `3`, expected struct Timeouts, config.yaml:4",
            ]
        );
        let wrong = load(&[Layer::Environment(
            Variables::default().with("GITOPS_TUI_READ_ONLY", "perhaps"),
        )]);
        assert_eq!(
            wrong.problems[0].to_string(),
            "$GITOPS_TUI_READ_ONLY: the setting `readOnly` is left out: invalid type: string \"perhaps\", expected a boolean"
        );
    }
}
