//! The proof: what moved between two renderings, field by field.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::domain::object::path::key_text;
use crate::domain::object::{Desired, FieldPath, ObjectId, PathStep};
use crate::domain::render::Rendered;
use crate::domain::yaml::RouteStep;

use super::Wish;

/// A field that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) object: ObjectId,
    pub(super) path: FieldPath,
}

/// Two renderings of one app, their objects paired.
pub(super) struct Pairs<'r> {
    both: Vec<(&'r Desired, &'r Desired)>,
    gone: Vec<&'r Desired>,
    come: Vec<&'r Desired>,
    /// Old and new names of objects whose name carries a hash of their content.
    renamed: BTreeMap<String, String>,
    problems_grew: bool,
}

impl<'r> Pairs<'r> {
    pub(super) fn new(before: &'r Rendered, after: &'r Rendered) -> Self {
        let mut rest: Vec<&Desired> = after.objects.iter().collect();
        let (mut pairs, mut gone) = (vec![], vec![]);
        for old in &before.objects {
            match rest.iter().position(|new| new.id == old.id) {
                Some(at) => pairs.push((old, rest.remove(at))),
                None => gone.push(old),
            }
        }
        let mut renamed = BTreeMap::new();
        gone.retain(|old| {
            let Some(at) = rest.iter().position(|new| is_rehashed(&old.id, &new.id)) else {
                return true;
            };
            let new = rest.remove(at);
            renamed.insert(old.id.name.clone(), new.id.name.clone());
            pairs.push((*old, new));
            false
        });
        let known: BTreeSet<String> = before.problems.iter().map(ToString::to_string).collect();
        let problems_grew = after
            .problems
            .iter()
            .any(|fault| !known.contains(&fault.to_string()));
        Self {
            both: pairs,
            gone,
            come: rest,
            renamed,
            problems_grew,
        }
    }

    /// Returns the old and new names of objects that are named by their content.
    pub(super) fn renamed(&self) -> &BTreeMap<String, String> {
        &self.renamed
    }

    /// Returns the object afterwards, by its identity before.
    pub(super) fn after(&self, id: &ObjectId) -> Option<&'r Desired> {
        self.both
            .iter()
            .find(|(old, _)| old.id.same_object(id))
            .map(|(_, new)| *new)
    }

    /// Tells whether a wish holds afterwards.
    pub(super) fn holds(&self, wish: &Wish) -> bool {
        self.after(&wish.object)
            .is_some_and(|new| wish.path.get(&new.value) == wish.to.as_ref())
    }

    /// Returns every field that moved without being wished for. Names that follow a content hash do not count.
    pub(super) fn moves(&self, wishes: &[Wish]) -> Vec<Move> {
        let mut moves = vec![];
        for object in self.gone.iter().chain(&self.come) {
            moves.push(Move {
                object: object.id.clone(),
                path: FieldPath::default(),
            });
        }
        for (old, new) in &self.both {
            let mut paths = vec![];
            self.compare(
                Some(&old.value),
                Some(&new.value),
                &FieldPath::default(),
                &mut paths,
            );
            let wished: Vec<&Wish> = wishes
                .iter()
                .filter(|wish| wish.object.same_object(&old.id))
                .filter(|wish| wish.path.get(&new.value) == wish.to.as_ref())
                .collect();
            paths.retain(|path| !wished.iter().any(|wish| answers(wish, path, &new.value)));
            moves.extend(paths.into_iter().map(|path| Move {
                object: old.id.clone(),
                path,
            }));
        }
        moves
    }

    /// Tells whether the second rendering has problems that the first one had not.
    pub(super) fn problems_grew(&self) -> bool {
        self.problems_grew
    }

    /// Lists the leaves (scalars, empty collections) that came, went or changed.
    fn compare(
        &self,
        old: Option<&Value>,
        new: Option<&Value>,
        at: &FieldPath,
        found: &mut Vec<FieldPath>,
    ) {
        match (old, new) {
            (Some(Value::Object(_)) | None, Some(Value::Object(_)) | None)
                if entries(old).len() + entries(new).len() > 0 =>
            {
                let (before, after) = (entries(old), entries(new));
                let keys: BTreeSet<&String> = before.keys().chain(after.keys()).copied().collect();
                for key in keys {
                    let (old, new) = (before.get(key).copied(), after.get(key).copied());
                    self.compare(old, new, &at.key(key.as_str()), found);
                }
                // What became empty, or was.
                if old.is_some() && new.is_some() && before.is_empty() != after.is_empty() {
                    found.push(at.clone());
                }
            }
            (Some(Value::Array(_)) | None, Some(Value::Array(_)) | None)
                if items(old).len() + items(new).len() > 0 =>
            {
                self.compare_lists(items(old), items(new), at, found);
            }
            (Some(Value::String(old)), Some(Value::String(new)))
                if self.renamed.get(old) == Some(new) => {}
            (old, new) if old == new => {}
            _ => found.push(at.clone()),
        }
    }

    fn compare_lists(
        &self,
        before: &[Value],
        after: &[Value],
        at: &FieldPath,
        found: &mut Vec<FieldPath>,
    ) {
        if let (Some(old), Some(new)) = (by_name(before), by_name(after)) {
            let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for name in names {
                let path = at.join(PathStep::Item(vec![("name".to_owned(), name.clone())]));
                self.compare(old.get(name).copied(), new.get(name).copied(), &path, found);
            }
            return;
        }
        for index in 0..before.len().max(after.len()) {
            let path = at.join(PathStep::Index(index));
            self.compare(before.get(index), after.get(index), &path, found);
        }
    }
}

