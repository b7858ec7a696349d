//! `namespace`: the objects' own, that of subjects named `default`, and the configured fields.

use super::accumulate::Accumulator;
use super::field::{Create, visit};
use super::model::FieldSpec;
use super::node::{Node, Scalar, Shape};
use super::place::Mark;
use super::resource::Resource;
use super::schema::Schema;

/// Which subjects of role bindings get the namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Subjects {
    #[default]
    Default,
    ServiceAccounts,
    None,
}

/// What to set.
pub(super) struct Namespace<'n> {
    pub(super) namespace: &'n str,
    pub(super) mark: &'n Mark,
    pub(super) fields: &'n [FieldSpec],
    pub(super) unset_only: bool,
    pub(super) subjects: Subjects,
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
    let mut set = |node: &mut Node| {
        if what.unset_only && !node.value_text().is_empty() {
            return Ok(());
        }
        node.overwrite(Scalar::string(what.namespace), Some(what.mark))
    };
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
        let text = |key: &str| subject.get(key).map(Node::value_text).unwrap_or_default();
        let is_meant = match what.subjects {
            Subjects::Default => text("name") == "default",
            Subjects::ServiceAccounts => text("kind") == "ServiceAccount",
            Subjects::None => false,
        };
        if is_meant && (!what.unset_only || text("namespace").is_empty()) {
            subject.set("namespace", Scalar::string(what.namespace), Some(what.mark));
        }
    }
    Ok(())
}
