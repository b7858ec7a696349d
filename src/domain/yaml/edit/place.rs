//! The page that an edit is written on: lines, columns, indicators around a node, and the habits of the file.

use super::super::{Document, Entry, Kind, Node, Route, RouteStep};
use super::EditError;

/// A document with the text it stands in.
pub(super) struct Page<'d> {
    pub(super) document: &'d Document,
    pub(super) text: &'d str,
}

/// Where a node hangs.
#[derive(Clone, Copy)]
pub(super) enum Hold<'d> {
    Root,
    /// The value of an entry of a mapping.
    Value(Node<'d>, Entry<'d>),
    /// An item of a sequence, by index.
    Item(Node<'d>, usize),
}

/// What a walk along a route came to.
pub(super) enum Walk<'d> {
    /// The node itself, written where the route says.
    Own(Node<'d>, Hold<'d>),
    /// The route goes on inside an alias: the alias, where it hangs, and how many steps were taken.
    Alias(Node<'d>, Hold<'d>, usize),
    /// The next key is not written in this mapping but comes by its merge key.
    Merged(Node<'d>, Node<'d>, usize),
}

impl<'d> Page<'d> {
    pub(super) fn new(document: &'d Document) -> Self {
        Self {
            document,
            text: document.source(),
        }
    }

    /// Follows `route` as it is written, stopping where an alias or a merge key takes over.
    pub(super) fn walk(&self, route: &Route) -> Result<Walk<'d>, EditError> {
        let missing = || EditError::NotFound(route.clone());
        let mut node = self.document.root().ok_or_else(missing)?;
        let mut hold = Hold::Root;
        for (taken, step) in route.0.iter().enumerate() {
            if node.is_alias() {
                return Ok(Walk::Alias(node, hold, taken));
            }
            match step {
                RouteStep::Key(key) => {
                    let Some(entry) = node.own_entry(key) else {
                        let merged = node.get(key).ok_or_else(missing)?;
                        return Ok(Walk::Merged(node, merged, taken));
                    };
                    hold = Hold::Value(node, entry);
                    node = entry.value;
                }
                RouteStep::Index(index) => {
                    hold = Hold::Item(node, *index);
                    node = node.item(*index).ok_or_else(missing)?;
                }
            }
        }
        Ok(Walk::Own(node, hold))
    }

    /// Returns where the line that holds `at` begins.
    pub(super) fn line_start(&self, at: usize) -> usize {
        let start = self.text[..at].rfind('\n').map_or(0, |found| found + 1);
        // A byte order mark is no column.
        if self.text[start..at].starts_with('\u{feff}') {
            start + '\u{feff}'.len_utf8()
        } else {
            start
        }
    }

    /// Returns where the line that holds `at` ends, before its line break.
    pub(super) fn line_end(&self, at: usize) -> usize {
        let end = self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |found| at + found);
        if self.text[at..end].ends_with('\r') {
            end - 1
        } else {
            end
        }
    }

    /// Returns where the next line begins; the text's end where there is none.
    pub(super) fn next_line(&self, at: usize) -> usize {
        self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |found| at + found + 1)
    }

    /// Returns the line break to write at `at`: that of its line, else the file's first.
    pub(super) fn line_break(&self, at: usize) -> &'static str {
        let here = self.text[at..].find('\n').map(|found| at + found);
        let found = here.or_else(|| self.text.find('\n'));
        match found {
            Some(found) if self.text[..found].ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }

    /// Returns the 0-based column of a byte, in characters.
    pub(super) fn column(&self, at: usize) -> usize {
        self.text[self.line_start(at)..at].chars().count()
    }

    /// Returns the column of a block collection: of its first key or dash.
    pub(super) fn block_column(&self, node: Node<'_>) -> usize {
        self.column(node.span().start)
    }

    /// Returns the end of an entry's colon.
    pub(super) fn colon_end(&self, entry: Entry<'_>) -> Option<usize> {
        let from = entry.key.span().end;
        let at = self.skip(from, entry.value.start().max(from) + 1, b':');
        at.map(|at| at + 1)
    }

    /// Returns the first `wanted` in a gap between nodes, comments and properties skipped.
    pub(super) fn skip(&self, from: usize, to: usize, wanted: u8) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = from;
        while at < to.min(bytes.len()) {
            let fresh = at == 0 || bytes[at - 1].is_ascii_whitespace();
            if bytes[at] == wanted {
                return Some(at);
            }
            at = if bytes[at] == b'#' && fresh {
                self.line_end(at)
            } else {
                at + 1
            };
        }
        None
    }

    /// Returns the byte of an item's dash in a block sequence.
    pub(super) fn dash(&self, sequence: Node<'_>, index: usize) -> Option<usize> {
        if index == 0 {
            return Some(sequence.span().start);
        }
        let before = sequence.item(index - 1)?.span().end;
        let item = sequence.item(index)?.start();
        self.skip(before, item.max(before) + 1, b'-')
    }

    /// Returns the comment that ends the line at `at`, with the white space before it; empty where there is none.
    pub(super) fn tail(&self, at: usize) -> &'d str {
        let rest = &self.text[at..self.line_end(at)];
        let spaces = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        if rest[spaces..].starts_with('#') && spaces > 0 {
            rest
        } else {
            ""
        }
    }

    /// Returns by how much a nested mapping is indented, as this file does.
    pub(super) fn unit(&self, near: Node<'_>) -> usize {
        let column = self.block_column(near);
        let inside = near
            .entries()
            .find_map(|entry| self.step(column, entry.value));
        inside
            .or_else(|| self.first_step(self.document.root()?))
            .unwrap_or(2)
    }

    fn step(&self, column: usize, value: Node<'_>) -> Option<usize> {
        let nested = !value.is_alias() && !value.is_flow() && value.kind() == Kind::Mapping;
        let step = nested
            .then(|| self.block_column(value))?
            .checked_sub(column)?;
        (1..=8).contains(&step).then_some(step)
    }

    fn first_step(&self, node: Node<'_>) -> Option<usize> {
        let column = self.block_column(node);
        node.entries()
            .find_map(|entry| self.step(column, entry.value))
    }

    /// Returns by how much a list is indented under its key, as this document does.
    pub(super) fn list_step(&self) -> usize {
        fn find(page: &Page<'_>, node: Node<'_>, depth: usize) -> Option<usize> {
            if depth == 0 || node.is_alias() || node.is_flow() {
                return None;
            }
            let column = page.block_column(node);
            for entry in node.entries() {
                let value = entry.value;
                if value.kind() == Kind::Sequence && !value.is_flow() && !value.is_alias() {
                    return page.block_column(value).checked_sub(column);
                }
                if let Some(found) = find(page, value, depth - 1) {
                    return Some(found);
                }
            }
            node.items().find_map(|item| find(page, item, depth - 1))
        }
        let root = self.document.root();
        root.and_then(|root| find(self, root, 40)).unwrap_or(0)
    }
}
