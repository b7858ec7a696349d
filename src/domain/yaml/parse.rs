//! From bytes to documents: granit-parser's events, put into arenas with true byte spans.
//!
//! granit-parser is named here and nowhere else. Its spans are corrected on the way: block scalars begin at their `|`
//! or `>` and end with their last line, block sequences begin at their first dash, block collections end with their
//! last child. A document that does not parse becomes a [`Problem`]; reading goes on at the next `---`.

use std::ops::Range;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, StructureStyle, Tag};

use super::node::{Cell, Document, Properties, Shape, Style, Text};
use super::source::{Source, Stripped};
use super::{Problem, Stream};

/// Files above this size are refused: no manifest is that large, and memory stays bounded.
const MAX_BYTES: usize = 96 << 20;

/// Reads a stream of documents. It never fails as a whole: a broken document becomes a problem, the others are kept.
pub fn parse(bytes: &[u8]) -> Stream {
    if bytes.len() > MAX_BYTES {
        let message = format!("the file is larger than {} MiB", MAX_BYTES >> 20);
        return Stream {
            documents: vec![],
            problems: vec![Problem {
                line: 1,
                column: 1,
                message,
            }],
        };
    }
    let source = Arc::new(Source::new(bytes));
    let stripped = Stripped::new(&source.text);
    let mut reader = Reader::new(&source, &stripped);
    reader.read();
    let mut stream = Stream {
        documents: reader.documents,
        problems: reader.problems,
    };
    drop_invalid(&source, &mut stream);
    stream
}

/// Takes out the documents that hold bytes which are no UTF-8.
fn drop_invalid(source: &Source, stream: &mut Stream) {
    if source.invalid.is_empty() {
        return;
    }
    stream.documents.retain(|document| {
        let Some(at) = source.invalid.iter().find(|at| document.span.contains(at)) else {
            return true;
        };
        stream
            .problems
            .push(document.problem(*at, "the text is not valid UTF-8"));
        false
    });
    stream
        .problems
        .sort_by_key(|problem| (problem.line, problem.column));
}

/// An open collection.
struct Frame {
    id: u32,
    children: Vec<u32>,
    mapping: bool,
}

struct Reader<'s> {
    source: &'s Arc<Source>,
    stripped: &'s Stripped<'s>,
    parser: Parser<'s, StrInput<'s>>,
    documents: Vec<Document>,
    problems: Vec<Problem>,
    /// Documents seen so far, broken ones too.
    count: usize,
    cells: Vec<Cell>,
    frames: Vec<Frame>,
    root: Option<u32>,
    /// Where the document starts, in the stripped text.
    start: usize,
    /// The end of the last token, in the stripped text.
    cursor: usize,
    /// Anchors by granit's number, as cells of this document.
    anchors: std::collections::HashMap<usize, u32>,
    in_document: bool,
}

impl<'s> Reader<'s> {
    fn new(source: &'s Arc<Source>, stripped: &'s Stripped<'s>) -> Self {
        let options = granit_parser::options! {
            emit_anchor_events: true,
            emit_comments: false,
            block_scalar_eof_without_line_feed: true,
        };
        Self {
            source,
            stripped,
            parser: Parser::new_from_str_with_options(&stripped.text, options),
            documents: vec![],
            problems: vec![],
            count: 0,
            cells: vec![],
            frames: vec![],
            root: None,
            start: 0,
            cursor: 0,
            anchors: std::collections::HashMap::new(),
            in_document: false,
        }
    }

    fn read(&mut self) {
        loop {
            let failed = match self.parser.next_event() {
                None => return,
                Some(Ok((event, span))) => self.take(event, span),
                Some(Err(error)) => Err(self.problem(
                    error.marker().byte_offset().unwrap_or(self.cursor),
                    error.info(),
                )),
            };
            let Err(problem) = failed else { continue };
            self.problems.push(problem);
            if !self.in_document {
                self.count += 1;
            }
            self.abandon();
            if !matches!(self.parser.proceed_next_document(), Ok(true)) {
                return;
            }
        }
    }

    fn problem(&self, at: usize, message: impl Into<String>) -> Problem {
        let at = self.stripped.original(at);
        Problem {
            line: self.source.line(at),
            column: self.source.column(at),
            message: message.into(),
        }
    }

    fn abandon(&mut self) {
        self.cells = vec![];
        self.frames.clear();
        self.anchors.clear();
        self.root = None;
        self.in_document = false;
    }

