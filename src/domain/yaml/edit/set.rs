//! Another value in the place of one.

use serde_json::Value;

use super::super::{Dialect, Kind, Node, Route, RouteStep, Style};
use super::place::{Hold, Page, Walk};
use super::write::{self, Habits};
use super::{EditError, Splice, block, get_mut, insert};

/// Returns the spellings that give the node at `route` the value `value`.
pub(super) fn set(page: &Page<'_>, route: &Route, value: &Value) -> Result<Vec<Splice>, EditError> {
    match page.walk(route)? {
        Walk::Own(node, hold) => replace(page, node, hold, value),
        Walk::Merged(mapping, merged, taken) => {
            let rest = Route(route.0[taken + 1..].to_vec());
            let copy = changed_copy(merged, &rest, value)?;
            match &route.0[taken] {
                RouteStep::Key(key) => insert::entry(page, mapping, key, &copy),
                RouteStep::Index(_) => Err(EditError::NotFound(route.clone())),
            }
        }
        Walk::Alias(alias, hold, taken) => {
            let rest = Route(route.0[taken..].to_vec());
            override_alias(page, alias, hold, &rest, value)
        }
    }
}

/// Returns the value of `node` with one change inside.
fn changed_copy(node: Node<'_>, rest: &Route, value: &Value) -> Result<Value, EditError> {
    let mut copy = node
        .to_json(Dialect::Kustomize)
        .map_err(EditError::Broken)?;
    *get_mut(&mut copy, rest)? = value.clone();
    Ok(copy)
}

/// Puts a local override in the place of an alias: a merge of the anchor and the changed key, or a changed copy.
pub(super) fn override_alias(
    page: &Page<'_>,
    alias: Node<'_>,
    hold: Hold<'_>,
    rest: &Route,
    value: &Value,
) -> Result<Vec<Splice>, EditError> {
    let name = page.text[alias.span()].to_owned();
    let mut found = vec![];
    if let (Kind::Mapping, Some(RouteStep::Key(key))) = (alias.kind(), rest.0.first()) {
        let inner = Route(rest.0[1..].to_vec());
        let local = match alias.get(key) {
            Some(node) => changed_copy(node, &inner, value)?,
            None if inner.0.is_empty() => value.clone(),
            None => return Err(EditError::NotFound(rest.clone())),
        };
        if alias.is_in_flow() {
            let text = format!(
                "{{<<: {name}, {}: {}}}",
                write::key(key, None, true),
                write::flow(&local)
            );
            found.push(Splice {
                range: alias.span(),
                text,
            });
        } else {
            let lines = |habits| {
                let mut lines = vec![format!("<<: {name}")];
                lines.extend(write::entry(key, &local, habits));
                lines
            };
            found.extend(place_block(page, alias, hold, false, lines));
        }
    }
    let copy = if rest.0.is_empty() {
        value.clone()
    } else {
        changed_copy(alias, rest, value)?
    };
    found.extend(replace(page, alias, hold, &copy)?);
    Ok(found)
}

/// Returns the spellings that put `value` in the place of `node`.
pub(super) fn replace(
    page: &Page<'_>,
    node: Node<'_>,
    hold: Hold<'_>,
    value: &Value,
) -> Result<Vec<Splice>, EditError> {
    let flat = match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => true,
    };
    if flat {
        return scalar(page, node, hold, value);
    }
    let in_line = Splice {
        range: node.span(),
        text: spaced(node, &write::flow(value)),
    };
    if node.is_in_flow() || matches!(hold, Hold::Root) && node.is_flow() {
        return Ok(vec![in_line]);
    }
    let is_list = value.is_array();
    let placed = place_block(page, node, hold, is_list, |habits| {
        write::block(value, habits)
    });
    Ok(placed.into_iter().chain([in_line]).collect())
}

/// An absent value is written behind a space.
fn spaced(node: Node<'_>, text: &str) -> String {
    if node.is_absent() {
        format!(" {text}")
    } else {
        text.to_owned()
    }
}

