//! The demo's story: what was applied when, and what people and machines then did to it.
//!
//! Everything happens through the same API that the product uses, as the managers that would do it, so that
//! managedFields tell the same story.

use std::sync::Arc;

use serde_json::{Value, json};

use super::api::{Caller, Cluster, Kind, Refusal, strategic_merge};
use super::argo::Argo;
use super::flux::{Flux, place};
use super::repository::{Commit, IMPORTED, Repository};
use super::sha256;
use crate::domain::fault::{Fault, FaultKind};

/// When the last regular pass of Flux was; what was edited is younger.
const LAST_PASS: i64 = 52;

fn refused(refusal: &Refusal) -> Fault {
    Fault::new(
        FaultKind::Internal,
        "the demo's story does not fit its cluster",
    )
    .because(refusal.message())
}

/// Tells the story of one cluster.
pub(super) struct Teller {
    pub(super) cluster: Arc<Cluster>,
    pub(super) repository: Arc<Repository>,
}

/// An object that is not written as a file.
fn resource(api_version: &str, kind: &str, place: (Option<&str>, &str), rest: Value) -> Value {
    let mut object =
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": place.1}});
    if let Some(namespace) = place.0 {
        object["metadata"]["namespace"] = namespace.into();
    }
    if let (Some(object), Value::Object(rest)) = (object.as_object_mut(), rest) {
        object.extend(rest);
    }
    object
}

impl Teller {
    fn flux(&self) -> Flux {
        Flux {
            cluster: Arc::clone(&self.cluster),
            repository: Arc::clone(&self.repository),
        }
    }

    fn argo(&self) -> Argo {
        Argo {
            cluster: Arc::clone(&self.cluster),
            repository: Arc::clone(&self.repository),
        }
    }

    fn at(&self, minutes_ago: i64) {
        self.cluster.clock().minutes_ago(minutes_ago);
    }

    fn apply(&self, manager: &str, object: &Value) -> Result<(), Fault> {
        let (kind, namespace, _) = Self::find(object)?;
        self.cluster
            .apply(
                kind,
                namespace.as_deref(),
                object.clone(),
                &Caller::new(manager),
                true,
            )
            .map(drop)
            .map_err(|r| refused(&r))
    }

    fn find(object: &Value) -> Result<(&'static Kind, Option<String>, String), Fault> {
        super::flux::known(object).ok_or_else(|| {
            let what = object["kind"].as_str().unwrap_or_default();
            Fault::new(
                FaultKind::Internal,
                format!("the demo does not serve {what}"),
            )
        })
    }

    /// Changes an object as `who`.
    fn edit(
        &self,
        who: &Caller,
        what: (&str, &str, &str, &str),
        edit: impl FnOnce(&mut Value),
    ) -> Result<(), Fault> {
        let (api_version, kind, namespace, name) = what;
        let kind = Kind::of(api_version, kind).ok_or_else(|| {
            Fault::new(
                FaultKind::Internal,
                format!("the demo does not serve {kind}"),
            )
        })?;
        self.cluster
            .edit(kind, Some(namespace), name, who, |object| {
                edit(object);
                Ok(())
            })
            .map(drop)
            .map_err(|r| refused(&r))
    }

    /// Changes an object by a strategic merge patch, as kubectl sends it.
    fn patch(&self, who: &str, what: (&str, &str, &str, &str), patch: &Value) -> Result<(), Fault> {
        self.edit(&Caller::new(who), what, |object| {
            strategic_merge(object, patch);
        })
    }

    fn commits(&self, branch: &str) -> Vec<Commit> {
        self.repository
            .history()
            .iter()
            .filter(|c| c.branch == branch)
            .cloned()
            .collect()
    }

    /// Installs Flux's own objects: its namespace, the source and the root Kustomization over `path`.
    fn bootstrap(&self, path: &str) -> Result<(), Fault> {
        self.apply(
            "flux",
            &resource("v1", "Namespace", (None, "flux-system"), json!({})),
        )?;
        self.apply("flux", &self.source("fleet", "main"))?;
        let root = resource(
            "kustomize.toolkit.fluxcd.io/v1",
            "Kustomization",
            (Some("flux-system"), "flux-system"),
            json!({"spec": {"interval": "10m0s", "path": path, "prune": true,
                "sourceRef": {"kind": "GitRepository", "name": "fleet"}}}),
        );
        self.apply("flux", &root)
    }