    fn take(&mut self, event: Event<'s>, span: Span) -> Result<(), Problem> {
        let range = span.byte_range().unwrap_or(self.cursor..self.cursor);
        match event {
            Event::DocumentStart(..) => {
                self.abandon();
                self.in_document = true;
                self.count += 1;
                self.start = range.start;
                self.cursor = range.end;
            }
            Event::DocumentEnd => self.finish(range.end),
            Event::Scalar(text, style, anchor, tag) => {
                let (shape, range) = self.scalar(&text, style, range, &tag);
                let properties = self.tag(tag.as_deref(), span);
                self.cursor = range.end;
                let id = self.add(shape, range, false, properties);
                self.define(anchor, id);
            }
            Event::MappingStart(style, anchor, tag) => {
                let flow = style == StructureStyle::Flow;
                self.open(range, flow, true, anchor, tag.as_deref(), span);
            }
            Event::SequenceStart(style, anchor, tag) => {
                let flow = style == StructureStyle::Flow;
                let range = if flow { range } else { self.first_dash(range) };
                self.open(range, flow, false, anchor, tag.as_deref(), span);
            }
            Event::MappingEnd | Event::SequenceEnd => self.close(range),
            Event::Alias(anchor) => {
                let Some(target) = self.anchors.get(&anchor).copied() else {
                    return Err(self.problem(range.start, "the alias has no anchor"));
                };
                if self.frames.iter().any(|frame| frame.id == target) {
                    return Err(self.problem(range.start, "the anchor's value contains itself"));
                }
                self.cursor = range.end;
                self.add(Shape::Alias(target), range, false, None);
            }
            Event::Anchor(_, name) => self.name(&name, range),
            _ => {}
        }
        Ok(())
    }

    /// Adds a node under the open collection.
    fn add(
        &mut self,
        shape: Shape,
        range: Range<usize>,
        flow: bool,
        properties: Option<Box<Properties>>,
    ) -> u32 {
        let id = self.cells.len() as u32;
        let range = self.stripped.original_range(range);
        self.cells.push(Cell {
            shape,
            flow,
            start: range.start as u32,
            end: range.end as u32,
            properties,
        });
        match self.frames.last_mut() {
            Some(frame) => frame.children.push(id),
            None => self.root = Some(id),
        }
        id
    }

    fn define(&mut self, anchor: usize, id: u32) {
        if anchor != 0 {
            self.anchors.insert(anchor, id);
        }
    }

    /// Puts the anchor's name on the node that was added last.
    fn name(&mut self, name: &str, range: Range<usize>) {
        let range = self.stripped.original_range(range);
        let Some(cell) = self.cells.last_mut() else {
            return;
        };
        let properties = cell.properties.get_or_insert_with(|| {
            Box::new(Properties {
                span: range.clone(),
                ..Properties::default()
            })
        });
        properties.anchor = Some(name.into());
        properties.span =
            properties.span.start.min(range.start)..properties.span.end.max(range.end);
        if cell.start == cell.end {
            cell.start = properties.span.end as u32;
            cell.end = cell.start;
        }
    }

    fn tag(&self, tag: Option<&Tag>, span: Span) -> Option<Box<Properties>> {
        let tag = tag?;
        let range = span
            .tag_span()
            .and_then(|span| span.byte_range())
            .unwrap_or(self.cursor..self.cursor);
        let short = match tag.handle() {
            "tag:yaml.org,2002:" => format!("!!{}", tag.suffix()),
            handle => format!("{handle}{}", tag.suffix()),
        };
        let short = match short.strip_prefix("tag:yaml.org,2002:") {
            Some(core) => format!("!!{core}"),
            None => short,
        };
        Some(Box::new(Properties {
            tag: Some(short.into()),
            anchor: None,
            span: self.stripped.original_range(range),
        }))
    }

    fn open(
        &mut self,
        range: Range<usize>,
        flow: bool,
        mapping: bool,
        anchor: usize,
        tag: Option<&Tag>,
        span: Span,
    ) {
        let properties = self.tag(tag, span);
        if flow {
            self.cursor = range.end;
        } else if !mapping {
            self.cursor = range.start + 1;
        }
        let shape = if mapping {
            Shape::Mapping(Box::default())
        } else {
            Shape::Sequence(Box::default())
        };
        let id = self.add(shape, range, flow, properties);
        self.define(anchor, id);
        self.frames.push(Frame {
            id,
            children: vec![],
            mapping,
        });
    }

