//! The tree that is rendered: scalars keep their text, their type and their style, and every node its mark.
//!
//! kustomize works on go-yaml's nodes, writes them out and reads them again at the end, so what a scalar is worth is
//! settled only there: by its type where it has one, else by its text and its style. Keeping the three apart is what
//! makes replacements, annotations and patches come out as they do there.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::place::{Mark, Place, Source, Table, Way};
use crate::domain::object::{Origins, Step};
use crate::domain::yaml::{self, Dialect, Document, Kind, Problem, Resolved, Route, Style};

/// The type of a scalar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tag {
    Null,
    Bool,
    Int,
    Float,
    Time,
    Str,
    /// Written in the file (`!!binary`, `!custom`).
    Explicit(Arc<str>),
}

/// A scalar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scalar {
    pub(super) text: Arc<str>,
    /// `None` where the text alone decides.
    pub(super) tag: Option<Tag>,
    pub(super) style: Style,
}

/// What a node is.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    Scalar(Scalar),
    Map(Vec<(Arc<str>, Node)>),
    List(Vec<Node>),
}

/// A node of a rendered object.
#[derive(Debug, Clone)]
pub struct Node {
    pub(super) shape: Shape,
    pub(super) mark: Option<Mark>,
    /// Set where kustomize hung one node into several places of the object.
    pub(super) share: Option<Share>,
}

/// A node that stands in several places of one object: kustomize puts one and the same node wherever a label or an
/// annotation was missing, so whoever writes to one of the places later writes to all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// Which node it is, among those of the object.
    group: usize,
    /// Whether this place was written to since all were made equal.
    is_written: bool,
}

impl Share {
    fn written(self) -> Self {
        Self {
            is_written: true,
            ..self
        }
    }
}

impl Scalar {
    /// Makes a text that stays one whatever it looks like.
    pub(super) fn string(text: impl Into<Arc<str>>) -> Self {
        Self {
            text: text.into(),
            tag: Some(Tag::Str),
            style: Style::Plain,
        }
    }

    /// Makes a scalar whose text decides.
    pub(super) fn untyped(text: impl Into<Arc<str>>) -> Self {
        Self {
            text: text.into(),
            tag: None,
            style: Style::Plain,
        }
    }

    fn resolved(&self) -> Result<Value, String> {
        let json = |style: Style, tag: Option<&str>| {
            yaml::scalar_json(&self.text, style, tag, Dialect::Kustomize)
        };
        let tag = match &self.tag {
            None => return json(self.style, None),
            Some(Tag::Str) if self.style == Style::Plain => return Ok(Value::from(&*self.text)),
            Some(Tag::Str) => return json(self.style, Some("!!str")),
            Some(Tag::Explicit(tag)) => return json(self.style, Some(tag)),
            Some(tag) => tag,
        };
        // A type that the text has anyway is not written out, so a style that says "text" wins over it.
        if tag_of(&self.text, Style::Plain, None) == *tag {
            return json(self.style, None);
        }
        let name = match tag {
            Tag::Null => "!!null",
            Tag::Bool => "!!bool",
            Tag::Int => "!!int",
            Tag::Float => "!!float",
            _ => "!!timestamp",
        };
        json(self.style, Some(name))
    }
}

/// Finds the type of a scalar as go-yaml v3 does.
pub(super) fn tag_of(text: &str, style: Style, tag: Option<&str>) -> Tag {
    match tag {
        Some("!!str") => return Tag::Str,
        Some(tag) if tag != "!" => return Tag::Explicit(tag.into()),
        _ => {}
    }
    if style != Style::Plain || tag == Some("!") {
        return Tag::Str;
    }
    match yaml::resolve(text, style, None, Dialect::Kustomize) {
        Ok(Resolved::Null) => Tag::Null,
        Ok(Resolved::Bool(_)) => Tag::Bool,
        Ok(Resolved::Int(_) | Resolved::UInt(_)) => Tag::Int,
        Ok(Resolved::Float(_)) => Tag::Float,
        Ok(Resolved::Str(resolved)) if resolved != text => Tag::Time,
        _ => Tag::Str,
    }
}

/// Tells whether YAML 1.1 would read this plain text as something else than a text.
pub(super) fn looks_typed(text: &str) -> bool {
    !text.is_empty()
        && !text.contains('\n')
        && !matches!(
            yaml::resolve(text, Style::Plain, None, Dialect::Kubectl),
            Ok(Resolved::Str(_)) | Err(_)
        )
}

