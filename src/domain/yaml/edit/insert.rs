//! New entries, new items, new keys.

use serde_json::{Value, json};

use super::super::{Dialect, Kind, Node, Route, RouteStep};
use super::place::{Page, Walk};
use super::write::{self, Habits};
use super::{Edit, EditError, Splice, change, set};

/// Returns the spellings that add an entry or an item to the collection at `parent`.
pub(super) fn insert(
    page: &Page<'_>,
    parent: &Route,
    at: &RouteStep,
    value: &Value,
) -> Result<Vec<Splice>, EditError> {
    let Walk::Own(node, hold) = page.walk(parent)? else {
        // The collection is written elsewhere: this place gets a changed copy of what it needs.
        let node = page
            .document
            .at(parent)
            .ok_or_else(|| EditError::NotFound(parent.clone()))?;
        let mut copy = node
            .to_json(Dialect::Kustomize)
            .map_err(EditError::Broken)?;
        let edit = Edit::Insert {
            parent: Route::root(),
            at: at.clone(),
            value: value.clone(),
        };
        change(&mut copy, &edit)?;
        return set::set(page, parent, &copy);
    };
    if node.is_alias()
        && let RouteStep::Key(key) = at
    {
        return set::override_alias(page, node, hold, &Route::root().key(key), value);
    }
    match (node.kind(), at) {
        (Kind::Mapping, RouteStep::Key(key)) => entry(page, node, key, value),
        (Kind::Sequence, RouteStep::Index(index)) => item(page, node, *index, value),
        (Kind::Scalar { .. }, RouteStep::Key(key)) => {
            let mut map = serde_json::Map::new();
            map.insert(key.clone(), value.clone());
            set::replace(page, node, hold, &Value::Object(map))
        }
        (Kind::Scalar { .. }, RouteStep::Index(_)) => {
            set::replace(page, node, hold, &json!([value]))
        }
        _ => Err(EditError::NotFound(parent.clone())),
    }
}

/// Returns the spellings that add an entry to a mapping.
pub(super) fn entry(
    page: &Page<'_>,
    mapping: Node<'_>,
    key: &str,
    value: &Value,
) -> Result<Vec<Splice>, EditError> {
    if mapping.is_flow() {
        let text = format!("{}: {}", write::key(key, None, true), write::flow(value));
        let starts = mapping.entries().map(|entry| entry.key.start());
        let last = mapping.entries().last();
        let last = last.map(|entry| entry.value.span().end.max(entry.key.span().end));
        return Ok(flow_end(
            page,
            mapping,
            &starts.collect::<Vec<_>>(),
            last,
            &text,
        ));
    }
    let Some(last) = mapping.entries().last() else {
        return Err(EditError::Unsupported(
            "the mapping has no place for a key".to_owned(),
        ));
    };
    let habits = Habits {
        unit: page.unit(mapping),
        list: page.list_step(),
    };
    let column = page.block_column(mapping);
    let at = end_of_entry(page, last.value, last.key);
    Ok(vec![after_line(
        page,
        at,
        column,
        &write::entry(key, value, habits),
    )])
}

fn end_of_entry(page: &Page<'_>, value: Node<'_>, key: Node<'_>) -> usize {
    page.line_end(value.span().end.max(key.span().end))
}

/// Writes lines behind the line that ends at `at`.
fn after_line(page: &Page<'_>, at: usize, column: usize, lines: &[String]) -> Splice {
    let line_break = page.line_break(at);
    let indent = " ".repeat(column);
    let mut text = String::new();
    for line in lines {
        text.push_str(line_break);
        if !line.is_empty() {
            text.push_str(&indent);
            text.push_str(line);
        }
    }
    Splice {
        range: at..at,
        text,
    }
}

