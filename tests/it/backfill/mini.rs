//! A small kustomize for these tests: resources, patches, images, replicas, literals, prefix and content hash, every
//! field with its origin. It knows lists by `name` only.

use std::collections::BTreeMap;
use std::sync::Arc;

use gitops_tui::domain::fault::{Fault, FaultKind};
use gitops_tui::domain::object::{Desired, Home, Origin, Origins, Step};
use gitops_tui::domain::render::{Entry, EntryKind, Rendered, Tree};
use gitops_tui::domain::yaml::{Dialect, Document, Route, RouteStep, parse};
use serde_json::{Value, json};

/// Files in memory.
#[derive(Default, Clone)]
pub(crate) struct Files(pub(crate) BTreeMap<String, Vec<u8>>);

impl Files {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self(
            files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
                .collect(),
        )
    }

    /// Reads a folder of the corpus.
    pub(crate) fn corpus(folder: &std::path::Path) -> Self {
        fn walk(folder: &std::path::Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
                if entry.path().is_dir() {
                    walk(&entry.path(), &format!("{name}/"), files);
                } else {
                    files.insert(name, std::fs::read(entry.path()).unwrap());
                }
            }
        }
        let mut files = BTreeMap::new();
        walk(folder, "", &mut files);
        Self(files)
    }
}

impl Tree for Files {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        Ok(self.0.get(path).cloned())
    }

    fn list(&self, path: &str) -> Result<Option<Vec<Entry>>, Fault> {
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{path}/")
        };
        let mut entries: Vec<Entry> = self
            .0
            .keys()
            .filter_map(|file| file.strip_prefix(&prefix))
            .map(|rest| match rest.split_once('/') {
                Some((name, _)) => (name, EntryKind::Directory),
                None => (rest, EntryKind::File),
            })
            .map(|(name, kind)| Entry {
                name: name.to_owned(),
                kind,
            })
            .collect();
        entries.dedup();
        Ok((!entries.is_empty()).then_some(entries))
    }

    fn real_path(&self, path: &str) -> Result<Option<String>, Fault> {
        Ok(self.0.contains_key(path).then(|| path.to_owned()))
    }
}

struct Object {
    value: Value,
    origins: BTreeMap<Route, Arc<Origin>>,
}

/// Renders a folder.
pub(crate) fn render(tree: &dyn Tree, folder: &str) -> Rendered {
    let mut rendered = Rendered::default();
    let mut inputs = vec![];
    match build(tree, folder, &mut inputs) {
        Ok(objects) => {
            rendered.objects = objects
                .into_iter()
                .map(|object| Desired::new(object.value, Origins(object.origins)).unwrap())
                .collect();
        }
        Err(sentence) => rendered
            .problems
            .push(Fault::new(FaultKind::Render, sentence)),
    }
    rendered.inputs = inputs;
    rendered
}

fn origin(file: &str, document: &Document, route: &Route, step: Step) -> Origin {
    Origin {
        home: Home::Repository,
        file: file.into(),
        document: document.index,
        line: document.line_of(route).unwrap_or(0),
        route: route.clone(),
        inner: None,
        step,
        before: None,
    }
}

fn walk(value: &Value, at: &Route, visit: &mut dyn FnMut(&Route)) {
    visit(at);
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(key, value)| walk(value, &at.key(key), visit)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(i, value)| walk(value, &at.index(i), visit)),
        _ => {}
    }
}

