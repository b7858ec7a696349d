//! Editing a file without touching anything else.
//!
//! An edit becomes one replacement of a byte range, found through the spans of the parsed document: comments, order,
//! quotes, indentation, anchors, line ends, a byte order mark and a missing final line break stay as they are. What
//! makes it safe is the proof afterwards: the result is read again and must be, by the rules of both dialects, the old
//! value with exactly the routed change, and every other document must be the same bytes. Where several spellings are
//! possible they are tried in order; where none passes, the edit is refused.

mod block;
mod insert;
mod place;
mod remove;
mod set;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;
use std::ops::Range;

use serde_json::Value;

use super::{Dialect, Document, Problem, Route, RouteStep, Stream, parse};
use place::{Page, Walk};

/// One change of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Gives the node at `route` another value. A value that comes from an alias or a merge key gets a local override;
    /// the anchor stays.
    Set {
        /// The way to the node.
        route: Route,
        /// Its new value.
        value: Value,
    },
    /// Adds an entry or an item.
    Insert {
        /// The way to the mapping or sequence; a null there becomes one.
        parent: Route,
        /// A new key of the mapping (added last), or the index that the new item gets (the length adds it last).
        at: RouteStep,
        /// The value.
        value: Value,
    },
    /// Takes an entry or an item out, with the comments that belong to it.
    Remove {
        /// The way to its value.
        route: Route,
    },
    /// Gives an entry another key.
    Rename {
        /// The way to its value.
        route: Route,
        /// The new key.
        key: String,
    },
}

/// Why an edit is refused; nothing is changed then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// The file, or the document, cannot be read.
    Broken(Problem),
    /// The stream has no such document.
    NoDocument(usize),
    /// Nothing is at the route.
    NotFound(Route),
    /// The key is there already.
    Exists(Route),
    /// The value has an anchor that other places use: they would change too.
    Shared {
        /// The anchor's name.
        anchor: String,
        /// 1-based line of the anchor.
        line: usize,
    },
    /// The edit is not possible in this place, and why.
    Unsupported(String),
    /// No spelling was found that changes exactly this value.
    Unsafe(Route),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(problem) => write!(f, "the file cannot be read: {problem}"),
            Self::NoDocument(index) => write!(f, "the file has no document {}", index + 1),
            Self::NotFound(route) => write!(f, "nothing is at {route}"),
            Self::Exists(route) => write!(f, "{route} is there already"),
            Self::Shared { anchor, line } => {
                write!(
                    f,
                    "the value has the anchor &{anchor} (line {line}), which other places use"
                )
            }
            Self::Unsupported(why) => f.write_str(why),
            Self::Unsafe(route) => write!(f, "no edit of the text changes exactly {route}"),
        }
    }
}

impl std::error::Error for EditError {}

/// A replacement of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Splice {
    range: Range<usize>,
    text: String,
}

/// The largest number of steps into which the replacement of a collection is split.
const MAX_STEPS: usize = 400;

/// Carries `edits` out, one after the other, in the document with this 0-based index, and returns the file's new bytes.
pub fn apply(bytes: &[u8], document: usize, edits: &[Edit]) -> Result<Vec<u8>, EditError> {
    let mut text = std::str::from_utf8(bytes)
        .map_err(|_| EditError::Unsupported("the file is not valid UTF-8".to_owned()))?
        .to_owned();
    for edit in edits {
        let steps = {
            let stream = parse(text.as_bytes());
            steps(find(&stream, document)?, edit)?
        };
        for step in steps {
            text = apply_one(&text, document, &step)?;
        }
    }
    Ok(text.into_bytes())
}

fn find(stream: &Stream, index: usize) -> Result<&Document, EditError> {
    stream
        .document(index)
        .ok_or_else(|| match stream.problems.first() {
            Some(problem) => EditError::Broken(problem.clone()),
            None => EditError::NoDocument(index),
        })
}

