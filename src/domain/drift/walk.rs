//! Two objects side by side, node by node: every place where they differ, at the height a person would name it.
//!
//! Lists are paired as the server pairs them (by keys, as sets, else by index); numbers and quantities compare by
//! value; what the Go types of a built-in kind cannot tell from an absent field counts as absent. Nothing is judged
//! here: no owner, no rule, no engine.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::FieldStatus;
use crate::domain::object::path::key_text;
use crate::domain::object::quantity::nanos;
use crate::domain::object::types::{Holds, KindSchema, ListType, Node};
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
    /// Git sets a field that the kind's schema does not have: a server-side apply of it fails.
    pub(super) undeclared: bool,
    /// Live only, and every item of the list that Git left it open for has the same value: a default, it seems.
    pub(super) like_a_default: bool,
}

/// Maps whose keys are the user's, where no schema says so.
const FREE_MAPS: &[&str] = &[
    "labels",
    "annotations",
    "data",
    "binaryData",
    "nodeSelector",
    "limits",
    "requests",
    "matchLabels",
    "selector",
];

/// Returns every difference of `want` (Git with the server's defaults; `git` without them) and `live`.
pub(super) fn differences(
    schema: &KindSchema,
    git: &Value,
    want: &Value,
    live: &Value,
) -> Vec<Difference> {
    let mut walk = Walk {
        found: vec![],
        twins: BTreeMap::new(),
    };
    let root = At {
        path: FieldPath::default(),
        node: schema.root(),
        atomic: None,
    };
    walk.node(&root, Some(git), Some(want), Some(live));
    walk.found
}

/// Tells whether the server could not tell `value` at `node` from an absent one.
pub(super) fn is_empty(node: &Node<'_>, value: &Value) -> bool {
    match value {
        Value::Null => true,
        _ if !node.is_builtin() => false,
        Value::Bool(set) => !set && node.vanishes_when_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0) && node.vanishes_when_empty(),
        Value::String(text) => text.is_empty() && node.vanishes_when_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => match node.holds() {
            Holds::Map => map.is_empty(),
            Holds::Struct(_) if !node.is_pointer() => map
                .iter()
                .all(|(key, value)| is_empty(&node.field(key), value)),
            _ => false,
        },
    }
}

/// Where the walk is: the path, the schema's place, and the first atomic node above.
#[derive(Clone)]
struct At<'s> {
    path: FieldPath,
    node: Node<'s>,
    atomic: Option<usize>,
}

impl At<'_> {
    fn key(&self, key: &str) -> Self {
        Self {
            path: self.path.key(key),
            node: self.node.field(key),
            atomic: self.atomic,
        }
    }

    fn item(&self, step: PathStep) -> Self {
        Self {
            path: self.path.join(step),
            node: self.node.item(),
            atomic: self.atomic,
        }
    }

    fn is_free_map(&self) -> bool {
        match self.node.holds() {
            Holds::Map => true,
            Holds::Any => {
                matches!(self.path.0.last(), Some(PathStep::Key(key)) if FREE_MAPS.contains(&key.as_str()))
            }
            _ => false,
        }
    }

    /// Tells whether a `null` here is stored as the empty text: a string map of a built-in kind.
    fn in_text_map(&self, map: bool) -> bool {
        map && self.node.is_builtin() && self.node.holds() == Holds::String
    }
}

struct Walk {
    found: Vec<Difference>,
    /// Per atomic list: fields that live has in every item that Git leaves open, all of one value.
    twins: BTreeMap<FieldPath, BTreeSet<String>>,
}

