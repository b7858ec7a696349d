//! What the API server fills in by itself, for the built-in kinds (semantics: kube-apiserver 1.37).
//!
//! A desired object with its defaults filled in tells a default that was replaced live from a field that was added.
//! A default that is missing here costs nothing as long as nobody owns the live field; a wrong one would hide a change,
//! so values are exact. Objects of other groups are left as they are.

use serde_json::{Map, Value, json};

use crate::domain::object::ObjectId;
use crate::domain::object::types::Node;

type Fields = Map<String, Value>;

/// Returns `desired` with the server's defaults filled in.
pub fn defaulted(id: &ObjectId, desired: &Value) -> Value {
    let mut value = desired.clone();
    let Some(object) = value.as_object_mut() else {
        return value;
    };
    match (id.group(), id.kind.as_str()) {
        ("apps", "Deployment") => with(object, "spec", deployment),
        ("apps", "StatefulSet") => with(object, "spec", stateful_set),
        ("apps", "DaemonSet") => with(object, "spec", daemon_set),
        ("apps", "ReplicaSet") | ("", "ReplicationController") => {
            with(object, "spec", |spec| {
                put(spec, "replicas", json!(1));
                template(spec, true);
            });
            labels_of_template(object, id.kind == "ReplicationController");
        }
        ("batch", "Job") => {
            with(object, "spec", job);
            labels_of_template(object, true);
        }
        ("batch", "CronJob") => with(object, "spec", cron_job),
        ("", "Pod") => with(object, "spec", |spec| {
            pod(spec, true);
            pod_only(spec);
        }),
        ("", "PodTemplate") => with(object, "template", |t| {
            with(t, "spec", |spec| pod(spec, true));
        }),
        ("", "Service") => with(object, "spec", service),
        ("", "Secret") => put(object, "type", json!("Opaque")),
        ("", "Namespace") => namespace(object),
        ("", "PersistentVolumeClaim") => with(object, "spec", |spec| {
            claim(spec);
            if let Some(source) = spec.get("dataSource").cloned() {
                put(spec, "dataSourceRef", source);
            }
        }),
        ("", "PersistentVolume") => with(object, "spec", |spec| {
            put(spec, "volumeMode", json!("Filesystem"));
            put(spec, "persistentVolumeReclaimPolicy", json!("Retain"));
            nested(spec, &["hostPath"], |path| put(path, "type", json!("")));
            nested(spec, &["claimRef"], |claim| {
                put(claim, "kind", json!("PersistentVolumeClaim"));
                put(claim, "apiVersion", json!("v1"));
            });
        }),
        ("", "Endpoints") => each(object, "subsets", |subset| each(subset, "ports", protocol)),
        ("discovery.k8s.io", "EndpointSlice") => {
            each(object, "ports", |port| {
                put(port, "name", json!(""));
                protocol(port);
            });
            each(object, "endpoints", |endpoint| {
                put(endpoint, "conditions", json!({}));
            });
        }
        ("networking.k8s.io", "NetworkPolicy") => with(object, "spec", network_policy),
        ("networking.k8s.io", "IngressClass") => {
            nested(object, &["spec", "parameters"], |parameters| {
                put(parameters, "scope", json!("Cluster"));
            });
        }
        ("autoscaling", "HorizontalPodAutoscaler") => {
            let first = id.version() == "v1";
            with(object, "spec", |spec| autoscaler(spec, first));
        }
        ("storage.k8s.io", "StorageClass") => {
            put(object, "reclaimPolicy", json!("Delete"));
            put(object, "volumeBindingMode", json!("Immediate"));
        }
        ("storage.k8s.io", "CSIDriver") => with(object, "spec", |spec| {
            put(spec, "fsGroupPolicy", json!("ReadWriteOnceWithFSType"));
            put(spec, "attachRequired", json!(true));
            put(spec, "volumeLifecycleModes", json!(["Persistent"]));
        }),
        ("scheduling.k8s.io", "PriorityClass") => {
            put(object, "preemptionPolicy", json!("PreemptLowerPriority"));
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => binding(object),
        ("admissionregistration.k8s.io", kind) => admission(object, kind),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => with(object, "spec", definition),
        ("apiregistration.k8s.io", "APIService") => {
            nested(object, &["spec", "service"], |service| {
                put(service, "port", json!(443));
            });
        }
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => {
            with(object, "spec", |spec| {
                put(spec, "matchingPrecedence", json!(1000));
            });
        }
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => {
            nested(object, &["spec", "limited"], |limited| {
                put(limited, "lendablePercent", json!(0));
                nested(limited, &["limitResponse", "queuing"], |queuing| {
                    put(queuing, "handSize", json!(8));
                    put(queuing, "queueLengthLimit", json!(50));
                    put(queuing, "queues", json!(64));
                });
            });
        }
        ("resource.k8s.io", "ResourceClaim") => with(object, "spec", device_claim),
        ("resource.k8s.io", "ResourceClaimTemplate") => with(object, "spec", |template| {
            put(template, "metadata", json!({}));
            with(template, "spec", device_claim);
        }),
        ("", "LimitRange") => with(object, "spec", |spec| each(spec, "limits", limit)),
        _ => {}
    }
    value
}

/// Fills in the defaults that a custom resource's schema states, as the server does: into objects that are there.
pub(super) fn fill(node: &Node<'_>, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, below) in node.declared() {
                if let Some(default) = below.default() {
                    let open = match map.get(key) {
                        None => true,
                        Some(value) => value.is_null() && !below.keeps_null(),
                    };
                    if open {
                        map.insert(key.to_owned(), default.clone());
                    }
                }
            }
            for (key, value) in map.iter_mut() {
                fill(&node.field(key), value);
            }
        }
        Value::Array(items) => {
            let item = node.item();
            for value in items {
                fill(&item, value);
            }
        }
        _ => {}
    }
}

