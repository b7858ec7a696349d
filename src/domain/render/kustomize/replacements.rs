//! `replacements`: a value read from one object and written into others.

use regex::Regex;

use super::accumulate::Accumulator;
use super::decode;
use super::load::{Context, Root, configuration, fault_at, refused};
use super::model::{
    FieldOptions, Replacement, ReplacementEntry, ReplacementSource, ReplacementTarget,
};
use super::node::{Node, Scalar, Shape, Tag, tag_of};
use super::place::{Mark, Place};
use super::resource::{Id, Resource};
use super::schema::Schema;
use super::selector::Matcher;
use crate::domain::fault::Fault;
use crate::domain::object::Step;
use crate::domain::yaml::{self, Dialect, Style};

/// Carries an entry out.
pub(super) fn transform(
    context: &mut Context<'_>,
    root: &Root,
    all: &mut Accumulator,
    entry: &ReplacementEntry,
    schema: &Schema,
) -> Result<(), Fault> {
    let at = &entry.place;
    let list = match &entry.path {
        None => vec![entry.inline.clone()],
        Some(_)
            if entry.inline.source.is_some()
                || entry.inline.targets.as_ref().is_some_and(|t| !t.is_empty()) =>
        {
            return Err(fault_at(
                at,
                "cannot specify both path and inline replacement",
            ));
        }
        Some(path) => {
            let (file, bytes) = context.read(root, path, at)?;
            let place = Place::file(file);
            let node = configuration(&bytes, &place)?;
            let nodes = match &node {
                Some(Node {
                    shape: Shape::List(items),
                    ..
                }) => items.iter().collect(),
                Some(node) => vec![node],
                None => vec![],
            };
            nodes
                .into_iter()
                .map(|node| decode::replacement(node).map_err(|refusal| refused(&refusal, &place)))
                .collect::<Result<Vec<_>, _>>()?
        }
    };
    for replacement in &list {
        one(all, replacement, schema).map_err(|error| fault_at(at, error))?;
    }
    Ok(())
}

fn one(all: &mut Accumulator, replacement: &Replacement, schema: &Schema) -> Result<(), String> {
    let value = match (
        &replacement.source,
        &replacement.source_value,
        &replacement.targets,
    ) {
        (None, None, _) | (_, _, None) => {
            return Err("replacements must specify a source and at least one target".into());
        }
        (Some(_), Some(_), _) => {
            return Err("value and resource selectors are mutually exclusive".into());
        }
        (None, Some(text), _) => Node::new(Shape::Scalar(Scalar::untyped(text.value.as_str())))
            .marked(Mark::entry(text.place.clone(), Step::Replacement)),
        (Some(source), None, _) => read_source(all, source, schema)?,
    };
    for target in replacement.targets.iter().flatten() {
        write_target(all, target, &value, schema)?;
    }
    Ok(())
}

fn read_source(
    all: &Accumulator,
    source: &ReplacementSource,
    schema: &Schema,
) -> Result<Node, String> {
    let select = &source.select;
    let meant = |id: &Id| {
        (select.name.is_empty() || *select.name == *id.name)
            && (select.namespace.is_empty()
                || id.effective_namespace() == select.namespace
                || (select.namespace == "default" && id.effective_namespace() == "default"))
            && id.is_selected(&select.group, &select.version, &select.kind)
    };
    let mut found = all
        .resources
        .iter()
        .filter(|resource| resource.any_id(schema, meant));
    let named = format!("{} {}", select.kind, select.name);
    let resource = match (found.next(), found.next()) {
        (Some(resource), None) => resource,
        (None, _) => return Err(format!("nothing selected by {named}")),
        _ => return Err(format!("multiple matches for selector {named}")),
    };
    let path = if source.field_path.is_empty() {
        "metadata.name"
    } else {
        &source.field_path
    };
    let node = look_up(&resource.root, &split(path))?
        .filter(|node| !node.is_empty())
        .ok_or_else(|| format!("fieldPath `{path}` is missing for replacement source {named}"))?;
    let mut value = node.clone();
    value.part();
    if let Some(place) = node.place() {
        value.mark = Some(Mark::entry(place, Step::Replacement));
    }
    let options = &source.options;
    if options.delimiter.is_empty() {
        return Ok(value);
    }
    let Shape::Scalar(scalar) = &mut value.shape else {
        return Err("delimiter option can only be used with scalar nodes".into());
    };
    let text = scalar.text.to_string();
    let parts: Vec<&str> = text.split(options.delimiter.as_str()).collect();
    let part = usize::try_from(options.index)
        .ok()
        .and_then(|index| parts.get(index))
        .ok_or_else(|| {
            format!(
                "options.index {} is out of bounds for value {text}",
                options.index
            )
        })?;
    scalar.text = (*part).into();
    Ok(value)
}

