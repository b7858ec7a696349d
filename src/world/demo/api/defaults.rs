//! What a real server fills in: defaults and allocations of the built-in kinds that the demo's manifests use.
//!
//! The tests lay these over manifests whose live form a real kube-apiserver recorded.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::kinds::Kind;

/// Fills in defaults; `live` keeps what was allocated before.
pub(super) fn fill(kind: &Kind, object: &mut Value, live: Option<&Value>) {
    if kind.traits.custom {
        return;
    }
    drop_empties(object);
    match kind.kind {
        "Deployment" => deployment(object),
        "StatefulSet" => stateful_set(object),
        "DaemonSet" => daemon_set(object),
        "CronJob" => cron_job(object),
        "Pod" => pod(&mut object["spec"]),
        "Service" => service(object, live),
        "HorizontalPodAutoscaler" => default(&mut object["spec"], "minReplicas", json!(1)),
        "NetworkPolicy" => network_policy(object),
        "Secret" => secret(object),
        "Namespace" => namespace(object),
        "PersistentVolumeClaim" => default(&mut object["spec"], "volumeMode", json!("Filesystem")),
        "RoleBinding" | "ClusterRoleBinding" => {
            default(
                &mut object["roleRef"],
                "apiGroup",
                json!("rbac.authorization.k8s.io"),
            );
        }
        _ => {}
    }
}

/// Sets a field that is not there, or is `null`.
fn default(node: &mut Value, key: &str, value: Value) {
    if !node.is_object() {
        if !node.is_null() {
            return;
        }
        *node = json!({});
    }
    if node[key].is_null() {
        node[key] = value;
    }
}

/// Takes out what Go's types do not keep: nulls, and empty lists.
fn drop_empties(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, below| !below.is_null() && !below.as_array().is_some_and(Vec::is_empty));
            map.values_mut().for_each(drop_empties);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_empties),
        _ => {}
    }
}

fn deployment(object: &mut Value) {
    let spec = &mut object["spec"];
    default(spec, "replicas", json!(1));
    default(spec, "revisionHistoryLimit", json!(10));
    default(spec, "progressDeadlineSeconds", json!(600));
    default(spec, "strategy", json!({}));
    default(&mut spec["strategy"], "type", json!("RollingUpdate"));
    if spec["strategy"]["type"] == "RollingUpdate" {
        let strategy = &mut spec["strategy"];
        default(strategy, "rollingUpdate", json!({}));
        default(&mut strategy["rollingUpdate"], "maxSurge", json!("25%"));
        default(
            &mut strategy["rollingUpdate"],
            "maxUnavailable",
            json!("25%"),
        );
    }
    template(spec);
}

fn stateful_set(object: &mut Value) {
    let spec = &mut object["spec"];
    default(spec, "replicas", json!(1));
    default(spec, "revisionHistoryLimit", json!(10));
    default(spec, "podManagementPolicy", json!("OrderedReady"));
    default(spec, "updateStrategy", json!({}));
    default(&mut spec["updateStrategy"], "type", json!("RollingUpdate"));
    if spec["updateStrategy"]["type"] == "RollingUpdate" {
        default(&mut spec["updateStrategy"], "rollingUpdate", json!({}));
        let rolling = &mut spec["updateStrategy"]["rollingUpdate"];
        default(rolling, "partition", json!(0));
        default(rolling, "maxUnavailable", json!(1));
    }
    default(
        spec,
        "persistentVolumeClaimRetentionPolicy",
        json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
    );
    for claim in items(spec, "volumeClaimTemplates") {
        default(claim, "apiVersion", json!("v1"));
        default(claim, "kind", json!("PersistentVolumeClaim"));
        default(&mut claim["spec"], "volumeMode", json!("Filesystem"));
        default(claim, "status", json!({"phase": "Pending"}));
    }
    template(spec);
}

fn daemon_set(object: &mut Value) {
    let spec = &mut object["spec"];
    default(spec, "revisionHistoryLimit", json!(10));
    default(spec, "updateStrategy", json!({}));
    default(&mut spec["updateStrategy"], "type", json!("RollingUpdate"));
    if spec["updateStrategy"]["type"] == "RollingUpdate" {
        default(&mut spec["updateStrategy"], "rollingUpdate", json!({}));
        let rolling = &mut spec["updateStrategy"]["rollingUpdate"];
        default(rolling, "maxUnavailable", json!(1));
        default(rolling, "maxSurge", json!(0));
    }
    template(spec);
}

fn cron_job(object: &mut Value) {
    let spec = &mut object["spec"];
    default(spec, "concurrencyPolicy", json!("Allow"));
    default(spec, "suspend", json!(false));
    default(spec, "successfulJobsHistoryLimit", json!(3));
    default(spec, "failedJobsHistoryLimit", json!(1));
    default(&mut spec["jobTemplate"], "metadata", json!({}));
    let job = &mut spec["jobTemplate"]["spec"];
    default(&mut job["template"], "metadata", json!({}));
    template(job);
}

fn template(spec: &mut Value) {
    default(&mut spec["template"], "metadata", json!({}));
    pod(&mut spec["template"]["spec"]);
}