/// Carries one edit out: the first spelling that proves right.
fn apply_one(text: &str, index: usize, edit: &Edit) -> Result<String, EditError> {
    let stream = parse(text.as_bytes());
    let document = find(&stream, index)?;
    let expected = Expected::new(document, edit)?;
    if expected.changes_nothing(document) {
        return Ok(text.to_owned());
    }
    let page = Page::new(document);
    let splices = match edit {
        Edit::Set { route, value } => set::set(&page, route, value)?,
        Edit::Insert { parent, at, value } => insert::insert(&page, parent, at, value)?,
        Edit::Remove { route } => remove::remove(&page, route)?,
        Edit::Rename { route, key } => insert::rename(&page, route, key)?,
    };
    for splice in splices {
        let mut edited = String::with_capacity(text.len() + splice.text.len());
        edited.push_str(&text[..splice.range.start]);
        edited.push_str(&splice.text);
        edited.push_str(&text[splice.range.end..]);
        if expected.holds(&stream, document, &edited) {
            return Ok(edited);
        }
    }
    Err(refusal(document, edit))
}

/// Words the refusal: an anchor that others use is the usual reason.
fn refusal(document: &Document, edit: &Edit) -> EditError {
    let route = match edit {
        Edit::Set { route, .. } | Edit::Remove { route } | Edit::Rename { route, .. } => {
            route.clone()
        }
        Edit::Insert { parent, .. } => parent.clone(),
    };
    if let Some((anchor, line)) = document
        .at(&route)
        .and_then(|node| document.anchor_within(node.span()))
    {
        return EditError::Shared { anchor, line };
    }
    let mut at = Some(route.clone());
    while let Some(here) = at {
        if let Some(node) = document.at(&here).filter(|node| !node.is_alias())
            && let Some(anchor) = node.anchor()
        {
            return EditError::Shared {
                anchor: anchor.to_owned(),
                line: node.line(),
            };
        }
        at = here.split_last().map(|(parent, _)| parent);
    }
    EditError::Unsafe(route)
}

/// What the document must be afterwards, by each dialect that can read it now.
struct Expected {
    values: Vec<(Dialect, Value)>,
}

impl Expected {
    fn new(document: &Document, edit: &Edit) -> Result<Self, EditError> {
        let mut values = vec![];
        let mut problem = None;
        for dialect in [Dialect::Kustomize, Dialect::Kubectl] {
            match document.to_json(dialect) {
                Ok(mut value) => {
                    change(&mut value, edit)?;
                    values.push((dialect, value));
                }
                Err(found) => problem = Some(found),
            }
        }
        match (values.is_empty(), problem) {
            (true, Some(problem)) => Err(EditError::Broken(problem)),
            _ => Ok(Self { values }),
        }
    }

    fn changes_nothing(&self, document: &Document) -> bool {
        self.values
            .iter()
            .all(|(dialect, value)| document.to_json(*dialect).as_ref() == Ok(value))
    }

    fn holds(&self, before: &Stream, document: &Document, edited: &str) -> bool {
        let after = parse(edited.as_bytes());
        let same = before.documents.len() == after.documents.len()
            && before.problems.len() >= after.problems.len()
            && before
                .documents
                .iter()
                .zip(&after.documents)
                .all(|(old, new)| {
                    old.index == new.index
                        && (old.index == document.index
                            || old.source().get(old.span.clone())
                                == new.source().get(new.span.clone()))
                });
        same && after.document(document.index).is_some_and(|new| {
            self.values
                .iter()
                .all(|(dialect, value)| new.to_json(*dialect).as_ref() == Ok(value))
        })
    }
}

/// Carries an edit out on a value.
fn change(value: &mut Value, edit: &Edit) -> Result<(), EditError> {
    match edit {
        Edit::Set { route, value: new } => {
            *get_mut(value, route)? = new.clone();
        }
        Edit::Insert {
            parent,
            at,
            value: new,
        } => {
            let node = get_mut(value, parent)?;
            if node.is_null() {
                *node = match at {
                    RouteStep::Key(_) => Value::Object(serde_json::Map::new()),
                    RouteStep::Index(_) => Value::Array(vec![]),
                };
            }
            match (node, at) {
                (Value::Object(map), RouteStep::Key(key)) => {
                    if map.contains_key(key) {
                        return Err(EditError::Exists(parent.key(key)));
                    }
                    map.insert(key.clone(), new.clone());
                }
                (Value::Array(items), RouteStep::Index(index)) if *index <= items.len() => {
                    items.insert(*index, new.clone());
                }
                _ => return Err(EditError::NotFound(parent.clone())),
            }
        }
        Edit::Remove { route } => {
            take(value, route)?;
        }
        Edit::Rename { route, key } => {
            let taken = take(value, route)?;
            let (parent, _) = route
                .split_last()
                .ok_or_else(|| EditError::NotFound(route.clone()))?;
            match get_mut(value, &parent)? {
                Value::Object(map) if !map.contains_key(key) => {
                    map.insert(key.clone(), taken);
                }
                Value::Object(_) => return Err(EditError::Exists(parent.key(key))),
                _ => return Err(EditError::NotFound(route.clone())),
            }
        }
    }
    Ok(())
}