    fn source(&self, name: &str, branch: &str) -> Value {
        resource(
            "source.toolkit.fluxcd.io/v1",
            "GitRepository",
            (Some("flux-system"), name),
            json!({"spec": {"interval": "1h0m0s", "ref": {"branch": branch}, "url": self.repository.url()}}),
        )
    }

    /// Lets source-controller store a commit and kustomize-controller make a pass over everything.
    fn pass(&self, source: &str, commit: &str) {
        let flux = self.flux();
        if let Some(source) = flux.one("GitRepository", "flux-system", source) {
            flux.store(&source, commit);
        }
        // The root first: it brings the others.
        if let Some(root) = flux.one("Kustomization", "flux-system", "flux-system") {
            self.finalizer(&root);
            flux.reconcile(&root);
        }
        for app in flux.all("Kustomization") {
            if place(&app).1 != "flux-system" {
                self.finalizer(&app);
                flux.reconcile(&app);
            }
        }
    }

    fn finalizer(&self, app: &Value) {
        if app["metadata"]["finalizers"].is_null()
            && let Some(kind) = Kind::of("kustomize.toolkit.fluxcd.io/v1", "Kustomization")
        {
            let (namespace, name) = place(app);
            let caller = Caller::new("gotk-kustomize-controller");
            let done = self
                .cluster
                .edit(kind, Some(&namespace), &name, &caller, |object| {
                    object["metadata"]["finalizers"] = json!(["finalizers.fluxcd.io"]);
                    Ok(())
                });
            drop(done);
        }
    }

    /// Production: Flux over branch `main`, and a busy night.
    pub(super) fn production(&self) -> Result<(), Fault> {
        self.at(IMPORTED);
        self.bootstrap("./clusters/prod-eu")?;
        let commits = self.commits("main");
        for commit in &commits {
            self.at(commit.minutes_ago - 2);
            self.pass("fleet", &commit.id);
        }
        self.at(LAST_PASS);
        if let Some(last) = commits.last() {
            self.pass("fleet", &last.id);
        }
        self.helm_release()?;
        self.hold_notifications()?;
        self.night_in_storefront()?;
        self.night_in_checkout()?;
        self.night_in_payments()?;
        self.night_in_catalog()
    }

