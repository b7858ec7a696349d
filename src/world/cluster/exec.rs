//! Credential plugins of a kubeconfig, run without a terminal and within a bound.
//!
//! kube would let a plugin read from and write to the terminal that we paint, would wait for it without end, and would
//! put its command line into errors. So plugins run here: no standard input, standard error caught and shown cleaned,
//! killed at the bound, once for all requests that wait, again only when the token ran out or was refused.

use std::collections::HashMap;
use std::fmt;
use std::process::Stdio;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine as _;
use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, StatusCode};
use jiff::Timestamp;
use kube::client::Body;
use kube::config::{Cluster, ExecConfig, ExecInteractiveMode};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::Mutex;
use tower::{BoxError, Layer, Service};

use super::fault::without_user;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::text::clean_line;

/// The longest that a plugin may take.
const BOUND: Duration = Duration::from_secs(20);

/// The credentials that one context's plugin gives.
#[derive(Clone)]
pub(super) struct Credentials {
    inner: Arc<Inner>,
}

struct Inner {
    context: String,
    exec: ExecConfig,
    info: Value,
    held: Mutex<Option<Held>>,
}

#[derive(Clone)]
struct Held {
    token: Option<String>,
    certificate: Option<(String, String)>,
    expires: Option<Timestamp>,
    /// Counts the runs, so that a refused token is replaced once and not once for each request that it failed.
    run: u64,
}

/// Prints neither tokens nor arguments.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("context", &self.inner.context)
            .finish_non_exhaustive()
    }
}

impl Credentials {
    /// Takes a plugin's configuration; nothing runs yet. A plugin that insists on a terminal is refused.
    pub(super) fn new(
        context: &str,
        exec: &ExecConfig,
        cluster: Option<&Cluster>,
    ) -> Result<Self, Fault> {
        let name = exec.command.clone().unwrap_or_default();
        if name.is_empty() {
            return Err(
                Fault::new(FaultKind::Config, "its credential plugin names no command")
                    .about(context),
            );
        }
        if exec.interactive_mode == Some(ExecInteractiveMode::Always) {
            return Err(Fault::new(
                FaultKind::Unauthorized,
                format!("its credential plugin {name} wants a terminal (interactiveMode: Always)"),
            )
            .about(context)
            .hint("log in with it in a shell first, or set interactiveMode: IfAvailable"));
        }
        let mut spec = json!({"interactive": false});
        if exec.provide_cluster_info
            && let Some(cluster) = cluster
        {
            spec["cluster"] = cluster_info(cluster);
        }
        let info = json!({
            "apiVersion": exec.api_version.as_deref().unwrap_or("client.authentication.k8s.io/v1"),
            "kind": "ExecCredential",
            "spec": spec,
        });
        Ok(Self {
            inner: Arc::new(Inner {
                context: context.to_owned(),
                exec: exec.clone(),
                info,
                held: Mutex::new(None),
            }),
        })
    }

    /// Returns the client certificate and key that the plugin gave, base64 as in a kubeconfig, if it gives one.
    pub(super) async fn certificate(&self) -> Result<Option<(String, String)>, Fault> {
        Ok(self.current(None).await?.certificate)
    }

    /// Returns what the plugin gives now; runs it where nothing is held, where it ran out, or where run `refused` was
    /// refused by the server.
    async fn current(&self, refused: Option<u64>) -> Result<Held, Fault> {
        let mut held = self.inner.held.lock().await;
        if let Some(held) = held.as_ref()
            && refused.is_none_or(|run| run != held.run)
            && held.expires.is_none_or(|at| at > super::now())
        {
            return Ok(held.clone());
        }
        let run = held.as_ref().map_or(0, |h| h.run + 1);
        let fresh = self.run(run).await?;
        *held = Some(fresh.clone());
        Ok(fresh)
    }

    async fn run(&self, run: u64) -> Result<Held, Fault> {
        let exec = &self.inner.exec;
        let name = exec.command.clone().unwrap_or_default();
        let wrong = |sentence: String| {
            Fault::new(FaultKind::Unauthorized, sentence).about(self.inner.context.as_str())
        };
        let mut command = Command::new(&name);
        command
            .args(exec.args.iter().flatten())
            .envs(environment(exec.env.as_deref().unwrap_or_default()))
            .env("KUBERNETES_EXEC_INFO", self.inner.info.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let output = tokio::time::timeout(BOUND, command.output())
            .await
            .map_err(|_| {
                wrong(format!(
                    "its credential plugin {name} gave no answer within {} s and was stopped",
                    BOUND.as_secs()
                ))
                .hint("run it in a shell to see what it waits for")
            })?
            .map_err(|error| {
                let fault = wrong(format!(
                    "its credential plugin {name} cannot be run: {error}"
                ));
                match &exec.install_hint {
                    Some(hint) => fault.hint(clean_line(hint).into_owned()),
                    None => fault.hint("install it, or put it on PATH"),
                }
            })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = plain(&said);
            let fault = wrong(if said.is_empty() {
                format!("its credential plugin {name} failed ({})", output.status)
            } else {
                format!("its credential plugin {name} failed: {said}")
            });
            return Err(fault.hint("run it in a shell, or log in again"));
        }
        read(&output.stdout, run)
            .ok_or_else(|| wrong(format!("its credential plugin {name} gave no credentials")))
    }
}

