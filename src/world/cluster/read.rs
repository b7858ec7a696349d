//! Reads: objects by id with bounded concurrency, lists by kind in pages, and whether an act would be allowed.
//!
//! A read that is told to come back later (429, 503) comes back, a few times and within bounds; everything else fails
//! at once, and for one object only.

use std::time::Duration;

use futures::StreamExt as _;
use http::Request;
use kube::Client;
use serde_json::{Value, json};

use super::discovery::{Served, escaped};
use super::{Cluster, fault};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::object::ObjectId;

/// Reads that are under way at once.
const AT_ONCE: usize = 8;
/// The longest wait for one answer.
const ANSWER: Duration = Duration::from_secs(30);
/// Objects in one page.
pub(super) const PAGE: usize = 500;

/// An act on a kind, for [`Cluster::access`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Access<'a> {
    /// `get`, `list`, `patch` …
    pub verb: &'a str,
    /// The API group, empty for the core group.
    pub group: &'a str,
    /// The plural: `kustomizations`.
    pub resource: &'a str,
    /// In which namespace; all of them where `None`.
    pub namespace: Option<&'a str>,
    /// Which object; any where `None`.
    pub name: Option<&'a str>,
}

/// Sends one request and reads its answer as JSON. The answer's text never reaches a log: it may hold a Secret.
pub(super) async fn json(client: &Client, request: Request<Vec<u8>>) -> kube::Result<Value> {
    let text = client.request_text(request).await?;
    serde_json::from_str(&text).map_err(kube::Error::SerdeError)
}

/// Gets a path; comes back where the server asks for it.
pub(super) async fn get(client: &Client, path: &str) -> kube::Result<Value> {
    let text = get_text(client, path).await?;
    serde_json::from_str(&text).map_err(kube::Error::SerdeError)
}

/// Gets a path as text; comes back where the server asks for it.
pub(super) async fn get_text(client: &Client, path: &str) -> kube::Result<String> {
    let mut tries = 0;
    loop {
        let request = Request::get(path)
            .body(vec![])
            .map_err(kube::Error::HttpError)?;
        match client.request_text(request).await {
            Err(kube::Error::Api(status)) if matches!(status.code, 429 | 503) && tries < 3 => {
                tries += 1;
                let asked = status
                    .details
                    .as_ref()
                    .map_or(0, |d| u64::from(d.retry_after_seconds));
                tokio::time::sleep(Duration::from_secs(asked.clamp(1, 10))).await;
            }
            answer => return answer,
        }
    }
}

impl Cluster {
    pub(super) async fn answer<T>(
        &self,
        doing: &str,
        answer: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Fault> {
        match tokio::time::timeout(ANSWER, answer).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(fault::of(&self.context, doing, &error)),
            Err(_) => Err(Fault::new(
                FaultKind::Timeout,
                format!("could not {doing}: no answer after {} s", ANSWER.as_secs()),
            )
            .about(&*self.context)
            .hint("retry")),
        }
    }

