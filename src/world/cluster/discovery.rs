//! What a server serves: each kind's plural, scope and versions.
//!
//! Asked in the aggregated form (two requests) and, where a server does not know it, group by group. A group that
//! cannot answer (a dead metrics server) is remembered with its fault and hurts nothing else.

use std::collections::HashMap;

use futures::StreamExt as _;
use kube::Client;
use kube::discovery::ApiResource;
use serde_json::Value;

use super::fault;
use crate::domain::fault::Fault;

/// One kind as it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// Group, version, kind, plural.
    pub resource: ApiResource,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What may be asked of it at all (`list`, `watch`, `patch` …).
    pub verbs: Vec<String>,
}

impl Served {
    /// Returns the name that rights are given for: `helmreleases.helm.toolkit.fluxcd.io`.
    pub fn name(&self) -> String {
        if self.resource.group.is_empty() {
            self.resource.plural.clone()
        } else {
            format!("{}.{}", self.resource.plural, self.resource.group)
        }
    }

    /// Returns the path of its objects, in `namespace` where it is given and the kind is namespaced.
    pub(super) fn path(&self, namespace: Option<&str>, name: Option<&str>) -> String {
        let root = if self.resource.group.is_empty() {
            format!("/api/{}", self.resource.version)
        } else {
            format!("/apis/{}/{}", self.resource.group, self.resource.version)
        };
        let scope = match namespace {
            Some(namespace) if self.namespaced => format!("/namespaces/{}", escaped(namespace)),
            _ => String::new(),
        };
        let object = name.map_or_else(String::new, |name| format!("/{}", escaped(name)));
        format!("{root}{scope}/{}{object}", self.resource.plural)
    }
}

/// Percent-encodes a path segment or a query value: names come from files and servers, and may hold `/`, `?` or `:`.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
                out.push(char::from(byte));
            }
            byte => {
                out.push('%');
                for half in [byte >> 4, byte & 15] {
                    out.extend(
                        char::from_digit(u32::from(half), 16).map(|c| c.to_ascii_uppercase()),
                    );
                }
            }
        }
    }
    out
}

/// What a server serves.
#[derive(Debug, Clone, Default)]
pub struct Discovery {
    kinds: HashMap<(String, String), Vec<Served>>,
    broken: Vec<(String, Fault)>,
}

impl Discovery {
    /// Returns the kind at the best version that the server has: stable before beta before alpha, then the newest.
    pub fn best(&self, group: &str, kind: &str) -> Option<&Served> {
        self.kinds
            .get(&(group.to_owned(), kind.to_owned()))?
            .first()
    }

    /// Returns the kind at that version, else at the best one.
    pub fn find(&self, group: &str, version: &str, kind: &str) -> Option<&Served> {
        let versions = self.kinds.get(&(group.to_owned(), kind.to_owned()))?;
        versions
            .iter()
            .find(|s| s.resource.version == version)
            .or_else(|| versions.first())
    }

    /// Returns why a group could not be asked, where it could not.
    pub fn broken(&self, group: &str) -> Option<&Fault> {
        self.broken
            .iter()
            .find(|(broken, _)| broken == group)
            .map(|(_, fault)| fault)
    }

    /// Tells whether nothing was found at all.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Returns every kind that is served, at its best version.
    pub fn kinds(&self) -> impl Iterator<Item = &Served> {
        self.kinds.values().filter_map(|versions| versions.first())
    }

    /// Asks a server.
    pub(super) async fn ask(context: &str, client: &Client) -> Result<Self, Fault> {
        let mut found = Self::default();
        let groups = get(client, "/apis")
            .await
            .map_err(|e| fault::of(context, "ask what the server serves", &e))?;
        if groups.get("kind").and_then(Value::as_str) == Some("APIGroupDiscoveryList") {
            found.aggregated(context, &groups);
        } else {
            found.one_by_one(context, client, &groups).await;
        }
        match get(client, "/api").await {
            Ok(core)
                if core.get("kind").and_then(Value::as_str) == Some("APIGroupDiscoveryList") =>
            {
                found.aggregated(context, &core);
            }
            _ => found.version(context, client, "", "v1").await,
        }
        for versions in found.kinds.values_mut() {
            versions.sort_by_key(|s| std::cmp::Reverse(rank(&s.resource.version)));
        }
        Ok(found)
    }

