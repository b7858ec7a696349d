//! Who holds which field, as the server wrote it down in `metadata.managedFields`.
//!
//! Each entry holds a set of fields in the FieldsV1 form; here it is a tree over [`PathStep`]s, so that a path of a
//! comparison finds its holders. An entry's time is the last change of *any* of its fields: an upper bound.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::path::{FieldPath, PathStep, key_text};

/// A set of fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldSet {
    /// The fields below.
    pub children: BTreeMap<PathStep, Self>,
    /// Whether this node itself is in the set: a leaf, or a node named with `.`.
    pub member: bool,
}

/// One entry of managedFields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The manager's name.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// In which version's field names.
    pub api_version: String,
    /// `scale`, `status` …
    pub subresource: Option<String>,
    /// RFC 3339.
    pub time: Option<String>,
    /// Its fields.
    pub fields: FieldSet,
}

/// How firmly an entry holds a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// It holds an ancestor as a leaf: it holds the path only where that ancestor is atomic.
    Above(usize),
    /// It holds fields below the path.
    Below,
    /// It holds exactly the path.
    Exact,
}

/// Reads the entries of an object; entries that cannot be read are left out.
pub fn entries(object: &Value) -> Vec<Entry> {
    let all = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    all.into_iter()
        .flatten()
        .filter_map(|entry| {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
            Some(Entry {
                manager: text("manager").unwrap_or_else(|| "unknown".to_owned()),
                operation: text("operation").unwrap_or_default(),
                api_version: text("apiVersion").unwrap_or_default(),
                subresource: text("subresource").filter(|s| !s.is_empty()),
                time: text("time"),
                fields: FieldSet::read(entry.get("fieldsV1")?),
            })
        })
        .collect()
}

impl FieldSet {
    /// Reads the FieldsV1 form.
    pub fn read(fields: &Value) -> Self {
        let mut set = Self::default();
        let Some(map) = fields.as_object() else {
            return set;
        };
        set.member = map.is_empty() || map.contains_key(".");
        for (key, child) in map {
            if let Some(step) = read_step(key) {
                set.children.insert(step, Self::read(child));
            }
        }
        set
    }

    /// Writes the FieldsV1 form.
    pub fn write(&self) -> Value {
        let mut map = Map::new();
        if self.member && !self.children.is_empty() {
            map.insert(".".to_owned(), json!({}));
        }
        for (step, child) in &self.children {
            map.insert(write_step(step), child.write());
        }
        Value::Object(map)
    }

    /// Returns how this set holds `path`; `None` where it does not.
    pub fn hold(&self, path: &FieldPath) -> Option<Hold> {
        let mut node = self;
        for (depth, step) in path.0.iter().enumerate() {
            match node.child(step) {
                Some(child) => node = child,
                None if node.member && node.children.is_empty() && depth > 0 => {
                    return Some(Hold::Above(depth));
                }
                None => return None,
            }
        }
        Some(if node.member {
            Hold::Exact
        } else {
            Hold::Below
        })
    }

    /// Returns the set below one step; an absent `protocol` counts as `TCP`.
    pub fn child(&self, step: &PathStep) -> Option<&Self> {
        if let Some(child) = self.children.get(step) {
            return Some(child);
        }
        let PathStep::Item(keys) = step else {
            return None;
        };
        self.children.iter().find_map(|(own, child)| match own {
            PathStep::Item(own) => {
                let same = |a: &[(String, String)], b: &[(String, String)]| {
                    a.iter().all(|pair| {
                        b.contains(pair)
                            || (pair.0 == "protocol"
                                && pair.1 == "TCP"
                                && !b.iter().any(|p| p.0 == "protocol"))
                    })
                };
                (same(own, keys) && same(keys, own)).then_some(child)
            }
            _ => None,
        })
    }

    /// Returns the set at a path.
    pub fn at(&self, path: &FieldPath) -> Option<&Self> {
        path.0.iter().try_fold(self, |set, step| set.child(step))
    }

    /// Adds a path.
    pub fn insert(&mut self, path: &FieldPath) {
        let mut node = self;
        for step in &path.0 {
            node = node.children.entry(step.clone()).or_default();
        }
        node.member = true;
    }

    /// Tells whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    /// Calls `visit` with every member, parents first.
    pub fn each(&self, visit: &mut dyn FnMut(&FieldPath, bool)) {
        self.walk(&mut FieldPath::default(), visit);
    }

    fn walk(&self, path: &mut FieldPath, visit: &mut dyn FnMut(&FieldPath, bool)) {
        if self.member && !path.0.is_empty() {
            visit(path, self.children.is_empty());
        }
        for (step, child) in &self.children {
            path.0.push(step.clone());
            child.walk(path, visit);
            path.0.pop();
        }
    }
}

fn read_step(key: &str) -> Option<PathStep> {
    let rest = key.get(2..)?;
    match key.get(..2)? {
        "f:" => Some(PathStep::Key(rest.to_owned())),
        "k:" => {
            let Value::Object(keys) = serde_json::from_str(rest).ok()? else {
                return None;
            };
            Some(PathStep::Item(
                keys.iter().map(|(k, v)| (k.clone(), key_text(v))).collect(),
            ))
        }
        "v:" => Some(PathStep::Value(
            serde_json::from_str::<Value>(rest).ok()?.to_string(),
        )),
        "i:" => Some(PathStep::Index(rest.parse().ok()?)),
        _ => None,
    }
}

fn write_step(step: &PathStep) -> String {
    match step {
        PathStep::Key(key) => format!("f:{key}"),
        PathStep::Value(json) => format!("v:{json}"),
        PathStep::Index(index) => format!("i:{index}"),
        PathStep::Item(keys) => {
            let map: Map<String, Value> = keys
                .iter()
                .map(|(key, text)| {
                    // Ports are the only numeric keys of the built-in kinds; a name that looks like a number stays text.
                    let number = key.to_ascii_lowercase().ends_with("port");
                    let value = match text.parse::<i64>() {
                        Ok(n) if number => Value::from(n),
                        _ => Value::from(text.as_str()),
                    };
                    (key.clone(), value)
                })
                .collect();
            format!("k:{}", Value::Object(map))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> FieldSet {
        FieldSet::read(&json!({"f:spec": {
            "f:replicas": {}, "f:selector": {},
            "f:ports": {".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
            "f:tags": {"v:\"a\"": {}}}}))
    }

    #[test]
    fn finds_who_holds_a_path() {
        let table = [
            ("spec.replicas", Some(Hold::Exact)),
            ("spec.selector.matchLabels", Some(Hold::Above(2))),
            ("spec.ports[port=80,protocol=TCP]", Some(Hold::Exact)),
            ("spec.ports[port=80,protocol=TCP].nodePort", None),
            (r#"spec.tags[="a"]"#, Some(Hold::Exact)),
            ("spec", Some(Hold::Below)),
            ("status", None),
        ];
        for (path, expect) in table {
            assert_eq!(set().hold(&path.parse().unwrap()), expect, "{path}");
        }
    }

    #[test]
    fn writes_what_it_reads() {
        assert_eq!(FieldSet::read(&set().write()), set());
    }
}