/// Reads an `ExecCredential`; a YAML answer is read, too, as kubectl does.
fn read(stdout: &[u8], run: u64) -> Option<Held> {
    let text = std::str::from_utf8(stdout).ok()?;
    let value: Value = serde_json::from_str(text).ok()?;
    let get = |key: &str| {
        value
            .pointer(&format!("/status/{key}"))
            .and_then(Value::as_str)
            .filter(|s| !s.is_empty())
            .map(str::to_owned)
    };
    let encoded =
        |key: &str| get(key).map(|pem| base64::engine::general_purpose::STANDARD.encode(pem));
    let held = Held {
        token: get("token"),
        certificate: encoded("clientCertificateData").zip(encoded("clientKeyData")),
        expires: get("expirationTimestamp").and_then(|t| t.parse().ok()),
        run,
    };
    (held.token.is_some() || held.certificate.is_some()).then_some(held)
}

fn environment(pairs: &[HashMap<String, String>]) -> impl Iterator<Item = (&String, &String)> {
    pairs
        .iter()
        .filter_map(|pair| Some((pair.get("name")?, pair.get("value")?)))
}

fn cluster_info(cluster: &Cluster) -> Value {
    let mut info = json!({"server": cluster.server});
    for (key, value) in [
        (
            "certificate-authority-data",
            &cluster.certificate_authority_data,
        ),
        ("tls-server-name", &cluster.tls_server_name),
        ("proxy-url", &cluster.proxy_url),
    ] {
        if let Some(value) = value {
            info[key] = Value::from(value.as_str());
        }
    }
    if let Some(skip) = cluster.insecure_skip_tls_verify {
        info["insecure-skip-tls-verify"] = Value::from(skip);
    }
    info
}

/// Makes a plugin's words one safe line: colour codes out, passwords in URLs out, at most 300 characters.
fn plain(said: &str) -> String {
    let mut text = String::new();
    let mut chars = said.trim().chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' && chars.peek() == Some(&'[') {
            chars.next();
            while chars.next().is_some_and(|c| !c.is_ascii_alphabetic()) {}
        } else {
            text.push(c);
        }
    }
    let line = without_user(&clean_line(&text));
    line.chars().take(300).collect()
}

/// Puts the plugin's token on every request, and on a 401 runs the plugin once more and sends that request again.
#[derive(Debug, Clone)]
pub(super) struct ExecLayer {
    credentials: Credentials,
}

impl ExecLayer {
    pub(super) fn new(credentials: Credentials) -> Self {
        Self { credentials }
    }
}

impl<S> Layer<S> for ExecLayer {
    type Service = ExecService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ExecService {
            credentials: self.credentials.clone(),
            inner: Arc::new(Mutex::new(inner)),
        }
    }
}

/// See [`ExecLayer`].
#[derive(Debug)]
pub(super) struct ExecService<S> {
    credentials: Credentials,
    inner: Arc<Mutex<S>>,
}

impl<S, B> Service<Request<Body>> for ExecService<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError> + Send + 'static,
    S::Future: Send + 'static,
    B: Send + 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<B>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let credentials = self.credentials.clone();
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            let held = credentials.current(None).await?;
            let again = copy(&request);
            let response = send(&inner, request, &held).await?;
            let (StatusCode::UNAUTHORIZED, Some(again)) = (response.status(), again) else {
                return Ok(response);
            };
            // the server refused it before doing anything, so that sending it again is safe
            let fresh = credentials.current(Some(held.run)).await?;
            send(&inner, again, &fresh).await
        })
    }
}

async fn send<S, B>(
    inner: &Mutex<S>,
    mut request: Request<Body>,
    held: &Held,
) -> Result<Response<B>, BoxError>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError>,
{
    if let Some(token) = &held.token {
        let mut value = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| BoxError::from("the credential plugin's token is no header value"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    let answer = {
        let mut service = inner.lock().await;
        std::future::poll_fn(|cx| service.poll_ready(cx)).await?;
        service.call(request)
    };
    answer.await
}

fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().try_clone()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    Some(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_a_plugin_says_without_its_colours() {
        assert_eq!(
            plain("\u{1b}[31mWARNING: login\u{1b}[0m\nsee https://u:p@x/\n"),
            "WARNING: login⏎see https://***@x/"
        );
    }

    #[test]
    fn takes_tokens_and_certificates() {
        let held = read(
            br#"{"status": {"token": "t", "expirationTimestamp": "2026-01-01T00:00:00Z"}}"#,
            0,
        )
        .unwrap();
        assert_eq!(
            (held.token.as_deref(), held.expires.is_some()),
            (Some("t"), true)
        );
        assert!(read(b"{\"status\": {}}", 0).is_none());
        assert!(read(b"not json", 0).is_none());
    }
}