fn build(tree: &dyn Tree, folder: &str, inputs: &mut Vec<String>) -> Result<Vec<Object>, String> {
    let file = format!("{folder}/kustomization.yaml");
    let read = |path: &str, inputs: &mut Vec<String>| -> Result<Vec<u8>, String> {
        inputs.push(path.to_owned());
        tree.read(path).unwrap().ok_or_else(|| format!("no {path}"))
    };
    let bytes = read(&file, inputs)?;
    let stream = parse(&bytes);
    let document = stream.documents.first().ok_or("broken")?;
    let kustomization = document
        .to_json(Dialect::Kubectl)
        .map_err(|problem| problem.to_string())?;
    let list = |key: &str| {
        kustomization
            .get(key)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let at = |key: &str, index: usize| Route::root().key(key).index(index);
    let mut objects = vec![];
    for resource in list("resources") {
        let path = resolve(folder, resource.as_str().unwrap());
        if tree.list(&path).unwrap().is_some() {
            objects.extend(build(tree, &path, inputs)?);
            continue;
        }
        let bytes = read(&path, inputs)?;
        let stream = parse(&bytes);
        if let Some(problem) = stream.problems.first() {
            return Err(problem.to_string());
        }
        for document in &stream.documents {
            let value = document
                .to_json(Dialect::Kustomize)
                .map_err(|problem| problem.to_string())?;
            let mut origins = BTreeMap::new();
            walk(&value, &Route::root(), &mut |route| {
                origins.insert(
                    route.clone(),
                    Arc::new(origin(&path, document, route, Step::Resource)),
                );
            });
            objects.push(Object { value, origins });
        }
    }
    for (index, generator) in list("configMapGenerator").iter().enumerate() {
        let entry = at("configMapGenerator", index);
        objects.push(generate(tree, &file, document, &entry, generator, inputs)?);
    }
    for (index, entry) in list("patches").iter().enumerate() {
        let route = at("patches", index);
        if let Some(path) = entry.get("path") {
            let path = resolve(folder, path.as_str().unwrap());
            let bytes = read(&path, inputs)?;
            let stream = parse(&bytes);
            for patch in &stream.documents {
                apply_patch(&mut objects, patch, &|route| {
                    origin(&path, patch, route, Step::Patch)
                })?;
            }
        } else {
            let text = entry["patch"].as_str().unwrap().to_owned();
            let stream = parse(text.as_bytes());
            let patch = stream.documents.first().ok_or("broken patch")?;
            apply_patch(&mut objects, patch, &|inner| Origin {
                inner: Some(inner.clone()),
                ..origin(&file, document, &route.key("patch"), Step::Patch)
            })?;
        }
    }
    for (index, entry) in list("images").iter().enumerate() {
        for object in &mut objects {
            set_images(
                object,
                entry,
                &origin(&file, document, &at("images", index), Step::Image),
            );
        }
    }
    for (index, entry) in list("replicas").iter().enumerate() {
        for object in objects
            .iter_mut()
            .filter(|object| object.value["metadata"]["name"] == entry["name"])
        {
            object.value["spec"]["replicas"] = entry["count"].clone();
            let route = at("replicas", index).key("count");
            write(
                object,
                &Route::root().key("spec").key("replicas"),
                origin(&file, document, &route, Step::Replicas),
            );
        }
    }
    if let Some(prefix) = kustomization.get("namePrefix").and_then(Value::as_str) {
        for object in &mut objects {
            let name = format!(
                "{prefix}{}",
                object.value["metadata"]["name"].as_str().unwrap()
            );
            object.value["metadata"]["name"] = json!(name);
            let route = Route::root().key("namePrefix");
            write(
                object,
                &Route::root().key("metadata").key("name"),
                origin(&file, document, &route, Step::Name),
            );
        }
    }
    Ok(objects)
}

fn generate(
    tree: &dyn Tree,
    file: &str,
    document: &Document,
    entry: &Route,
    generator: &Value,
    inputs: &mut Vec<String>,
) -> Result<Object, String> {
    let folder = file.rsplit_once('/').unwrap().0;
    let mut data = serde_json::Map::new();
    let mut origins = BTreeMap::new();
    let data_at = Route::root().key("data");
    let texts = |list: &str| {
        generator
            .get(list)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    for (number, literal) in texts("literals").iter().enumerate() {
        let (key, value) = literal.as_str().unwrap().split_once('=').ok_or("no key")?;
        data.insert(key.to_owned(), json!(value));
        let route = entry.key("literals").index(number);
        origins.insert(
            data_at.key(key),
            Arc::new(origin(file, document, &route, Step::Generator)),
        );
    }
    let plain = |path: &str, line: usize| {
        Arc::new(Origin {
            file: path.into(),
            line,
            route: Route::root(),
            ..origin(file, document, entry, Step::Generator)
        })
    };
    for env in texts("envs") {
        let path = resolve(folder, env.as_str().unwrap());
        inputs.push(path.clone());
        let text = String::from_utf8(tree.read(&path).unwrap().ok_or("no env file")?).unwrap();
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| line.contains('='))
        {
            let (key, value) = line.split_once('=').unwrap();
            data.insert(key.to_owned(), json!(value));
            origins.insert(data_at.key(key), plain(&path, number + 1));
        }
    }
    for source in texts("files") {
        let path = resolve(folder, source.as_str().unwrap());
        inputs.push(path.clone());
        let text = String::from_utf8(tree.read(&path).unwrap().ok_or("no data file")?).unwrap();
        data.insert(source.as_str().unwrap().to_owned(), json!(text));
        origins.insert(data_at.key(source.as_str().unwrap()), plain(&path, 1));
    }
    let sum = json!(data)
        .to_string()
        .bytes()
        .fold(5381u64, |hash, b| hash.wrapping_mul(33) ^ u64::from(b));
    let name = format!(
        "{}-{:010x}",
        generator["name"].as_str().unwrap(),
        sum & 0xff_ffff_ffff
    );
    let value =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
    Ok(Object { value, origins })
}

fn set_images(object: &mut Object, entry: &Value, place: &Origin) {
    let mut routes = vec![];
    walk(&object.value, &Route::root(), &mut |route| {
        routes.push(route.clone());
    });
    for route in routes {
        let is_image = matches!(route.0.last(), Some(RouteStep::Key(key)) if key == "image");
        let Some(old) = route
            .get(&object.value)
            .and_then(Value::as_str)
            .filter(|_| is_image)
        else {
            continue;
        };
        let name = old.split('@').next().unwrap();
        let slash = name.rfind('/').map_or(0, |at| at + 1);
        let name = name[slash..]
            .find(':')
            .map_or(name, |colon| &name[..slash + colon]);
        if entry["name"] != name {
            continue;
        }
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let mut new = text("newName").unwrap_or(name).to_owned();
        if let Some(tag) = text("newTag") {
            new.push(':');
            new.push_str(tag);
        }
        if let Some(digest) = text("digest") {
            new.push('@');
            new.push_str(digest);
        }
        *get_mut(&mut object.value, &route) = json!(new);
        write(object, &route, place.clone());
    }
}

fn write(object: &mut Object, route: &Route, mut origin: Origin) {
    origin.before = object.origins.get(route).cloned();
    object.origins.insert(route.clone(), Arc::new(origin));
}

fn get_mut<'v>(value: &'v mut Value, route: &Route) -> &'v mut Value {
    route.0.iter().fold(value, |node, step| match step {
        RouteStep::Key(key) => node.get_mut(key.as_str()).unwrap(),
        RouteStep::Index(index) => node.get_mut(*index).unwrap(),
    })
}

