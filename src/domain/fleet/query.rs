//! Which apps to show, and in which order.
//!
//! A query is words: plain text is looked for in names and sources (and, failing that, as letters in order in the
//! name), `key:pattern` asks one column, `!` turns a word around, commas inside a pattern mean "or", `*` and `?` are
//! wildcards. All words must hold. A word that makes no sense is a fault, so that a typing error never hides apps.

use std::cmp::{Ordering, Reverse};
use std::str::FromStr;

use jiff::Timestamp;

use super::app::App;
use super::json;
use crate::domain::fault::{Fault, FaultKind};

/// By what rows are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum SortKey {
    /// Most urgent first.
    #[default]
    State,
    /// By name.
    Name,
    /// Newest state first.
    Age,
    /// Most drift first.
    Drift,
    /// By context.
    Context,
}

impl SortKey {
    /// All keys.
    pub const ALL: [Self; 5] = [
        Self::State,
        Self::Name,
        Self::Age,
        Self::Drift,
        Self::Context,
    ];

    /// Returns its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Name => "name",
            Self::Age => "age",
            Self::Drift => "drift",
            Self::Context => "context",
        }
    }

    /// Compares two apps; equal ones are ordered by state, then by context, kind, namespace and name.
    pub fn compare(self, a: &App, b: &App) -> Ordering {
        let name = |x: &App| (x.app.target.name.clone(), x.app.target.namespace.clone());
        let drift = |x: &App| x.current_drift().map_or(0, |d| d.drifted);
        let first = match self {
            Self::State => Ordering::Equal,
            Self::Name => name(a).cmp(&name(b)),
            Self::Age => Reverse(a.since).cmp(&Reverse(b.since)),
            Self::Drift => drift(b).cmp(&drift(a)),
            Self::Context => a.app.context.cmp(&b.app.context),
        };
        first
            .then_with(|| a.state.cmp(&b.state))
            .then_with(|| a.app.cmp(&b.app))
    }
}

/// A filter over the fleet; the empty one matches everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    words: Vec<Word>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    not: bool,
    ask: Ask,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Ask {
    Text(String),
    Column(Column, Vec<String>),
    Drift(Comparison, usize),
    Age(Comparison, i64),
    Label(String, Option<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Context,
    Namespace,
    Name,
    Kind,
    State,
    By,
    Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    Equal,
    AtLeast,
    More,
}

impl Comparison {
    fn split(text: &str) -> (Self, &str) {
        for (sign, comparison) in [
            ("<=", Self::AtMost),
            (">=", Self::AtLeast),
            ("<", Self::Less),
            (">", Self::More),
            ("=", Self::Equal),
        ] {
            if let Some(rest) = text.strip_prefix(sign) {
                return (comparison, rest);
            }
        }
        (Self::Equal, text)
    }

    fn holds<T: Ord>(self, value: &T, bound: &T) -> bool {
        match self {
            Self::Less => value < bound,
            Self::AtMost => value <= bound,
            Self::Equal => value == bound,
            Self::AtLeast => value >= bound,
            Self::More => value > bound,
        }
    }
}

impl Query {
    /// Tells whether the query matches everything.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Tells whether an app matches.
    pub fn matches(&self, app: &App, now: Timestamp) -> bool {
        self.words
            .iter()
            .all(|word| word.ask.holds(app, now) != word.not)
    }
}

impl Ask {
    fn holds(&self, app: &App, now: Timestamp) -> bool {
        match self {
            Self::Text(text) => text_holds(app, text),
            Self::Column(column, patterns) => {
                let values = column.values(app);
                patterns
                    .iter()
                    .any(|pattern| values.iter().any(|value| glob(pattern, value)))
            }
            Self::Drift(comparison, bound) => app
                .current_drift()
                .is_some_and(|drift| comparison.holds(&drift.drifted, bound)),
            Self::Age(comparison, bound) => app.since.is_some_and(|since| {
                comparison.holds(&(now.as_second() - since.as_second()), bound)
            }),
            Self::Label(key, value) => app
                .labels
                .iter()
                .any(|(k, v)| k == key && value.as_ref().is_none_or(|wanted| glob(wanted, v))),
        }
    }
}

impl Column {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "ctx" | "context" => Self::Context,
            "ns" | "namespace" => Self::Namespace,
            "name" => Self::Name,
            "kind" => Self::Kind,
            "state" => Self::State,
            "by" => Self::By,
            "src" | "source" => Self::Source,
            _ => return None,
        })
    }

    fn values(self, app: &App) -> Vec<&str> {
        let target = &app.app.target;
        match self {
            Self::Context => vec![&app.app.context],
            Self::Namespace => vec![&target.namespace],
            Self::Name => vec![&target.name],
            Self::Kind => vec![target.kind.short(), target.kind.kind()],
            Self::State => vec![app.state.word()],
            Self::By => app
                .current_drift()
                .and_then(|d| d.owner.as_ref())
                .map(|o| o.manager.as_str())
                .into_iter()
                .collect(),
            Self::Source => app.sources.iter().map(|s| s.url.as_str()).collect(),
        }
    }
}

