//! `labels`, `commonLabels` and `commonAnnotations`.

use super::accumulate::Accumulator;
use super::config::{Config, merge_fields};
use super::field::{Create, visit};
use super::model::{FieldSpec, Label, Pairs};
use super::node::{Node, Scalar, Shape};
use super::place::Mark;
use super::schema::Schema;
use crate::domain::object::Step;

/// Returns the fields that an entry of `labels` writes.
pub(super) fn fields(label: &Label, config: &Config) -> Result<Vec<FieldSpec>, String> {
    let mut fields = label.fields.clone();
    merge_fields(&mut fields, &config.labels)?;
    if label.include_selectors {
        merge_fields(&mut fields, &config.common_labels)?;
    } else {
        if label.include_templates {
            merge_fields(&mut fields, &config.template_labels)?;
        }
        let own = FieldSpec {
            path: "metadata/labels".into(),
            create: true,
            ..FieldSpec::default()
        };
        merge_fields(&mut fields, &[own])?;
    }
    Ok(fields)
}

/// Sets pairs in every field of every object.
pub(super) fn transform(
    all: &mut Accumulator,
    pairs: &Pairs,
    step: &Step,
    fields: &[FieldSpec],
    schema: &Schema,
) -> Result<(), String> {
    let marks: Vec<_> = pairs
        .iter()
        .map(|(key, value)| (key, value, Mark::entry(value.place.clone(), step.clone())))
        .collect();
    for resource in &mut all.resources {
        let id = resource.id(schema);
        let shares: Vec<_> = marks.iter().map(|_| resource.new_share()).collect();
        for spec in fields.iter().filter(|spec| id.has_field(spec)) {
            for ((key, value, mark), share) in marks.iter().zip(&shares) {
                let mut set = |node: &mut Node| match &node.shape {
                    Shape::Map(_) => {
                        let is_new = node.get(key).is_none();
                        node.set(key, Scalar::string(value.value.as_str()), Some(mark));
                        if is_new {
                            node.set_shared(key, *share);
                        }
                        Ok(())
                    }
                    _ => Err(format!("expected a map, found {}", node.kind_name())),
                };
                visit(&mut resource.root, spec, Create::Map, Some(mark), &mut set)?;
            }
        }
        resource.settle();
    }
    Ok(())
}