impl Node {
    /// Makes a node without a mark.
    pub(super) fn new(shape: Shape) -> Self {
        Self {
            shape,
            mark: None,
            share: None,
        }
    }

    /// Makes a text.
    pub(super) fn string(text: impl Into<Arc<str>>) -> Self {
        Self::new(Shape::Scalar(Scalar::string(text)))
    }

    /// Makes an empty map.
    pub(super) fn map() -> Self {
        Self::new(Shape::Map(vec![]))
    }

    /// Puts the mark on.
    #[must_use]
    pub(super) fn marked(mut self, mark: Mark) -> Self {
        self.mark = Some(mark);
        self
    }

    /// Reads a document that stands at `place`, to be applied as `step`; `inline` where it is a text inside a scalar.
    pub(super) fn read(
        document: &Document,
        dialect: Dialect,
        place: Place,
        step: Step,
        inline: bool,
    ) -> Result<Self, Problem> {
        let mut reader = Reader {
            dialect,
            table: Table::default(),
            budget: 100_000,
        };
        let node = match document.root() {
            Some(root) => {
                let at = reader.table.add(0, Way::Root, root.line());
                reader.node(root, at, 0, false)?
            }
            None => Numbered::null(),
        };
        let source = Arc::new(Source {
            place,
            step,
            inline,
            table: Arc::new(reader.table),
        });
        Ok(node.mark(&source))
    }

    /// Makes a node of a JSON value that stands at `place` (the app's own object).
    pub fn of_json(value: &Value, place: &Place) -> Self {
        let mut table = Table::default();
        let at = table.add(0, Way::Root, 1);
        let node = Numbered::of_json(value, at, &mut table);
        let source = Arc::new(Source {
            place: place.clone(),
            step: Step::Resource,
            inline: false,
            table: Arc::new(table),
        });
        node.mark(&source)
    }

    /// Returns the same tree as brought in by another step.
    #[must_use]
    pub(super) fn as_step(&self, step: Step) -> Self {
        match &self.mark {
            Some(mark) if mark.source.step != step => self.taken_to(&Arc::new(Source {
                place: mark.source.place.clone(),
                step,
                inline: mark.source.inline,
                table: Arc::clone(&mark.source.table),
            })),
            _ => self.clone(),
        }
    }

    #[must_use]
    fn taken_to(&self, source: &Arc<Source>) -> Self {
        let shape = match &self.shape {
            Shape::Scalar(scalar) => Shape::Scalar(scalar.clone()),
            Shape::Map(entries) => Shape::Map(
                entries
                    .iter()
                    .map(|(key, node)| (Arc::clone(key), node.taken_to(source)))
                    .collect(),
            ),
            Shape::List(items) => {
                Shape::List(items.iter().map(|node| node.taken_to(source)).collect())
            }
        };
        let mark = self.mark.as_ref().map(|mark| Mark {
            source: Arc::clone(source),
            at: mark.at,
            before: None,
        });
        Self {
            shape,
            mark,
            share: None,
        }
    }

    /// Returns where the node stands; `None` for nodes that no file has.
    pub fn place(&self) -> Option<Place> {
        self.mark.as_ref().map(Mark::place)
    }

    /// Tells whether it is `null`.
    pub(super) fn is_null(&self) -> bool {
        matches!(
            &self.shape,
            Shape::Scalar(Scalar {
                tag: Some(Tag::Null),
                ..
            })
        )
    }

    /// Tells whether it is `null`, `{}` or `[]`.
    pub(super) fn is_empty(&self) -> bool {
        match &self.shape {
            Shape::Scalar(_) => self.is_null(),
            Shape::Map(entries) => entries.is_empty(),
            Shape::List(items) => items.is_empty(),
        }
    }

    /// Returns the text of a scalar as it is written; `None` for collections.
    pub(super) fn text(&self) -> Option<&Arc<str>> {
        match &self.shape {
            Shape::Scalar(scalar) => Some(&scalar.text),
            _ => None,
        }
    }

    /// Returns the text of a scalar that is not `null`, else an empty one.
    pub(super) fn value_text(&self) -> &str {
        match &self.shape {
            Shape::Scalar(scalar) if !self.is_null() => &scalar.text,
            _ => "",
        }
    }

