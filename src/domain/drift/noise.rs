//! Fields that the cluster's own machinery writes on healthy objects: never a person's, never Git's.

use crate::domain::object::managed_fields::Entry;
use crate::domain::object::{FieldPath, ObjectId, PathStep};

const ANNOTATIONS: &[&str] = &[
    "deployment.kubernetes.io/",
    "deprecated.daemonset.template.generation",
    "pv.kubernetes.io/",
    "volume.kubernetes.io/",
    "volume.beta.kubernetes.io/",
    "autoscaling.alpha.kubernetes.io/",
    "control-plane.alpha.kubernetes.io/",
    "field.cattle.io/",
    "objectset.rio.cattle.io/",
    "cloud.google.com/neg",
    "kubectl.kubernetes.io/last-applied-configuration",
    "endpoints.kubernetes.io/",
    "meta.helm.sh/",
    "batch.kubernetes.io/job-tracking",
    "argocd.argoproj.io/tracking-id",
    "argocd.argoproj.io/installation-id",
];

const LABELS: &[&str] = &[
    "kubernetes.io/metadata.name",
    "kustomize.toolkit.fluxcd.io/",
    "helm.toolkit.fluxcd.io/",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
    "pod-template-hash",
    "controller-revision-hash",
];

fn key(path: &FieldPath, at: usize) -> Option<&str> {
    match path.0.get(at) {
        Some(PathStep::Key(key)) => Some(key),
        _ => None,
    }
}

/// Returns why a live-only field is the machinery's, where it is.
pub(super) fn known(id: &ObjectId, path: &FieldPath, holders: &[&Entry]) -> Option<&'static str> {
    let starts = |list: &[&str], key: &str| {
        list.iter()
            .any(|p| key == *p || (p.ends_with(['/', 'g']) && key.starts_with(p)))
    };
    match (key(path, 0), key(path, 1), key(path, 2)) {
        (Some("metadata"), Some("annotations"), Some(key)) if starts(ANNOTATIONS, key) => {
            return Some("written by the cluster's own controllers");
        }
        (Some("metadata"), Some("annotations"), Some(key))
            if key.ends_with("last-applied") || key.ends_with("/last-applied-configuration") =>
        {
            return Some("an applying tool's own copy of the object");
        }
        (Some("metadata"), Some("labels"), Some(key)) if starts(LABELS, key) => {
            return Some("written by the cluster's own controllers");
        }
        _ => {}
    }
    let controllers = [
        "kube-controller-manager",
        "kube-scheduler",
        "kubelet",
        "kube-apiserver",
        "cloud-controller-manager",
        "clusterrole-aggregation-controller",
    ];
    let theirs = !holders.is_empty()
        && holders.iter().all(|e| {
            controllers.contains(&e.manager.as_str()) && e.subresource.as_deref() != Some("scale")
        });
    if theirs
        || (allocated(id, path)
            && holders
                .iter()
                .all(|e| e.subresource.as_deref() == Some("status")))
    {
        return Some("allocated or written by the cluster's own controllers");
    }
    None
}

/// Tells whether the server allocates this field, so that it says nothing about a hand.
pub(super) fn allocated(id: &ObjectId, path: &FieldPath) -> bool {
    let last = path
        .0
        .iter()
        .rev()
        .find_map(|s| {
            if let PathStep::Key(k) = s {
                Some(k.as_str())
            } else {
                None
            }
        })
        .unwrap_or("");
    match id.kind.as_str() {
        "Service" => matches!(
            last,
            "clusterIP"
                | "clusterIPs"
                | "ipFamilies"
                | "ipFamilyPolicy"
                | "nodePort"
                | "healthCheckNodePort"
                | "externalTrafficPolicy"
                | "internalTrafficPolicy"
                | "allocateLoadBalancerNodePorts"
        ),
        "PersistentVolumeClaim" => matches!(
            last,
            "volumeName" | "storageClassName" | "volumeMode" | "dataSourceRef"
        ),
        "PersistentVolume" => matches!(last, "claimRef" | "uid" | "resourceVersion"),
        "Job" => {
            path.0
                .iter()
                .any(|s| matches!(s, PathStep::Key(k) if k == "selector"))
                || LABELS.contains(&last)
        }
        "Pod" => matches!(
            last,
            "nodeName"
                | "tolerations"
                | "serviceAccount"
                | "serviceAccountName"
                | "priority"
                | "preemptionPolicy"
                | "enableServiceLinks"
                | "restartPolicy"
                | "dnsPolicy"
                | "schedulerName"
                | "hostPort"
        ),
        "ServiceAccount" => last == "secrets",
        "Ingress" => last == "ingressClassName",
        "Namespace" => matches!(last, "finalizers" | "spec"),
        _ => false,
    }
}

/// Tells whether a value is Go's zero value, all the way down.
pub(super) fn is_zero(value: &serde_json::Value) -> bool {
    use serde_json::Value;
    match value {
        Value::Null => true,
        Value::Bool(set) => !set,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_zero),
    }
}