    fn add(
        &mut self,
        group: &str,
        version: &str,
        kind: &str,
        plural: &str,
        rest: (bool, Vec<String>),
    ) {
        let api_version = if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        };
        let served = Served {
            resource: ApiResource {
                group: group.to_owned(),
                version: version.to_owned(),
                api_version,
                kind: kind.to_owned(),
                plural: plural.to_owned(),
            },
            namespaced: rest.0,
            verbs: rest.1,
        };
        self.kinds
            .entry((group.to_owned(), kind.to_owned()))
            .or_default()
            .push(served);
    }

    fn aggregated(&mut self, context: &str, list: &Value) {
        for item in array(list, "items") {
            let group = item
                .pointer("/metadata/name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            for version in array(item, "versions") {
                let name = text(version, "version");
                let resources = array(version, "resources");
                if text(version, "freshness") == "Stale" && resources.is_empty() {
                    self.broken.push((
                        group.to_owned(),
                        Fault::new(
                            crate::domain::fault::FaultKind::Unreachable,
                            format!("the server cannot say what {group}/{name} serves now"),
                        )
                        .about(context),
                    ));
                }
                for resource in resources {
                    let kind = resource
                        .pointer("/responseKind/kind")
                        .and_then(Value::as_str);
                    let Some(kind) = kind.filter(|k| !k.is_empty()) else {
                        continue;
                    };
                    let rest = (text(resource, "scope") == "Namespaced", verbs(resource));
                    self.add(group, name, kind, text(resource, "resource"), rest);
                }
            }
        }
    }

    async fn one_by_one(&mut self, context: &str, client: &Client, groups: &Value) {
        let versions: Vec<(String, String)> = array(groups, "groups")
            .iter()
            .flat_map(|group| {
                array(group, "versions").iter().map(|v| {
                    (
                        text(group, "name").to_owned(),
                        text(v, "version").to_owned(),
                    )
                })
            })
            .collect();
        let answers: Vec<_> = futures::stream::iter(versions)
            .map(|(group, version)| async move {
                let answer = get(client, &format!("/apis/{group}/{version}")).await;
                (group, version, answer)
            })
            .buffered(8)
            .collect()
            .await;
        for (group, version, answer) in answers {
            self.answered(context, &group, &version, answer);
        }
    }

    async fn version(&mut self, context: &str, client: &Client, group: &str, version: &str) {
        let path = if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        };
        let answer = get(client, &path).await;
        self.answered(context, group, version, answer);
    }

    fn answered(&mut self, context: &str, group: &str, version: &str, answer: kube::Result<Value>) {
        match answer {
            Ok(list) => {
                for resource in array(&list, "resources") {
                    let plural = text(resource, "name");
                    if plural.contains('/') {
                        continue;
                    }
                    let namespaced =
                        resource.get("namespaced").and_then(Value::as_bool) == Some(true);
                    self.add(
                        group,
                        version,
                        text(resource, "kind"),
                        plural,
                        (namespaced, verbs(resource)),
                    );
                }
            }
            Err(error) => {
                let doing = format!("ask what {group}/{version} serves");
                self.broken
                    .push((group.to_owned(), fault::of(context, &doing, &error)));
            }
        }
    }
}

async fn get(client: &Client, path: &str) -> kube::Result<Value> {
    const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
        application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    let request = http::Request::get(path)
        .header(http::header::ACCEPT, ACCEPT)
        .body(vec![])
        .map_err(kube::Error::HttpError)?;
    super::read::json(client, request).await
}

fn array<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn verbs(resource: &Value) -> Vec<String> {
    array(resource, "verbs")
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Ranks a version: stable before beta before alpha before anything else, then by numbers.
fn rank(version: &str) -> (u8, u32, u32) {
    let number = |text: &str| text.parse::<u32>().ok();
    let Some(rest) = version.strip_prefix('v') else {
        return (0, 0, 0);
    };
    for (word, stability) in [("beta", 2), ("alpha", 1)] {
        if let Some((major, minor)) = rest.split_once(word) {
            return match number(major) {
                Some(major) => (stability, major, number(minor).unwrap_or(0)),
                None => (0, 0, 0),
            };
        }
    }
    number(rest).map_or((0, 0, 0), |major| (3, major, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_versions() {
        let mut versions = ["v1beta2", "v1", "v2beta1", "v1alpha1", "v2", "odd"];
        versions.sort_by_key(|v| std::cmp::Reverse(rank(v)));
        assert_eq!(
            versions,
            ["v2", "v1", "v2beta1", "v1beta2", "v1alpha1", "odd"]
        );
    }

    #[test]
    fn escapes_what_would_change_the_path() {
        assert_eq!(escaped("system:a/b?c"), "system:a%2Fb%3Fc");
    }
}
