//! A cursor over rows and the first row in view; kept so that the cursor is always in view.

/// Where the engineer is in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct List {
    /// The row under the cursor.
    pub at: usize,
    /// The first row in view.
    pub top: usize,
}

impl List {
    /// Moves by `rows`, within `count` rows.
    pub fn by(&mut self, rows: isize, count: usize) {
        self.at = self
            .at
            .saturating_add_signed(rows)
            .min(count.saturating_sub(1));
    }

    /// Moves to a row.
    pub fn to(&mut self, row: usize) {
        self.at = row;
    }

    /// Keeps the cursor within `count` rows and in view of `height` rows, one row of context on each side.
    pub fn settle(&mut self, count: usize, height: usize) {
        self.at = self.at.min(count.saturating_sub(1));
        let height = height.max(1);
        let margin = usize::from(height > 4);
        if self.at < self.top + margin {
            self.top = self.at.saturating_sub(margin);
        }
        if self.at + margin >= self.top + height {
            self.top = self.at + margin + 1 - height;
        }
        self.top = self.top.min(count.saturating_sub(height));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_cursor_in_view() {
        let mut list = List::default();
        list.by(50, 20);
        list.settle(20, 10);
        assert_eq!((list.at, list.top), (19, 10));
        list.by(-100, 20);
        list.settle(20, 10);
        assert_eq!((list.at, list.top), (0, 0));
        list.settle(0, 0);
        assert_eq!((list.at, list.top), (0, 0));
    }
}
