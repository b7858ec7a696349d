//! `namePrefix` and `nameSuffix`.

use super::accumulate::Accumulator;
use super::field::{Create, visit};
use super::model::FieldSpec;
use super::node::{Node, Scalar};
use super::place::Mark;
use super::resource::Id;
use super::schema::Schema;

/// Adds a prefix or a suffix to the names; the references follow at the end of the build.
pub(super) fn transform(
    all: &mut Accumulator,
    (text, is_prefix): (&str, bool),
    mark: &Mark,
    fields: &[FieldSpec],
    schema: &Schema,
) -> Result<(), String> {
    for resource in &mut all.resources {
        let id = resource.first_id(schema);
        if keeps_its_name(&id) {
            continue;
        }
        for spec in fields.iter().filter(|spec| id.has_field(spec)) {
            if spec.path == "metadata/name" && !text.is_empty() {
                let list = if is_prefix {
                    &mut resource.prefixes
                } else {
                    &mut resource.suffixes
                };
                list.push(text.to_owned());
                resource.remember_id(schema);
            }
            if !resource.id(schema).has_field(spec) {
                continue;
            }
            let mut set = |node: &mut Node| {
                let old = node.text().cloned().unwrap_or_default();
                let new = if is_prefix {
                    format!("{text}{old}")
                } else {
                    format!("{old}{text}")
                };
                node.overwrite(Scalar::untyped(new), Some(mark))
            };
            visit(&mut resource.root, spec, Create::Text, Some(mark), &mut set)?;
        }
    }
    Ok(())
}

fn keeps_its_name(id: &Id) -> bool {
    matches!(&*id.kind, "CustomResourceDefinition" | "Namespace")
        || (&*id.kind == "APIService" && &*id.group == "apiregistration.k8s.io")
}
