//! Writing one document exactly as `kustomize build` does.
//!
//! kustomize's last step is JSON → go-yaml v2. What it writes follows from a few rules: keys in a natural order, indent
//! of two, lists at their key's column, lines broken at a space after column 80, text in the plainest style that reads
//! back as text. The way lines are broken and styles chosen follows libyaml (MIT) and its Go port, go-yaml v2
//! (Apache-2.0).

use serde_json::{Map, Number, Value};

use super::float::go_g;
use super::node::Style;
use super::order;
use super::resolve::{Resolved, resolve};
use super::{Dialect, resolve as rules};

/// The column after which a line is broken at the next space.
const WIDTH: usize = 80;
/// The longest key, in bytes, that is not written with `?`.
const SIMPLE_KEY: usize = 128;

/// Writes one document, final line break included, as `kustomize build` does.
pub fn emit(value: &Value) -> String {
    let mut writer = Writer {
        out: String::new(),
        column: 0,
        white: true,
        fresh: true,
    };
    writer.node(value, -1, Place::Root);
    writer.indent(0);
    writer.out
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Item,
    /// After `key:`.
    Value,
    /// A key of at most 128 bytes on one line.
    SimpleKey,
    /// A key after `? `.
    LongKey,
}

/// What the text of a scalar allows.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent answers about one text"
)]
struct Traits {
    multiline: bool,
    plain: bool,
    single: bool,
    block: bool,
}

struct Writer {
    out: String,
    /// In characters.
    column: usize,
    /// Whether white space stands before the cursor.
    white: bool,
    /// Whether only indentation (and dashes) stands before the cursor.
    fresh: bool,
}

impl Writer {
    fn node(&mut self, value: &Value, indent: isize, place: Place) {
        match value {
            Value::Array(items) if items.is_empty() => self.empty("[", "]"),
            Value::Object(map) if map.is_empty() => self.empty("{", "}"),
            Value::Array(items) => self.sequence(items, indent, place),
            Value::Object(map) => self.mapping(map, indent),
            Value::Null => self.plain("null", indent, false),
            Value::Bool(bool) => self.plain(if *bool { "true" } else { "false" }, indent, false),
            Value::Number(number) => self.plain(&number_text(number), indent, false),
            Value::String(text) => self.string(text, indent, place),
        }
    }

    fn empty(&mut self, open: &str, close: &str) {
        self.indicator(open, true);
        self.indicator(close, false);
        self.fresh = false;
    }

    fn sequence(&mut self, items: &[Value], indent: isize, place: Place) {
        let flush = matches!(place, Place::Value | Place::LongKey) && !self.fresh;
        let inner = deeper(indent, flush);
        for item in items {
            self.indent(inner);
            let fresh = self.fresh;
            self.indicator("-", true);
            self.fresh = fresh;
            self.node(item, inner, Place::Item);
        }
    }

    fn mapping(&mut self, map: &Map<String, Value>, indent: isize) {
        let inner = deeper(indent, false);
        for key in order::natural(map.keys()) {
            self.indent(inner);
            let simple = key.len() <= SIMPLE_KEY && !key.contains(is_break);
            if simple {
                self.string(key, inner, Place::SimpleKey);
                self.indicator(":", false);
                self.fresh = false;
            } else {
                let fresh = self.fresh;
                self.indicator("?", true);
                self.fresh = fresh;
                self.string(key, inner, Place::LongKey);
                self.indent(inner);
                let fresh = self.fresh;
                self.indicator(":", true);
                self.fresh = fresh;
            }
            self.node(map.get(key).unwrap_or(&Value::Null), inner, Place::Value);
        }
    }

