//! The way to a node inside one document: keys and indices, as they stand in the file.

use std::fmt;

/// One step of a [`Route`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RouteStep {
    /// Into a mapping, by its key's text.
    Key(String),
    /// Into a sequence, 0-based.
    Index(usize),
}

/// A way from a document's root to a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Route(pub Vec<RouteStep>);

impl Route {
    /// Returns the way to the root.
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns this way, one key further.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        let mut steps = self.0.clone();
        steps.push(RouteStep::Key(key.into()));
        Self(steps)
    }

    /// Returns this way, one index further.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(RouteStep::Index(index));
        Self(steps)
    }

    /// Returns the way to the parent and the last step; `None` at the root.
    pub fn split_last(&self) -> Option<(Self, &RouteStep)> {
        let (last, rest) = self.0.split_last()?;
        Some((Self(rest.to_vec()), last))
    }

    /// Returns the node at this way inside a JSON value.
    pub fn get<'v>(&self, value: &'v serde_json::Value) -> Option<&'v serde_json::Value> {
        self.0.iter().try_fold(value, |node, step| match step {
            RouteStep::Key(key) => node.get(key.as_str()),
            RouteStep::Index(index) => node.get(*index),
        })
    }
}

/// Prints `spec.containers[0].image`; keys that are not plain words as `["a.b/c"]`; the root as `.`.
impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(".");
        }
        for (at, step) in self.0.iter().enumerate() {
            match step {
                RouteStep::Index(index) => write!(f, "[{index}]")?,
                RouteStep::Key(key) if is_plain_key(key) => {
                    write!(f, "{}{key}", if at == 0 { "" } else { "." })?;
                }
                RouteStep::Key(key) => write!(f, "[{}]", serde_json::Value::from(key.as_str()))?,
            }
        }
        Ok(())
    }
}

/// Tells whether `key` is printed plain in a path: letters, digits, `_` and `-` only.
pub fn is_plain_key(key: &str) -> bool {
    !key.is_empty()
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_odd_keys_quoted() {
        let route = Route::root()
            .key("metadata")
            .key("annotations")
            .key("a.b/c")
            .index(2);
        assert_eq!(route.to_string(), r#"metadata.annotations["a.b/c"][2]"#);
    }
}
