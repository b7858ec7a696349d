//! Defaults that follow from a change: who sets `sessionAffinity: ClientIP` gets a time limit beside it that nobody
//! wrote. Only the change is somebody's; what the server added with it is told as noise.

use std::collections::BTreeSet;

use serde_json::Value;

use super::FieldStatus;
use super::defaults::{defaulted, fill};
use super::jq::without;
use super::walk::Difference;
use crate::domain::object::types::KindSchema;
use crate::domain::object::{FieldPath, ObjectId, PathStep};

/// Why such a field is noise.
pub(super) const FOLLOWS: &str = "a default that follows from another field of live";

/// More live-only fields than this are no consequence of one change; they are told one by one.
const MANY: usize = 64;

/// Returns the live-only fields that the server would fill in with that very value, were they not there.
pub(super) fn following(
    id: &ObjectId,
    schema: &KindSchema,
    live: &Value,
    differences: &[Difference],
) -> BTreeSet<FieldPath> {
    let candidates: Vec<&FieldPath> = differences
        .iter()
        .filter(|d| d.status == FieldStatus::Extra && d.git.is_none() && !d.replaced_default)
        .map(|d| &d.path)
        .filter(|path| match path.0.last() {
            // The deprecated alias of serviceAccountName: who reads one of the two wants both told.
            Some(PathStep::Key(key)) => !key.starts_with("serviceAccount"),
            _ => false,
        })
        .collect();
    if candidates.len() > MANY {
        return BTreeSet::new();
    }
    let refilled = |paths: &[&FieldPath]| {
        let routes = paths.iter().filter_map(|path| path.route_in(live));
        let mut rest = defaulted(id, &without(live, routes.collect()));
        fill(&schema.root(), &mut rest);
        rest
    };
    let comes_back = |rest: &Value, path: &FieldPath| {
        let (was, is) = (path.get(live), path.get(rest));
        was.is_some() && was == is
    };
    let alone: Vec<&FieldPath> = candidates
        .into_iter()
        .filter(|path| comes_back(&refilled(&[path]), path))
        .collect();
    // Two fields that fill in each other do not both follow.
    let rest = refilled(&alone);
    alone
        .into_iter()
        .filter(|path| comes_back(&rest, path))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::drift::walk::differences;
    use serde_json::json;

    fn followers(git: &Value, live: &Value) -> Vec<String> {
        let id = ObjectId::of(git).unwrap();
        let schema = KindSchema::builtin(&id.api_version, &id.kind);
        let found = differences(&schema, git, &defaulted(&id, git), live);
        following(&id, &schema, live, &found)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn service(spec: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": spec})
    }

    #[test]
    fn a_default_follows_from_the_change_beside_it() {
        let git = service(&json!({"ports": [{"port": 80}]}));
        let mut live = defaulted(&ObjectId::of(&git).unwrap(), &git);
        live["spec"]["sessionAffinity"] = json!("ClientIP");
        live["spec"]["sessionAffinityConfig"] = json!({"clientIP": {"timeoutSeconds": 10_800}});
        assert_eq!(followers(&git, &live), ["spec.sessionAffinityConfig"]);
        live["spec"]["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"] = json!(5);
        assert_eq!(followers(&git, &live), [""; 0]);
    }

    #[test]
    fn what_somebody_set_does_not_follow() {
        let git = service(&json!({"ports": [{"port": 80}]}));
        let mut live = defaulted(&ObjectId::of(&git).unwrap(), &git);
        live["spec"]["externalIPs"] = json!(["203.0.113.9"]);
        live["spec"]["externalTrafficPolicy"] = json!("Local");
        assert_eq!(followers(&git, &live), [""; 0]);
    }
}
