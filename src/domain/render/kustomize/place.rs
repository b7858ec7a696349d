//! Where things stand: the table of a document's nodes, the marks that nodes carry, and the places made from them.
//!
//! A rendered repository has millions of nodes and hardly anybody asks for the origin of more than a few of them. So a
//! node carries a mark (a document and a number in it, 24 bytes), and the route, the line and the chain of writers are
//! written out only where they are asked for.

use std::sync::Arc;

use crate::domain::object::{Home, Origin, Step};
use crate::domain::yaml::{Route, RouteStep};

/// A place in a file of the repository, or in the app's own object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Whose file.
    pub home: Home,
    /// Path from the repository's root, or `spec` for the app's own object.
    pub file: Arc<str>,
    /// 0-based document in the file.
    pub document: usize,
    /// 1-based line; 0 where there is none.
    pub line: usize,
    /// The way to the value.
    pub route: Route,
}

impl Place {
    /// Makes the place of a whole file.
    pub fn file(file: impl Into<Arc<str>>) -> Self {
        Self {
            home: Home::Repository,
            file: file.into(),
            document: 0,
            line: 1,
            route: Route::root(),
        }
    }

    /// Makes a place in the app's own object (`spec.patches[0]` …), which has no lines.
    pub fn app(route: Route) -> Self {
        Self {
            home: Home::AppSpec,
            file: "spec".into(),
            document: 0,
            line: 0,
            route,
        }
    }

    /// Returns the line where there is one.
    pub fn line(&self) -> Option<usize> {
        (self.line > 0).then_some(self.line)
    }
}

/// A value with the place where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub place: Place,
}

/// The way from a node's parent to it.
#[derive(Debug, Clone)]
pub(super) enum Way {
    Root,
    Key(Arc<str>),
    Index(u32),
}

/// A row of a document's table.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) parent: u32,
    pub(super) way: Way,
    pub(super) line: u32,
}

/// The nodes of one document, parents before children.
#[derive(Debug, Default)]
pub(super) struct Table(pub(super) Vec<Row>);

impl Table {
    /// Adds a row and returns its number.
    pub(super) fn add(&mut self, parent: u32, way: Way, line: usize) -> u32 {
        self.0.push(Row {
            parent,
            way,
            line: u32::try_from(line).unwrap_or(u32::MAX),
        });
        u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX)
    }

    /// Returns the way from the root to a row.
    fn route(&self, at: u32) -> Route {
        let mut steps = vec![];
        let mut at = at;
        while let Some(row) = self.0.get(at as usize) {
            match &row.way {
                Way::Root => break,
                Way::Key(key) => steps.push(RouteStep::Key(key.to_string())),
                Way::Index(index) => steps.push(RouteStep::Index(*index as usize)),
            }
            at = row.parent;
        }
        steps.reverse();
        Route(steps)
    }
}

/// A document that nodes came from, and the step that brought it in.
#[derive(Debug)]
pub(super) struct Source {
    /// Where the document stands; for an inline text, where that text stands.
    pub(super) place: Place,
    /// What it is applied as.
    pub(super) step: Step,
    /// Whether the table's routes go on inside an inline text instead of in the file.
    pub(super) inline: bool,
    /// Its nodes.
    pub(super) table: Arc<Table>,
}

/// What a node carries: its place in a document, and what it wrote over.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub(super) source: Arc<Source>,
    pub(super) at: u32,
    pub(super) before: Option<Arc<Self>>,
}

impl Mark {
    /// Makes the mark of something written by one entry of a kustomization.
    pub(super) fn entry(place: Place, step: Step) -> Self {
        let mut table = Table::default();
        table.add(0, Way::Root, 1);
        Self {
            source: Arc::new(Source {
                place,
                step,
                inline: false,
                table: Arc::new(table),
            }),
            at: 0,
            before: None,
        }
    }

    /// Returns this mark with `before` below its own chain.
    #[must_use]
    pub(super) fn over(&self, before: Option<&Self>) -> Self {
        let mut mark = self.clone();
        if mark.before.is_none() {
            mark.before = before.map(|before| Arc::new(before.clone()));
        }
        mark
    }

    /// Writes the place out.
    pub(super) fn place(&self) -> Place {
        let source = &self.source;
        let line = source
            .table
            .0
            .get(self.at as usize)
            .map_or(1, |row| row.line as usize);
        let mut place = source.place.clone();
        if place.line > 0 {
            place.line += line.saturating_sub(1);
        }
        if !source.inline {
            place.route.0.extend(source.table.route(self.at).0);
        }
        place
    }

    /// Writes the origin out, with the whole chain below it.
    pub(super) fn origin(&self) -> Origin {
        let place = self.place();
        let source = &self.source;
        Origin {
            home: place.home,
            file: place.file,
            document: place.document,
            line: place.line,
            route: place.route,
            inner: source.inline.then(|| source.table.route(self.at)),
            step: source.step.clone(),
            before: self.before.as_ref().map(|before| Arc::new(before.origin())),
        }
    }
}
