//! The tower service: a request of the kube client in, a response out.

use std::convert::Infallible;
use std::sync::Arc;

use base64::Engine as _;
use bytes::Bytes;
use futures::StreamExt as _;
use http::{Method, Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use serde_json::{Value, json};

use super::access;
use super::address::{Address, Query, Spot};
use super::discovery::{self, Served};
use super::kinds::Kind;
use super::refusal::{Refusal, Wish};
use super::select::Selector;
use super::write::{Caller, PatchType};
use super::{Cluster, watch};

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Returns a kube client whose requests this cluster answers.
pub(in crate::world::demo) fn client(cluster: &Arc<Cluster>) -> kube::Client {
    let cluster = Arc::clone(cluster);
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let cluster = Arc::clone(&cluster);
        async move { Ok::<_, tower::BoxError>(answer(&cluster, request).await) }
    });
    kube::Client::new(service, "default")
}

async fn answer(cluster: &Cluster, request: Request<kube::client::Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return refused(&Refusal::bad_request(error.to_string())),
    };
    let text = |name: header::HeaderName| {
        let value = head.headers.get(name).and_then(|v| v.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let ask = Ask {
        cluster,
        method: head.method.clone(),
        query: Query::of(head.uri.query()),
        accept: text(header::ACCEPT),
        content_type: text(header::CONTENT_TYPE),
        user_agent: text(header::USER_AGENT),
        body,
    };
    let address = Address::of(head.uri.path());
    match ask.route(address) {
        Ok(response) => response,
        Err(refusal) => refused(&refusal),
    }
}

fn respond(code: u16, content_type: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = header::HeaderValue::from_str(content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    response
}

fn whole(code: u16, value: &Value) -> Response<Body> {
    let body = Full::new(Bytes::from(value.to_string())).boxed_unsync();
    respond(code, "application/json", body)
}

fn refused(refusal: &Refusal) -> Response<Body> {
    whole(refusal.code, &refusal.status())
}

/// Returns an object reduced to its metadata, as `as=PartialObjectMetadata` asks.
pub(super) fn metadata_only(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

/// One request, read.
struct Ask<'c> {
    cluster: &'c Cluster,
    method: Method,
    query: Query,
    accept: String,
    content_type: String,
    user_agent: String,
    body: Bytes,
}

impl Ask<'_> {
    fn route(&self, address: Address) -> Result<Response<Body>, Refusal> {
        let served = Served {
            without: self.cluster.character.without,
        };
        let aggregated = self.accept.contains("APIGroupDiscoveryList");
        let found = match address {
            Address::Version => Some(discovery::version()),
            Address::Health => {
                return Ok(respond(
                    200,
                    "text/plain",
                    Full::new(Bytes::from("ok")).boxed_unsync(),
                ));
            }
            Address::Core | Address::Groups if aggregated => {
                let list = served.aggregated(address == Address::Core).to_string();
                let kind = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
                return Ok(respond(
                    200,
                    kind,
                    Full::new(Bytes::from(list)).boxed_unsync(),
                ));
            }
            Address::Core => Some(Served::core()),
            Address::Groups => Some(served.group_list()),
            Address::Group(group) => served.group(&group),
            Address::Resources(group, version) => served.resources(&group, &version),
            Address::Documents => Some(served.documents()),
            Address::Document(group, version) => served.document(&group, &version),
            Address::Object(spot) if served.has(spot.kind) => return self.object(&spot),
            Address::Review(kind) => return self.review(kind),
            Address::Object(_) | Address::Nowhere => None,
        };
        found
            .map(|value| whole(200, &value))
            .ok_or_else(Refusal::no_resource)
    }

    fn review(&self, kind: &Kind) -> Result<Response<Body>, Refusal> {
        if self.method != Method::POST {
            return Err(Refusal::not_allowed());
        }
        let denials = self.cluster.character.denials;
        let review = self.json()?;
        let answer = if kind.kind == "SelfSubjectAccessReview" {
            access::access_review(denials, review)
        } else {
            access::rules_review(denials, review)
        };
        Ok(whole(201, &answer))
    }

    fn object(&self, spot: &Spot) -> Result<Response<Body>, Refusal> {
        if let Some(subresource) = spot.subresource.as_deref() {
            let known = match subresource {
                "status" => spot.kind.traits.status,
                "scale" => spot.kind.traits.scale,
                _ => false,
            };
            if !known {
                return Err(Refusal::no_resource());
            }
        }
        let watching = self.query.is("watch");
        match (self.method.as_str(), spot.name.as_deref()) {
            ("GET", None) if watching => self.watch(spot),
            ("GET", None) => self.list(spot),
            ("GET", Some(name)) => self.get(spot, name),
            ("POST", None) => self.create(spot),
            ("PUT", Some(name)) => self.put(spot, name),
            ("PATCH", Some(name)) => self.patch(spot, name),
            ("DELETE", Some(name)) => self.delete(spot, name),
            _ => Err(Refusal::not_allowed()),
        }
    }

    /// Checks a right; the 403 says what a real server says.
    fn may(&self, verb: &str, spot: &Spot, name: Option<&str>) -> Result<(), Refusal> {
        let character = &self.cluster.character;
        let namespace = spot.namespace.as_deref();
        if access::allowed(character.denials, verb, spot.kind, namespace) {
            return Ok(());
        }
        let wish = Wish {
            user: character.user,
            verb,
            namespace,
            name,
        };
        Err(Refusal::forbidden(spot.kind, wish))
    }

    fn json(&self) -> Result<Value, Refusal> {
        serde_json::from_slice(&self.body)
            .map_err(|e| Refusal::bad_request(format!("the object provided is unrecognized: {e}")))
    }

    fn bare(&self) -> bool {
        self.accept.contains("as=PartialObjectMetadata")
    }

    fn caller(&self, spot: &Spot) -> Result<Caller, Refusal> {
        let agent = self.user_agent.split('/').next().filter(|a| !a.is_empty());
        let manager = self
            .query
            .get("fieldManager")
            .or(agent)
            .unwrap_or("unknown");
        let dry = match self.query.get("dryRun") {
            None => false,
            Some("All") => true,
            Some(other) => {
                let message =
                    format!("dryRun: Unsupported value: \"{other}\": supported values: \"All\"");
                return Err(Refusal::bad_request(message));
            }
        };
        Ok(Caller {
            manager: manager.to_owned(),
            dry,
            subresource: spot.subresource.clone(),
        })
    }

    fn one(&self, code: u16, spot: &Spot, object: &Value) -> Response<Body> {
        if spot.subresource.as_deref() == Some("scale") {
            return whole(code, &scale(object));
        }
        if self.bare() {
            return whole(code, &metadata_only(object));
        }
        whole(code, object)
    }

    fn get(&self, spot: &Spot, name: &str) -> Result<Response<Body>, Refusal> {
        self.may("get", spot, Some(name))?;
        let object = self.cluster.get(spot.kind, spot.namespace.as_deref(), name);
        let object = object.ok_or_else(|| Refusal::not_found(spot.kind, name))?;
        Ok(self.one(200, spot, &object))
    }

    fn watch(&self, spot: &Spot) -> Result<Response<Body>, Refusal> {
        self.may("watch", spot, None)?;
        let lines = match watch::watch(&self.cluster.store, spot, &self.query, self.bare()) {
            Ok(lines) => lines.left_stream(),
            // A real server answers 200 and says it in the stream.
            Err(gone) if gone.code == 410 => {
                let line = format!("{}\n", json!({"type": "ERROR", "object": gone.status()}));
                futures::stream::iter([line]).right_stream()
            }
            Err(refusal) => return Err(refusal),
        };
        let frames = lines.map(|line| Ok(Frame::data(Bytes::from(line))));
        Ok(respond(
            200,
            "application/json",
            StreamBody::new(frames).boxed_unsync(),
        ))
    }

    fn list(&self, spot: &Spot) -> Result<Response<Body>, Refusal> {
        self.may("list", spot, None)?;
        let selector = Selector::of(&self.query)?;
        let (mut version, objects) = self
            .cluster
            .store
            .list(spot.kind, spot.namespace.as_deref());
        let mut taken: Vec<&Value> = objects
            .iter()
            .map(AsRef::as_ref)
            .filter(|o| selector.takes(o))
            .collect();
        if let Some(token) = self.query.get("continue") {
            let (at, after) = resume(token)?;
            version = at;
            taken.retain(|object| place(object) > after);
        }
        let limit = self
            .query
            .get("limit")
            .and_then(|l| l.parse::<usize>().ok());
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if let Some(limit) = limit.filter(|l| *l > 0 && *l < taken.len()) {
            metadata["continue"] = token(version, taken[limit - 1]).into();
            metadata["remainingItemCount"] = (taken.len() - limit).into();
            taken.truncate(limit);
        }
        let bare = self.bare();
        let items: Vec<Value> = taken
            .into_iter()
            .map(|object| item(spot.kind, object, bare))
            .collect();
        let (api_version, kind) = if bare {
            (
                "meta.k8s.io/v1".to_owned(),
                "PartialObjectMetadataList".to_owned(),
            )
        } else {
            (spot.kind.api_version(), format!("{}List", spot.kind.kind))
        };
        Ok(whole(
            200,
            &json!({"kind": kind, "apiVersion": api_version, "metadata": metadata, "items": items}),
        ))
    }

    fn create(&self, spot: &Spot) -> Result<Response<Body>, Refusal> {
        let body = self.json()?;
        self.may("create", spot, None)?;
        let inside = body.pointer("/metadata/namespace").and_then(Value::as_str);
        let namespace = spot.namespace.as_deref();
        if spot.kind.namespaced && namespace.is_none() {
            return Err(Refusal::not_allowed());
        }
        if inside.is_some_and(|inside| Some(inside) != namespace) {
            return Err(Refusal::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        let object = self
            .cluster
            .create(spot.kind, namespace, body, &self.caller(spot)?)?;
        Ok(self.one(201, spot, &object))
    }

    fn put(&self, spot: &Spot, name: &str) -> Result<Response<Body>, Refusal> {
        self.may("update", spot, Some(name))?;
        let (namespace, caller, body) =
            (spot.namespace.as_deref(), self.caller(spot)?, self.json()?);
        let object = if spot.subresource.as_deref() == Some("scale") {
            self.scale(spot, name, &body, &caller)?
        } else {
            self.cluster
                .replace(spot.kind, namespace, name, body, &caller)?
        };
        Ok(self.one(200, spot, &object))
    }

    fn scale(
        &self,
        spot: &Spot,
        name: &str,
        body: &Value,
        caller: &Caller,
    ) -> Result<Value, Refusal> {
        let replicas = body["spec"]["replicas"].clone();
        self.cluster.edit(
            spot.kind,
            spot.namespace.as_deref(),
            name,
            caller,
            |object| {
                object["spec"]["replicas"] = if replicas.is_null() {
                    0.into()
                } else {
                    replicas
                };
                Ok(())
            },
        )
    }

    fn patch(&self, spot: &Spot, name: &str) -> Result<Response<Body>, Refusal> {
        self.may("patch", spot, Some(name))?;
        let (namespace, caller, body) =
            (spot.namespace.as_deref(), self.caller(spot)?, self.json()?);
        let how = match self.content_type.split(';').next().unwrap_or_default() {
            "application/apply-patch+yaml" => return self.apply(spot, name, body, &caller),
            "application/merge-patch+json" => PatchType::Merge,
            "application/json-patch+json" => PatchType::Json,
            "application/strategic-merge-patch+json" => PatchType::Strategic,
            _ => return Err(Refusal::unsupported_media()),
        };
        let object = if spot.subresource.as_deref() == Some("scale") {
            self.scale(spot, name, &body, &caller)?
        } else {
            self.cluster
                .patch(spot.kind, (namespace, name), (how, &body), &caller)?
        };
        Ok(self.one(200, spot, &object))
    }

    fn apply(
        &self,
        spot: &Spot,
        name: &str,
        body: Value,
        caller: &Caller,
    ) -> Result<Response<Body>, Refusal> {
        if self.query.get("fieldManager").is_none() {
            return Err(Refusal::bad_request(
                "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
            ));
        }
        let namespace = spot.namespace.as_deref();
        if self.cluster.get(spot.kind, namespace, name).is_none() {
            self.may("create", spot, None)?;
        }
        if body.pointer("/metadata/name").and_then(Value::as_str) != Some(name) {
            return Err(Refusal::bad_request(format!(
                "the name of the object ({}) does not match the name on the URL ({name})",
                body.pointer("/metadata/name")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            )));
        }
        let force = self.query.is("force");
        let (created, object) = self
            .cluster
            .apply(spot.kind, namespace, body, caller, force)?;
        Ok(self.one(if created { 201 } else { 200 }, spot, &object))
    }

    fn delete(&self, spot: &Spot, name: &str) -> Result<Response<Body>, Refusal> {
        self.may("delete", spot, Some(name))?;
        let options = if self.body.is_empty() {
            Value::Null
        } else {
            self.json()?
        };
        let dry =
            self.caller(spot)?.dry || options["dryRun"].as_array().is_some_and(|d| !d.is_empty());
        let uid = options
            .pointer("/preconditions/uid")
            .and_then(Value::as_str);
        let object = self
            .cluster
            .delete(spot.kind, spot.namespace.as_deref(), name, uid, dry)?;
        if !object["metadata"]["deletionTimestamp"].is_null() {
            return Ok(self.one(200, spot, &object));
        }
        Ok(whole(
            200,
            &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": {
                "name": name, "group": spot.kind.group, "kind": spot.kind.plural, "uid": object["metadata"]["uid"]}}),
        ))
    }
}