    /// Returns the entries of a map; none for anything else.
    pub(super) fn entries(&self) -> &[(Arc<str>, Self)] {
        match &self.shape {
            Shape::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the items of a list; none for anything else.
    pub(super) fn items(&self) -> &[Self] {
        match &self.shape {
            Shape::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the value under a key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries()
            .iter()
            .find(|(name, _)| &**name == key)
            .map(|(_, node)| node)
    }

    /// Returns the value under a key, to change it.
    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        match &mut self.shape {
            Shape::Map(entries) => entries
                .iter_mut()
                .find(|(name, _)| &**name == key)
                .map(|(_, node)| node),
            _ => None,
        }
    }

    /// Takes a key out.
    pub(super) fn remove(&mut self, key: &str) -> Option<Self> {
        let Shape::Map(entries) = &mut self.shape else {
            return None;
        };
        let at = entries.iter().position(|(name, _)| &**name == key)?;
        Some(entries.remove(at).1)
    }

    /// Puts a value under a key, in place of what is there.
    pub(super) fn put(&mut self, key: &str, node: Self) {
        let Shape::Map(entries) = &mut self.shape else {
            return;
        };
        match entries.iter_mut().find(|(name, _)| &**name == key) {
            Some((_, old)) => *old = node,
            None => entries.push((key.into(), node)),
        }
    }

    /// Returns the map under a key, made where it is missing or `null`; `None` where something else is in the way.
    pub(super) fn map_at(&mut self, key: &str) -> Option<&mut Self> {
        let missing = self.get(key).is_none_or(Self::is_null);
        if missing {
            self.put(key, Self::map());
        }
        self.get_mut(key)
            .filter(|node| matches!(node.shape, Shape::Map(_)))
    }

    /// Writes a scalar under a key as kustomize's setter does: what is there keeps its style, and the old writer stays
    /// in the chain.
    pub(super) fn set(&mut self, key: &str, mut scalar: Scalar, mark: Option<&Mark>) {
        let old = self.get(key);
        match old {
            Some(Self {
                shape: Shape::Scalar(old),
                ..
            }) => scalar.style = old.style,
            _ if scalar.tag.is_none() && looks_typed(&scalar.text) => {
                scalar.style = Style::Double;
            }
            _ => {}
        }
        let before = old.and_then(|old| old.mark.as_ref());
        let mark = mark.map_or_else(|| before.cloned(), |mark| Some(mark.over(before)));
        let share = old.and_then(|old| old.share).map(Share::written);
        self.put(
            key,
            Self {
                shape: Shape::Scalar(scalar),
                mark,
                share,
            },
        );
    }

    /// Writes over this scalar as kustomize's setter does; a collection is an error.
    pub(super) fn overwrite(
        &mut self,
        mut scalar: Scalar,
        mark: Option<&Mark>,
    ) -> Result<(), String> {
        let Shape::Scalar(old) = &self.shape else {
            return Err(format!("expected a scalar, found {}", self.kind_name()));
        };
        scalar.style = old.style;
        if let Some(mark) = mark {
            self.mark = Some(mark.over(self.mark.as_ref()));
        }
        self.shape = Shape::Scalar(scalar);
        self.note_written();
        Ok(())
    }

    /// Says that the value under a key is the node `group` of the object, which stands in other places too.
    pub(super) fn set_shared(&mut self, key: &str, group: usize) {
        if let Some(node) = self.get_mut(key) {
            node.share = Some(Share {
                group,
                is_written: false,
            });
        }
    }

    /// Notes that the node was written to in place: all its places get what it is now (see [`Node::settle`]).
    pub(super) fn note_written(&mut self) {
        self.share = self.share.map(Share::written);
    }

    /// Makes every node of the tree stand in one place only.
    pub(super) fn part(&mut self) {
        self.share = None;
        self.each_below(&mut Self::part);
    }

    /// Gives all places of a node what was written to one of them.
    pub(super) fn settle(&mut self) {
        let mut written = HashMap::new();
        self.take_written(&mut written);
        if !written.is_empty() {
            self.follow(&written);
        }
    }

    fn take_written(&mut self, written: &mut HashMap<usize, (Shape, Option<Mark>)>) {
        if let Some(share) = &mut self.share
            && std::mem::take(&mut share.is_written)
        {
            written.insert(share.group, (self.shape.clone(), self.mark.clone()));
        }
        self.each_below(&mut |node| node.take_written(written));
    }

    fn follow(&mut self, written: &HashMap<usize, (Shape, Option<Mark>)>) {
        if let Some((shape, mark)) = self.share.and_then(|share| written.get(&share.group)) {
            self.shape.clone_from(shape);
            self.mark.clone_from(mark);
        }
        self.each_below(&mut |node| node.follow(written));
    }

    fn each_below(&mut self, act: &mut dyn FnMut(&mut Self)) {
        match &mut self.shape {
            Shape::Scalar(_) => {}
            Shape::Map(entries) => entries.iter_mut().for_each(|(_, node)| act(node)),
            Shape::List(items) => items.iter_mut().for_each(act),
        }
    }

    /// Returns what it is, for sentences.
    pub(super) fn kind_name(&self) -> &'static str {
        match &self.shape {
            Shape::Scalar(_) => "a scalar",
            Shape::Map(_) => "a map",
            Shape::List(_) => "a list",
        }
    }

    /// Returns what is printed: a JSON value. The error names the field that has no JSON form.
    pub fn to_json(&self) -> Result<Value, String> {
        match &self.shape {
            Shape::Scalar(scalar) => scalar.resolved(),
            Shape::List(items) => items
                .iter()
                .map(Self::to_json)
                .collect::<Result<_, _>>()
                .map(Value::Array),
            Shape::Map(entries) => {
                let mut map = Map::new();
                for (key, node) in entries {
                    let value = node.to_json().map_err(|error| format!("{key}: {error}"))?;
                    map.insert(key.to_string(), value);
                }
                Ok(Value::Object(map))
            }
        }
    }

    /// Takes the tree through JSON and back, as a JSON 6902 patch does: every number becomes a float on the way, and
    /// every node stands in one place only.
    pub(super) fn through_json(&mut self) -> Result<(), String> {
        self.share = None;
        match &mut self.shape {
            Shape::Scalar(scalar) => *scalar = Scalar::of_json(&scalar.resolved()?),
            Shape::Map(entries) => {
                for (_, node) in entries {
                    node.through_json()?;
                }
            }
            Shape::List(items) => {
                for node in items {
                    node.through_json()?;
                }
            }
        }
        Ok(())
    }

    /// Writes out the origin of every node.
    pub(super) fn origins(&self) -> Origins {
        let mut origins = Origins::default();
        self.collect(&Route::root(), &mut origins);
        origins
    }

    fn collect(&self, route: &Route, origins: &mut Origins) {
        if let Some(mark) = &self.mark {
            origins.0.insert(route.clone(), Arc::new(mark.origin()));
        }
        for (key, node) in self.entries() {
            node.collect(&route.key(key.to_string()), origins);
        }
        for (index, node) in self.items().iter().enumerate() {
            node.collect(&route.index(index), origins);
        }
    }
}

impl Scalar {
    /// Makes a scalar of a JSON value as Go's decoder and go-yaml's encoder do: numbers are 64-bit floats.
    pub(super) fn of_json(value: &Value) -> Self {
        let (text, tag): (Arc<str>, _) = match value {
            Value::Null => ("null".into(), Tag::Null),
            Value::Bool(bool) => (bool.to_string().into(), Tag::Bool),
            Value::Number(number) => {
                let text = yaml::float_text(number.as_f64().unwrap_or(0.0));
                let tag = tag_of(&text, Style::Plain, None);
                (text.into(), tag)
            }
            Value::String(text) => (text.as_str().into(), Tag::Str),
            Value::Array(_) | Value::Object(_) => ("".into(), Tag::Str),
        };
        let literal = tag == Tag::Str && text.contains('\n');
        Self {
            text,
            tag: Some(tag),
            style: if literal {
                Style::Literal
            } else {
                Style::Plain
            },
        }
    }
}

/// A node that knows its row but not yet its document.
struct Numbered {
    shape: NumberedShape,
    at: u32,
}

enum NumberedShape {
    Scalar(Scalar),
    Map(Vec<(Arc<str>, Numbered)>),
    List(Vec<Numbered>),
}

impl Numbered {
    fn null() -> Self {
        Self {
            shape: NumberedShape::Scalar(Scalar {
                text: "".into(),
                tag: Some(Tag::Null),
                style: Style::Plain,
            }),
            at: 0,
        }
    }