fn pod(spec: &mut Value) {
    default(spec, "restartPolicy", json!("Always"));
    default(spec, "terminationGracePeriodSeconds", json!(30));
    default(spec, "dnsPolicy", json!("ClusterFirst"));
    default(spec, "schedulerName", json!("default-scheduler"));
    default(spec, "securityContext", json!({}));
    let name = spec.get("serviceAccountName").cloned();
    let old = spec.get("serviceAccount").cloned();
    if let Some(name) = name.or(old) {
        spec["serviceAccountName"] = name.clone();
        spec["serviceAccount"] = name;
    }
    for list in ["initContainers", "containers"] {
        items(spec, list).for_each(container);
    }
    items(spec, "volumes").for_each(volume);
}

fn items<'v>(node: &'v mut Value, key: &str) -> impl Iterator<Item = &'v mut Value> {
    node.get_mut(key)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

fn container(container: &mut Value) {
    let image = container["image"].as_str().unwrap_or_default();
    let tag = image
        .rsplit('/')
        .next()
        .and_then(|last| last.split_once(':'));
    let pinned = image.contains('@') || tag.is_some_and(|(_, tag)| tag != "latest");
    let policy = if pinned { "IfNotPresent" } else { "Always" };
    default(container, "imagePullPolicy", json!(policy));
    default(
        container,
        "terminationMessagePath",
        json!("/dev/termination-log"),
    );
    default(container, "terminationMessagePolicy", json!("File"));
    default(container, "resources", json!({}));
    for port in items(container, "ports") {
        default(port, "protocol", json!("TCP"));
    }
    for env in items(container, "env") {
        if let Some(field) = env.pointer_mut("/valueFrom/fieldRef") {
            default(field, "apiVersion", json!("v1"));
        }
        if let Some(field) = env.pointer_mut("/valueFrom/resourceFieldRef") {
            default(field, "divisor", json!("0"));
        }
        if env["value"] == ""
            && let Some(env) = env.as_object_mut()
        {
            env.remove("value");
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(name) {
            default(probe, "timeoutSeconds", json!(1));
            default(probe, "periodSeconds", json!(10));
            default(probe, "successThreshold", json!(1));
            default(probe, "failureThreshold", json!(3));
            if let Some(get) = probe.get_mut("httpGet") {
                default(get, "path", json!("/"));
                default(get, "scheme", json!("HTTP"));
            }
        }
    }
}

fn volume(volume: &mut Value) {
    for name in ["secret", "configMap", "projected", "downwardAPI"] {
        if let Some(source) = volume.get_mut(name) {
            default(source, "defaultMode", json!(420));
        }
    }
    for source in volume
        .get_mut("projected")
        .into_iter()
        .flat_map(|p| items(p, "sources"))
    {
        if let Some(token) = source.get_mut("serviceAccountToken") {
            default(token, "expirationSeconds", json!(3600));
        }
    }
    if let Some(path) = volume.get_mut("hostPath") {
        default(path, "type", json!(""));
    }
}

fn service(object: &mut Value, live: Option<&Value>) {
    let name = object
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let namespace = object
        .pointer("/metadata/namespace")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let hash = Sha256::digest(format!("{namespace}/{name}"));
    let address = json!(format!("10.96.{}.{}", hash[0] % 64, 1 + hash[1] % 250));
    let spec = &mut object["spec"];
    default(spec, "sessionAffinity", json!("None"));
    default(spec, "type", json!("ClusterIP"));
    if spec["type"] == "ExternalName" {
        return;
    }
    for port in items(spec, "ports") {
        default(port, "protocol", json!("TCP"));
        let number = port["port"].clone();
        default(port, "targetPort", number);
    }
    default(spec, "internalTrafficPolicy", json!("Cluster"));
    if spec["type"] != "ClusterIP" {
        default(spec, "externalTrafficPolicy", json!("Cluster"));
    }
    if spec["type"] == "LoadBalancer" {
        default(spec, "allocateLoadBalancerNodePorts", json!(true));
    }
    let kept = |key: &str| {
        live.and_then(|l| l.get("spec"))
            .and_then(|s| s.get(key))
            .cloned()
    };
    default(spec, "clusterIP", kept("clusterIP").unwrap_or(address));
    let one = json!([spec["clusterIP"]]);
    default(spec, "clusterIPs", one);
    default(spec, "ipFamilies", json!(["IPv4"]));
    default(spec, "ipFamilyPolicy", json!("SingleStack"));
}

fn network_policy(object: &mut Value) {
    let spec = &mut object["spec"];
    default(spec, "podSelector", json!({}));
    let mut types = vec!["Ingress"];
    if spec["egress"].as_array().is_some_and(|e| !e.is_empty()) {
        types.push("Egress");
    }
    default(spec, "policyTypes", json!(types));
    for rules in ["ingress", "egress"] {
        for rule in items(spec, rules) {
            for port in items(rule, "ports") {
                default(port, "protocol", json!("TCP"));
            }
        }
    }
}

fn secret(object: &mut Value) {
    use base64::Engine as _;
    default(object, "type", json!("Opaque"));
    let Some(root) = object.as_object_mut() else {
        return;
    };
    let Some(Value::Object(plain)) = root.remove("stringData") else {
        return;
    };
    let data = root
        .entry("data")
        .or_insert_with(|| Value::Object(Map::new()));
    for (key, value) in plain {
        let text = value.as_str().unwrap_or_default();
        data[key.as_str()] = base64::engine::general_purpose::STANDARD
            .encode(text)
            .into();
    }
}

fn namespace(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    default(&mut object["spec"], "finalizers", json!(["kubernetes"]));
    default(&mut object["metadata"], "labels", json!({}));
    object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
    default(object, "status", json!({"phase": "Active"}));
}
