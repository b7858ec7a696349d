//! `postBuild` substitution of one object: its text expanded and read again, every field still knowing its place.
//!
//! The controller writes each object as YAML, expands that text, and reads the result by YAML 1.1 rules, so values
//! change type (`"${port}"` becomes a number) and keys can be variables. Here the text before and the text after are
//! walked side by side: a field that a variable wrote gets that variable's origin with the text's place before it, and
//! a field that a Secret fed is marked.

use std::sync::Arc;

use serde_json::Value;

use super::envsubst::{self, Piece};
use super::variables::{Variable, Variables};
use crate::domain::object::{Desired, Origin, Origins, Step};
use crate::domain::yaml::{self, Dialect, Kind, Node, Route};

/// The label or annotation that exempts an object, with the value `disabled`.
const EXEMPT: &str = "kustomize.toolkit.fluxcd.io/substitute";

/// Tells whether the object says that it is not to be substituted.
pub(super) fn is_exempt(value: &Value) -> bool {
    ["labels", "annotations"].iter().any(|field| {
        value
            .get("metadata")
            .and_then(|metadata| metadata.get(field))
            .and_then(|map| map.get(EXEMPT))
            .and_then(Value::as_str)
            == Some("disabled")
    })
}

/// Expands one object in place. The error is the controller's sentence, free of any Secret's value.
pub(super) fn substitute(
    object: &mut Desired,
    variables: &Variables,
    strict: bool,
) -> Result<(), String> {
    let text = yaml::emit(&object.value);
    let lookup = |name: &str| {
        variables
            .get(name)
            .map(|variable| variable.value.as_slice())
    };
    let pieces = envsubst::expand(&text, &lookup, strict)
        .map_err(|error| format!("envsubst error: variable substitution failed: {error}"))?;
    let bytes: Vec<u8> = pieces
        .iter()
        .flat_map(|piece| piece.text.iter().copied())
        .collect();
    let written: Vec<Piece> = pieces
        .into_iter()
        .filter(|piece| !piece.reads.is_empty())
        .collect();
    let fed_by_secret = written.iter().flat_map(|piece| &piece.reads).any(|name| {
        variables
            .get(name)
            .is_some_and(|variable| variable.is_secret)
    });
    let cannot_read = |why: &dyn std::fmt::Display| {
        if fed_by_secret {
            "envsubst error: YAMLToJSON: the text is no YAML once its variables are filled in (a Secret's value is \
             among them, so the place is not shown)"
                .to_owned()
        } else {
            format!("envsubst error: YAMLToJSON: {why}")
        }
    };
    let after = yaml::parse(&bytes);
    if let Some(problem) = after.problems.first() {
        return Err(cannot_read(problem));
    }
    let Some(root) = after.documents.first().and_then(yaml::Document::root) else {
        return Ok(());
    };
    let value = root
        .to_json(Dialect::Kubectl)
        .map_err(|problem| cannot_read(&problem))?;
    match &value {
        Value::Object(map) if map.is_empty() => return Ok(()),
        Value::Object(_) => {}
        _ => {
            return Err(
                "UnmarshalJSON: the text is no object once its variables are filled in".into(),
            );
        }
    }
    let before = yaml::parse(text.as_bytes());
    let mut walk = Walk {
        variables,
        written: &written,
        old: &object.origins,
        origins: Origins::default(),
        secrets: std::mem::take(&mut object.secret_routes),
    };
    walk.node(
        root,
        before.documents.first().and_then(yaml::Document::root),
        &Route::root(),
        &Route::root(),
    );
    let Walk {
        origins, secrets, ..
    } = walk;
    object.origins = origins;
    object.secret_routes = secrets;
    object.value = value;
    if let Some(id) = crate::domain::object::ObjectId::of(&object.value) {
        object.id = id;
    }
    Ok(())
}

struct Walk<'w> {
    variables: &'w Variables,
    written: &'w [Piece],
    old: &'w Origins,
    origins: Origins,
    secrets: std::collections::BTreeSet<Route>,
}

