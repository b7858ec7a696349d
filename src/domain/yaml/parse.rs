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
            bom_inside_document_as_content: true,
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
            Event::DocumentStart(_, version) => {
                if version.is_some() {
                    let refused = self.problem(range.start, "kustomize refuses a %YAML directive");
                    self.problems.push(refused);
                }
                self.abandon();
                self.in_document = true;
                self.count += 1;
                self.start = range.start;
                self.cursor = range.end;
            }
            Event::DocumentEnd => self.finish(range.end),
            Event::Scalar(text, style, anchor, tag) => {
                let (shape, range) = self.scalar(&text, style, range, tag.is_some());
                let properties = self.tag(tag.as_deref(), span);
                if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
                    self.refuse_tab(&range);
                }
                self.cursor = range.end;
                let id = self.add(shape, range, false, properties);
                self.define(anchor, id);
            }
            Event::MappingStart(style, anchor, tag) => {
                let flow = style == StructureStyle::Flow;
                let properties = self.tag(tag.as_deref(), span);
                self.open(range, flow, true, anchor, properties);
            }
            Event::SequenceStart(style, anchor, tag) => {
                let flow = style == StructureStyle::Flow;
                let range = if flow { range } else { self.first_dash(range) };
                let properties = self.tag(tag.as_deref(), span);
                self.open(range, flow, false, anchor, properties);
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
        let parent = self
            .frames
            .last()
            .and_then(|frame| self.cells.get(frame.id as usize));
        let in_flow = parent.is_some_and(|parent| parent.flow || parent.in_flow);
        self.cells.push(Cell {
            shape,
            flow,
            in_flow,
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
        if cell.start == cell.end && matches!(cell.shape, Shape::Scalar(..)) {
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
        properties: Option<Box<Properties>>,
    ) {
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
        tagged: bool,
    ) -> (Shape, Range<usize>) {
        let raw = self.stripped.text.get(range.clone()).unwrap_or_default();
        let range = if style == ScalarStyle::Plain && raw.is_empty() {
            self.absent(range)
        } else {
            range
        };
        match style {
            ScalarStyle::Plain if range.is_empty() && (text == "~" || tagged) => {
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

    /// Returns where an absent value would stand: right behind its colon, where there is one.
    fn absent(&self, range: Range<usize>) -> Range<usize> {
        let rest = self.stripped.text.get(self.cursor..).unwrap_or_default();
        let colon = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        if self.in_value() && colon.starts_with(':') {
            let at = self.cursor + rest.len() - colon.len() + 1;
            return at..at;
        }
        range
    }

    /// Tells whether the next node is the value of a mapping's entry.
    fn in_value(&self) -> bool {
        let frame = self.frames.last();
        frame.is_some_and(|frame| frame.mapping && frame.children.len() % 2 == 1)
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

    /// Notes a block scalar whose first line begins with a tab behind its indentation: YAML allows it, Go does not.
    fn refuse_tab(&mut self, range: &Range<usize>) {
        let written = self.stripped.text.get(range.clone()).unwrap_or_default();
        let (header, body) = written.split_once('\n').unwrap_or((written, ""));
        let token = header.split([' ', '\t']).next().unwrap_or_default();
        let first = body.lines().find(|line| !line.trim_matches(' ').is_empty());
        if !token.contains(|c: char| c.is_ascii_digit())
            && first.is_some_and(|line| line.trim_start_matches(' ').starts_with('\t'))
        {
            let refused = self.problem(
                range.start,
                "the Go tools refuse a tab where indentation is expected",
            );
            self.problems.push(refused);
        }
    }

    /// Returns the range of a block sequence from its first dash.
    fn first_dash(&self, range: Range<usize>) -> Range<usize> {
        let at = if self.in_value() {
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::super::{Node, Route};
    use super::*;

    /// Prints each node of a document as `line:column kind span-text`.
    fn picture(text: &str) -> String {
        fn walk(node: Node<'_>, text: &str, depth: usize, out: &mut String) {
            let name = match node.text() {
                Some(value) => serde_json::Value::from(value).to_string(),
                None if node.is_flow() => "flow".to_owned(),
                None => "block".to_owned(),
            };
            let span = serde_json::Value::from(&text[node.span()]);
            let extra = node
                .anchor()
                .map(|name| format!(" &{name}"))
                .unwrap_or_default()
                + &node.tag().map(|tag| format!(" {tag}")).unwrap_or_default();
            let _ = writeln!(
                out,
                "{}{}:{} {name}{extra} {span}",
                "  ".repeat(depth),
                node.line(),
                node.column()
            );
            if node.is_alias() {
                return;
            }
            for entry in node.entries() {
                walk(entry.key, text, depth + 1, out);
                walk(entry.value, text, depth + 1, out);
            }
            for item in node.items() {
                walk(item, text, depth + 1, out);
            }
        }
        let stream = parse(text.as_bytes());
        assert_eq!(stream.problems, vec![]);
        let mut out = String::new();
        for document in &stream.documents {
            document
                .root()
                .inspect(|root| walk(*root, text, 0, &mut out));
        }
        out
    }

    #[test]
    fn block_scalars_begin_at_their_indicator_and_end_with_their_text() {
        let text = "a: |  # c\n  x\n\n  y\n\n\nb: &n !!str >-\n\n  z  \n  \nc: |+\n  k\n\nd: |\ne:\n- |2\n   q";
        assert_eq!(
            picture(text),
            r#"1:1 block "a: |  # c\n  x\n\n  y\n\n\nb: &n !!str >-\n\n  z  \n  \nc: |+\n  k\n\nd: |\ne:\n- |2\n   q"
  1:1 "a" "a"
  1:4 "x\n\ny\n" "|  # c\n  x\n\n  y"
  7:1 "b" "b"
  7:4 "\nz  " &n !!str ">-\n\n  z  "
  11:1 "c" "c"
  11:4 "k\n\n" "|+\n  k\n"
  14:1 "d" "d"
  14:4 "" "|"
  15:1 "e" "e"
  16:1 block "- |2\n   q"
    16:3 " q" "|2\n   q"
"#
        );
    }

    #[test]
    fn collections_begin_at_their_first_indicator_or_key() {
        let text = "a: &x\n  - - 1\n  -   b: {c: [2, ], d}\n      e:\nf:\n- *x\n-\n- &z y\n- !t\n";
        assert_eq!(
            picture(text),
            r#"1:1 block "a: &x\n  - - 1\n  -   b: {c: [2, ], d}\n      e:\nf:\n- *x\n-\n- &z y\n- !t"
  1:1 "a" "a"
  1:4 block &x "- - 1\n  -   b: {c: [2, ], d}\n      e:"
    2:5 block "- 1"
      2:7 "1" "1"
    3:7 block "b: {c: [2, ], d}\n      e:"
      3:7 "b" "b"
      3:10 flow "{c: [2, ], d}"
        3:11 "c" "c"
        3:14 flow "[2, ]"
          3:15 "2" "2"
        3:21 "d" "d"
        3:22 "" ""
      4:7 "e" "e"
      4:9 "" ""
  5:1 "f" "f"
  6:1 block "- *x\n-\n- &z y\n- !t"
    6:3 block "*x"
    7:2 "" ""
    8:3 "y" &z "y"
    9:3 "" !t ""
"#
        );
    }

    #[test]
    fn a_broken_document_does_not_hide_the_others() {
        let stream = parse(b"a: 1\n---\nb: [\n---\nc: 2\n---\n# nothing\n---\nd: \xff\n---\ne: *x\n---\nf: &f [*f]\n---\ng: 3\n");
        let kept: Vec<(usize, String)> = stream
            .documents
            .iter()
            .filter_map(|document| {
                Some((
                    document.index,
                    document.root()?.entries().next()?.key.text()?.to_owned(),
                ))
            })
            .collect();
        assert_eq!(kept, [(0, "a".into()), (2, "c".into()), (7, "g".into())]);
        let problems: Vec<String> = stream.problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "line 3, column 4: unclosed bracket '['",
                "line 9, column 4: the text is not valid UTF-8",
                "line 11, column 4: while parsing node, found unknown anchor",
                "line 13, column 8: the anchor's value contains itself"
            ]
        );
    }

    #[test]
    fn offsets_count_from_the_file_s_first_byte_over_marks_and_windows_lines() {
        let text = "\u{feff}a: é\r\n---\r\n\u{feff}b:\r\n  - c # x\r\n  - |\r\n    t\r\n";
        let stream = parse(text.as_bytes());
        assert_eq!(stream.problems, vec![]);
        let spans: Vec<&str> = [
            Route::root().key("a"),
            Route::root().key("b").index(0),
            Route::root().key("b").index(1),
        ]
        .iter()
        .flat_map(|route| {
            stream
                .documents
                .iter()
                .filter_map(|document| document.span_of(route))
        })
        .map(|span| &text[span])
        .collect();
        assert_eq!(spans, ["é", "c", "|\r\n    t"]);
        assert_eq!(
            stream.documents[1].line_of(&Route::root().key("b")),
            Some(4)
        );
    }

    #[test]
    fn too_deep_nesting_is_a_problem_and_not_a_crash() {
        for text in [
            "[".repeat(5000),
            "- ".repeat(5000),
            "a:\n".to_owned() + &"- ".repeat(400) + "x",
        ] {
            assert_eq!(parse(text.as_bytes()).problems.len(), 1);
        }
    }
}
