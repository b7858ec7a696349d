//! A scripted API service: replies by method, path and query, in process behind the shipping kube client or on a
//! loopback port.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody, combinators::UnsyncBoxBody};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

type Answer = UnsyncBoxBody<Bytes, Infallible>;

/// One request as it came.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    /// `GET /apis?watch=true`.
    pub(super) line: String,
    /// The `Authorization` header.
    pub(super) token: Option<String>,
    /// The body, where it is JSON.
    pub(super) body: Value,
}

/// The replies (see `tests/corpus/cluster/N05/routes.json`), and what was asked.
#[derive(Debug, Clone, Default)]
pub(super) struct Script {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    routes: Vec<Value>,
    seen: Vec<Seen>,
}

struct Reply {
    status: u16,
    delay: Duration,
    lines: Option<(Vec<String>, bool)>,
    body: String,
}

impl Script {
    pub(super) fn new(routes: Value) -> Self {
        let Value::Array(routes) = routes else {
            panic!("a list of routes");
        };
        let script = Self::default();
        script.inner.lock().unwrap().routes = routes;
        script
    }

    /// Puts a route before all others.
    pub(super) fn first(&self, route: Value) {
        self.inner.lock().unwrap().routes.insert(0, route);
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.inner.lock().unwrap().seen.clone()
    }

    pub(super) fn count(&self, part: &str) -> usize {
        self.seen().iter().filter(|s| s.line.contains(part)).count()
    }

    fn reply(&self, method: &str, target: &str, token: Option<String>, body: &[u8]) -> Reply {
        let mut inner = self.inner.lock().unwrap();
        inner.seen.push(Seen {
            line: format!("{method} {target}"),
            token,
            body: serde_json::from_slice(body).unwrap_or(Value::Null),
        });
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let asked: Vec<(&str, &str)> = query.split('&').filter_map(|q| q.split_once('=')).collect();
        let fits = |route: &Value| {
            route["method"] == method
                && route["path"] == path
                && route.get("times") != Some(&json!(0))
                && route
                    .get("query")
                    .and_then(Value::as_object)
                    .is_none_or(|wanted| {
                        wanted
                            .iter()
                            .all(|(key, value)| asked.contains(&(key, value.as_str().unwrap())))
                    })
        };
        let Some(route) = inner.routes.iter_mut().find(|route| fits(route)) else {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
                "code": 404, "message": format!("no route for {path}")});
            return Reply {
                status: 404,
                delay: Duration::ZERO,
                lines: None,
                body: status.to_string(),
            };
        };
        if let Some(times) = route.get("times").and_then(Value::as_u64) {
            route["times"] = json!(times - 1);
        }
        let lines = route.get("stream").and_then(Value::as_array).map(|lines| {
            let close = lines.iter().any(|l| l.get("close").is_some());
            let lines = lines
                .iter()
                .filter(|l| l.get("close").is_none())
                .map(|l| format!("{l}\n"))
                .collect();
            (lines, close)
        });
        Reply {
            status: route["status"].as_u64().unwrap() as u16,
            delay: if lines.is_some() {
                Duration::ZERO
            } else {
                Duration::from_secs(route.get("delay_s").and_then(Value::as_u64).unwrap_or(0))
            },
            lines,
            body: route.get("body").map(Value::to_string).unwrap_or_default(),
        }
    }

    /// The shipping client over this script.
    pub(super) fn client(&self) -> kube::Client {
        let script = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let script = script.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                let target = parts.uri.path_and_query().unwrap().as_str().to_owned();
                let reply = script.reply(parts.method.as_str(), &target, None, &body);
                tokio::time::sleep(reply.delay).await;
                Ok::<_, Infallible>(
                    Response::builder()
                        .status(reply.status)
                        .body(answer(reply))
                        .unwrap(),
                )
            }
        });
        kube::Client::new(service, "default")
    }

    /// Serves the script on a loopback port; returns the port.
    pub(super) async fn listen(&self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = self.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let script = script.clone();
                tokio::spawn(async move {
                    let mut head = vec![];
                    while !head.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else {
                            return;
                        };
                        head.push(byte);
                    }
                    let head = String::from_utf8_lossy(&head).into_owned();
                    let mut first = head.split_whitespace();
                    let (method, target) = (first.next().unwrap(), first.next().unwrap());
                    let target = match target.strip_prefix("http://") {
                        Some(rest) => &rest[rest.find('/').unwrap_or(rest.len())..],
                        None => target,
                    };
                    let token = head
                        .lines()
                        .filter_map(|l| l.split_once(": "))
                        .find(|(key, _)| key.eq_ignore_ascii_case("authorization"))
                        .map(|(_, value)| value.to_owned());
                    let reply = script.reply(method, target, token, b"");
                    let text = format!(
                        "HTTP/1.1 {} x\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                        reply.status,
                        reply.body.len(),
                        reply.body
                    );
                    drop(stream.write_all(text.as_bytes()).await);
                });
            }
        });
        port
    }
}

fn answer(reply: Reply) -> Answer {
    let Some((lines, close)) = reply.lines else {
        return StreamBody::new(futures::stream::iter([Ok(Frame::data(Bytes::from(
            reply.body,
        )))]))
        .boxed_unsync();
    };
    let lines = futures::stream::iter(lines).map(|line| Ok(Frame::data(Bytes::from(line))));
    if close {
        StreamBody::new(lines).boxed_unsync()
    } else {
        StreamBody::new(lines.chain(futures::stream::pending())).boxed_unsync()
    }
}
