//! How Argo CD marks what it applies: the tracking annotation, the instance label, the installation's id.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::domain::object::{Desired, Step};
use crate::domain::render::metadata::{derived, remove_entry, set_entry};

/// The annotation that names the owning Application.
pub const TRACKING_ID: &str = "argocd.argoproj.io/tracking-id";
/// The annotation that names the owning installation.
pub const INSTALLATION_ID: &str = "argocd.argoproj.io/installation-id";
/// The label that names the owning Application, where no other is configured.
const INSTANCE_LABEL: &str = "app.kubernetes.io/instance";
/// The label of old installations; it also goes into pod templates.
const LEGACY_LABEL: &str = "applications.argoproj.io/app-name";

/// How objects are marked, by `argocd-cm`.
pub(super) struct Tracking {
    with_annotation: bool,
    with_label: bool,
    label: String,
    installation: String,
}

impl Tracking {
    /// Reads the settings.
    pub(super) fn of(settings: super::Settings<'_>) -> Self {
        let method = settings
            .get("application.resourceTrackingMethod")
            .unwrap_or_default();
        let label = settings
            .get("application.instanceLabelKey")
            .filter(|label| !label.is_empty());
        Self {
            with_annotation: method != "label",
            with_label: matches!(method, "label" | "annotation+label"),
            label: label.unwrap_or(INSTANCE_LABEL).to_owned(),
            installation: settings
                .get("installationID")
                .unwrap_or_default()
                .to_owned(),
        }
    }

    /// Marks an object as `instance`'s. The error is the server's sentence: labels or annotations that are no text.
    pub(super) fn mark(
        &self,
        object: &mut Desired,
        instance: &str,
        destination: &str,
    ) -> Result<(), String> {
        if object.id.kind == "CustomResourceDefinition"
            && object.id.group() == "apiextensions.k8s.io"
        {
            return Ok(());
        }
        if self.with_annotation {
            check_texts(object, "annotations")?;
            let origin = || derived(Step::Tracking);
            if self.installation.is_empty() {
                remove_entry(object, "annotations", INSTALLATION_ID);
            } else {
                set_entry(
                    object,
                    "annotations",
                    INSTALLATION_ID,
                    &self.installation,
                    origin(),
                );
            }
            let id = tracking_id(object, instance, destination);
            set_entry(object, "annotations", TRACKING_ID, &id, origin());
        }
        if self.with_label {
            check_texts(object, "labels")?;
            let name = if self.with_annotation {
                fit_label(instance)
            } else {
                instance
            };
            set_entry(object, "labels", &self.label, name, derived(Step::Tracking));
            if self.label == LEGACY_LABEL {
                label_template(object, name);
            }
        }
        Ok(())
    }
}

/// Returns `APP:GROUP/KIND:NAMESPACE/NAME`; the destination's namespace stands in where the object has none.
fn tracking_id(object: &Desired, instance: &str, destination: &str) -> String {
    let id = &object.id;
    let namespace = id.namespace.as_deref().unwrap_or(destination);
    format!(
        "{instance}:{}/{}:{namespace}/{}",
        id.group(),
        id.kind,
        id.name
    )
}

/// Cuts a name to the 63 characters of a label, not ending in a sign.
fn fit_label(name: &str) -> &str {
    static END: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("[a-zA-Z0-9]$").ok());
    if name.len() <= 63 {
        return name;
    }
    let mut cut = name.get(..63).unwrap_or(name);
    while cut.len() > 1 && !END.as_ref().is_some_and(|end| end.is_match(cut)) {
        cut = &cut[..cut.len() - 1];
    }
    cut
}

fn check_texts(object: &Desired, field: &str) -> Result<(), String> {
    let map = object
        .value
        .pointer(&format!("/metadata/{field}"))
        .and_then(Value::as_object);
    let wrong = map
        .into_iter()
        .flatten()
        .find(|(_, value)| !value.is_string());
    let Some((key, value)) = wrong else {
        return Ok(());
    };
    let id = &object.id;
    let namespace = id.namespace.as_deref().unwrap_or_default();
    Err(format!(
        "failed to set app instance tracking info on manifest: failed to get {field} from target object {} \
         {namespace}/{}: .metadata.{field}: the value of `{key}` is {value}, which is no text",
        id.kind, id.name
    ))
}

/// Labels the pods of workloads too, as installations with the oldest label do.
fn label_template(object: &mut Desired, name: &str) {
    let is_workload = match object.id.group() {
        "apps" | "extensions" => ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"]
            .contains(&object.id.kind.as_str()),
        "batch" => object.id.kind == "Job",
        _ => false,
    };
    if !is_workload {
        return;
    }
    let mut node = &mut object.value;
    for key in ["spec", "template", "metadata", "labels"] {
        if !node.is_object() {
            *node = Value::Object(serde_json::Map::new());
        }
        node = &mut node[key];
    }
    if !node.is_object() {
        *node = Value::Object(serde_json::Map::new());
    }
    node[LEGACY_LABEL] = name.into();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::object::Origins;
    use serde_json::json;

    fn marked(settings: &Value, object: Value, instance: &str) -> Result<Value, String> {
        let mut object = Desired::new(object, Origins::default()).unwrap();
        Tracking::of(super::super::Settings(Some(settings))).mark(&mut object, instance, "dest")?;
        Ok(object.value["metadata"].clone())
    }

    #[test]
    fn marks_by_each_method() {
        let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "prod",
            "annotations": {INSTALLATION_ID: "other"}}});
        assert_eq!(
            marked(&json!({}), web.clone(), "shop").unwrap()["annotations"],
            json!({TRACKING_ID: "shop:apps/Deployment:prod/web"})
        );
        let label = json!({"data": {"application.resourceTrackingMethod": "label"}});
        assert_eq!(
            marked(&label, web.clone(), "shop").unwrap(),
            json!({"name": "web", "namespace": "prod", "labels": {INSTANCE_LABEL: "shop"},
                "annotations": {INSTALLATION_ID: "other"}})
        );
        let both = json!({"application.resourceTrackingMethod": "annotation+label", "installationID": "east"});
        let long = format!("{}-{}", "a".repeat(62), "b".repeat(10));
        let metadata = marked(&both, web, &long).unwrap();
        assert_eq!(metadata["labels"][INSTANCE_LABEL], "a".repeat(62));
        assert_eq!(metadata["annotations"][INSTALLATION_ID], "east");
    }

    #[test]
    fn leaves_definitions_alone_and_names_the_destination_of_cluster_scoped_ones() {
        let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"}});
        assert_eq!(
            marked(&json!({}), crd, "shop").unwrap(),
            json!({"name": "x"})
        );
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}});
        assert_eq!(
            marked(&json!({}), role, "shop").unwrap()["annotations"][TRACKING_ID],
            "shop:rbac.authorization.k8s.io/ClusterRole:dest/r"
        );
    }

    #[test]
    fn refuses_annotations_that_are_no_text() {
        let object =
            json!({"kind": "ConfigMap", "metadata": {"name": "x", "annotations": {"n": 5}}});
        assert!(
            marked(&json!({}), object, "shop")
                .unwrap_err()
                .contains("`n` is 5")
        );
    }
}
