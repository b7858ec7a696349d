//! From parts to pieces: the operators, on bytes, as the controller computes them.

use super::parse::{Call, Node};
use super::{Piece, Unexpanded, glob};

type Lookup<'f, 'v> = dyn Fn(&str) -> Option<&'v [u8]> + 'f;

/// Computes every part.
pub(super) fn run(
    nodes: &[Node],
    lookup: &Lookup<'_, '_>,
    strict: bool,
) -> Result<Vec<Piece>, Unexpanded> {
    nodes
        .iter()
        .map(|node| {
            let source = match node {
                Node::Text(_, source) => source.clone(),
                Node::Call(call) => call.source.clone(),
            };
            let (text, reads) = value_of(node, lookup, strict)?;
            Ok(Piece {
                text,
                source,
                reads,
            })
        })
        .collect()
}

fn value_of(
    node: &Node,
    lookup: &Lookup<'_, '_>,
    strict: bool,
) -> Result<(Vec<u8>, Vec<String>), Unexpanded> {
    match node {
        Node::Text(text, _) => Ok((text.clone().into_bytes(), vec![])),
        Node::Call(call) => value_of_call(call, lookup, strict),
    }
}

/// Parameters are computed before the variable is looked at: a missing one inside an unused default fails too.
fn value_of_call(
    call: &Call,
    lookup: &Lookup<'_, '_>,
    strict: bool,
) -> Result<(Vec<u8>, Vec<String>), Unexpanded> {
    let mut inner = vec![];
    let mut parameters = vec![];
    for parameter in &call.parameters {
        let (text, reads) = value_of(parameter, lookup, strict)?;
        parameters.push(text);
        inner.extend(reads);
    }
    let found = lookup(&call.name);
    if found.is_none() && strict && !gives_default(&call.operator) {
        return Err(Unexpanded::NotSet(call.name.clone()));
    }
    let value = found.unwrap_or_default();
    let text = apply(&call.operator, value, &parameters);
    let mut reads = vec![];
    let defaulted = gives_default(&call.operator) && value.is_empty();
    if !defaulted || inner.is_empty() {
        reads.push(call.name.clone());
    }
    if defaulted || !gives_default(&call.operator) {
        reads.extend(inner);
    }
    Ok((text, reads))
}

fn gives_default(operator: &str) -> bool {
    matches!(operator, "=" | ":-" | ":+" | ":=" | ":?")
}

fn apply(operator: &str, value: &[u8], parameters: &[Vec<u8>]) -> Vec<u8> {
    let first = parameters.first().map_or(&b""[..], Vec::as_slice);
    let second = parameters.get(1).map(Vec::as_slice);
    match operator {
        "," => recase_first(value, lower),
        "^" => recase_first(value, upper),
        ",," => recase(value, lower),
        "^^" => recase(value, upper),
        "#" if parameters.is_empty() => value.len().to_string().into_bytes(),
        "#" => value[shortest_head(value, first)..].to_vec(),
        "##" => value[longest_head(value, first)..].to_vec(),
        "%" => cut_tail(value, first, shortest_head),
        "%%" => cut_tail(value, first, longest_head),
        ":" => substring(value, first, second),
        "/" => replace(value, first, second.unwrap_or_default(), 1),
        "//" => replace(value, first, second.unwrap_or_default(), usize::MAX),
        "/#" if second.is_some() && value.starts_with(first) => {
            replace(value, first, second.unwrap_or_default(), 1)
        }
        "/%" if value.ends_with(first) => match second {
            Some(second) => [&value[..value.len() - first.len()], second].concat(),
            None => value.to_vec(),
        },
        "/#" | "/%" => value.to_vec(),
        // `,^` and `^,` parse and do nothing, as do all the ways to write a default
        _ if value.is_empty() => parameters.concat(),
        _ => value.to_vec(),
    }
}

/// Applies `case` to every character; bytes that are no UTF-8 become the replacement character, as in Go.
fn recase(value: &[u8], case: fn(char) -> char) -> Vec<u8> {
    String::from_utf8_lossy(value)
        .chars()
        .map(case)
        .collect::<String>()
        .into_bytes()
}

fn recase_first(value: &[u8], case: fn(char) -> char) -> Vec<u8> {
    let (first, width) = glob::decode(value);
    let mut out = vec![];
    if width > 0 {
        out.extend(case(first).to_string().into_bytes());
    }
    out.extend_from_slice(&value[width..]);
    out
}

/// One character for one: letters whose lower case is several characters keep the first.
fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// One character for one: letters whose upper case is several characters (`ß`) stay.
fn upper(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

/// Returns how many bytes the shortest non-empty head takes that `pattern` matches; 0 where none does.
fn shortest_head(value: &[u8], pattern: &[u8]) -> usize {
    (1..=value.len())
        .find(|end| glob(pattern, &value[..*end]))
        .unwrap_or(0)
}

fn longest_head(value: &[u8], pattern: &[u8]) -> usize {
    (1..=value.len())
        .rev()
        .find(|end| glob(pattern, &value[..*end]))
        .unwrap_or(0)
}

/// Cuts a tail by reading value and pattern backwards, character by character.
fn cut_tail(value: &[u8], pattern: &[u8], head: fn(&[u8], &[u8]) -> usize) -> Vec<u8> {
    let value = reversed(value);
    let cut = head(&value, &reversed(pattern));
    reversed(&value[cut..])
}

fn reversed(value: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(value)
        .chars()
        .rev()
        .collect::<String>()
        .into_bytes()
}

/// A position or length that is no number gives the whole value; negative ones count from the end.
fn substring(value: &[u8], position: &[u8], length: Option<&[u8]>) -> Vec<u8> {
    let from_end = |back: i64| {
        let back = usize::try_from(back.unsigned_abs()).unwrap_or(usize::MAX);
        value.len().checked_sub(back)
    };
    let position = match number(position) {
        None => return value.to_vec(),
        Some(position) => {
            usize::try_from(position).unwrap_or_else(|_| from_end(position).unwrap_or(0))
        }
    };
    let end = match length.map(number) {
        None => value.len(),
        Some(None) => return value.to_vec(),
        Some(Some(length)) => match usize::try_from(length) {
            Ok(length) => position.saturating_add(length).min(value.len()),
            Err(_) => from_end(length).unwrap_or(0),
        },
    };
    value.get(position..end).unwrap_or_default().to_vec()
}

/// Reads a decimal number as Go's `Atoi` does: a sign and digits, nothing else.
fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Replaces the first `most` places of `what`; an empty `what` stands before every character and at the end.
fn replace(value: &[u8], what: &[u8], with: &[u8], most: usize) -> Vec<u8> {
    let mut out = vec![];
    let mut rest = value;
    let mut done = 0;
    while done < most {
        if what.is_empty() {
            out.extend_from_slice(with);
            done += 1;
            let (_, width) = glob::decode(rest);
            if width == 0 {
                return out;
            }
            out.extend_from_slice(&rest[..width]);
            rest = &rest[width..];
            continue;
        }
        let Some(at) = rest.windows(what.len()).position(|window| window == what) else {
            break;
        };
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(with);
        rest = &rest[at + what.len()..];
        done += 1;
    }
    out.extend_from_slice(rest);
    out
}
