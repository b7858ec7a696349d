//! `crds`: which fields of a custom resource hold annotations, labels, names and references.

use serde_json::Value;

use super::config::{BackReference, Config};
use super::model::FieldSpec;

/// Reads OpenAPI definitions; a plain CustomResourceDefinition says nothing here.
pub(super) fn config(document: &Value) -> Result<Config, String> {
    let mut config = Config::default();
    for (name, definition) in document.as_object().into_iter().flatten() {
        let properties = definition
            .pointer("/Schema/properties")
            .or_else(|| definition.pointer("/schema/properties"));
        let is_kind = ["kind", "apiVersion", "metadata"]
            .iter()
            .all(|key| properties.is_some_and(|properties| properties.get(key).is_some()));
        if is_kind {
            let kind = name.rsplit('.').next().unwrap_or(name);
            let mut found = Config::default();
            let mut seen = vec![];
            walk(document, name, kind, &mut vec![], &mut found, &mut seen);
            config.merge(&found)?;
        }
    }
    Ok(config)
}

fn walk(
    document: &Value,
    name: &str,
    kind: &str,
    path: &mut Vec<String>,
    config: &mut Config,
    seen: &mut Vec<String>,
) {
    if seen.iter().any(|old| old == name) {
        return;
    }
    let Some(definition) = document.get(name) else {
        return;
    };
    let properties = definition
        .pointer("/Schema/properties")
        .or_else(|| definition.pointer("/schema/properties"));
    seen.push(name.to_owned());
    for (key, property) in properties.and_then(Value::as_object).into_iter().flatten() {
        path.push(key.clone());
        let field = |path: &[String]| FieldSpec {
            kind: kind.to_owned(),
            path: path.join("/"),
            ..FieldSpec::default()
        };
        let text = |word: &str| property.get(word).and_then(Value::as_str);
        if text("x-kubernetes-annotation").is_some() {
            config.common_annotations.push(field(path));
        }
        if text("x-kubernetes-label-selector").is_some() {
            config.common_labels.push(field(path));
        }
        if text("x-kubernetes-identity").is_some() {
            config.name_prefix.push(field(path));
        }
        if let (Some(version), Some(target)) = (
            text("x-kubernetes-object-ref-api-version"),
            text("x-kubernetes-object-ref-kind"),
        ) {
            let mut full = path.clone();
            full.push(
                text("x-kubernetes-object-ref-name-key")
                    .unwrap_or("name")
                    .to_owned(),
            );
            config.references.push(BackReference {
                group: String::new(),
                version: version.to_owned(),
                kind: target.to_owned(),
                fields: vec![field(&full)],
            });
        }
        if let Some(reference) = text("$ref") {
            walk(document, reference, kind, path, config, seen);
        }
        path.pop();
    }
    seen.pop();
}