/// Adds `text` at the end of a flow collection, on a line of its own where the entries stand so.
fn flow_end(
    page: &Page<'_>,
    node: Node<'_>,
    starts: &[usize],
    last: Option<usize>,
    text: &str,
) -> Vec<Splice> {
    let span = node.span();
    let Some(last) = last else {
        return vec![Splice {
            range: span.start + 1..span.end - 1,
            text: text.to_owned(),
        }];
    };
    let in_line = Splice {
        range: last..last,
        text: format!(", {text}"),
    };
    let own_line = starts
        .last()
        .filter(|start| page.line_start(**start) > span.start && page.line_end(last) < span.end);
    let Some(start) = own_line else {
        return vec![in_line];
    };
    let end = page.line_end(last);
    let rest = &page.text[last..end];
    let indent = &page.text[page.line_start(*start)..*start];
    let line_break = page.line_break(last);
    let comma = rest.trim_start_matches([' ', '\t']).starts_with(',');
    let (before, after) = if comma { ("", ",") } else { (",", "") };
    let mut found = vec![];
    if indent.trim_matches([' ', '\t']).is_empty() {
        found.push(Splice {
            range: last..end,
            text: format!("{before}{rest}{line_break}{indent}{text}{after}"),
        });
    }
    found.push(in_line);
    found
}

/// Returns the spellings that add an item to a sequence.
fn item(
    page: &Page<'_>,
    sequence: Node<'_>,
    index: usize,
    value: &Value,
) -> Result<Vec<Splice>, EditError> {
    let count = sequence.items().len();
    if sequence.is_flow() {
        let text = write::flow(value);
        if let Some(next) = sequence.item(index) {
            return Ok(vec![Splice {
                range: next.start()..next.start(),
                text: format!("{text}, "),
            }]);
        }
        let starts: Vec<usize> = sequence.items().map(Node::start).collect();
        let last = sequence.items().last().map(|item| item.span().end);
        return Ok(flow_end(page, sequence, &starts, last, &text));
    }
    let missing = || EditError::NotFound(Route::root().index(index));
    let first = page.dash(sequence, 0).ok_or_else(missing)?;
    let content = sequence.item(0).map_or(first + 2, Node::start);
    let gap = match page.text.get(first + 1..content) {
        Some(gap) if !gap.is_empty() && gap.bytes().all(|b| b == b' ') => gap.len(),
        _ => 1,
    };
    let column = page.column(first);
    let habits = Habits {
        unit: item_unit(page, sequence),
        list: page.list_step(),
    };
    let lines = write::item(value, gap, habits);
    if index >= count {
        let last = sequence.item(count.saturating_sub(1)).ok_or_else(missing)?;
        let dash = page.dash(sequence, count - 1).ok_or_else(missing)?;
        let at = page.line_end(last.span().end.max(dash + 1));
        return Ok(vec![after_line(page, at, column, &lines)]);
    }
    // Before another item: its dash moves down.
    let dash = page.dash(sequence, index).ok_or_else(missing)?;
    let indent = format!("{}{}", page.line_break(dash), " ".repeat(column));
    let mut text = lines.join(&indent);
    text.push_str(&indent);
    Ok(vec![Splice {
        range: dash..dash,
        text,
    }])
}

/// Returns the indentation of mappings inside the items, as the items there do it.
fn item_unit(page: &Page<'_>, sequence: Node<'_>) -> usize {
    let mapping = sequence
        .items()
        .find(|item| item.kind() == Kind::Mapping && !item.is_flow() && !item.is_alias());
    mapping.map_or(2, |mapping| page.unit(mapping))
}

/// Returns the spelling that gives an entry another key.
pub(super) fn rename(page: &Page<'_>, route: &Route, key: &str) -> Result<Vec<Splice>, EditError> {
    let (parent, last) = route
        .split_last()
        .ok_or_else(|| EditError::NotFound(route.clone()))?;
    let (Walk::Own(mapping, _), RouteStep::Key(old)) = (page.walk(&parent)?, last) else {
        return Err(EditError::Unsupported(
            "the key is not written here".to_owned(),
        ));
    };
    let entry = mapping
        .own_entry(old)
        .ok_or_else(|| EditError::NotFound(route.clone()))?;
    let old = entry.key;
    Ok(vec![Splice {
        range: old.span(),
        text: write::key(key, old.style(), mapping.is_flow()),
    }])
}
