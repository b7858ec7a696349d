//! Documents and their nodes: what stands in the file, with its bytes, aliases followed.
//!
//! A document is a flat arena; a [`Node`] is a light handle into it. Aliases stay references (nothing is expanded until
//! somebody asks, and then only up to a budget), so a bomb of aliases costs nothing to read.

use std::ops::Range;
use std::sync::Arc;

use super::source::Source;
use super::{Dialect, Problem, Route, RouteStep};

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Style {
    /// `text`
    Plain,
    /// `'text'`
    Single,
    /// `"text"`
    Double,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind<'d> {
    /// A scalar: its text after quotes and escapes, how it is written, and its tag (`!!str`, `!custom`) if it has one.
    Scalar {
        /// The text; empty where the value is absent (`key:`).
        text: &'d str,
        /// How it is written.
        style: Style,
        /// Its explicit tag.
        tag: Option<&'d str>,
    },
    /// A mapping.
    Mapping,
    /// A sequence.
    Sequence,
}

/// Where a scalar's text is kept.
#[derive(Debug, Clone)]
pub(super) enum Text {
    /// It is the very bytes of the span.
    Span,
    /// It is the span without its quotes.
    Inner,
    /// It differs from what stands in the file.
    Owned(Box<str>),
}

/// The form of a node in the arena.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    Scalar(Text, Style),
    Mapping(Box<[(u32, u32)]>),
    Sequence(Box<[u32]>),
    /// A reference to another node of the arena.
    Alias(u32),
}

/// What may stand before a node's content.
#[derive(Debug, Clone, Default)]
pub(super) struct Properties {
    pub(super) tag: Option<Box<str>>,
    pub(super) anchor: Option<Box<str>>,
    /// From the first property to the end of the last one.
    pub(super) span: Range<usize>,
}

/// A node of the arena.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) shape: Shape,
    pub(super) flow: bool,
    /// Whether it stands inside a flow collection.
    pub(super) in_flow: bool,
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) properties: Option<Box<Properties>>,
}

/// One document of a stream.
#[derive(Debug, Clone)]
pub struct Document {
    /// 0-based number in the stream; empty and broken documents count.
    pub index: usize,
    /// The bytes from its first marker or content to its last.
    pub span: Range<usize>,
    pub(super) source: Arc<Source>,
    pub(super) cells: Vec<Cell>,
    pub(super) root: Option<u32>,
}

/// A key that stands twice in one mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    /// The key.
    pub key: String,
    /// 1-based line of the first.
    pub first: usize,
    /// 1-based line of the other.
    pub again: usize,
    /// 1-based column of the other.
    pub column: usize,
}

impl Document {
    /// Returns the root node; `None` for an empty document (nothing but comments).
    pub fn root(&self) -> Option<Node<'_>> {
        self.root.map(|id| self.node(id))
    }

    /// Returns the node at `route`, aliases and merge keys followed.
    pub fn at(&self, route: &Route) -> Option<Node<'_>> {
        route
            .0
            .iter()
            .try_fold(self.root()?, |node, step| match step {
                RouteStep::Key(key) => node.get(key),
                RouteStep::Index(index) => node.item(*index),
            })
    }

    /// Returns the 1-based line of the node at `route`.
    pub fn line_of(&self, route: &Route) -> Option<usize> {
        self.at(route).map(Node::line)
    }

    /// Returns the bytes of the node at `route`.
    pub fn span_of(&self, route: &Route) -> Option<Range<usize>> {
        self.at(route).map(Node::span)
    }

    /// Returns the text of the whole file; a byte that is no UTF-8 stands as `_`.
    pub fn source(&self) -> &str {
        &self.source.text
    }

    /// Returns every key that stands twice in one mapping, in file order. kustomize refuses such a document.
    pub fn duplicates(&self) -> Vec<Duplicate> {
        let mut found = vec![];
        for (id, cell) in self.cells.iter().enumerate() {
            if let Shape::Mapping(_) = cell.shape {
                self.node(id as u32).duplicates_into(&mut found);
            }
        }
        found.sort_by_key(|duplicate| (duplicate.again, duplicate.column));
        found
    }

    /// Returns the first anchor on a node inside these bytes, with its line.
    pub(super) fn anchor_within(&self, span: Range<usize>) -> Option<(String, usize)> {
        let mut inside = self
            .cells
            .iter()
            .filter(|cell| span.contains(&(cell.start as usize)) && cell.end as usize <= span.end);
        inside.find_map(|cell| {
            let properties = cell.properties.as_ref()?;
            let anchor = properties.anchor.as_deref()?;
            Some((anchor.to_owned(), self.source.line(properties.span.start)))
        })
    }

    pub(super) fn node(&self, id: u32) -> Node<'_> {
        Node { document: self, id }
    }

    /// Makes a problem that points at a byte of this document.
    pub(super) fn problem(&self, at: usize, message: impl Into<String>) -> Problem {
        Problem {
            line: self.source.line(at),
            column: self.source.column(at),
            message: message.into(),
        }
    }
}

