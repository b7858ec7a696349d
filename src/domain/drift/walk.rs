//! Two objects side by side, node by node: every place where they differ, at the height a person would name it.
//!
//! Lists are paired as the server pairs them (by keys, as sets, else by index); numbers and quantities compare by
//! value; what a built-in type drops when empty counts as absent. Nothing is judged here: no owner, no rule, no engine.

use std::collections::BTreeSet;

use serde_json::Value;

use super::FieldStatus;
use crate::domain::object::managed_fields::Entry;
use crate::domain::object::path::key_text;
use crate::domain::object::quantity::nanos;
use crate::domain::object::schema::{Merge, Schema};
use crate::domain::object::{FieldPath, PathStep};

/// One place where both sides differ.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference {
    pub(super) path: FieldPath,
    pub(super) status: FieldStatus,
    pub(super) git: Option<Value>,
    pub(super) live: Option<Value>,
    /// The length of the path down to the first ancestor (or itself) that the server owns as one.
    pub(super) atomic: Option<usize>,
    /// Live replaced a default that Git leaves to the server.
    pub(super) replaced_default: bool,
}

/// What the walk knows about the kind.
pub(super) struct Kind<'a> {
    pub(super) schema: &'a Schema,
    /// The live object's managedFields, which show the list keys of kinds without a schema.
    pub(super) entries: &'a [Entry],
    pub(super) built_in: bool,
    pub(super) secret: bool,
}

/// Maps whose keys are the user's: named key by key, whatever the other side lacks.
const FREE_MAPS: &[&str] = &[
    "labels",
    "annotations",
    "data",
    "binaryData",
    "stringData",
    "nodeSelector",
    "limits",
    "requests",
    "matchLabels",
    "hard",
    "parameters",
    "selector",
    "capacity",
    "allocatable",
    "driverOptions",
    "volumeAttributes",
];

/// Maps whose values are amounts.
const AMOUNT_MAPS: &[&str] = &[
    "limits",
    "requests",
    "hard",
    "capacity",
    "overhead",
    "default",
    "defaultRequest",
    "max",
    "min",
    "maxLimitRequestRatio",
    "used",
    "allocatable",
];

/// Fields that are amounts.
const AMOUNTS: &[&str] = &["sizeLimit", "divisor", "averageValue", "tolerance"];

/// Empty maps that mean something by being there.
const TELLING: &[&str] = &[
    "emptyDir",
    "namespaceSelector",
    "podSelector",
    "objectSelector",
    "allowPrivilegeEscalation",
    "selector",
];

/// Returns every difference of `want` (Git with the server's defaults; `git` without them) and `live`.
pub(super) fn differences(
    kind: &Kind<'_>,
    git: &Value,
    want: &Value,
    live: &Value,
) -> Vec<Difference> {
    let mut walk = Walk {
        kind,
        found: vec![],
    };
    walk.node(&At::default(), Some(git), Some(want), Some(live));
    walk.found
}

/// Tells whether nothing is in a value that a built-in type would keep.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_empty),
    }
}

/// Where the walk is: the path, the schema's pattern of it, and the first atomic node above.
#[derive(Clone, Default)]
struct At {
    path: FieldPath,
    pattern: String,
    atomic: Option<usize>,
}

impl At {
    fn key(&self, key: &str) -> Self {
        let dot = if self.pattern.is_empty() { "" } else { "." };
        Self {
            path: self.path.key(key),
            pattern: format!("{}{dot}{key}", self.pattern),
            atomic: self.atomic,
        }
    }

    fn item(&self, step: PathStep) -> Self {
        Self {
            path: self.path.join(step),
            pattern: format!("{}[]", self.pattern),
            atomic: self.atomic,
        }
    }

    fn last_key(&self) -> &str {
        self.path
            .0
            .iter()
            .rev()
            .find_map(|s| {
                if let PathStep::Key(k) = s {
                    Some(k.as_str())
                } else {
                    None
                }
            })
            .unwrap_or("")
    }

    fn parent_key(&self) -> &str {
        let mut keys = self.path.0.iter().rev().filter_map(|s| {
            if let PathStep::Key(k) = s {
                Some(k.as_str())
            } else {
                None
            }
        });
        keys.next();
        keys.next().unwrap_or("")
    }