/// Sets `key` where it is missing, null, or the empty value that the server takes for missing.
fn put(map: &mut Fields, key: &str, value: Value) {
    let missing = match map.get(key) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty() && value != json!(""),
        Some(Value::Object(inner)) => {
            inner.is_empty() && value.as_object().is_some_and(|v| !v.is_empty())
        }
        Some(Value::Array(items)) => {
            items.is_empty() && value.as_array().is_some_and(|v| !v.is_empty())
        }
        Some(_) => false,
    };
    if missing {
        map.insert(key.to_owned(), value);
    }
}

/// As [`put`], for numbers whose zero means the default.
fn put_nonzero(map: &mut Fields, key: &str, value: i64) {
    if map
        .get(key)
        .is_none_or(|v| v.is_null() || v.as_i64() == Some(0))
    {
        map.insert(key.to_owned(), json!(value));
    }
}

/// Runs `fill` on the map under `key`, made where it is missing.
fn with(map: &mut Fields, key: &str, fill: impl FnOnce(&mut Fields)) {
    let child = map.entry(key.to_owned()).or_insert_with(|| json!({}));
    if child.is_null() {
        *child = json!({});
    }
    if let Some(child) = child.as_object_mut() {
        fill(child);
    }
}

/// Runs `fill` on the map at `keys`, if it is there.
fn nested(map: &mut Fields, keys: &[&str], fill: impl FnOnce(&mut Fields)) {
    let Some((first, rest)) = keys.split_first() else {
        return fill(map);
    };
    if let Some(child) = map.get_mut(*first).and_then(Value::as_object_mut) {
        nested(child, rest, fill);
    }
}

/// Runs `fill` on each map of the list under `key`.
fn each(map: &mut Fields, key: &str, mut fill: impl FnMut(&mut Fields)) {
    for item in map
        .get_mut(key)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(item) = item.as_object_mut() {
            fill(item);
        }
    }
}

fn protocol(port: &mut Fields) {
    put(port, "protocol", json!("TCP"));
}

fn template(spec: &mut Fields, restart: bool) {
    nested(spec, &["template", "spec"], |spec| pod(spec, restart));
}

fn labels_of_template(object: &mut Fields, wanted: bool) {
    let labels = object
        .get("spec")
        .and_then(|s| s.pointer("/template/metadata/labels"))
        .cloned();
    let (true, Some(labels)) = (wanted, labels) else {
        return;
    };
    with(object, "metadata", |metadata| {
        put(metadata, "labels", labels);
    });
}

