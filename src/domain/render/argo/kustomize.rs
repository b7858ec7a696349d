//! A kustomization as Argo CD builds it: its file edited as `kustomize edit` would, then built as the program builds.
//!
//! The repo server changes the checked-out file by the source's `kustomize` block, step by step, with that program's own
//! habits (an image entry is replaced whole and the list sorted, a label that exists already is an error). Here the same
//! steps change the words in memory, each keeping its place.

use serde_json::Value;
use std::collections::BTreeMap;

use super::Settings;
use super::env::Environment;
use super::source::Source;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::render::kustomize::model::{
    Image, Label, Pairs, Patch, Replica, Selector, Text,
};
use crate::domain::render::kustomize::{
    self, Cache, Kustomization, LoadRestriction, Object, Options, Order, Place, Placed,
};
use crate::domain::render::paths::resolve;
use crate::domain::render::{Rendered, Tree};
use crate::domain::yaml::Route;

/// What stands for "as it is" in an image.
const KEEP: &str = "*";

/// The `kustomize` block of a source, and where its values stand.
struct Block<'b> {
    value: &'b Value,
    source: &'b Source,
    environment: &'b Environment,
}

impl Block<'_> {
    fn place(&self, field: &str) -> Place {
        self.source
            .place(&Route::root().key("kustomize").key(field))
    }

    fn item(&self, field: &str, index: usize) -> Place {
        self.source
            .place(&Route::root().key("kustomize").key(field).index(index))
    }

    fn flag(&self, field: &str) -> bool {
        self.value.get(field).and_then(Value::as_bool) == Some(true)
    }

    fn text(&self, field: &str) -> Option<Placed<String>> {
        let text = self
            .value
            .get(field)?
            .as_str()
            .filter(|text| !text.is_empty())?;
        Some(Placed {
            value: text.to_owned(),
            place: self.place(field),
        })
    }

    fn list(&self, field: &str) -> impl Iterator<Item = (Place, &Value)> {
        let items = self.value.get(field).and_then(Value::as_array);
        items
            .into_iter()
            .flatten()
            .enumerate()
            .map(move |(index, item)| (self.item(field, index), item))
    }

    fn pairs(&self, field: &str, expand: bool) -> Pairs {
        let entries = self.value.get(field).and_then(Value::as_object);
        let pairs = entries.into_iter().flatten().map(|(key, value)| {
            let text = value.as_str().unwrap_or_default();
            let text = if expand {
                self.environment.expand(text)
            } else {
                text.to_owned()
            };
            // the program takes `key:value` words, and quotes around a value away
            let text = match text
                .strip_prefix('"')
                .and_then(|text| text.strip_suffix('"'))
            {
                Some(inner) => inner.to_owned(),
                None => text,
            };
            let place = self
                .source
                .place(&Route::root().key("kustomize").key(field).key(key.as_str()));
            (key.clone(), Placed { value: text, place })
        });
        pairs.collect()
    }
}

/// Builds the kustomization of `folder` by the source's `kustomize` block and the server's build options.
pub(super) fn render(
    tree: &dyn Tree,
    folder: &str,
    source: &Source,
    environment: &Environment,
    settings: Settings<'_>,
    rendered: &mut Rendered,
) -> Result<(), Fault> {
    let mut kustomization = None;
    if let Some(value) = source
        .value
        .get("kustomize")
        .filter(|value| !value.is_null())
    {
        let block = Block {
            value,
            source,
            environment,
        };
        let version = value
            .get("version")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if !version.is_empty() {
            rendered.warnings.push(
                Fault::new(
                    FaultKind::Unsupported,
                    format!("kustomize {version} is asked for; rendered as 5.8.1"),
                )
                .hint("compare with `argocd app manifests` where the versions differ"),
            );
        }
        let (mut read, _) = kustomize::load(tree, folder, false)?.ok_or_else(|| {
            Fault::new(
                FaultKind::Render,
                "kustomization file not found in the path",
            )
            .at(folder, None)
        })?;
        edit(&block, tree, folder, &mut read)?;
        kustomization = Some(read);
    }
    let options = build_options(settings, rendered);
    let built = kustomize::build(tree, folder, kustomization, &options, &Cache::default());
    rendered.problems.extend(built.problems);
    rendered.warnings.extend(built.warnings);
    rendered.inputs.extend(built.inputs);
    rendered
        .objects
        .extend(built.objects.into_iter().filter_map(Object::desired));
    Ok(())
}

