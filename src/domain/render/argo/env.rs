//! The build environment: `$ARGOCD_APP_NAME` and its kin, and how texts name them.

use serde_json::Value;

use super::source::Source;

/// The variables of one build.
pub(super) struct Environment(Vec<(&'static str, String)>);

impl Environment {
    /// Collects the variables of `app` for one of its sources; `instance` is the name under which it tracks objects.
    pub(super) fn of(app: &Value, source: &Source, instance: &str) -> Self {
        let text = |pointer: &str| {
            app.pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let of_source = |key: &str| {
            source
                .value
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let revision = source.revision(app);
        let project = text("/spec/project");
        Self(vec![
            ("ARGOCD_APP_NAME", instance.to_owned()),
            ("ARGOCD_APP_NAMESPACE", text("/spec/destination/namespace")),
            (
                "ARGOCD_APP_PROJECT_NAME",
                if project.is_empty() {
                    "default".into()
                } else {
                    project
                },
            ),
            ("ARGOCD_APP_REVISION_SHORT", head(&revision, 7)),
            ("ARGOCD_APP_REVISION_SHORT_8", head(&revision, 8)),
            ("ARGOCD_APP_REVISION", revision),
            ("ARGOCD_APP_SOURCE_REPO_URL", of_source("repoURL")),
            ("ARGOCD_APP_SOURCE_PATH", of_source("path")),
            (
                "ARGOCD_APP_SOURCE_TARGET_REVISION",
                of_source("targetRevision"),
            ),
        ])
    }

    /// Fills `$NAME` and `${NAME}` in as Go's `os.Expand` does; `$$` is a dollar, an unknown name is nothing.
    pub(super) fn expand(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            let (name, used) = name_after_dollar(after);
            match name {
                Some("$") => out.push('$'),
                Some(name) => out.push_str(self.get(name)),
                None if used == 0 => out.push('$'),
                None => {}
            }
            rest = &after[used..];
        }
        out.push_str(rest);
        out
    }

    fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, value)| value)
    }
}

fn head(text: &str, length: usize) -> String {
    text.chars().take(length).collect()
}

/// Reads the name after a `$`, and how many bytes it takes; bytes without a name are bad syntax, which vanishes.
fn name_after_dollar(text: &str) -> (Option<&str>, usize) {
    let bytes = text.as_bytes();
    let is_special = |byte: u8| b"*#$@!?-0123456789".contains(&byte);
    match bytes {
        [b'{', special, b'}', ..] if is_special(*special) => (Some(&text[1..2]), 3),
        [b'{', ..] => match text.find('}') {
            Some(1) => (None, 2),
            Some(end) => (Some(&text[1..end]), end + 1),
            None => (None, 1),
        },
        [special, ..] if is_special(*special) => (Some(&text[..1]), 1),
        _ => {
            let end = bytes
                .iter()
                .position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
                .unwrap_or(bytes.len());
            (Some(&text[..end]).filter(|name| !name.is_empty()), end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expands_as_go_does() {
        let env = Environment(vec![("ARGOCD_APP_NAME", "web".into())]);
        for (text, expected) in [
            ("$ARGOCD_APP_NAME-x", "web-x"),
            ("${ARGOCD_APP_NAME}x", "webx"),
            ("$$ARGOCD_APP_NAME", "$ARGOCD_APP_NAME"),
            ("a $unknown b ${unknown} c", "a  b  c"),
            ("5$ ${} ${x", "5$  x"),
            ("$1a", "a"),
        ] {
            assert_eq!(env.expand(text), expected, "{text}");
        }
    }
}
