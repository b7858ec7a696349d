//! The order in which objects are printed.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::model::SortOptions;
use super::resource::{Id, Resource};
use super::schema::Schema;

const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];
const LAST: [&str; 2] = [
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// Returns where a kind stands: below 0 first, above 0 last.
pub(super) fn kind_rank(kind: &str) -> i64 {
    let at = |list: &[&str]| {
        list.iter()
            .position(|name| *name == kind)
            .and_then(|at| i64::try_from(at).ok())
    };
    match (at(&FIRST), at(&LAST)) {
        (Some(at), _) => at - 22,
        (None, Some(at)) => at + 1,
        (None, None) => 0,
    }
}

/// Sorts as `sortOptions` says. The error is what kustomize refuses about them.
pub(super) fn by_options(
    resources: &mut [Resource],
    options: &SortOptions,
    schema: &Schema,
) -> Result<(), String> {
    match (options.order.as_str(), &options.legacy) {
        ("fifo", None) => {}
        ("fifo", Some(_)) => {
            return Err("the field 'sortOptions.legacySortOptions' is set but the selected sort order is 'fifo', \
                        not 'legacy'"
                .into());
        }
        ("legacy", None) => legacy(resources, schema),
        ("legacy", Some((first, last))) => {
            let mut ranks = HashMap::new();
            let len = i64::try_from(first.len()).unwrap_or(0);
            for (at, kind) in (0..).zip(first) {
                ranks.insert(kind.as_str(), at - len);
            }
            for (at, kind) in (1..).zip(last) {
                ranks.insert(kind.as_str(), at);
            }
            sort(resources, schema, &|kind| {
                ranks.get(kind).copied().unwrap_or(0)
            });
        }
        _ => return Err("the field 'sortOptions.order' must be one of [fifo, legacy]".into()),
    }
    Ok(())
}

/// Sorts by kind.
pub(super) fn legacy(resources: &mut [Resource], schema: &Schema) {
    sort(resources, schema, &kind_rank);
}

fn sort(resources: &mut [Resource], schema: &Schema, rank: &dyn Fn(&str) -> i64) {
    resources.sort_by_cached_key(|resource| Key::new(&resource.id(schema), rank));
}

/// What objects are sorted by.
#[derive(PartialEq, Eq)]
struct Key {
    rank: i64,
    is_core_namespace: bool,
    is_namespace: bool,
    gvk: String,
    rest: String,
}

impl Key {
    fn new(id: &Id, rank: &dyn Fn(&str) -> i64) -> Self {
        let or = |text: &str, otherwise: &str| {
            if text.is_empty() {
                otherwise.to_owned()
            } else {
                text.to_owned()
            }
        };
        Self {
            rank: rank(&id.kind),
            is_namespace: &*id.kind == "Namespace",
            is_core_namespace: &*id.kind == "Namespace" && id.group.is_empty(),
            gvk: format!(
                "{}_{}_{}",
                or(&id.group, "~G"),
                or(&id.version, "~V"),
                or(&id.kind, "~K")
            ),
            rest: format!(
                "{}|{}|{}",
                id.gvk_text(),
                or(&id.namespace, "~X"),
                or(&id.name, "~N")
            ),
        }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank).then_with(|| {
            let by_gvk = self.gvk.cmp(&other.gvk);
            // Of two kinds called Namespace the core one comes first.
            let turned = self.is_namespace
                && other.is_namespace
                && (self.is_core_namespace || other.is_core_namespace);
            (if turned { by_gvk.reverse() } else { by_gvk })
                .then_with(|| self.rest.cmp(&other.rest))
        })
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
