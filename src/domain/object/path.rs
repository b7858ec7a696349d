//! Paths to fields as the API server thinks of them: list items by their merge keys, set items by value.
//!
//! They print as `spec.template.spec.containers[name=app].image`, `ports[port=53,protocol=UDP]`, `tags[="c"]`, `[0]`,
//! `metadata.annotations["a.b/c"]`, and are read back from that spelling (the command line's `--field`).

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::domain::yaml::route::is_plain_key;
use crate::domain::yaml::{Route, RouteStep};

/// One step of a [`FieldPath`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathStep {
    /// Into a map or struct.
    Key(String),
    /// Into a list, by the item's merge keys and the text of their values.
    Item(Vec<(String, String)>),
    /// Into a set, by the item's value as compact JSON.
    Value(String),
    /// Into an atomic list, 0-based.
    Index(usize),
}

/// The path of a field in an object; the empty path is the object itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FieldPath(pub Vec<PathStep>);

/// Why a text is no field path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathError {
    /// 0-based byte in the text.
    pub at: usize,
    /// What was expected there.
    pub expected: &'static str,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} at character {}", self.expected, self.at + 1)
    }
}

impl std::error::Error for PathError {}

/// Returns the text by which a merge-key value is named in a path.
pub fn key_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl FieldPath {
    /// Returns this path, one step further.
    #[must_use]
    pub fn join(&self, step: PathStep) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// Returns this path, one key further.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        self.join(PathStep::Key(key.into()))
    }

    /// Tells whether `self` is `other` or lies above it.
    pub fn contains(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// Returns the way to this field inside `value`, items found by their keys; an absent `protocol` counts as `TCP`.
    pub fn route_in(&self, value: &Value) -> Option<Route> {
        let mut route = Route::root();
        let mut node = value;
        for step in &self.0 {
            let next = match step {
                PathStep::Key(key) => RouteStep::Key(key.clone()),
                PathStep::Index(index) => RouteStep::Index(*index),
                PathStep::Item(keys) => RouteStep::Index(
                    node.as_array()?
                        .iter()
                        .position(|item| item_has(item, keys))?,
                ),
                PathStep::Value(json) => RouteStep::Index(
                    node.as_array()?
                        .iter()
                        .position(|item| &item.to_string() == json)?,
                ),
            };
            node = match &next {
                RouteStep::Key(key) => node.get(key.as_str())?,
                RouteStep::Index(index) => node.get(*index)?,
            };
            route.0.push(next);
        }
        Some(route)
    }

    /// Returns the field's value inside `value`.
    pub fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.route_in(value)?.get(value)
    }
}

fn item_has(item: &Value, keys: &[(String, String)]) -> bool {
    keys.iter().all(|(key, text)| match item.get(key.as_str()) {
        Some(value) => key_text(value) == *text,
        None => key == "protocol" && text == "TCP",
    })
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Index(index) => write!(f, "[{index}]")?,
                PathStep::Value(json) => write!(f, "[={json}]")?,
                PathStep::Key(key) if is_plain_key(key) => {
                    write!(f, "{}{key}", if at == 0 { "" } else { "." })?;
                }
                PathStep::Key(key) => write!(f, "[{}]", Value::from(key.as_str()))?,
                PathStep::Item(keys) => {
                    f.write_str("[")?;
                    for (nth, (key, text)) in keys.iter().enumerate() {
                        let comma = if nth == 0 { "" } else { "," };
                        if text.is_empty() || text.contains([',', ']', '"', '=']) {
                            write!(f, "{comma}{key}={}", Value::from(text.as_str()))?;
                        } else {
                            write!(f, "{comma}{key}={text}")?;
                        }
                    }
                    f.write_str("]")?;
                }
            }
        }
        Ok(())
    }
}

impl FromStr for FieldPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let mut steps = vec![];
        let mut rest = text;
        let at = |rest: &str| text.len() - rest.len();
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let (step, after) = bracket(inner).map_err(|expected| PathError {
                    at: at(inner),
                    expected,
                })?;
                steps.push(step);
                rest = after;
                continue;
            }
            let plain = match (rest.strip_prefix('.'), steps.is_empty()) {
                (Some(after), false) => after,
                (None, true) => rest,
                _ => {
                    return Err(PathError {
                        at: at(rest),
                        expected: "`.key` or `[…]`",
                    });
                }
            };
            let end = plain.find(['.', '[']).unwrap_or(plain.len());
            if end == 0 {
                return Err(PathError {
                    at: at(plain),
                    expected: "a key",
                });
            }
            steps.push(PathStep::Key(plain[..end].to_owned()));
            rest = &plain[end..];
        }
        Ok(Self(steps))
    }
}

/// Reads what follows a `[`, up to and with its `]`; gives the step and the rest.
fn bracket(inner: &str) -> Result<(PathStep, &str), &'static str> {
    if inner.starts_with('"') {
        let (json, rest) = json_head(inner).ok_or("a quoted key")?;
        let Value::String(key) = json else {
            return Err("a quoted key");
        };
        return Ok((PathStep::Key(key), rest.strip_prefix(']').ok_or("`]`")?));
    }
    if let Some(value) = inner.strip_prefix('=') {
        let (json, rest) = json_head(value).ok_or("a JSON value")?;
        return Ok((
            PathStep::Value(json.to_string()),
            rest.strip_prefix(']').ok_or("`]`")?,
        ));
    }
    if inner.starts_with(|c: char| c.is_ascii_digit()) {
        let end = inner.find(']').ok_or("`]`")?;
        let index = inner[..end].parse().map_err(|_| "an index")?;
        return Ok((PathStep::Index(index), &inner[end + 1..]));
    }
    let mut keys = vec![];
    let mut rest = inner;
    loop {
        let (key, after) = rest.split_once('=').ok_or("`key=value`")?;
        let (value, after) = if after.starts_with('"') {
            let (json, after) = json_head(after).ok_or("a quoted value")?;
            (key_text(&json), after)
        } else {
            let end = after.find([',', ']']).ok_or("`]`")?;
            (after[..end].to_owned(), &after[end..])
        };
        keys.push((key.to_owned(), value));
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None => return Ok((PathStep::Item(keys), after.strip_prefix(']').ok_or("`]`")?)),
        }
    }
}

fn json_head(text: &str) -> Option<(Value, &str)> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = stream.next()?.ok()?;
    Some((value, &text[stream.byte_offset()..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_back_what_it_prints() {
        for text in [
            "spec.template.spec.containers[name=app].image",
            "spec.ports[port=53,protocol=UDP].nodePort",
            r#"spec.tags[="c"]"#,
            "spec.tolerations[0].key",
            r#"metadata.annotations["a.b/c"]"#,
            r#"x[name="a,b]"].y"#,
            "",
        ] {
            assert_eq!(text.parse::<FieldPath>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn says_where_a_text_is_no_path() {
        assert_eq!(
            "spec.[0]".parse::<FieldPath>().unwrap_err().to_string(),
            "expected a key at character 6"
        );
        assert!("a[b".parse::<FieldPath>().is_err());
    }

    #[test]
    fn finds_items_by_key_and_takes_an_absent_protocol_as_tcp() {
        let value = json!({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "name": "x"}]});
        let path: FieldPath = "ports[port=53,protocol=TCP].name".parse().unwrap();
        assert_eq!(path.get(&value), Some(&json!("x")));
    }
}
