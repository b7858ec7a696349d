//! Smart HTTP over ureq and rustls, for https and http alike.
//!
//! A 401 asks each source of credentials once, so a wrong password ends the call instead of looping. Redirects are
//! followed while reading the advertisement, and the requests that follow go where it came from; never from https to
//! http. Bounds: until connected, and without a byte.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use git2::Error;
use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream};
use ureq::http::{Response, StatusCode};
use ureq::tls::{PemItem, RootCerts, TlsConfig};
use ureq::{Agent, Body, ResponseExt as _};

use crate::domain::fault::FaultKind;
use crate::world::git::call::Call;
use crate::world::git::credentials::{self, Asker, Credential, Sources};

/// Transport over HTTP; one per conversation.
pub(super) struct Http {
    session: Arc<Session>,
}

impl Http {
    /// Makes the transport of one conversation.
    pub(super) fn new(call: Arc<Call>) -> Self {
        Self {
            session: Arc::new(Session {
                call,
                state: Mutex::default(),
            }),
        }
    }
}

impl SmartSubtransport for Http {
    fn action(
        &self,
        url: &str,
        service: Service,
    ) -> Result<Box<dyn SmartSubtransportStream>, Error> {
        let (name, listing) = match service {
            Service::UploadPackLs => ("git-upload-pack", true),
            Service::UploadPack => ("git-upload-pack", false),
            Service::ReceivePackLs => ("git-receive-pack", true),
            Service::ReceivePack => ("git-receive-pack", false),
        };
        if listing {
            self.session.begin(url);
            let answer = self.session.list(name)?;
            return Ok(Box::new(Exchange::answered(answer)));
        }
        Ok(Box::new(Exchange {
            session: Arc::clone(&self.session),
            service: name,
            question: vec![],
            answer: None,
        }))
    }

    fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// What one conversation has learned.
struct Session {
    call: Arc<Call>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    agent: Option<Agent>,
    headers: Vec<(String, String)>,
    /// Where the requests go: the address, or where it redirected to.
    base: String,
    sources: Sources,
    credential: Option<Credential>,
    approved: bool,
}

/// Failure that is already in the call's words.
fn told() -> Error {
    Error::from_str("the server could not be asked over http")
}

impl Session {
    fn begin(&self, url: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.agent.is_none() {
            state.base = without_user(url.trim_end_matches('/'));
            let settings = self
                .call
                .access
                .config_for_url(&self.call.dir, "http", &state.base);
            state.headers = extra_headers(&settings);
            state.agent = Some(agent(&self.call, &settings));
        }
    }

    fn list(&self, service: &str) -> Result<Body, Error> {
        let path = format!("/info/refs?service={service}");
        let answer = self.send(&path, service, None)?;
        let kind = answer
            .headers()
            .get("content-type")
            .and_then(|v| v.to_str().ok())
            .unwrap_or("nothing")
            .to_owned();
        if !kind.starts_with(&format!("application/x-{service}-advertisement")) {
            self.call.failed(
                FaultKind::Git,
                format!("it answered with {kind}, which is no Git server's answer (a login page, perhaps)"),
                "check the address in a browser",
            );
            return Err(told());
        }
        Ok(answer.into_body())
    }

    fn post(&self, service: &str, question: &[u8]) -> Result<Body, Error> {
        let answer = self.send(&format!("/{service}"), service, Some(question))?;
        Ok(answer.into_body())
    }

