//! What the server says it serves: legacy and aggregated discovery, the version, the reviews' groups.

use serde_json::{Value, json};

use super::kinds::{KINDS, Kind, REVIEWS};

/// Returns `/version`.
pub(super) fn version() -> Value {
    json!({
        "major": "1", "minor": "37", "gitVersion": "v1.37.2", "gitCommit": "0000000000000000000000000000000000000000",
        "gitTreeState": "clean", "buildDate": "2026-10-01T00:00:00Z", "goVersion": "go1.26.0", "compiler": "gc",
        "platform": "linux/amd64",
    })
}

/// The served kinds of one cluster: those of its groups.
#[derive(Debug, Clone, Copy)]
pub(super) struct Served<'a> {
    /// Custom groups that this cluster does not have.
    pub(super) without: &'a [&'a str],
}

impl Served<'_> {
    fn kinds(self) -> impl Iterator<Item = &'static Kind> {
        let without: Vec<String> = self.without.iter().map(|g| (*g).to_owned()).collect();
        KINDS
            .iter()
            .chain(REVIEWS)
            .filter(move |k| !without.iter().any(|g| g == k.group))
    }

    /// Tells whether a group is served.
    pub(super) fn has(self, kind: &Kind) -> bool {
        !self.without.contains(&kind.group)
    }

    /// Returns the groups besides the core group, each with its one version.
    fn groups(self) -> Vec<(&'static str, &'static str)> {
        let mut groups: Vec<_> = self
            .kinds()
            .map(|k| (k.group, k.version))
            .filter(|(group, _)| !group.is_empty())
            .collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// Returns `/api`.
    pub(super) fn core() -> Value {
        json!({"kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "demo.invalid:443"}]})
    }

    /// Returns `/apis`.
    pub(super) fn group_list(self) -> Value {
        let groups: Vec<Value> = self.groups().into_iter().map(group).collect();
        json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
    }

    /// Returns `/apis/GROUP`; `None` where it is not served.
    pub(super) fn group(self, name: &str) -> Option<Value> {
        let found = self
            .groups()
            .into_iter()
            .find(|(group, _)| *group == name)?;
        let mut value = group(found);
        value["kind"] = "APIGroup".into();
        value["apiVersion"] = "v1".into();
        Some(value)
    }

    /// Returns the legacy list of a group version; `None` where it is not served.
    pub(super) fn resources(self, group: &str, version: &str) -> Option<Value> {
        let mut resources = vec![];
        for kind in self
            .kinds()
            .filter(|k| k.group == group && k.version == version)
        {
            resources.push(json!({
                "name": kind.plural, "singularName": singular(kind), "namespaced": kind.namespaced, "kind": kind.kind,
                "verbs": verbs(kind), "shortNames": kind.short,
            }));
            for (subresource, (group, version, name)) in subresources(kind) {
                resources.push(json!({
                    "name": format!("{}/{subresource}", kind.plural), "singularName": "", "namespaced": kind.namespaced,
                    "group": group, "version": version, "kind": name, "verbs": ["get", "patch", "update"],
                }));
            }
        }
        let group_version = match group {
            "" => version.to_owned(),
            _ => format!("{group}/{version}"),
        };
        (!resources.is_empty()).then(|| {
            json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources})
        })
    }

    /// Returns `/openapi/v3`: where the documents of the custom groups stand. The built-in groups have none here, as on
    /// a server that does not let everybody read them.
    pub(super) fn documents(self) -> Value {
        let mut paths = serde_json::Map::new();
        for kind in self.kinds().filter(|k| k.traits.custom) {
            let path = format!("apis/{}/{}", kind.group, kind.version);
            let address = format!("/openapi/v3/{path}?hash=DEMO1");
            paths.insert(path, json!({"serverRelativeURL": address}));
        }
        json!({ "paths": paths })
    }

    /// Returns the document of a custom group version; `None` where there is none. Specification and status are open.
    pub(super) fn document(self, group: &str, version: &str) -> Option<Value> {
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let schemas: serde_json::Map<String, Value> = self
            .kinds()
            .filter(|k| k.traits.custom && k.group == group && k.version == version)
            .map(|kind| {
                let schema = json!({
                    "description": "A custom resource of the demo.", "type": "object",
                    "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"},
                        "metadata": {"type": "object"}, "spec": open, "status": open},
                    "x-kubernetes-group-version-kind": [{"group": group, "version": version, "kind": kind.kind}],
                });
                (format!("{group}.{version}.{}", kind.kind), schema)
            })
            .collect();
        (!schemas.is_empty()).then(|| {
            json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.37.2"}, "paths": {},
                "components": {"schemas": schemas}})
        })
    }

    /// Returns aggregated discovery of the core group (`/api`) or of all others (`/apis`).
    pub(super) fn aggregated(self, core: bool) -> Value {
        let groups = if core {
            vec![("", "v1")]
        } else {
            self.groups()
        };
        let items: Vec<Value> = groups
            .into_iter()
            .map(|(group, version)| {
                let resources: Vec<Value> = self
                    .kinds()
                    .filter(|k| k.group == group && k.version == version)
                    .map(aggregated_resource)
                    .collect();
                let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
                json!({"metadata": metadata,
                    "versions": [{"version": version, "freshness": "Current", "resources": resources}]})
            })
            .collect();
        json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
    }
}

fn group((name, version): (&str, &str)) -> Value {
    let preferred = json!({"groupVersion": format!("{name}/{version}"), "version": version});
    json!({"name": name, "versions": [preferred], "preferredVersion": preferred})
}

fn aggregated_resource(kind: &Kind) -> Value {
    let subresources: Vec<Value> = subresources(kind)
        .into_iter()
        .map(|(subresource, (group, version, name))| {
            json!({"subresource": subresource, "verbs": ["get", "patch", "update"],
                "responseKind": {"group": group, "version": version, "kind": name}})
        })
        .collect();
    json!({
        "resource": kind.plural, "singularResource": singular(kind), "verbs": verbs(kind), "shortNames": kind.short,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" }, "subresources": subresources,
    })
}

type Response = (&'static str, &'static str, &'static str);

fn subresources(kind: &Kind) -> Vec<(&'static str, Response)> {
    let mut list = vec![];
    if kind.traits.scale {
        list.push(("scale", ("autoscaling", "v1", "Scale")));
    }
    if kind.traits.status {
        list.push(("status", (kind.group, kind.version, kind.kind)));
    }
    list
}

fn verbs(kind: &Kind) -> &'static [&'static str] {
    if REVIEWS.contains(kind) {
        &["create"]
    } else {
        &[
            "create", "delete", "get", "list", "patch", "update", "watch",
        ]
    }
}

fn singular(kind: &Kind) -> String {
    kind.kind.to_ascii_lowercase()
}
