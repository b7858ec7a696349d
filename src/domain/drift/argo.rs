//! Argo CD's own ways: its settings, whose object a live one is, and by which algorithm an object is compared.

use serde_json::Value;

use super::rules::{annotation, settings_yaml};
use crate::domain::object::ObjectId;

/// How Argo CD compares an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// With what client-side apply kept as last applied.
    ThreeWay,
    /// As a server-side apply would merge (`ServerSideApply=true`).
    Merge,
    /// By a server-side dry run (`ServerSideDiff=true`).
    ServerSide,
}

impl Algorithm {
    /// Returns the algorithm for an object of an Application; what the object says wins over the Application.
    pub(super) fn of(app: Option<&Value>, object: &Value) -> Self {
        let option = |object: &Value, key: &str, option: &str| -> Option<bool> {
            let text = annotation(object, key)?;
            text.split(',')
                .find_map(|part| match part.trim().split_once('=')? {
                    (name, value) if name == option => Some(value == "true"),
                    _ => None,
                })
        };
        let compare = "argocd.argoproj.io/compare-options";
        let server_side = option(object, compare, "ServerSideDiff")
            .or_else(|| app.and_then(|app| option(app, compare, "ServerSideDiff")));
        if server_side == Some(true) {
            return Self::ServerSide;
        }
        let of_app = || {
            let options = app?.pointer("/spec/syncPolicy/syncOptions")?.as_array()?;
            options
                .iter()
                .filter_map(Value::as_str)
                .find_map(|text| text.strip_prefix("ServerSideApply="))
                .map(|value| value == "true")
        };
        match option(object, "argocd.argoproj.io/sync-options", "ServerSideApply").or_else(of_app) {
            Some(true) => Self::Merge,
            _ => Self::ThreeWay,
        }
    }
}

/// What of `argocd-cm` decides about comparisons.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    by_label: Option<String>,
    installation: Option<String>,
    /// `ignoreAggregatedRoles`.
    pub(super) ignore_aggregated: bool,
    /// `ignoreResourceStatusField: none`: status counts for every kind; `crd`: for all but definitions.
    status: Option<String>,
    /// (group, kind, dotted field) of fields that are read as quantities.
    quantities: Vec<(String, String, String)>,
}

impl Settings {
    /// Reads the ConfigMap, or its data.
    pub(super) fn read(settings: Option<&Value>) -> Self {
        let Some(data) = data(settings) else {
            return Self::default();
        };
        let text = |key: &str| {
            data.get(key)
                .and_then(Value::as_str)
                .filter(|t| !t.is_empty())
        };
        let label = || {
            text("application.instanceLabelKey")
                .unwrap_or("app.kubernetes.io/instance")
                .to_owned()
        };
        let options = text("resource.compareoptions")
            .and_then(settings_yaml)
            .unwrap_or_default();
        let mut found = Self {
            by_label: (text("application.resourceTrackingMethod") == Some("label")).then(label),
            installation: text("installationID").map(str::to_owned),
            ignore_aggregated: options.get("ignoreAggregatedRoles") == Some(&Value::Bool(true)),
            status: options
                .get("ignoreResourceStatusField")
                .and_then(Value::as_str)
                .map(str::to_owned),
            quantities: vec![],
        };
        for (key, value) in data.as_object().into_iter().flatten() {
            let Some(kind) = key.strip_prefix("resource.customizations.knownTypeFields.") else {
                continue;
            };
            let fields = value.as_str().and_then(settings_yaml).unwrap_or_default();
            for field in fields.as_array().into_iter().flatten() {
                let text = |key: &str| field.get(key).and_then(Value::as_str).unwrap_or_default();
                if let (Some((group, kind)), true) =
                    (kind.rsplit_once('_'), text("type").ends_with("Quantity"))
                {
                    let entry = (group.to_owned(), kind.to_owned(), text("field").to_owned());
                    found.quantities.push(entry);
                }
            }
        }
        found
    }

    /// Tells whether the status of this kind is compared.
    pub(super) fn compares_status(&self, id: &ObjectId) -> bool {
        match self.status.as_deref() {
            Some("none" | "off" | "false") => true,
            Some("crd") => id.kind != "CustomResourceDefinition",
            _ => false,
        }
    }

    /// Returns the dotted fields of this kind that are quantities.
    pub(super) fn quantities(&self, id: &ObjectId) -> Vec<&str> {
        let ours = self.quantities.iter();
        ours.filter(|(group, kind, _)| group == id.group() && *kind == id.kind)
            .map(|(_, _, field)| field.as_str())
            .collect()
    }

    /// Returns the tracking id that the Application gives an object; `None` where it tracks by label.
    pub(super) fn mark(&self, app: &Value, id: &ObjectId) -> Option<String> {
        let text = |pointer: &str| app.pointer(pointer).and_then(Value::as_str);
        if self.by_label.is_some() || id.kind == "CustomResourceDefinition" {
            return None;
        }
        let destination = text("/spec/destination/namespace").unwrap_or_default();
        let namespace = id.namespace.as_deref().unwrap_or(destination);
        let name = full_name(app)?;
        Some(format!(
            "{name}:{}/{}:{namespace}/{}",
            id.group(),
            id.kind,
            id.name
        ))
    }

