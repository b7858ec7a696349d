//! The files of the demo's repository as its first commit has them; compiled in from `assets/demo/fleet`.

/// Reads one file at build time.
macro_rules! file {
    ($path:literal) => {
        (
            $path,
            include_str!(concat!("../../../assets/demo/fleet/", $path)),
        )
    };
}

/// Path from the repository's root, and text.
pub(super) static FILES: &[(&str, &str)] = &[
    file!("README.md"),
    file!("apps/cart/base/kustomization.yaml"),
    file!("apps/cart/base/service.yaml"),
    file!("apps/cart/base/statefulset.yaml"),
    file!("apps/cart/overlays/prod/kustomization.yaml"),
    file!("apps/catalog/base/cronjob.yaml"),
    file!("apps/catalog/base/deployment.yaml"),
    file!("apps/catalog/base/kustomization.yaml"),
    file!("apps/catalog/base/service.yaml"),
    file!("apps/catalog/base/settings.yaml"),
    file!("apps/catalog/overlays/prod/kustomization.yaml"),
    file!("apps/catalog/overlays/prod/pdb.yaml"),
    file!("apps/checkout/base/deployment.yaml"),
    file!("apps/checkout/base/kustomization.yaml"),
    file!("apps/checkout/base/service.yaml"),
    file!("apps/checkout/base/serviceaccount.yaml"),
    file!("apps/checkout/base/settings.yaml"),
    file!("apps/checkout/base/worker.yaml"),
    file!("apps/checkout/overlays/prod/kustomization.yaml"),
    file!("apps/checkout/overlays/prod/pdb.yaml"),
    file!("apps/checkout/overlays/prod/settings.yaml"),
    file!("apps/docs/deployment.yaml"),
    file!("apps/docs/service.yaml"),
    file!("apps/identity/base/deployment.yaml"),
    file!("apps/identity/base/kustomization.yaml"),
    file!("apps/identity/base/secret.yaml"),
    file!("apps/identity/overlays/staging/kustomization.yaml"),
    file!("apps/notifications/base/deployment.yaml"),
    file!("apps/notifications/base/kustomization.yaml"),
    file!("apps/notifications/overlays/prod/kustomization.yaml"),
    file!("apps/orders/base/deployment.yaml"),
    file!("apps/orders/base/kustomization.yaml"),
    file!("apps/orders/base/settings.yaml"),
    file!("apps/orders/overlays/staging/kustomization.yaml"),
    file!("apps/payments/base/deployment.yaml"),
    file!("apps/payments/base/kustomization.yaml"),
    file!("apps/payments/base/networkpolicy.yaml"),
    file!("apps/payments/base/secret.yaml"),
    file!("apps/payments/base/service.yaml"),
    file!("apps/payments/overlays/prod/kustomization.yaml"),
    file!("apps/recommendations/base/deployment.yaml"),
    file!("apps/recommendations/base/kustomization.yaml"),
    file!("apps/recommendations/overlays/prod/kustomization.yaml"),
    file!("apps/search/base/deployment.yaml"),
    file!("apps/search/base/kustomization.yaml"),
    file!("apps/search/overlays/staging/kustomization.yaml"),
    file!("apps/storefront/base/deployment.yaml"),
    file!("apps/storefront/base/ingress.yaml"),
    file!("apps/storefront/base/kustomization.yaml"),
    file!("apps/storefront/base/service.yaml"),
    file!("apps/storefront/overlays/prod/hpa.yaml"),
    file!("apps/storefront/overlays/prod/kustomization.yaml"),
    file!("apps/storefront/overlays/prod/replicas.yaml"),
    file!("apps/website/base/deployment.yaml"),
    file!("apps/website/base/kustomization.yaml"),
    file!("apps/website/base/service.yaml"),
    file!("apps/website/overlays/staging/kustomization.yaml"),
    file!("clusters/prod-eu/cart.yaml"),
    file!("clusters/prod-eu/catalog.yaml"),
    file!("clusters/prod-eu/checkout.yaml"),
    file!("clusters/prod-eu/ingress-nginx.yaml"),
    file!("clusters/prod-eu/namespaces.yaml"),
    file!("clusters/prod-eu/notifications.yaml"),
    file!("clusters/prod-eu/payments.yaml"),
    file!("clusters/prod-eu/recommendations.yaml"),
    file!("clusters/prod-eu/storefront.yaml"),
    file!("clusters/staging/identity.yaml"),
    file!("clusters/staging/namespaces.yaml"),
    file!("clusters/staging/search.yaml"),
    file!("components/hardened/kustomization.yaml"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_file_of_the_folder_is_compiled_in() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo/fleet");
        let mut found = BTreeSet::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let inside = path.strip_prefix(&root).unwrap();
                    found.insert(inside.to_string_lossy().replace('\\', "/"));
                }
            }
        }
        let compiled: BTreeSet<String> = super::FILES
            .iter()
            .map(|(path, _)| (*path).into())
            .collect();
        assert_eq!(found, compiled);
    }
}