/// Reads `kustomize.buildOptions`; a flag that changes the output in a way not known here is a warning.
fn build_options(settings: Settings<'_>, rendered: &mut Rendered) -> Options {
    let mut options = Options::default();
    let mut words = settings
        .get("kustomize.buildOptions")
        .unwrap_or_default()
        .split_whitespace();
    while let Some(word) = words.next() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (word, None),
        };
        match flag {
            "--load-restrictor" | "--load_restrictor" => {
                if value.or_else(|| words.next()) == Some("LoadRestrictionsNone") {
                    options.restriction = LoadRestriction::None;
                }
            }
            "--reorder" => {
                if value.or_else(|| words.next()) == Some("none") {
                    options.order = Order::Fifo;
                }
            }
            // these change nothing that is rendered here: charts and plugins are problems of their own
            "--enable-helm" | "--enable-alpha-plugins" | "--enable-exec" | "--network" => {}
            "--helm-command" | "--env" | "-e" | "--mount" | "--network-name" => {
                if value.is_none() {
                    words.next();
                }
            }
            _ => rendered.warnings.push(
                Fault::new(
                    FaultKind::Unsupported,
                    format!(
                        "the build option {flag} of argocd-cm is not known here and is left out"
                    ),
                )
                .hint("compare with `argocd app manifests`"),
            ),
        }
    }
    options
}

/// Applies the block to the kustomization of `folder`, in the server's order.
fn edit(
    block: &Block<'_>,
    tree: &dyn Tree,
    folder: &str,
    kustomization: &mut Kustomization,
) -> Result<(), Fault> {
    if let Some(prefix) = block.text("namePrefix") {
        kustomization.name_prefix = Some(prefix);
    }
    if let Some(suffix) = block.text("nameSuffix") {
        kustomization.name_suffix = Some(suffix);
    }
    set_images(block, &mut kustomization.images)?;
    set_replicas(block, &mut kustomization.replicas)?;
    add_labels(block, kustomization)?;
    let annotations = block.pairs("commonAnnotations", block.flag("commonAnnotationsEnvsubst"));
    let force = block.flag("forceCommonAnnotations");
    for (key, value) in annotations {
        add_pair(
            &mut kustomization.common_annotations,
            key,
            value,
            force,
            "annotation",
        )?;
    }
    if let Some(namespace) = block.text("namespace") {
        kustomization.namespace = Some(namespace);
    }
    let patches = block
        .list("patches")
        .map(|(place, item)| patch(place, item));
    kustomization.patches.extend(patches);
    add_components(block, tree, folder, kustomization)
}

fn set_images(block: &Block<'_>, images: &mut Vec<Image>) -> Result<(), Fault> {
    let mut set: BTreeMap<String, Image> = BTreeMap::new();
    for (place, item) in block.list("images") {
        let text = block.environment.expand(item.as_str().unwrap_or_default());
        let image = read_image(&text, &place).ok_or_else(|| {
            Fault::new(
                FaultKind::Render,
                format!("`kustomize edit set image {text}` fails: invalid format of image"),
            )
            .hint("write IMAGE=NEW:TAG, IMAGE=NEW@DIGEST, IMAGE=NEW, IMAGE:TAG or IMAGE@DIGEST")
        })?;
        set.insert(image.name.clone(), image);
    }
    if set.is_empty() {
        return Ok(());
    }
    for old in std::mem::take(images) {
        match set.get_mut(&old.name) {
            Some(new) => {
                keep(&mut new.new_name, old.new_name);
                keep(&mut new.new_tag, old.new_tag);
                keep(&mut new.digest, old.digest);
            }
            None => {
                set.insert(old.name.clone(), old);
            }
        }
    }
    for image in set.values_mut() {
        keep(&mut image.new_name, None);
        keep(&mut image.new_tag, None);
        keep(&mut image.digest, None);
    }
    *images = set.into_values().collect();
    Ok(())
}

/// Puts the old value where the new one says that it stays.
fn keep(new: &mut Option<Placed<String>>, old: Option<Placed<String>>) {
    if new.as_ref().is_some_and(|new| new.value == KEEP) {
        *new = old;
    }
}

/// Reads `[OLD=]NAME[:TAG][@DIGEST]`.
fn read_image(text: &str, place: &Place) -> Option<Image> {
    let (old, value) = match text.split_once('=') {
        Some((old, value)) => (Some(old), value),
        None => (None, text),
    };
    let (name, tag, digest) = split_image(value);
    if name == text {
        return None;
    }
    let placed = |text: &str| {
        (!text.is_empty()).then(|| Placed {
            value: text.to_owned(),
            place: place.clone(),
        })
    };
    let old = old.filter(|old| !old.is_empty());
    Some(Image {
        place: place.clone(),
        name: old.unwrap_or(name).to_owned(),
        new_name: old.and_then(|_| placed(name)),
        new_tag: placed(tag),
        tag_suffix: None,
        digest: placed(digest),
    })
}

/// Splits an image into name, tag and digest; a port before the first `/` is no tag.
fn split_image(image: &str) -> (&str, &str, &str) {
    let from = image.find('/').unwrap_or(0);
    let at = |sign: char| image[from..].find(sign).map(|at| at + from);
    match (at(':'), at('@')) {
        (None, None) => (image, "", ""),
        (Some(colon), None) => (&image[..colon], &image[colon + 1..], ""),
        (Some(colon), Some(digest)) if colon < digest => (
            &image[..colon],
            &image[colon + 1..digest],
            &image[digest + 1..],
        ),
        (_, Some(digest)) => (&image[..digest], "", &image[digest + 1..]),
    }
}

