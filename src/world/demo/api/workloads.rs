//! What kube-controller-manager writes after a workload changed: its status and a Deployment's revision annotation.
//!
//! The demo has no nodes; its Pods are ready at once, so that health says nothing that the engines do not say.

use serde_json::{Value, json};

use super::kinds::Kind;

/// Returns the object with the status that its specification deserves; `None` where there is nothing to write.
pub(super) fn settle(
    kind: &Kind,
    live: Option<&Value>,
    object: &Value,
    now: &str,
) -> Option<Value> {
    let mut settled = object.clone();
    match kind.kind {
        "Deployment" => deployment(live, &mut settled, now),
        "StatefulSet" => {
            let replicas = object["spec"]["replicas"].clone();
            settled["status"] = json!({
                "observedGeneration": object["metadata"]["generation"], "replicas": replicas, "readyReplicas": replicas,
                "availableReplicas": replicas, "currentReplicas": replicas, "updatedReplicas": replicas,
                "collisionCount": 0,
            });
        }
        "HorizontalPodAutoscaler" if object["status"]["desiredReplicas"].is_null() => {
            settled["status"] = json!({"currentReplicas": object["spec"]["minReplicas"],
                "desiredReplicas": object["spec"]["minReplicas"], "conditions": [], "currentMetrics": []});
        }
        "PodDisruptionBudget" => {
            settled["status"] = json!({
                "observedGeneration": object["metadata"]["generation"], "currentHealthy": 2, "desiredHealthy": 1,
                "disruptionsAllowed": 1, "expectedPods": 2,
            });
        }
        _ => return None,
    }
    (settled != *object).then_some(settled)
}

fn deployment(live: Option<&Value>, object: &mut Value, now: &str) {
    let same_pods = live.is_some_and(|l| l["spec"]["template"] == object["spec"]["template"]);
    let revision = live
        .and_then(|l| l["metadata"]["annotations"]["deployment.kubernetes.io/revision"].as_str())
        .and_then(|r| r.parse::<u32>().ok())
        .map_or(1, |r| r + u32::from(!same_pods));
    if !object["metadata"]["annotations"].is_object() {
        object["metadata"]["annotations"] = json!({});
    }
    object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] =
        revision.to_string().into();
    let since = |kind: &str, at: &str| {
        let conditions = live.and_then(|l| l["status"]["conditions"].as_array());
        conditions
            .into_iter()
            .flatten()
            .find(|c| c["type"] == kind)
            .map_or_else(|| now.into(), |c| c[at].clone())
    };
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let updated = if same_pods {
        since("Progressing", "lastUpdateTime")
    } else {
        now.into()
    };
    let replicas = object["spec"]["replicas"].clone();
    object["status"] = json!({
        "observedGeneration": object["metadata"]["generation"], "replicas": replicas, "readyReplicas": replicas,
        "availableReplicas": replicas, "updatedReplicas": replicas, "terminatingReplicas": 0,
        "conditions": [
            {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
             "message": "Deployment has minimum availability.", "lastUpdateTime": since("Available", "lastUpdateTime"),
             "lastTransitionTime": since("Available", "lastTransitionTime")},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable",
             "message": format!("ReplicaSet \"{name}-{revision:x}\" has successfully progressed."),
             "lastUpdateTime": updated, "lastTransitionTime": since("Progressing", "lastTransitionTime")},
        ],
    });
}