    fn mark(self, source: &Arc<Source>) -> Node {
        let shape = match self.shape {
            NumberedShape::Scalar(scalar) => Shape::Scalar(scalar),
            NumberedShape::Map(entries) => Shape::Map(
                entries
                    .into_iter()
                    .map(|(key, node)| (key, node.mark(source)))
                    .collect(),
            ),
            NumberedShape::List(items) => {
                Shape::List(items.into_iter().map(|node| node.mark(source)).collect())
            }
        };
        Node {
            shape,
            mark: Some(Mark {
                source: Arc::clone(source),
                at: self.at,
                before: None,
            }),
            share: None,
        }
    }

    fn of_json(value: &Value, at: u32, table: &mut Table) -> Self {
        let shape = match value {
            Value::Array(items) => NumberedShape::List(
                items
                    .iter()
                    .zip(0..)
                    .map(|(item, index)| {
                        let row = table.add(at, Way::Index(index), 1);
                        Self::of_json(item, row, table)
                    })
                    .collect(),
            ),
            Value::Object(map) => NumberedShape::Map(
                map.iter()
                    .map(|(key, value)| {
                        let key: Arc<str> = key.as_str().into();
                        let row = table.add(at, Way::Key(Arc::clone(&key)), 1);
                        (key, Self::of_json(value, row, table))
                    })
                    .collect(),
            ),
            scalar => NumberedShape::Scalar(Scalar::of_json(scalar)),
        };
        Self { shape, at }
    }
}

struct Reader {
    dialect: Dialect,
    table: Table,
    budget: usize,
}

impl Reader {
    fn node(
        &mut self,
        node: yaml::Node<'_>,
        at: u32,
        depth: usize,
        aliased: bool,
    ) -> Result<Numbered, Problem> {
        if depth > 400 {
            return Err(node.problem("nested deeper than 400 levels"));
        }
        let aliased = aliased || node.is_alias();
        if aliased {
            let cost = 1 + node.text().map_or(0, str::len) / 100;
            self.budget = self
                .budget
                .checked_sub(cost)
                .ok_or_else(|| node.problem("the aliases expand to too much"))?;
        }
        let shape = match node.kind() {
            Kind::Scalar { text, style, tag } => {
                NumberedShape::Scalar(self.scalar(node, text, style, tag)?)
            }
            Kind::Sequence => {
                let mut items = Vec::with_capacity(node.items().len());
                for (item, index) in node.items().zip(0..) {
                    let row = self.table.add(at, Way::Index(index), item.line());
                    items.push(self.node(item, row, depth + 1, aliased)?);
                }
                NumberedShape::List(items)
            }
            Kind::Mapping => NumberedShape::Map(self.entries(node, at, depth, aliased)?),
        };
        Ok(Numbered { shape, at })
    }

