//! The place where a value is decided: the file and the edit, by the step that wrote it last.

use serde_json::Value;

use crate::domain::object::{Desired, FieldPath, Origin, PathStep, Step};
use crate::domain::render::Tree;
use crate::domain::yaml::edit::Edit;
use crate::domain::yaml::{Dialect, Document, Route, RouteStep, parse};

use super::Wish;
use super::change::{Candidate, Change, Refusal, read};
use super::{graft, image, overlay};

/// Returns the edit of the very place that an origin names. `rest` is the way from the origin's node to the wished
/// field, where the origin is that of a parent.
pub(super) fn candidate(
    tree: &dyn Tree,
    wish: &Wish,
    origin: &Origin,
    rest: &[PathStep],
) -> Result<Candidate, Refusal> {
    match origin.step {
        Step::Generator if is_data(wish) => return generator(tree, wish, origin),
        Step::Image
        | Step::Replicas
        | Step::Json6902(_)
        | Step::Label
        | Step::Annotation
        | Step::CommonMetadata => {}
        _ => return plain(tree, wish, origin, rest),
    }
    let bytes = read(tree, &origin.file)?;
    let stream = parse(&bytes);
    let document = stream
        .document(origin.document)
        .ok_or_else(|| gone(origin))?;
    let value = to_json(document, origin)?;
    let edits = match (&origin.step, &wish.to) {
        (Step::Image, Some(Value::String(live))) => {
            let entry = entry_of(&origin.route, "images").ok_or_else(|| gone(origin))?;
            image::edits(entry.get(&value).ok_or_else(|| gone(origin))?, &entry, live)
        }
        (Step::Image, _) => {
            return Err(Refusal::new(
                "an `images` entry cannot take an image away",
                "edit it by hand",
            ));
        }
        (Step::Replicas, Some(count @ Value::Number(_))) => {
            let entry = entry_of(&origin.route, "replicas").ok_or_else(|| gone(origin))?;
            vec![Edit::Set {
                route: entry.key("count"),
                value: count.clone(),
            }]
        }
        (Step::Replicas, None) => {
            let entry = entry_of(&origin.route, "replicas").ok_or_else(|| gone(origin))?;
            vec![Edit::Remove { route: entry }]
        }
        (Step::Json6902(_), _) => return operation(tree, wish, origin, rest, &value),
        _ => return plain(tree, wish, origin, rest),
    };
    let shown = edits
        .first()
        .map_or_else(|| origin.route.clone(), edited_route);
    Ok(Candidate {
        place: place(origin, document, &shown),
        changes: vec![Change::Yaml {
            file: origin.file.to_string(),
            document: origin.document,
            outer: None,
            edits,
        }],
    })
}

/// Tells whether the wish is about an entry of a ConfigMap's data, not about what its generator sets besides.
fn is_data(wish: &Wish) -> bool {
    matches!(wish.path.0.first(), Some(PathStep::Key(key)) if key == "data" || key == "binaryData")
}

fn gone(origin: &Origin) -> Refusal {
    Refusal::new(
        format!("{} has nothing at {} any more", origin.file, origin.route),
        "refresh and try again",
    )
}

fn to_json(document: &Document, origin: &Origin) -> Result<Value, Refusal> {
    document.to_json(Dialect::Kubectl).map_err(|problem| {
        Refusal::new(format!("{}: {problem}", origin.file), "mend the file first")
    })
}

fn edited_route(edit: &Edit) -> Route {
    match edit {
        Edit::Set { route, .. } | Edit::Remove { route } | Edit::Rename { route, .. } => {
            route.clone()
        }
        Edit::Insert { parent, at, .. } => match at {
            RouteStep::Key(key) => parent.key(key),
            RouteStep::Index(index) => parent.index(*index),
        },
    }
}

/// Words a place: file, line, way.
fn place(origin: &Origin, document: &Document, route: &Route) -> String {
    let line = document
        .line_of(route)
        .or(Some(origin.line).filter(|line| *line > 0));
    match line {
        Some(line) => format!("{}:{line} {route}", origin.file),
        None => format!("{} {route}", origin.file),
    }
}

/// Cuts a route to the entry of the list `list` that it goes through.
fn entry_of(route: &Route, list: &str) -> Option<Route> {
    let at = route
        .0
        .iter()
        .position(|step| matches!(step, RouteStep::Key(key) if key == list))?;
    let entry = route.0.get(..at + 2)?;
    matches!(entry.last(), Some(RouteStep::Index(_))).then(|| Route(entry.to_vec()))
}