    /// Tells whether a live object that is not rendered is the Application's: its mark names the Application and, with
    /// annotations, the object itself (a copied mark names another one).
    pub(super) fn owns(&self, app: &Value, live: &Value) -> bool {
        let text = |pointer: &str| app.pointer(pointer).and_then(Value::as_str);
        let Some(name) = text("/metadata/name") else {
            return false;
        };
        if let Some(label) = &self.by_label {
            let labels = live.pointer("/metadata/labels");
            return labels.and_then(|l| l.get(label)).and_then(Value::as_str) == Some(name);
        }
        if let Some(installation) = &self.installation
            && annotation(live, "argocd.argoproj.io/installation-id") != Some(installation.as_str())
        {
            return false;
        }
        let Some(mark) = annotation(live, "argocd.argoproj.io/tracking-id") else {
            return false;
        };
        let (Some(full), Some(id)) = (full_name(app), ObjectId::of(live)) else {
            return false;
        };
        let mut parts = mark.splitn(3, ':');
        let (Some(of), Some(kind), Some(object)) = (parts.next(), parts.next(), parts.next())
        else {
            return false;
        };
        let destination = text("/spec/destination/namespace").unwrap_or_default();
        let namespace = id.namespace.as_deref().unwrap_or(destination);
        (of == full || of == name)
            && kind == format!("{}/{}", id.group(), id.kind)
            && object.split_once('/').is_some_and(|(ns, name)| {
                name == id.name && (ns == namespace || id.namespace.is_none())
            })
    }
}

/// Returns the Application's name in tracking ids: with its namespace where that is not Argo CD's own.
fn full_name(app: &Value) -> Option<String> {
    let text = |pointer: &str| app.pointer(pointer).and_then(Value::as_str);
    let name = text("/metadata/name")?;
    let control = text("/status/controllerNamespace").unwrap_or("argocd");
    Some(match text("/metadata/namespace") {
        Some(namespace) if namespace != control => format!("{namespace}_{name}"),
        _ => name.to_owned(),
    })
}

/// Returns the data of `argocd-cm`, from the ConfigMap or bare.
pub(super) fn data(settings: Option<&Value>) -> Option<&Value> {
    let settings = settings?;
    match settings.get("data") {
        Some(data) if data.is_object() => Some(data),
        _ => Some(settings),
    }
}

/// Returns what Argo CD itself says kept it from comparing.
pub(super) fn comparison_error(app: &Value) -> Option<&str> {
    let conditions = app.pointer("/status/conditions")?.as_array()?;
    let failed = conditions.iter().find(|condition| {
        condition.get("type").and_then(Value::as_str) == Some("ComparisonError")
    })?;
    failed
        .get("message")
        .and_then(Value::as_str)
        .or(Some("no message"))
}

/// Tells whether an extra object does not count for the Application's state.
pub(super) fn ignores_extraneous(live: &Value) -> bool {
    annotation(live, "argocd.argoproj.io/compare-options").is_some_and(|text| {
        text.split(',')
            .any(|part| part.trim() == "IgnoreExtraneous")
    })
}

/// Returns the `Prune=` option that keeps an extra object from being pruned.
pub(super) fn prune_option(live: &Value) -> Option<&str> {
    annotation(live, "argocd.argoproj.io/sync-options")?
        .split(',')
        .map(str::trim)
        .find(|part| matches!(*part, "Prune=false" | "Prune=confirm"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mark_must_name_the_object_itself() {
        let app = json!({"metadata": {"name": "shop", "namespace": "argocd"}, "spec": {"destination": {"namespace": "shop"}}});
        let live = |mark: &str| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop",
            "annotations": {"argocd.argoproj.io/tracking-id": mark}}})
        };
        let settings = Settings::default();
        assert!(settings.owns(&app, &live("shop:/ConfigMap:shop/a")));
        assert!(!settings.owns(&app, &live("shop:stock.example.test/Database:shop/a")));
        assert!(!settings.owns(&app, &live("billing:/ConfigMap:shop/a")));
        let installed = Settings::read(Some(&json!({"data": {"installationID": "x"}})));
        assert!(!installed.owns(&app, &live("shop:/ConfigMap:shop/a")));
    }

    #[test]
    fn the_object_s_option_wins() {
        let app = json!({"spec": {"syncPolicy": {"syncOptions": ["ServerSideApply=true"]}}});
        let object = json!({"metadata": {"annotations": {"argocd.argoproj.io/sync-options": "Prune=false, ServerSideApply=false"}}});
        assert_eq!(Algorithm::of(Some(&app), &json!({})), Algorithm::Merge);
        assert_eq!(Algorithm::of(Some(&app), &object), Algorithm::ThreeWay);
    }
}