    /// Gets one object; `Ok(None)` where it does not exist (or its kind does not).
    ///
    /// # Errors
    /// Names the context, the object and, where it is forbidden, the verb and the resource that are needed.
    pub async fn get(&self, id: &ObjectId) -> Result<Option<Value>, Fault> {
        let Some(served) = self.served(id.group(), id.version(), &id.kind).await? else {
            return Ok(None);
        };
        let doing = format!("get {} {}", served.name(), place(id));
        let path = served.path(id.namespace.as_deref(), Some(&id.name));
        if served.namespaced && id.namespace.is_none() {
            return Err(Fault::new(
                FaultKind::Refused,
                format!("{id} names no namespace, but its kind needs one"),
            )
            .about(&*self.context));
        }
        match self.answer(&doing, get(&self.client, &path)).await {
            Ok(object) => Ok(Some(object)),
            Err(fault) if fault.kind == FaultKind::NotFound => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Gets objects, a few at once; answers come in the order of `ids`, each with its own fault.
    pub async fn get_all(&self, ids: &[ObjectId]) -> Vec<Result<Option<Value>, Fault>> {
        // The ids are owned, so that the future is `Send` for any lifetime of the caller's.
        futures::stream::iter(ids.to_vec())
            .map(|id| async move { self.get(&id).await })
            .buffered(AT_ONCE)
            .collect()
            .await
    }

    /// Lists a kind at the best version served, in `namespace` or in all; `Ok(None)` where the kind is not served.
    pub async fn list(
        &self,
        group: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Result<Option<Vec<Value>>, Fault> {
        let Some(served) = self.served(group, "", kind).await? else {
            return Ok(None);
        };
        let mut items = vec![];
        self.pages(&served, namespace, |page| items.extend(page))
            .await?;
        Ok(Some(items))
    }

    /// Lists a kind page by page; returns the version that the complete list has. A page that came too late (410)
    /// fails the whole list: what was seen then is not complete.
    pub(super) async fn pages(
        &self,
        served: &Served,
        namespace: Option<&str>,
        mut page: impl FnMut(Vec<Value>),
    ) -> Result<String, Fault> {
        let doing = match namespace {
            Some(namespace) => format!("list {} in {namespace}", served.name()),
            None => format!("list {}", served.name()),
        };
        let path = served.path(namespace, None);
        let mut token = String::new();
        loop {
            let mut url = format!("{path}?limit={PAGE}");
            if !token.is_empty() {
                url.push_str("&continue=");
                url.push_str(&escaped(&token));
            }
            let mut list = self.answer(&doing, get(&self.client, &url)).await?;
            let items = list.get_mut("items").map(Value::take);
            let Some(Value::Array(items)) = items else {
                return Err(Fault::new(
                    FaultKind::Internal,
                    format!("could not {doing}: the answer is no list"),
                )
                .about(&*self.context));
            };
            page(items.into_iter().map(|item| typed(item, served)).collect());
            let meta = |key: &str| {
                list.pointer(&format!("/metadata/{key}"))
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            token = meta("continue");
            if token.is_empty() {
                return Ok(meta("resourceVersion"));
            }
        }
    }

    /// Reads the `argocd-cm` settings of the control plane in `namespace` (`data` of the ConfigMap); `Ok(None)` where
    /// there is none.
    pub async fn argocd_settings(&self, namespace: &str) -> Result<Option<Value>, Fault> {
        self.get(&ObjectId {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: Some(namespace.to_owned()),
            name: "argocd-cm".to_owned(),
        })
        .await
    }

    /// Reads the ConfigMaps and Secrets that a Kustomization's `postBuild.substituteFrom` names; optional ones that
    /// do not exist are left out. The values never reach a log.
    pub async fn substitutes(&self, kustomization: &Value) -> Vec<Result<Value, Fault>> {
        let namespace = kustomization
            .pointer("/metadata/namespace")
            .and_then(Value::as_str);
        let wanted: Vec<(ObjectId, bool)> = kustomization
            .pointer("/spec/postBuild/substituteFrom")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .filter_map(|item| {
                let id = ObjectId {
                    api_version: "v1".to_owned(),
                    kind: item.get("kind")?.as_str()?.to_owned(),
                    namespace: namespace.map(str::to_owned),
                    name: item.get("name")?.as_str()?.to_owned(),
                };
                Some((
                    id,
                    item.get("optional").and_then(Value::as_bool) == Some(true),
                ))
            })
            .collect();
        let ids: Vec<ObjectId> = wanted.iter().map(|(id, _)| id.clone()).collect();
        let found = self.get_all(&ids).await;
        wanted
            .into_iter()
            .zip(found)
            .filter_map(|((id, optional), found)| match found {
                Ok(Some(object)) => Some(Ok(object)),
                Ok(None) if optional => None,
                Ok(None) => Some(Err(Fault::new(
                    FaultKind::NotFound,
                    format!("{id}, which substituteFrom names, does not exist"),
                )
                .about(&*self.context))),
                Err(fault) => Some(Err(fault)),
            })
            .collect()
    }

    /// Asks the server whether we may do something; `Err` where it cannot say.
    pub async fn access(&self, access: &Access<'_>) -> Result<bool, Fault> {
        let mut attributes =
            json!({"verb": access.verb, "group": access.group, "resource": access.resource});
        for (key, value) in [("namespace", access.namespace), ("name", access.name)] {
            if let Some(value) = value {
                attributes[key] = Value::from(value);
            }
        }
        let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes}});
        let ask = async {
            let request = Request::post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
                .header(http::header::CONTENT_TYPE, "application/json")
                .body(body.to_string().into_bytes())
                .map_err(kube::Error::HttpError)?;
            json(&self.client, request).await
        };
        let answer = self.answer("ask for our rights", ask).await?;
        Ok(answer.pointer("/status/allowed").and_then(Value::as_bool) == Some(true))
    }
}

/// Items of a list carry no kind of their own: gives them the list's.
pub(super) fn typed(mut item: Value, served: &Served) -> Value {
    if let Some(object) = item.as_object_mut() {
        for (key, value) in [
            ("apiVersion", &served.resource.api_version),
            ("kind", &served.resource.kind),
        ] {
            object
                .entry(key)
                .or_insert_with(|| Value::from(value.as_str()));
        }
    }
    item
}

fn place(id: &ObjectId) -> String {
    match &id.namespace {
        Some(namespace) => format!("{namespace}/{}", id.name),
        None => id.name.clone(),
    }
}
