//! Which objects a patch or a replacement applies to.

use std::sync::Arc;

use regex::Regex;

use super::model::Selector;
use super::resource::{Id, Resource};
use super::schema::Schema;

/// A selector whose patterns are compiled.
pub(super) struct Matcher {
    group: Option<Regex>,
    version: Option<Regex>,
    kind: Option<Regex>,
    name: Option<Regex>,
    namespace: Option<Regex>,
    annotations: Vec<Requirement>,
    labels: Vec<Requirement>,
    /// Whether none of the patterns is set.
    pub(super) names_nothing: bool,
    /// Whether labels or annotations are asked for.
    pub(super) has_labels: bool,
}

fn pattern(text: &str) -> Result<Option<Regex>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    Regex::new(&format!("^(?:{text})$"))
        .map(Some)
        .map_err(|error| format!("`{text}` is no pattern: {error}"))
}

impl Matcher {
    pub(super) fn new(selector: &Selector) -> Result<Self, String> {
        let empty = [
            &selector.group,
            &selector.version,
            &selector.kind,
            &selector.name,
            &selector.namespace,
        ]
        .iter()
        .all(|text| text.is_empty());
        Ok(Self {
            group: pattern(&selector.group)?,
            version: pattern(&selector.version)?,
            kind: pattern(&selector.kind)?,
            name: pattern(&selector.name)?,
            namespace: pattern(&selector.namespace)?,
            annotations: requirements(&selector.annotations)?,
            labels: requirements(&selector.labels)?,
            names_nothing: empty,
            has_labels: !selector.annotations.is_empty() || !selector.labels.is_empty(),
        })
    }

    pub(super) fn gvk(&self, id: &Id) -> bool {
        is_match(self.group.as_ref(), &id.group)
            && is_match(self.version.as_ref(), &id.version)
            && is_match(self.kind.as_ref(), &id.kind)
    }

    /// Tells whether this one id is meant, its namespace as written.
    pub(super) fn id(&self, id: &Id) -> bool {
        self.gvk(id)
            && is_match(self.name.as_ref(), &id.name)
            && is_match(self.namespace.as_ref(), &id.namespace)
    }

    /// Tells whether labels and annotations are as asked for.
    pub(super) fn has_words(&self, resource: &Resource) -> bool {
        (self.annotations.is_empty() || all(&self.annotations, &resource.texts("annotations")))
            && (self.labels.is_empty() || all(&self.labels, &resource.texts("labels")))
    }

    /// Tells whether the object is meant: its first or present name and namespace, its present kind.
    pub(super) fn selects(&self, resource: &Resource, schema: &Schema) -> bool {
        let (now, first) = (resource.id(schema), resource.first_id(schema));
        (is_match(self.namespace.as_ref(), first.effective_namespace())
            || is_match(self.namespace.as_ref(), now.effective_namespace()))
            && (is_match(self.name.as_ref(), &first.name)
                || is_match(self.name.as_ref(), &now.name))
            && self.gvk(&now)
            && self.has_words(resource)
    }
}

fn is_match(pattern: Option<&Regex>, text: &str) -> bool {
    pattern.is_none_or(|pattern| pattern.is_match(text))
}

/// One condition of a label selector.
#[derive(Debug, PartialEq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, PartialEq)]
enum Test {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
    Above(i64),
    Below(i64),
}

fn all(requirements: &[Requirement], words: &[(Arc<str>, Arc<str>)]) -> bool {
    requirements.iter().all(|requirement| {
        let value = words
            .iter()
            .find(|(key, _)| **key == *requirement.key)
            .map(|(_, value)| &**value);
        let number = value.and_then(|value| value.parse::<i64>().ok());
        match &requirement.test {
            Test::Exists => value.is_some(),
            Test::Missing => value.is_none(),
            Test::In(values) => value.is_some_and(|value| values.iter().any(|v| v == value)),
            Test::NotIn(values) => value.is_none_or(|value| values.iter().all(|v| v != value)),
            Test::Above(bound) => number.is_some_and(|number| number > *bound),
            Test::Below(bound) => number.is_some_and(|number| number < *bound),
        }
    })
}

/// Reads a selector in Kubernetes' syntax: `a=b,c in (d,e),!f`.
fn requirements(text: &str) -> Result<Vec<Requirement>, String> {
    split(text)
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(requirement)
        .collect()
}

/// Splits at the commas outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (vec![], 0, 0_usize);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn requirement(text: &str) -> Result<Requirement, String> {
    let make = |key: &str, test: Test| Requirement {
        key: key.trim().to_owned(),
        test,
    };
    if let Some(key) = text.strip_prefix('!') {
        return Ok(make(key, Test::Missing));
    }
    if let Some((head, list)) = text.split_once('(') {
        let values = list
            .trim_end()
            .strip_suffix(')')
            .ok_or_else(|| format!("`{text}` has no closing parenthesis"))?
            .split(',')
            .map(|value| value.trim().to_owned())
            .collect();
        return match head.split_whitespace().collect::<Vec<_>>()[..] {
            [key, "in"] => Ok(make(key, Test::In(values))),
            [key, "notin"] => Ok(make(key, Test::NotIn(values))),
            _ => Err(format!("`{text}` is no selector")),
        };
    }
    if let Some((key, value)) = text.split_once("!=") {
        return Ok(make(key, Test::NotIn(vec![value.trim().to_owned()])));
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return Ok(make(key, Test::In(vec![value.trim().to_owned()])));
    }
    let number = |value: &str| {
        value
            .trim()
            .parse()
            .map_err(|_| format!("`{text}` compares with no number"))
    };
    if let Some((key, value)) = text.split_once('>') {
        return Ok(make(key, Test::Above(number(value)?)));
    }
    if let Some((key, value)) = text.split_once('<') {
        return Ok(make(key, Test::Below(number(value)?)));
    }
    if text.split_whitespace().count() > 1 {
        return Err(format!("`{text}` is no selector"));
    }
    Ok(make(text, Test::Exists))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_selectors() {
        let words: Vec<(Arc<str>, Arc<str>)> =
            vec![("app".into(), "web".into()), ("tier".into(), "2".into())];
        for (selector, expected) in [
            ("", true),
            ("app=web", true),
            ("app==web,tier", true),
            ("app!=web", false),
            ("other!=web", true),
            ("app in (db, web)", true),
            ("app notin (db, web)", false),
            ("!other", true),
            ("tier>1", true),
            ("tier<2", false),
        ] {
            assert_eq!(
                all(&requirements(selector).unwrap(), &words),
                expected,
                "{selector}"
            );
        }
        assert!(requirements("a b").is_err());
    }
}
