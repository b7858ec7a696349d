//! The ids under which Flux keeps what it applied (`status.inventory`).
//!
//! `NAMESPACE_NAME_GROUP_KIND`, where a `:` in a name is written `__`: parts are found from both ends, since a name may
//! hold underscores of its own.

use crate::domain::object::ObjectId;

/// Returns the inventory id of an object; its API version is kept beside it, not in it.
pub fn inventory_id(id: &ObjectId) -> String {
    let namespace = id.namespace.as_deref().unwrap_or_default();
    let name = id.name.replace(':', "__");
    format!("{namespace}_{name}_{}_{}", id.group(), id.kind)
}

/// Reads an inventory entry (`id` and `v`) back; `None` where the id is no inventory id.
pub fn parse_inventory_id(id: &str, version: &str) -> Option<ObjectId> {
    let (namespace, rest) = id.split_once('_')?;
    let (rest, kind) = rest.rsplit_once('_')?;
    let (name, group) = rest.rsplit_once('_')?;
    if name.is_empty() || kind.is_empty() {
        return None;
    }
    Some(ObjectId {
        api_version: if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        },
        kind: kind.to_owned(),
        namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
        name: name.replace("__", ":"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_it_writes() {
        for (id, version, printed) in [
            (
                "apps_web_apps_Deployment",
                "v1",
                "Deployment/apps/web apps/v1",
            ),
            (
                "default_web_apps_Deployment",
                "v1",
                "Deployment/default/web apps/v1",
            ),
            ("_foo__Namespace", "v1", "Namespace/foo v1"),
            ("shop_a5__ConfigMap", "v1", "ConfigMap/shop/a5 v1"),
            (
                "_cert-manager-cainjector__leaderelection_rbac.authorization.k8s.io_ClusterRole",
                "v1",
                "ClusterRole/cert-manager-cainjector:leaderelection rbac.authorization.k8s.io/v1",
            ),
        ] {
            let read = parse_inventory_id(id, version).unwrap();
            assert_eq!(format!("{read} {}", read.api_version), printed);
            assert_eq!(inventory_id(&read), id);
        }
        assert_eq!(parse_inventory_id("no", "v1"), None);
    }
}