fn deployment(spec: &mut Fields) {
    put(spec, "replicas", json!(1));
    put(spec, "revisionHistoryLimit", json!(10));
    put(spec, "progressDeadlineSeconds", json!(600));
    with(spec, "strategy", |strategy| {
        put(strategy, "type", json!("RollingUpdate"));
        if strategy.get("type") == Some(&json!("RollingUpdate")) {
            with(strategy, "rollingUpdate", |update| {
                put(update, "maxSurge", json!("25%"));
                put(update, "maxUnavailable", json!("25%"));
            });
        }
    });
    template(spec, true);
}

fn stateful_set(spec: &mut Fields) {
    put(spec, "replicas", json!(1));
    put(spec, "revisionHistoryLimit", json!(10));
    put(spec, "podManagementPolicy", json!("OrderedReady"));
    with(spec, "updateStrategy", |strategy| {
        put(strategy, "type", json!("RollingUpdate"));
        if strategy.get("type") == Some(&json!("RollingUpdate")) {
            with(strategy, "rollingUpdate", |update| {
                put(update, "partition", json!(0));
                put(update, "maxUnavailable", json!(1));
            });
        }
    });
    with(spec, "persistentVolumeClaimRetentionPolicy", |policy| {
        put(policy, "whenDeleted", json!("Retain"));
        put(policy, "whenScaled", json!("Retain"));
    });
    each(spec, "volumeClaimTemplates", |claims| {
        put(claims, "apiVersion", json!("v1"));
        put(claims, "kind", json!("PersistentVolumeClaim"));
        nested(claims, &["spec"], claim);
    });
    template(spec, true);
}

fn daemon_set(spec: &mut Fields) {
    put(spec, "revisionHistoryLimit", json!(10));
    with(spec, "updateStrategy", |strategy| {
        put(strategy, "type", json!("RollingUpdate"));
        if strategy.get("type") == Some(&json!("RollingUpdate")) {
            with(strategy, "rollingUpdate", |update| {
                put(update, "maxUnavailable", json!(1));
                put(update, "maxSurge", json!(0));
            });
        }
    });
    template(spec, true);
}

fn job(spec: &mut Fields) {
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        put(spec, "completions", json!(1));
    }
    put(spec, "parallelism", json!(1));
    let indexed = spec.contains_key("backoffLimitPerIndex");
    put(
        spec,
        "backoffLimit",
        if indexed {
            json!(2_147_483_647)
        } else {
            json!(6)
        },
    );
    put(spec, "completionMode", json!("NonIndexed"));
    put(spec, "suspend", json!(false));
    put(spec, "manualSelector", json!(false));
    let policy = if spec.contains_key("podFailurePolicy") {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    put(spec, "podReplacementPolicy", json!(policy));
    nested(spec, &["podFailurePolicy"], |policy| {
        each(policy, "rules", |rule| {
            each(rule, "onPodConditions", |condition| {
                put(condition, "status", json!("True"));
            });
        });
    });
    template(spec, false);
}

fn cron_job(spec: &mut Fields) {
    put(spec, "concurrencyPolicy", json!("Allow"));
    put(spec, "suspend", json!(false));
    put(spec, "successfulJobsHistoryLimit", json!(3));
    put(spec, "failedJobsHistoryLimit", json!(1));
    nested(spec, &["jobTemplate", "spec"], |job| template(job, false));
}

fn pod(spec: &mut Fields, restart: bool) {
    if restart {
        put(spec, "restartPolicy", json!("Always"));
    }
    put(spec, "terminationGracePeriodSeconds", json!(30));
    put(spec, "dnsPolicy", json!("ClusterFirst"));
    put(spec, "schedulerName", json!("default-scheduler"));
    put(spec, "securityContext", json!({}));
    for (one, other) in [
        ("serviceAccountName", "serviceAccount"),
        ("serviceAccount", "serviceAccountName"),
    ] {
        if let Some(name) = spec
            .get(one)
            .filter(|v| v.as_str().is_some_and(|s| !s.is_empty()))
            .cloned()
        {
            put(spec, other, name);
        }
    }
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        each(spec, list, container);
    }
    each(spec, "volumes", volume);
}