/// Returns an object as it stands in a list: built-in kinds do not repeat kind and apiVersion there.
fn item(kind: &Kind, object: &Value, bare: bool) -> Value {
    if bare {
        return metadata_only(object);
    }
    let mut item = object.clone();
    if !kind.traits.custom
        && let Some(root) = item.as_object_mut()
    {
        root.remove("kind");
        root.remove("apiVersion");
    }
    item
}

fn scale(object: &Value) -> Value {
    let metadata = &object["metadata"];
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"], "creationTimestamp": metadata["creationTimestamp"]},
        "spec": {"replicas": object["spec"]["replicas"]}, "status": {"replicas": object["status"]["replicas"]},
    })
}

/// Returns an object's place in a list.
fn place(object: &Value) -> (String, String) {
    let text = |key: &str| {
        object["metadata"][key]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    (text("namespace"), text("name"))
}

fn token(version: u64, last: &Value) -> String {
    let (namespace, name) = place(last);
    base64::engine::general_purpose::URL_SAFE_NO_PAD
        .encode(format!("{version}\n{namespace}\n{name}"))
}

fn resume(token: &str) -> Result<(u64, (String, String)), Refusal> {
    let wrong = || {
        Refusal::bad_request("continue key is not valid: unable to parse the continuation token")
    };
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(token)
        .map_err(|_| wrong())?;
    let text = String::from_utf8(bytes).map_err(|_| wrong())?;
    let mut parts = text.split('\n');
    let (Some(version), Some(namespace), Some(name)) = (parts.next(), parts.next(), parts.next())
    else {
        return Err(wrong());
    };
    let version = version.parse().map_err(|_| wrong())?;
    Ok((version, (namespace.to_owned(), name.to_owned())))
}
