//! The kinds that the demo's API server serves: a plain table, read by routing, discovery and the write path.
//!
//! Built-in kinds are those that the demo's manifests use or that a curious engineer lists; the custom ones are Flux's
//! and Argo CD's, at the versions current controllers serve.

/// One served resource.
#[expect(
    clippy::struct_field_names,
    reason = "Kubernetes calls it the kind of a kind"
)]
#[derive(Debug, PartialEq, Eq)]
pub(in crate::world::demo) struct Kind {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// `v1`.
    pub version: &'static str,
    /// `Deployment`.
    pub kind: &'static str,
    /// `deployments`.
    pub plural: &'static str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Short names, as `kubectl` takes them.
    pub short: &'static [&'static str],
    /// What else its objects have.
    pub traits: Traits,
}

/// What the server keeps for a kind besides the object itself.
#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent properties of a row"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::world::demo) struct Traits {
    /// `metadata.generation` counts changes of the specification.
    pub generation: bool,
    /// `status` is written through its own subresource and never through the main one.
    pub status: bool,
    /// `spec.replicas` may be written through `scale`.
    pub scale: bool,
    /// A custom resource: no defaulting of ours, lists atomic, no strategic merge.
    pub custom: bool,
}

const DATA: Traits = Traits {
    generation: false,
    status: false,
    scale: false,
    custom: false,
};
const SPEC: Traits = Traits {
    generation: true,
    ..DATA
};
const LIVING: Traits = Traits {
    status: true,
    ..SPEC
};
const SCALED: Traits = Traits {
    scale: true,
    ..LIVING
};
/// Has a status subresource but no generation (Service, Namespace).
const PLAIN: Traits = Traits {
    status: true,
    ..DATA
};
const CUSTOM: Traits = Traits {
    custom: true,
    ..LIVING
};
/// Argo CD's Application: one resource version, no status subresource.
const CUSTOM_WHOLE: Traits = Traits {
    custom: true,
    ..SPEC
};

/// Every served resource, core group first, then groups by name.
pub(in crate::world::demo) static KINDS: &[Kind] = &[
    kind("", "v1", "ConfigMap", "configmaps", &["cm"], DATA),
    kind("", "v1", "Event", "events", &["ev"], DATA),
    cluster("", "v1", "Namespace", "namespaces", &["ns"], PLAIN),
    kind(
        "",
        "v1",
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        &["pvc"],
        PLAIN,
    ),
    kind("", "v1", "Pod", "pods", &["po"], LIVING),
    kind("", "v1", "Secret", "secrets", &[], DATA),
    kind("", "v1", "Service", "services", &["svc"], PLAIN),
    kind("", "v1", "ServiceAccount", "serviceaccounts", &["sa"], DATA),
    kind("apps", "v1", "DaemonSet", "daemonsets", &["ds"], LIVING),
    kind(
        "apps",
        "v1",
        "Deployment",
        "deployments",
        &["deploy"],
        SCALED,
    ),
    kind("apps", "v1", "ReplicaSet", "replicasets", &["rs"], SCALED),
    kind(
        "apps",
        "v1",
        "StatefulSet",
        "statefulsets",
        &["sts"],
        SCALED,
    ),
    kind(
        "argoproj.io",
        "v1alpha1",
        "Application",
        "applications",
        &["app", "apps"],
        CUSTOM_WHOLE,
    ),
    kind(
        "argoproj.io",
        "v1alpha1",
        "ApplicationSet",
        "applicationsets",
        &["appset", "appsets"],
        CUSTOM,
    ),
    kind(
        "argoproj.io",
        "v1alpha1",
        "AppProject",
        "appprojects",
        &["appproj", "appprojs"],
        CUSTOM_WHOLE,
    ),
    kind(
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        &["hpa"],
        PLAIN,
    ),
    kind("batch", "v1", "CronJob", "cronjobs", &["cj"], LIVING),
    kind("batch", "v1", "Job", "jobs", &[], LIVING),
    kind(
        "helm.toolkit.fluxcd.io",
        "v2",
        "HelmRelease",
        "helmreleases",
        &["hr"],
        CUSTOM,
    ),
    kind(
        "kustomize.toolkit.fluxcd.io",
        "v1",
        "Kustomization",
        "kustomizations",
        &["ks"],
        CUSTOM,
    ),
    kind(
        "networking.k8s.io",
        "v1",
        "Ingress",
        "ingresses",
        &["ing"],
        LIVING,
    ),
    kind(
        "networking.k8s.io",
        "v1",
        "NetworkPolicy",
        "networkpolicies",
        &["netpol"],
        SPEC,
    ),
    kind(
        "policy",
        "v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        &["pdb"],
        LIVING,
    ),
    cluster(
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRole",
        "clusterroles",
        &[],
        DATA,
    ),
    cluster(
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRoleBinding",
        "clusterrolebindings",
        &[],
        DATA,
    ),
    kind(
        "rbac.authorization.k8s.io",
        "v1",
        "Role",
        "roles",
        &[],
        DATA,
    ),
    kind(
        "rbac.authorization.k8s.io",
        "v1",
        "RoleBinding",
        "rolebindings",
        &[],
        DATA,
    ),
    kind(
        "source.toolkit.fluxcd.io",
        "v1",
        "Bucket",
        "buckets",
        &[],
        CUSTOM,
    ),
    kind(
        "source.toolkit.fluxcd.io",
        "v1",
        "GitRepository",
        "gitrepositories",
        &["gitrepo"],
        CUSTOM,
    ),
    kind(
        "source.toolkit.fluxcd.io",
        "v1",
        "HelmChart",
        "helmcharts",
        &["hc"],
        CUSTOM,
    ),
    kind(
        "source.toolkit.fluxcd.io",
        "v1",
        "HelmRepository",
        "helmrepositories",
        &["helmrepo"],
        CUSTOM,
    ),
    kind(
        "source.toolkit.fluxcd.io",
        "v1",
        "OCIRepository",
        "ocirepositories",
        &["ocirepo"],
        CUSTOM,
    ),
];

/// The two review kinds: created, answered, never stored.
pub(in crate::world::demo) static REVIEWS: &[Kind] = &[
    cluster(
        "authorization.k8s.io",
        "v1",
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
        &[],
        DATA,
    ),
    cluster(
        "authorization.k8s.io",
        "v1",
        "SelfSubjectRulesReview",
        "selfsubjectrulesreviews",
        &[],
        DATA,
    ),
];

const fn kind(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    traits: Traits,
) -> Kind {
    Kind {
        group,
        version,
        kind,
        plural,
        namespaced: true,
        short,
        traits,
    }
}

const fn cluster(
    group: &'static str,
    version: &'static str,
    name: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    traits: Traits,
) -> Kind {
    Kind {
        namespaced: false,
        ..kind(group, version, name, plural, short, traits)
    }
}

impl Kind {
    /// Returns `apps/v1`, or `v1` for the core group.
    pub(in crate::world::demo) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Returns how messages name the resource: `deployments.apps`, `configmaps`.
    pub(in crate::world::demo) fn resource(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// Finds a kind by its apiVersion and kind, as manifests name it.
    pub(in crate::world::demo) fn of(api_version: &str, kind: &str) -> Option<&'static Self> {
        KINDS
            .iter()
            .find(|k| k.kind == kind && k.api_version() == api_version)
    }
}
