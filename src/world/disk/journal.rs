//! What was done from here, kept for the hand-over: one JSON document a line, appended.
//!
//! An entry holds names, verbs and answers, never values of fields; its texts are cleaned of what a terminal would
//! obey. Lines that cannot be read are passed over, so one broken line does not hide a shift.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::text;

/// One thing that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// When, RFC 3339.
    pub time: String,
    /// The kubeconfig context; empty for what touched Git only.
    pub context: String,
    /// The app: `ks/flux-system/apps`.
    pub app: String,
    /// What was asked for: `sync`, `accept`, `revert`, `hold`.
    pub verb: String,
    /// The answer: `done`, `refused`, or the fault's kind.
    pub result: String,
    /// In words: what was written where, or why it failed. Never a field's value.
    pub words: String,
}

/// The journal's file.
#[derive(Debug, Clone)]
pub struct Journal {
    path: PathBuf,
}

impl Journal {
    /// Names the journal in the state folder; nothing is written yet.
    pub fn new(state: &Path) -> Self {
        Self {
            path: state.join("journal.jsonl"),
        }
    }

    /// Returns its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an entry, whole or not at all, also when several programs write.
    ///
    /// # Errors
    /// The state folder cannot be written.
    pub fn append(&self, entry: &JournalEntry) -> Result<(), Fault> {
        let wrong = |e: std::io::Error| {
            Fault::new(
                FaultKind::Config,
                format!("cannot write {}", self.path.display()),
            )
            .because(e)
        };
        let clean = |text: &str| text::clean_line(text).into_owned();
        let entry = JournalEntry {
            time: clean(&entry.time),
            context: clean(&entry.context),
            app: clean(&entry.app),
            verb: clean(&entry.verb),
            result: clean(&entry.result),
            words: clean(&entry.words),
        };
        let line = serde_json::to_string(&entry).map_err(|e| wrong(e.into()))? + "\n";
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(wrong)?;
        }
        let mut file = private(OpenOptions::new().create(true).append(true))
            .open(&self.path)
            .map_err(wrong)?;
        file.lock().map_err(wrong)?;
        file.write_all(line.as_bytes()).map_err(wrong)
    }

    /// Reads the newest entries, oldest first, at most `most`; an absent journal is an empty one.
    ///
    /// # Errors
    /// The file exists and cannot be read.
    pub fn read(&self, most: usize) -> Result<Vec<JournalEntry>, Fault> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
            Err(e) => {
                return Err(Fault::new(
                    FaultKind::Config,
                    format!("cannot read {}", self.path.display()),
                )
                .because(e));
            }
        };
        let mut entries: Vec<JournalEntry> = BufReader::new(file)
            .split(b'\n')
            .map_while(Result::ok)
            .filter_map(|line| serde_json::from_slice(&line).ok())
            .collect();
        entries.drain(..entries.len().saturating_sub(most));
        Ok(entries)
    }
}

/// Makes a file that only its owner reads.
pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_entries_in_order_and_passes_over_broken_lines() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::new(&dir.path().join("state"));
        assert_eq!(journal.read(10).unwrap(), []);
        let entry = |n: usize| JournalEntry {
            time: format!("2026-12-01T03:0{n}:00Z"),
            context: "prod".into(),
            app: "ks/flux-system/apps".into(),
            verb: "sync".into(),
            result: "done".into(),
            words: format!("line {n}\u{1b}[2J\nmore"),
        };
        journal.append(&entry(1)).unwrap();
        OpenOptions::new()
            .append(true)
            .open(journal.path())
            .unwrap()
            .write_all(b"{broken\n\xff\n")
            .unwrap();
        journal.append(&entry(2)).unwrap();
        journal.append(&entry(3)).unwrap();
        let words: Vec<_> = journal
            .read(2)
            .unwrap()
            .into_iter()
            .map(|e| e.words)
            .collect();
        assert_eq!(words, ["line 2\u{FFFD}[2J⏎more", "line 3\u{FFFD}[2J⏎more"]);
        assert_eq!(journal.read(10).unwrap().len(), 3);
    }
}