/// A node of a document. Content comes from the anchor where the node is an alias; bytes are always its own.
#[derive(Debug, Clone, Copy)]
pub struct Node<'d> {
    document: &'d Document,
    id: u32,
}

/// An entry of a mapping.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'d> {
    /// The key.
    pub key: Node<'d>,
    /// The value.
    pub value: Node<'d>,
    /// Whether it came in by a merge key (`<<`).
    pub merged: bool,
}

impl<'d> Node<'d> {
    fn cell(self) -> Option<&'d Cell> {
        self.document.cells.get(self.id as usize)
    }

    /// Follows the alias, if it is one.
    fn content(self) -> Option<&'d Cell> {
        self.target().cell()
    }

    /// Returns the node that an alias stands for, or the node itself.
    #[must_use]
    pub fn target(self) -> Self {
        match self.cell().map(|cell| &cell.shape) {
            Some(Shape::Alias(id)) => Self {
                document: self.document,
                id: *id,
            },
            _ => self,
        }
    }

    /// Returns the document it stands in.
    pub fn document(self) -> &'d Document {
        self.document
    }

    /// Returns what it is; aliases are followed.
    pub fn kind(self) -> Kind<'d> {
        let target = self.target();
        match target.cell().map(|cell| &cell.shape) {
            Some(Shape::Mapping(_)) => Kind::Mapping,
            Some(Shape::Sequence(_)) => Kind::Sequence,
            Some(Shape::Scalar(text, style)) => Kind::Scalar {
                text: target.scalar_text(text),
                style: *style,
                tag: target.tag(),
            },
            _ => Kind::Scalar {
                text: "",
                style: Style::Plain,
                tag: None,
            },
        }
    }

    fn scalar_text(self, text: &'d Text) -> &'d str {
        let span = self.span();
        let range = match text {
            Text::Owned(text) => return text,
            Text::Span => span,
            Text::Inner => span.start + 1..span.end.saturating_sub(1),
        };
        self.document.source().get(range).unwrap_or_default()
    }

    /// Returns the text of a scalar; `None` for collections.
    pub fn text(self) -> Option<&'d str> {
        match self.kind() {
            Kind::Scalar { text, .. } => Some(text),
            Kind::Mapping | Kind::Sequence => None,
        }
    }

    /// Returns the style of a scalar; `None` for collections.
    pub fn style(self) -> Option<Style> {
        match self.kind() {
            Kind::Scalar { style, .. } => Some(style),
            Kind::Mapping | Kind::Sequence => None,
        }
    }

    /// Returns the explicit tag in its short form (`!!str`, `!custom`).
    pub fn tag(self) -> Option<&'d str> {
        self.content()?.properties.as_ref()?.tag.as_deref()
    }

    /// Returns the name of the anchor that this very node defines.
    pub fn anchor(self) -> Option<&'d str> {
        self.cell()?.properties.as_ref()?.anchor.as_deref()
    }

    /// Tells whether it is an alias (`*name`).
    pub fn is_alias(self) -> bool {
        matches!(self.cell().map(|cell| &cell.shape), Some(Shape::Alias(_)))
    }

    /// Tells whether it is a collection in flow style (`{…}`, `[…]`).
    pub fn is_flow(self) -> bool {
        self.content().is_some_and(|cell| cell.flow)
    }

    /// Tells whether it stands inside a collection in flow style.
    pub fn is_in_flow(self) -> bool {
        self.cell().is_some_and(|cell| cell.in_flow)
    }

    /// Tells whether nothing stands there (`key:` without a value).
    pub fn is_absent(self) -> bool {
        self.span().is_empty() && !self.is_alias() && self.text() == Some("")
    }

    /// Returns the entries of a mapping as they stand in the file, merge keys among them; empty for anything else.
    pub fn entries(self) -> impl DoubleEndedIterator<Item = Entry<'d>> + ExactSizeIterator {
        let pairs: &[(u32, u32)] = match self.content().map(|cell| &cell.shape) {
            Some(Shape::Mapping(pairs)) => pairs,
            _ => &[],
        };
        pairs.iter().map(move |(key, value)| Entry {
            key: self.document.node(*key),
            value: self.document.node(*value),
            merged: false,
        })
    }

    /// Returns the items of a sequence; empty for anything else.
    pub fn items(self) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        let items: &[u32] = match self.content().map(|cell| &cell.shape) {
            Some(Shape::Sequence(items)) => items,
            _ => &[],
        };
        items.iter().map(move |id| self.document.node(*id))
    }

    /// Returns the item at a 0-based index of a sequence.
    pub fn item(self, index: usize) -> Option<Self> {
        self.items().nth(index)
    }

    /// Returns the entry of exactly this mapping whose key has this text; merge keys are not followed, and of two equal
    /// keys the last one is returned.
    pub fn own_entry(self, key: &str) -> Option<Entry<'d>> {
        self.entries()
            .rev()
            .find(|entry| entry.key.text() == Some(key))
    }

    /// Returns the value under `key`, merge keys followed.
    pub fn get(self, key: &str) -> Option<Self> {
        self.get_within(key, super::DEPTH)
    }

    fn get_within(self, key: &str, depth: usize) -> Option<Self> {
        if let Some(own) = self.own_entry(key) {
            return Some(own.value);
        }
        let depth = depth.checked_sub(1)?;
        let merge = self.entries().find(|entry| entry.key.is_merge_key())?.value;
        match merge.kind() {
            Kind::Mapping => merge.get_within(key, depth),
            Kind::Sequence => merge.items().find_map(|item| item.get_within(key, depth)),
            Kind::Scalar { .. } => None,
        }
    }

    /// Tells whether this key is the merge key `<<`.
    pub fn is_merge_key(self) -> bool {
        match self.kind() {
            Kind::Scalar { text, style, tag } => {
                text == "<<" && (tag == Some("!!merge") || (tag.is_none() && style == Style::Plain))
            }
            Kind::Mapping | Kind::Sequence => false,
        }
    }

    /// Returns the entries of a mapping with its merge keys carried out as `dialect` does: under kustomize's rules own
    /// keys win wherever they stand, under kubectl's a merge overrides the keys before it. Own entries keep their
    /// order; two own entries of the same key both stay under kustomize's rules (which then refuse the document).
    pub fn entries_resolved(self, dialect: Dialect) -> Result<Vec<Entry<'d>>, Problem> {
        super::merge::entries(self, dialect)
    }

    /// Returns the bytes of its content: a scalar with its quotes, a block scalar from its `|` or `>` to the end of its
    /// last line, a collection from its first indicator or key to its last. Tag and anchor are outside.
    pub fn span(self) -> Range<usize> {
        self.cell()
            .map_or(0..0, |cell| cell.start as usize..cell.end as usize)
    }

    /// Returns the bytes of its tag and anchor, where it has any.
    pub fn properties_span(self) -> Option<Range<usize>> {
        Some(self.cell()?.properties.as_ref()?.span.clone())
    }

    /// Returns the first byte that belongs to it: its tag or anchor, else its content.
    pub fn start(self) -> usize {
        let start = self.span().start;
        self.properties_span()
            .map_or(start, |properties| properties.start.min(start))
    }

    /// Returns the 1-based line on which it starts.
    pub fn line(self) -> usize {
        self.document.source.line(self.start())
    }

    /// Returns the 1-based column at which it starts, in characters.
    pub fn column(self) -> usize {
        self.document.source.column(self.start())
    }

    /// Makes a problem that points at this node.
    pub fn problem(self, message: impl Into<String>) -> Problem {
        self.document.problem(self.start(), message)
    }

    /// Tells whether both handles name the same node of the same document.
    pub fn is_same(self, other: Self) -> bool {
        std::ptr::eq(self.document, other.document) && self.id == other.id
    }

    /// Adds the keys of this mapping that stand twice.
    pub(super) fn duplicates_into(self, found: &mut Vec<Duplicate>) {
        let mut seen = std::collections::HashMap::new();
        for entry in self.entries() {
            let Some(key) = entry.key.text() else {
                continue;
            };
            let line = entry.key.line();
            match seen.entry(key) {
                std::collections::hash_map::Entry::Vacant(slot) => {
                    slot.insert(line);
                }
                std::collections::hash_map::Entry::Occupied(slot) => found.push(Duplicate {
                    key: key.to_owned(),
                    first: *slot.get(),
                    again: line,
                    column: entry.key.column(),
                }),
            }
        }
    }
}
