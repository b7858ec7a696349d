//! Strategic-merge patches, as kustomize's walker carries them out.
//!
//! The walker goes through the *whole* object, also where the patch says nothing, and its way with lists of two keys
//! loses entries whose second key is missing in places. Those losses are part of what a cluster gets, so they are
//! carried out here step by step, and reported as a warning.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::node::{Node, Scalar, Shape};
use super::schema::{Field, Schema, TypeId};

/// What a field's schema says.
#[derive(Debug, Clone, Copy)]
enum Type<'s> {
    /// Nothing is known.
    Unknown,
    /// An object.
    Object(TypeId),
    /// A known field.
    Field(&'s Field),
}

/// Carries a patch out; `false` where it took the object away. Lists that lost entries are added to `lost`.
pub(super) fn merge(
    root: &mut Node,
    mut patch: Node,
    schema: &Schema,
    lost: &mut Vec<String>,
) -> Result<bool, String> {
    let mut walker = Walker {
        schema,
        lost,
        path: vec![],
    };
    let placeholder = Node::map();
    let dest = std::mem::replace(root, placeholder);
    let walked = walker.walk(Some(dest), Some(&mut patch), Type::Unknown, false)?;
    Ok(match walked {
        Some(node) => {
            *root = node;
            true
        }
        None => false,
    })
}

struct Walker<'s> {
    schema: &'s Schema,
    lost: &'s mut Vec<String>,
    path: Vec<Arc<str>>,
}

/// What a map or a list of the patch says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Directive {
    Merge,
    Replace,
    Delete,
}

fn directive(text: &str) -> Result<Directive, String> {
    match text {
        "merge" => Ok(Directive::Merge),
        "replace" => Ok(Directive::Replace),
        "delete" => Ok(Directive::Delete),
        other => Err(format!("unknown patch strategy '{other}'")),
    }
}

/// Reads and takes out the `$patch` of a map or list.
fn take_directive(patch: &mut Node) -> Result<Directive, String> {
    match &mut patch.shape {
        Shape::Map(_) => {
            let Some(found) = patch.get("$patch").filter(|node| !node.is_null()) else {
                return Ok(Directive::Merge);
            };
            let found = directive(found.value_text())?;
            patch.remove("$patch");
            Ok(found)
        }
        Shape::List(items) => {
            let Some(item) = items.iter().find(|item| item.get("$patch").is_some()) else {
                return Ok(Directive::Merge);
            };
            if item.entries().len() > 1 {
                return Ok(Directive::Merge);
            }
            let text = item
                .get("$patch")
                .map(|node| node.value_text().to_owned())
                .unwrap_or_default();
            let found = directive(&text)?;
            items.retain(|item| {
                !item.is_null()
                    && !matches!(&item.shape, Shape::Map(entries) if entries.is_empty())
                    && item
                        .get("$patch")
                        .is_none_or(|node| node.value_text() != text)
            });
            Ok(found)
        }
        Shape::Scalar(_) => Ok(Directive::Merge),
    }
}

impl<'s> Walker<'s> {
    /// Merges `patch` into `dest`. `same` says that both are one node in kustomize (something new is merged with
    /// itself, which takes its nulls and directives out).
    fn walk(
        &mut self,
        dest: Option<Node>,
        patch: Option<&mut Node>,
        known: Type<'s>,
        same: bool,
    ) -> Result<Option<Node>, String> {
        let present = |node: Option<&Node>| node.is_some_and(|node| !node.is_null());
        let lead = if present(dest.as_ref()) {
            dest.as_ref()
        } else if present(patch.as_deref()) {
            patch.as_deref()
        } else {
            None
        };
        let known = self.learn(known, dest.as_ref(), patch.as_deref());
        let Some(lead) = lead else {
            return Ok(nulls(dest, patch.as_deref()));
        };
        let name = lead.kind_name();
        for other in [dest.as_ref(), patch.as_deref()].into_iter().flatten() {
            if !other.is_null() && other.kind_name() != name {
                return Err(format!(
                    "wrong node kind for {}: expected {name}, found {}",
                    self.path.join("."),
                    other.kind_name()
                ));
            }
        }
        match &lead.shape {
            Shape::Map(_) => self.map(dest, patch, known, same),
            Shape::Scalar(_) => Ok(match patch {
                Some(patch) => Some(over(patch.clone(), dest.as_ref())),
                None => dest,
            }),
            Shape::List(_) => match known {
                Type::Field(Field::Merge { keys, items }) => {
                    self.keyed_list(dest, patch, (keys, *items), same)
                }
                _ => Ok(match patch {
                    Some(patch) => Some(over(patch.clone(), dest.as_ref())),
                    None => dest,
                }),
            },
        }
    }

