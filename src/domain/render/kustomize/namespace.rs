//! `namespace`: the objects' own, that of subjects named `default`, and the configured fields.

use super::accumulate::Accumulator;
use super::field::{Create, visit};
use super::model::FieldSpec;
use super::node::{Node, Scalar, Shape};
use super::place::Mark;
use super::resource::Resource;
use super::schema::Schema;

/// What to set.
pub(super) struct Namespace<'n> {
    pub(super) to: &'n str,
    pub(super) mark: &'n Mark,
    pub(super) fields: &'n [FieldSpec],
}

/// Sets the namespace of every object.
pub(super) fn transform(
    all: &mut Accumulator,
    what: &Namespace<'_>,
    schema: &Schema,
) -> Result<(), String> {
    let mut counts = std::collections::HashMap::new();
    for resource in &all.resources {
        *counts.entry(resource.id(schema).key()).or_insert(0_usize) += 1;
    }
    for resource in &mut all.resources {
        let old = resource.id(schema).key();
        resource.remember_id(schema);
        one(resource, what, schema)?;
        let id = resource.id(schema);
        if let Some(count) = counts.get_mut(&old) {
            *count -= 1;
        }
        let count = counts.entry(id.key()).or_insert(0);
        *count += 1;
        if *count != 1 {
            return Err(format!(
                "namespace transformation produces ID conflict: {id}"
            ));
        }
    }
    Ok(())
}

fn one(resource: &mut Resource, what: &Namespace<'_>, schema: &Schema) -> Result<(), String> {
    let id = resource.id(schema);
    let mut set = |node: &mut Node| node.overwrite(Scalar::string(what.to), Some(what.mark));
    if !id.is_cluster {
        let spec = FieldSpec {
            path: "metadata/namespace".into(),
            create: true,
            ..FieldSpec::default()
        };
        visit(
            &mut resource.root,
            &spec,
            Create::Text,
            Some(what.mark),
            &mut set,
        )?;
    }
    let is_binding = matches!(&*id.kind, "RoleBinding" | "ClusterRoleBinding");
    if is_binding {
        subjects(&mut resource.root, what)?;
    }
    for spec in what.fields {
        let is_own = spec.path == "metadata/namespace"
            || (spec.path == "metadata/name" && (&*id.version != "v1" || !id.group.is_empty()))
            || (is_binding
                && matches!(spec.kind.as_str(), "RoleBinding" | "ClusterRoleBinding")
                && spec.path == "subjects/namespace");
        if !is_own && id.has_field(spec) {
            visit(
                &mut resource.root,
                spec,
                Create::Text,
                Some(what.mark),
                &mut set,
            )
            .map_err(|error| format!("namespace transformation failed: {error}"))?;
        }
    }
    Ok(())
}

fn subjects(root: &mut Node, what: &Namespace<'_>) -> Result<(), String> {
    let Some(subjects) = root.get_mut("subjects").filter(|node| !node.is_null()) else {
        return Ok(());
    };
    let Shape::List(items) = &mut subjects.shape else {
        return Err("setting namespace on (cluster)role binding subjects: expected a list".into());
    };
    for subject in items {
        // Of any kind, even a User.
        if subject
            .get("name")
            .is_some_and(|name| name.value_text() == "default")
        {
            subject.set("namespace", Scalar::string(what.to), Some(what.mark));
        }
    }
    Ok(())
}