/// Appends the tolerations that admission gives every Pod, where it has none for the same taint.
fn tolerations(spec: &mut Fields) {
    let Some(Value::Array(list)) = spec.get_mut("tolerations") else {
        return;
    };
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let covers = |one: &Value| {
            let is = |field: &str, text: &str| one.get(field).is_none_or(|v| v == text);
            is("key", key) && is("effect", "NoExecute")
        };
        if !list.is_empty() && !list.iter().any(covers) {
            list.push(json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}));
        }
    }
}

fn pod_only(spec: &mut Fields) {
    tolerations(spec);
    put(spec, "enableServiceLinks", json!(true));
    put(spec, "preemptionPolicy", json!("PreemptLowerPriority"));
    put(spec, "priority", json!(0));
    let host = spec.get("hostNetwork") == Some(&json!(true));
    for list in ["containers", "initContainers"] {
        each(spec, list, |container| {
            if host {
                each(container, "ports", |port| {
                    if let Some(number) = port.get("containerPort").cloned() {
                        put(port, "hostPort", number);
                    }
                });
            }
            let limits = container
                .get("resources")
                .and_then(|r| r.get("limits"))
                .and_then(Value::as_object)
                .cloned();
            for (name, amount) in limits.into_iter().flatten() {
                nested(container, &["resources"], |resources| {
                    with(resources, "requests", |requests| {
                        put(requests, &name, amount);
                    });
                });
            }
        });
    }
}

fn container(container: &mut Fields) {
    let image = container
        .get("image")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let last = image.rsplit('/').next().unwrap_or_default();
    let floating = !image.contains('@') && (!last.contains(':') || last.ends_with(":latest"));
    let policy = if floating { "Always" } else { "IfNotPresent" };
    put(container, "imagePullPolicy", json!(policy));
    put(
        container,
        "terminationMessagePath",
        json!("/dev/termination-log"),
    );
    put(container, "terminationMessagePolicy", json!("File"));
    put(container, "resources", json!({}));
    each(container, "ports", protocol);
    each(container, "env", |env| {
        nested(env, &["valueFrom", "fieldRef"], |field| {
            put(field, "apiVersion", json!("v1"));
        });
        nested(env, &["valueFrom", "resourceFieldRef"], |field| {
            put(field, "divisor", json!("0"));
        });
        nested(env, &["valueFrom", "fileKeyRef"], |file| {
            put(file, "optional", json!(false));
        });
    });
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        nested(container, &[name], |probe| {
            put_nonzero(probe, "timeoutSeconds", 1);
            put_nonzero(probe, "periodSeconds", 10);
            put_nonzero(probe, "successThreshold", 1);
            put_nonzero(probe, "failureThreshold", 3);
            nested(probe, &["httpGet"], http_get);
            nested(probe, &["grpc"], |grpc| put(grpc, "service", json!("")));
        });
    }
    for name in ["postStart", "preStop"] {
        nested(container, &["lifecycle", name, "httpGet"], http_get);
    }
}

fn device_claim(spec: &mut Fields) {
    nested(spec, &["devices"], |devices| {
        each(devices, "requests", |request| {
            nested(request, &["exactly"], device_request);
            each(request, "firstAvailable", device_request);
        });
    });
}

fn device_request(request: &mut Fields) {
    put(request, "allocationMode", json!("ExactCount"));
    if request.get("allocationMode") == Some(&json!("ExactCount")) {
        put(request, "count", json!(1));
    }
}

fn http_get(get: &mut Fields) {
    put(get, "scheme", json!("HTTP"));
    put(get, "path", json!("/"));
}

