//! What the server says when it says no: `Status` objects in the words of a real kube-apiserver.

use serde_json::{Value, json};

use super::kinds::Kind;

/// A refused request: the HTTP code and the `Status` object of its body.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::world::demo) struct Refusal {
    /// HTTP status code.
    pub code: u16,
    /// `NotFound`, `Conflict` …
    reason: &'static str,
    message: String,
    details: Value,
}

/// What a request wants to do, for a 403's sentence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) user: &'a str,
    pub(super) verb: &'a str,
    pub(super) namespace: Option<&'a str>,
    pub(super) name: Option<&'a str>,
}

impl Refusal {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: json!({}),
        }
    }

    fn about(mut self, kind: &Kind, name: Option<&str>) -> Self {
        self.details = json!({"kind": kind.plural});
        if !kind.group.is_empty() {
            self.details["group"] = kind.group.into();
        }
        if let Some(name) = name {
            self.details["name"] = name.into();
        }
        self
    }

    /// A named object that does not exist.
    pub(super) fn not_found(kind: &Kind, name: &str) -> Self {
        Self::new(
            404,
            "NotFound",
            format!("{} \"{name}\" not found", kind.resource()),
        )
        .about(kind, Some(name))
    }

    /// A path that no resource serves.
    pub(super) fn no_resource() -> Self {
        Self::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
    }

    /// A create of something that is there.
    pub(super) fn already_exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", kind.resource());
        Self::new(409, "AlreadyExists", message).about(kind, Some(name))
    }

    /// A write with an outdated resourceVersion.
    pub(super) fn modified(kind: &Kind, name: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": the object has been modified; please apply your changes to \
             the latest version and try again",
            kind.resource()
        );
        Self::new(409, "Conflict", message).about(kind, Some(name))
    }

    /// An apply that would take fields of other managers; each cause is (who, field path).
    pub(super) fn apply_conflict(message: String, causes: Vec<(String, String)>) -> Self {
        let causes: Vec<Value> = causes
            .into_iter()
            .map(|(who, field)| {
                json!({"reason": "FieldManagerConflict", "message": format!("conflict with {who}"), "field": field})
            })
            .collect();
        let mut refusal = Self::new(409, "Conflict", message);
        refusal.details = json!({ "causes": causes });
        refusal
    }

    /// A user without the right.
    pub(super) fn forbidden(kind: &Kind, wish: Wish<'_>) -> Self {
        let head = match wish.name {
            Some(name) => format!("{} \"{name}\" is forbidden", kind.resource()),
            None => format!("{} is forbidden", kind.resource()),
        };
        let scope = match wish.namespace {
            Some(namespace) => format!("in the namespace \"{namespace}\""),
            None => "at the cluster scope".to_owned(),
        };
        let message = format!(
            "{head}: User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {scope}",
            wish.user, wish.verb, kind.plural, kind.group
        );
        Self::new(403, "Forbidden", message).about(kind, wish.name)
    }

    /// A body or parameter that is wrong in itself.
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// An object that validation refuses: `field` and what is wrong with it.
    pub(super) fn invalid(kind: &Kind, name: &str, field: &str, what: &str) -> Self {
        let title = if kind.group.is_empty() {
            kind.kind.to_owned()
        } else {
            format!("{}.{}", kind.kind, kind.group)
        };
        let mut refusal = Self::new(
            422,
            "Invalid",
            format!("{title} \"{name}\" is invalid: {field}: {what}"),
        );
        refusal.details = json!({
            "kind": kind.kind, "group": kind.group, "name": name,
            "causes": [{"reason": "FieldValueInvalid", "message": what, "field": field}],
        });
        refusal
    }

    /// A patch of a type that the kind does not take.
    pub(super) fn unsupported_media() -> Self {
        Self::new(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: \
             application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )
    }

    /// A verb that the resource does not have.
    pub(super) fn not_allowed() -> Self {
        Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    /// A page or a watch from a version that is gone.
    pub(super) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// Returns the sentence.
    pub(in crate::world::demo) fn message(&self) -> &str {
        &self.message
    }

    /// Returns the `Status` object.
    pub(super) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if self.details.as_object().is_some_and(|d| !d.is_empty()) {
            status["details"] = self.details.clone();
        }
        status
    }
}
