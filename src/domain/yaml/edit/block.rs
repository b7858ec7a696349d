//! New text for block scalars (`|`, `>`): style, chomping and indentation stay, unchanged lines stay byte for byte.

use super::super::{Node, Style};
use super::Splice;
use super::place::Page;
use super::write::{double, is_writable};

/// A block scalar taken apart.
struct Parts<'t> {
    /// `|` or `>`.
    indicator: &'t str,
    digit: &'t str,
    chomp: &'t str,
    /// What follows on the header's line: a comment.
    tail: &'t str,
    /// The lines below, without line breaks.
    lines: Vec<&'t str>,
    /// Spaces before each line's text.
    indent: usize,
    line_break: &'static str,
}

/// Returns the spellings of `new` for the block scalar `node`, best first.
///
/// `parent` is the column of the mapping or dash that holds it.
pub(super) fn candidates(page: &Page<'_>, node: Node<'_>, parent: usize, new: &str) -> Vec<Splice> {
    let range = node.span();
    let old = node.text().unwrap_or_default();
    let splice = |text: String| Splice {
        range: range.clone(),
        text,
    };
    let mut found = vec![];
    let fits = new
        .chars()
        .all(|c| c == '\n' || c == '\t' || is_writable(c));
    if fits && !new.trim_end_matches('\n').is_empty() {
        let parts = take_apart(page, node, parent);
        if node.style() == Some(Style::Folded) {
            found.extend(within_paragraph(&parts, old, new).map(splice));
            found.extend(paragraphs(&parts, parent, new).map(splice));
        } else {
            found.extend(
                parts.headers(parent, new, false).into_iter().map(|header| {
                    splice(parts.write(&header, &reuse_lines(&parts, old, new), new))
                }),
            );
        }
        let lines: Vec<String> = fresh_lines(&parts, new);
        let headers = parts.headers(parent, new, true);
        found.extend(
            headers
                .into_iter()
                .map(|header| splice(parts.write(&header, &lines, new))),
        );
    }
    found.push(splice(double(new)));
    found
}

fn take_apart<'t>(page: &Page<'t>, node: Node<'_>, parent: usize) -> Parts<'t> {
    let text = &page.text[node.span()];
    let (header, body) = text.split_once('\n').unwrap_or((text, ""));
    let header = header.trim_end_matches('\r');
    let token = header.split([' ', '\t']).next().unwrap_or_default();
    let find = |set: &[char]| token.find(set).map_or("", |at| &token[at..=at]);
    let lines: Vec<&str> = if text.contains('\n') {
        body.split('\n')
            .map(|line| line.trim_end_matches('\r'))
            .collect()
    } else {
        vec![]
    };
    let leading = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let filled = |line: &&&str| !line.trim_matches(' ').is_empty();
    let digit = find(&['1', '2', '3', '4', '5', '6', '7', '8', '9']);
    let indent = match digit.parse::<usize>() {
        Ok(digit) => parent + digit,
        Err(_) => lines
            .iter()
            .find(filled)
            .map_or(parent + 2, |line| leading(line)),
    };
    Parts {
        indicator: token.get(..1).unwrap_or("|"),
        digit,
        chomp: find(&['+', '-']),
        tail: &header[token.len()..],
        lines,
        indent,
        line_break: page.line_break(node.span().start),
    }
}

impl Parts<'_> {
    /// Returns the headers to try: the one that stands there, then the one that the text needs.
    fn headers(&self, parent: usize, new: &str, literal: bool) -> Vec<String> {
        let indicator = if literal { "|" } else { self.indicator };
        let first = new.trim_start_matches('\n');
        let digit = match (self.digit.is_empty(), first.starts_with([' ', '\t'])) {
            (true, true) => (self.indent - parent.min(self.indent)).to_string(),
            _ => self.digit.to_owned(),
        };
        let needed = match new.len() - new.trim_end_matches('\n').len() {
            0 => "-",
            1 => "",
            _ => "+",
        };
        let header = |chomp: &str| format!("{indicator}{digit}{chomp}{}", self.tail);
        let mut headers = vec![header(self.chomp)];
        if self.chomp != needed {
            headers.push(header(needed));
        }
        headers
    }

    /// Puts header and lines together; the last line break is outside the span.
    fn write(&self, header: &str, lines: &[String], new: &str) -> String {
        let mut out = header.to_owned();
        for line in lines {
            out.push_str(self.line_break);
            out.push_str(line);
        }
        let breaks = new.len() - new.trim_end_matches('\n').len();
        for _ in 1..breaks {
            out.push_str(self.line_break);
        }
        out
    }

    fn line(&self, text: &str) -> String {
        if text.is_empty() {
            String::new()
        } else {
            format!("{}{text}", " ".repeat(self.indent))
        }
    }
}