fn entries(value: Option<&Value>) -> BTreeMap<&String, &Value> {
    value
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .collect()
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Tells whether a moved leaf is what a wish (which holds afterwards) asked for: it lies in the wished field, is the key
/// of a list item that was made on the way there, or is a parent that became empty.
fn answers(wish: &Wish, moved: &FieldPath, new: &Value) -> bool {
    let (Some(wished), Some(route)) = (
        wish.path
            .route_in(new)
            .or_else(|| parents(&wish.path).find_map(|path| path.route_in(new))),
        moved
            .route_in(new)
            .or_else(|| parents(moved).find_map(|path| path.route_in(new))),
    ) else {
        return wish.path.contains(moved);
    };
    if wish.path.contains(moved) || (wish.to.is_some() && route.0.starts_with(&wished.0)) {
        return true;
    }
    if let Some((RouteStep::Key(key), item)) = route.0.split_last()
        && wished.0.starts_with(item)
        && is_item_key(&wish.path, key, item.len())
    {
        return true;
    }
    wish.to.is_none() && wished.0.starts_with(&route.0)
}

/// Tells whether `key` tells apart the list item at depth `depth` of a path.
fn is_item_key(path: &FieldPath, key: &str, depth: usize) -> bool {
    let step = depth.checked_sub(1).and_then(|at| path.0.get(at));
    matches!(step, Some(PathStep::Item(keys)) if keys.iter().any(|(name, _)| name == key))
}

/// Returns the paths above a path, nearest first.
fn parents(path: &FieldPath) -> impl Iterator<Item = FieldPath> {
    (0..path.0.len())
        .rev()
        .map(|len| FieldPath(path.0[..len].to_vec()))
}

/// Returns the items by their names, where all have distinct ones.
fn by_name(items: &[Value]) -> Option<BTreeMap<String, &Value>> {
    let mut named = BTreeMap::new();
    for item in items {
        let name = item.get("name").filter(|name| name.is_string())?;
        if named.insert(key_text(name), item).is_some() {
            return None;
        }
    }
    Some(named)
}

/// Tells whether two identities differ only by the ten characters of a content hash.
fn is_rehashed(old: &ObjectId, new: &ObjectId) -> bool {
    let stem = |name: &str| {
        let (stem, hash) = name.rsplit_once('-')?;
        let is_hash = hash.len() == 10
            && hash
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        is_hash.then(|| stem.to_owned())
    };
    old.api_version == new.api_version
        && old.kind == new.kind
        && old.namespace == new.namespace
        && matches!(old.kind.as_str(), "ConfigMap" | "Secret")
        && stem(&old.name).is_some()
        && stem(&old.name) == stem(&new.name)
}
