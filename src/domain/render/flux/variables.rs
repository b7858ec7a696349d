//! The variables of `spec.postBuild`: where each value comes from and what it is.
//!
//! ConfigMaps and Secrets of `substituteFrom` come first, in order, later ones over earlier ones; `substitute` goes over
//! all of them. Line breaks are taken out of every value. A value that came from a Secret stays marked, since it must
//! never be shown, wherever it ends up.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use base64::Engine as _;
use regex::Regex;
use serde_json::Value;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::object::{Home, Origin, Step};
use crate::domain::yaml::Route;

/// What a variable's name must look like.
const NAME: &str = "^[_[:alpha:]][_[:alpha:][:digit:]]*$";

/// A variable.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    /// Its value without line breaks; bytes, since a Secret may hold any.
    pub(super) value: Vec<u8>,
    /// Whether a Secret gave it.
    pub(super) is_secret: bool,
    home: Home,
    file: Arc<str>,
    route: Route,
}

impl Variable {
    /// Returns the origin of a field that this variable wrote over the text at `before`.
    pub(super) fn origin(&self, name: &str, before: Option<Arc<Origin>>) -> Origin {
        Origin {
            home: self.home,
            file: Arc::clone(&self.file),
            document: 0,
            line: 0,
            route: self.route.clone(),
            inner: None,
            step: Step::Substitution(name.to_owned()),
            before,
        }
    }
}

/// All variables of an app.
#[derive(Debug, Clone, Default)]
pub(super) struct Variables(BTreeMap<String, Variable>);

impl Variables {
    /// Tells whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a variable by its name.
    pub(super) fn get(&self, name: &str) -> Option<&Variable> {
        self.0.get(name)
    }

    /// Loads what `app` names; `objects` holds the ConfigMaps and Secrets of its namespace. The error is that of the
    /// controller: a named object is missing, or a name is no variable's name.
    pub(super) fn load(app: &Value, objects: &[Value]) -> Result<Self, Fault> {
        let mut variables = Self::default();
        let namespace = text(app, "/metadata/namespace");
        let references = app
            .pointer("/spec/postBuild/substituteFrom")
            .and_then(Value::as_array);
        for reference in references.into_iter().flatten() {
            variables.take_reference(reference, namespace, objects)?;
        }
        let inline = app
            .pointer("/spec/postBuild/substitute")
            .and_then(Value::as_object);
        for (name, value) in inline.into_iter().flatten() {
            let value = value.as_str().ok_or_else(|| {
                Fault::new(
                    FaultKind::Render,
                    format!(
                        "spec.postBuild.substitute.{name} is not text: the API server refuses it"
                    ),
                )
                .hint("put the value in quotes")
            })?;
            let route = Route::root()
                .key("spec")
                .key("postBuild")
                .key("substitute")
                .key(name);
            variables.set(
                name,
                value.as_bytes(),
                false,
                (Home::AppSpec, "spec".into(), route),
            );
        }
        variables.check_names()?;
        Ok(variables)
    }