/// Splits a field path at its dots; brackets hold a step with dots together.
pub(super) fn split(path: &str) -> Vec<String> {
    let parts = super::field::split_path(path, '.');
    let mut steps = vec![];
    let mut at = 0;
    while at < parts.len() {
        let mut step = parts[at].clone();
        if step.starts_with('[') && !step.ends_with(']') {
            while at + 1 < parts.len() {
                at += 1;
                step.push('.');
                step.push_str(&parts[at]);
                if parts[at].ends_with(']') {
                    break;
                }
            }
            if !step.contains('=') {
                step = step.trim_matches(['[', ']']).into();
            }
        }
        steps.push(step);
        at += 1;
    }
    steps
}

fn is_item(step: &str) -> bool {
    step.starts_with('[') && step.ends_with(']')
}

/// Splits `[name=value]`; the name is empty for `[=value]`.
fn item(step: &str) -> Result<(&str, &str), String> {
    step.trim_start_matches('[')
        .trim_end_matches(']')
        .split_once('=')
        .ok_or_else(|| format!("list path element must contain `=`: {step}"))
}

/// Follows a path, every value exact.
fn look_up<'n>(root: &'n Node, path: &[String]) -> Result<Option<&'n Node>, String> {
    let mut node = root;
    for step in path
        .iter()
        .map(|step| step.trim())
        .filter(|step| !step.is_empty())
    {
        if node.is_null() {
            return Ok(None);
        }
        let list = || match &node.shape {
            Shape::List(items) => Ok(items),
            _ => Err(format!(
                "expected a list before `{step}`, found {}",
                node.kind_name()
            )),
        };
        let next = if let Ok(index) = step.parse::<usize>() {
            list()?.get(index)
        } else if step == "-" {
            list()?.last()
        } else if is_item(step) {
            let (name, value) = item(step)?;
            list()?.iter().find(|element| {
                if name.is_empty() {
                    element.text().is_some_and(|text| **text == *value)
                } else {
                    element
                        .get(name)
                        .and_then(Node::text)
                        .is_some_and(|text| **text == *value)
                }
            })
        } else if matches!(node.shape, Shape::Map(_)) {
            node.get(step)
        } else {
            return Err(format!(
                "expected a map before `{step}`, found {}",
                node.kind_name()
            ));
        };
        match next {
            Some(next) => node = next,
            None => return Ok(None),
        }
    }
    Ok(Some(node))
}

fn write_target(
    all: &mut Accumulator,
    target: &ReplacementTarget,
    value: &Node,
    schema: &Schema,
) -> Result<(), String> {
    let select = target
        .select
        .as_ref()
        .ok_or("target must specify resources to select")?;
    let select = Matcher::new(select)?;
    let rejects = target
        .reject
        .iter()
        .map(Matcher::new)
        .collect::<Result<Vec<_>, _>>()?;
    let default = ["metadata.name".to_owned()];
    let paths = if target.field_paths.is_empty() {
        &default[..]
    } else {
        &target.field_paths
    };
    for resource in &mut all.resources {
        if !select.has_words(resource)
            || rejects
                .iter()
                .any(|reject| reject.has_labels && reject.has_words(resource))
        {
            continue;
        }
        let ids: Vec<Id> = std::iter::once(resource.id(schema))
            .chain(resource.former_ids())
            .collect();
        let rejected = rejects
            .iter()
            .any(|reject| !reject.names_nothing && ids.iter().any(|id| reject.id(id)));
        if rejected || !ids.iter().any(|id| select.id(id)) {
            continue;
        }
        for path in paths {
            write_path(resource, path, value, &target.options)?;
            resource.settle();
        }
    }
    Ok(())
}