fn volume(volume: &mut Fields) {
    if volume.len() == 1 && volume.contains_key("name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for source in ["secret", "configMap", "projected", "downwardAPI"] {
        nested(volume, &[source], |source| {
            put(source, "defaultMode", json!(420));
        });
    }
    nested(volume, &["downwardAPI"], downward);
    nested(volume, &["projected"], |projected| {
        each(projected, "sources", |source| {
            nested(source, &["serviceAccountToken"], |token| {
                put(token, "expirationSeconds", json!(3600));
            });
            nested(source, &["downwardAPI"], downward);
        });
    });
    nested(volume, &["hostPath"], |path| put(path, "type", json!("")));
    nested(volume, &["iscsi"], |iscsi| {
        put(iscsi, "iscsiInterface", json!("default"));
    });
    nested(volume, &["rbd"], |rbd| {
        put(rbd, "pool", json!("rbd"));
        put(rbd, "user", json!("admin"));
        put(rbd, "keyring", json!("/etc/ceph/keyring"));
    });
    nested(volume, &["azureDisk"], |disk| {
        put(disk, "cachingMode", json!("ReadWrite"));
        put(disk, "kind", json!("Shared"));
        put(disk, "fsType", json!("ext4"));
        put(disk, "readOnly", json!(false));
    });
    nested(volume, &["ephemeral", "volumeClaimTemplate", "spec"], claim);
}

fn downward(source: &mut Fields) {
    each(source, "items", |item| {
        nested(item, &["fieldRef"], |field| {
            put(field, "apiVersion", json!("v1"));
        });
        nested(item, &["resourceFieldRef"], |field| {
            put(field, "divisor", json!("0"));
        });
    });
}

fn claim(spec: &mut Fields) {
    put(spec, "volumeMode", json!("Filesystem"));
}

fn service(spec: &mut Fields) {
    put(spec, "type", json!("ClusterIP"));
    put(spec, "sessionAffinity", json!("None"));
    let kind = spec
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    each(spec, "ports", |port| {
        protocol(port);
        if let Some(number) = port.get("port").cloned() {
            if kind != "ExternalName" || port.contains_key("targetPort") {
                put(port, "targetPort", number);
            }
            if port.get("targetPort").and_then(Value::as_i64) == Some(0) {
                port.insert(
                    "targetPort".to_owned(),
                    port.get("port").cloned().unwrap_or_default(),
                );
            }
        }
    });
    if spec.get("sessionAffinity") == Some(&json!("ClientIP")) {
        with(spec, "sessionAffinityConfig", |config| {
            with(config, "clientIP", |client| {
                put(client, "timeoutSeconds", json!(10_800));
            });
        });
    }
    if kind == "ExternalName" {
        return;
    }
    put(spec, "internalTrafficPolicy", json!("Cluster"));
    let external = spec
        .get("externalIPs")
        .and_then(Value::as_array)
        .is_some_and(|ips| !ips.is_empty());
    if matches!(kind.as_str(), "LoadBalancer" | "NodePort") || external {
        put(spec, "externalTrafficPolicy", json!("Cluster"));
    }
    if kind == "LoadBalancer" {
        put(spec, "allocateLoadBalancerNodePorts", json!(true));
    }
    if spec.get("clusterIP") == Some(&json!("None")) {
        put(spec, "clusterIPs", json!(["None"]));
    }
}

fn namespace(object: &mut Fields) {
    with(object, "spec", |spec| {
        put(spec, "finalizers", json!(["kubernetes"]));
    });
    let name = object
        .get("metadata")
        .and_then(|m| m.get("name"))
        .cloned()
        .unwrap_or_default();
    with(object, "metadata", |metadata| {
        with(metadata, "labels", |labels| {
            put(labels, "kubernetes.io/metadata.name", name);
        });
    });
}

fn network_policy(spec: &mut Fields) {
    for list in ["ingress", "egress"] {
        each(spec, list, |rule| each(rule, "ports", protocol));
    }
    let egress = spec
        .get("egress")
        .and_then(Value::as_array)
        .is_some_and(|rules| !rules.is_empty());
    put(
        spec,
        "policyTypes",
        if egress {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        },
    );
    put(spec, "podSelector", json!({}));
}