/// Sets, adds or removes the field right where the origin's node stands, in a file or in an inline patch.
fn plain(
    tree: &dyn Tree,
    wish: &Wish,
    origin: &Origin,
    rest: &[PathStep],
) -> Result<Candidate, Refusal> {
    let bytes = read(tree, &origin.file)?;
    let stream = parse(&bytes);
    let document = stream
        .document(origin.document)
        .ok_or_else(|| gone(origin))?;
    let node = document.at(&origin.route).ok_or_else(|| gone(origin))?;
    let (shown, edit) = match &origin.inner {
        None => {
            let edit = edit_below(
                origin,
                wish,
                rest,
                &node.to_json(Dialect::Kustomize).unwrap_or_default(),
            )?;
            let edit = below(edit, &origin.route);
            (edited_route(&edit), edit)
        }
        Some(inner) => {
            let text = node.text().ok_or_else(|| gone(origin))?;
            let patch = parse(text.as_bytes());
            let patch = patch
                .documents
                .first()
                .and_then(|document| document.at(inner));
            let value = patch
                .and_then(|node| node.to_json(Dialect::Kustomize).ok())
                .unwrap_or_default();
            (
                origin.route.clone(),
                below(edit_below(origin, wish, rest, &value)?, inner),
            )
        }
    };
    Ok(Candidate {
        place: place(origin, document, &shown),
        changes: vec![Change::Yaml {
            file: origin.file.to_string(),
            document: origin.document,
            outer: origin.inner.as_ref().map(|_| origin.route.clone()),
            edits: vec![edit],
        }],
    })
}

fn edit_below(
    origin: &Origin,
    wish: &Wish,
    rest: &[PathStep],
    value: &Value,
) -> Result<Edit, Refusal> {
    let unclear = || {
        Refusal::new(
            format!(
                "the place of {} below {} is not clear",
                wish.path, origin.route
            ),
            "edit the file by hand",
        )
    };
    if let Some(to) = &wish.to {
        return graft::edit(value, rest, to).ok_or_else(unclear);
    }
    let path = FieldPath(rest.to_vec());
    let route = path.route_in(value).ok_or_else(unclear)?;
    Ok(Edit::Remove { route })
}

/// Puts an edit's way behind `above`.
fn below(edit: Edit, above: &Route) -> Edit {
    let join = |route: &Route| Route(above.0.iter().chain(&route.0).cloned().collect());
    match edit {
        Edit::Set { route, value } => Edit::Set {
            route: join(&route),
            value,
        },
        Edit::Insert { parent, at, value } => Edit::Insert {
            parent: join(&parent),
            at,
            value,
        },
        Edit::Remove { route } => Edit::Remove {
            route: join(&route),
        },
        Edit::Rename { route, key } => Edit::Rename {
            route: join(&route),
            key,
        },
    }
}

/// Edits the value of a JSON 6902 operation; a removal takes an `add` away.
fn operation(
    tree: &dyn Tree,
    wish: &Wish,
    origin: &Origin,
    rest: &[PathStep],
    file: &Value,
) -> Result<Candidate, Refusal> {
    let text = origin
        .route
        .get(file)
        .and_then(Value::as_str)
        .unwrap_or_default();
    let inline = origin.inner.as_ref().and_then(|_| {
        let stream = parse(text.as_bytes());
        stream.documents.first()?.to_json(Dialect::Kubectl).ok()
    });
    let (root, route) = match (&inline, &origin.inner) {
        (Some(inline), Some(inner)) => (inline, inner),
        _ => (file, &origin.route),
    };
    // The origin may name the operation or its value.
    let at_operation = route
        .get(root)
        .is_some_and(|node| node.get("op").is_some() && node.get("path").is_some());
    let mut origin = origin.clone();
    if at_operation {
        match &mut origin.inner {
            Some(inner) => *inner = inner.key("value"),
            None => origin.route = origin.route.key("value"),
        }
    }
    if wish.to.is_none() && rest.is_empty() {
        return Err(Refusal::new(
            "the value is added by a JSON 6902 operation",
            "take the operation out by hand",
        ));
    }
    plain(tree, wish, &origin, rest)
}