fn set_replicas(block: &Block<'_>, replicas: &mut Vec<Replica>) -> Result<(), Fault> {
    let mut set: BTreeMap<String, Replica> = BTreeMap::new();
    for (place, item) in block.list("replicas") {
        let name = item
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let count = match item.get("count") {
            Some(Value::String(text)) => text.parse().ok(),
            Some(count) => count.as_i64(),
            None => None,
        };
        let Some(count) = count else {
            return Err(Fault::new(
                FaultKind::Render,
                format!("the replicas count of `{name}` in the source is no whole number"),
            ));
        };
        let count = Placed {
            value: count,
            place: place.clone(),
        };
        set.insert(name.clone(), Replica { place, name, count });
    }
    if set.is_empty() {
        return Ok(());
    }
    for old in std::mem::take(replicas) {
        set.entry(old.name.clone()).or_insert(old);
    }
    *replicas = set.into_values().collect();
    Ok(())
}

fn add_labels(block: &Block<'_>, kustomization: &mut Kustomization) -> Result<(), Fault> {
    let labels = block.pairs("commonLabels", true);
    let force = block.flag("forceCommonLabels");
    let templates = block.flag("labelIncludeTemplates");
    if labels.is_empty() {
        return Ok(());
    }
    if !block.flag("labelWithoutSelector") {
        if templates {
            return Err(Fault::new(
                FaultKind::Render,
                "--without-selector flag must be specified for --include-templates to work",
            )
            .hint("set kustomize.labelWithoutSelector beside labelIncludeTemplates"));
        }
        for (key, value) in labels {
            add_pair(&mut kustomization.common_labels, key, value, force, "label")?;
        }
        return Ok(());
    }
    for (key, value) in labels {
        let like = |label: &Label| !label.include_selectors && label.include_templates == templates;
        if let Some(label) = kustomization.labels.iter_mut().find(|label| like(label)) {
            add_pair(&mut label.pairs, key, value, force, "label")?;
        } else {
            kustomization.labels.push(Label {
                pairs: vec![(key, value)],
                include_templates: templates,
                ..Label::default()
            });
        }
    }
    Ok(())
}

fn add_pair(
    pairs: &mut Pairs,
    key: String,
    value: Placed<String>,
    force: bool,
    what: &str,
) -> Result<(), Fault> {
    let at = pairs.partition_point(|(known, _)| *known < key);
    match pairs.get_mut(at).filter(|(known, _)| *known == key) {
        Some(_) if !force => {
            let option = if what == "label" {
                "forceCommonLabels"
            } else {
                "forceCommonAnnotations"
            };
            Err(Fault::new(
                FaultKind::Render,
                format!("{what} {key} already in kustomization file. Use --force to override."),
            )
            .hint(format!(
                "take `{key}` out of one of both, or set kustomize.{option} in the source"
            )))
        }
        Some(pair) => {
            pair.1 = value;
            Ok(())
        }
        None => {
            pairs.insert(at, (key, value));
            Ok(())
        }
    }
}

fn patch(place: Place, item: &Value) -> Patch {
    let text = |value: &Value, key: &str| {
        value
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let field = |key: &str| {
        let value = text(item, key);
        let place = Place {
            route: place.route.key(key),
            ..place.clone()
        };
        (!value.is_empty()).then_some(Placed { value, place })
    };
    let inline = field("patch").map(|Placed { value, place }| Placed {
        value: Text {
            text: value,
            first_line: 0,
        },
        place,
    });
    let option = |key: &str| {
        item.get("options")
            .and_then(|options| options.get(key))
            .and_then(Value::as_bool)
            == Some(true)
    };
    let target = item
        .get("target")
        .filter(|target| !target.is_null())
        .map(|target| Selector {
            group: text(target, "group"),
            version: text(target, "version"),
            kind: text(target, "kind"),
            name: text(target, "name"),
            namespace: text(target, "namespace"),
            annotations: text(target, "annotationSelector"),
            labels: text(target, "labelSelector"),
        });
    Patch {
        path: field("path"),
        patch: inline,
        target,
        allow_name_change: option("allowNameChange"),
        allow_kind_change: option("allowKindChange"),
        place,
    }
}

fn add_components(
    block: &Block<'_>,
    tree: &dyn Tree,
    folder: &str,
    kustomization: &mut Kustomization,
) -> Result<(), Fault> {
    let ignore_missing = block.flag("ignoreMissingComponents");
    for (place, item) in block.list("components") {
        let value = item.as_str().unwrap_or_default().to_owned();
        if ignore_missing {
            let path = resolve(folder, &value);
            let exists = match path {
                Some(path) => tree.real_path(&path)?.is_some(),
                None => false,
            };
            if !exists {
                continue;
            }
        }
        if !kustomization
            .components
            .iter()
            .any(|component| component.value == value)
        {
            kustomization.components.push(Placed { value, place });
        }
    }
    Ok(())
}