    fn take_reference(
        &mut self,
        reference: &Value,
        namespace: &str,
        objects: &[Value],
    ) -> Result<(), Fault> {
        let kind = text(reference, "/kind");
        let name = text(reference, "/name");
        let optional = reference.get("optional").and_then(Value::as_bool) == Some(true);
        let Some(is_secret) = (match kind {
            "ConfigMap" => Some(false),
            "Secret" => Some(true),
            _ => None,
        }) else {
            return Ok(());
        };
        let Some(object) = objects.iter().find(|object| {
            text(object, "/kind") == kind
                && text(object, "/metadata/name") == name
                && [namespace, ""].contains(&text(object, "/metadata/namespace"))
        }) else {
            return if optional {
                Ok(())
            } else {
                Err(not_found(kind, name, namespace))
            };
        };
        let file: Arc<str> = format!("{kind}/{namespace}/{name}").into();
        for (field, key, value) in data_of(object, is_secret) {
            let route = Route::root().key(field).key(&key);
            self.set(
                &key,
                &value,
                is_secret,
                (Home::Cluster, Arc::clone(&file), route),
            );
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &[u8], is_secret: bool, place: (Home, Arc<str>, Route)) {
        let (home, file, route) = place;
        let value = value
            .iter()
            .copied()
            .filter(|byte| *byte != b'\n')
            .collect();
        let variable = Variable {
            value,
            is_secret,
            home,
            file,
            route,
        };
        self.0.insert(name.to_owned(), variable);
    }

    fn check_names(&self) -> Result<(), Fault> {
        static RULE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(NAME).ok());
        let is_name = |name: &str| RULE.as_ref().is_some_and(|rule| rule.is_match(name));
        let Some((name, variable)) = self.0.iter().find(|(name, _)| !is_name(name)) else {
            return Ok(());
        };
        let fault = Fault::new(
            FaultKind::Render,
            format!("envsubst error: '{name}' var name is invalid, must match '{NAME}'"),
        );
        Err(fault
            .because(format!("it stands in {} at {}", variable.file, variable.route))
            .hint("one such key in a referenced ConfigMap or Secret fails the whole app: rename or remove it"))
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Returns the entries of a ConfigMap's `data`, or of a Secret as the server holds it: `data` decoded, and `stringData`
/// over it for objects that come from a file.
fn data_of(object: &Value, is_secret: bool) -> Vec<(&'static str, String, Vec<u8>)> {
    let entries = |field: &'static str| {
        let map = object.get(field).and_then(Value::as_object);
        map.into_iter()
            .flatten()
            .filter_map(move |(key, value)| Some((field, key.clone(), value.as_str()?.to_owned())))
    };
    if !is_secret {
        return entries("data")
            .map(|(field, key, value)| (field, key, value.into_bytes()))
            .collect();
    }
    let decode = |text: String| {
        let text: String = text.split_ascii_whitespace().collect();
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .unwrap_or_default()
    };
    let decoded = entries("data").map(|(field, key, value)| (field, key, decode(value)));
    let plain = entries("stringData").map(|(field, key, value)| (field, key, value.into_bytes()));
    decoded.chain(plain).collect()
}

fn not_found(kind: &str, name: &str, namespace: &str) -> Fault {
    let plural = if kind == "Secret" {
        "secrets"
    } else {
        "configmaps"
    };
    Fault::new(
        FaultKind::NotFound,
        format!("substitute from '{kind}/{name}' error: {plural} \"{name}\" not found"),
    )
    .hint(format!(
        "create {kind} `{name}` in namespace `{namespace}`, or mark the reference optional"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn app(post_build: &Value) -> Value {
        json!({"metadata": {"namespace": "ns", "name": "app"}, "spec": {"postBuild": post_build}})
    }

    #[test]
    fn lets_later_ones_win_and_cuts_line_breaks() {
        let objects = [
            json!({"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}, "data": {"x": "1\n2\n", "y": "a"}}),
            json!({"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "other"}, "data": {"x": "no"}}),
            json!({"kind": "Secret", "metadata": {"name": "b", "namespace": "ns"}, "data": {"y": "Yg==", "z": "eg=="}}),
        ];
        let app = app(&json!({
            "substituteFrom": [
                {"kind": "ConfigMap", "name": "a"},
                {"kind": "Secret", "name": "b"},
                {"kind": "ConfigMap", "name": "absent", "optional": true},
            ],
            "substitute": {"z": "inline"},
        }));
        let variables = Variables::load(&app, &objects).unwrap();
        let seen = |name: &str| {
            let variable = variables.get(name).unwrap();
            let place = variable.origin(name, None);
            (
                String::from_utf8_lossy(&variable.value).into_owned(),
                variable.is_secret,
                format!("{} {}", place.file, place.route),
            )
        };
        assert_eq!(
            seen("x"),
            ("12".into(), false, "ConfigMap/ns/a data.x".into())
        );
        assert_eq!(seen("y"), ("b".into(), true, "Secret/ns/b data.y".into()));
        assert_eq!(
            seen("z"),
            (
                "inline".into(),
                false,
                "spec spec.postBuild.substitute.z".into()
            )
        );
    }

    #[test]
    fn says_what_the_controller_says() {
        let says = |post_build: Value| {
            Variables::load(&app(&post_build), &[])
                .unwrap_err()
                .sentence
        };
        assert_eq!(
            says(json!({"substituteFrom": [{"kind": "Secret", "name": "gone"}]})),
            "substitute from 'Secret/gone' error: secrets \"gone\" not found"
        );
        assert_eq!(
            says(json!({"substitute": {"a-b": "1"}})),
            "envsubst error: 'a-b' var name is invalid, must match '^[_[:alpha:]][_[:alpha:][:digit:]]*$'"
        );
    }
}
