//! The text that nodes point into: UTF-8 with byte offsets of the file itself, and its lines.
//!
//! Two things are taken out before the parser sees a file, and every offset is put back to the file's own count: byte
//! order marks (also the one at the head of a later document, which the Go tools accept) and bytes that are no UTF-8
//! (their document is reported, the others are kept).

use std::ops::Range;

/// The mark that Windows editors put at the head of a file.
const BOM: &str = "\u{feff}";

/// A file's text, with the offsets of its lines.
#[derive(Debug)]
pub(super) struct Source {
    /// The text as read; each byte that is no UTF-8 stands as `_`, so that offsets stay true.
    pub(super) text: String,
    /// Where each line starts.
    lines: Vec<u32>,
    /// Where bytes are no UTF-8.
    pub(super) invalid: Vec<usize>,
}

impl Source {
    /// Reads `bytes`.
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut invalid = vec![];
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => patched(bytes, &mut invalid),
        };
        let mut lines = vec![0];
        lines.extend(text.match_indices('\n').map(|(at, _)| at as u32 + 1));
        Self {
            text,
            lines,
            invalid,
        }
    }

    /// Returns the 1-based line of a byte.
    pub(super) fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start as usize <= at)
    }

    /// Returns the byte at which the line that holds `at` starts.
    pub(super) fn line_start(&self, at: usize) -> usize {
        let line = self.line(at);
        self.lines.get(line - 1).map_or(0, |start| *start as usize)
    }

    /// Returns the 1-based column of a byte, in characters.
    pub(super) fn column(&self, at: usize) -> usize {
        let from = self.line_start(at);
        let before = self.text.get(from..at).unwrap_or_default();
        before.trim_start_matches(BOM).chars().count() + 1
    }
}

/// Reads bytes that are not all UTF-8: each wrong byte becomes `_` and is noted.
fn patched(bytes: &[u8], invalid: &mut Vec<usize>) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for _ in chunk.invalid() {
            invalid.push(text.len());
            text.push('_');
        }
    }
    text
}

/// The text without its byte order marks, and the way back to the file's offsets.
pub(super) struct Stripped<'s> {
    /// What the parser reads.
    pub(super) text: std::borrow::Cow<'s, str>,
    /// Offsets in [`Stripped::text`] before which a mark was taken out.
    removed: Vec<usize>,
}

impl<'s> Stripped<'s> {
    /// Takes the marks out of the file's head and of the lines that follow a `---`.
    pub(super) fn new(text: &'s str) -> Self {
        if !text.contains(BOM) {
            return Self {
                text: text.into(),
                removed: vec![],
            };
        }
        let (mut kept, mut removed) = (String::with_capacity(text.len()), vec![]);
        let mut head = true;
        for line in text.split_inclusive('\n') {
            let mut rest = line;
            while let (true, Some(after)) = (head, rest.strip_prefix(BOM)) {
                removed.push(kept.len());
                rest = after;
            }
            kept.push_str(rest);
            head = rest.strip_prefix("---").is_some_and(|after| {
                after.trim_start().is_empty() || after.starts_with([' ', '\t'])
            });
        }
        Self {
            text: kept.into(),
            removed,
        }
    }

    /// Returns the file's offset for an offset of the stripped text; a range's end stays before a following mark.
    pub(super) fn original(&self, at: usize) -> usize {
        at + BOM.len() * self.removed.partition_point(|mark| *mark <= at)
    }

    /// Returns the file's range for a range of the stripped text.
    pub(super) fn original_range(&self, range: Range<usize>) -> Range<usize> {
        let start = self.original(range.start);
        start..start + (range.end - range.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_lines_and_columns() {
        let source = Source::new("a: é b\nc: d\n".as_bytes());
        assert_eq!((source.line(6), source.column(6)), (1, 6));
        assert_eq!((source.line(8), source.column(8)), (2, 1));
    }

    #[test]
    fn keeps_offsets_true_over_marks_and_wrong_bytes() {
        let stripped = Stripped::new("\u{feff}a: 1\n---\n\u{feff}b: 2\n");
        assert_eq!(stripped.text, "a: 1\n---\nb: 2\n");
        assert_eq!((stripped.original(0), stripped.original(9)), (3, 15));
        let source = Source::new(b"a: \xff\xfe b\n");
        assert_eq!(
            (source.text.as_str(), source.invalid),
            ("a: __ b\n", vec![3, 4])
        );
    }
}
