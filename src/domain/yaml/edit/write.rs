//! New text: scalars in the style that stands there, collections in the habits of the file.

use serde_json::Value;

use super::super::emit::{escape, is_base_60};
use super::super::resolve::is_timestamp;
use super::super::{Dialect, Resolved, Style, resolve};

/// The habits of a file.
#[derive(Clone, Copy)]
pub(super) struct Habits {
    /// Indentation of nested mappings.
    pub(super) unit: usize,
    /// Indentation of lists under their key.
    pub(super) list: usize,
}

/// Writes a scalar (or an empty collection) on one line, in `style` where that is possible.
pub(super) fn scalar(value: &Value, style: Option<Style>, in_flow: bool) -> String {
    match value {
        Value::String(text) => string(text, style, in_flow),
        Value::Array(_) => "[]".to_owned(),
        Value::Object(_) => "{}".to_owned(),
        other => other.to_string(),
    }
}

fn string(text: &str, style: Option<Style>, in_flow: bool) -> String {
    match style {
        Some(Style::Single) if fits_single(text) => single(text),
        Some(Style::Single | Style::Double) => double(text),
        _ if is_safe_plain(text, in_flow) => text.to_owned(),
        _ if !reads_as_text(text) || !fits_single(text) || text.contains('\'') => double(text),
        _ => single(text),
    }
}

/// Writes a key.
pub(super) fn key(text: &str, style: Option<Style>, in_flow: bool) -> String {
    string(text, style, in_flow)
}

fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Writes a double-quoted scalar; what can be printed stays as it is.
pub(super) fn double(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        if c == '"' || c == '\\' || !is_writable(c) {
            out.push_str(&escape(c));
        } else {
            out.push(c);
        }
    }
    out.push('"');
    out
}

fn fits_single(text: &str) -> bool {
    text.chars().all(is_writable)
}

/// Tells whether the character may stand in a file as it is, on one line.
pub(super) fn is_writable(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}'
        )
}

/// Tells whether both dialects, and older readers, take the plain text for text.
fn reads_as_text(text: &str) -> bool {
    let is_text = |dialect| matches!(resolve(text, Style::Plain, None, dialect), Ok(Resolved::Str(read)) if read == text);
    is_text(Dialect::Kustomize)
        && is_text(Dialect::Kubectl)
        && !is_timestamp(text)
        && !is_base_60(text)
        && text != "<<"
        && text != "="
}

/// Tells whether the text may be written without quotes.
fn is_safe_plain(text: &str, in_flow: bool) -> bool {
    let edges = text.starts_with(' ') || text.ends_with(' ') || text.ends_with(':');
    if text.is_empty() || edges || text.starts_with("---") || text.starts_with("...") {
        return false;
    }
    let starts_badly = text.starts_with([
        '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`',
    ]);
    let dashed =
        text.starts_with(['-', '?', ':']) && text[1..].chars().next().is_none_or(|c| c == ' ');
    let flow = in_flow
        && (text.contains([',', '[', ']', '{', '}', '?'])
            || text.starts_with([':', '-']) && !text.starts_with("--"));
    let lone_dash = in_flow && text.trim_start_matches('-').is_empty();
    reads_as_text(text)
        && text.chars().all(is_writable)
        && !(starts_badly || dashed || flow || lone_dash)
        && !text.contains(": ")
        && !text.contains(" #")
}

/// Writes any value on one line.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let entry = |(name, value): (&String, &Value)| {
                format!("{}: {}", key(name, None, true), flow(value))
            };
            let entries: Vec<String> = map.iter().map(entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => scalar(other, None, true),
    }
}

/// Writes a value as block lines without the indentation of the first level; a scalar is one line, or a block scalar.
pub(super) fn block(value: &Value, habits: Habits) -> Vec<String> {
    match value {
        Value::Object(map) if !map.is_empty() => map
            .iter()
            .flat_map(|(name, value)| entry(name, value, habits))
            .collect(),
        Value::Array(items) if !items.is_empty() => items
            .iter()
            .flat_map(|value| item(value, 1, habits))
            .collect(),
        other => vec![scalar(other, None, false)],
    }
}

/// Writes `key: value` as block lines.
pub(super) fn entry(name: &str, value: &Value, habits: Habits) -> Vec<String> {
    entry_with(&key(name, None, false), value, habits)
}

/// Writes an entry whose key is already text.
pub(super) fn entry_with(name: &str, value: &Value, habits: Habits) -> Vec<String> {
    match value {
        Value::Object(map) if !map.is_empty() => {
            nested(format!("{name}:"), habits.unit, &block(value, habits))
        }
        Value::Array(items) if !items.is_empty() => {
            nested(format!("{name}:"), habits.list, &block(value, habits))
        }
        Value::String(text) if is_block_text(text) => {
            literal(&format!("{name}: "), text, habits.unit)
        }
        other => vec![format!("{name}: {}", scalar(other, None, false))],
    }
}

/// Writes `- value` as block lines, `gap` spaces after the dash.
pub(super) fn item(value: &Value, gap: usize, habits: Habits) -> Vec<String> {
    if let Value::String(text) = value
        && is_block_text(text)
    {
        return literal(&format!("-{}", " ".repeat(gap)), text, habits.unit);
    }
    let lines = block(value, habits);
    let indent = " ".repeat(gap);
    let first = format!("-{indent}");
    let lines = lines
        .into_iter()
        .enumerate()
        .map(|(at, line)| match (at, line.is_empty()) {
            (0, _) => format!("{first}{line}"),
            (_, true) => line,
            (_, false) => format!(" {indent}{line}"),
        });
    lines.collect()
}

fn nested(head: String, step: usize, lines: &[String]) -> Vec<String> {
    let indent = " ".repeat(step);
    let indented = lines.iter().map(|line| {
        if line.is_empty() {
            String::new()
        } else {
            format!("{indent}{line}")
        }
    });
    std::iter::once(head).chain(indented).collect()
}

/// Tells whether a text is best written as a literal block.
fn is_block_text(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && !text.ends_with("\n\n")
        && text
            .chars()
            .all(|c| c == '\n' || c == '\t' || is_writable(c))
}

fn literal(head: &str, text: &str, step: usize) -> Vec<String> {
    let chomp = if text.ends_with('\n') { "" } else { "-" };
    let lines: Vec<String> = text
        .trim_end_matches('\n')
        .split('\n')
        .map(str::to_owned)
        .collect();
    nested(format!("{head}|{chomp}"), step, &lines)
}