    fn entries(
        &mut self,
        node: yaml::Node<'_>,
        at: u32,
        depth: usize,
        aliased: bool,
    ) -> Result<Vec<(Arc<str>, Numbered)>, Problem> {
        let mut entries: Vec<(Arc<str>, Numbered)> = vec![];
        let mut seen = HashMap::new();
        for entry in node.entries_resolved(self.dialect)? {
            let key: Arc<str> = entry.key.key_text(self.dialect, depth == 0)?.into();
            let row = self
                .table
                .add(at, Way::Key(Arc::clone(&key)), entry.value.line());
            let value = self.node(entry.value, row, depth + 1, aliased || entry.merged)?;
            match seen.insert(Arc::clone(&key), entries.len()) {
                None => entries.push((key, value)),
                Some(first) if self.dialect == Dialect::Kubectl => {
                    entries[first] = (Arc::clone(&key), value);
                    seen.insert(key, first);
                }
                Some(_) => {
                    return Err(entry
                        .key
                        .problem(format!("mapping key \"{key}\" already defined")));
                }
            }
        }
        Ok(entries)
    }

    fn scalar(
        &self,
        node: yaml::Node<'_>,
        text: &str,
        style: Style,
        tag: Option<&str>,
    ) -> Result<Scalar, Problem> {
        if self.dialect == Dialect::Kubectl {
            return Ok(Scalar::exact(&node.scalar_value(self.dialect)?));
        }
        let mut found = tag_of(text, style, tag);
        // In a flow collection kustomize's own writing makes text of some scalars.
        if matches!(found, Tag::Null | Tag::Time)
            && node
                .scalar_value(self.dialect)
                .is_ok_and(|value| value.as_str() == Some(text))
        {
            found = Tag::Str;
        }
        Ok(Scalar {
            text: text.into(),
            tag: Some(found),
            style,
        })
    }
}

impl Scalar {
    /// Makes a scalar of a JSON value, numbers to the last digit.
    fn exact(value: &Value) -> Self {
        match value {
            Value::Number(number) => {
                let text: Arc<str> = number.to_string().into();
                let tag = if number.is_f64() {
                    Tag::Float
                } else {
                    Tag::Int
                };
                Self {
                    text,
                    tag: Some(tag),
                    style: Style::Plain,
                }
            }
            other => Self::of_json(other),
        }
    }
}