/// Edits a generator's literal, the line of its env file, or its data file.
fn generator(tree: &dyn Tree, wish: &Wish, origin: &Origin) -> Result<Candidate, Refusal> {
    let Some(PathStep::Key(key)) = wish.path.0.last() else {
        return Err(Refusal::new(
            "the field is made by the generator",
            "edit the kustomization by hand",
        ));
    };
    let bytes = read(tree, &origin.file)?;
    let from = wish.from.as_ref().and_then(Value::as_str);
    let in_list = |list: &str| {
        origin
            .route
            .0
            .iter()
            .any(|step| matches!(step, RouteStep::Key(key) if key == list))
    };
    let generates = in_list("configMapGenerator") || in_list("secretGenerator");
    if !generates {
        return data_file(
            &origin.file,
            origin.line,
            &bytes,
            key,
            from,
            wish.to.as_ref(),
        );
    }
    let stream = parse(&bytes);
    let document = stream
        .document(origin.document)
        .ok_or_else(|| gone(origin))?;
    let value = to_json(document, origin)?;
    let list = ["configMapGenerator", "secretGenerator"]
        .into_iter()
        .find_map(|list| entry_of(&origin.route, list));
    let entry = list.ok_or_else(|| gone(origin))?;
    let entry_value = entry.get(&value).ok_or_else(|| gone(origin))?;
    let texts = |list: &str| -> Vec<String> {
        let items = entry_value.get(list).and_then(Value::as_array);
        items
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let prefix = format!("{key}=");
    if let Some(index) = texts("literals")
        .iter()
        .position(|literal| literal.starts_with(&prefix))
    {
        let route = entry.key("literals").index(index);
        let edit = match &wish.to {
            Some(Value::String(to)) => Edit::Set {
                route: route.clone(),
                value: Value::String(format!("{prefix}{to}")),
            },
            Some(_) => return Err(Refusal::new("a ConfigMap holds text only", "revert it")),
            None => Edit::Remove {
                route: route.clone(),
            },
        };
        return Ok(Candidate {
            place: place(origin, document, &route),
            changes: vec![Change::Yaml {
                file: origin.file.to_string(),
                document: origin.document,
                outer: None,
                edits: vec![edit],
            }],
        });
    }
    let folder = origin
        .file
        .rsplit_once('/')
        .map_or("", |(folder, _)| folder);
    for file in texts("files") {
        let (name, path) = file
            .split_once('=')
            .unwrap_or_else(|| (file.rsplit('/').next().unwrap_or_default(), file.as_str()));
        if name == key {
            let path = overlay::resolve(folder, path);
            let bytes = read(tree, &path)?;
            return data_file(&path, 1, &bytes, key, from, wish.to.as_ref());
        }
    }
    let mut env_files = texts("envs");
    env_files.extend(
        entry_value
            .get("env")
            .and_then(Value::as_str)
            .map(str::to_owned),
    );
    for file in env_files {
        let path = overlay::resolve(folder, &file);
        let bytes = read(tree, &path)?;
        let text = String::from_utf8_lossy(&bytes);
        if let Some(line) = text
            .lines()
            .position(|line| line.trim_start().starts_with(&prefix))
        {
            return data_file(&path, line + 1, &bytes, key, from, wish.to.as_ref());
        }
    }
    Err(gone(origin))
}

/// Edits a whole data file, or one line of an env file.
fn data_file(
    file: &str,
    line: usize,
    bytes: &[u8],
    key: &str,
    from: Option<&str>,
    to: Option<&Value>,
) -> Result<Candidate, Refusal> {
    let Some(Value::String(to)) = to else {
        return Err(Refusal::new(
            format!("{key} is made from the file {file}"),
            "take it out of the generator by hand",
        ));
    };
    let whole = from.is_some_and(|from| from.as_bytes() == bytes);
    let after = if whole {
        to.clone().into_bytes()
    } else {
        env_line(bytes, line, key, to).ok_or_else(|| {
            Refusal::last(
                format!("{key} cannot be written as one line of {file}"),
                "use a literal or a file in the generator",
            )
        })?
    };
    Ok(Candidate {
        place: if whole {
            file.to_owned()
        } else {
            format!("{file}:{line} {key}")
        },
        changes: vec![Change::Bytes {
            file: file.to_owned(),
            after,
        }],
    })
}

/// Gives one line of an env file another value; everything else stays.
fn env_line(bytes: &[u8], line: usize, key: &str, to: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    if to.contains(['\n', '\r']) {
        return None;
    }
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let old = lines.get_mut(line.checked_sub(1)?)?;
    let body = old.trim_end_matches(['\n', '\r']).to_owned();
    let ending = old[body.len()..].to_owned();
    let (name, _) = body.split_once('=')?;
    if name.trim() != key {
        return None;
    }
    *old = format!("{name}={to}{ending}");
    Some(lines.concat().into_bytes())
}

/// Returns the origin of a field, or of its nearest parent with the way from there.
pub(super) fn origin_of<'d>(
    desired: &'d Desired,
    wish: &'d Wish,
) -> Option<(&'d Origin, Vec<PathStep>)> {
    let path = &wish.path.0;
    let found = (0..=path.len()).rev().find_map(|len| {
        let above = FieldPath(path[..len].to_vec());
        let route = above.route_in(&desired.value)?;
        let origin = desired.origins.of(&route)?;
        Some((&**origin, path[len..].to_vec()))
    });
    let present = wish.path.get(&desired.value).is_some();
    found.or_else(|| {
        wish.origin
            .as_deref()
            .filter(|_| present)
            .map(|origin| (origin, vec![]))
    })
}