    /// Sends one request, again with each credential in turn while the server asks for one.
    fn send(
        &self,
        path: &str,
        service: &str,
        question: Option<&[u8]>,
    ) -> Result<Response<Body>, Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let agent = state.agent.clone().ok_or_else(told)?;
            let answer = request(&agent, &state, path, service, question).map_err(|e| {
                self.unreachable(&e);
                told()
            })?;
            if question.is_none() {
                self.follow(&mut state, &answer, path)?;
            }
            let asker = asker(&state.base);
            match answer.status() {
                status if status.is_success() => {
                    if let (Some(credential), false) = (&state.credential, state.approved) {
                        credentials::report(&self.call, &asker, credential, true);
                        state.approved = true;
                    }
                    return Ok(answer);
                }
                StatusCode::UNAUTHORIZED => {
                    let refused = state.credential.take();
                    if let Some(credential) = &refused {
                        credentials::report(&self.call, &asker, credential, false);
                    }
                    state.credential = state.sources.next(&self.call, &asker);
                    if state.credential.is_none() {
                        self.unauthorized(refused.is_some());
                        return Err(told());
                    }
                }
                status => {
                    self.refused(status, answer);
                    return Err(told());
                }
            }
        }
    }

    /// Takes over where a redirect led to.
    fn follow(&self, state: &mut State, answer: &Response<Body>, path: &str) -> Result<(), Error> {
        let reached = answer.get_uri().to_string();
        let Some(base) = reached.strip_suffix(path) else {
            return Ok(());
        };
        if state.base.starts_with("https:") && !base.starts_with("https:") {
            self.call.failed(
                FaultKind::Refused,
                "it redirects from https to plain http",
                "correct the address",
            );
            return Err(told());
        }
        base.clone_into(&mut state.base);
        Ok(())
    }

    fn unauthorized(&self, tried: bool) {
        let cause = if tried {
            "authentication failed: the server refused the credentials"
        } else {
            "authentication failed: the server asks for credentials, and no helper, environment or address has any"
        };
        self.call.failed(
            FaultKind::Unauthorized,
            cause,
            "set up a credential helper (git config credential.helper), or GITOPS_TUI_GIT_HOST, \
             GITOPS_TUI_GIT_USERNAME and GITOPS_TUI_GIT_PASSWORD",
        );
    }

    fn refused(&self, status: StatusCode, answer: Response<Body>) {
        let words = answer
            .into_body()
            .into_with_config()
            .limit(2048)
            .lossy_utf8(true)
            .read_to_string();
        let words = words.unwrap_or_default();
        let plain = !words.trim_start().starts_with('<') && !words.trim().is_empty();
        let cause = if plain {
            format!("it answered {status}: {}", words.trim())
        } else {
            format!("it answered {status}")
        };
        let (kind, hint) = match status.as_u16() {
            403 => (
                FaultKind::Forbidden,
                "these credentials may not do this: ask for access to the repository",
            ),
            404 | 410 => (
                FaultKind::NotFound,
                "check the path; many servers say 404 where access is missing",
            ),
            408 | 504 => (FaultKind::Timeout, "try again later"),
            500.. => (
                FaultKind::Unreachable,
                "try again later; the server has a fault",
            ),
            _ => (FaultKind::Git, "check the address in a browser"),
        };
        self.call.failed(kind, cause, hint);
    }

    fn unreachable(&self, error: &ureq::Error) {
        let (kind, hint) = match error {
            ureq::Error::Timeout(_) => (
                FaultKind::Timeout,
                "check the network and the proxy, then try again",
            ),
            ureq::Error::Rustls(_) | ureq::Error::Tls(_) | ureq::Error::Pem(_) => (
                FaultKind::Refused,
                "the certificate is not trusted: add its authority to the system, or name it in http.sslCAInfo",
            ),
            ureq::Error::Io(io) if io.to_string().contains("certificate") => (
                FaultKind::Refused,
                "the certificate is not trusted: add its authority to the system, or name it in http.sslCAInfo",
            ),
            ureq::Error::Io(io) if io.kind() == io::ErrorKind::TimedOut => (
                FaultKind::Timeout,
                "check the network and the proxy, then try again",
            ),
            ureq::Error::BadUri(_) => (FaultKind::Config, "correct the address"),
            _ => (
                FaultKind::Unreachable,
                "check host, port, network and proxy (HTTPS_PROXY)",
            ),
        };
        self.call.failed(kind, error.to_string(), hint);
    }
}