impl<'w> Walk<'w> {
    /// Gives `after` (at `route`) the origin of `before` (at `old_route`), and the same below.
    fn node(
        &mut self,
        after: Node<'_>,
        before: Option<Node<'_>>,
        route: &Route,
        old_route: &Route,
    ) {
        let Some(before) = before else {
            return self.injected(after, route, &[], old_route);
        };
        match (after.kind(), before.kind()) {
            (Kind::Mapping, Kind::Mapping) if after.entries().len() == before.entries().len() => {
                self.keep(route, old_route);
                for (new, old) in after.entries().zip(before.entries()) {
                    let (Some(key), Some(old_key)) = (key_of(new.key), key_of(old.key)) else {
                        continue;
                    };
                    let (route, old_route) = (route.key(key), old_route.key(old_key));
                    if self.fed_by_secret(old.key.span()) {
                        self.secrets.insert(route.clone());
                    }
                    self.node(new.value, Some(old.value), &route, &old_route);
                }
            }
            (Kind::Sequence, Kind::Sequence) if after.items().len() == before.items().len() => {
                self.keep(route, old_route);
                for (index, (new, old)) in after.items().zip(before.items()).enumerate() {
                    self.node(new, Some(old), &route.index(index), &old_route.index(index));
                }
            }
            _ => {
                let pieces: Vec<&Piece> = self.pieces_in(before.span()).collect();
                if pieces.is_empty() {
                    self.keep(route, old_route);
                } else {
                    self.injected(after, route, &pieces, old_route);
                }
            }
        }
    }

    fn keep(&mut self, route: &Route, old_route: &Route) {
        if let Some(origin) = self.old.of(old_route) {
            self.origins.0.insert(route.clone(), Arc::clone(origin));
        }
    }

    /// Gives a whole node to the first variable that wrote into it.
    fn injected(&mut self, after: Node<'_>, route: &Route, pieces: &[&Piece], old_route: &Route) {
        let text = self.old.nearest(old_route).cloned();
        let names = || pieces.iter().flat_map(|piece| &piece.reads);
        if names().any(|name| self.is_secret(name)) {
            self.secrets.insert(route.clone());
        }
        let from_variable = names().find_map(|name| Some((name, self.value_giver(name)?)));
        let origin = match (from_variable, names().next(), text) {
            (Some((name, variable)), _, text) => Some(Arc::new(variable.origin(name, text))),
            (None, Some(name), Some(text)) => Some(Arc::new(Origin {
                step: Step::Substitution(name.clone()),
                before: Some(Arc::clone(&text)),
                ..(*text).clone()
            })),
            (None, _, text) => text,
        };
        let Some(origin) = origin else { return };
        self.cover(after, route, &origin);
    }

    fn cover(&mut self, node: Node<'_>, route: &Route, origin: &Arc<Origin>) {
        self.origins.0.insert(route.clone(), Arc::clone(origin));
        for entry in node.entries() {
            if let Some(key) = key_of(entry.key) {
                self.cover(entry.value, &route.key(key), origin);
            }
        }
        for (index, item) in node.items().enumerate() {
            self.cover(item, &route.index(index), origin);
        }
    }

    /// Returns the variable whose value can be what stands there; a default's literal is the text's own.
    fn value_giver(&self, name: &str) -> Option<&Variable> {
        self.variables
            .get(name)
            .filter(|variable| !variable.value.is_empty())
    }

    fn is_secret(&self, name: &str) -> bool {
        self.variables
            .get(name)
            .is_some_and(|variable| variable.is_secret)
    }

    fn fed_by_secret(&self, span: std::ops::Range<usize>) -> bool {
        self.pieces_in(span)
            .flat_map(|piece| &piece.reads)
            .any(|name| self.is_secret(name))
    }

    /// Returns the pieces that variables wrote inside these bytes of the text before.
    fn pieces_in(&self, span: std::ops::Range<usize>) -> impl Iterator<Item = &'w Piece> + use<'w> {
        let written = self.written;
        let from = written.partition_point(|piece| piece.source.end <= span.start);
        written[from..]
            .iter()
            .take_while(move |piece| piece.source.start < span.end)
    }
}

