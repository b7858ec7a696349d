//! Lines paired up: equal ones beside each other, a replaced stretch line by line, the rest alone.

use std::collections::HashMap;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::words::{self, Piece};

/// Beyond this product of the two changed stretches' lengths the exact comparison is not tried.
const EXACT: usize = 60_000_000;

/// How a row differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowKind {
    /// Both sides have the same line.
    Same,
    /// The line was replaced by another.
    Changed,
    /// Only the left side (Git) has it.
    Minus,
    /// Only the right side (live) has it.
    Plus,
}

/// One row: 0-based lines of the two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Row {
    /// How it differs.
    pub kind: RowKind,
    /// The line of the left text.
    pub left: Option<usize>,
    /// The line of the right text.
    pub right: Option<usize>,
}

/// Two texts, paired line by line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Aligned {
    left: Vec<String>,
    right: Vec<String>,
    rows: Vec<Row>,
    hunks: Vec<Range<usize>>,
    coarse: bool,
}

impl Aligned {
    /// Pairs the lines of two texts.
    pub fn new(left: &str, right: &str) -> Self {
        let left: Vec<String> = left.lines().map(str::to_owned).collect();
        let right: Vec<String> = right.lines().map(str::to_owned).collect();
        let head = left.iter().zip(&right).take_while(|(a, b)| a == b).count();
        let tail = left[head..]
            .iter()
            .rev()
            .zip(right[head..].iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        let (ours, theirs) = (head..left.len() - tail, head..right.len() - tail);
        let mut rows: Vec<Row> = (0..head).map(|at| same(at, at)).collect();
        let coarse = is_hard(&left[ours.clone()], &right[theirs.clone()]);
        if coarse {
            replaced(ours.clone(), theirs.clone(), &mut rows);
        } else {
            let ops = capture_diff_slices(
                Algorithm::Myers,
                &left[ours.clone()],
                &right[theirs.clone()],
            );
            for op in ops {
                push(op, head, &mut rows);
            }
        }
        rows.extend((0..tail).map(|at| same(ours.end + at, theirs.end + at)));
        let hunks = hunks(&rows);
        Self {
            left,
            right,
            rows,
            hunks,
            coarse,
        }
    }

    /// Returns the rows, top to bottom.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns the stretches of rows that differ.
    pub fn hunks(&self) -> &[Range<usize>] {
        &self.hunks
    }

    /// Tells whether the texts were too different to be paired exactly: what moved is then shown as replaced.
    pub fn coarse(&self) -> bool {
        self.coarse
    }

    /// Returns a line of the left text.
    pub fn left(&self, line: usize) -> &str {
        self.left.get(line).map_or("", String::as_str)
    }

    /// Returns a line of the right text.
    pub fn right(&self, line: usize) -> &str {
        self.right.get(line).map_or("", String::as_str)
    }

    /// Returns a row's two lines in pieces, each piece told whether it differs from the other side.
    pub fn words(&self, row: Row) -> (Vec<Piece>, Vec<Piece>) {
        let left = row.left.map_or("", |line| self.left(line));
        let right = row.right.map_or("", |line| self.right(line));
        match row.kind {
            RowKind::Changed => words::compare(left, right),
            _ => (Piece::whole(left, false), Piece::whole(right, false)),
        }
    }
}

/// Tells whether pairing exactly would take too long: two long stretches whose lines are mostly the same ones, in
/// another order. Lines that the other side does not have at all cost nothing.
fn is_hard(left: &[String], right: &[String]) -> bool {
    if left.len().saturating_mul(right.len()) < EXACT {
        return false;
    }
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(left.len());
    for (at, line) in left.iter().enumerate() {
        seen.entry(line).or_insert(at);
    }
    let mut last = 0;
    let (mut common, mut backward) = (0_usize, 0_usize);
    for line in right {
        if let Some(at) = seen.get(line.as_str()) {
            common += 1;
            backward += usize::from(*at < last);
            last = *at;
        }
    }
    backward * 8 > common
}

fn same(left: usize, right: usize) -> Row {
    Row {
        kind: RowKind::Same,
        left: Some(left),
        right: Some(right),
    }
}

/// Pairs a replaced stretch line by line; what is left over stands alone.
fn replaced(left: Range<usize>, right: Range<usize>, rows: &mut Vec<Row>) {
    let pairs = left.len().min(right.len());
    rows.extend((0..pairs).map(|at| Row {
        kind: RowKind::Changed,
        left: Some(left.start + at),
        right: Some(right.start + at),
    }));
    rows.extend((left.start + pairs..left.end).map(|line| Row {
        kind: RowKind::Minus,
        left: Some(line),
        right: None,
    }));
    rows.extend((right.start + pairs..right.end).map(|line| Row {
        kind: RowKind::Plus,
        left: None,
        right: Some(line),
    }));
}

fn push(op: DiffOp, head: usize, rows: &mut Vec<Row>) {
    let at = |range: Range<usize>| range.start + head..range.end + head;
    match op {
        DiffOp::Equal { .. } => rows.extend(
            at(op.old_range())
                .zip(at(op.new_range()))
                .map(|(left, right)| same(left, right)),
        ),
        _ => replaced(at(op.old_range()), at(op.new_range()), rows),
    }
}

fn hunks(rows: &[Row]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = vec![];
    for (at, row) in rows.iter().enumerate() {
        if row.kind == RowKind::Same {
            continue;
        }
        match found.last_mut() {
            Some(hunk) if hunk.end == at => hunk.end += 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn picture(left: &str, right: &str) -> String {
        let aligned = Aligned::new(left, right);
        let mut out = String::new();
        for row in aligned.rows() {
            let sign = match row.kind {
                RowKind::Same => ' ',
                RowKind::Changed => '|',
                RowKind::Minus => '<',
                RowKind::Plus => '>',
            };
            let left = row.left.map_or("", |l| aligned.left(l));
            let right = row.right.map_or("", |l| aligned.right(l));
            writeln!(out, "{left:6}{sign} {right}").unwrap();
        }
        out
    }

    #[test]
    fn pairs_lines() {
        insta::assert_snapshot!(picture("a\nb: 1\nc\nd\n", "a\nb: 2\nc\nx\ny\n"), @"
        a       a
        b: 1  | b: 2
        c       c
        d     | x
              > y
        ");
        insta::assert_snapshot!(picture("a\nb\nc", "a\nc"), @"
        a       a
        b     < 
        c       c
        ");
    }

    #[test]
    fn finds_the_hunks() {
        let aligned = Aligned::new("a\nb\nc\nd\ne", "a\nB\nc\nd\nE");
        assert_eq!(aligned.hunks(), [1..2, 4..5]);
    }

    #[test]
    fn gives_a_coarse_answer_for_a_long_text_in_another_order_and_says_so() {
        let mut seed = 7_u64;
        let lines: Vec<String> = (0..20_000)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                format!("{:08}", seed >> 38)
            })
            .collect();
        let sorted = {
            let mut copy = lines.clone();
            copy.sort();
            copy
        };
        let aligned = Aligned::new(&lines.join("\n"), &sorted.join("\n"));
        assert!(aligned.coarse());
        assert_eq!(aligned.rows().iter().filter_map(|r| r.left).count(), 20_000);
    }

    #[test]
    fn counts_every_changed_line_of_a_long_text() {
        let left: Vec<String> = (0..20_000).map(|i| format!("line {i:05}")).collect();
        let right: Vec<String> = left
            .iter()
            .enumerate()
            .map(|(i, s)| {
                if i % 3 == 0 {
                    format!("{s}!")
                } else {
                    s.clone()
                }
            })
            .collect();
        let aligned = Aligned::new(&left.join("\n"), &right.join("\n"));
        assert!(!aligned.coarse());
        let changed = aligned
            .rows()
            .iter()
            .filter(|r| r.kind == RowKind::Changed)
            .count();
        assert_eq!(changed, 6_667);
    }
}
