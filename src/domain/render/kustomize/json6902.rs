//! JSON 6902 patches, as the library that kustomize uses carries them out: `replace` adds a missing key, negative
//! indices count from the end, `test` for null holds for a missing key.

use super::node::{Node, Shape};

/// An operation of a patch.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) op: String,
    pub(super) path: String,
    pub(super) from: Option<String>,
    /// The value, marked as the operation's.
    pub(super) value: Option<Node>,
}

/// Reads the operations of a patch; `None` where this is no such patch.
pub(super) fn operations(list: &Node) -> Option<Vec<Operation>> {
    let Shape::List(items) = &list.shape else {
        return None;
    };
    items
        .iter()
        .map(|item| {
            matches!(item.shape, Shape::Map(_)).then(|| {
                let text = |key: &str| item.get(key).map(|node| node.value_text().to_owned());
                Operation {
                    op: text("op").unwrap_or_default(),
                    path: text("path").unwrap_or_default(),
                    from: text("from"),
                    value: item.get("value").cloned(),
                }
            })
        })
        .collect()
}

/// Carries one operation out.
pub(super) fn apply(root: &mut Node, operation: &Operation) -> Result<(), String> {
    let path = &operation.path;
    let value = || operation.value.clone().unwrap_or_else(null);
    match operation.op.as_str() {
        "add" => add(root, path, value()),
        "remove" => remove(root, path).map(drop),
        "replace" => replace(root, path, value()),
        "test" => test(root, path, operation.value.as_ref()),
        "copy" => {
            let from = operation
                .from
                .as_deref()
                .ok_or("copy operation without `from`")?;
            let copied = get(root, from)?
                .cloned()
                .ok_or_else(|| missing("copy", from))?;
            add(root, path, copied)
        }
        "move" => {
            let from = operation
                .from
                .as_deref()
                .ok_or("move operation without `from`")?;
            let moved = remove(root, from)?;
            add(root, path, moved)
        }
        other => Err(format!("Unexpected kind: {other}")),
    }
}

fn null() -> Node {
    Node::new(Shape::Scalar(super::node::Scalar::of_json(
        &serde_json::Value::Null,
    )))
}

fn missing(op: &str, path: &str) -> String {
    format!("{op} operation does not apply: doc is missing path: {path}: missing value")
}

fn steps(path: &str) -> Option<Vec<String>> {
    let rest = path.strip_prefix('/')?;
    Some(
        rest.split('/')
            .map(|part| part.replace("~1", "/").replace("~0", "~"))
            .collect(),
    )
}

/// Reads an index; negative ones count from the end.
fn index(text: &str, len: usize) -> Option<usize> {
    let number: i64 = text.parse().ok()?;
    let len = i64::try_from(len).ok()?;
    let at = if number < 0 { number + len } else { number };
    usize::try_from(at).ok()
}

fn child<'n>(node: &'n Node, step: &str) -> Option<&'n Node> {
    match &node.shape {
        Shape::Map(_) => node.get(step),
        Shape::List(items) => items.get(index(step, items.len())?),
        Shape::Scalar(_) => None,
    }
}

fn child_mut<'n>(node: &'n mut Node, step: &str) -> Option<&'n mut Node> {
    match &mut node.shape {
        Shape::List(items) => {
            let at = index(step, items.len())?;
            items.get_mut(at)
        }
        Shape::Map(entries) => entries
            .iter_mut()
            .find(|(key, _)| **key == *step)
            .map(|(_, node)| node),
        Shape::Scalar(_) => None,
    }
}

fn get<'n>(root: &'n Node, path: &str) -> Result<Option<&'n Node>, String> {
    if path.is_empty() {
        return Ok(Some(root));
    }
    let steps = steps(path).ok_or_else(|| missing("get", path))?;
    Ok(steps.iter().try_fold(root, |node, step| child(node, step)))
}

/// Finds the collection that holds the last step of a path.
fn parent<'n>(root: &'n mut Node, path: &str, op: &str) -> Result<(&'n mut Node, String), String> {
    let mut steps = steps(path).ok_or_else(|| missing(op, path))?;
    let last = steps.pop().unwrap_or_default();
    let mut node = root;
    for step in &steps {
        node = child_mut(node, step).ok_or_else(|| missing(op, path))?;
    }
    if matches!(node.shape, Shape::Scalar(_)) {
        return Err(missing(op, path));
    }
    Ok((node, last))
}

fn over(mut value: Node, old: Option<&Node>) -> Node {
    if let (Some(mark), Some(old)) = (&mut value.mark, old.and_then(|old| old.mark.as_ref())) {
        *mark = mark.over(Some(old));
    }
    value
}

fn add(root: &mut Node, path: &str, value: Node) -> Result<(), String> {
    if path.is_empty() {
        *root = value;
        return Ok(());
    }
    let (node, last) = parent(root, path, "add")?;
    let Shape::List(items) = &mut node.shape else {
        let value = over(value, node.get(&last));
        node.put(&last, value);
        return Ok(());
    };
    if last == "-" {
        items.push(value);
        return Ok(());
    }
    let number: i64 = last
        .parse()
        .map_err(|_| format!("value was not a proper array index: '{last}'"))?;
    let len = i64::try_from(items.len()).unwrap_or(i64::MAX);
    // The list is one longer while it counts from the end.
    let at = if number < 0 { number + len + 1 } else { number };
    match usize::try_from(at) {
        Ok(at) if at <= items.len() => items.insert(at, value),
        _ => {
            return Err(format!(
                "Unable to access invalid index: {last}: invalid index referenced"
            ));
        }
    }
    Ok(())
}

fn remove(root: &mut Node, path: &str) -> Result<Node, String> {
    let (node, last) = parent(root, path, "remove")?;
    match &mut node.shape {
        Shape::List(items) => match index(&last, items.len()) {
            Some(at) if at < items.len() => Ok(items.remove(at)),
            _ => Err(format!(
                "Unable to access invalid index: {last}: invalid index referenced"
            )),
        },
        _ => node.remove(&last).ok_or_else(|| {
            format!("remove operation does not apply: doc is missing key: {path}: missing value")
        }),
    }
}

fn replace(root: &mut Node, path: &str, value: Node) -> Result<(), String> {
    if path.is_empty() {
        *root = value;
        return Ok(());
    }
    let (node, last) = parent(root, path, "replace")?;
    let Shape::List(items) = &mut node.shape else {
        let value = over(value, node.get(&last));
        node.put(&last, value);
        return Ok(());
    };
    let item = index(&last, items.len()).and_then(|at| items.get_mut(at));
    let item = item.ok_or_else(|| {
        format!("replace operation does not apply: doc is missing key: {path}: missing value")
    })?;
    *item = over(value, Some(item));
    Ok(())
}

fn test(root: &Node, path: &str, value: Option<&Node>) -> Result<(), String> {
    let wanted = value.map_or(Ok(serde_json::Value::Null), Node::to_json)?;
    let found = get(root, path)?.map_or(Ok(serde_json::Value::Null), Node::to_json)?;
    if wanted == found {
        Ok(())
    } else {
        Err(format!("testing value {path} failed: test failed"))
    }
}
