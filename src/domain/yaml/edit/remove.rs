//! Entries and items taken out, with the comments that belong to them.

use std::ops::Range;

use super::super::{Dialect, Node, Route, RouteStep};
use super::place::{Hold, Page, Walk};
use super::{EditError, Splice, set, take};

/// An entry or an item among its siblings.
struct Spot {
    /// The bytes of each sibling: from its key or dash to the end of its value.
    siblings: Vec<Range<usize>>,
    at: usize,
}

/// Returns the spellings that take the node at `route` out.
pub(super) fn remove(page: &Page<'_>, route: &Route) -> Result<Vec<Splice>, EditError> {
    let (parent, last) = route
        .split_last()
        .ok_or_else(|| EditError::NotFound(route.clone()))?;
    let (node, hold) = match page.walk(&parent)? {
        Walk::Own(node, hold) if !node.is_alias() => (node, hold),
        _ => {
            // The collection is written elsewhere: this place gets a copy without it.
            let node = page
                .document
                .at(&parent)
                .ok_or_else(|| EditError::NotFound(route.clone()))?;
            let mut copy = node
                .to_json(Dialect::Kustomize)
                .map_err(EditError::Broken)?;
            take(&mut copy, &Route(vec![last.clone()]))?;
            return set::set(page, &parent, &copy);
        }
    };
    let spot = spot(page, node, last).ok_or_else(|| {
        EditError::Unsupported(
            "the value comes by a merge key; it cannot be taken out here".to_owned(),
        )
    })?;
    if let [_] = spot.siblings[..] {
        return Ok(vec![empty(page, node, hold)]);
    }
    if node.is_flow() {
        return Ok(vec![flow(&spot)]);
    }
    Ok(block(page, &spot))
}

fn spot(page: &Page<'_>, node: Node<'_>, last: &RouteStep) -> Option<Spot> {
    let mut siblings = vec![];
    let at = match last {
        RouteStep::Key(key) => {
            for entry in node.entries() {
                let end = entry.value.span().end.max(entry.key.span().end);
                siblings.push(entry.key.start()..end);
            }
            node.entries()
                .position(|entry| entry.key.text() == Some(key))?
        }
        RouteStep::Index(index) => {
            for (at, item) in node.items().enumerate() {
                let start = if node.is_flow() {
                    item.start()
                } else {
                    page.dash(node, at)?
                };
                siblings.push(start..item.span().end.max(start + 1));
            }
            *index
        }
    };
    (at < siblings.len()).then_some(Spot { siblings, at })
}

/// Writes `{}` or `[]` in the place of a collection that loses its only child.
fn empty(page: &Page<'_>, node: Node<'_>, hold: Hold<'_>) -> Splice {
    let span = node.span();
    let text = if node.entries().len() > 0 { "{}" } else { "[]" };
    if node.is_flow() {
        return Splice {
            range: span,
            text: text.to_owned(),
        };
    }
    let head = match (node.properties_span(), hold) {
        (Some(properties), _) => Some(properties.end),
        (None, Hold::Value(_, entry)) => page.colon_end(entry),
        (None, Hold::Item(sequence, index)) => page.dash(sequence, index).map(|dash| dash + 1),
        (None, Hold::Root) => None,
    };
    let Some(head) = head else {
        return Splice {
            range: span,
            text: text.to_owned(),
        };
    };
    let comment = if page.line_end(head) < span.start {
        page.tail(head)
    } else {
        ""
    };
    let column = page.block_column(node);
    let end = after_comments(page, page.next_line(span.end), column, false);
    let end = if end > page.next_line(span.end) {
        page.text[..end].trim_end_matches(['\n', '\r']).len()
    } else {
        page.line_end(span.end)
    };
    Splice {
        range: head..end,
        text: format!(" {text}{comment}"),
    }
}

fn flow(spot: &Spot) -> Splice {
    let here = &spot.siblings[spot.at];
    let range = match spot.siblings.get(spot.at + 1) {
        Some(next) => here.start..next.start,
        None => spot.siblings[spot.at - 1].end..here.end,
    };
    Splice {
        range,
        text: String::new(),
    }
}

fn block(page: &Page<'_>, spot: &Spot) -> Vec<Splice> {
    let here = &spot.siblings[spot.at];
    let column = page.column(here.start);
    let line = page.line_start(here.start);
    let leads = page.text[line..here.start].trim_matches(' ').is_empty();
    if !leads {
        // The first of a list item or of a nested list: what follows moves up behind the dash.
        let next = spot.siblings.get(spot.at + 1);
        return next.map_or_else(Vec::new, |next| {
            vec![Splice {
                range: here.start..next.start,
                text: String::new(),
            }]
        });
    }
    let start = if spot.at > 0 {
        above_comments(page, line, column)
    } else {
        line
    };
    let end = after_comments(page, page.next_line(here.end), column, true);
    let cut = |start: usize| {
        // The last line of a file without a final line break takes the break before it along.
        let final_break = end == page.text.len() && !page.text.ends_with('\n');
        let start = if final_break {
            page.text[..start].trim_end_matches(['\n', '\r']).len()
        } else {
            start
        };
        Splice {
            range: start..end,
            text: String::new(),
        }
    };
    vec![cut(start), cut(line)]
}

/// Goes up over comment lines at exactly `column` that stand directly above.
fn above_comments(page: &Page<'_>, line: usize, column: usize) -> usize {
    let mut start = line;
    while start > 0 {
        let above = page.line_start(start - 1);
        let text = page.text[above..start].trim_end_matches(['\n', '\r']);
        let indent = text.len() - text.trim_start_matches(' ').len();
        if indent != column || !text[indent..].starts_with('#') {
            break;
        }
        start = above;
    }
    start
}

/// Goes down over comment lines that are indented deeper than `column` (or as deep, where not `strictly`).
fn after_comments(page: &Page<'_>, from: usize, column: usize, strictly: bool) -> usize {
    let (mut at, mut end) = (from, from);
    while at < page.text.len() {
        let next = page.next_line(at);
        let text = page.text[at..next].trim_end_matches(['\n', '\r']);
        let indent = text.len() - text.trim_start_matches(' ').len();
        let deep = indent > column || (!strictly && indent == column && column > 0);
        if text.trim_matches(' ').is_empty() {
            at = next;
            continue;
        }
        if !deep || !text[indent..].starts_with('#') {
            break;
        }
        at = next;
        end = next;
    }
    end
}
