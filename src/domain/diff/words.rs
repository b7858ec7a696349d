//! The words of two lines that differ.

use std::ops::Range;

use similar::{Algorithm, ChangeTag, TextDiff};
use unicode_segmentation::UnicodeSegmentation as _;

/// Lines longer than this are compared from both ends only: one changed stretch, found in one pass.
const WORDS_UP_TO: usize = 4_000;

/// A stretch of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its bytes in the line.
    pub range: Range<usize>,
    /// Whether the other side has something else there.
    pub changed: bool,
}

impl Piece {
    /// Takes a whole line as one piece; none for an empty line.
    pub(super) fn whole(line: &str, changed: bool) -> Vec<Self> {
        if line.is_empty() {
            return vec![];
        }
        vec![Self {
            range: 0..line.len(),
            changed,
        }]
    }
}

/// Compares two lines word by word.
pub(super) fn compare(left: &str, right: &str) -> (Vec<Piece>, Vec<Piece>) {
    if left.len() > WORDS_UP_TO || right.len() > WORDS_UP_TO {
        return ends(left, right);
    }
    let (ours, theirs): (Vec<&str>, Vec<&str>) = (
        left.split_word_bounds().collect(),
        right.split_word_bounds().collect(),
    );
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .diff_slices(&ours, &theirs);
    let (mut one, mut other) = (vec![], vec![]);
    for change in diff.iter_all_changes() {
        let length = change.value().len();
        match change.tag() {
            ChangeTag::Equal => {
                push(&mut one, length, false);
                push(&mut other, length, false);
            }
            ChangeTag::Delete => push(&mut one, length, true),
            ChangeTag::Insert => push(&mut other, length, true),
        }
    }
    (one, other)
}

fn push(pieces: &mut Vec<Piece>, length: usize, changed: bool) {
    let start = pieces.last().map_or(0, |p| p.range.end);
    match pieces.last_mut() {
        Some(last) if last.changed == changed => last.range.end += length,
        _ => pieces.push(Piece {
            range: start..start + length,
            changed,
        }),
    }
}

/// Takes what both lines begin and end with as equal, and the rest as changed.
fn ends(left: &str, right: &str) -> (Vec<Piece>, Vec<Piece>) {
    let head = left
        .char_indices()
        .zip(right.chars())
        .find(|((_, a), b)| a != b)
        .map_or(left.len().min(right.len()), |((at, _), _)| at);
    let tail: usize = left[head..]
        .chars()
        .rev()
        .zip(right[head..].chars().rev())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum();
    let split = |line: &str| {
        let mut pieces = vec![];
        for (length, changed) in [
            (head, false),
            (line.len() - head - tail, true),
            (tail, false),
        ] {
            if length > 0 {
                push(&mut pieces, length, changed);
            }
        }
        pieces
    };
    (split(left), split(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str, pieces: &[Piece]) -> String {
        pieces
            .iter()
            .map(|p| {
                let text = &line[p.range.clone()];
                if p.changed {
                    format!("[{text}]")
                } else {
                    text.to_owned()
                }
            })
            .collect()
    }

    fn check(left: &str, right: &str, one: &str, other: &str) {
        let (ours, theirs) = compare(left, right);
        assert_eq!(
            (shown(left, &ours), shown(right, &theirs)),
            (one.into(), other.into())
        );
    }

    #[test]
    fn marks_the_words_that_differ() {
        check(
            "image: web:1.2",
            "image: web:1.3",
            "image: web:[1.2]",
            "image: web:[1.3]",
        );
        check(
            "replicas: 3",
            "replicas: 30",
            "replicas: [3]",
            "replicas: [30]",
        );
        check("名: 日本", "名: 日中", "名: 日[本]", "名: 日[中]");
    }

    #[test]
    fn finds_the_changed_spot_of_a_very_long_line() {
        let left = format!("{}ä5é{}", "x".repeat(500_000), "y".repeat(400_000));
        let right = left.replace('5', "ß");
        let (ours, theirs) = compare(&left, &right);
        assert_eq!(&left[ours[1].range.clone()], "5");
        assert_eq!(&right[theirs[1].range.clone()], "ß");
        assert_eq!(ours.len(), 3);
    }
}