fn scalar(
    page: &Page<'_>,
    node: Node<'_>,
    hold: Hold<'_>,
    value: &Value,
) -> Result<Vec<Splice>, EditError> {
    let style = node.style();
    if let (Some(Style::Literal | Style::Folded), Value::String(text), false) =
        (style, value, node.is_alias())
    {
        let parent = match hold {
            Hold::Value(mapping, _) => page.block_column(mapping),
            Hold::Item(sequence, index) => page
                .dash(sequence, index)
                .map_or(0, |dash| page.column(dash)),
            Hold::Root => 0,
        };
        return Ok(block::candidates(page, node, parent, text));
    }
    let text = write::scalar(value, style, node.is_in_flow());
    let is_block = style.is_none() && !node.is_flow() && !node.is_alias();
    if !is_block {
        let bare =
            node.is_absent() && node.is_in_flow() && !page.text[..node.span().start].ends_with(':');
        let text = if bare {
            format!(": {text}")
        } else {
            spaced(node, &text)
        };
        return Ok(vec![Splice {
            range: node.span(),
            text,
        }]);
    }
    // A block collection goes; what stands on the key's own line stays.
    let head = head_end(page, node, hold)
        .ok_or_else(|| EditError::Unsupported("the root cannot become a scalar".into()))?;
    let comment = if page.line_end(head) < node.span().start {
        page.tail(head)
    } else {
        ""
    };
    Ok(vec![Splice {
        range: head..node.span().end,
        text: format!(" {text}{comment}"),
    }])
}

/// Returns where a node's text may begin: behind its colon or dash, and its own properties.
fn head_end(page: &Page<'_>, node: Node<'_>, hold: Hold<'_>) -> Option<usize> {
    if let Some(properties) = node.properties_span() {
        return Some(properties.end);
    }
    match hold {
        Hold::Root => None,
        Hold::Value(_, entry) => page.colon_end(entry),
        Hold::Item(sequence, index) => Some(page.dash(sequence, index)? + 1),
    }
}

/// Puts block lines in the place of `node`.
fn place_block(
    page: &Page<'_>,
    node: Node<'_>,
    hold: Hold<'_>,
    is_list: bool,
    lines: impl Fn(Habits) -> Vec<String>,
) -> Option<Splice> {
    let head = head_end(page, node, hold)?;
    let end = node.span().end.max(head);
    let line_break = page.line_break(head);
    match hold {
        Hold::Root => None,
        Hold::Value(mapping, _) => {
            let habits = Habits {
                unit: page.unit(mapping),
                list: page.list_step(),
            };
            let step = if is_list { habits.list } else { habits.unit };
            let indent = " ".repeat(page.block_column(mapping) + step);
            let one_line = page.line_end(head) >= node.span().start;
            let (comment, end) =
                if one_line && node.style().is_none_or(|style| !is_block_style(style)) {
                    (page.tail(end), end + page.tail(end).len())
                } else if one_line {
                    ("", end)
                } else {
                    (page.tail(head), end)
                };
            let mut text = comment.to_owned();
            for line in lines(habits) {
                text.push_str(line_break);
                if !line.is_empty() {
                    text.push_str(&indent);
                    text.push_str(&line);
                }
            }
            Some(Splice {
                range: head..end,
                text,
            })
        }
        Hold::Item(sequence, index) => {
            let dash = page.column(page.dash(sequence, index)?);
            let habits = Habits {
                unit: 2,
                list: page.list_step(),
            };
            let indent = " ".repeat(dash + 2);
            let lines = lines(habits);
            let text = format!(" {}", lines.join(&format!("{line_break}{indent}")));
            Some(Splice {
                range: head..end,
                text,
            })
        }
    }
}

fn is_block_style(style: Style) -> bool {
    matches!(style, Style::Literal | Style::Folded)
}