    fn is_free_map(&self) -> bool {
        matches!(self.path.0.last(), Some(PathStep::Key(_))) && FREE_MAPS.contains(&self.last_key())
    }
}

struct Walk<'k, 'a> {
    kind: &'k Kind<'a>,
    found: Vec<Difference>,
}

impl Walk<'_, '_> {
    fn node(&mut self, at: &At, git: Option<&Value>, want: Option<&Value>, live: Option<&Value>) {
        let mut at = at.clone();
        if at.atomic.is_none() && self.kind.schema.merge(&at.pattern) == Some(&Merge::Atomic) {
            at.atomic = Some(at.path.0.len());
        }
        let at = &at;
        let want = self.present(want, live);
        let live = live.filter(|l| !(l.is_null() && want.is_none()));
        match (want, live) {
            (None, None) => {}
            (Some(want), None) => self.missing(at, git, want),
            (None, Some(live)) => self.extra(at, live),
            (Some(Value::Object(w)), Some(Value::Object(l))) => {
                let keys: BTreeSet<&String> = w.keys().chain(l.keys()).collect();
                for key in keys {
                    let git = git.and_then(|g| g.get(key.as_str()));
                    self.node(&at.key(key), git, w.get(key.as_str()), l.get(key.as_str()));
                }
            }
            (Some(Value::Array(w)), Some(Value::Array(l))) => {
                let none = vec![];
                let g = git.and_then(Value::as_array).unwrap_or(&none);
                self.list(at, (git.is_some()).then_some(g), w, l);
            }
            (Some(want), Some(live)) => self.leaf(at, git, want, live),
        }
    }

