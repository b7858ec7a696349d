//! Label and field selectors.

use serde_json::Value;

use super::address::Query;
use super::refusal::Refusal;

/// What a list or watch asks for.
#[derive(Debug, Clone, Default)]
pub(super) struct Selector {
    labels: Vec<Term>,
    fields: Vec<(String, bool, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Has(String),
    HasNot(String),
}

impl Selector {
    /// Reads `labelSelector` and `fieldSelector`.
    pub(super) fn of(query: &Query) -> Result<Self, Refusal> {
        let labels = split(query.get("labelSelector").unwrap_or_default())
            .into_iter()
            .map(|text| {
                term(text).ok_or_else(|| {
                    Refusal::bad_request(format!("unable to parse requirement: `{text}`"))
                })
            })
            .collect::<Result<_, _>>()?;
        let fields = split(query.get("fieldSelector").unwrap_or_default())
            .into_iter()
            .map(|text| {
                let (key, value) = text.split_once('=').ok_or_else(|| {
                    Refusal::bad_request(format!(
                        "invalid selector: '{text}'; can't understand '{text}'"
                    ))
                })?;
                let wanted = !key.ends_with('!');
                let key = key.trim_end_matches('!').to_owned();
                Ok((key, wanted, value.trim_start_matches('=').to_owned()))
            })
            .collect::<Result<_, Refusal>>()?;
        Ok(Self { labels, fields })
    }

    /// Tells whether an object is asked for.
    pub(super) fn takes(&self, object: &Value) -> bool {
        let label = |key: &str| {
            object
                .get("metadata")
                .and_then(|m| m.get("labels"))
                .and_then(|l| l.get(key))
                .and_then(Value::as_str)
        };
        let labels = self.labels.iter().all(|term| match term {
            Term::In(key, values) => label(key).is_some_and(|v| values.iter().any(|w| w == v)),
            Term::NotIn(key, values) => label(key).is_none_or(|v| !values.iter().any(|w| w == v)),
            Term::Has(key) => label(key).is_some(),
            Term::HasNot(key) => label(key).is_none(),
        });
        labels
            && self.fields.iter().all(|(path, wanted, value)| {
                let pointer = format!("/{}", path.replace('.', "/"));
                let is = object
                    .pointer(&pointer)
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                (is == value) == *wanted
            })
    }
}

/// Splits at commas outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
    .collect()
}

fn term(text: &str) -> Option<Term> {
    let owned = |s: &str| s.trim().to_owned();
    if let Some((key, value)) = text.split_once("!=") {
        return Some(Term::NotIn(owned(key), vec![owned(value)]));
    }
    if let Some((key, value)) = text.split_once('=') {
        return Some(Term::In(
            owned(key),
            vec![owned(value.trim_start_matches('='))],
        ));
    }
    if let Some((head, values)) = text.split_once('(') {
        let values = values.strip_suffix(')')?.split(',').map(owned).collect();
        let (key, word) = head.trim().rsplit_once(' ')?;
        return match word {
            "in" => Some(Term::In(owned(key), values)),
            "notin" => Some(Term::NotIn(owned(key), values)),
            _ => None,
        };
    }
    match text.strip_prefix('!') {
        Some(key) => Some(Term::HasNot(owned(key))),
        None if text.contains(' ') => None,
        None => Some(Term::Has(owned(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selects_by_label_and_field() {
        let object =
            json!({"metadata": {"name": "web", "labels": {"app": "web", "tier": "front"}}});
        let takes = |labels: &str, fields: &str| {
            let query = format!("labelSelector={labels}&fieldSelector={fields}");
            Selector::of(&Query::of(Some(&query)))
                .unwrap()
                .takes(&object)
        };
        assert!(takes(
            "app%3Dweb,tier in (front,back),!gone,tier",
            "metadata.name%3Dweb"
        ));
        assert!(!takes("app!%3Dweb", ""));
        assert!(!takes("tier notin (front)", ""));
        assert!(!takes("", "metadata.name!%3Dweb"));
        assert!(Selector::of(&Query::of(Some("labelSelector=a b c"))).is_err());
    }
}
