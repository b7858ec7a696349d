//! `images`: every `image` of a list called `containers` or `initContainers`, wherever it is, and the configured fields.

use regex::Regex;

use super::accumulate::Accumulator;
use super::field::{Create, visit};
use super::model::{FieldSpec, Image};
use super::node::{Node, Scalar, Shape};
use super::place::Mark;
use super::schema::Schema;
use crate::domain::object::Step;

/// Sets one entry's image in every object.
pub(super) fn transform(
    all: &mut Accumulator,
    image: &Image,
    fields: &[FieldSpec],
    schema: &Schema,
) -> Result<(), String> {
    let pattern = format!(
        "^{}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?$",
        image.name
    );
    let pattern = Regex::new(&pattern)
        .map_err(|error| format!("`{}` is no pattern of an image: {error}", image.name))?;
    // The tag is what people change, so it is the place that an image's origin names where there is one.
    let part = [
        &image.new_tag,
        &image.digest,
        &image.tag_suffix,
        &image.new_name,
    ];
    let place = part
        .into_iter()
        .flatten()
        .next()
        .map_or(&image.place, |part| &part.place);
    let mark = Mark::entry(place.clone(), Step::Image);
    let mut set = |node: &mut Node| {
        let Some(old) = node.text().cloned() else {
            return Err(format!(
                "an image must be a text, found {}",
                node.kind_name()
            ));
        };
        if !pattern.is_match(&old) {
            return Ok(());
        }
        node.overwrite(Scalar::untyped(renamed(&old, image)), Some(&mark))
    };
    for resource in &mut all.resources {
        let id = resource.id(schema);
        if &*id.kind == "CustomResourceDefinition" {
            continue;
        }
        containers(&mut resource.root, &mut set)?;
    }
    for resource in &mut all.resources {
        let id = resource.id(schema);
        if &*id.kind == "CustomResourceDefinition" {
            continue;
        }
        for spec in fields.iter().filter(|spec| id.has_field(spec)) {
            visit(&mut resource.root, spec, Create::Nothing, None, &mut set)?;
        }
    }
    Ok(())
}

fn containers(
    node: &mut Node,
    set: &mut dyn FnMut(&mut Node) -> Result<(), String>,
) -> Result<(), String> {
    match &mut node.shape {
        Shape::Map(entries) => {
            for (key, value) in entries {
                containers(value, set)?;
                if matches!(&**key, "containers" | "initContainers")
                    && let Shape::List(items) = &mut value.shape
                {
                    for item in items {
                        if item.is_null() {
                            continue;
                        }
                        if !matches!(item.shape, Shape::Map(_)) {
                            return Err(format!(
                                "expected a map in `{key}`, found {}",
                                item.kind_name()
                            ));
                        }
                        if let Some(image) = item.get_mut("image") {
                            set(image)?;
                        }
                    }
                }
            }
        }
        Shape::List(items) => {
            for item in items {
                containers(item, set)?;
            }
        }
        Shape::Scalar(_) => {}
    }
    Ok(())
}

fn renamed(old: &str, image: &Image) -> String {
    let (name, mut tag, mut digest) = split(old);
    let text = |part: &Option<super::Placed<String>>| part.as_ref().map(|part| part.value.clone());
    let mut name = text(&image.new_name).unwrap_or(name);
    match (
        text(&image.new_tag),
        text(&image.digest),
        text(&image.tag_suffix),
    ) {
        (Some(new), new_digest, _) => (tag, digest) = (new, new_digest.unwrap_or_default()),
        (None, Some(new), _) => (tag, digest) = (String::new(), new),
        (None, None, Some(suffix)) => {
            tag.push_str(&suffix);
            digest = String::new();
        }
        (None, None, None) => {}
    }
    if !tag.is_empty() {
        name = format!("{name}:{tag}");
    }
    if !digest.is_empty() {
        name = format!("{name}@{digest}");
    }
    name
}

/// Splits an image into name, tag and digest.
fn split(image: &str) -> (String, String, String) {
    let start = image.find('/').filter(|at| *at > 0).unwrap_or(0);
    let find = |mark: char| image[start..].find(mark).map(|at| at + start);
    let own = |text: &str| text.to_owned();
    match (find('@'), find(':')) {
        (None, None) => (own(image), String::new(), String::new()),
        (Some(at), colon) if colon.is_none_or(|colon| at < colon) => {
            (own(&image[..at]), String::new(), own(&image[at + 1..]))
        }
        (Some(at), Some(colon)) => (
            own(&image[..colon]),
            own(&image[colon + 1..at]),
            own(&image[at + 1..]),
        ),
        (_, Some(colon)) => (
            own(&image[..colon]),
            own(&image[colon + 1..]),
            String::new(),
        ),
        (Some(at), None) => (own(&image[..at]), String::new(), own(&image[at + 1..])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_images() {
        for (image, name, tag, digest) in [
            ("nginx", "nginx", "", ""),
            ("nginx:1.2", "nginx", "1.2", ""),
            ("reg:5000/a/nginx", "reg:5000/a/nginx", "", ""),
            (
                "reg:5000/nginx:1@sha256:ab",
                "reg:5000/nginx",
                "1",
                "sha256:ab",
            ),
            ("nginx@sha256:ab", "nginx", "", "sha256:ab"),
        ] {
            assert_eq!(
                split(image),
                (name.into(), tag.into(), digest.into()),
                "{image}"
            );
        }
    }
}
