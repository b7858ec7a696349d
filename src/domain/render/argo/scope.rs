//! Which kinds have no namespace.
//!
//! The server asks the cluster. Here three witnesses stand in for it: the built-in kinds, the definitions that are
//! rendered along, and what the Application's status says of objects of the kind. A kind that none of them knows counts
//! as namespaced, as it does in Argo CD when the cluster does not know it.

use std::collections::HashSet;

use serde_json::Value;

use crate::domain::object::Desired;

/// Built-in kinds without a namespace, as `GROUP/KIND`.
const BUILT_IN: &[&str] = &[
    "/ComponentStatus",
    "/Namespace",
    "/Node",
    "/PersistentVolume",
    "admissionregistration.k8s.io/MutatingAdmissionPolicy",
    "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/MutatingWebhookConfiguration",
    "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
    "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
    "apiextensions.k8s.io/CustomResourceDefinition",
    "apiregistration.k8s.io/APIService",
    "authentication.k8s.io/SelfSubjectReview",
    "authentication.k8s.io/TokenReview",
    "authorization.k8s.io/SelfSubjectAccessReview",
    "authorization.k8s.io/SelfSubjectRulesReview",
    "authorization.k8s.io/SubjectAccessReview",
    "certificates.k8s.io/CertificateSigningRequest",
    "certificates.k8s.io/ClusterTrustBundle",
    "flowcontrol.apiserver.k8s.io/FlowSchema",
    "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
    "internal.apiserver.k8s.io/StorageVersion",
    "networking.k8s.io/IPAddress",
    "networking.k8s.io/IngressClass",
    "networking.k8s.io/ServiceCIDR",
    "node.k8s.io/RuntimeClass",
    "policy/PodSecurityPolicy",
    "rbac.authorization.k8s.io/ClusterRole",
    "rbac.authorization.k8s.io/ClusterRoleBinding",
    "resource.k8s.io/DeviceClass",
    "resource.k8s.io/DeviceTaintRule",
    "resource.k8s.io/ResourceSlice",
    "scheduling.k8s.io/PriorityClass",
    "storage.k8s.io/CSIDriver",
    "storage.k8s.io/CSINode",
    "storage.k8s.io/StorageClass",
    "storage.k8s.io/VolumeAttachment",
    "storage.k8s.io/VolumeAttributesClass",
    "storagemigration.k8s.io/StorageVersionMigration",
];

/// What is known about scopes while one app is rendered.
pub(super) struct Scopes(HashSet<String>);

impl Scopes {
    /// Collects what the rendered definitions and the Application's status say.
    pub(super) fn of(app: &Value, objects: &[Desired]) -> Self {
        let mut cluster: HashSet<String> = BUILT_IN.iter().map(|kind| (*kind).to_owned()).collect();
        let has_destination = app
            .pointer("/spec/destination/namespace")
            .and_then(Value::as_str)
            .is_some_and(|namespace| !namespace.is_empty());
        // without a destination namespace, objects of any kind may be listed without one
        let resources = app
            .pointer("/status/resources")
            .and_then(Value::as_array)
            .filter(|_| has_destination);
        for resource in resources.into_iter().flatten() {
            let text = |key: &str| {
                resource
                    .get(key)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            };
            if text("namespace").is_empty() && !text("kind").is_empty() {
                cluster.insert(format!("{}/{}", text("group"), text("kind")));
            }
        }
        for object in objects
            .iter()
            .filter(|object| object.id.kind == "CustomResourceDefinition")
        {
            let text = |pointer: &str| {
                object
                    .value
                    .pointer(pointer)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            };
            let kind = format!("{}/{}", text("/spec/group"), text("/spec/names/kind"));
            match text("/spec/scope") {
                "Cluster" => drop(cluster.insert(kind)),
                "Namespaced" => drop(cluster.remove(&kind)),
                _ => {}
            }
        }
        Self(cluster)
    }

    /// Tells whether objects of this kind have no namespace.
    pub(super) fn is_cluster_scoped(&self, object: &Desired) -> bool {
        self.0
            .contains(&format!("{}/{}", object.id.group(), object.id.kind))
    }
}