    fn helm_release(&self) -> Result<(), Fault> {
        let now = self.cluster.clock().text();
        let release = (
            "helm.toolkit.fluxcd.io/v2",
            "HelmRelease",
            "ingress-nginx",
            "ingress-nginx",
        );
        let ready = |message: &str, reason: &str, kind: &str| {
            json!({"type": kind, "status": "True", "reason": reason, "message": message, "observedGeneration": 1,
                "lastTransitionTime": now})
        };
        let says = "Helm install succeeded for release ingress-nginx/ingress-nginx.v1 with chart ingress-nginx@4.13.2";
        self.edit(&Caller::new("helm-controller").through("status"), release, |object| {
            object["status"] = json!({
                "observedGeneration": 1, "helmChart": "ingress-nginx/ingress-nginx-ingress-nginx",
                "storageNamespace": "ingress-nginx", "lastAttemptedRevision": "4.13.2",
                "lastAttemptedReleaseAction": "install", "lastAttemptedGeneration": 1,
                "conditions": [ready(says, "InstallSucceeded", "Ready"), ready(says, "InstallSucceeded", "Released")],
                "history": [{"name": "ingress-nginx", "namespace": "ingress-nginx", "version": 1, "status": "deployed",
                    "chartName": "ingress-nginx", "chartVersion": "4.13.2", "appVersion": "1.13.2",
                    "firstDeployed": now, "lastDeployed": now, "digest": format!("sha256:{}", sha256("release")), "configDigest": format!("sha256:{}", sha256("values"))}],
            });
        })?;
        let source_controller = Caller::new("source-controller").through("status");
        let chart = resource(
            "source.toolkit.fluxcd.io/v1",
            "HelmChart",
            (Some("ingress-nginx"), "ingress-nginx-ingress-nginx"),
            json!({"spec": {"chart": "ingress-nginx", "version": "4.13.x", "interval": "24h0m0s",
                "reconcileStrategy": "ChartVersion",
                "sourceRef": {"kind": "HelmRepository", "name": "ingress-nginx"}}}),
        );
        self.apply("helm-controller", &chart)?;
        let chart = (
            "source.toolkit.fluxcd.io/v1",
            "HelmChart",
            "ingress-nginx",
            "ingress-nginx-ingress-nginx",
        );
        let says = "pulled 'ingress-nginx' chart with version '4.13.2'";
        self.edit(&source_controller, chart, |object| {
            object["status"] = json!({
                "observedGeneration": 1, "observedChartName": "ingress-nginx",
                "conditions": [ready(says, "ChartPullSucceeded", "Ready")],
                "artifact": {"revision": "4.13.2", "digest": format!("sha256:{}", sha256("ingress-nginx 4.13.2")),
                    "lastUpdateTime": now, "size": 62_310,
                    "path": "helmchart/ingress-nginx/ingress-nginx-ingress-nginx/ingress-nginx-4.13.2.tgz",
                    "url": "http://source-controller.flux-system.svc.cluster.local./helmchart/ingress-nginx/ingress-nginx-ingress-nginx/ingress-nginx-4.13.2.tgz"},
            });
        })?;
        let repository = (
            "source.toolkit.fluxcd.io/v1",
            "HelmRepository",
            "ingress-nginx",
            "ingress-nginx",
        );
        let says = "stored artifact: revision 'sha256:1c4f'";
        self.edit(&source_controller, repository, |object| {
            object["status"] =
                json!({"observedGeneration": 1, "conditions": [ready(says, "Succeeded", "Ready")]});
        })
    }

    /// Somebody took notifications out of Flux's hands and stopped it.
    fn hold_notifications(&self) -> Result<(), Fault> {
        self.at(50);
        let app = (
            "kustomize.toolkit.fluxcd.io/v1",
            "Kustomization",
            "flux-system",
            "notifications",
        );
        self.edit(&Caller::new("flux"), app, |object| {
            object["spec"]["suspend"] = true.into();
        })?;
        self.at(47);
        self.scale("kubectl", "notifications", "notifications", 0)
    }

    fn scale(&self, who: &str, namespace: &str, name: &str, replicas: i64) -> Result<(), Fault> {
        let caller = Caller::new(who).through("scale");
        self.edit(
            &caller,
            ("apps/v1", "Deployment", namespace, name),
            |object| {
                object["spec"]["replicas"] = replicas.into();
            },
        )
    }

    /// A mesh injects its sidecar; the autoscaler answers the load.
    fn night_in_storefront(&self) -> Result<(), Fault> {
        let web = ("apps/v1", "Deployment", "storefront", "storefront");
        self.at(41);
        self.patch(
            "mesh-injector",
            web,
            &json!({"metadata": {"annotations": {"mesh.example.test/injected": "true"}},
                "spec": {"template": {"spec": {"containers": [{
                    "name": "mesh-proxy", "image": "registry.example.test/mesh/proxy:1.30.2",
                    "ports": [{"name": "mesh", "containerPort": 15001}],
                    "resources": {"requests": {"cpu": "10m", "memory": "40Mi"}}}]}}}}),
        )?;
        self.at(33);
        self.scale("kube-controller-manager", "storefront", "storefront", 7)?;
        let now = self.cluster.clock().text();
        let scaler = (
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            "storefront",
            "storefront",
        );
        self.edit(&Caller::new("kube-controller-manager").through("status"), scaler, |object| {
            object["status"] = json!({
                "currentReplicas": 7, "desiredReplicas": 7, "lastScaleTime": now,
                "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "current": {"averageUtilization": 68, "averageValue": "170m"}}}],
                "conditions": [{"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale",
                    "message": "recommended size matches current size", "lastTransitionTime": now}],
            });
        })
    }

