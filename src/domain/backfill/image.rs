//! Image references, and the `images` entries that rewrite them.

use serde_json::Value;

use crate::domain::yaml::edit::Edit;
use crate::domain::yaml::{Route, RouteStep};

/// A reference taken apart: `registry/name:tag@digest`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image<'t> {
    pub(super) name: &'t str,
    pub(super) tag: Option<&'t str>,
    pub(super) digest: Option<&'t str>,
}

impl<'t> Image<'t> {
    pub(super) fn read(text: &'t str) -> Self {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        let slash = rest.rfind('/').map_or(0, |at| at + 1);
        let (name, tag) = match rest[slash..].find(':') {
            Some(colon) => (&rest[..slash + colon], Some(&rest[slash + colon + 1..])),
            None => (rest, None),
        };
        Self { name, tag, digest }
    }
}

/// Returns the edits of an `images` entry (at `route`, with its present `entry`) that make it give `live`.
pub(super) fn edits(entry: &Value, route: &Route, live: &str) -> Vec<Edit> {
    let image = Image::read(live);
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let mut edits = vec![];
    let present = text("newName").or_else(|| text("name")).unwrap_or_default();
    if present != image.name {
        edits.push(put(entry, route, "newName", image.name));
    }
    for (key, wanted) in [("newTag", image.tag), ("digest", image.digest)] {
        match wanted {
            Some(wanted) if text(key) != Some(wanted) => edits.push(put(entry, route, key, wanted)),
            None if entry.get(key).is_some() => edits.push(Edit::Remove {
                route: route.key(key),
            }),
            _ => {}
        }
    }
    edits
}

fn put(entry: &Value, route: &Route, key: &str, value: &str) -> Edit {
    let value = Value::from(value);
    if entry.get(key).is_some() {
        Edit::Set {
            route: route.key(key),
            value,
        }
    } else {
        Edit::Insert {
            parent: route.clone(),
            at: RouteStep::Key(key.to_owned()),
            value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn takes_references_apart() {
        for (text, name, tag, digest) in [
            ("web", "web", None, None),
            ("r.test:5000/a/web", "r.test:5000/a/web", None, None),
            ("r.test:5000/web:1.2", "r.test:5000/web", Some("1.2"), None),
            ("web@sha256:ab", "web", None, Some("sha256:ab")),
            ("r/web:1@sha256:ab", "r/web", Some("1"), Some("sha256:ab")),
        ] {
            assert_eq!(Image::read(text), Image { name, tag, digest }, "{text}");
        }
    }

    #[test]
    fn keeps_the_entry_s_style_where_it_can() {
        let at = Route::root().key("images").index(0);
        let keys = |entry: Value, live: &str| -> Vec<String> {
            let edits = edits(&entry, &at, live);
            edits
                .iter()
                .map(|edit| match edit {
                    Edit::Set { route, value } => format!("{route}={value}"),
                    Edit::Insert {
                        at: RouteStep::Key(key),
                        value,
                        ..
                    } => format!("+{key}={value}"),
                    Edit::Remove { route } => format!("-{route}"),
                    other => format!("{other:?}"),
                })
                .collect()
        };
        assert_eq!(
            keys(json!({"name": "web", "newTag": "1"}), "web:2"),
            ["images[0].newTag=\"2\""]
        );
        assert_eq!(
            keys(
                json!({"name": "web", "newTag": "1"}),
                "mirror/web@sha256:ab"
            ),
            [
                "+newName=\"mirror/web\"",
                "-images[0].newTag",
                "+digest=\"sha256:ab\""
            ]
        );
        assert_eq!(
            keys(
                json!({"name": "web", "newName": "m/web", "digest": "sha256:a"}),
                "web:2"
            ),
            [
                "images[0].newName=\"web\"",
                "+newTag=\"2\"",
                "-images[0].digest"
            ]
        );
    }
}