    fn string(&mut self, text: &str, indent: isize, place: Place) {
        let traits = analyze(text);
        let simple_key = place == Place::SimpleKey;
        let style = style(text, &traits, simple_key);
        let inner = if indent < 0 { 2 } else { indent + 2 };
        match style {
            Style::Plain => self.plain(text, inner - 2, !simple_key),
            Style::Single => self.single(text, inner, !simple_key),
            Style::Double => self.double(text, inner, !simple_key),
            Style::Literal | Style::Folded => self.literal(text, inner),
        }
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    /// Copies a character that breaks lines.
    fn copy_break(&mut self, c: char) {
        self.out.push(c);
        self.column = 0;
    }

    fn indent(&mut self, indent: isize) {
        let indent = usize::try_from(indent).unwrap_or_default();
        if !self.fresh || self.column > indent || (self.column == indent && !self.white) {
            self.line_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.white = true;
        self.fresh = true;
    }

    /// Writes an indicator, after a space where `spaced` and none stands there.
    fn indicator(&mut self, text: &str, spaced: bool) {
        if spaced && !self.white {
            self.put(' ');
        }
        text.chars().for_each(|c| self.put(c));
        self.white = false;
    }

    fn plain(&mut self, text: &str, indent: isize, folds: bool) {
        if !self.white {
            self.put(' ');
        }
        let inner = if indent < 0 { 2 } else { indent + 2 };
        let mut spaces = false;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if c == ' ' {
                if folds && !spaces && self.column > WIDTH && chars.peek() != Some(&' ') {
                    self.indent(inner);
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                self.fresh = false;
                spaces = false;
            }
        }
        self.white = false;
        self.fresh = false;
    }

    fn single(&mut self, text: &str, indent: isize, folds: bool) {
        self.indicator("'", true);
        self.fresh = false;
        let (mut spaces, mut breaks) = (false, false);
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            if c == ' ' {
                let inside = at > 0 && next.is_some();
                if folds && !spaces && self.column > WIDTH && inside && next != Some(' ') {
                    self.indent(indent);
                } else {
                    self.put(c);
                }
                spaces = true;
            } else if is_break(c) {
                if !breaks && c == '\n' {
                    self.line_break();
                }
                self.copy_break(c);
                self.fresh = true;
                breaks = true;
            } else {
                if breaks {
                    self.indent(indent);
                }
                if c == '\'' {
                    self.put(c);
                }
                self.put(c);
                self.fresh = false;
                spaces = false;
                breaks = false;
            }
        }
        self.indicator("'", false);
        self.white = false;
        self.fresh = false;
    }

    fn double(&mut self, text: &str, indent: isize, folds: bool) {
        self.indicator("\"", true);
        self.fresh = false;
        let marked = text.starts_with('\u{feff}');
        let mut spaces = false;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            if !is_printable(c) || marked || is_break(c) || c == '"' || c == '\\' {
                escape(c).chars().for_each(|c| self.put(c));
                spaces = false;
            } else if c == ' ' {
                if folds && !spaces && self.column > WIDTH && at > 0 && next.is_some() {
                    self.indent(indent);
                    if next == Some(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
        }
        self.indicator("\"", false);
        self.white = false;
        self.fresh = false;
    }

    fn literal(&mut self, text: &str, indent: isize) {
        self.indicator("|", true);
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.put('2');
        }
        let mut ends = text.chars().rev();
        match (ends.next().is_some_and(is_break), ends.next()) {
            (false, _) => self.put('-'),
            (true, None) => self.put('+'),
            (true, Some(before)) if is_break(before) => self.put('+'),
            (true, Some(_)) => {}
        }
        self.line_break();
        self.fresh = true;
        self.white = true;
        let mut breaks = true;
        for c in text.chars() {
            if is_break(c) {
                self.copy_break(c);
                self.fresh = true;
                breaks = true;
            } else {
                if breaks {
                    self.indent(indent);
                }
                self.put(c);
                self.fresh = false;
                breaks = false;
            }
        }
    }
}

fn deeper(indent: isize, flush: bool) -> isize {
    match (indent, flush) {
        (..0, _) => 0,
        (_, true) => indent,
        (_, false) => indent + 2,
    }
}

/// Chooses the style of a text.
fn style(text: &str, traits: &Traits, simple_key: bool) -> Style {
    let mut style = if text.contains('\n') {
        Style::Literal
    } else if is_plain_text(text) {
        Style::Plain
    } else {
        Style::Double
    };
    if simple_key && traits.multiline {
        style = Style::Double;
    }
    if style == Style::Plain && (!traits.plain || (text.is_empty() && simple_key)) {
        style = Style::Single;
    }
    if style == Style::Single && !traits.single {
        style = Style::Double;
    }
    if style == Style::Literal && (!traits.block || simple_key) {
        style = Style::Double;
    }
    style
}

/// Tells whether a plain scalar of this text would be read as this text, also by readers that know base 60.
fn is_plain_text(text: &str) -> bool {
    matches!(
        resolve(text, Style::Plain, None, Dialect::Kubectl),
        Ok(Resolved::Str(_))
    ) && !rules::is_timestamp(text)
        && !is_base_60(text)
}

/// Matches `[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`.
pub(super) fn is_base_60(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = text.split(':');
    let first = parts.next().unwrap_or_default();
    if !first.starts_with(|c: char| c.is_ascii_digit())
        || !first.bytes().all(|b| b.is_ascii_digit() || b == b'_')
    {
        return false;
    }
    let rest: Vec<&str> = parts.collect();
    let Some((last, middle)) = rest.split_last() else {
        return false;
    };
    let sixty = |part: &str| match part.as_bytes() {
        [ones] | [b'0'..=b'5', ones] => ones.is_ascii_digit(),
        _ => false,
    };
    let (whole, fraction) = last.split_once('.').unwrap_or((last, ""));
    middle.iter().all(|part| sixty(part))
        && sixty(whole)
        && fraction.bytes().all(|b| b.is_ascii_digit() || b == b'_')
}

fn analyze(text: &str) -> Traits {
    if text.is_empty() {
        return Traits {
            plain: true,
            single: true,
            ..Traits::default()
        };
    }
    let mut indicators = text.starts_with("---") || text.starts_with("...");
    let (mut special, mut multiline, mut break_space, mut space_break) =
        (false, false, false, false);
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    let mut first = true;
    while let Some(c) = chars.next() {
        let blank_after = chars.peek().is_none_or(|next| is_blank(*next));
        indicators |= match c {
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
            | '@' | '`'
                if first =>
            {
                true
            }
            '?' | '-' if first => blank_after,
            ':' => blank_after,
            '#' => is_blank(before) || is_break(before) || before == '\0',
            _ => false,
        };
        special |= !is_printable(c);
        if c == ' ' {
            break_space |= !first && is_break(before);
        } else if is_break(c) {
            multiline = true;
            space_break |= !first && before == ' ';
        }
        before = c;
        first = false;
    }
    let edge = |c: char| c == ' ' || is_break(c);
    let edges = text.starts_with(edge) || text.ends_with(edge);
    let odd = space_break || special;
    Traits {
        multiline,
        plain: !(edges || break_space || odd || multiline || indicators),
        single: !(break_space || odd),
        block: !(text.ends_with(' ') || odd),
    }
}

fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

/// Tells whether go-yaml takes the character for a line break.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Tells whether go-yaml writes the character as it is.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

pub(super) fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            let code = u32::from(c);
            return match code {
                0..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}

/// Returns a number's text: Go's JSON, read again by go-yaml v2.
fn number_text(number: &Number) -> String {
    if number.is_i64() || number.is_u64() {
        return number.to_string();
    }
    let float = number.as_f64().unwrap_or_default();
    match super::json::number(float) {
        Some(whole) if whole.is_i64() || whole.is_u64() => whole.to_string(),
        _ => go_g(float),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn writes_maps_lists_and_scalars_as_kustomize_does() {
        let value = json!({
            "b": [], "a": {}, "list": [1, [2, 3], {"x": null, "y": [true]}],
            "k10": "yes", "k9": "1:30", "text": "a\nb\n", "keep": "a\n\n", "strip": " a\nb",
            "s": "a: b", "e": "", "date": "2024-01-01", "emoji": "\u{1f600}",
        });
        assert_eq!(
            emit(&value),
            "a: {}\nb: []\ndate: \"2024-01-01\"\ne: \"\"\nemoji: \"\\U0001F600\"\nk9: \"1:30\"\nk10: \"yes\"\n\
             keep: |+\n  a\n\nlist:\n- 1\n- - 2\n  - 3\n- x: null\n  \"y\":\n  - true\ns: 'a: b'\nstrip: |2-\n   a\n  b\n\
             text: |\n  a\n  b\n"
        );
    }

    #[test]
    fn breaks_long_lines_at_a_space_after_column_80() {
        let value = json!({"a": "word ".repeat(20).trim_end()});
        let expected = format!(
            "a: {}\n  {}\n",
            "word ".repeat(16).trim_end(),
            "word word word word"
        );
        assert_eq!(emit(&value), expected);
    }
}
