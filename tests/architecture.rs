//! Holds the floors of the house: a module names only what lies below it, and the pure floors touch nothing.
//!
//! Walks `src`, reads each file's code (comments and strings taken out), resolves every `crate::…` and `super::…`
//! path, and says `file:line: drift looks up to ui` for each that breaks the ranks of ARCHITECTURE.md.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests: a failed step fails the test"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms and their ranks, lowest first.
const RANKS: &[(&str, usize)] = &[
    ("domain::text", 0),
    ("domain::fault", 0),
    ("domain::yaml", 1),
    ("domain::object", 2),
    ("domain::settings", 2),
    ("domain::render", 3),
    ("domain::diff", 3),
    ("domain::fleet", 3),
    ("domain::drift", 4),
    ("domain::backfill", 5),
    ("domain::operate", 5),
    ("world::child", 5),
    ("session", 6),
    ("world::cluster", 6),
    ("world::git", 6),
    ("world::helm", 6),
    ("world::disk", 6),
    ("world::term", 6),
    ("ui", 7),
    ("world::demo", 7),
    ("runtime", 8),
    ("cli", 9),
];

/// What `domain` and `session` never name.
const OUTSIDE: &[&str] = &[
    "tokio::",
    "git2::",
    "kube::",
    "ratatui::",
    "crossterm::",
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "Instant::now",
    "SystemTime",
    "Timestamp::now",
    "Zoned::now",
    "ureq::",
    "directories::",
    "tempfile::",
];

/// One line that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Breach {
    line: usize,
    words: String,
}

fn room_of(path: &str) -> Option<(&'static str, usize)> {
    RANKS
        .iter()
        .find(|(room, _)| path == *room || path.starts_with(&format!("{room}::")))
        .copied()
}

/// Takes comments and the insides of strings and characters out, keeping the lines.
fn code_only(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &source[at..];
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(end) = raw_string(rest) {
            end
        } else if rest.starts_with('"') {
            quoted(rest)
        } else if rest.starts_with('\'') {
            character(rest)
        } else {
            0
        };
        if skipped == 0 {
            let c = rest.chars().next().unwrap();
            out.push(c);
            at += c.len_utf8();
        } else {
            out.extend(rest[..skipped].chars().filter(|c| *c == '\n'));
            at += skipped;
        }
    }
    out
}

fn raw_string(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let close = body.find(&end)?;
    Some(rest.len() - body.len() + close + end.len())
}

fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of a character literal, or 0 for a lifetime.
fn character(rest: &str) -> usize {
    let inner = &rest[1..];
    if let Some(escape) = inner.strip_prefix('\\') {
        return escape
            .char_indices()
            .skip(1)
            .find(|(_, c)| *c == '\'')
            .map_or(0, |(at, _)| at + 3);
    }
    let Some(c) = inner.chars().next() else {
        return 0;
    };
    if inner[c.len_utf8()..].starts_with('\'') {
        2 + c.len_utf8()
    } else {
        0
    }
}

/// Expands the use-tree that begins at `text` into full paths.
fn paths(prefix: &str, text: &str) -> Vec<String> {
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
        .unwrap_or(text.len());
    let head = &text[..end];
    let path = format!("{prefix}{head}");
    let Some(group) = text[end..]
        .strip_prefix('{')
        .filter(|_| head.is_empty() || head.ends_with("::"))
    else {
        return vec![path.trim_end_matches("::").to_owned()];
    };
    let mut depth = 0_usize;
    let mut from = 0;
    let mut all = vec![];
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                let item = group[from..at].trim();
                if !item.is_empty() {
                    all.extend(paths(&path, item));
                }
                from = at + 1;
                if c == '}' {
                    return all;
                }
            }
            _ => {}
        }
    }
    all
}

