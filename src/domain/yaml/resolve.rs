//! What a scalar means, by the rules of the two Go libraries.
//!
//! The order of the rules is theirs: exact words, then by the first character; see `crates.md` §1.2 for the table and
//! `tests/corpus/yaml` for what the real tools answered.

use base64::Engine as _;

use super::node::Style;
use super::{Dialect, timestamp};

/// What a scalar means.
#[derive(Debug, Clone, PartialEq)]
pub enum Resolved {
    /// `null`, `~`, nothing.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A whole number that fits.
    Int(i64),
    /// A whole number above [`i64::MAX`].
    UInt(u64),
    /// Any other number; infinities and not-a-number too, which JSON cannot carry.
    Float(f64),
    /// Text.
    Str(String),
}

/// Resolves a scalar. The error is one sentence: an explicit tag that the text does not fit.
pub fn resolve(
    text: &str,
    style: Style,
    tag: Option<&str>,
    dialect: Dialect,
) -> Result<Resolved, String> {
    // A lone `!` means text to kubectl's library and nothing to kustomize's.
    let (tag, quoted) = match tag {
        Some("!") => (None, style != Style::Plain || dialect == Dialect::Kubectl),
        tag => (tag, style != Style::Plain),
    };
    match tag {
        None if quoted => Ok(Resolved::Str(text.to_owned())),
        None => Ok(plain(text, dialect, true)),
        Some("!!binary") => base64::engine::general_purpose::STANDARD
            .decode(text.replace(['\n', '\r'], ""))
            .map(|bytes| Resolved::Str(String::from_utf8_lossy(&bytes).into_owned()))
            .map_err(|_| "!!binary value contains invalid base64 data".to_owned()),
        Some(tag @ ("!!bool" | "!!int" | "!!float" | "!!null" | "!!timestamp")) => {
            tagged(text, tag, dialect)
        }
        Some(_) => Ok(Resolved::Str(text.to_owned())),
    }
}

/// Resolves a scalar that says what it is.
fn tagged(text: &str, tag: &str, dialect: Dialect) -> Result<Resolved, String> {
    if tag == "!!timestamp" {
        return match (timestamp::rfc3339(text), dialect) {
            (Some(time), Dialect::Kustomize) => Ok(Resolved::Str(time)),
            (Some(_), Dialect::Kubectl) => Ok(Resolved::Str(text.to_owned())),
            (None, _) => Err(format!("cannot decode `{text}` as a {tag}")),
        };
    }
    match (plain(text, dialect, false), tag) {
        (Resolved::Null, "!!null") => Ok(Resolved::Null),
        (value @ Resolved::Bool(_), "!!bool")
        | (value @ (Resolved::Int(_) | Resolved::UInt(_)), "!!int")
        | (value @ Resolved::Float(_), "!!float") => Ok(value),
        (Resolved::Int(int), "!!float") => Ok(Resolved::Float(int as f64)),
        _ => Err(format!("cannot decode `{text}` as a {tag}")),
    }
}

/// Resolves an untagged plain scalar.
fn plain(text: &str, dialect: Dialect, times: bool) -> Resolved {
    if let Some(word) = word(text, dialect) {
        return word;
    }
    let number = match text.as_bytes().first() {
        Some(b'.') => without_separators(text)
            .and_then(|text| go_float(&text))
            .map(Resolved::Float),
        Some(b'0'..=b'9' | b'+' | b'-') => {
            if times && let Some(time) = timestamp::rfc3339(text) {
                return Resolved::Str(match dialect {
                    Dialect::Kustomize => time,
                    Dialect::Kubectl => text.to_owned(),
                });
            }
            number(&text.replace('_', ""), dialect)
        }
        _ => None,
    };
    number.unwrap_or_else(|| Resolved::Str(text.to_owned()))
}

/// Tells whether an untagged plain scalar would be a timestamp to both libraries.
pub(super) fn is_timestamp(text: &str) -> bool {
    timestamp::rfc3339(text).is_some()
}