    /// A null counts as absent; in a string map of a built-in kind it is stored as the empty text, which is then equal.
    fn present<'v>(&self, want: Option<&'v Value>, live: Option<&Value>) -> Option<&'v Value> {
        want.filter(|w| {
            !w.is_null()
                || (self.kind.built_in && live.is_some_and(|l| !is_empty(l)))
                || (!self.kind.built_in && live.is_some_and(Value::is_null))
        })
    }

    fn leaf(&mut self, at: &At, git: Option<&Value>, want: &Value, live: &Value) {
        if self.same_leaf(at, want, live) {
            return;
        }
        if self.kind.built_in && is_empty(want) && is_empty(live) {
            return;
        }
        let status = match git {
            None => FieldStatus::Extra,
            Some(_)
                if want.is_string() != live.is_string()
                    && scalar_text(want) == scalar_text(live)
                    && !self.kind.schema.is_known() =>
            {
                FieldStatus::ChangedType
            }
            Some(_) if !self.kind.built_in && same_amount(want, live) => FieldStatus::ChangedFormat,
            Some(_) => FieldStatus::Changed,
        };
        self.push(at, status, git.cloned(), Some(live.clone()), git.is_none());
    }

    fn same_leaf(&self, at: &At, want: &Value, live: &Value) -> bool {
        match (want, live) {
            (Value::Number(w), Value::Number(l)) if w == l || w.as_f64() == l.as_f64() => true,
            (w, l) if w == l => true,
            (Value::String(w), Value::String(l))
                if self.kind.secret && at.path.0.first() == Some(&PathStep::Key("data".into())) =>
            {
                let plain = |t: &str| t.split_ascii_whitespace().collect::<String>();
                plain(w) == plain(l)
            }
            _ if self.kind.built_in && self.is_amount(at) => match (amount(want), amount(live)) {
                (Some(w), Some(l)) => w == l,
                _ => false,
            },
            _ => false,
        }
    }

    fn is_amount(&self, at: &At) -> bool {
        AMOUNTS.contains(&at.last_key())
            || AMOUNT_MAPS.contains(&at.parent_key())
            || (at.parent_key() == "target" && at.last_key() == "value")
            || at.pattern.ends_with("metric.target.value")
    }

    fn missing(&mut self, at: &At, git: Option<&Value>, want: &Value) {
        let Some(git) = git else { return };
        let telling = TELLING.contains(&at.last_key()) && want.is_object() && !at.path.0.is_empty();
        if self.kind.built_in && is_empty(want) && !telling {
            return;
        }
        match want {
            Value::Object(map) if at.is_free_map() && !map.is_empty() => {
                for (key, value) in map {
                    self.missing(&at.key(key), git.get(key.as_str()), value);
                }
            }
            Value::Array(items) if !items.is_empty() && self.keys_of(at, items).is_some() => {
                let keys = self.keys_of(at, items).unwrap_or_default();
                for (index, item) in items.iter().enumerate() {
                    let step = PathStep::Item(item_keys(item, &keys));
                    self.missing(&at.item(step), git.get(index), item);
                }
            }
            _ => self.push(at, FieldStatus::Missing, Some(git.clone()), None, false),
        }
    }

    fn extra(&mut self, at: &At, live: &Value) {
        match live {
            Value::Object(map) if at.is_free_map() && !map.is_empty() => {
                for (key, value) in map {
                    self.extra(&at.key(key), value);
                }
            }
            Value::Array(items) if !items.is_empty() && self.keys_of(at, items).is_some() => {
                let keys = self.keys_of(at, items).unwrap_or_default();
                for item in items {
                    self.extra(&at.item(PathStep::Item(item_keys(item, &keys))), item);
                }
            }
            Value::Array(items) if !items.is_empty() && self.merge_of(at) == Merge::Set => {
                for item in items {
                    self.extra(&at.item(PathStep::Value(item.to_string())), item);
                }
            }
            _ => self.push(at, FieldStatus::Extra, None, Some(live.clone()), false),
        }
    }

    /// Returns how the list at this place merges; where no schema tells, managedFields show it.
    fn merge_of(&self, at: &At) -> Merge {
        if let Some(merge) = self.kind.schema.merge(&at.pattern) {
            return merge.clone();
        }
        if self.kind.schema.is_known() {
            return Merge::Atomic;
        }
        let seen = self
            .kind
            .entries
            .iter()
            .filter_map(|entry| entry.fields.at(&at.path));
        for step in seen.flat_map(|set| set.children.keys()) {
            match step {
                PathStep::Item(keys) => {
                    return Merge::Keyed(keys.iter().map(|(key, _)| key.clone()).collect());
                }
                PathStep::Value(_) => return Merge::Set,
                _ => {}
            }
        }
        Merge::Atomic
    }

    fn keys_of(&self, at: &At, items: &[Value]) -> Option<Vec<String>> {
        match self.merge_of(at) {
            Merge::Keyed(keys) if items.iter().all(Value::is_object) => Some(keys),
            _ => None,
        }
    }

    fn list(&mut self, at: &At, git: Option<&Vec<Value>>, want: &[Value], live: &[Value]) {
        if let (Some(keys), true) = (self.keys_of(at, want), live.iter().all(Value::is_object)) {
            return self.keyed(at, git, (want, live), &keys);
        }
        if self.merge_of(at) == Merge::Set {
            return self.set(at, git, want, live);
        }
        let mut at = at.clone();
        at.atomic = at.atomic.or(Some(at.path.0.len()));
        self.atomic(&at, git, want, live);
    }

    fn keyed(
        &mut self,
        at: &At,
        git: Option<&Vec<Value>>,
        (want, live): (&[Value], &[Value]),
        keys: &[String],
    ) {
        let name = |item: &Value| item_keys(item, keys);
        let mut free: Vec<Option<&Value>> = live.iter().map(Some).collect();
        let mut order = vec![];
        for (index, item) in want.iter().enumerate() {
            let key = name(item);
            let found = free.iter().position(|l| l.is_some_and(|l| name(l) == key));
            let at = at.item(PathStep::Item(key));
            let partner = found.and_then(|position| {
                order.push(position);
                free[position].take()
            });
            self.node(&at, git.and_then(|g| g.get(index)), Some(item), partner);
        }
        for item in free.into_iter().flatten() {
            self.extra(&at.item(PathStep::Item(name(item))), item);
        }
        if git.is_some() && !order.is_sorted() {
            let shown = |items: &[Value], other: &[Value]| {
                let names: Vec<Value> = items
                    .iter()
                    .filter(|item| other.iter().any(|o| name(o) == name(item)))
                    .map(|item| {
                        let pairs: Vec<String> =
                            name(item).iter().map(|(k, v)| format!("{k}={v}")).collect();
                        Value::from(pairs.join(","))
                    })
                    .collect();
                Some(Value::Array(names))
            };
            self.push(
                at,
                FieldStatus::OrderOnly,
                shown(want, live),
                shown(live, want),
                false,
            );
        }
    }

    fn set(&mut self, at: &At, git: Option<&Vec<Value>>, want: &[Value], live: &[Value]) {
        for item in want.iter().filter(|item| !live.contains(item)) {
            if git.is_some() {
                let at = at.item(PathStep::Value(item.to_string()));
                self.push(&at, FieldStatus::Missing, Some(item.clone()), None, false);
            }
        }
        for item in live.iter().filter(|item| !want.contains(item)) {
            self.extra(&at.item(PathStep::Value(item.to_string())), item);
        }
    }

    fn atomic(&mut self, at: &At, git: Option<&Vec<Value>>, want: &[Value], live: &[Value]) {
        let same = |w: usize, l: usize| self.same(at, &want[w], &live[l]);
        if want.len() == live.len() && want.len() > 1 {
            let mut free: Vec<usize> = (0..live.len()).collect();
            let paired = (0..want.len()).all(|w| {
                free.iter()
                    .position(|&l| same(w, l))
                    .map(|p| free.remove(p))
                    .is_some()
            });
            let moved = paired && (0..want.len()).any(|at| !same(at, at));
            if moved && git.is_some() {
                let all = |items: &[Value]| Some(Value::Array(items.to_vec()));
                return self.push(
                    at,
                    FieldStatus::OrderOnly,
                    git.map(|g| Value::Array(g.clone())),
                    all(live),
                    false,
                );
            }
        }
        // Items put in or taken out in the middle are told apart from changed ones where the rest stayed in order.
        let pairs: Vec<(Option<usize>, Option<usize>)> = if want.len() < live.len() {
            match subsequence(want.len(), live.len(), same) {
                Some(kept) => (0..live.len())
                    .map(|l| (kept.iter().position(|&k| k == l), Some(l)))
                    .collect(),
                None => by_index(want.len(), live.len()),
            }
        } else if want.len() > live.len() {
            match subsequence(live.len(), want.len(), |l, w| same(w, l)) {
                Some(kept) => (0..want.len())
                    .map(|w| (Some(w), kept.iter().position(|&k| k == w)))
                    .collect(),
                None => by_index(want.len(), live.len()),
            }
        } else {
            by_index(want.len(), live.len())
        };
        for (w, l) in pairs {
            let at = at.item(PathStep::Index(if w.is_none() {
                l.unwrap_or(0)
            } else {
                w.unwrap_or(0)
            }));
            let git = w.and_then(|w| git.and_then(|g| g.get(w)));
            match (w.map(|w| &want[w]), l.map(|l| &live[l])) {
                (Some(want), None) => {
                    if let Some(git) = git {
                        self.push(&at, FieldStatus::Missing, Some(git.clone()), None, false);
                    } else {
                        self.missing(&at, git, want);
                    }
                }
                (None, Some(live)) => {
                    self.push(&at, FieldStatus::Extra, None, Some(live.clone()), false)
                }
                (want, live) => self.node(&at, git, want, live),
            }
        }
    }

    fn same(&self, at: &At, want: &Value, live: &Value) -> bool {
        let mut walk = Walk {
            kind: self.kind,
            found: vec![],
        };
        walk.node(
            &at.item(PathStep::Index(0)),
            Some(want),
            Some(want),
            Some(live),
        );
        walk.found.is_empty()
    }

    fn push(
        &mut self,
        at: &At,
        status: FieldStatus,
        git: Option<Value>,
        live: Option<Value>,
        replaced_default: bool,
    ) {
        self.found.push(Difference {
            path: at.path.clone(),
            status,
            git,
            live,
            atomic: at.atomic,
            replaced_default,
        });
    }
}