fn autoscaler(spec: &mut Fields, first: bool) {
    put(spec, "minReplicas", json!(1));
    if first {
        return put(spec, "targetCPUUtilizationPercentage", json!(80));
    }
    put(
        spec,
        "metrics",
        json!([{"type": "Resource", "resource": {"name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 80}}}]),
    );
    if !spec.get("behavior").is_some_and(Value::is_object) {
        return;
    }
    with(spec, "behavior", |behavior| {
        with(behavior, "scaleUp", |rules| {
            put(rules, "stabilizationWindowSeconds", json!(0));
            put(rules, "selectPolicy", json!("Max"));
            put(
                rules,
                "policies",
                json!([
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15}]),
            );
        });
        with(behavior, "scaleDown", |rules| {
            put(rules, "selectPolicy", json!("Max"));
            put(
                rules,
                "policies",
                json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]),
            );
        });
    });
}

fn binding(object: &mut Fields) {
    with(object, "roleRef", |role| {
        put(role, "apiGroup", json!("rbac.authorization.k8s.io"));
    });
    each(object, "subjects", |subject| {
        if subject.get("kind") != Some(&json!("ServiceAccount")) {
            put(subject, "apiGroup", json!("rbac.authorization.k8s.io"));
        }
    });
}

fn admission(object: &mut Fields, kind: &str) {
    match kind {
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            each(object, "webhooks", |hook| {
                put(hook, "failurePolicy", json!("Fail"));
                put(hook, "matchPolicy", json!("Equivalent"));
                put(hook, "namespaceSelector", json!({}));
                put(hook, "objectSelector", json!({}));
                put_nonzero(hook, "timeoutSeconds", 10);
                if kind.starts_with("Mutating") {
                    put(hook, "reinvocationPolicy", json!("Never"));
                }
                each(hook, "rules", |rule| put(rule, "scope", json!("*")));
                nested(hook, &["clientConfig", "service"], |service| {
                    put(service, "port", json!(443));
                });
            });
        }
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => with(object, "spec", |spec| {
            put(spec, "failurePolicy", json!("Fail"));
            nested(spec, &["matchConstraints"], constraints);
        }),
        _ => nested(object, &["spec", "matchResources"], constraints),
    }
}

fn constraints(matches: &mut Fields) {
    put(matches, "matchPolicy", json!("Equivalent"));
    put(matches, "namespaceSelector", json!({}));
    put(matches, "objectSelector", json!({}));
    for list in ["resourceRules", "excludeResourceRules"] {
        each(matches, list, |rule| put(rule, "scope", json!("*")));
    }
}

fn definition(spec: &mut Fields) {
    with(spec, "conversion", |conversion| {
        put(conversion, "strategy", json!("None"));
        nested(
            conversion,
            &["webhook", "clientConfig", "service"],
            |service| {
                put(service, "port", json!(443));
            },
        );
    });
    nested(spec, &["names"], |names| {
        let kind = names
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        put(names, "singular", json!(kind.to_lowercase()));
        put(names, "listKind", json!(format!("{kind}List")));
    });
}

fn limit(limit: &mut Fields) {
    if limit.get("type") != Some(&json!("Container")) {
        return;
    }
    for (from, to) in [
        ("max", "default"),
        ("default", "defaultRequest"),
        ("min", "defaultRequest"),
    ] {
        for (name, amount) in limit
            .get(from)
            .and_then(Value::as_object)
            .cloned()
            .into_iter()
            .flatten()
        {
            with(limit, to, |target| put(target, &name, amount));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(value: &Value) -> Value {
        defaulted(&ObjectId::of(value).unwrap(), value)
    }

    #[test]
    fn fills_a_deployment() {
        let value = filled(
            &json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"strategy": {}, "template": {"spec": {"containers": [
                {"name": "c", "image": "host:5000/x", "livenessProbe": {"timeoutSeconds": 0, "httpGet": {"port": 1}}}]}}}}),
        );
        let container = &value["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["imagePullPolicy"], "Always");
        assert_eq!(container["livenessProbe"]["timeoutSeconds"], 1);
        assert_eq!(container["livenessProbe"]["httpGet"]["scheme"], "HTTP");
        assert_eq!(
            value["spec"]["strategy"]["rollingUpdate"]["maxSurge"],
            "25%"
        );
        assert_eq!(value["spec"]["replicas"], 1);
    }

    #[test]
    fn leaves_other_groups_alone() {
        let value = json!({"apiVersion": "lab.example.test/v1", "kind": "Deployment", "metadata": {"name": "a"}});
        assert_eq!(filled(&value), value);
    }
}