fn write_path(
    resource: &mut Resource,
    path: &str,
    value: &Node,
    options: &FieldOptions,
) -> Result<(), String> {
    let steps = split(path);
    let kind = options.create.then(|| empty_like(value));
    if inside_text(&mut resource.root, &steps, value, kind.as_ref()).is_ok() {
        return Ok(());
    }
    let how = if options.create {
        "unable to find or create field"
    } else {
        "unable to find field"
    };
    let wrap = |error: &str| format!("{how} \"{path}\" in replacement target{error}");
    let mut count = 0;
    let mut set = |node: &mut Node| {
        count += 1;
        set_value(node, value, options)
    };
    visit(&mut resource.root, &steps, kind.as_ref(), &mut set).map_err(|error| match error {
        Failure::Path(error) => wrap(&format!(": {error}")),
        Failure::Value(error) => error,
    })?;
    if count == 0 { Err(wrap("")) } else { Ok(()) }
}

/// Makes what is created at the end of a path: an empty node of the value's kind.
fn empty_like(value: &Node) -> Node {
    match value.shape {
        Shape::Scalar(_) => Node::new(Shape::Scalar(Scalar::untyped(""))),
        Shape::Map(_) => Node::map(),
        Shape::List(_) => Node::new(Shape::List(vec![])),
    }
}

enum Failure {
    Path(String),
    Value(String),
}

fn created(next: Option<&String>, last: &Node) -> Node {
    match next {
        None => last.clone(),
        Some(next) if is_item(next) || next.parse::<usize>().is_ok() => {
            Node::new(Shape::List(vec![]))
        }
        Some(_) => Node::map(),
    }
}

type Set<'s> = &'s mut dyn FnMut(&mut Node) -> Result<(), String>;

/// Calls `set` on every node that a path names; values in brackets are patterns.
fn visit(
    node: &mut Node,
    path: &[String],
    create: Option<&Node>,
    set: Set<'_>,
) -> Result<(), Failure> {
    let Some((step, rest)) = path.split_first() else {
        return set(node).map_err(Failure::Value);
    };
    let kind = node.kind_name();
    let no_list = || Failure::Path(format!("expected a list at `{step}`, found {kind}"));
    if let Ok(index) = step.parse::<usize>() {
        let Shape::List(items) = &mut node.shape else {
            return Err(no_list());
        };
        if index == items.len()
            && let Some(last) = create
        {
            items.push(created(rest.first(), last));
        }
        let len = items.len();
        let item = items.get_mut(index).ok_or_else(|| {
            Failure::Path(format!(
                "index {index} specified but only {len} elements found"
            ))
        })?;
        return visit(item, rest, create, set);
    }
    if is_item(step) {
        let (name, pattern) = item(step).map_err(Failure::Path)?;
        let regex = Regex::new(pattern).map_err(|error| Failure::Path(error.to_string()))?;
        let Shape::List(items) = &mut node.shape else {
            return Err(no_list());
        };
        let is_meant = |element: &Node| {
            let element = if name.is_empty() {
                Some(element)
            } else {
                element.get(name)
            };
            element.is_some_and(|element| regex.is_match(&printed(element)))
        };
        let mut found = false;
        for element in items.iter_mut().filter(|element| is_meant(element)) {
            found = true;
            if name.is_empty() {
                set(element).map_err(Failure::Value)?;
            } else {
                visit(element, rest, create, &mut *set)?;
            }
        }
        if !found && create.is_some() {
            let scalar = Node::new(Shape::Scalar(Scalar::untyped(pattern)));
            let mut element = if name.is_empty() {
                scalar
            } else {
                let mut map = Node::map();
                map.put(name, scalar);
                map
            };
            if name.is_empty() {
                set(&mut element).map_err(Failure::Value)?;
            } else {
                visit(&mut element, rest, create, set)?;
            }
            items.push(element);
        }
        return Ok(());
    }
    if step == "*" {
        let Shape::List(items) = &mut node.shape else {
            return Err(no_list());
        };
        for element in items {
            visit(element, rest, create, &mut *set)?;
        }
        return Ok(());
    }
    if node.is_null() {
        return Ok(());
    }
    if !matches!(node.shape, Shape::Map(_)) {
        return Err(Failure::Path(format!(
            "expected a map at `{step}`, found {kind}"
        )));
    }
    if node.get(step).is_none() {
        let Some(last) = create else {
            return Ok(());
        };
        node.put(step, created(rest.first(), last));
    }
    match node.get_mut(step) {
        Some(field) => visit(field, rest, create, set),
        None => Ok(()),
    }
}

