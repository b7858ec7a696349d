//! From the built objects to what Flux applies: lists taken apart, owner labels, common metadata, the SOPS guard.
//!
//! None of it is part of the digest.

use std::sync::Arc;

use serde_json::Value;

use super::sops;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::object::{Desired, Origins, Step};
use crate::domain::render::Rendered;
use crate::domain::render::metadata::{derived, in_app, set_entry};
use crate::domain::yaml::{Route, RouteStep};

const OWNER_NAME: &str = "kustomize.toolkit.fluxcd.io/name";
const OWNER_NAMESPACE: &str = "kustomize.toolkit.fluxcd.io/namespace";

/// Turns built objects into applied ones and puts them into `rendered`.
pub(super) fn finish(app: &Value, built: Vec<Desired>, rendered: &mut Rendered) {
    for object in built.into_iter().flat_map(expand) {
        if object.id.api_version.is_empty() || is_build_file(&object) {
            continue;
        }
        let mut object = object;
        keep_text_only(&mut object, "labels", rendered);
        for (key, pointer) in [
            (OWNER_NAME, "/metadata/name"),
            (OWNER_NAMESPACE, "/metadata/namespace"),
        ] {
            let text = app
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default();
            set_entry(&mut object, "labels", key, text, derived(Step::Tracking));
        }
        common_metadata(app, &mut object, rendered);
        sops::guard(&mut object, rendered);
        rendered.objects.push(object);
    }
}

fn common_metadata(app: &Value, object: &mut Desired, rendered: &mut Rendered) {
    for field in ["labels", "annotations"] {
        let pointer = format!("/spec/commonMetadata/{field}");
        let Some(entries) = app.pointer(&pointer).and_then(Value::as_object) else {
            continue;
        };
        keep_text_only(object, field, rendered);
        for (key, value) in entries {
            let route = Route::root()
                .key("spec")
                .key("commonMetadata")
                .key(field)
                .key(key.as_str());
            let origin = in_app(route, Step::CommonMetadata);
            set_entry(
                object,
                field,
                key,
                value.as_str().unwrap_or_default(),
                origin,
            );
        }
    }
}

/// The controller reads labels and annotations as texts; one that is none makes it lose the whole map.
fn keep_text_only(object: &mut Desired, field: &str, rendered: &mut Rendered) {
    let Some(map) = object
        .value
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut(field))
    else {
        return;
    };
    let all_text = map
        .as_object()
        .is_some_and(|map| map.values().all(Value::is_string));
    if all_text || map.is_null() {
        return;
    }
    *map = Value::Object(serde_json::Map::new());
    let base = Route::root().key("metadata").key(field);
    object
        .origins
        .0
        .retain(|route, _| !route.0.starts_with(&base.0));
    rendered.warnings.push(
        Fault::new(
            FaultKind::Render,
            format!(
                "{}: one of its {field} is no text, so Flux drops all of them",
                object.id
            ),
        )
        .hint("put the value in quotes"),
    );
}

fn is_build_file(object: &Desired) -> bool {
    object.id.kind.eq_ignore_ascii_case("kustomization")
        && object
            .id
            .api_version
            .starts_with("kustomize.config.k8s.io/")
}

/// Takes an object with `items` apart.
fn expand(object: Desired) -> Vec<Desired> {
    let Some(items) = object.value.get("items").and_then(Value::as_array) else {
        return vec![object];
    };
    let items = items.iter().enumerate().filter_map(|(index, item)| {
        let base = Route::root().key("items").index(index);
        let inside = |route: &Route| -> Option<Route> {
            let rest: &[RouteStep] = route.0.strip_prefix(base.0.as_slice())?;
            Some(Route(rest.to_vec()))
        };
        let origins = object.origins.0.iter();
        let origins =
            origins.filter_map(|(route, origin)| Some((inside(route)?, Arc::clone(origin))));
        let mut item = Desired::new(item.clone(), Origins(origins.collect()))?;
        item.secret_routes = object.secret_routes.iter().filter_map(inside).collect();
        Some(item)
    });
    items.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn applied(app: &Value, objects: Vec<Value>) -> Rendered {
        let built = objects
            .into_iter()
            .filter_map(|value| Desired::new(value, Origins::default()));
        let mut rendered = Rendered::default();
        finish(app, built.collect(), &mut rendered);
        rendered
    }

    #[test]
    fn labels_and_drops_as_the_controller_does() {
        let app = json!({"metadata": {"name": "apps", "namespace": "flux"}, "spec": {"commonMetadata": {
            "labels": {"team": "ops"}, "annotations": {"who": "us"},
        }}});
        let rendered = applied(
            &app,
            vec![
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"team": "x", "keep": "y"}}}),
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "labels": {"n": 5, "keep": "y"}}}),
                json!({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "metadata": {"name": "k"}}),
            ],
        );
        let metadata: Vec<&Value> = rendered
            .objects
            .iter()
            .map(|object| &object.value["metadata"])
            .collect();
        assert_eq!(
            metadata,
            [
                &json!({"name": "a", "annotations": {"who": "us"}, "labels": {"team": "ops", "keep": "y", OWNER_NAME: "apps", OWNER_NAMESPACE: "flux"}}),
                &json!({"name": "b", "annotations": {"who": "us"}, "labels": {"team": "ops", OWNER_NAME: "apps", OWNER_NAMESPACE: "flux"}}),
            ]
        );
        assert_eq!(rendered.warnings.len(), 1);
        let team = Route::root().key("metadata").key("labels").key("team");
        let origin = rendered.objects[0].origins.of(&team).unwrap();
        assert_eq!(origin.route.to_string(), "spec.commonMetadata.labels.team");
    }

    #[test]
    fn guards_encrypted_secrets() {
        let secret = |data: Value| {
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"},
            "data": data, "sops": {"mac": "ENC[x]"}})
        };
        let app = json!({"metadata": {"name": "apps", "namespace": "flux"}});
        let rendered = applied(&app, vec![secret(json!({"a": "ENC[AES256_GCM,data:x]"}))]);
        assert!(
            rendered.problems[0]
                .sentence
                .contains("Secret/n/s is SOPS encrypted, configuring decryption")
        );
        let rendered = applied(&app, vec![secret(json!({"a": "eA=="}))]);
        assert_eq!((rendered.problems.len(), rendered.warnings.len()), (0, 1));
        assert!(rendered.objects[0].value.get("sops").is_none());
    }
}
