//! `configMapGenerator` and `secretGenerator`.

use base64::Engine as _;

use super::load::{Context, Root, fault_at};
use super::model::{Generator, GeneratorOptions, Pairs};
use super::node::{Node, Scalar, Shape, Tag};
use super::place::{Mark, Place};
use super::resource::{Behavior, Resource};
use crate::domain::fault::Fault;
use crate::domain::object::Step;
use crate::domain::yaml::{Route, Style};

/// A key with its value and the place of the literal, file or line.
struct Pair {
    key: String,
    value: Vec<u8>,
    place: Place,
}

/// Makes the object of a generator.
pub(super) fn generate(
    context: &mut Context<'_>,
    root: &Root,
    generator: &Generator,
    shared: Option<&GeneratorOptions>,
    is_secret: bool,
) -> Result<Resource, Fault> {
    let kind = if is_secret { "Secret" } else { "ConfigMap" };
    let at = &generator.place;
    let own = Mark::entry(at.clone(), Step::Generator);
    let Some(name) = &generator.name else {
        return Err(fault_at(at, "a configmap must have a name"));
    };
    let options = options(generator.options.as_ref(), shared);
    let mut node = Node::map().marked(own.clone());
    node.put("apiVersion", Node::string("v1").marked(own.clone()));
    node.put("kind", Node::string(kind).marked(own.clone()));
    let mut metadata = Node::map().marked(own.clone());
    let entry = |place: &Place| Mark::entry(place.clone(), Step::Generator);
    metadata.put(
        "name",
        Node::string(name.value.as_str()).marked(entry(&name.place)),
    );
    if let Some(namespace) = &generator.namespace {
        metadata.put(
            "namespace",
            Node::string(namespace.value.as_str()).marked(entry(&namespace.place)),
        );
    }
    for (field, pairs) in [
        ("labels", &options.labels),
        ("annotations", &options.annotations),
    ] {
        if !pairs.is_empty() {
            let mut map = Node::map().marked(own.clone());
            for (key, value) in pairs {
                map.put(
                    key,
                    Node::string(value.value.as_str()).marked(entry(&value.place)),
                );
            }
            metadata.put(field, map);
        }
    }
    node.put("metadata", metadata);
    if is_secret {
        let (kind, place) = generator
            .secret_type
            .as_ref()
            .map_or(("Opaque", at), |kind| (kind.value.as_str(), &kind.place));
        node.put("type", Node::string(kind).marked(entry(place)));
        node.put("data", Node::map().marked(own.clone()));
    }
    for pair in pairs(context, root, generator)? {
        put_pair(&mut node, pair, is_secret, &own);
    }
    if let Some(place) = &options.immutable {
        let scalar = Scalar {
            text: "true".into(),
            tag: Some(Tag::Bool),
            style: Style::Plain,
        };
        node.put(
            "immutable",
            Node::new(Shape::Scalar(scalar)).marked(entry(place)),
        );
    }
    let mut resource = Resource::new(node);
    resource.needs_hash = !options.disable_hash;
    resource.behavior = match generator.behavior.as_str() {
        "merge" => Behavior::Merge,
        "replace" => Behavior::Replace,
        // kustomize takes every other word for this one.
        _ => Behavior::Create,
    };
    Ok(resource)
}

fn put_pair(node: &mut Node, pair: Pair, is_secret: bool, own: &Mark) {
    let mark = Mark::entry(pair.place, Step::Generator);
    let (field, text) = match String::from_utf8(pair.value) {
        Ok(text) if !is_secret => ("data", text),
        Ok(text) => ("data", base64(text.as_bytes())),
        Err(error) => (
            if is_secret { "data" } else { "binaryData" },
            base64(error.as_bytes()),
        ),
    };
    if node.get(field).is_none() {
        node.put(field, Node::map().marked(own.clone()));
    }
    if let Some(map) = node.get_mut(field) {
        map.put(&pair.key, text_node(text).marked(mark));
    }
}

/// Makes a text as kustomize's data maps hold it.
fn text_node(text: String) -> Node {
    let style = if text.contains('\n') {
        Style::Literal
    } else {
        Style::Plain
    };
    Node::new(Shape::Scalar(Scalar {
        style,
        ..Scalar::string(text)
    }))
}

/// Encodes as kustomize does: long text is broken every 70 characters and ends with a line break.
fn base64(bytes: &[u8]) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    if text.len() < 70 {
        return text;
    }
    let mut lines = String::new();
    for line in text.as_bytes().chunks(70) {
        lines.push_str(&String::from_utf8_lossy(line));
        lines.push('\n');
    }
    lines
}

fn options(own: Option<&GeneratorOptions>, shared: Option<&GeneratorOptions>) -> GeneratorOptions {
    let mut options = own.cloned().unwrap_or_default();
    let Some(shared) = shared else {
        return options;
    };
    let fill = |own: &mut Pairs, shared: &Pairs| {
        for (key, value) in shared {
            if own.iter().all(|(name, _)| name != key) {
                own.push((key.clone(), value.clone()));
            }
        }
        own.sort_by(|a, b| a.0.cmp(&b.0));
    };
    fill(&mut options.labels, &shared.labels);
    fill(&mut options.annotations, &shared.annotations);
    options.disable_hash |= shared.disable_hash;
    if options.immutable.is_none() {
        options.immutable.clone_from(&shared.immutable);
    }
    options
}