fn key_of(key: Node<'_>) -> Option<String> {
    key.key_text(Dialect::Kubectl, false).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::object::Home;
    use serde_json::json;

    fn object() -> Desired {
        let value = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "cm-${env}", "labels": {"${env}": "on"}},
            "data": {
                "both": "${env}-${pw}", "default": "${none:=d}", "escaped": "$$x", "long": "a\nb ${pw}\n", "map": "${map}",
                "port": "${port}",
            },
        });
        let mut origins = Origins::default();
        for (line, (key, _)) in value["data"].as_object().unwrap().iter().enumerate() {
            let route = Route::root().key("data").key(key);
            origins
                .0
                .insert(route.clone(), Arc::new(place(line + 1, route)));
        }
        let labels = Route::root().key("metadata").key("labels");
        origins.0.insert(
            labels.key("${env}"),
            Arc::new(place(20, labels.key("${env}"))),
        );
        Desired::new(value, origins).unwrap()
    }

    fn place(line: usize, route: Route) -> Origin {
        Origin {
            home: Home::Repository,
            file: "cm.yaml".into(),
            document: 0,
            line,
            route,
            inner: None,
            step: Step::Resource,
            before: None,
        }
    }

    fn variables() -> Variables {
        let app = json!({"metadata": {"namespace": "ns"}, "spec": {"postBuild": {
            "substitute": {"env": "prod", "port": "8080", "map": "{a: 1}"},
            "substituteFrom": [{"kind": "Secret", "name": "s"}],
        }}});
        let secret = json!({"kind": "Secret", "metadata": {"name": "s", "namespace": "ns"}, "data": {"pw": "aHVudGVyMg==", "bad": "aHVudGVyMjogWw=="}});
        Variables::load(&app, &[secret]).unwrap()
    }

    #[test]
    fn retypes_values_and_keeps_origins() {
        let mut object = object();
        substitute(&mut object, &variables(), true).unwrap();
        assert_eq!(
            object.value,
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "cm-prod", "labels": {"prod": "on"}},
                "data": {"both": "prod-hunter2", "default": "d", "escaped": "$x", "long": "a\nb hunter2\n", "map": {"a": 1}, "port": 8080},
            })
        );
        assert_eq!(object.id.name, "cm-prod");
        let at = |path: &[&str]| {
            let route = path
                .iter()
                .fold(Route::root(), |route, key| route.key(*key));
            let origin = object.origins.of(&route).unwrap();
            let before = origin.before.as_ref().map(|before| before.line);
            (origin.step.word(), origin.file.to_string(), before)
        };
        let port = ("substitute ${port}".to_owned(), "spec".to_owned(), Some(6));
        assert_eq!(at(&["data", "port"]), port);
        assert_eq!(
            at(&["data", "map", "a"]),
            ("substitute ${map}".into(), "spec".into(), Some(5))
        );
        assert_eq!(
            at(&["data", "default"]),
            ("substitute ${none}".into(), "cm.yaml".into(), Some(2))
        );
        assert_eq!(
            at(&["data", "escaped"]),
            ("resource".into(), "cm.yaml".into(), None)
        );
        assert_eq!(
            at(&["metadata", "labels", "prod"]),
            ("resource".into(), "cm.yaml".into(), None)
        );
    }

    #[test]
    fn marks_what_a_secret_fed() {
        let mut object = object();
        substitute(&mut object, &variables(), true).unwrap();
        let secret: Vec<String> = object
            .secret_routes
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(secret, ["data.both", "data.long"]);
        let origin = object
            .origins
            .of(&Route::root().key("data").key("long"))
            .unwrap();
        assert_eq!(origin.file.as_ref(), "Secret/ns/s");
    }

    #[test]
    fn never_says_a_secret_in_an_error() {
        let value =
            json!({"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "${bad}"}});
        let mut object = Desired::new(value, Origins::default()).unwrap();
        let error = substitute(&mut object, &variables(), true).unwrap_err();
        assert!(
            error.contains("YAMLToJSON") && !error.contains("hunter2"),
            "{error}"
        );
    }
}
