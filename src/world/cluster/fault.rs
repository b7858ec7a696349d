//! Errors of kube, of TLS and of the network, worded as faults with a next step.
//!
//! The words never hold a token, a password in a URL or a command line: what a plugin printed to standard error is
//! shown, what it was called with is not.

use std::error::Error as _;
use std::io::ErrorKind;

use kube::core::Status;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::text::clean_line;

/// Words an error of kube; `doing` says what was tried (`list kustomizations`), `context` names the context.
pub(super) fn of(context: &str, doing: &str, error: &kube::Error) -> Fault {
    match error {
        kube::Error::Api(status) => answered(context, doing, status),
        kube::Error::ProxyProtocolUnsupported { proxy_url }
        | kube::Error::ProxyProtocolDisabled { proxy_url, .. } => Fault::new(
            FaultKind::Config,
            format!(
                "proxy-url {} has the scheme {}, which is not supported",
                without_user(&proxy_url.to_string()),
                proxy_url.scheme_str().unwrap_or("(none)")
            ),
        )
        .about(context)
        .hint("write http://, https:// or socks5://"),
        kube::Error::SerdeError(_) => Fault::new(
            FaultKind::Internal,
            format!("could not {doing}: the answer is no JSON that could be read"),
        )
        .about(context)
        .hint("check that the address is the API server's: a proxy or a login page may answer in its place"),
        error => transport(context, doing, error),
    }
}

/// Words what a server answered.
pub(super) fn answered(context: &str, doing: &str, status: &Status) -> Fault {
    let message = clean_line(&status.message).into_owned();
    let (kind, sentence, hint) = match status.code {
        401 => (
            FaultKind::Unauthorized,
            format!("the server does not accept the credentials ({doing})"),
            "log in again, then retry; `kubectl auth whoami` shows who you are",
        ),
        403 => (
            FaultKind::Forbidden,
            format!("not allowed to {doing}"),
            "ask for that verb, or use a context that has it",
        ),
        404 => (
            FaultKind::NotFound,
            format!("could not {doing}: not found"),
            "",
        ),
        409 => (
            FaultKind::Conflict,
            format!("could not {doing}: somebody changed it in between"),
            "look at it again, then retry",
        ),
        429 | 503 => (
            FaultKind::Unreachable,
            format!("could not {doing}: the server is busy ({})", status.code),
            "retry in a while",
        ),
        504 => (
            FaultKind::Timeout,
            format!("could not {doing}: the server gave up waiting"),
            "retry in a while",
        ),
        code @ (500 | 502) => (
            FaultKind::Unreachable,
            format!("could not {doing}: the server answered {code}"),
            "retry in a while",
        ),
        code => (
            FaultKind::Refused,
            format!("could not {doing}: the server refused it ({code})"),
            "",
        ),
    };
    let mut fault = Fault::new(kind, sentence).about(context);
    if !message.is_empty() {
        fault = fault.because(message);
    }
    if hint.is_empty() {
        fault
    } else {
        fault.hint(hint)
    }
}

/// Words a wait that ended at its bound.
pub(super) fn no_answer(context: &str, server: &str, seconds: u64) -> Fault {
    Fault::new(
        FaultKind::Timeout,
        format!("no answer from {server} after {seconds} s"),
    )
    .about(context)
    .hint("check the network or the VPN, then retry")
}

fn transport(context: &str, doing: &str, error: &kube::Error) -> Fault {
    if let Some(ours) = ours(error) {
        return ours;
    }
    let chain = chain(error);
    let innermost = chain.last().cloned().unwrap_or_default();
    let io = io_kind(error);
    let (kind, sentence, hint) = match io {
        Some(ErrorKind::ConnectionRefused) => (
            FaultKind::Unreachable,
            "connection refused".to_owned(),
            "check that the server runs and that the address is right",
        ),
        Some(ErrorKind::TimedOut) => (
            FaultKind::Timeout,
            "the connection timed out".to_owned(),
            "check the network or the VPN, then retry",
        ),
        _ if chain.iter().any(|c| c.contains("certificate")) => (
            FaultKind::Unreachable,
            format!("the server's certificate is not trusted: {innermost}"),
            "set certificate-authority in the kubeconfig; a CA certificate cannot be the server's own",
        ),
        _ if chain
            .iter()
            .any(|c| c.contains("dns error") || c.contains("lookup address")) =>
        {
            (
                FaultKind::Unreachable,
                "the server's name cannot be resolved".to_owned(),
                "check the address in the kubeconfig, the network or the VPN",
            )
        }
        _ => (
            FaultKind::Unreachable,
            format!("could not {doing}: {innermost}"),
            "check the network, then retry",
        ),
    };
    let mut fault = Fault::new(kind, sentence).about(context).hint(hint);
    fault.causes = chain;
    fault
}

/// Finds a fault of our own layers (a credential plugin's) inside an error of kube.
fn ours(error: &kube::Error) -> Option<Fault> {
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(fault) = inner.downcast_ref::<Fault>() {
            return Some(fault.clone());
        }
        source = inner.source();
    }
    None
}

fn io_kind(error: &kube::Error) -> Option<ErrorKind> {
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(io) = inner.downcast_ref::<std::io::Error>()
            && io.kind() != ErrorKind::Other
        {
            return Some(io.kind());
        }
        source = inner.source();
    }
    None
}

/// Returns the messages of an error and of all below it, cleaned.
fn chain(error: &kube::Error) -> Vec<String> {
    let mut texts = vec![];
    let mut source = error.source();
    while let Some(inner) = source {
        texts.push(without_user(&clean_line(&inner.to_string())));
        source = inner.source();
    }
    texts
}

/// Takes the user and password out of every URL of a text.
pub(super) fn without_user(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + 3);
        shown.push_str(head);
        let end = tail
            .find(|c: char| c == '/' || c.is_whitespace() || c == '"' || c == '\'')
            .unwrap_or(tail.len());
        rest = match tail[..end].rfind('@') {
            Some(user) => {
                shown.push_str("***@");
                &tail[user + 1..]
            }
            None => tail,
        };
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_no_user_of_a_url() {
        assert_eq!(
            without_user("via http://u:p@ss@proxy:1/x and https://plain/y"),
            "via http://***@proxy:1/x and https://plain/y"
        );
    }

    #[test]
    fn words_what_the_server_answered() {
        let status = Status::failure("helmreleases is forbidden", "Forbidden").with_code(403);
        let fault = answered("prod", "list helmreleases", &status);
        assert_eq!(
            fault.to_string(),
            "prod: not allowed to list helmreleases: helmreleases is forbidden"
        );
        assert_eq!(fault.kind, FaultKind::Forbidden);
    }
}