impl Walk {
    fn node(
        &mut self,
        at: &At<'_>,
        git: Option<&Value>,
        want: Option<&Value>,
        live: Option<&Value>,
    ) {
        let mut at = at.clone();
        if at.atomic.is_none() && at.node.atomic() {
            at.atomic = Some(at.path.0.len());
        }
        let at = &at;
        let keeps_null = at.node.keeps_null() && live.is_some_and(Value::is_null);
        let given = |value: &&Value| !value.is_null() || keeps_null;
        let (want, git) = (
            want.filter(given),
            git.filter(|g| want.is_some_and(|w| !w.is_null()) || given(g)),
        );
        let live = live.filter(given);
        match (want, live) {
            (None, None) => {}
            (Some(want), None) => self.missing(at, git, want),
            (None, Some(live)) => self.extra(at, live),
            (Some(Value::Object(w)), Some(Value::Object(l))) => {
                let is_map = at.node.holds() == Holds::Map;
                let keys: BTreeSet<&String> = w.keys().chain(l.keys()).collect();
                for key in keys {
                    let at = at.key(key);
                    let git = git.and_then(|g| g.get(key.as_str()));
                    let (want, live) = (w.get(key.as_str()), l.get(key.as_str()));
                    if want.is_some_and(Value::is_null) && at.in_text_map(is_map) {
                        self.null_text(&at, live);
                    } else {
                        self.node(&at, git, want, live);
                    }
                }
            }
            (Some(Value::Array(w)), Some(Value::Array(l))) => {
                self.list(at, git.and_then(Value::as_array), w, l);
            }
            (Some(want), Some(live)) => self.leaf(at, git, want, live),
        }
    }

    /// Git says `null` where the server stores text: the empty text.
    fn null_text(&mut self, at: &At<'_>, live: Option<&Value>) {
        let status = match live {
            Some(live) if live == "" => return,
            Some(_) => FieldStatus::Changed,
            None => return,
        };
        self.push(at, status, Some(Value::Null), live.cloned(), false);
    }

    fn leaf(&mut self, at: &At<'_>, git: Option<&Value>, want: &Value, live: &Value) {
        if same_leaf(&at.node, want, live) || (is_empty(&at.node, want) && is_empty(&at.node, live))
        {
            return;
        }
        let unknown = at.node.holds() == Holds::Any;
        let status = match git {
            None => FieldStatus::Extra,
            Some(_)
                if unknown
                    && want.is_string() != live.is_string()
                    && scalar_text(want).is_some()
                    && scalar_text(want) == scalar_text(live) =>
            {
                FieldStatus::ChangedType
            }
            Some(_) if !at.node.is_builtin() && same_amount(want, live) => {
                FieldStatus::ChangedFormat
            }
            Some(_) => FieldStatus::Changed,
        };
        self.push(at, status, git.cloned(), Some(live.clone()), git.is_none());
    }

    fn missing(&mut self, at: &At<'_>, git: Option<&Value>, want: &Value) {
        let Some(git) = git else { return };
        if is_empty(&at.node, want) {
            return;
        }
        match want {
            Value::Object(map) if at.is_free_map() && !map.is_empty() => {
                for (key, value) in map {
                    let at = at.key(key);
                    if !value.is_null() {
                        self.missing(&at, git.get(key.as_str()), value);
                    }
                }
            }
            Value::Array(items) if !items.is_empty() => {
                let at = owned_as_one(at);
                for (index, item) in items.iter().enumerate() {
                    let at = at.item(step(&at.node, index, item));
                    self.push(
                        &at,
                        FieldStatus::Missing,
                        git.get(index).cloned(),
                        None,
                        false,
                    );
                }
            }
            _ => self.push(at, FieldStatus::Missing, Some(git.clone()), None, false),
        }
    }

