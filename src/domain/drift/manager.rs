//! Whose hand a field manager is: a person's, an automation's, the GitOps engine's.
//!
//! managedFields names a tool, never a person; so a screen says "via kubectl-edit". Unknown names are taken for a
//! person's when it comes to urgency, but they are said to be unknown.

use super::OwnerClass;

const GITOPS: &[&str] = &[
    "kustomize-controller",
    "helm-controller",
    "source-controller",
    "image-automation-controller",
    "flux",
    "flux-client-side-apply",
    "argocd-controller",
    "argocd-application-controller",
    "argocd-applicationset-controller",
    "argocd",
    "helm",
    "flux-operator",
];

const PERSON: &[&str] = &[
    "k9s",
    "node-fetch",
    "Mozilla",
    "Headlamp",
    "headlamp",
    "freelens",
    "lens",
    "Lens",
    "OpenLens",
    "dashboard",
    "oc",
    "kubectl",
    "Go-http-client",
    "python-requests",
    "OpenAPI-Generator",
    "curl",
    "Wget",
    "argocd-server",
    "gitops-tui",
    "okhttp",
    "PostmanRuntime",
    "insomnia",
    "HTTPie",
    "kubie",
    "kubens",
    "octant",
];

const AUTOMATION: &[&str] = &[
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-apiserver",
    "cloud-controller-manager",
    "clusterrole-aggregation-controller",
    "cluster-autoscaler",
    "vpa-recommender",
    "vpa-updater",
    "vpa-admission-controller",
    "keda",
    "keda-operator",
    "cainjector",
    "cert-manager-cainjector",
    "sealed-secrets",
    "controller",
    "PrometheusOperator",
    "pilot-discovery",
    "flagger",
    "argo-rollouts",
    "rollouts-controller",
    "gatekeeper",
    "rancher",
    "agent",
    "karpenter",
    "manager",
    "before-first-apply",
    "terraform",
    "Terraform",
    "HashiCorp",
    "pulumi",
];

const AUTOMATION_PREFIXES: &[&str] = &[
    "cert-manager",
    "external-secrets",
    "istio",
    "linkerd",
    "kyverno",
    "velero",
    "prometheus-operator",
    "pulumi",
    "cloud-provider",
    "gke-",
    "eks-",
    "aks-",
    "openshift-",
    "datadog",
    "crossplane",
    "argo-",
    "knative",
    "tekton",
];

/// Returns whose hand a manager is.
pub fn classify(manager: &str) -> OwnerClass {
    let name = manager.split('/').next().unwrap_or(manager);
    if name.is_empty() || name == "unknown" || name == "ancient-changes" {
        return OwnerClass::Unknown;
    }
    if GITOPS.contains(&name) || name.starts_with("gotk-") {
        return OwnerClass::Gitops;
    }
    if PERSON.contains(&name) || name.starts_with("kubectl-") {
        return OwnerClass::Person;
    }
    let automation = AUTOMATION.contains(&name)
        || AUTOMATION_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
        || [
            "-operator",
            "-controller",
            "-manager",
            "-injector",
            "-webhook",
            "-autoscaler",
            "controller",
        ]
        .iter()
        .any(|suffix| name.ends_with(suffix));
    if automation {
        OwnerClass::Automation
    } else {
        OwnerClass::Unknown
    }
}

/// Tells whether Flux's kustomize-controller takes over what this manager owns, and so removes it at its next pass.
pub(super) fn taken_over_by_flux(
    manager: &str,
    operation: &str,
    subresource: Option<&str>,
) -> bool {
    subresource.is_none()
        && (manager.starts_with("kubectl")
            || (operation == "Update"
                && (manager.starts_with("before-first-apply")
                    || manager.starts_with("kustomize-controller"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_hands() {
        let table = [
            ("kubectl-edit", OwnerClass::Person),
            ("kubectl", OwnerClass::Person),
            ("Mozilla", OwnerClass::Person),
            ("kustomize-controller", OwnerClass::Gitops),
            ("argocd-controller", OwnerClass::Gitops),
            ("kube-controller-manager", OwnerClass::Automation),
            ("cert-manager-cainjector", OwnerClass::Automation),
            ("mesh-injector", OwnerClass::Automation),
            ("my-operator", OwnerClass::Automation),
            ("ancient-changes", OwnerClass::Unknown),
            ("tool-05", OwnerClass::Unknown),
        ];
        for (manager, class) in table {
            assert_eq!(classify(manager), class, "{manager}");
        }
    }

    #[test]
    fn flux_takes_over_kubectl_but_not_its_scale() {
        assert!(taken_over_by_flux("kubectl-edit", "Update", None));
        assert!(!taken_over_by_flux("kubectl", "Update", Some("scale")));
        assert!(!taken_over_by_flux("k9s", "Apply", None));
    }
}
