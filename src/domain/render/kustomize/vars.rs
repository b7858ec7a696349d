//! `vars`: `$(NAME)` in the fields that are listed for it.

use std::collections::HashMap;

use super::accumulate::Accumulator;
use super::field::{Create, visit};
use super::load::fault_at;
use super::model::{FieldSpec, Var};
use super::node::{Node, Scalar, Shape, Tag};
use super::place::Mark;
use super::resource::{Id, Resource};
use super::schema::Schema;
use crate::domain::fault::Fault;
use crate::domain::object::Step;
use crate::domain::yaml::Style;

/// Notes the variable at the object that it reads, as that object is called by now.
pub(super) fn claim(resources: &mut [Resource], var: &Var, schema: &Schema) -> Result<(), String> {
    let object = &var.object;
    let wanted = Id {
        group: object.group.as_str().into(),
        version: object.version.as_str().into(),
        kind: object.kind.as_str().into(),
        name: object.name.as_str().into(),
        namespace: object.namespace.as_str().into(),
        is_cluster: false,
    };
    let matches = |id: &Id| {
        if object.namespace.is_empty() {
            wanted.is_same_but_namespace(id)
        } else {
            wanted.is_same(id)
        }
    };
    let mut found: Vec<&mut Resource> = resources
        .iter_mut()
        .filter(|resource| resource.any_id(schema, matches))
        .collect();
    match &mut found[..] {
        [] => Ok(()),
        [resource] => {
            resource.vars.push(var.name.clone());
            Ok(())
        }
        _ => Err(format!(
            "found {} resId matches for var {} (unable to disambiguate)",
            found.len(),
            var.name
        )),
    }
}

/// Puts the values of all variables in.
pub(super) fn resolve(all: &mut Accumulator, fields: &[FieldSpec], schema: &Schema) -> Vec<Fault> {
    let mut problems = vec![];
    let mut values: HashMap<&str, Node> = HashMap::new();
    for var in &all.vars {
        match value(&all.resources, var) {
            Ok(node) => {
                values.insert(&var.name, node);
            }
            Err(error) => problems.push(fault_at(&var.place, error)),
        }
    }
    if values.is_empty() || !problems.is_empty() {
        return problems;
    }
    for spec in fields {
        for resource in &mut all.resources {
            let id = resource.id(schema);
            if !id.has_field(spec) {
                continue;
            }
            let mut set = |node: &mut Node| fill(node, &values);
            if let Err(error) = visit(&mut resource.root, spec, Create::Nothing, None, &mut set) {
                let at = resource.root.place();
                let fault = format!("{id}: {error}");
                problems.push(at.map_or_else(
                    || Fault::new(crate::domain::fault::FaultKind::Render, &*fault),
                    |at| fault_at(&at, &*fault),
                ));
            }
            resource.settle();
        }
    }
    problems
}

fn value(resources: &[Resource], var: &Var) -> Result<Node, String> {
    let Some(resource) = resources
        .iter()
        .find(|resource| resource.vars.contains(&var.name))
    else {
        return Err(format!(
            "var '{}' cannot be mapped to a field in the set of known resources",
            var.name
        ));
    };
    let missing = || {
        format!(
            "field specified in var '{}' not found in corresponding resource",
            var.name
        )
    };
    let mut node = &resource.root;
    for step in super::replacements::split(&var.field_path) {
        let step = step.trim_matches(['[', ']']);
        node = match &node.shape {
            Shape::List(items) => step.parse::<usize>().ok().and_then(|at| items.get(at)),
            _ => node.get(step),
        }
        .ok_or_else(missing)?;
    }
    Ok(node.clone())
}

fn fill(node: &mut Node, values: &HashMap<&str, Node>) -> Result<(), String> {
    if node.is_null() {
        return Ok(());
    }
    match &mut node.shape {
        Shape::Scalar(_) => {
            scalar(node, values);
            Ok(())
        }
        Shape::Map(entries) => {
            for (_, value) in entries {
                scalar(value, values);
            }
            Ok(())
        }
        Shape::List(items) => {
            for item in items {
                if !is_text(item) {
                    return Err("invalid value type expect a string".into());
                }
                scalar(item, values);
            }
            Ok(())
        }
    }
}

fn is_text(node: &Node) -> bool {
    matches!(
        &node.shape,
        Shape::Scalar(Scalar {
            tag: None | Some(Tag::Str),
            ..
        })
    )
}

fn scalar(node: &mut Node, values: &HashMap<&str, Node>) {
    if !is_text(node) {
        return;
    }
    let Some(old) = node.text().cloned() else {
        return;
    };
    let (new, source) = expand(&old, values);
    let mut scalar = match new {
        Expanded::Text(text) => Scalar::string(text),
        Expanded::Typed(scalar) => scalar,
    };
    scalar.style = if scalar.tag == Some(Tag::Str) && scalar.text.contains('\n') {
        Style::Literal
    } else {
        Style::Plain
    };
    if let Some(place) = source.and_then(Node::place) {
        node.mark = Some(Mark::entry(place, Step::Replacement).over(node.mark.as_ref()));
    }
    node.shape = Shape::Scalar(scalar);
    node.note_written();
}

enum Expanded {
    Text(String),
    Typed(Scalar),
}

/// Expands `$(NAME)`; a text that is nothing else keeps the value's type.
fn expand<'v>(input: &str, values: &'v HashMap<&str, Node>) -> (Expanded, Option<&'v Node>) {
    let mut text = String::new();
    let mut source = None;
    let mut rest = input;
    while let Some(at) = rest.find('$') {
        text.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(escaped) = after.strip_prefix('$') {
            text.push('$');
            rest = escaped;
        } else if let Some((name, tail)) = after
            .strip_prefix('(')
            .and_then(|inner| inner.split_once(')'))
        {
            match values.get(name).map(|node| (node, &node.shape)) {
                Some((node, Shape::Scalar(scalar))) if !node.is_null() => {
                    source = Some(node);
                    if input.len() == name.len() + 3 {
                        return (Expanded::Typed(scalar.clone()), source);
                    }
                    let json = node.to_json().ok();
                    match json {
                        Some(serde_json::Value::String(value)) => text.push_str(&value),
                        Some(other) => text.push_str(&other.to_string()),
                        None => text.push_str(&scalar.text),
                    }
                }
                _ => {
                    text.push_str("$(");
                    text.push_str(name);
                    text.push(')');
                }
            }
            rest = tail;
        } else {
            text.push('$');
            rest = after;
        }
    }
    text.push_str(rest);
    (Expanded::Text(text), source)
}