    fn extra(&mut self, at: &At<'_>, live: &Value) {
        if is_empty(&at.node, live) {
            return;
        }
        match live {
            Value::Object(map) if at.is_free_map() && !map.is_empty() => {
                for (key, value) in map {
                    self.extra_leaf(&at.key(key), value);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                let at = owned_as_one(at);
                for (index, item) in items.iter().enumerate() {
                    self.extra_leaf(&at.item(step(&at.node, index, item)), item);
                }
            }
            _ => self.extra_leaf(at, live),
        }
    }

    fn extra_leaf(&mut self, at: &At<'_>, live: &Value) {
        self.push(at, FieldStatus::Extra, None, Some(live.clone()), false);
    }

    fn list(&mut self, at: &At<'_>, git: Option<&Vec<Value>>, want: &[Value], live: &[Value]) {
        let all_maps = || want.iter().chain(live).all(Value::is_object);
        if git.is_none() && is_cut_short(&at.node, want, live) {
            let live = Some(Value::Array(live.to_vec()));
            return self.push(&owned_as_one(at), FieldStatus::Extra, None, live, true);
        }
        match at.node.list() {
            ListType::Map(keys) if all_maps() => self.keyed(at, git, (want, live), keys),
            ListType::Set => self.set(at, git, want, live),
            _ => self.atomic(&owned_as_one(at), git, want, live),
        }
    }

    fn keyed(
        &mut self,
        at: &At<'_>,
        git: Option<&Vec<Value>>,
        (want, live): (&[Value], &[Value]),
        keys: &[String],
    ) {
        let names = Names::new(&at.node, keys, want, live);
        let mut free: Vec<Option<&Value>> = live.iter().map(Some).collect();
        let mut order = vec![];
        for (index, item) in want.iter().enumerate() {
            let key = names.of(item);
            let found = free
                .iter()
                .position(|l| l.is_some_and(|l| names.of(l) == key));
            let at = at.item(PathStep::Item(key));
            let git = git.and_then(|g| g.get(index));
            match found {
                Some(position) => {
                    order.push(position);
                    let partner = free[position].take();
                    self.node(&at, git, Some(item), partner);
                }
                None => {
                    if let Some(git) = git {
                        self.push(&at, FieldStatus::Missing, Some(git.clone()), None, false);
                    }
                }
            }
        }
        for item in free.into_iter().flatten() {
            self.extra_leaf(&at.item(PathStep::Item(names.of(item))), item);
        }
        if git.is_some() && !order.is_sorted() {
            let shown = |items: &[Value], other: &[Value]| {
                let texts: Vec<Value> = items
                    .iter()
                    .filter(|item| other.iter().any(|o| names.of(o) == names.of(item)))
                    .map(|item| {
                        let pairs = names.of(item).into_iter();
                        let pairs: Vec<String> = pairs.map(|(k, v)| format!("{k}={v}")).collect();
                        Value::from(pairs.join(","))
                    })
                    .collect();
                Some(Value::Array(texts))
            };
            let (git, live) = (shown(want, live), shown(live, want));
            self.push(at, FieldStatus::OrderOnly, git, live, false);
        }
    }

    fn set(&mut self, at: &At<'_>, git: Option<&Vec<Value>>, want: &[Value], live: &[Value]) {
        for item in want.iter().filter(|item| !live.contains(item)) {
            if git.is_some() {
                let at = at.item(PathStep::Value(item.to_string()));
                self.push(&at, FieldStatus::Missing, Some(item.clone()), None, false);
            }
        }
        for item in live.iter().filter(|item| !want.contains(item)) {
            self.extra_leaf(&at.item(PathStep::Value(item.to_string())), item);
        }
        let place = |item: &Value| want.iter().position(|w| w == item);
        let shared: Vec<usize> = live.iter().filter_map(place).collect();
        if git.is_some() && !shared.is_sorted() {
            let all = |items: &[Value]| Some(Value::Array(items.to_vec()));
            self.push(at, FieldStatus::OrderOnly, all(want), all(live), false);
        }
    }

    fn atomic(&mut self, at: &At<'_>, git: Option<&Vec<Value>>, want: &[Value], live: &[Value]) {
        let same = |w: usize, l: usize| same(at, &want[w], &live[l]);
        if want.len() == live.len() && want.len() > 1 && git.is_some() {
            let mut free: Vec<usize> = (0..live.len()).collect();
            let mut partner = |w| {
                let found = free.iter().position(|&l| same(w, l))?;
                Some(free.remove(found))
            };
            let paired = (0..want.len()).all(|w| partner(w).is_some());
            if paired && (0..want.len()).any(|at| !same(at, at)) {
                let git = git.map(|g| Value::Array(g.clone()));
                let live = Some(Value::Array(live.to_vec()));
                return self.push(at, FieldStatus::OrderOnly, git, live, false);
            }
        }
        self.find_twins(at, want, live);
        for (w, l) in aligned(want.len(), live.len(), same) {
            let at = at.item(step(
                &at.node,
                w.or(l).unwrap_or(0),
                l.map_or(&Value::Null, |l| &live[l]),
            ));
            let git = w.and_then(|w| git.and_then(|g| g.get(w)));
            match (w.map(|w| &want[w]), l.map(|l| &live[l])) {
                (Some(_), None) => {
                    if let Some(git) = git {
                        self.push(&at, FieldStatus::Missing, Some(git.clone()), None, false);
                    }
                }
                (None, Some(live)) => self.extra_leaf(&at, live),
                (want, live) => self.node(&at, git, want, live),
            }
        }
    }

    /// Finds fields of a list without a schema that look like defaults: every live item that has no counterpart with
    /// the field in Git has one and the same value there, and there are several such items.
    fn find_twins(&mut self, at: &At<'_>, want: &[Value], live: &[Value]) {
        if at.node.is_builtin() || at.node.holds() != Holds::Any {
            return;
        }
        let mut seen: BTreeMap<&String, Vec<&Value>> = BTreeMap::new();
        let mut open = 0;
        for (index, item) in live.iter().enumerate() {
            let Some(map) = item.as_object() else { return };
            let git = want.get(index);
            open += 1;
            for (key, value) in map {
                if git.is_none_or(|git| git.get(key).is_none()) {
                    seen.entry(key).or_default().push(value);
                }
            }
        }
        let twins = seen.into_iter().filter(|(key, values)| {
            let set_by_git = want
                .iter()
                .filter(|item| item.get(key.as_str()).is_some())
                .count();
            values.len() + set_by_git >= open
                && (values.len() > 1 || set_by_git > 0)
                && values.iter().all(|value| value == &values[0])
        });
        let twins = twins.map(|(key, _)| key.clone()).collect();
        self.twins.insert(at.path.clone(), twins);
    }

    fn is_twin(&self, path: &FieldPath) -> bool {
        let [list @ .., PathStep::Index(_), PathStep::Key(key)] = path.0.as_slice() else {
            return false;
        };
        let twins = self.twins.get(&FieldPath(list.to_vec()));
        twins.is_some_and(|twins| twins.contains(key))
    }

    fn push(
        &mut self,
        at: &At<'_>,
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
            undeclared: status == FieldStatus::Missing && at.node.holds() == Holds::Undeclared,
            like_a_default: status == FieldStatus::Extra && self.is_twin(&at.path),
        });
    }
}

