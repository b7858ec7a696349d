//! Who may do what: everything, but for what a cluster's denials name; and the reviews that tell.

use serde_json::{Value, json};

use super::kinds::{KINDS, Kind};

/// Something that the demo's user may not do in a cluster.
#[derive(Debug, Clone, Copy)]
pub(in crate::world::demo) struct Denial {
    /// API group.
    pub group: &'static str,
    /// Resource, in the plural.
    pub plural: &'static str,
    /// The only namespace where it holds; `None` for all.
    pub namespace: Option<&'static str>,
    /// The verbs; empty for all.
    pub verbs: &'static [&'static str],
}

impl Denial {
    /// Tells whether this denies `verb` on a kind there; a request over all namespaces is denied by a denial in one.
    fn denies(&self, verb: &str, group: &str, plural: &str, namespace: Option<&str>) -> bool {
        self.group == group
            && self.plural == plural
            && (self.verbs.is_empty() || self.verbs.contains(&verb))
            && (self.namespace.is_none() || namespace.is_none() || self.namespace == namespace)
    }
}

/// Tells whether `verb` is allowed.
pub(super) fn allowed(
    denials: &[Denial],
    verb: &str,
    kind: &Kind,
    namespace: Option<&str>,
) -> bool {
    !denials
        .iter()
        .any(|d| d.denies(verb, kind.group, kind.plural, namespace))
}

/// Answers a SelfSubjectAccessReview.
pub(super) fn access_review(denials: &[Denial], mut review: Value) -> Value {
    let text = |key: &str| {
        review
            .pointer(&format!("/spec/resourceAttributes/{key}"))
            .and_then(Value::as_str)
            .filter(|t| !t.is_empty())
    };
    let denied = denials.iter().any(|d| {
        let verb = text("verb").unwrap_or_default();
        let plural = text("resource").unwrap_or_default();
        d.denies(
            verb,
            text("group").unwrap_or_default(),
            plural,
            text("namespace"),
        )
    });
    review["status"] = json!({"allowed": !denied});
    review
}

/// Answers a SelfSubjectRulesReview: one rule per resource and namespace.
pub(super) fn rules_review(denials: &[Denial], mut review: Value) -> Value {
    const VERBS: &[&str] = &[
        "create", "delete", "get", "list", "patch", "update", "watch",
    ];
    let namespace = review
        .pointer("/spec/namespace")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let rules: Vec<Value> = KINDS
        .iter()
        .map(|kind| {
            let verbs: Vec<&str> = VERBS
                .iter()
                .copied()
                .filter(|verb| allowed(denials, verb, kind, namespace.as_deref()))
                .collect();
            json!({"verbs": verbs, "apiGroups": [kind.group], "resources": [kind.plural]})
        })
        .collect();
    review["status"] = json!({"resourceRules": rules, "nonResourceRules": [], "incomplete": false});
    review
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rules_review_leaves_out_what_is_denied_there() {
        let denials = [Denial {
            group: "",
            plural: "secrets",
            namespace: Some("vault"),
            verbs: &["get", "list"],
        }];
        let verbs = |namespace: &str| {
            let review = rules_review(&denials, json!({"spec": {"namespace": namespace}}));
            let rules = review["status"]["resourceRules"]
                .as_array()
                .cloned()
                .unwrap();
            let rule = rules
                .into_iter()
                .find(|r| r["resources"] == json!(["secrets"]))
                .unwrap();
            rule["verbs"].clone()
        };
        assert_eq!(
            verbs("vault"),
            json!(["create", "delete", "patch", "update", "watch"])
        );
        assert_eq!(verbs("shop").as_array().unwrap().len(), 7);
    }
}