    /// A hotfix by `kubectl set image`, and more workers by hand.
    fn night_in_checkout(&self) -> Result<(), Fault> {
        self.at(38);
        self.patch(
            "kubectl-set",
            ("apps/v1", "Deployment", "checkout", "checkout-api"),
            &json!({"spec": {"template": {"spec": {"containers": [
                {"name": "api", "image": "ghcr.io/acme/checkout-api:2.14.1-hotfix"}]}}}}),
        )?;
        self.at(36);
        self.scale("kubectl", "checkout", "checkout-worker", 5)
    }

    /// A variable added in the editor, a token changed.
    fn night_in_payments(&self) -> Result<(), Fault> {
        self.at(27);
        self.patch(
            "kubectl-edit",
            ("apps/v1", "Deployment", "payments", "payments"),
            &json!({"spec": {"template": {"spec": {"containers": [
                {"name": "payments", "env": [{"name": "PROVIDER_DEBUG", "value": "1"}]}]}}}}),
        )?;
        self.at(24);
        self.patch(
            "kubectl-patch",
            ("v1", "Secret", "payments", "payments-provider"),
            &json!({"data": {"webhook-token": "ZGVtby10b2tlbi10d28="}}),
        )
    }

    /// A key removed from a ConfigMap, an object deleted.
    fn night_in_catalog(&self) -> Result<(), Fault> {
        self.at(19);
        let settings = ("v1", "ConfigMap", "catalog", "catalog-settings");
        self.edit(&Caller::new("kubectl-edit"), settings, |object| {
            if let Some(data) = object["data"].as_object_mut() {
                data.remove("price.rounding");
            }
        })?;
        self.at(16);
        let budget = Kind::of("policy/v1", "PodDisruptionBudget");
        budget.map_or(Ok(()), |kind| {
            self.cluster
                .delete(kind, Some("catalog"), "catalog", None, false)
                .map(drop)
                .map_err(|r| refused(&r))
        })
    }

    /// Staging: Flux for two apps, Argo CD for the rest.
    pub(super) fn staging(&self) -> Result<(), Fault> {
        self.at(IMPORTED);
        self.bootstrap("./clusters/staging")?;
        let commits = self.commits("main");
        let [first, .., _, before, last] = commits.as_slice() else {
            return Err(Fault::new(
                FaultKind::Internal,
                "the demo's history is too short",
            ));
        };
        self.apply("flux", &self.source("search", "next"))?;
        self.look("search", &first.id);
        self.pass("fleet", &first.id);
        self.install_argo()?;
        let argo = self.argo();
        for name in ["website", "docs", "orders"] {
            self.sync(&argo, name, &first.id, "admin");
        }
        self.at(before.minutes_ago - 2);
        self.look("search", &before.id);
        self.pass("fleet", &before.id);
        self.at(before.minutes_ago - 60);
        for name in ["website", "docs", "orders"] {
            self.sync(&argo, name, &before.id, "mei.tanaka");
        }
        self.at(last.minutes_ago - 2);
        self.pass("fleet", &last.id);
        for name in ["docs", "orders"] {
            self.sync(&argo, name, &last.id, "mei.tanaka");
        }
        self.at(LAST_PASS);
        self.look("search", &before.id);
        self.pass("fleet", &last.id);
        self.edits_in_website()?;
        self.at(3);
        for name in ["website", "docs", "orders"] {
            argo.refresh(name);
        }
        Ok(())
    }

    fn look(&self, source: &str, commit: &str) {
        let flux = self.flux();
        if let Some(source) = flux.one("GitRepository", "flux-system", source) {
            flux.store(&source, commit);
        }
    }

    fn sync(&self, argo: &Argo, name: &str, commit: &str, who: &str) {
        let Some(kind) = Argo::kind() else { return };
        let caller = Caller::new("argocd-server");
        let done = self
            .cluster
            .edit(kind, Some("argocd"), name, &caller, |app| {
                app["operation"] = json!({"initiatedBy": {"username": who}, "retry": {},
                "sync": {"revision": commit, "syncStrategy": {"hook": {}}}});
                Ok(())
            });
        drop(done);
        argo.start(name);
        argo.finish(name);
        argo.refresh(name);
    }

