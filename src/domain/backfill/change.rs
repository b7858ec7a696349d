//! A change of one file, and the guards that stand before it.

use serde_json::Value;

use crate::domain::render::{EntryKind, Tree};
use crate::domain::yaml::edit::{Edit, EditError, apply};
use crate::domain::yaml::{Dialect, Document, Node, Route, RouteStep, parse};

use super::edited::Edited;

/// Why a wish is refused, and the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: String,
    pub(super) hint: String,
    /// Whether no other place may be tried instead.
    pub(super) is_final: bool,
}

impl Refusal {
    pub(super) fn new(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            hint: hint.into(),
            is_final: false,
        }
    }

    /// Makes a refusal after which no other place is tried.
    pub(super) fn last(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            is_final: true,
            ..Self::new(reason, hint)
        }
    }
}

/// A change of one file.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// Edits of one YAML document; `outer` is the way to the block of text that holds an inline patch.
    Yaml {
        file: String,
        document: usize,
        outer: Option<Route>,
        edits: Vec<Edit>,
    },
    /// Other bytes for a file that is no YAML.
    Bytes { file: String, after: Vec<u8> },
}

/// One way to fulfil a wish.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Where, in words: `apps/prod/kustomization.yaml:14 images[0].newTag`.
    pub(super) place: String,
    pub(super) changes: Vec<Change>,
}

impl Candidate {
    /// Carries the changes out on `tree`.
    pub(super) fn apply(&self, tree: &mut Edited<'_>) -> Result<(), Refusal> {
        self.changes
            .iter()
            .try_for_each(|change| change.apply(tree))
    }
}

impl Change {
    fn apply(&self, tree: &mut Edited<'_>) -> Result<(), Refusal> {
        let (file, after) = match self {
            Self::Bytes { file, after } => {
                read(tree, file)?;
                (file, after.clone())
            }
            Self::Yaml {
                file,
                document,
                outer,
                edits,
            } => {
                let before = read(tree, file)?;
                let stream = parse(&before);
                let found = stream.document(*document);
                found.map_or(Ok(()), |found| {
                    guard_encryption(found, outer.as_ref(), edits)
                })?;
                let edits = match outer {
                    None => edits.clone(),
                    Some(outer) => vec![edit_inside(found, file, outer, edits)?],
                };
                let after =
                    apply(&before, *document, &edits).map_err(|error| worded(file, &error))?;
                (file, after)
            }
        };
        tree.write(file, after).map_err(|fault| {
            Refusal::new(
                format!("{file} cannot be written: {}", fault.sentence),
                "edit the file by hand",
            )
        })
    }
}

/// Edits the text of an inline patch and returns the edit of the scalar that holds it.
fn edit_inside(
    document: Option<&Document>,
    file: &str,
    outer: &Route,
    edits: &[Edit],
) -> Result<Edit, Refusal> {
    let text = document
        .and_then(|document| document.at(outer))
        .and_then(Node::text)
        .ok_or_else(|| {
            Refusal::new(
                format!("{file} has no inline patch at {outer}"),
                "refresh and try again",
            )
        })?;
    let after = apply(text.as_bytes(), 0, edits).map_err(|error| worded(file, &error))?;
    Ok(Edit::Set {
        route: outer.clone(),
        value: Value::String(String::from_utf8_lossy(&after).into_owned()),
    })
}

fn worded(file: &str, error: &EditError) -> Refusal {
    let hint = match error {
        EditError::Shared { .. } => "edit the file by hand, or give this place its own value",
        _ => "edit the file by hand",
    };
    Refusal::new(format!("{file}: {error}"), hint)
}

/// Reads a file that is to be edited, or says why it cannot be.
pub(super) fn read(tree: &dyn Tree, file: &str) -> Result<Vec<u8>, Refusal> {
    let unreadable = |cause: &str| {
        Refusal::new(
            format!("{file} cannot be read{cause}"),
            "edit it where it lives",
        )
    };
    if let Some(folder) = submodule(tree, file) {
        return Err(Refusal::last(
            format!("{file} lies in the submodule {folder}"),
            "commit in that repository and move the submodule",
        ));
    }
    let bytes = match tree.read(file) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Err(unreadable("")),
        Err(fault) => return Err(unreadable(&format!(": {}", fault.sentence))),
    };
    if bytes.starts_with(b"version https://git-lfs.github.com/spec/") {
        return Err(Refusal::last(
            format!("{file} is a Git LFS pointer, its content is not in the repository"),
            "edit the file in a clone with git-lfs",
        ));
    }
    Ok(bytes)
}

