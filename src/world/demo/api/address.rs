//! What a request is about: its path taken apart, its query decoded.

use super::kinds::{KINDS, Kind, REVIEWS};

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// `/version`.
    Version,
    /// `/healthz`, `/livez`, `/readyz`.
    Health,
    /// `/api`.
    Core,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/v1`, `/apis/GROUP/VERSION`: (group, version).
    Resources(String, String),
    /// `/openapi/v3`.
    Documents,
    /// `/openapi/v3/apis/GROUP/VERSION`: (group, version).
    Document(String, String),
    /// A collection or an object.
    Object(Spot),
    /// A review kind, to be created.
    Review(&'static Kind),
    /// Nothing that is served.
    Nowhere,
}

/// A collection or an object of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) kind: &'static Kind,
    /// `None`: all namespaces, or a cluster-scoped kind.
    pub(super) namespace: Option<String>,
    /// `None`: the collection.
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
}

impl Address {
    /// Reads a request's path.
    pub(super) fn of(path: &str) -> Self {
        let parts: Vec<String> = path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(decode)
            .collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts.as_slice() {
            ["version"] => Self::Version,
            ["healthz" | "livez" | "readyz", ..] => Self::Health,
            ["openapi", "v3"] => Self::Documents,
            ["openapi", "v3", "apis", group, version] => {
                Self::Document((*group).into(), (*version).into())
            }
            ["api"] => Self::Core,
            ["apis"] => Self::Groups,
            ["apis", group] => Self::Group((*group).into()),
            ["api", version] => Self::Resources(String::new(), (*version).into()),
            ["apis", group, version] => Self::Resources((*group).into(), (*version).into()),
            ["api", version, rest @ ..] => Self::object("", version, rest),
            ["apis", group, version, rest @ ..] => Self::object(group, version, rest),
            _ => Self::Nowhere,
        }
    }

    fn object(group: &str, version: &str, rest: &[&str]) -> Self {
        let find = |table: &'static [Kind], plural: &str| {
            table
                .iter()
                .find(|k| k.group == group && k.version == version && k.plural == plural)
        };
        let spot = |kind, namespace: Option<&str>, rest: &[&str]| {
            let text = |at: usize| rest.get(at).map(|s| (*s).to_owned());
            Self::Object(Spot {
                kind,
                namespace: namespace.map(str::to_owned),
                name: text(0),
                subresource: (rest.len() > 1).then(|| rest[1..].join("/")),
            })
        };
        if let ["namespaces", namespace, plural, rest @ ..] = rest
            && let Some(kind) = find(KINDS, plural).filter(|k| k.namespaced)
        {
            return spot(kind, Some(namespace), rest);
        }
        let [plural, rest @ ..] = rest else {
            return Self::Nowhere;
        };
        if let Some(kind) = find(KINDS, plural) {
            return spot(kind, None, rest);
        }
        match find(REVIEWS, plural) {
            Some(kind) => Self::Review(kind),
            None => Self::Nowhere,
        }
    }
}

/// A request's parameters, decoded, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what stands after the `?`.
    pub(super) fn of(text: Option<&str>) -> Self {
        Self(
            text.unwrap_or_default()
                .split('&')
                .filter(|pair| !pair.is_empty())
                .map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (
                        decode(&key.replace('+', " ")),
                        decode(&value.replace('+', " ")),
                    )
                })
                .collect(),
        )
    }

    /// Returns a parameter's value; an empty one counts as absent.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(k, v)| k == key && !v.is_empty())
            .map(|(_, v)| v.as_str())
    }

    /// Tells whether a parameter is switched on.
    pub(super) fn is(&self, key: &str) -> bool {
        self.get(key).is_some_and(|v| v == "true" || v == "1")
    }
}

/// Undoes percent-encoding; a broken escape stays as it is.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        if let Some(byte) = escaped {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(path: &str) -> (String, Option<String>, Option<String>, Option<String>) {
        match Address::of(path) {
            Address::Object(s) => (s.kind.kind.into(), s.namespace, s.name, s.subresource),
            other => (format!("{other:?}"), None, None, None),
        }
    }

    #[test]
    fn takes_paths_apart() {
        let some = |s: &str| Some(s.to_owned());
        assert_eq!(
            spot("/apis/apps/v1/namespaces/shop/deployments/web/scale"),
            (
                "Deployment".into(),
                some("shop"),
                some("web"),
                some("scale")
            )
        );
        assert_eq!(
            spot("/api/v1/configmaps"),
            ("ConfigMap".into(), None, None, None)
        );
        assert_eq!(
            spot("/api/v1/namespaces/shop"),
            ("Namespace".into(), None, some("shop"), None)
        );
        assert_eq!(
            spot("/api/v1/namespaces/shop/status"),
            ("Namespace".into(), None, some("shop"), some("status"))
        );
        assert_eq!(Address::of("/apis/nope.io/v1/things"), Address::Nowhere);
        assert_eq!(Address::of("/apis/apps"), Address::Group("apps".into()));
    }

    #[test]
    fn decodes_queries() {
        let query = Query::of(Some("labelSelector=a%3Db%2Cc&watch=true&limit="));
        assert_eq!(query.get("labelSelector"), Some("a=b,c"));
        assert!(query.is("watch"));
        assert_eq!(query.get("limit"), None);
    }
}
