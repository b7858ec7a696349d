//! Unchanged stretches folded away, with some lines of context around each change.

use super::align::{Aligned, RowKind};

/// What is shown, one per line of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// A row of the diff.
    Row(usize),
    /// This many rows, folded; the first of them.
    Fold {
        /// The first row.
        first: usize,
        /// How many.
        rows: usize,
    },
}

impl Shown {
    /// Returns the (first) row that it shows.
    pub fn row(self) -> usize {
        match self {
            Self::Row(row) | Self::Fold { first: row, .. } => row,
        }
    }
}

/// Folds what is more than `context` rows away from a change that `counts` (told by its row); a stretch of one or two
/// rows is never folded. A text without any such change is folded to nothing but its fold.
pub fn fold(aligned: &Aligned, context: usize, counts: impl Fn(usize) -> bool) -> Vec<Shown> {
    let rows = aligned.rows();
    let mut near = vec![false; rows.len()];
    for (at, row) in rows.iter().enumerate() {
        if row.kind != RowKind::Same && counts(at) {
            let last = at.saturating_add(context).min(rows.len() - 1);
            // the rows up to the last change before this one are set already
            for flag in near[at.saturating_sub(context)..=last].iter_mut().rev() {
                *flag = true;
            }
        }
    }
    let mut shown = Vec::with_capacity(rows.len());
    let mut at = 0;
    while at < rows.len() {
        let run = near[at..].iter().take_while(|n| !**n).count();
        match run {
            0 => {
                shown.push(Shown::Row(at));
                at += 1;
            }
            1 | 2 => {
                shown.extend((at..at + run).map(Shown::Row));
                at += run;
            }
            _ => {
                shown.push(Shown::Fold {
                    first: at,
                    rows: run,
                });
                at += run;
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_context_around_changes() {
        let left: Vec<String> = (0..20).map(|i| i.to_string()).collect();
        let mut right = left.clone();
        right[10] = "x".into();
        let aligned = Aligned::new(&left.join("\n"), &right.join("\n"));
        let shown = fold(&aligned, 2, |_| true);
        assert_eq!(shown[0], Shown::Fold { first: 0, rows: 8 });
        assert_eq!(shown[1], Shown::Row(8));
        assert_eq!(shown[5], Shown::Row(12));
        assert_eq!(shown[6], Shown::Fold { first: 13, rows: 7 });
        assert_eq!(fold(&aligned, usize::MAX, |_| true).len(), 20);
        let none = fold(&aligned, 2, |row| row != 10);
        assert_eq!(none, [Shown::Fold { first: 0, rows: 20 }]);
    }

    #[test]
    fn folds_nothing_short() {
        let aligned = Aligned::new("a\nb\nx", "a\nb\ny");
        assert_eq!(fold(&aligned, 0, |_| true).len(), 3);
    }
}
