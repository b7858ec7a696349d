//! The story, judged by the product: rendering and comparing every app finds what was planted, and nothing else.

use std::sync::Arc;

use serde_json::Value;

use super::argo::Argo;
use super::flux::{Flux, known};
use super::{Demo, flux};
use crate::domain::drift::{Comparison, Engine, Verdict, compare};
use crate::domain::object::{Desired, ObjectId, Origins};

/// Returns a line for each difference that is not hidden: object, path, status, verdict, owners.
fn lines(
    demo: &Demo,
    context: usize,
    app: &Value,
    engine: Engine,
    objects: Vec<Value>,
) -> Vec<String> {
    let cluster = &demo.clusters[context];
    let desired: Vec<Desired> = objects
        .into_iter()
        .map(|value| Desired {
            id: ObjectId::of(&value).unwrap(),
            value,
            origins: Origins::default(),
            secret_routes: std::collections::BTreeSet::default(),
        })
        .collect();
    let live: Vec<Value> = desired
        .iter()
        .filter_map(|d| known(&d.value))
        .filter_map(|(kind, namespace, name)| cluster.get(kind, namespace.as_deref(), &name))
        .map(Arc::unwrap_or_clone)
        .collect();
    let drift = compare(&Comparison {
        app_object: Some(app),
        desired: &desired,
        live: &live,
        ..Comparison::of(engine)
    });
    let mut lines = vec![];
    for object in &drift.objects {
        if object.fields.is_empty() && object.state.word() != "in-sync" {
            lines.push(format!("{} {}", object.id, object.state.word()));
        }
        for field in &object.fields {
            let shown = field.verdict != Verdict::Noise;
            let owners: Vec<&str> = field.owners.iter().map(|o| o.manager.as_str()).collect();
            if shown {
                let (status, verdict) = (field.status.word(), field.verdict.word());
                lines.push(format!(
                    "{} {} {status} {verdict} {}",
                    object.id,
                    field.path,
                    owners.join(",")
                ));
            }
        }
    }
    lines
}

#[tokio::test(start_paused = true)]
async fn what_was_planted_is_found_and_nothing_else() {
    let demo = Demo::start("2026-03-04T03:07:00Z".parse().unwrap()).unwrap();
    let mut found = vec![];
    for context in [0, 1] {
        let flux = Flux {
            cluster: Arc::clone(&demo.clusters[context]),
            repository: Arc::clone(&demo.repository),
        };
        for app in flux.all("Kustomization") {
            let name = flux::place(&app).1;
            if let Ok(objects) = flux.desired(&app) {
                found.extend(
                    lines(&demo, context, &app, Engine::Flux, objects)
                        .into_iter()
                        .map(|l| format!("{name}: {l}")),
                );
            }
        }
    }
    let argo = Argo {
        cluster: Arc::clone(&demo.clusters[1]),
        repository: Arc::clone(&demo.repository),
    };
    for name in ["docs", "orders", "website"] {
        let app = argo.app(name).unwrap();
        let objects = argo.desired(&app).unwrap();
        found.extend(
            lines(&demo, 1, &app, Engine::Argo, objects)
                .into_iter()
                .map(|l| format!("{name}: {l}")),
        );
    }
    assert_eq!(
        found,
        [
            r#"catalog: ConfigMap/catalog/catalog-settings data["price.rounding"] missing drift unknown"#,
            "catalog: PodDisruptionBudget/catalog/catalog missing",
            "checkout: Deployment/checkout/checkout-api spec.template.spec.containers[name=api].image changed drift kubectl-set",
            "checkout: Deployment/checkout/checkout-worker spec.replicas changed drift kubectl",
            "notifications: Deployment/notifications/notifications spec.replicas changed held kubectl",
            "payments: Deployment/payments/payments spec.template.spec.containers[name=payments].env[name=PROVIDER_DEBUG] extra \
             drift kubectl-edit",
            "payments: Secret/payments/payments-provider data.webhook-token changed drift kubectl-patch",
            r#"storefront: Deployment/storefront/storefront metadata.annotations["mesh.example.test/injected"] extra-foreign residual mesh-injector"#,
            "storefront: Deployment/storefront/storefront spec.replicas changed drift kube-controller-manager",
            "storefront: Deployment/storefront/storefront spec.template.spec.containers[name=mesh-proxy] extra-foreign residual \
             mesh-injector",
            r#"website: Deployment/website/website metadata.annotations["acme.example/note"] extra residual kubectl-annotate"#,
            "website: Deployment/website/website spec.template.spec.containers[name=nginx].image changed held kubectl-set",
        ]
    );
}