fn text_holds(app: &App, text: &str) -> bool {
    let target = &app.app.target;
    let name = format!(
        "{}/{}/{}",
        target.kind.short(),
        target.namespace,
        target.name
    );
    let found = |hay: &str| hay.to_lowercase().contains(text);
    found(&name)
        || found(&app.app.context)
        || app.sources.iter().any(|s| found(&s.url) || found(&s.path))
        || in_order(text, &target.name)
}

/// Tells whether the letters of `text` stand in `name` in that order.
fn in_order(text: &str, name: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    text.chars().all(|c| letters.any(|l| l == c))
}

/// Tells whether `text` matches a pattern with `*` and `?`, whatever the case; without wildcards it must be equal.
fn glob(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.to_lowercase().chars().collect();
    let text: Vec<char> = text.to_lowercase().chars().collect();
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((at, from)) = star {
            (p, t, star) = (at + 1, from + 1, Some((at, from + 1)));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

impl FromStr for Query {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let mut words = vec![];
        let mut parts = text.split_whitespace();
        while let Some(part) = parts.next() {
            let (not, part) = match part.strip_prefix('!') {
                Some(rest) => (true, rest),
                None => (false, part),
            };
            if part.is_empty() {
                continue;
            }
            let ask = if part == "-l" {
                label(parts.next().unwrap_or_default())?
            } else {
                ask(part)?
            };
            words.push(Word { not, ask });
        }
        Ok(Self { words })
    }
}

fn wrong(sentence: String) -> Fault {
    Fault::new(FaultKind::Usage, sentence).hint(
        "write text, !text, ctx:, ns:, name:, kind:, state:, by:, source:, label:, drift:>0 or age:<2h",
    )
}

fn ask(part: &str) -> Result<Ask, Fault> {
    let Some((key, value)) = part.split_once(':') else {
        return Ok(Ask::Text(part.to_lowercase()));
    };
    match key {
        "drift" => {
            let (comparison, number) = Comparison::split(value);
            number
                .parse()
                .map(|number| Ask::Drift(comparison, number))
                .map_err(|_| wrong(format!("`{part}` compares with no number")))
        }
        "age" => {
            let (comparison, span) = Comparison::split(value);
            seconds(span)
                .map(|span| Ask::Age(comparison, span))
                .ok_or_else(|| wrong(format!("`{part}` compares with no time such as 2h")))
        }
        "label" => label(value),
        key => match Column::of(key) {
            Some(_) if value.is_empty() => Err(wrong(format!("`{part}` asks for nothing"))),
            Some(column) => Ok(Ask::Column(
                column,
                value.split(',').map(str::to_owned).collect(),
            )),
            None => Err(wrong(format!("`{key}:` is no column"))),
        },
    }
}

fn label(text: &str) -> Result<Ask, Fault> {
    if text.is_empty() {
        return Err(wrong("a label is missing".to_owned()));
    }
    Ok(match text.split_once('=') {
        Some((key, value)) => Ask::Label(
            key.to_owned(),
            Some(value.trim_start_matches('=').to_owned()),
        ),
        None => Ask::Label(text.to_owned(), None),
    })
}

fn seconds(text: &str) -> Option<i64> {
    let days = |unit: char, factor: i64| {
        text.strip_suffix(unit)
            .and_then(|n| n.parse::<i64>().ok())
            .map(|n| n * factor)
    };
    days('w', 604_800)
        .or_else(|| days('d', 86_400))
        .or_else(|| json::go_duration(text))
}
