//! What a hold of ours leaves on the object: who took it, when, why, until when, and what was there before.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::json;

/// The annotation that a hold of ours leaves on an app's object: a [`Note`] as JSON.
pub const HELD: &str = "gitops-tui/held";

/// What stood in the field that a hold changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Before {
    /// The field was not there.
    Absent,
    /// The field had this value.
    Value(Value),
}

/// The note of a hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// Who took it.
    pub by: Option<String>,
    /// When.
    pub at: Option<Timestamp>,
    /// Why.
    pub reason: Option<String>,
    /// Until when.
    pub until: Option<Timestamp>,
    /// What `spec.suspend` (Flux) or `spec.syncPolicy.automated` (Argo CD) was.
    pub before: Before,
}

impl Note {
    /// Reads a note; `None` where the text is none of ours (then nothing can be restored by it).
    pub fn read(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        Some(Self {
            by: json::owned(&value, "/by"),
            at: json::time(&value, "/at"),
            reason: json::owned(&value, "/reason"),
            until: json::time(&value, "/until"),
            before: value
                .as_object()?
                .get("was")
                .map_or(Before::Absent, |was| Before::Value(was.clone())),
        })
    }

    /// Writes the note.
    pub fn write(&self) -> String {
        let mut map = Map::new();
        let mut put = |key: &str, text: Option<String>| {
            if let Some(text) = text {
                map.insert(key.to_owned(), Value::from(text));
            }
        };
        put("by", self.by.clone());
        put("at", self.at.map(|t| t.to_string()));
        put("reason", self.reason.clone());
        put("until", self.until.map(|t| t.to_string()));
        if let Before::Value(was) = &self.before {
            map.insert("was".to_owned(), was.clone());
        }
        Value::Object(map).to_string()
    }
}

/// Returns the manager that holds the spec field `field` (`f:suspend`), and when it wrote last.
pub(super) fn hand(object: &Value, field: &str) -> Option<(String, Option<Timestamp>)> {
    json::items(object, "/metadata/managedFields")
        .iter()
        .filter(|entry| {
            entry
                .pointer("/fieldsV1/f:spec")
                .is_some_and(|spec| spec.get(field).is_some())
        })
        .filter_map(|entry| Some((json::owned(entry, "/manager")?, json::time(entry, "/time"))))
        .max_by_key(|(_, time)| *time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keeps_absent_null_and_empty_apart() {
        for before in [
            Before::Absent,
            Before::Value(Value::Null),
            Before::Value(json!({})),
            Before::Value(json!({"selfHeal": true, "enabled": null})),
        ] {
            let note = Note {
                by: Some("alice".into()),
                at: "2026-01-01T00:00:00Z".parse().ok(),
                reason: None,
                until: None,
                before,
            };
            assert_eq!(Note::read(&note.write()), Some(note));
        }
        assert_eq!(Note::read("by hand"), None);
    }

    #[test]
    fn names_who_suspended() {
        let object = json!({"metadata": {"managedFields": [
            {"manager": "kustomize-controller", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:path": {}}}},
            {"manager": "kubectl-patch", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {"f:suspend": {}}}},
        ]}});
        assert_eq!(hand(&object, "f:suspend").unwrap().0, "kubectl-patch");
        assert_eq!(hand(&object, "f:prune"), None);
    }
}
