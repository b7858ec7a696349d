//! Keys to actions: the table's defaults, changed by one file, read back in the same spelling.
//!
//! A file names actions and their keys (`sync: [s, f2]`); what it names replaces the defaults of that action. Two
//! actions that would answer the same key on one screen are refused with file and line, so that no key ever does
//! something else than the help says.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::action::{Action, Entry, On, TABLE};
use super::key::Key;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::yaml;

/// What each key does, by screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    keys: BTreeMap<Action, Vec<Key>>,
}

impl Default for Keymap {
    fn default() -> Self {
        let keys = TABLE
            .iter()
            .map(|entry| {
                let keys = entry.keys.iter().filter_map(|key| key.parse().ok());
                (entry.action, keys.collect())
            })
            .collect();
        Self { keys }
    }
}

impl Keymap {
    /// Reads a keymap file over the defaults. Gives the map that holds, and every line that was refused.
    pub fn load(file: &str, text: &str) -> (Self, Vec<Fault>) {
        let mut map = Self::default();
        let mut faults = vec![];
        let stream = yaml::parse(text.as_bytes());
        faults.extend(stream.problems.iter().map(|problem| {
            Fault::new(FaultKind::Config, problem.message.clone()).at(file, problem.line)
        }));
        let Some(root) = stream.document(0).and_then(yaml::Document::root) else {
            return (map, faults);
        };
        for line in root.entries() {
            let at = |sentence: String| {
                Fault::new(FaultKind::Config, sentence).at(file, line.key.line())
            };
            let name = line.key.text().unwrap_or_default();
            let Some(entry) = TABLE.iter().find(|e| e.name == name) else {
                faults.push(at(format!("`{name}` is no action")).hint("`?` lists all actions"));
                continue;
            };
            let texts: Vec<&str> = match line.value.text() {
                Some(text) => Some(text).filter(|t| !t.is_empty()).into_iter().collect(),
                None => line.value.items().filter_map(yaml::Node::text).collect(),
            };
            match texts
                .iter()
                .map(|t| t.parse::<Key>())
                .collect::<Result<Vec<_>, _>>()
            {
                Err(why) => faults.push(at(why)),
                Ok(keys) => {
                    let before = map.keys.insert(entry.action, keys);
                    if let Some((key, other)) = map.conflict(entry) {
                        faults.push(
                            at(format!("`{key}` is the key of `{}` already", other.name))
                                .hint(format!("give `{}` another key first", other.name)),
                        );
                        map.keys.insert(entry.action, before.unwrap_or_default());
                    }
                }
            }
        }
        (map, faults)
    }

    /// Returns another action that answers one of this one's keys on a common screen.
    fn conflict(&self, entry: &Entry) -> Option<(Key, &'static Entry)> {
        TABLE
            .iter()
            .filter(|other| other.action != entry.action && other.on.meets(entry.on))
            .find_map(|other| {
                let key = self
                    .of(other.action)
                    .iter()
                    .find(|k| self.of(entry.action).contains(k))?;
                Some((*key, other))
            })
    }

    /// Returns an action's keys.
    pub fn of(&self, action: Action) -> &[Key] {
        self.keys.get(&action).map_or(&[], Vec::as_slice)
    }

    /// Returns what a key does on a screen.
    pub fn action(&self, key: Key, on: On) -> Option<Action> {
        TABLE
            .iter()
            .find(|entry| entry.on.meets(on) && self.of(entry.action).contains(&key))
            .map(|entry| entry.action)
    }

    /// Returns an action's keys as text: `j down`; empty where it has none.
    pub fn words(&self, action: Action) -> String {
        let keys: Vec<String> = self.of(action).iter().map(ToString::to_string).collect();
        keys.join(" ")
    }