fn apply_patch(
    objects: &mut [Object],
    patch: &Document,
    place: &dyn Fn(&Route) -> Origin,
) -> Result<(), String> {
    let value = patch
        .to_json(Dialect::Kustomize)
        .map_err(|problem| problem.to_string())?;
    let object = objects
        .iter_mut()
        .find(|object| {
            object.value["kind"] == value["kind"]
                && object.value["metadata"]["name"] == value["metadata"]["name"]
        })
        .ok_or("the patch has no target")?;
    let Value::Object(map) = &value else {
        return Err("no map".into());
    };
    for (key, value) in map
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind"))
    {
        merge(
            object,
            &Route::root().key(key),
            value,
            &Route::root().key(key),
            place,
        );
    }
    Ok(())
}

fn merge(
    object: &mut Object,
    at: &Route,
    patch: &Value,
    from: &Route,
    place: &dyn Fn(&Route) -> Origin,
) {
    let old = at.get(&object.value).cloned();
    match (old, patch) {
        (_, Value::Null) => {
            let (parent, last) = at.split_last().unwrap();
            if let (Value::Object(map), RouteStep::Key(key)) =
                (get_mut(&mut object.value, &parent), last)
            {
                map.remove(key);
            }
        }
        (Some(Value::Object(_)), Value::Object(map)) => {
            for (key, value) in map {
                merge(object, &at.key(key), value, &from.key(key), place);
            }
        }
        (Some(Value::Array(old)), Value::Array(items))
            if items.iter().all(|item| item.get("name").is_some()) =>
        {
            for (index, item) in items.iter().enumerate() {
                let found = old.iter().position(|old| old["name"] == item["name"]);
                if let Some(found) = found {
                    merge(object, &at.index(found), item, &from.index(index), place);
                    continue;
                }
                let list = get_mut(&mut object.value, at).as_array_mut().unwrap();
                list.push(item.clone());
                let new = at.index(list.len() - 1);
                adopt(object, &new, item, &from.index(index), place);
            }
        }
        _ => {
            let (parent, last) = at.split_last().unwrap();
            match (get_mut(&mut object.value, &parent), last) {
                (Value::Object(map), RouteStep::Key(key)) => {
                    map.insert(key.clone(), patch.clone());
                }
                (Value::Array(items), RouteStep::Index(index)) => items[*index] = patch.clone(),
                _ => {}
            }
            adopt(object, at, patch, from, place);
        }
    }
}

fn adopt(
    object: &mut Object,
    at: &Route,
    value: &Value,
    from: &Route,
    place: &dyn Fn(&Route) -> Origin,
) {
    let mut routes = vec![];
    walk(value, &Route::root(), &mut |route| {
        routes.push(route.clone());
    });
    for route in routes {
        let join = |above: &Route| Route(above.0.iter().chain(&route.0).cloned().collect());
        write(object, &join(at), place(&join(from)));
    }
}

fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