fn pairs(
    context: &mut Context<'_>,
    root: &Root,
    generator: &Generator,
) -> Result<Vec<Pair>, Fault> {
    let mut pairs = vec![];
    for env in &generator.envs {
        let (file, bytes) = context.read(root, &env.value, &env.place)?;
        env_pairs(&file, &bytes, &mut pairs)?;
    }
    for literal in &generator.literals {
        let (key, value) = match literal.value.split_once('=') {
            Some((key, value)) if !key.is_empty() => (key, unquoted(value)),
            _ => {
                let text = format!(
                    "invalid literal source {}, expected key=value",
                    literal.value
                );
                return Err(fault_at(&literal.place, text));
            }
        };
        pairs.push(Pair {
            key: key.to_owned(),
            value: value.as_bytes().to_vec(),
            place: literal.place.clone(),
        });
    }
    for file in &generator.files {
        let (key, path) = file_source(&file.value).map_err(|text| fault_at(&file.place, text))?;
        let (path, value) = context.read(root, path, &file.place)?;
        pairs.push(Pair {
            key: key.to_owned(),
            value,
            place: Place::file(path),
        });
    }
    let mut seen = std::collections::HashSet::new();
    for pair in &pairs {
        if !is_key(&pair.key) {
            return Err(fault_at(
                &generator.place,
                format!("\"{}\" is not a valid key name for a ConfigMap", pair.key),
            ));
        }
        if !seen.insert(pair.key.as_str()) {
            let name = generator.name.as_ref().map_or("", |name| &name.value);
            return Err(fault_at(
                &generator.place,
                format!("configmap {name} illegally repeats the key `{}`", pair.key),
            ));
        }
    }
    pairs.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(pairs)
}

fn is_key(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= 253
        && key != "."
        && !key.starts_with("..")
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if text.len() >= 2
            && let Some(inner) = text
                .strip_prefix(quote)
                .and_then(|rest| rest.strip_suffix(quote))
        {
            return inner;
        }
    }
    text
}

fn file_source(source: &str) -> Result<(&str, &str), String> {
    match source.matches('=').count() {
        0 => Ok((
            source
                .trim_end_matches('/')
                .rsplit('/')
                .next()
                .unwrap_or(source),
            source,
        )),
        1 => match source.split_once('=') {
            Some(("", path)) => Err(format!(
                "missing key name for file path \"{path}\" in source \"{source}\""
            )),
            Some((key, "")) => Err(format!(
                "missing file path for key name \"{key}\" in source \"{source}\""
            )),
            Some(pair) => Ok(pair),
            None => Err(format!("`{source}` names no file")),
        },
        _ => Err(format!(
            "source \"{source}\" key name or file path contains '='"
        )),
    }
}

fn env_pairs(file: &str, bytes: &[u8], pairs: &mut Vec<Pair>) -> Result<(), Fault> {
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let place = Place {
            line: index + 1,
            ..Place::file(file)
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Ok(line) = std::str::from_utf8(line) else {
            return Err(fault_at(
                &place,
                format!("line {} has invalid utf8 bytes", index + 1),
            ));
        };
        let line = if index == 0 {
            line.strip_prefix('\u{feff}').unwrap_or(line)
        } else {
            line
        };
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let is_name = !key.is_empty()
            && !key.starts_with(|c: char| c.is_ascii_digit())
            && key != "."
            && !key.starts_with("..")
            && key
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
        if !is_name {
            return Err(fault_at(
                &place,
                format!("\"{key}\" is not a valid name of an environment variable"),
            ));
        }
        pairs.push(Pair {
            key: key.to_owned(),
            value: value.as_bytes().to_vec(),
            place: Place {
                route: Route::root().key(key),
                ..place
            },
        });
    }
    Ok(())
}

/// Puts what is there already below a generated object: the names and notes of the old one, and with `merge` its data.
pub(super) fn absorb(new: &mut Resource, old: &Resource, merges: bool) {
    for field in ["labels", "annotations"] {
        let olds = old
            .root
            .get("metadata")
            .and_then(|metadata| metadata.get(field))
            .cloned();
        let Some(metadata) = new.root.map_at("metadata") else {
            continue;
        };
        let merged = merged_texts(olds.as_ref(), metadata.get(field));
        metadata.remove(field);
        if !merged.is_empty() {
            metadata.put(field, merged);
        }
    }
    let mark = |key: &str| {
        old.root
            .get("metadata")
            .and_then(|metadata| metadata.get(key)?.mark.clone())
    };
    new.set_name(&old.name(), mark("name").as_ref());
    new.set_namespace(&old.namespace(), mark("namespace").as_ref());
    new.vars.clone_from(&old.vars);
    new.former.clone_from(&old.former);
    new.prefixes.clone_from(&old.prefixes);
    new.suffixes.clone_from(&old.suffixes);
    new.behavior = old.behavior;
    new.needs_hash = new.needs_hash && old.needs_hash;
    if merges {
        let (data, binary) = (
            merged_texts(old.root.get("data"), new.root.get("data")),
            merged_texts(old.root.get("binaryData"), new.root.get("binaryData")),
        );
        for (field, map) in [("data", data), ("binaryData", binary)] {
            new.root.remove(field);
            if !map.is_empty() {
                new.root.put(field, map);
            }
        }
    }
}

fn merged_texts(old: Option<&Node>, new: Option<&Node>) -> Node {
    let mut map = Node::map();
    map.mark = new.or(old).and_then(|node| node.mark.clone());
    for node in [old, new].into_iter().flatten() {
        for (key, value) in node.entries() {
            let mut text = text_node(value.value_text().to_owned());
            let before = map.get(key).and_then(|node| node.mark.clone());
            text.mark = value.mark.as_ref().map(|mark| mark.over(before.as_ref()));
            map.put(key, text);
        }
    }
    map
}