    fn close(&mut self, range: Range<usize>) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        let first = frame
            .children
            .first()
            .and_then(|id| self.cells.get(*id as usize));
        let first = first.map(|cell| {
            (
                cell.start,
                cell.properties.as_ref().map(|p| p.span.start as u32),
            )
        });
        let last = frame
            .children
            .last()
            .and_then(|id| self.cells.get(*id as usize));
        let last = last.map(|cell| cell.end);
        let end = self.stripped.original_range(range.clone()).end as u32;
        let Some(cell) = self.cells.get_mut(frame.id as usize) else {
            return;
        };
        if cell.flow {
            cell.end = end;
            self.cursor = range.end;
        } else {
            cell.end = last.unwrap_or(cell.start);
            if let (true, Some((start, properties))) = (frame.mapping, first) {
                cell.start = cell.start.min(start).min(properties.unwrap_or(start));
            }
        }
        cell.shape = if frame.mapping {
            let pairs = frame.children.chunks_exact(2);
            Shape::Mapping(pairs.map(|pair| (pair[0], pair[1])).collect())
        } else {
            Shape::Sequence(frame.children.into())
        };
    }

    fn finish(&mut self, end: usize) {
        let cells = std::mem::take(&mut self.cells);
        let root = self.root.filter(|id| {
            // An absent root is an empty document; a written `~` or `""` is not.
            cells.get(*id as usize).is_some_and(|cell| {
                cell.start != cell.end
                    || !matches!(cell.shape, Shape::Scalar(..))
                    || cell.properties.is_some()
            })
        });
        let start = self.stripped.original(self.start);
        self.documents.push(Document {
            index: self.count - 1,
            span: start..self.stripped.original(end.max(self.start)).max(start),
            source: Arc::clone(self.source),
            cells,
            root,
        });
        self.abandon();
        self.cursor = end;
    }

    /// Reads a scalar: its shape, and the bytes it stands in.
    fn scalar(
        &self,
        text: &str,
        style: ScalarStyle,
        range: Range<usize>,
        tag: &Option<std::borrow::Cow<'_, Tag>>,
    ) -> (Shape, Range<usize>) {
        let raw = self.stripped.text.get(range.clone()).unwrap_or_default();
        match style {
            ScalarStyle::Plain if range.is_empty() && (text == "~" || tag.is_some()) => {
                (Shape::Scalar(Text::Span, Style::Plain), range)
            }
            ScalarStyle::Plain => (
                Shape::Scalar(owned(text, raw, Text::Span), Style::Plain),
                range,
            ),
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
                let style = if style == ScalarStyle::SingleQuoted {
                    Style::Single
                } else {
                    Style::Double
                };
                (Shape::Scalar(owned(text, inner, Text::Inner), style), range)
            }
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let style = if style == ScalarStyle::Literal {
                    Style::Literal
                } else {
                    Style::Folded
                };
                (
                    Shape::Scalar(Text::Owned(text.into()), style),
                    self.block_scalar(range),
                )
            }
        }
    }

    /// Returns the bytes of a block scalar, header included, for granit's range of its content.
    fn block_scalar(&self, content: Range<usize>) -> Range<usize> {
        let text = &*self.stripped.text;
        let start = self.skip_to(content.start, b"|>");
        let header = text.get(start..).unwrap_or_default();
        let header = header.split(['\n', '\r']).next().unwrap_or_default();
        let token = header.split([' ', '\t']).next().unwrap_or_default();
        let keep = token.contains('+');
        let mut end = content.end;
        let body = |end: usize| text.get(start + header.len()..end).unwrap_or_default();
        // What follows the last break is the next line's indentation, unless the file ends there.
        if let Some(at) = body(end).rfind(['\n', '\r'])
            && body(end)[at + 1..].trim_matches([' ', '\t']).is_empty()
        {
            end = start + header.len() + at + 1;
        }
        if keep {
            end -= break_len(body(end));
        } else {
            let kept = body(end).trim_end_matches(['\n', '\r', ' ', '\t']);
            let line = &body(end)[kept.len()..];
            // Spaces that follow the last text on its own line are content.
            let spaces = line.find(['\n', '\r']).unwrap_or(line.len());
            end = start + header.len() + kept.len() + if kept.is_empty() { 0 } else { spaces };
        }
        let least = start
            + if end <= start + header.len() {
                token.len()
            } else {
                0
            };
        start..end.max(least)
    }

    /// Returns the range of a block sequence from its first dash.
    fn first_dash(&self, range: Range<usize>) -> Range<usize> {
        let in_value = self
            .frames
            .last()
            .is_some_and(|frame| frame.mapping && frame.children.len() % 2 == 1);
        let at = if in_value {
            self.skip_to(range.start.max(self.cursor), b"-")
        } else {
            range.start
        };
        at..at
    }

    /// Goes from the last token over white space, comments, properties and indicators to the first of `wanted`, or to
    /// `limit`.
    fn skip_to(&self, limit: usize, wanted: &[u8]) -> usize {
        let bytes = self.stripped.text.as_bytes();
        let mut at = self.cursor;
        while at <= limit {
            let Some(byte) = bytes.get(at) else { break };
            let fresh = at == 0 || matches!(bytes[at - 1], b' ' | b'\t' | b'\n' | b'\r');
            match byte {
                _ if wanted.contains(byte) => return at,
                b'#' if fresh => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                }
                b'&' | b'!' => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    at += rest
                        .iter()
                        .position(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'))
                        .unwrap_or(rest.len());
                }
                _ => at += 1,
            }
        }
        limit
    }
}

/// Returns the length of the line break at the end of `text`.
fn break_len(text: &str) -> usize {
    if text.ends_with("\r\n") {
        2
    } else {
        usize::from(text.ends_with(['\n', '\r']))
    }
}

/// Keeps a scalar's text in the file where it stands there as it is.
fn owned(text: &str, raw: &str, place: Text) -> Text {
    if text == raw {
        place
    } else {
        Text::Owned(text.into())
    }
}