    /// Prints the map as a keymap file.
    pub fn print(&self) -> String {
        let mut out = String::new();
        for entry in TABLE {
            let keys: Vec<String> = self
                .of(entry.action)
                .iter()
                .map(|key| format!("\"{}\"", key.to_string().replace('"', "\\\"")))
                .collect();
            // writing to a String cannot fail
            let _ = writeln!(
                out,
                "# {}\n{}: [{}]",
                entry.words,
                entry.name,
                keys.join(", ")
            );
        }
        out
    }

    /// Prints the map as docs/keymap.md.
    pub fn document() -> String {
        let map = Self::default();
        let mut out = String::from(
            "# Keys\n\nWritten by `UPDATE_DOCS=1 cargo test --lib session::keymap`; the table is `src/session/action.rs`. \
             Every key can be changed in `keymap.yaml` of the configuration folder, in the form of `assets/keymap.yaml`; \
             two actions on one key of one screen are refused.\n\n\
             | key | action | what it does | where | risk |\n|---|---|---|---|---|\n",
        );
        for entry in TABLE {
            let keys: Vec<String> = map
                .of(entry.action)
                .iter()
                .map(|k| format!("`{}`", k.to_string().replace('|', "\\|")))
                .collect();
            let _ = writeln!(
                out,
                "| {} | `{}` | {} | {} | {} |",
                keys.join(" "),
                entry.name,
                entry.words,
                places(entry.on),
                entry.risk.word()
            );
        }
        out
    }
}

fn places(on: On) -> String {
    if on == On::ALL {
        return "everywhere".to_owned();
    }
    [
        (On::FLEET, "fleet"),
        (On::APP, "app"),
        (On::DIFF, "diff"),
        (On::DRIFT, "drift"),
        (On::CONTEXTS, "contexts"),
        (On::JOURNAL, "journal"),
    ]
    .into_iter()
    .filter(|(place, _)| place.meets(on))
    .map(|(_, word)| word)
    .collect::<Vec<_>>()
    .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_default_key_does_two_things_on_one_screen() {
        let map = Keymap::default();
        for entry in TABLE {
            assert_eq!(
                map.of(entry.action).len(),
                entry.keys.len(),
                "{}",
                entry.name
            );
            assert!(map.conflict(entry).is_none(), "{}", entry.name);
        }
    }

    #[test]
    fn nothing_destructive_is_near_ctrl_d_or_ctrl_k() {
        for entry in TABLE
            .iter()
            .filter(|e| e.risk != super::super::action::Risk::None)
        {
            assert!(
                entry.keys.iter().all(|k| !k.starts_with("ctrl-")),
                "{}",
                entry.name
            );
        }
    }

    #[test]
    fn reads_changes_and_refuses_conflicts_with_their_line() {
        let (map, faults) = Keymap::load(
            "keymap.yaml",
            "sync: [f2]\nrefresh: d\nfly: x\nopen: [nokey]\n",
        );
        assert_eq!(map.words(Action::Sync), "f2");
        assert_eq!(map.words(Action::Refresh), "r");
        let shown: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(shown[0], "`d` is the key of `diff` already, keymap.yaml:2");
        assert_eq!(shown[1], "`fly` is no action, keymap.yaml:3");
        assert!(shown[2].starts_with("`nokey` is no key"));
    }

    #[test]
    fn prints_what_it_reads() {
        let map = Keymap::default();
        assert_eq!(Keymap::load("x", &map.print()), (map, vec![]));
    }

    #[expect(clippy::disallowed_methods, reason = "a test of files")]
    fn held(path: &str, text: &str) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        if std::env::var("UPDATE_DOCS").is_ok() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(&path).unwrap_or_default(),
            text,
            "UPDATE_DOCS=1 rewrites it"
        );
    }

    #[test]
    fn the_files_say_what_the_table_says() {
        held("docs/keymap.md", &Keymap::document());
        held(
            "assets/keymap.yaml",
            &format!(
                "# The default keys. Copy what you change to keymap.yaml in the configuration folder.\n{}",
                Keymap::default().print()
            ),
        );
    }
}
