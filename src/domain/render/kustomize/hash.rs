//! The suffix of generated names: a hash over the content, as kustomize computes it.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::node::{Node, Shape};
use super::resource::Resource;

/// Returns the suffix of an object.
pub(super) fn suffix(resource: &Resource) -> Result<String, String> {
    let part = |key: &str| -> Result<Value, String> {
        Ok(match resource.root.get(key) {
            None => json!(""),
            Some(node) => match &node.shape {
                Shape::Scalar(scalar) => json!(&*scalar.text),
                Shape::Map(_) => node.to_json()?,
                // A list has no place in kustomize's map, and leaves an empty one.
                Shape::List(_) => Value::Null,
            },
        })
    };
    let mut content = Map::new();
    // kustomize looks the name up by a way that leads nowhere.
    content.insert("name".into(), json!(""));
    content.insert("data".into(), part("data")?);
    let is_secret = &*resource.kind() == "Secret";
    let (kind, other) = if is_secret {
        ("Secret", "stringData")
    } else {
        ("ConfigMap", "binaryData")
    };
    content.insert("kind".into(), json!(kind));
    if is_secret {
        content.insert("type".into(), part("type")?);
    }
    if resource
        .root
        .get(other)
        .is_some_and(|node: &Node| matches!(node.shape, Shape::Map(_)))
    {
        content.insert(other.into(), part(other)?);
    }
    Ok(encode(&go_json(&Value::Object(content))))
}

/// Writes JSON as Go does: the characters of HTML and two line breaks escaped.
pub(super) fn go_json(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

fn encode(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let digits = digest
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .take(10);
    digits
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .map(|digit| match digit {
            '0' => 'g',
            '1' => 'h',
            '3' => 'k',
            'a' => 'm',
            'e' => 't',
            other => other,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::render::kustomize::Place;

    #[test]
    fn hashes_as_kustomize_does() {
        for (object, expected) in [
            (json!({"kind": "ConfigMap"}), "6ct58987ht"),
            (
                json!({"kind": "ConfigMap", "data": {"a": "b"}}),
                "4h2mbtbbt6",
            ),
            (
                json!({"kind": "ConfigMap", "data": {"a": "<b>&'c'"}}),
                "fdft9745d8",
            ),
            (
                json!({"kind": "ConfigMap", "data": {"a": "1", "b": "true", "c": "q", "d": "x=y",
                    "k": "hello\nworld\n"}, "binaryData": {"bin": "//4A"}}),
                "78k299t9bh",
            ),
            (
                json!({"kind": "Secret", "type": "Opaque", "data": {"a": "Yg=="}}),
                "k695gkmbtk",
            ),
        ] {
            let resource = Resource::new(Node::of_json(&object, &Place::file("a.yaml")));
            assert_eq!(suffix(&resource).unwrap(), expected, "{object}");
        }
    }
}
