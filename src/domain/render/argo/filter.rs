//! Kinds that Argo CD keeps out of every comparison, by its own list and by the settings.

use serde_json::Value;

use super::Settings;
use super::glob::glob;
use crate::domain::yaml::{self, Dialect};

/// Kinds that Argo CD never looks at, by group; an empty list is the whole group.
const NEVER: [(&str, &[&str]); 4] = [
    ("events.k8s.io", &[]),
    ("metrics.k8s.io", &[]),
    ("", &["Event"]),
    ("coordination.k8s.io", &["Lease"]),
];

/// The rules that count for one app's destination.
pub(super) struct Filter {
    exclusions: Vec<Value>,
    inclusions: Vec<Value>,
}

impl Filter {
    /// Reads `resource.exclusions` and `resource.inclusions`, as far as they speak of the destination's cluster.
    pub(super) fn of(app: &Value, settings: Settings<'_>) -> Self {
        let server = super::text(app, "/spec/destination/server").trim_end_matches('/');
        let rules = |key: &str| {
            let text = settings.get(key).unwrap_or_default();
            let stream = yaml::parse(text.as_bytes());
            let value = stream
                .documents
                .first()
                .and_then(|read| read.to_json(Dialect::Kubectl).ok());
            let mut rules = value
                .and_then(|value| value.as_array().cloned())
                .unwrap_or_default();
            rules.retain(|rule| passes(rule, "clusters", |pattern| glob(pattern, server)));
            rules
        };
        Self {
            exclusions: rules("resource.exclusions"),
            inclusions: rules("resource.inclusions"),
        }
    }

    /// Tells whether objects of this kind are out.
    pub(super) fn excludes(&self, group: &str, kind: &str) -> bool {
        let never = |(of, kinds): &(&str, &[&str])| {
            *of == group && (kinds.is_empty() || kinds.contains(&kind))
        };
        let takes = |rule: &Value| {
            passes(rule, "apiGroups", |pattern| glob(pattern, group))
                && passes(rule, "kinds", |name| name == "*" || name == kind)
        };
        NEVER.iter().any(never)
            || self.exclusions.iter().any(takes)
            || (!self.inclusions.is_empty() && !self.inclusions.iter().any(takes))
    }
}

/// Tells whether one text of a rule's list passes; an absent or empty list takes everything.
fn passes(rule: &Value, key: &str, test: impl Fn(&str) -> bool) -> bool {
    let list = rule.get(key).and_then(Value::as_array);
    let mut texts = list
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .peekable();
    texts.peek().is_none() || texts.any(test)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn excludes_by_group_kind_and_cluster() {
        let app = json!({"spec": {"destination": {"server": "https://east"}}});
        let settings = json!({"data": {
            "resource.exclusions": "- {apiGroups: ['*.example.test'], kinds: [Noise]}\n- {kinds: [Secret], clusters: ['https://west']}\n",
        }});
        let filter = Filter::of(&app, Settings(Some(&settings)));
        for (group, kind, out) in [
            ("a.example.test", "Noise", true),
            ("a.example.test", "Other", false),
            ("", "Secret", false),
            ("", "Event", true),
            ("coordination.k8s.io", "Lease", true),
        ] {
            assert_eq!(filter.excludes(group, kind), out, "{group}/{kind}");
        }
        let only = json!({"resource.inclusions": "- {apiGroups: [apps]}"});
        let filter = Filter::of(&app, Settings(Some(&only)));
        assert!(!filter.excludes("apps", "Deployment") && filter.excludes("", "ConfigMap"));
    }
}
