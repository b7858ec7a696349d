//! Values by their shapes: which fields they hold, how two versions differ, how an applied configuration is laid over
//! live, and how fields are taken out again.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::fields::Fields;
use super::kinds::Kind;
use super::shape::{Shape, item_step, shape};

/// How two versions of an object differ.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Comparison {
    pub(super) added: Fields,
    pub(super) modified: Fields,
    pub(super) removed: Fields,
}

impl Comparison {
    /// Returns what the new version has or says otherwise.
    pub(super) fn written(&self) -> Fields {
        let mut written = self.added.clone();
        written.join(&self.modified);
        written
    }

    /// Tells whether both versions hold the same.
    pub(super) fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }
}

fn child(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

fn step(key: &str) -> String {
    format!("f:{key}")
}

/// Returns the fields that an applied configuration claims.
pub(super) fn fields_of(kind: &Kind, path: &str, value: &Value) -> Fields {
    let form = match value {
        Value::Object(_) | Value::Array(_) => shape(kind, path, value),
        _ => Shape::Atomic,
    };
    let mut set = Fields::default();
    match (value, form) {
        (Value::Object(map), Shape::Granular) => {
            // An empty struct is claimed as such; the object itself never is.
            if map.is_empty() && !path.is_empty() {
                set.own();
            }
            for (key, below) in map {
                set.put(step(key), fields_of(kind, &child(path, key), below));
            }
        }
        (Value::Array(items), Shape::Keyed(_) | Shape::Set) => {
            for item in items {
                let mut below = fields_of(kind, &format!("{path}[]"), item);
                below.own();
                set.put(item_step(form, item), below);
            }
        }
        _ => set.own(),
    }
    set
}

/// Compares two versions of an object.
pub(super) fn compare(kind: &Kind, old: &Value, new: &Value) -> Comparison {
    let mut out = Comparison::default();
    compare_at(kind, "", Some(old), Some(new), &mut out);
    out
}

fn compare_at(
    kind: &Kind,
    path: &str,
    old: Option<&Value>,
    new: Option<&Value>,
    out: &mut Comparison,
) {
    if old == new {
        return;
    }
    let Some(sample) = new.or(old) else { return };
    let form = match sample {
        Value::Object(_) | Value::Array(_) => shape(kind, path, sample),
        _ => Shape::Atomic,
    };
    match form {
        Shape::Granular => compare_maps(kind, path, old, new, out),
        Shape::Keyed(_) | Shape::Set => compare_lists(kind, path, (old, new), form, out),
        Shape::Atomic if old.is_some() && new.is_some() => out.modified.own(),
        Shape::Atomic => {}
    }
    match (old, new) {
        (None, _) => out.added.own(),
        (_, None) => out.removed.own(),
        _ => {}
    }
}

fn compare_maps(
    kind: &Kind,
    path: &str,
    old: Option<&Value>,
    new: Option<&Value>,
    out: &mut Comparison,
) {
    let empty = Map::new();
    let before = old.and_then(Value::as_object).unwrap_or(&empty);
    let after = new.and_then(Value::as_object).unwrap_or(&empty);
    let fresh = after.keys().filter(|key| !before.contains_key(*key));
    for key in before.keys().chain(fresh) {
        let mut below = Comparison::default();
        compare_at(
            kind,
            &child(path, key),
            before.get(key),
            after.get(key),
            &mut below,
        );
        out.put(step(key), below);
    }
}

fn compare_lists(
    kind: &Kind,
    path: &str,
    (old, new): (Option<&Value>, Option<&Value>),
    form: Shape,
    out: &mut Comparison,
) {
    let items = |value: Option<&Value>| -> Vec<(String, Value)> {
        value
            .and_then(Value::as_array)
            .map(|items| {
                items
                    .iter()
                    .map(|i| (item_step(form, i), i.clone()))
                    .collect()
            })
            .unwrap_or_default()
    };
    let (before, after) = (items(old), items(new));
    let find = |list: &[(String, Value)], step: &str| {
        list.iter()
            .find(|(s, _)| s == step)
            .map(|(_, item)| item.clone())
    };
    let mut seen = HashSet::new();
    for (step, _) in before.iter().chain(&after) {
        if seen.insert(step.clone()) {
            let mut below = Comparison::default();
            let (was, is) = (find(&before, step), find(&after, step));
            compare_at(
                kind,
                &format!("{path}[]"),
                was.as_ref(),
                is.as_ref(),
                &mut below,
            );
            out.put(step.clone(), below);
        }
    }
}

impl Comparison {
    fn put(&mut self, step: String, below: Self) {
        self.added.put(step.clone(), below.added);
        self.modified.put(step.clone(), below.modified);
        self.removed.put(step, below.removed);
    }
}

/// Lays an applied configuration over live.
pub(super) fn merge(kind: &Kind, path: &str, live: &Value, applied: &Value) -> Value {
    match (live, applied) {
        (Value::Object(below), Value::Object(above))
            if shape(kind, path, applied) == Shape::Granular =>
        {
            let mut out = below.clone();
            for (key, value) in above {
                let merged = match below.get(key) {
                    Some(there) => merge(kind, &child(path, key), there, value),
                    None => value.clone(),
                };
                out.insert(key.clone(), merged);
            }
            Value::Object(out)
        }
        (Value::Array(below), Value::Array(above)) => match shape(kind, path, applied) {
            form @ (Shape::Keyed(_) | Shape::Set) => {
                Value::Array(merge_lists(kind, &format!("{path}[]"), form, below, above))
            }
            _ => applied.clone(),
        },
        _ => applied.clone(),
    }
}

/// Merges lists item by item. The applied items keep their order; live-only items stay where they stand between them.
fn merge_lists(
    kind: &Kind,
    path: &str,
    form: Shape,
    live: &[Value],
    applied: &[Value],
) -> Vec<Value> {
    let live: Vec<(String, &Value)> = live.iter().map(|i| (item_step(form, i), i)).collect();
    let applied: Vec<(String, &Value)> = applied.iter().map(|i| (item_step(form, i), i)).collect();
    let there: HashMap<&str, &Value> = live.iter().rev().map(|(s, i)| (s.as_str(), *i)).collect();
    let wanted: HashSet<&str> = applied.iter().map(|(s, _)| s.as_str()).collect();
    let mut shared = applied
        .iter()
        .map(|(s, _)| s.as_str())
        .filter(|s| there.contains_key(s));
    let mut next = shared.next();
    let mut done: HashSet<&str> = HashSet::new();
    let mut out = vec![];
    let (mut l, mut a) = (0, 0);
    while l < live.len() || a < applied.len() {
        if let Some((step, item)) = live.get(l) {
            let step = step.as_str();
            let mine = !wanted.contains(step);
            let out_of_turn = !mine && next.is_some_and(|n| n != step) && a < applied.len();
            let same = applied.get(a).is_some_and(|(s, _)| s == step);
            if mine || done.contains(step) || (out_of_turn && !same) {
                if mine {
                    out.push(Value::clone(item));
                }
                l += 1;
                continue;
            }
            if same {
                l += 1;
            }
        }
        let Some((step, item)) = applied.get(a) else {
            l += 1;
            continue;
        };
        let merged = there
            .get(step.as_str())
            .map_or_else(|| Value::clone(item), |live| merge(kind, path, live, item));
        out.push(merged);
        done.insert(step);
        if next == Some(step.as_str()) {
            next = shared.next();
        }
        a += 1;
    }
    out
}

/// Takes out of `value` what `gone` holds and `kept` does not; a struct counts as kept while something below it is.
pub(super) fn prune(kind: &Kind, path: &str, value: &mut Value, gone: &Fields, kept: &Fields) {
    match value {
        Value::Object(map) => {
            if shape(kind, path, &Value::Object(Map::new())) != Shape::Granular {
                return;
            }
            map.retain(|key, below| {
                let step = step(key);
                let Some(gone) = gone.at(&step) else {
                    return true;
                };
                let nothing = Fields::default();
                let kept = match kept.at(&step) {
                    Some(kept) => kept,
                    None if path.is_empty() && key == "metadata" => &nothing,
                    None => return false,
                };
                let was = has_content(below);
                prune(kind, &child(path, key), below, gone, kept);
                !was || has_content(below) || path.is_empty()
            });
        }
        Value::Array(items) => {
            let form = shape(kind, path, &Value::Array(vec![]));
            if !matches!(form, Shape::Keyed(_) | Shape::Set) {
                return;
            }
            items.retain_mut(|item| {
                let step = item_step(form, item);
                let Some(gone) = gone.at(&step) else {
                    return true;
                };
                match kept.at(&step) {
                    Some(kept) if kept.is_member() || !gone.is_member() => {
                        prune(kind, &format!("{path}[]"), item, gone, kept);
                        true
                    }
                    None if !gone.is_member() => {
                        prune(kind, &format!("{path}[]"), item, gone, &Fields::default());
                        true
                    }
                    _ => false,
                }
            });
        }
        _ => {}
    }
}

fn has_content(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deployment() -> &'static Kind {
        Kind::of("apps/v1", "Deployment").unwrap()
    }

    fn containers(names: &str) -> Value {
        let items: Vec<Value> = names.split(' ').map(|n| json!({"name": n})).collect();
        json!({"spec": {"template": {"spec": {"containers": items}}}})
    }

    /// The orders are those that a real server answered.
    #[test]
    fn keeps_the_applied_order_and_live_only_items_between() {
        for (live, applied, expected) in [
            ("A B C K", "C A B", "C K A B"),
            ("FIRST C K A B", "A B C", "FIRST K A B C"),
            ("FIRST K A B C", "A B C D", "FIRST K A B C D"),
            ("A B", "A B", "A B"),
            ("K", "A", "K A"),
        ] {
            let merged = merge(deployment(), "", &containers(live), &containers(applied));
            assert_eq!(merged, containers(expected), "{live} + {applied}");
        }
    }

    #[test]
    fn compares_items_by_key_and_atomic_values_whole() {
        let old = json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "1"},
            "containers": [{"name": "app", "image": "a:1", "args": ["x"]}]}}}});
        let mut new = old.clone();
        new["spec"]["template"]["spec"]["nodeSelector"]["b"] = "2".into();
        new["spec"]["template"]["spec"]["containers"][0]["image"] = "a:2".into();
        new["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80}]);
        let c = compare(deployment(), &old, &new);
        assert_eq!(
            c.modified.paths(),
            [
                r#".spec.template.spec.containers[name="app"].image"#,
                ".spec.template.spec.nodeSelector"
            ]
        );
        assert_eq!(
            c.added.paths(),
            [
                r#".spec.template.spec.containers[name="app"].ports"#,
                r#".spec.template.spec.containers[name="app"].ports[containerPort=80,protocol="TCP"]"#,
                r#".spec.template.spec.containers[name="app"].ports[containerPort=80,protocol="TCP"].containerPort"#,
            ]
        );
        assert!(c.removed.is_empty());
    }
}