/// Takes out the underscores that stand between digits; `None` where one stands elsewhere.
fn without_separators(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let between = |at: usize| at > 0 && digit(at - 1) && digit(at + 1);
    let stray = text.match_indices('_').any(|(at, _)| !between(at));
    (!stray).then(|| text.replace('_', ""))
}

/// Looks up the exact words.
fn word(text: &str, dialect: Dialect) -> Option<Resolved> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Resolved::Null,
        "true" | "True" | "TRUE" => Resolved::Bool(true),
        "false" | "False" | "FALSE" => Resolved::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Resolved::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Resolved::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Resolved::Float(f64::NEG_INFINITY),
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" if dialect == Dialect::Kubectl => {
            Resolved::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" if dialect == Dialect::Kubectl => {
            Resolved::Bool(false)
        }
        _ => return None,
    })
}

/// Reads a number that starts with a digit or a sign, underscores already taken out.
fn number(text: &str, dialect: Dialect) -> Option<Resolved> {
    if let Some(int) = go_int(text) {
        return Some(Resolved::Int(int));
    }
    if let Some(uint) = go_uint(text) {
        return Some(Resolved::UInt(uint));
    }
    if is_yaml_float(text) {
        return go_float(text).map(Resolved::Float);
    }
    // The libraries try these prefixes once more and take a sign behind them.
    let octal = dialect == Dialect::Kustomize;
    for (prefix, radix) in [("0b", 2), ("0o", 8)] {
        if radix == 8 && !octal {
            continue;
        }
        if let Some(digits) = text.strip_prefix(prefix) {
            let int = i64::from_str_radix(digits, radix).ok().map(Resolved::Int);
            let uint = || {
                u64::from_str_radix(digits, radix)
                    .ok()
                    .filter(|_| !digits.starts_with('+'))
            };
            return int.or_else(|| uint().map(Resolved::UInt));
        }
        if let Some(digits) = text
            .strip_prefix('-')
            .and_then(|rest| rest.strip_prefix(prefix))
        {
            return i64::from_str_radix(&format!("-{digits}"), radix)
                .ok()
                .map(Resolved::Int);
        }
    }
    None
}

/// Splits a base prefix off: `0x`, `0o`, `0b` in either case, a leading `0` for octal.
fn base(digits: &str) -> (&str, u32) {
    let prefix = digits.get(..2).map(str::to_ascii_lowercase);
    match prefix.as_deref() {
        Some("0x") => (&digits[2..], 16),
        Some("0o") => (&digits[2..], 8),
        Some("0b") => (&digits[2..], 2),
        Some(_) if digits.starts_with('0') => (&digits[1..], 8),
        _ => (digits, 10),
    }
}

fn go_int(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    let (digits, radix) = base(digits);
    if digits.starts_with(['+', '-']) {
        return None;
    }
    i64::from_str_radix(&format!("{sign}{digits}"), radix).ok()
}

fn go_uint(text: &str) -> Option<u64> {
    let (digits, radix) = base(text);
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// Tells whether `text` is a float by YAML's grammar: `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_yaml_float(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let unsigned = |text: &'_ str| text.strip_prefix(['-', '+']).map_or(text.len(), str::len);
    let mut rest = &text[text.len() - unsigned(text)..];
    let whole = digits(rest);
    rest = &rest[whole..];
    if let Some(after) = rest.strip_prefix('.') {
        let fraction = digits(after);
        if whole == 0 && fraction == 0 {
            return false;
        }
        rest = &after[fraction..];
    } else if whole == 0 {
        return false;
    }
    match rest.strip_prefix(['e', 'E']) {
        None => rest.is_empty(),
        Some(exponent) => {
            let exponent = &exponent[exponent.len() - unsigned(exponent)..];
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
    }
}

/// Reads a float as Go does; a value out of range is no float.
fn go_float(text: &str) -> Option<f64> {
    if !is_yaml_float(text) {
        return None;
    }
    text.parse::<f64>().ok().filter(|float| float.is_finite())
}