fn fresh_lines(parts: &Parts<'_>, new: &str) -> Vec<String> {
    let lines = new.trim_end_matches('\n').split('\n');
    lines.map(|line| parts.line(line)).collect()
}

/// Writes a literal's lines; those at the head and the tail that did not change keep their bytes.
fn reuse_lines(parts: &Parts<'_>, old: &str, new: &str) -> Vec<String> {
    let old: Vec<&str> = old.trim_end_matches('\n').split('\n').collect();
    let new_lines: Vec<&str> = new.trim_end_matches('\n').split('\n').collect();
    if parts.lines.len() < old.len() {
        return fresh_lines(parts, new);
    }
    let head = old
        .iter()
        .zip(&new_lines)
        .take_while(|(a, b)| a == b)
        .count();
    let rest = old.len().min(new_lines.len()) - head;
    let tail = old.iter().rev().zip(new_lines.iter().rev()).take(rest);
    let tail = tail.take_while(|(a, b)| a == b).count();
    let middle = &new_lines[head..new_lines.len() - tail];
    let kept = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| (*line).to_owned())
            .collect::<Vec<_>>()
    };
    let mut lines = kept(&parts.lines[..head]);
    lines.extend(middle.iter().map(|line| parts.line(line)));
    lines.extend(kept(&parts.lines[old.len() - tail..old.len()]));
    lines
}

/// Changes only what differs inside a folded paragraph, so that its line breaks stay.
fn within_paragraph(parts: &Parts<'_>, old: &str, new: &str) -> Option<String> {
    let (body, wanted) = (old.trim_end_matches('\n'), new.trim_end_matches('\n'));
    if old.len() - body.len() != new.len() - wanted.len()
        || body.contains('\n')
        || wanted.contains('\n')
    {
        return None;
    }
    let words: Vec<&str> = parts
        .lines
        .iter()
        .map(|line| line.trim_matches(' '))
        .collect();
    if words.iter().any(|line| line.is_empty()) || words.join(" ") != body {
        return None;
    }
    let head = common(body.chars(), wanted.chars());
    let room = body.len().min(wanted.len()) - head;
    let tail = common(body.chars().rev(), wanted.chars().rev()).min(room);
    let tail = (0..=tail).rev().find(|tail| {
        body.is_char_boundary(body.len() - tail) && wanted.is_char_boundary(wanted.len() - tail)
    })?;
    let (from, to) = (head, body.len() - tail);
    let middle = &wanted[head..wanted.len() - tail];
    // Build the text with breaks where they stood, as far as they lie outside the change.
    let mut lines: Vec<String> = vec![];
    let mut line = String::new();
    let mut at = 0;
    let mut placed = false;
    for (number, words) in words.iter().enumerate() {
        if number > 0 {
            if at < from || at >= to {
                lines.push(std::mem::take(&mut line));
            }
            at += 1;
        }
        for c in words.chars() {
            if at >= from && !placed {
                line.push_str(middle);
                placed = true;
            }
            if at < from || at >= to {
                line.push(c);
            }
            at += c.len_utf8();
        }
    }
    if !placed {
        line.push_str(middle);
    }
    lines.push(line);
    let lines: Vec<String> = lines.iter().map(|line| parts.line(line)).collect();
    let header = format!(
        "{}{}{}{}",
        parts.indicator, parts.digit, parts.chomp, parts.tail
    );
    Some(parts.write(&header, &lines, new))
}

fn common(a: impl Iterator<Item = char>, b: impl Iterator<Item = char>) -> usize {
    a.zip(b)
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum()
}

/// Writes a folded text anew: one line for each of its lines, a blank one between.
fn paragraphs(parts: &Parts<'_>, parent: usize, new: &str) -> Option<String> {
    let body = new.trim_end_matches('\n');
    if body.split('\n').any(|line| line.starts_with([' ', '\t'])) || body.starts_with('\n') {
        return None;
    }
    let lines: Vec<String> = body
        .replace('\n', "\n\n")
        .split('\n')
        .map(|line| parts.line(line))
        .collect();
    let header = parts.headers(parent, new, false).pop()?;
    Some(parts.write(&header, &lines, new))
}