fn submodule(tree: &dyn Tree, file: &str) -> Option<String> {
    let mut folder = String::new();
    for name in file.split('/') {
        let entries = tree.list(&folder).ok()??;
        if !folder.is_empty() {
            folder.push('/');
        }
        folder.push_str(name);
        let entry = entries.into_iter().find(|entry| entry.name == name)?;
        if entry.kind == EntryKind::Submodule {
            return Some(folder);
        }
    }
    None
}

/// Refuses what would break an encrypted document: a value under encryption, or any value that its MAC covers.
fn guard_encryption(
    document: &Document,
    outer: Option<&Route>,
    edits: &[Edit],
) -> Result<(), Refusal> {
    let Ok(value) = document.to_json(Dialect::Kubectl) else {
        return Ok(());
    };
    if value.get("kind").and_then(Value::as_str) == Some("SealedSecret") {
        return Err(Refusal::last(
            "the file is a SealedSecret, only its controller can open it",
            "seal the new value with kubeseal",
        ));
    }
    let Some(sops) = value.get("sops").filter(|sops| sops.get("mac").is_some()) else {
        return Ok(());
    };
    let use_sops = "change it with `sops edit`";
    let touched = edits.iter().map(|edit| match edit {
        Edit::Set { route, .. } | Edit::Remove { route } | Edit::Rename { route, .. } => {
            route.clone()
        }
        Edit::Insert { parent, at, .. } => match at {
            RouteStep::Key(key) => parent.key(key),
            RouteStep::Index(index) => parent.index(*index),
        },
    });
    for route in touched {
        let route = outer.unwrap_or(&route);
        if is_encrypted(sops, &value, route) {
            return Err(Refusal::last(
                "the value is encrypted with SOPS: it would be written in clear",
                use_sops,
            ));
        }
        if sops.get("mac_only_encrypted").and_then(Value::as_bool) != Some(true) {
            return Err(Refusal::last(
                "the file's SOPS MAC covers its plain values too: after an edit by hand decryption fails with a MAC mismatch",
                use_sops,
            ));
        }
    }
    Ok(())
}

/// Tells whether SOPS encrypts what stands at `route`: it is encrypted now, or its siblings are.
fn is_encrypted(sops: &Value, value: &Value, route: &Route) -> bool {
    fn holds_cipher(value: &Value) -> bool {
        match value {
            Value::String(text) => text.starts_with("ENC["),
            Value::Array(items) => items.iter().any(holds_cipher),
            Value::Object(map) => map.values().any(holds_cipher),
            _ => false,
        }
    }
    let keys: Vec<&str> = route
        .0
        .iter()
        .filter_map(|step| match step {
            RouteStep::Key(key) => Some(key.as_str()),
            RouteStep::Index(_) => None,
        })
        .collect();
    let rule = |name: &str| sops.get(name).and_then(Value::as_str);
    let matches = |pattern: &str| {
        regex::Regex::new(pattern).is_ok_and(|regex| keys.iter().any(|key| regex.is_match(key)))
    };
    let by_rule = match (rule("encrypted_regex"), rule("unencrypted_regex")) {
        (Some(pattern), _) => matches(pattern),
        (None, Some(pattern)) => !matches(pattern),
        (None, None) => match (rule("encrypted_suffix"), rule("unencrypted_suffix")) {
            (Some(suffix), _) => keys.iter().any(|key| key.ends_with(suffix)),
            (None, suffix) => {
                let suffix = suffix.unwrap_or("_unencrypted");
                !keys.iter().any(|key| key.ends_with(suffix))
            }
        },
    };
    by_rule || route.get(value).is_some_and(holds_cipher)
}