/// Names the items of a keyed list by their merge keys; a key that an item leaves out has the schema's default, or,
/// without a schema, the value that its only possible partner has.
pub(super) struct Names<'a> {
    keys: &'a [String],
    defaults: BTreeMap<&'a str, String>,
}

impl<'a> Names<'a> {
    pub(super) fn new(list: &Node<'_>, keys: &'a [String], want: &[Value], live: &[Value]) -> Self {
        let item = list.item();
        let mut defaults = BTreeMap::new();
        for key in keys {
            if let Some(value) = item.field(key).default_key(key) {
                defaults.insert(key.as_str(), key_text(&value));
                continue;
            }
            for open in want.iter().filter(|item| item.get(key.as_str()).is_none()) {
                let fits = |l: &&Value| {
                    keys.iter()
                        .filter_map(|key| open.get(key.as_str()).map(|value| (key, value)))
                        .all(|(key, value)| l.get(key.as_str()) == Some(value))
                };
                let mut partners = live.iter().filter(fits);
                if let (Some(only), None) = (partners.next(), partners.next())
                    && let Some(value) = only.get(key.as_str())
                {
                    defaults.insert(key.as_str(), key_text(value));
                    break;
                }
            }
        }
        Self { keys, defaults }
    }

    pub(super) fn of(&self, item: &Value) -> Vec<(String, String)> {
        self.keys
            .iter()
            .map(|key| {
                let text = match item.get(key.as_str()) {
                    Some(value) if !value.is_null() => key_text(value),
                    _ => self.defaults.get(key.as_str()).cloned().unwrap_or_default(),
                };
                (key.clone(), text)
            })
            .collect()
    }
}