/// Returns a node's text as a pattern sees it.
fn printed(node: &Node) -> String {
    match &node.shape {
        Shape::Scalar(scalar) => scalar.text.trim().to_owned(),
        _ => node
            .to_json()
            .map(|value| yaml::emit(&value).trim().to_owned())
            .unwrap_or_default(),
    }
}

fn set_value(target: &mut Node, value: &Node, options: &FieldOptions) -> Result<(), String> {
    let mut value = value.clone();
    if !options.delimiter.is_empty() {
        let Some(old) = target.text() else {
            return Err("delimiter option can only be used with scalar nodes".into());
        };
        let mut parts: Vec<String> = old
            .split(options.delimiter.as_str())
            .map(str::to_owned)
            .collect();
        let new = value.value_text().to_owned();
        match usize::try_from(options.index) {
            Err(_) => parts.insert(0, new),
            Ok(index) if index >= parts.len() => parts.push(new),
            Ok(index) => parts[index] = new,
        }
        if let Shape::Scalar(scalar) = &mut value.shape {
            scalar.text = parts.join(&options.delimiter).into();
        }
    }
    put(target, &value);
    Ok(())
}

/// Writes a value: of a scalar only the text changes.
fn put(target: &mut Node, value: &Node) {
    let mark = value
        .mark
        .as_ref()
        .map(|mark| mark.over(target.mark.as_ref()));
    if let Shape::Scalar(scalar) = &mut target.shape {
        scalar.text = value.text().cloned().unwrap_or_default();
        target.mark = mark.or_else(|| target.mark.clone());
        target.note_written();
    } else {
        *target = value.clone();
        target.mark = mark;
    }
}

/// Writes into a document that is itself the text of a field. The error says that this is not such a path.
fn inside_text(
    root: &mut Node,
    steps: &[String],
    value: &Node,
    create: Option<&Node>,
) -> Result<(), String> {
    let not_here = || "no structured data found in path".to_owned();
    let mut cut = None;
    for length in 1..steps.len() {
        if let Ok(Some(node)) = look_up(root, &steps[..length])
            && matches!(node.shape, Shape::Scalar(_))
        {
            cut = Some((length, node.text().cloned().unwrap_or_default()));
            break;
        }
    }
    let (length, text) = cut.ok_or_else(not_here)?;
    let stream = yaml::parse(text.as_bytes());
    if !stream.problems.is_empty() {
        return Err(not_here());
    }
    let document = stream.documents.first().ok_or_else(not_here)?;
    let mut inner = Node::read(
        document,
        Dialect::Kustomize,
        Place::file(""),
        Step::Replacement,
        false,
    )
    .map_err(|problem| problem.message)?;
    let mut count = 0;
    let mut set = |node: &mut Node| {
        count += 1;
        match &mut node.shape {
            Shape::Scalar(scalar) => scalar.text = value.text().cloned().unwrap_or_default(),
            shape => *shape = value.shape.clone(),
        }
        Ok(())
    };
    visit(&mut inner, &steps[length..], create, &mut set).map_err(|_| not_here())?;
    if count == 0 {
        return Err(not_here());
    }
    let json = inner.to_json()?;
    let new = match text.trim_start().chars().next() {
        Some('{' | '[') => json_text(&json, text.contains('\n') && text.contains("  ")),
        _ => printed_in_order(&inner),
    };
    let mut target = root;
    for step in &steps[..length] {
        target = child_mut(target, step).ok_or_else(not_here)?;
    }
    if let Shape::Scalar(scalar) = &mut target.shape {
        scalar.text = new.into();
    }
    target.note_written();
    target.mark = value
        .mark
        .as_ref()
        .map(|mark| mark.over(target.mark.as_ref()));
    Ok(())
}