/// Returns every module path that `code` of module `module` names, with its 1-based line.
fn named(module: &str, code: &str) -> Vec<(usize, String)> {
    let tests_from = code.find("#[cfg(test)]").unwrap_or(usize::MAX);
    let mut all = vec![];
    for start in ["crate::", "super::"] {
        let mut from = 0;
        while let Some(found) = code[from..].find(start) {
            let at = from + found;
            from = at + start.len();
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            let mut rest = &code[at..];
            let prefix = if start == "crate::" {
                rest = &rest[start.len()..];
                String::new()
            } else {
                let mut parts: Vec<&str> = module.split("::").collect();
                if at > tests_from {
                    parts.push("tests");
                }
                while let Some(after) = rest.strip_prefix("super::") {
                    parts.pop();
                    rest = after;
                }
                parts.iter().flat_map(|part| [*part, "::"]).collect()
            };
            all.extend(paths(&prefix, rest).into_iter().map(|path| (line, path)));
        }
    }
    all
}

fn breaches(module: &str, source: &str) -> Vec<Breach> {
    let Some((room, rank)) = room_of(module) else {
        return vec![];
    };
    let code = code_only(source);
    let mut all: Vec<Breach> = named(module, &code)
        .into_iter()
        .filter_map(|(line, path)| {
            let (other, above) = room_of(&path)?;
            (other != room && above >= rank).then(|| Breach {
                line,
                words: format!("{room} looks up to {other}"),
            })
        })
        .collect();
    if room.starts_with("domain") || room == "session" {
        let own = &code[..code.find("#[cfg(test)]").unwrap_or(code.len())];
        for (nth, text) in own.lines().enumerate() {
            for name in OUTSIDE {
                let named = text.match_indices(name).any(|(at, _)| {
                    !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
                });
                if named {
                    let words = format!("{room} names {}", name.trim_end_matches(':'));
                    all.push(Breach {
                        line: nth + 1,
                        words,
                    });
                }
            }
        }
    }
    all
}

fn rust_files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, all);
        } else if path.extension().is_some_and(|e| e == "rs") {
            all.push(path);
        }
    }
}

#[test]
fn every_module_names_only_what_lies_below_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![];
    rust_files(&src, &mut files);
    files.sort();
    assert!(
        files.len() > 20,
        "only {} files found below {}",
        files.len(),
        src.display()
    );
    let mut said = vec![];
    let mut promises = vec![];
    for file in &files {
        let inside = file.strip_prefix(&src).unwrap().with_extension("");
        let module = inside.to_str().unwrap().replace('/', "::");
        let module = module.trim_end_matches("::mod").to_owned();
        let source = fs::read_to_string(file).unwrap();
        for breach in breaches(&module, &source) {
            said.push(format!(
                "src/{}.rs:{}: {}",
                inside.display(),
                breach.line,
                breach.words
            ));
        }
        if !source.starts_with("//!") {
            promises.push(format!(
                "src/{}.rs: does not open with its promise",
                inside.display()
            ));
        }
    }
    said.extend(promises);
    assert!(
        said.is_empty(),
        "{} breaches:\n{}",
        said.len(),
        said.join("\n")
    );
}

#[test]
fn the_check_sees_what_it_should() {
    let look = |module, source| {
        breaches(module, source)
            .into_iter()
            .map(|b| format!("{}: {}", b.line, b.words))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        look("domain::drift::compare", "use crate::ui::draw;"),
        ["1: domain::drift looks up to ui"]
    );
    assert_eq!(
        look(
            "domain::diff",
            "// crate::ui\nuse crate::domain::{text, fleet::App};"
        ),
        ["2: domain::diff looks up to domain::fleet"]
    );
    assert_eq!(
        look("domain::render::flux", "use super::super::drift::Owner;"),
        ["1: domain::render looks up to domain::drift"]
    );
    assert_eq!(
        look("session::update", "let x = std::fs::read(p);"),
        ["1: session names std::fs"]
    );
    assert_eq!(
        look(
            "domain::text",
            "const X: &str = \"tokio::spawn\"; // git2::x\n"
        ),
        [""; 0]
    );
    assert_eq!(look("runtime", "use crate::{ui, session};"), [""; 0]);
    assert_eq!(look("world::demo", "use super::cluster::Cluster;"), [""; 0]);
}