    /// Looks the schema up where an object names its kind and nothing is known yet.
    fn learn(&self, known: Type<'s>, dest: Option<&Node>, patch: Option<&Node>) -> Type<'s> {
        if !matches!(known, Type::Unknown) {
            return known;
        }
        for node in [dest, patch].into_iter().flatten() {
            let text = |key: &str| node.get(key).map(Node::value_text).unwrap_or_default();
            let (api_version, kind) = (text("apiVersion"), text("kind"));
            if !api_version.is_empty()
                && !kind.is_empty()
                && let Some(id) = self.schema.kind(api_version, kind)
            {
                return Type::Object(id);
            }
        }
        Type::Unknown
    }

    fn field(&self, known: Type<'s>, key: &str) -> Type<'s> {
        match known {
            Type::Object(id) => self
                .schema
                .field(id, key)
                .map_or(Type::Unknown, Type::Field),
            Type::Field(Field::Object(id)) => self
                .schema
                .field(*id, key)
                .map_or(Type::Unknown, Type::Field),
            _ => Type::Unknown,
        }
    }

    fn map(
        &mut self,
        dest: Option<Node>,
        patch: Option<&mut Node>,
        known: Type<'s>,
        same: bool,
    ) -> Result<Option<Node>, String> {
        let missing = dest.as_ref().is_none_or(Node::is_null);
        let (mut dest, mut patch, same) = match (dest, patch) {
            (Some(dest), None) => (dest, None, false),
            (dest, Some(patch)) if missing => {
                // Something new: the patch's own node is taken, and merged with itself.
                if take_directive(patch).unwrap_or(Directive::Merge) == Directive::Delete {
                    return Ok(None);
                }
                (over(patch.clone(), dest.as_ref()), Some(patch), true)
            }
            (Some(mut dest), Some(patch)) => {
                if patch.is_null() {
                    return Ok(None);
                }
                match take_directive(patch)? {
                    Directive::Delete => return Ok(None),
                    Directive::Replace => (over(patch.clone(), Some(&dest)), Some(patch), true),
                    Directive::Merge => {
                        if same {
                            dest.remove("$patch");
                        }
                        (dest, Some(patch), same)
                    }
                }
            }
            (None, _) => return Ok(None),
        };
        let mut keys: BTreeSet<Arc<str>> = dest
            .entries()
            .iter()
            .map(|(key, _)| Arc::clone(key))
            .collect();
        if let Some(patch) = &patch {
            keys.extend(patch.entries().iter().map(|(key, _)| Arc::clone(key)));
        }
        for key in keys {
            let below = self.field(known, &key);
            let theirs = patch.as_mut().and_then(|patch| patch.get_mut(&key));
            // What nothing can change is not taken apart.
            if theirs.is_none()
                && let Some(Node {
                    shape: Shape::Scalar(scalar),
                    ..
                }) = dest.get(&key)
                && scalar.tag != Some(super::node::Tag::Null)
            {
                continue;
            }
            let slot = match &mut dest.shape {
                Shape::Map(entries) => entries.iter().position(|(name, _)| *name == key),
                _ => None,
            };
            let ours = slot.and_then(|at| match &mut dest.shape {
                Shape::Map(entries) => Some(std::mem::replace(
                    &mut entries[at].1,
                    Node::new(Shape::List(vec![])),
                )),
                _ => None,
            });
            let old = match &ours {
                Some(Node {
                    shape: Shape::Scalar(scalar),
                    share,
                    ..
                }) => Some((scalar.style, *share)),
                _ => None,
            };
            let is_theirs = theirs.is_some();
            let was_null = ours.as_ref().is_some_and(Node::is_null) && theirs.is_none();
            self.path.push(Arc::clone(&key));
            let merged = self.walk(ours, theirs, below, same)?;
            self.path.pop();
            let Shape::Map(entries) = &mut dest.shape else {
                continue;
            };
            let merged = merged.filter(|node| !node.is_null() || was_null);
            match (slot, merged) {
                (Some(at), Some(mut node)) => {
                    if let (Some((style, share)), Shape::Scalar(scalar)) = (old, &mut node.shape) {
                        scalar.style = style;
                        node.share = share;
                        if is_theirs {
                            node.note_written();
                        }
                    }
                    entries[at].1 = node;
                }
                (Some(at), None) => {
                    entries.remove(at);
                }
                (None, Some(node)) => entries.push((key, node)),
                (None, None) => {}
            }
        }
        Ok(Some(dest))
    }

    fn keyed_list(
        &mut self,
        dest: Option<Node>,
        patch: Option<&mut Node>,
        (keys, items): (&'s [String], Option<TypeId>),
        same: bool,
    ) -> Result<Option<Node>, String> {
        let missing = dest.as_ref().is_none_or(Node::is_null);
        let (mut dest, patch, same) = match (dest, patch) {
            (Some(dest), None) => (dest, None, same),
            // A new list is the patch's own node, merged with itself, directives and all.
            (dest, Some(patch)) if missing => {
                (over(patch.clone(), dest.as_ref()), Some(patch), true)
            }
            (Some(dest), Some(patch)) => {
                if patch.is_null() {
                    return Ok(None);
                }
                match take_directive(patch)? {
                    Directive::Delete => return Ok(None),
                    Directive::Replace => (over(patch.clone(), Some(&dest)), Some(patch), true),
                    Directive::Merge => (dest, Some(patch), same),
                }
            }
            (None, _) => return Ok(None),
        };
        if same
            && !missing
            && let Some(patch) = &patch
        {
            // A directive that was taken out of the one is taken out of the other.
            dest.shape = patch.shape.clone();
        }
        let Shape::List(ours) = std::mem::replace(&mut dest.shape, Shape::List(vec![])) else {
            return Ok(Some(dest));
        };
        let count = ours.len();
        let mut list = KeyedList {
            ours: ours.into_iter().map(Some).collect(),
            order: vec![],
            rest: vec![],
        };
        list.rest = (0..count).collect();
        let mut theirs = patch;
        let primitive = keys.is_empty();
        let by_value = [String::new()];
        let keys: &[String] = if primitive { &by_value } else { keys };
        let mut values = list.values(theirs.as_deref(), keys, primitive);
        if keys.len() > 1 {
            complete(&mut values);
        }
        let mut valid = (vec![], vec![]);
        for at in 0..values.len() {
            let value = values[at].clone();
            valid = valid_keys(&values, &value, keys);
            self.element(
                &mut list,
                theirs.as_deref_mut(),
                items,
                (&valid.0, &valid.1),
                same,
            )?;
        }
        if values.is_empty() {
            list.order = list.rest.iter().map(|at| Item::Ours(*at)).collect();
        } else {
            list.append_rest(&valid.0)?;
        }
        let result = list.finish();
        if !primitive && keys.len() > 1 && result.len() < count {
            self.lost.push(self.path.join("."));
        }
        dest.shape = Shape::List(result);
        Ok(Some(dest))
    }

    /// Merges the elements that have these values.
    fn element(
        &mut self,
        list: &mut KeyedList,
        theirs: Option<&mut Node>,
        items: Option<TypeId>,
        (keys, values): (&[String], &[String]),
        same: bool,
    ) -> Result<(), String> {
        let known = items.map_or(Type::Unknown, Type::Object);
        let (find_keys, find_values) = valid_keys(&[values.to_vec()], values, keys);
        let at = list.rest.iter().copied().find(|at| {
            list.ours[*at]
                .as_ref()
                .is_some_and(|node| is_match(node, &find_keys, &find_values))
        });
        let their_element = match theirs.map(|node| &mut node.shape) {
            Some(Shape::List(elements)) => elements
                .iter_mut()
                .find(|node| is_match(node, &find_keys, &find_values)),
            _ => None,
        };
        let replaces = their_element.as_ref().is_some_and(|node| {
            node.get("$patch")
                .is_some_and(|node| node.value_text() == "replace")
        });
        let ours = at.and_then(|at| list.ours[at].take());
        let kept = if replaces { ours.clone() } else { None };
        let merged = self.walk(ours, their_element, known, same)?;
        let gone = merged.as_ref().is_none_or(|node| {
            node.is_null() || matches!(&node.shape, Shape::Map(entries) if entries.is_empty())
        });
        if gone {
            if let Some(at) = at {
                list.ours[at] = Some(Node::map());
            }
            list.drop_rest(keys, values)?;
            return Ok(());
        }
        let Some(mut merged) = merged else {
            return Ok(());
        };
        for (key, value) in keys.iter().zip(values) {
            if key.is_empty() {
                if let Shape::Scalar(scalar) = &mut merged.shape {
                    scalar.tag = None;
                }
            } else if merged.get(key).is_none() && !value.is_empty() {
                merged.set(key, Scalar::untyped(value.as_str()), None);
            }
        }
        let item = match (at, kept) {
            // Replaced as a whole: the old element is still in the list and wins when the two are joined.
            (Some(at), Some(kept)) => {
                list.ours[at] = Some(kept);
                Item::New(merged)
            }
            (Some(at), None) => {
                list.ours[at] = Some(merged);
                Item::Ours(at)
            }
            (None, _) => Item::New(merged),
        };
        list.set(Some(item), keys, values)
    }
}

/// An element of the list that is put together.
#[derive(Debug, Clone)]
enum Item {
    /// An element that was there, by its number.
    Ours(usize),
    New(Node),
}

/// A list that merges by keys, while it is put together.
struct KeyedList {
    /// The elements that were there, merged in place.
    ours: Vec<Option<Node>>,
    /// What has been put together.
    order: Vec<Item>,
    /// The elements still in the old list.
    rest: Vec<usize>,
}

impl KeyedList {
    fn node<'l>(&'l self, item: &'l Item) -> Option<&'l Node> {
        match item {
            Item::Ours(at) => self.ours[*at].as_ref(),
            Item::New(node) => Some(node),
        }
    }

    /// Lists the key values of all elements, the patch's first.
    fn values(&self, theirs: Option<&Node>, keys: &[String], primitive: bool) -> Vec<Vec<String>> {
        let mut found: Vec<Vec<String>> = vec![];
        let theirs = theirs.map(Node::items).unwrap_or_default().iter();
        let ours = self.rest.iter().filter_map(|at| self.ours[*at].as_ref());
        let mut seen = std::collections::HashSet::new();
        for element in theirs.chain(ours) {
            let values: Vec<String> = if primitive {
                vec![element.text().map(ToString::to_string).unwrap_or_default()]
            } else {
                keys.iter()
                    .map(|key| match element.get(key) {
                        Some(node) if !node.is_empty() => {
                            node.text().map(ToString::to_string).unwrap_or_default()
                        }
                        _ => String::new(),
                    })
                    .collect()
            };
            if seen.insert(values.clone()) {
                found.push(values);
            }
        }
        found
    }

    /// kustomize's element setter on what has been put together.
    fn set(
        &mut self,
        item: Option<Item>,
        keys: &[String],
        values: &[String],
    ) -> Result<(), String> {
        let mut order = vec![];
        let mut found = false;
        for old in std::mem::take(&mut self.order) {
            let verdict = self
                .node(&old)
                .map_or(Ok(Verdict::Drop), |node| verdict(node, keys, values))?;
            match verdict {
                Verdict::Drop => {}
                Verdict::Keep => order.push(old),
                Verdict::Match => {
                    found = true;
                    order.extend(item.clone());
                }
            }
        }
        if !found {
            order.extend(item);
        }
        self.order = order;
        Ok(())
    }

    /// kustomize's element setter on the old list, without an element: takes the matching ones out.
    fn drop_rest(&mut self, keys: &[String], values: &[String]) -> Result<(), String> {
        let mut rest = vec![];
        for at in std::mem::take(&mut self.rest) {
            let verdict = self.ours[at]
                .as_ref()
                .map_or(Ok(Verdict::Drop), |node| verdict(node, keys, values))?;
            if verdict == Verdict::Keep {
                rest.push(at);
            }
        }
        self.rest = rest;
        Ok(())
    }

    /// Joins what is left of the old list to what has been put together.
    fn append_rest(&mut self, keys: &[String]) -> Result<(), String> {
        for at in std::mem::take(&mut self.rest) {
            let Some(element) = self.ours[at].clone() else {
                continue;
            };
            if keys.first().is_some_and(String::is_empty) {
                let value = element.text().map(ToString::to_string).unwrap_or_default();
                self.set(Some(Item::Ours(at)), &[String::new()], &[value])?;
                continue;
            }
            if !matches!(element.shape, Shape::Map(_)) && !element.is_null() {
                return Err(format!(
                    "expected a map in a list that merges by {}",
                    keys.join(", ")
                ));
            }
            let mut values = vec![];
            for key in keys {
                match element.get(key) {
                    Some(node) => {
                        values.push(node.text().map(ToString::to_string).unwrap_or_default());
                    }
                    None => self.order.push(Item::Ours(at)),
                }
            }
            if keys.len() > 1 {
                self.set(None, keys, &values)?;
            }
            self.set(Some(Item::Ours(at)), keys, &values)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Vec<Node> {
        let mut result = vec![];
        let order = std::mem::take(&mut self.order);
        let mut uses = vec![0_usize; self.ours.len()];
        for item in &order {
            if let Item::Ours(at) = item {
                uses[*at] += 1;
            }
        }
        for item in order {
            match item {
                Item::New(node) => result.push(node),
                Item::Ours(at) => {
                    uses[at] -= 1;
                    let node = if uses[at] == 0 {
                        self.ours[at].take()
                    } else {
                        self.ours[at].clone()
                    };
                    result.extend(node);
                }
            }
        }
        result
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Drop,
    Keep,
    Match,
}

/// What kustomize's element setter does with an element.
fn verdict(node: &Node, keys: &[String], values: &[String]) -> Result<Verdict, String> {
    if node.is_null() || matches!(&node.shape, Shape::Map(entries) if entries.is_empty()) {
        return Ok(Verdict::Drop);
    }
    let is_map = matches!(node.shape, Shape::Map(_));
    let by_fields = keys.first().is_some_and(|key| !key.is_empty())
        && values.first().is_some_and(|value| !value.is_empty());
    if !is_map && by_fields {
        return Ok(Verdict::Keep);
    }
    let mut last = false;
    let mut found = true;
    for (at, key) in keys.iter().enumerate() {
        if let Some(value) = values.get(at) {
            last = if key.is_empty() {
                match &node.shape {
                    Shape::Scalar(scalar) => *scalar.text == **value,
                    _ => return Err("expected a scalar in a list that merges by value".into()),
                }
            } else if is_map {
                node.get(key).is_some_and(|field| {
                    value.is_empty() || field.text().is_some_and(|text| **text == **value)
                })
            } else {
                return Err("expected a map in a list that merges by a key".into());
            };
        }
        if !last {
            found = false;
            break;
        }
    }
    Ok(match (found, values.is_empty()) {
        (true, _) => Verdict::Match,
        (false, false) => Verdict::Keep,
        (false, true) => Verdict::Drop,
    })
}

fn is_match(node: &Node, keys: &[String], values: &[String]) -> bool {
    if keys.first().is_none_or(String::is_empty) {
        return node.text().map_or("", |text| text) == values.first().map_or("", String::as_str);
    }
    matches!(node.shape, Shape::Map(_))
        && keys.iter().zip(values).all(|(key, value)| {
            node.get(key)
                .is_some_and(|field| field.text().map_or("", |text| text) == value)
        })
}

/// Leaves the keys that any element has a value for.
fn valid_keys(
    all: &[Vec<String>],
    values: &[String],
    keys: &[String],
) -> (Vec<String>, Vec<String>) {
    let is_valid = |at: usize| {
        all.iter()
            .any(|values| values.get(at).is_some_and(|value| !value.is_empty()))
    };
    if !(0..keys.len()).any(is_valid) {
        return (keys.to_vec(), values.to_vec());
    }
    let keys_left = (0..keys.len())
        .filter(|at| is_valid(*at))
        .map(|at| keys[at].clone())
        .collect();
    let values_left = (0..values.len())
        .filter(|at| !values[*at].is_empty() || is_valid(*at))
        .map(|at| values[at].clone())
        .collect();
    (keys_left, values_left)
}

/// Fills missing second keys in from elements that share the first.
fn complete(all: &mut [Vec<String>]) {
    for i in 0..all.len() {
        for j in 0..all.len() {
            if let Some(joined) = joined(&all[i], &all[j]) {
                all[i].clone_from(&joined);
                all[j] = joined;
            }
        }
    }
}

fn joined(a: &[String], b: &[String]) -> Option<Vec<String>> {
    let mut common = false;
    let mut result = vec![];
    for (a, b) in a.iter().zip(b) {
        if a == b {
            common = true;
            result.push(a.clone());
        } else if !a.is_empty() && !b.is_empty() {
            return None;
        } else {
            result.push(if a.is_empty() { b.clone() } else { a.clone() });
        }
    }
    (common && a.len() == b.len()).then_some(result)
}

/// What is left of two nodes that are both missing or `null`: a null that is written out stays where the patch is
/// silent.
fn nulls(dest: Option<Node>, patch: Option<&Node>) -> Option<Node> {
    if patch.is_some() {
        return None;
    }
    dest.filter(|node| node.text().is_some_and(|text| !text.is_empty()))
}

/// Puts what was there before into the chain of a new node.
fn over(mut node: Node, before: Option<&Node>) -> Node {
    if let (Some(mark), Some(before)) = (
        &mut node.mark,
        before.and_then(|before| before.mark.as_ref()),
    ) {
        *mark = mark.over(Some(before));
    }
    node
}
