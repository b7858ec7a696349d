//! Paths of a tree: joined and taken apart as text, never by asking a disk.

/// Joins a folder and a name; either may be empty.
pub(super) fn join(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", name) => name.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, name) => format!("{folder}/{name}"),
    }
}

/// Returns where `path`, written in a file of `folder`, leads; `None` where that is outside the tree.
pub(super) fn resolve(folder: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = vec![];
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns where `path` leads below the root of the tree; `..` at the root stays there.
pub(super) fn clamp(path: &str) -> String {
    let mut parts: Vec<&str> = vec![];
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_and_clamps() {
        for (folder, path, expected) in [
            ("apps/web", "../base/./x//y", Some("apps/base/x/y")),
            ("", "a", Some("a")),
            ("a", "..", Some("")),
            ("a", "../..", None),
            ("a", "/b", None),
        ] {
            assert_eq!(
                resolve(folder, path).as_deref(),
                expected,
                "{folder} {path}"
            );
        }
        assert_eq!(clamp("../../apps//web/"), "apps/web");
        assert_eq!(clamp("./"), "");
    }
}
