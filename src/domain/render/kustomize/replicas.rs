//! `replicas`.

use super::accumulate::Accumulator;
use super::field::{Create, visit};
use super::model::{FieldSpec, Replica};
use super::node::{Node, Scalar, Tag};
use super::place::Mark;
use super::schema::Schema;
use crate::domain::object::Step;
use crate::domain::yaml::Style;

/// Sets one entry's count on every object that has or had its name.
pub(super) fn transform(
    all: &mut Accumulator,
    replica: &Replica,
    fields: &[FieldSpec],
    schema: &Schema,
) -> Result<(), String> {
    let mark = Mark::entry(replica.count.place.clone(), Step::Replicas);
    let mut found = false;
    for spec in fields {
        for resource in &mut all.resources {
            if !resource.any_id(schema, |id| *id.name == *replica.name && id.has_field(spec)) {
                continue;
            }
            found = true;
            if !resource.id(schema).has_field(spec) {
                continue;
            }
            let mut set = |node: &mut Node| {
                let count = Scalar {
                    text: replica.count.value.to_string().into(),
                    tag: Some(Tag::Int),
                    style: Style::Plain,
                };
                node.overwrite(count, Some(&mark))
            };
            visit(
                &mut resource.root,
                spec,
                Create::Number,
                Some(&mark),
                &mut set,
            )?;
        }
    }
    if found {
        Ok(())
    } else {
        Err(format!(
            "resource with name {} does not match a kind that has replicas",
            replica.name
        ))
    }
}