fn by_index(want: usize, live: usize) -> Vec<(Option<usize>, Option<usize>)> {
    (0..want.max(live))
        .map(|at| ((at < want).then_some(at), (at < live).then_some(at)))
        .collect()
}

/// Returns which of the `long` items the `short` ones are, in order; `None` where they are no subsequence.
fn subsequence(
    short: usize,
    long: usize,
    same: impl Fn(usize, usize) -> bool,
) -> Option<Vec<usize>> {
    let mut kept = vec![];
    let mut next = 0;
    for at in 0..short {
        let found = (next..long).find(|&l| same(at, l))?;
        kept.push(found);
        next = found + 1;
    }
    Some(kept)
}

/// Returns the merge keys of an item; an absent protocol is TCP.
fn item_keys(item: &Value, keys: &[String]) -> Vec<(String, String)> {
    keys.iter()
        .map(|key| {
            let text = match item.get(key.as_str()) {
                Some(Value::Null) | None if key == "protocol" => "TCP".to_owned(),
                Some(value) => key_text(value),
                None => String::new(),
            };
            (key.clone(), text)
        })
        .collect()
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::Array(_) | Value::Object(_) | Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn amount(value: &Value) -> Option<i128> {
    match value {
        Value::String(text) => nanos(text),
        Value::Number(number) => nanos(&number.to_string()),
        _ => None,
    }
}

/// Tells whether two values read as the same amount in another spelling; plain decimals (versions!) do not count.
fn same_amount(want: &Value, live: &Value) -> bool {
    let suffixed = |v: &Value| {
        v.as_str()
            .is_some_and(|t| t.ends_with(|c: char| c.is_ascii_alphabetic()))
    };
    (suffixed(want) || suffixed(live)) && amount(want).is_some() && amount(want) == amount(live)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn walk(api_version: &str, kind: &str, git: &Value, live: &Value) -> Vec<String> {
        let schema = Schema::of(api_version, kind);
        let built_in = crate::domain::object::schema::is_built_in(api_version);
        let kind = Kind {
            schema: &schema,
            entries: &[],
            built_in,
            secret: kind == "Secret",
        };
        differences(&kind, git, git, live)
            .into_iter()
            .map(|d| format!("{} {}", d.status.word(), d.path))
            .collect()
    }

    #[test]
    fn pairs_ports_by_number_and_protocol() {
        let git = json!({"spec": {"ports": [{"port": 53}, {"port": 53, "protocol": "UDP", "targetPort": 1}]}});
        let live = json!({"spec": {"ports": [{"port": 53, "protocol": "UDP", "targetPort": 2},
            {"port": 53, "protocol": "TCP"}]}});
        assert_eq!(
            walk("v1", "Service", &git, &live),
            [
                "extra spec.ports[port=53,protocol=TCP].protocol",
                "changed spec.ports[port=53,protocol=UDP].targetPort",
                "order-only spec.ports",
            ]
        );
    }

    #[test]
    fn tells_an_inserted_item_from_a_changed_one() {
        let lists =
            |git: Value, live: Value| walk("v1", "X", &json!({"a": git}), &json!({"a": live}));
        assert_eq!(
            lists(json!(["x", "y"]), json!(["x", "n", "y"])),
            ["extra a[1]"]
        );
        assert_eq!(
            lists(json!(["x", "y", "z"]), json!(["x", "z"])),
            ["missing a[1]"]
        );
        assert_eq!(
            lists(json!(["x", "y"]), json!(["y", "x"])),
            ["order-only a"]
        );
        assert_eq!(
            lists(json!(["x", "y"]), json!(["x", "z"])),
            ["changed a[1]"]
        );
    }

    #[test]
    fn a_lost_empty_selector_is_told() {
        let git = json!({"spec": {"egress": [{"to": [{"namespaceSelector": {}, "podSelector": {"matchLabels": {"a": "b"}}}]}]}});
        let live =
            json!({"spec": {"egress": [{"to": [{"podSelector": {"matchLabels": {"a": "b"}}}]}]}});
        assert_eq!(
            walk("networking.k8s.io/v1", "NetworkPolicy", &git, &live),
            ["missing spec.egress[0].to[0].namespaceSelector"]
        );
    }

    #[test]
    fn amounts_compare_by_value_where_the_type_says_so() {
        let limits = |text: &str| json!({"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": text}}}]}});
        assert_eq!(walk("v1", "Pod", &limits("1000m"), &limits("1")), [""; 0]);
        let custom = |text: &str| json!({"spec": {"cpu": text}});
        assert_eq!(
            walk(
                "lab.example.test/v1",
                "Quota",
                &custom("12000m"),
                &custom("12")
            ),
            ["changed-format spec.cpu"]
        );
    }
}