fn request(
    agent: &Agent,
    state: &State,
    path: &str,
    service: &str,
    question: Option<&[u8]>,
) -> Result<Response<Body>, ureq::Error> {
    let url = format!("{}{path}", state.base);
    let authorization = state.credential.as_ref().map(Credential::header);
    let mut headers: Vec<(&str, &str)> = state
        .headers
        .iter()
        .map(|(n, v)| (n.as_str(), v.as_str()))
        .collect();
    headers.extend(authorization.as_deref().map(|a| ("Authorization", a)));
    let Some(question) = question else {
        let request = headers
            .iter()
            .fold(agent.get(&url), |r, (n, v)| r.header(*n, *v));
        return request.header("Accept", "*/*").call();
    };
    let request = headers
        .iter()
        .fold(agent.post(&url), |r, (n, v)| r.header(*n, *v));
    request
        .header("Content-Type", format!("application/x-{service}-request"))
        .header("Accept", format!("application/x-{service}-result"))
        .send(question)
}

fn agent(call: &Call, settings: &[(String, String)]) -> Agent {
    let bounds = call.access.timeouts();
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .user_agent(concat!("git/gitops-tui ", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(bounds.connect))
        .timeout_connect(Some(bounds.connect))
        .timeout_recv_response(Some(bounds.idle))
        .timeout_per_read(Some(bounds.idle))
        .timeout_per_write(Some(bounds.idle))
        // A bound on the whole transfer as well: a drip of bytes must end some time.
        .timeout_recv_body(Some(Duration::from_hours(1)))
        .tls_config(tls(call, settings));
    config.build().into()
}

/// Trusts what the system trusts, or the authority that git is configured with for this address.
fn tls(call: &Call, settings: &[(String, String)]) -> TlsConfig {
    let setting = |key: &str| {
        settings
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, v)| v.as_str())
    };
    let variables = call.access.variables();
    let unchecked = setting("http.sslverify")
        .is_some_and(|v| matches!(v, "false" | "no" | "off" | "0"))
        || variables.get("GIT_SSL_NO_VERIFY").is_some();
    let authorities = variables
        .get("GIT_SSL_CAINFO")
        .or_else(|| setting("http.sslcainfo"))
        .and_then(read_authorities);
    let roots = authorities.unwrap_or(RootCerts::PlatformVerifier);
    TlsConfig::builder()
        .root_certs(roots)
        .disable_verification(unchecked)
        .build()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the file of authorities that git is configured with"
)]
fn read_authorities(path: &str) -> Option<RootCerts> {
    let pem = std::fs::read(path).ok()?;
    let certificates: Vec<_> = ureq::tls::parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(c)) => Some(c),
            _ => None,
        })
        .collect();
    (!certificates.is_empty()).then(|| RootCerts::new_with_certs(&certificates))
}

fn extra_headers(settings: &[(String, String)]) -> Vec<(String, String)> {
    settings
        .iter()
        .filter(|(key, _)| key == "http.extraheader")
        .filter_map(|(_, line)| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

fn without_user(url: &str) -> String {
    crate::domain::text::without_logins(url)
}

fn asker(base: &str) -> Asker {
    let (scheme, rest) = base.split_once("://").unwrap_or(("https", base));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    Asker {
        scheme: scheme.to_owned(),
        host: host.to_owned(),
        path: path.to_owned(),
    }
}

/// One question and its answer: what is written is sent whole at the first read.
struct Exchange {
    session: Arc<Session>,
    service: &'static str,
    question: Vec<u8>,
    answer: Option<Box<dyn Read + Send>>,
}

impl Exchange {
    fn answered(body: Body) -> Answered {
        Answered(Box::new(body.into_reader()))
    }
}

impl Read for Exchange {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.answer.is_none() {
            let question = std::mem::take(&mut self.question);
            let body = self
                .session
                .post(self.service, &question)
                .map_err(|e| io::Error::other(e.message().to_owned()))?;
            self.answer = Some(Box::new(body.into_reader()));
        }
        match &mut self.answer {
            Some(answer) => answer.read(buffer).inspect_err(|e| {
                self.session.call.failed(
                    FaultKind::Unreachable,
                    format!("the transfer broke off: {e}"),
                    "try again",
                );
            }),
            None => Ok(0),
        }
    }
}

impl Write for Exchange {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.question.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An advertisement, which is only read.
struct Answered(Box<dyn Read + Send>);

impl Read for Answered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Answered {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