    fn install_argo(&self) -> Result<(), Fault> {
        self.create(&resource("v1", "Namespace", (None, "argocd"), json!({})))?;
        let api = "argoproj.io/v1alpha1";
        let project = json!({"spec": {"sourceRepos": ["*"], "destinations": [{"namespace": "*", "server": "*"}],
            "clusterResourceWhitelist": [{"group": "*", "kind": "*"}]}});
        self.create(&resource(
            api,
            "AppProject",
            (Some("argocd"), "default"),
            project,
        ))?;
        let settings = json!({"data": {"application.resourceTrackingMethod": "annotation"}});
        self.create(&resource(
            "v1",
            "ConfigMap",
            (Some("argocd"), "argocd-cm"),
            settings,
        ))?;
        let git = |path: &str| json!({"repoURL": self.repository.url(), "targetRevision": "main", "path": path});
        self.app(
            "website",
            &git("apps/website/overlays/staging"),
            json!({"syncOptions": ["CreateNamespace=true"]}),
        )?;
        self.app("docs", &git("apps/docs"), json!({"automated": {}}))?;
        self.app(
            "orders",
            &git("apps/orders/overlays/staging"),
            json!({"automated": {"prune": true, "selfHeal": true}}),
        )?;
        let chart = json!({"repoURL": "https://grafana.github.io/helm-charts", "chart": "grafana",
            "targetRevision": "10.1.4", "helm": {"valuesObject": {"replicas": 1}}});
        self.app("grafana", &chart, Value::Null)?;
        let now = self.cluster.clock().text();
        let app = (api, "Application", "argocd", "grafana");
        self.edit(&Caller::new("argocd-application-controller"), app, |app| {
            let destination = app["spec"]["destination"].clone();
            app["status"] = json!({
                "sync": {"status": "Synced", "revision": "10.1.4",
                    "comparedTo": {"source": chart, "destination": destination}},
                "health": {"status": "Healthy", "lastTransitionTime": now}, "reconciledAt": now,
                "sourceType": "Helm", "controllerNamespace": "argocd", "resourceHealthSource": "appTree",
                "history": [{"id": 0, "revision": "10.1.4", "source": chart, "deployedAt": now,
                    "deployStartedAt": now, "initiatedBy": {"username": "admin"}}],
                "resources": [
                    {"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "grafana", "name": "grafana",
                     "status": "Synced"},
                    {"version": "v1", "kind": "Service", "namespace": "grafana", "name": "grafana", "status": "Synced"},
                ],
            });
        })
    }

    fn app(&self, name: &str, source: &Value, policy: Value) -> Result<(), Fault> {
        let mut spec = json!({"project": "default", "source": source,
            "destination": {"server": "https://kubernetes.default.svc", "namespace": name}});
        if !policy.is_null() {
            spec["syncPolicy"] = policy;
        }
        let api = "argoproj.io/v1alpha1";
        self.create(&resource(
            api,
            "Application",
            (Some("argocd"), name),
            json!({ "spec": spec }),
        ))
    }

    /// Creates an object as `kubectl apply` does.
    fn create(&self, object: &Value) -> Result<(), Fault> {
        let (kind, namespace, _) = Self::find(object)?;
        self.cluster
            .client_side_apply(
                kind,
                namespace.as_deref(),
                object,
                &Caller::new("kubectl-client-side-apply"),
            )
            .map(drop)
            .map_err(|r| refused(&r))
    }

    /// A hotfix and a label by hand; nothing undoes them, since nobody automated this app.
    fn edits_in_website(&self) -> Result<(), Fault> {
        let website = ("apps/v1", "Deployment", "website", "website");
        self.at(20 * 60);
        self.patch(
            "kubectl-set",
            website,
            &json!({"spec": {"template": {"spec": {"containers": [
                {"name": "nginx", "image": "ghcr.io/acme/website:2026.11.3-banner"}]}}}}),
        )?;
        self.at(19 * 60);
        self.patch(
            "kubectl-annotate",
            website,
            &json!({"metadata": {"annotations": {"acme.example/note": "banner until Monday, ask Mei"}}}),
        )
    }
}
