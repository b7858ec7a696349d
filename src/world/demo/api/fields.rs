//! Sets of fields in the shape of managedFields (`fieldsV1`): a trie whose keys are `f:name`, `k:{…}` and `v:…`.
//!
//! This is the writing side: sets are made from values, joined, subtracted and stored. Reading who owns a field for a
//! person is the domain's work.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A set of fields. A node may be a member itself, have members below it, or both.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Fields {
    member: bool,
    below: BTreeMap<String, Self>,
}

impl Fields {
    /// Returns the set with this node as its one member.
    pub(super) fn one() -> Self {
        Self {
            member: true,
            below: BTreeMap::new(),
        }
    }

    /// Tells whether this node is a member itself.
    pub(super) fn is_member(&self) -> bool {
        self.member
    }

    /// Makes this node a member.
    pub(super) fn own(&mut self) {
        self.member = true;
    }

    /// Puts a set under `step`; an empty one leaves no trace.
    pub(super) fn put(&mut self, step: String, set: Self) {
        if !set.is_empty() {
            match self.below.get_mut(&step) {
                Some(there) => there.join(&set),
                None => drop(self.below.insert(step, set)),
            }
        }
    }

    /// Returns what is below `step`.
    pub(super) fn at(&self, step: &str) -> Option<&Self> {
        self.below.get(step)
    }

    /// Tells whether nothing is in the set.
    pub(super) fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }

    /// Adds all members of `other`.
    pub(super) fn join(&mut self, other: &Self) {
        self.member |= other.member;
        for (step, set) in &other.below {
            self.below.entry(step.clone()).or_default().join(set);
        }
    }

    /// Takes all members of `other` out.
    pub(super) fn subtract(&mut self, other: &Self) {
        self.member &= !other.member;
        for (step, set) in &other.below {
            if let Some(mine) = self.below.get_mut(step) {
                mine.subtract(set);
                if mine.is_empty() {
                    self.below.remove(step);
                }
            }
        }
    }

    /// Returns the members that both have.
    pub(super) fn meet(&self, other: &Self) -> Self {
        let mut both = Self {
            member: self.member && other.member,
            below: BTreeMap::new(),
        };
        for (step, set) in &self.below {
            if let Some(theirs) = other.below.get(step) {
                both.put(step.clone(), set.meet(theirs));
            }
        }
        both
    }

    /// Returns the paths of all members as a server prints them: `.spec.containers[name="app"].image`.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = vec![];
        self.walk(&mut String::new(), &mut paths);
        paths
    }

    fn walk(&self, at: &mut String, paths: &mut Vec<String>) {
        if self.member {
            paths.push(at.clone());
        }
        for (step, set) in &self.below {
            let len = at.len();
            at.push_str(&print(step));
            set.walk(at, paths);
            at.truncate(len);
        }
    }

    /// Returns the `fieldsV1` value.
    pub(super) fn to_json(&self) -> Value {
        let mut map = Map::new();
        if self.member && !self.below.is_empty() {
            map.insert(".".into(), Value::Object(Map::new()));
        }
        for (step, set) in &self.below {
            map.insert(step.clone(), set.to_json());
        }
        Value::Object(map)
    }

    /// Reads a `fieldsV1` value.
    pub(super) fn of_json(value: &Value) -> Self {
        let mut root = Self::read(value);
        root.member = value.get(".").is_some();
        root
    }

    fn read(value: &Value) -> Self {
        let Some(map) = value.as_object() else {
            return Self::one();
        };
        Self {
            member: map.is_empty() || map.contains_key("."),
            below: map
                .iter()
                .filter(|(step, _)| *step != ".")
                .map(|(step, below)| (step.clone(), Self::read(below)))
                .collect(),
        }
    }
}

/// Prints one step as the server does.
fn print(step: &str) -> String {
    let (tag, rest) = step.split_at_checked(2).unwrap_or((step, ""));
    match tag {
        "k:" => match serde_json::from_str::<BTreeMap<String, Value>>(rest) {
            Ok(keys) => {
                let keys: Vec<String> = keys.iter().map(|(k, v)| format!("{k}={v}")).collect();
                format!("[{}]", keys.join(","))
            }
            Err(_) => format!("[{rest}]"),
        },
        "v:" => format!("[={rest}]"),
        "i:" => format!("[{rest}]"),
        _ => format!(".{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_back_what_it_writes_and_prints_paths() {
        let v1 = json!({"f:spec": {"f:containers": {"k:{\"name\":\"app\"}": {".": {}, "f:image": {}}}},
            "f:tags": {"v:\"c\"": {}}});
        let set = Fields::of_json(&v1);
        assert_eq!(set.to_json(), v1);
        assert_eq!(
            set.paths(),
            [
                r#".spec.containers[name="app"]"#,
                r#".spec.containers[name="app"].image"#,
                r#".tags[="c"]"#
            ]
        );
    }

    #[test]
    fn subtracts_members_and_leaves_no_empty_parents() {
        let mut set = Fields::of_json(&json!({"f:a": {".": {}, "f:b": {}}, "f:c": {"f:d": {}}}));
        set.subtract(&Fields::of_json(
            &json!({"f:a": {"f:b": {}}, "f:c": {"f:d": {}}}),
        ));
        assert_eq!(set.to_json(), json!({"f:a": {}}));
    }
}
