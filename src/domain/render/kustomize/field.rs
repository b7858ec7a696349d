//! The `/`-separated way to a field that a transformer writes, lists on the way gone through, maps made on demand.

use super::model::FieldSpec;
use super::node::{Node, Scalar, Shape, Tag};
use super::place::Mark;
use crate::domain::yaml::Style;

/// What is made where the field is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Create {
    Nothing,
    Text,
    Number,
    Map,
}

type Set<'s> = &'s mut dyn FnMut(&mut Node) -> Result<(), String>;

/// Calls `set` on the fields that `spec` names in an object; the caller has looked at the kind.
pub(super) fn visit(
    root: &mut Node,
    spec: &FieldSpec,
    create: Create,
    mark: Option<&Mark>,
    set: Set<'_>,
) -> Result<(), String> {
    let path = split_path(&spec.path, '/');
    let create = if spec.create { create } else { Create::Nothing };
    walk(root, &path, create, mark, set)
        .map_err(|error| format!("considering field '{}': {error}", spec.path))
}

/// Splits a path; a backslash keeps the delimiter after it.
pub(super) fn split_path(path: &str, delimiter: char) -> Vec<String> {
    let mut parts: Vec<String> = vec![];
    let pieces: Vec<&str> = path.split(delimiter).collect();
    let skip = usize::from(pieces.len() > 1 && pieces[0].is_empty());
    for piece in &pieces[skip..] {
        match parts.last_mut().filter(|last| last.ends_with('\\')) {
            Some(last) => {
                last.pop();
                last.push(delimiter);
                last.push_str(piece);
            }
            None => parts.push((*piece).to_owned()),
        }
    }
    parts
}

fn walk(
    node: &mut Node,
    path: &[String],
    create: Create,
    mark: Option<&Mark>,
    set: Set<'_>,
) -> Result<(), String> {
    let Some((first, rest)) = path.split_first() else {
        return set(node);
    };
    if node.is_null() {
        return Ok(());
    }
    match &mut node.shape {
        Shape::List(items) => {
            for item in items {
                walk(item, path, create, mark, &mut *set)?;
            }
            Ok(())
        }
        Shape::Map(_) => {
            let name = first.trim_end_matches("[]");
            let is_list = name.len() != first.len();
            if name.is_empty() {
                return Err("cannot set or create an empty field name".into());
            }
            let made = match create {
                _ if is_list => None,
                Create::Nothing => None,
                _ if !rest.is_empty() => Some(Node::map()),
                Create::Map => Some(Node::map()),
                Create::Text => Some(Node::new(Shape::Scalar(Scalar::untyped("")))),
                Create::Number => Some(Node::new(Shape::Scalar(Scalar {
                    text: "".into(),
                    tag: Some(Tag::Int),
                    style: Style::Plain,
                }))),
            };
            match (node.get_mut(name), made) {
                (None, None) => return Ok(()),
                (None, Some(mut made)) => {
                    made.mark = mark.cloned();
                    node.put(name, made);
                }
                (Some(old), Some(made)) if old.is_null() => old.shape = made.shape,
                (Some(old), None) if is_list && old.is_null() => old.shape = Shape::List(vec![]),
                _ => {}
            }
            match node.get_mut(name) {
                Some(field) => walk(field, rest, create, mark, set),
                None => Ok(()),
            }
        }
        Shape::Scalar(_) => Err("expected sequence or mapping node".into()),
    }
}