/// Tells whether live lacks items of a list that Git leaves to the server's default: it was replaced by another one.
fn is_cut_short(list: &Node<'_>, default: &[Value], live: &[Value]) -> bool {
    if live.is_empty() {
        return false;
    }
    match list.list() {
        ListType::Map(keys) if default.iter().chain(live).all(Value::is_object) => {
            let names = Names::new(list, keys, default, live);
            let kept: BTreeSet<_> = live.iter().map(|item| names.of(item)).collect();
            default.iter().any(|item| !kept.contains(&names.of(item)))
        }
        ListType::Set => default.iter().any(|item| !live.contains(item)),
        _ => live.len() < default.len(),
    }
}

/// Returns the place with its list as the node that has one owner, where it is a list without keys.
fn owned_as_one<'s>(at: &At<'s>) -> At<'s> {
    let mut at = at.clone();
    if *at.node.list() == ListType::Atomic {
        at.atomic = at.atomic.or(Some(at.path.0.len()));
    }
    at
}

/// Returns the step to an item by the list's type.
fn step(list: &Node<'_>, index: usize, item: &Value) -> PathStep {
    match list.list() {
        ListType::Map(keys) if item.is_object() => {
            PathStep::Item(Names::new(list, keys, &[], &[]).of(item))
        }
        ListType::Set if !item.is_null() => PathStep::Value(item.to_string()),
        _ => PathStep::Index(index),
    }
}

fn same(at: &At<'_>, want: &Value, live: &Value) -> bool {
    let mut walk = Walk {
        found: vec![],
        twins: BTreeMap::new(),
    };
    let at = at.item(PathStep::Index(0));
    walk.node(&at, Some(want), Some(want), Some(live));
    walk.found.is_empty()
}

fn same_leaf(node: &Node<'_>, want: &Value, live: &Value) -> bool {
    match (want, live) {
        _ if want == live => true,
        (Value::Number(w), Value::Number(l)) if w.as_f64() == l.as_f64() => {
            // Whole numbers beyond a double's precision are told apart.
            w.as_i64().zip(l.as_i64()).is_none_or(|(w, l)| w == l)
        }
        _ => match node.holds() {
            Holds::Quantity => amount(want).is_some() && amount(want) == amount(live),
            Holds::Bytes => {
                let plain = |v: &Value| {
                    v.as_str()
                        .map(|t| t.split_ascii_whitespace().collect::<String>())
                };
                plain(want).is_some() && plain(want) == plain(live)
            }
            Holds::Time => {
                let time = |v: &Value| v.as_str().and_then(|t| t.parse::<jiff::Timestamp>().ok());
                time(want).is_some() && time(want) == time(live)
            }
            _ => false,
        },
    }
}

/// Pairs the items of two lists by index; items put in or taken out in the middle are told apart from changed ones
/// where the rest stayed in order.
fn aligned(
    want: usize,
    live: usize,
    same: impl Fn(usize, usize) -> bool,
) -> Vec<(Option<usize>, Option<usize>)> {
    if want < live
        && let Some(kept) = subsequence(want, live, &same)
    {
        return (0..live)
            .map(|l| (kept.iter().position(|&k| k == l), Some(l)))
            .collect();
    }
    if want > live
        && let Some(kept) = subsequence(live, want, |l, w| same(w, l))
    {
        return (0..want)
            .map(|w| (Some(w), kept.iter().position(|&k| k == w)))
            .collect();
    }
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
        differences(&KindSchema::builtin(api_version, kind), git, git, live)
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
    fn a_default_list_that_was_cut_short_is_told() {
        let git = json!({"spec": {"egress": [{}]}});
        let want = json!({"spec": {"egress": [{}], "policyTypes": ["Ingress", "Egress"]}});
        let live = json!({"spec": {"egress": [{}], "policyTypes": ["Ingress"]}});
        let schema = KindSchema::builtin("networking.k8s.io/v1", "NetworkPolicy");
        let found = differences(&schema, &git, &want, &live);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path.to_string(), "spec.policyTypes");
        assert!(found[0].replaced_default && found[0].status == FieldStatus::Extra);
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
