//! The objects an app says it manages, in one form for both engines.

use serde_json::Value;

use super::AppKind;
use super::json;
use crate::domain::object::ObjectId;

/// One managed object, with what the engine says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Managed {
    /// Who it is.
    pub id: ObjectId,
    /// Argo CD's status of it (`Synced`, `OutOfSync`, `Unknown`); `None` for Flux, for hooks and for objects that
    /// only carry a copied tracking id.
    pub status: Option<String>,
    /// Argo CD's health of it, where it is kept.
    pub health: Option<String>,
    /// Whether it is a hook: never compared, never pruned, whatever `requires_pruning` says.
    pub hook: bool,
    /// Whether Git no longer has it (Argo CD).
    pub requires_pruning: bool,
}

/// Returns the inventory of an app's object.
pub(super) fn of(kind: AppKind, object: &Value) -> Vec<Managed> {
    match kind {
        AppKind::Kustomization | AppKind::HelmRelease => {
            json::items(object, "/status/inventory/entries")
                .iter()
                .filter_map(|entry| {
                    flux_id(
                        json::text(entry, "/id")?,
                        json::text(entry, "/v").unwrap_or("v1"),
                    )
                })
                .map(|id| Managed {
                    id,
                    status: None,
                    health: None,
                    hook: false,
                    requires_pruning: false,
                })
                .collect()
        }
        AppKind::Application => json::items(object, "/status/resources")
            .iter()
            .filter_map(argo_resource)
            .collect(),
    }
}

/// Reads `<namespace>_<name>_<group>_<kind>`; `:` in a name is written `__`.
fn flux_id(id: &str, version: &str) -> Option<ObjectId> {
    let (namespace, rest) = id.split_once('_')?;
    let (rest, kind) = rest.rsplit_once('_')?;
    let (name, group) = rest.rsplit_once('_')?;
    Some(ObjectId {
        api_version: api_version(group, version),
        kind: kind.to_owned(),
        namespace: Some(namespace.to_owned()).filter(|n| !n.is_empty()),
        name: name.replace("__", ":"),
    })
    .filter(|id| !id.kind.is_empty() && !id.name.is_empty())
}

fn argo_resource(entry: &Value) -> Option<Managed> {
    Some(Managed {
        id: ObjectId {
            api_version: api_version(
                json::text(entry, "/group").unwrap_or_default(),
                json::text(entry, "/version").unwrap_or("v1"),
            ),
            kind: json::owned(entry, "/kind")?,
            namespace: json::owned(entry, "/namespace"),
            name: json::owned(entry, "/name")?,
        },
        status: json::owned(entry, "/status"),
        health: json::owned(entry, "/health/status"),
        hook: json::flag(entry, "/hook"),
        requires_pruning: json::flag(entry, "/requiresPruning"),
    })
}

fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn decodes_flux_ids() {
        let check = |id: &str| {
            let id = flux_id(id, "v1").unwrap();
            format!("{} {}", id.api_version, id)
        };
        assert_eq!(
            check("apps_web_apps_Deployment"),
            "apps/v1 Deployment/apps/web"
        );
        assert_eq!(check("_flux-system__Namespace"), "v1 Namespace/flux-system");
        assert_eq!(check("shop_a5__ConfigMap"), "v1 ConfigMap/shop/a5");
        assert_eq!(
            check("_system__reader_rbac.authorization.k8s.io_ClusterRole"),
            "rbac.authorization.k8s.io/v1 ClusterRole/system:reader"
        );
        assert_eq!(flux_id("nonsense", "v1"), None);
        assert_eq!(flux_id("a_b", "v1"), None);
    }

    #[test]
    fn keeps_what_argo_says_about_each_object() {
        let object = json!({"status": {"resources": [
            {"kind": "ConfigMap", "version": "v1", "name": "conf", "namespace": "shop", "status": "OutOfSync"},
            {"group": "batch", "kind": "Job", "version": "v1", "name": "migrate", "namespace": "shop", "hook": true,
             "requiresPruning": true},
        ]}});
        let read = of(AppKind::Application, &object);
        assert_eq!(read[0].status.as_deref(), Some("OutOfSync"));
        assert_eq!(
            (read[1].id.group(), read[1].hook, &read[1].status),
            ("batch", true, &None)
        );
    }
}