fn child_mut<'n>(node: &'n mut Node, step: &str) -> Option<&'n mut Node> {
    match &mut node.shape {
        Shape::List(items) => {
            if let Ok(index) = step.parse::<usize>() {
                return items.get_mut(index);
            }
            let (name, value) = item(step).ok()?;
            items.iter_mut().find(|element| {
                let element = if name.is_empty() {
                    Some(&**element)
                } else {
                    element.get(name)
                };
                element
                    .and_then(Node::text)
                    .is_some_and(|text| **text == *value)
            })
        }
        Shape::Map(entries) => entries
            .iter_mut()
            .find(|(key, _)| **key == *step)
            .map(|(_, node)| node),
        Shape::Scalar(_) => None,
    }
}

fn json_text(value: &serde_json::Value, pretty: bool) -> String {
    let escaped = |text: String| {
        text.replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026")
    };
    if pretty {
        escaped(serde_json::to_string_pretty(value).unwrap_or_default())
    } else {
        escaped(value.to_string())
    }
}

/// Writes a document with its keys in the order they have.
fn printed_in_order(node: &Node) -> String {
    let mut out = String::new();
    write_node(node, 0, &mut out);
    out.trim().to_owned()
}

fn write_node(node: &Node, indent: usize, out: &mut String) {
    let pad = "  ".repeat(indent);
    match &node.shape {
        Shape::Map(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                let key = yaml::emit(&serde_json::Value::from(&**key));
                out.extend([&pad, key.trim_end(), ":"]);
                write_value(value, indent, out);
            }
        }
        Shape::List(items) if !items.is_empty() => {
            for item in items {
                let mut inner = String::new();
                write_node(item, indent + 1, &mut inner);
                let inner = inner
                    .strip_prefix(&"  ".repeat(indent + 1))
                    .unwrap_or(&inner)
                    .to_owned();
                out.extend([&pad, "- ", &inner]);
            }
        }
        _ => out.extend([&pad, &*scalar_text(node), "\n"]),
    }
}

fn write_value(value: &Node, indent: usize, out: &mut String) {
    match &value.shape {
        Shape::Map(entries) if !entries.is_empty() => {
            out.push('\n');
            write_node(value, indent + 1, out);
        }
        Shape::List(items) if !items.is_empty() => {
            out.push('\n');
            write_node(value, indent, out);
        }
        _ => {
            out.extend([" ", &*scalar_text(value), "\n"]);
        }
    }
}

fn scalar_text(node: &Node) -> String {
    let Shape::Scalar(scalar) = &node.shape else {
        return if matches!(node.shape, Shape::Map(_)) {
            "{}".into()
        } else {
            "[]".into()
        };
    };
    match scalar.style {
        Style::Single => format!("'{}'", scalar.text.replace('\'', "''")),
        Style::Double => serde_json::Value::from(&*scalar.text).to_string(),
        _ if scalar.tag == Some(Tag::Str)
            && tag_of(&scalar.text, Style::Plain, None) != Tag::Str =>
        {
            serde_json::Value::from(&*scalar.text).to_string()
        }
        _ => scalar.text.to_string(),
    }
}