fn get_mut<'v>(value: &'v mut Value, route: &Route) -> Result<&'v mut Value, EditError> {
    let found = route.0.iter().try_fold(value, |node, step| match step {
        RouteStep::Key(key) => node.get_mut(key.as_str()),
        RouteStep::Index(index) => node.get_mut(*index),
    });
    found.ok_or_else(|| EditError::NotFound(route.clone()))
}

fn take(value: &mut Value, route: &Route) -> Result<Value, EditError> {
    let missing = || EditError::NotFound(route.clone());
    let (parent, last) = route.split_last().ok_or_else(missing)?;
    match (get_mut(value, &parent)?, last) {
        (Value::Object(map), RouteStep::Key(key)) => map.remove(key).ok_or_else(missing),
        (Value::Array(items), RouteStep::Index(index)) if *index < items.len() => {
            Ok(items.remove(*index))
        }
        _ => Err(missing()),
    }
}

/// Splits the replacement of a collection by another of its kind into the smallest edits.
fn steps(document: &Document, edit: &Edit) -> Result<Vec<Edit>, EditError> {
    let Edit::Set { route, value } = edit else {
        return Ok(vec![edit.clone()]);
    };
    let Walk::Own(node, _) = Page::new(document).walk(route)? else {
        return Ok(vec![edit.clone()]);
    };
    if node.is_alias() {
        return Ok(vec![edit.clone()]);
    }
    let old = node
        .to_json(Dialect::Kustomize)
        .or_else(|_| node.to_json(Dialect::Kubectl));
    let mut found = vec![];
    if let Ok(old) = old {
        differences(&old, value, route, &mut found);
    }
    if found.is_empty() || found.len() > MAX_STEPS {
        return Ok(vec![edit.clone()]);
    }
    Ok(found)
}

fn differences(old: &Value, new: &Value, route: &Route, found: &mut Vec<Edit>) {
    match (old, new) {
        (Value::Object(before), Value::Object(after))
            if !before.is_empty() && !after.is_empty() =>
        {
            for (key, value) in after {
                match before.get(key) {
                    Some(same) if same == value => {}
                    Some(old) => differences(old, value, &route.key(key), found),
                    None => found.push(Edit::Insert {
                        parent: route.clone(),
                        at: RouteStep::Key(key.clone()),
                        value: value.clone(),
                    }),
                }
            }
            let gone = before.keys().filter(|key| !after.contains_key(*key));
            found.extend(gone.map(|key| Edit::Remove {
                route: route.key(key),
            }));
        }
        (Value::Array(before), Value::Array(after)) if !before.is_empty() && !after.is_empty() => {
            list_differences(before, after, route, found);
        }
        (old, new) if old == new => {}
        (_, new) => found.push(Edit::Set {
            route: route.clone(),
            value: new.clone(),
        }),
    }
}

/// Keeps the common head and tail; what lies between is set item by item, then cut or filled up from behind.
fn list_differences(before: &[Value], after: &[Value], route: &Route, found: &mut Vec<Edit>) {
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let rest = before.len().min(after.len()) - head;
    let tail = before.iter().rev().zip(after.iter().rev()).take(rest);
    let tail = tail.take_while(|(a, b)| a == b).count();
    let (old, new) = (
        &before[head..before.len() - tail],
        &after[head..after.len() - tail],
    );
    for (at, (old, new)) in old.iter().zip(new).enumerate() {
        differences(old, new, &route.index(head + at), found);
    }
    let shared = old.len().min(new.len());
    for at in (shared..old.len()).rev() {
        found.push(Edit::Remove {
            route: route.index(head + at),
        });
    }
    for (at, value) in new.iter().enumerate().skip(shared) {
        found.push(Edit::Insert {
            parent: route.clone(),
            at: RouteStep::Index(head + at),
            value: value.clone(),
        });
    }
}
