//! Git over http and https: git's own `http-backend` behind a small server, with authentication, refusals, redirects
//! and certificates.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use git2::Repository;
use gitops_tui::domain::fault::FaultKind;
use gitops_tui::world::git::{Access, Edit, Mirror, Timeouts};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::{Sandbox, add};

/// A request as the server saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    method: String,
    target: String,
    authorization: Option<String>,
}

type Answer = dyn Fn(&Seen) -> Option<String> + Send + Sync;

/// Serves the repositories below a folder; `answer` may reply itself with a whole head.
struct Server {
    port: u16,
    scheme: &'static str,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    fn start(
        root: &Path,
        answer: impl Fn(&Seen) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(root, answer, None)
    }

    fn start_with(
        root: &Path,
        answer: impl Fn(&Seen) -> Option<String> + Send + Sync + 'static,
        tls: Option<Arc<ServerConfig>>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(vec![]));
        let (root, answer): (PathBuf, Arc<Answer>) = (root.to_owned(), Arc::new(answer));
        let log = Arc::clone(&seen);
        let scheme = if tls.is_some() { "https" } else { "http" };
        // Ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (root, answer, log, tls) = (
                    root.clone(),
                    Arc::clone(&answer),
                    Arc::clone(&log),
                    tls.clone(),
                );
                std::thread::spawn(move || match tls {
                    Some(config) => {
                        let connection = ServerConnection::new(config).unwrap();
                        serve(
                            StreamOwned::new(connection, stream),
                            &root,
                            answer.as_ref(),
                            &log,
                        );
                    }
                    None => serve(stream, &root, answer.as_ref(), &log),
                });
            }
        });
        Self { port, scheme, seen }
    }

    fn url(&self, path: &str) -> String {
        format!("{}://127.0.0.1:{}/{path}", self.scheme, self.port)
    }

    fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

fn serve(stream: impl Read + Write, root: &Path, answer: &Answer, log: &Mutex<Vec<Seen>>) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let mut parts = line.split_whitespace();
    let (method, target) = (
        parts.next().unwrap().to_owned(),
        parts.next().unwrap().to_owned(),
    );
    let mut headers = vec![];
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let Some((name, value)) = header.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let header = |name: &str| {
        headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.clone())
    };
    let mut body = vec![0; header("content-length").map_or(0, |l| l.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    let seen = Seen {
        method,
        target,
        authorization: header("authorization"),
    };
    log.lock().unwrap().push(seen.clone());
    if let Some(reply) = answer(&seen) {
        // The other side may have hung up, which is its own affair.
        let out = reader.get_mut();
        drop(out.write_all(reply.as_bytes()).and_then(|()| out.flush()));
        return;
    }
    let (path, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", &seen.method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header("content-type").unwrap_or_default())
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("REMOTE_USER", "tester")
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::spawn(move || stdin.write_all(&body));
    let output = child.wait_with_output().unwrap().stdout;
    let split = output.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&output[..split]).into_owned();
    let status = head
        .lines()
        .find_map(|l| l.strip_prefix("Status: "))
        .unwrap_or("200 OK");
    let rest = &output[split + 4..];
    let reply = format!(
        "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        rest.len()
    );
    let out = reader.get_mut();
    drop(
        out.write_all(reply.as_bytes())
            .and_then(|()| out.write_all(rest))
            .and_then(|()| out.flush()),
    );
}

fn unauthorized() -> String {
    "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".into()
}

fn basic(user: &str, password: &str) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    format!("Basic {text}")
}

fn access(sandbox: &Sandbox, more: &[(&str, &str)]) -> Access {
    let variables = more.iter().fold(sandbox.variables(), |v, (name, value)| {
        v.with(*name, *value)
    });
    let timeouts = Timeouts {
        connect: Duration::from_secs(5),
        idle: Duration::from_secs(20),
        helper: Duration::from_secs(20),
    };
    Access::new(variables, timeouts)
}

fn open(sandbox: &Sandbox, url: &str, access: &Access) -> Mirror {
    Mirror::open(&sandbox.path("cache"), url, access).unwrap()
}

fn has_git(sandbox: &Sandbox) -> bool {
    let has = sandbox.access().has_program();
    if !has {
        eprintln!("skipped: git is not installed, so nothing serves http");
    }
    has
}

fn helper(sandbox: &Sandbox, section: &str, script: &str) {
    let path = sandbox.path("helper.sh");
    std::fs::write(&path, script).unwrap();
    let text = format!("[{section}]\n\thelper = \"!sh {}\"\n", path.display());
    std::fs::write(sandbox.path("home/.gitconfig"), text).unwrap();
}

#[test]
fn fetches_and_pushes() {
    let sandbox = Sandbox::new();
    if !has_git(&sandbox) {
        return;
    }
    let (path, base) = sandbox.origin(&[("a.yaml", "a: 1\n"), ("big", &"line\n".repeat(50_000))]);
    let origin = Repository::open(&path).unwrap();
    origin
        .config()
        .unwrap()
        .set_bool("http.receivepack", true)
        .unwrap();
    let hook = Path::new(&path).join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let script = "#!/bin/sh\necho checking\nwhile read o n r; do case $r in */no*) echo 'no such branches here'; exit 1;; esac; done\n";
    std::fs::write(&hook, script).unwrap();
    executable(&hook);
    let server = Server::start(sandbox.dir.path(), |_| None);
    let access = access(&sandbox, &[]);
    let mirror = open(&sandbox, &server.url("origin.git"), &access);
    let mut phases = 0;
    let fetched = mirror.fetch(&mut |_| {
        phases += 1;
        true
    });
    assert_eq!(fetched.unwrap().default_branch.as_deref(), Some("main"));
    assert!(phases > 1, "progress is told");
    let second = add(&origin, "refs/heads/main", &[("b", "2")], "second");
    mirror.fetch(&mut |_| true).unwrap();
    assert_eq!(
        mirror.tip("main").unwrap(),
        second,
        "a second fetch negotiates what is missing"
    );

    let edit = Edit {
        path: "a.yaml".into(),
        before: Some(b"a: 1\n".to_vec()),
        after: Some(b"a: 2\n".to_vec()),
    };
    let identity = super::write::somebody();
    for branch in ["yes/x", "no/x"] {
        mirror
            .commit(&base, branch, std::slice::from_ref(&edit), "m", &identity)
            .unwrap();
    }
    let pushed = mirror.push("yes/x").unwrap();
    assert_eq!(pushed.messages, ["checking"]);
    assert_eq!(
        origin
            .find_reference("refs/heads/yes/x")
            .unwrap()
            .target()
            .unwrap()
            .to_string(),
        pushed.commit
    );
    let fault = mirror.push("no/x").unwrap_err();
    assert_eq!(fault.kind, FaultKind::Refused);
    assert!(
        fault.causes.iter().any(|c| c == "no such branches here"),
        "{fault:?}"
    );
    assert!(origin.find_reference("refs/heads/no/x").is_err());
}

#[cfg(unix)]
fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_fetch_can_be_given_up() {
    let sandbox = Sandbox::new();
    if !has_git(&sandbox) {
        return;
    }
    sandbox.origin(&[("a", "1")]);
    let server = Server::start(sandbox.dir.path(), |_| None);
    let mirror = open(&sandbox, &server.url("origin.git"), &access(&sandbox, &[]));
    let fault = mirror.fetch(&mut |_| false).unwrap_err();
    assert!(
        fault.causes.iter().any(|c| c.contains("cancelled")),
        "{fault:?}"
    );
    mirror.fetch(&mut |_| true).unwrap();
}

/// Credentials come from the address, the environment (for its own host only) and the helper.
#[test]
fn each_source_of_credentials_works() {
    let sandbox = Sandbox::new();
    if !has_git(&sandbox) {
        return;
    }
    let (_, commit) = sandbox.origin(&[("a", "1")]);
    let right = basic("bob", "p@ss:word");
    let server = Server::start(sandbox.dir.path(), move |seen| {
        (seen.authorization.as_ref() != Some(&right)).then(unauthorized)
    });
    let url = server.url("origin.git");
    let with_user = url.replace("http://", "http://bob:p%40ss%3Aword@");
    let host = format!("127.0.0.1:{}", server.port);
    let env = [
        ("GITOPS_TUI_GIT_HOST", host.as_str()),
        ("GITOPS_TUI_GIT_USERNAME", "bob"),
        ("GITOPS_TUI_GIT_PASSWORD", "p@ss:word"),
    ];
    let check = |name: &str, url: &str, env: &[(&str, &str)]| {
        let access = access(&sandbox, env);
        let mirror = Mirror::open(&sandbox.path(name), url, &access).unwrap();
        mirror
            .fetch(&mut |_| true)
            .map(|_| assert_eq!(mirror.tip("main").unwrap(), commit))
    };
    check("by-url", &with_user, &[]).unwrap();
    check("by-env", &url, &env).unwrap();
    let mut elsewhere = env;
    elsewhere[0].1 = "git.example.test";
    let fault = check("other-host", &url, &elsewhere).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unauthorized);
    let script = "[ \"$1\" = get ] && printf 'username=bob\\npassword=p@ss:word\\n'; echo $1 >> $HOME/asked\n";
    helper(&sandbox, "credential", script);
    check("by-helper", &url, &[]).unwrap();
    assert_eq!(
        std::fs::read_to_string(sandbox.path("home/asked")).unwrap(),
        "get\nstore\n"
    );
    helper(&sandbox, "credential \"https://git.example.test\"", script);
    assert!(
        check("others-helper", &url, &[]).is_err(),
        "a helper for another address is not asked"
    );
    assert_eq!(
        std::fs::read_to_string(sandbox.path("home/asked")).unwrap(),
        "get\nstore\n"
    );
}

/// Case R09: a wrong password ends after few requests, is forgotten, and is said nowhere.
#[test]
fn r09_endless_authentication() {
    let sandbox = Sandbox::new();
    if !has_git(&sandbox) {
        return;
    }
    let server = Server::start(sandbox.dir.path(), |_| Some(unauthorized()));
    let url = server.url("repo.git");
    let fault = open(&sandbox, &url, &access(&sandbox, &[]))
        .fetch(&mut |_| true)
        .unwrap_err();
    assert_eq!(
        (fault.kind, server.count()),
        (FaultKind::Unauthorized, 1),
        "no helper: fails at once"
    );
    assert!(
        fault.to_string().contains("authentication failed"),
        "{fault}"
    );

    helper(
        &sandbox,
        "credential",
        include_str!("../../corpus/cases/R09/helper.sh"),
    );
    let before = server.count();
    let fault = open(&sandbox, &url, &access(&sandbox, &[]))
        .fetch(&mut |_| true)
        .unwrap_err();
    assert_eq!(
        (fault.kind, server.count() - before),
        (FaultKind::Unauthorized, 2)
    );
    assert!(!format!("{fault:?}").contains("Wrong-Pass-1"));

    // Every source is wrong: each is tried once.
    let host = format!("127.0.0.1:{}", server.port);
    let env = [
        ("GITOPS_TUI_GIT_HOST", host.as_str()),
        ("GITOPS_TUI_GIT_PASSWORD", "Wrong-Pass-2"),
    ];
    let with_user = url.replace("http://", "http://bob:Wrong-Pass-3@");
    let before = server.count();
    let fault = open(&sandbox, &with_user, &access(&sandbox, &env))
        .fetch(&mut |_| true)
        .unwrap_err();
    assert_eq!(server.count() - before, 4);
    assert!(!format!("{fault:?}").contains("Wrong-Pass"));

    let access = access(&sandbox, &[]).without_program();
    let before = server.count();
    let fault = open(&sandbox, &url, &access)
        .fetch(&mut |_| true)
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unauthorized);
    assert!(server.count() - before <= 2);
}

#[test]
fn answers_that_are_none_are_named() {
    let sandbox = Sandbox::new();
    let page = "<html>Sign in</html>";
    let reply = |status: &str, kind: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    for (answer, kind, word) in [
        (
            reply("200 OK", "text/html", page),
            FaultKind::Git,
            "text/html",
        ),
        (
            reply("404 Not Found", "text/plain", "no such repository"),
            FaultKind::NotFound,
            "no such repository",
        ),
        (
            reply("403 Forbidden", "text/html", page),
            FaultKind::Forbidden,
            "403",
        ),
        (
            reply("502 Bad Gateway", "text/html", page),
            FaultKind::Unreachable,
            "502",
        ),
    ] {
        let server = Server::start(sandbox.dir.path(), move |_| Some(answer.clone()));
        let fault = open(&sandbox, &server.url("a"), &access(&sandbox, &[]))
            .fetch(&mut |_| true)
            .unwrap_err();
        assert_eq!(fault.kind, kind, "{fault:?}");
        assert!(
            fault.to_string().contains(word) && !fault.to_string().contains("<html>"),
            "{fault}"
        );
        assert!(fault.hint.is_some());
    }
}

#[test]
fn a_moved_repository_is_followed_and_its_password_stays_home() {
    let sandbox = Sandbox::new();
    if !has_git(&sandbox) {
        return;
    }
    let (_, commit) = sandbox.origin(&[("a", "1")]);
    let home = Server::start(sandbox.dir.path(), |_| None);
    let port = home.port;
    let old = Server::start(sandbox.dir.path(), move |seen| {
        let query = seen.target.split_once('?').map_or("", |(_, q)| q);
        let to = format!("http://localhost:{port}/origin.git/info/refs?{query}");
        Some(format!(
            "HTTP/1.1 301 Moved\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ))
    });
    let url = old.url("old.git").replace("http://", "http://bob:hunter2@");
    let mirror = open(&sandbox, &url, &access(&sandbox, &[]));
    mirror.fetch(&mut |_| true).unwrap();
    assert_eq!(mirror.tip("main").unwrap(), commit);
    assert_eq!(old.count(), 1, "what follows goes to the new place");
    let seen = home.seen.lock().unwrap().clone();
    assert!(seen.iter().all(|s| s.authorization.is_none()), "{seen:?}");
    assert!(seen.iter().any(|s| s.method == "POST"));
}

/// Makes an authority and a certificate for 127.0.0.1 on the spot; `None` (said so) without openssl.
fn certificates(sandbox: &Sandbox) -> Option<Arc<ServerConfig>> {
    let script = "set -e; ec='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
        openssl req -x509 $ec -keyout ca.key -out ca.pem -days 2 -subj /CN=authority -addext basicConstraints=critical,CA:TRUE
        openssl req $ec -keyout key.pem -out leaf.csr -subj /CN=leaf
        printf 'subjectAltName=IP:127.0.0.1\\nbasicConstraints=CA:FALSE\\n' > ext
        openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out cert.pem";
    let made = Command::new("sh")
        .args(["-c", script])
        .current_dir(sandbox.dir.path())
        .output()
        .unwrap();
    if !made.status.success() {
        eprintln!(
            "skipped: openssl made no certificate: {}",
            String::from_utf8_lossy(&made.stderr)
        );
        return None;
    }
    let certificate = CertificateDer::from_pem_file(sandbox.path("cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(sandbox.path("key.pem")).unwrap();
    let config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
    Some(Arc::new(config))
}

#[test]
fn https_trusts_what_it_is_told_to_trust_and_nothing_else() {
    let sandbox = Sandbox::new();
    let Some(tls) = certificates(&sandbox).filter(|_| has_git(&sandbox)) else {
        return;
    };
    let (_, commit) = sandbox.origin(&[("a", &"line\n".repeat(50_000))]);
    let server = Server::start_with(sandbox.dir.path(), |_| None, Some(tls));
    let url = server.url("origin.git");
    let fault = open(&sandbox, &url, &access(&sandbox, &[]))
        .fetch(&mut |_| true)
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Refused, "{fault:?}");
    assert!(
        fault
            .hint
            .as_ref()
            .unwrap()
            .contains("certificate is not trusted"),
        "{fault:?}"
    );
    assert_eq!(
        server.count(),
        0,
        "nothing was said to a server that is not trusted"
    );

    let authority = sandbox.path("ca.pem").display().to_string();
    let trusting = access(&sandbox, &[("GIT_SSL_CAINFO", &authority)]);
    let mirror = open(&sandbox, &url, &trusting);
    mirror.fetch(&mut |_| true).unwrap();
    assert_eq!(mirror.tip("main").unwrap(), commit);

    let config = format!(
        "[http \"https://127.0.0.1:{}\"]\n\tsslCAInfo = {authority}\n",
        server.port
    );
    std::fs::write(sandbox.path("home/.gitconfig"), config).unwrap();
    let by_config = Mirror::open(&sandbox.path("by-config"), &url, &access(&sandbox, &[])).unwrap();
    by_config.fetch(&mut |_| true).unwrap();
}

#[test]
fn silence_ends_at_its_bound() {
    let sandbox = Sandbox::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Takes every connection and never says a word.
    std::thread::spawn(move || listener.incoming().collect::<Vec<_>>());
    let bound = Duration::from_millis(300);
    let timeouts = Timeouts {
        connect: bound,
        idle: bound,
        helper: Duration::from_secs(20),
    };
    let variables = sandbox
        .variables()
        .with("GIT_SSH_COMMAND", "exec sleep 1000 #");
    let access = Access::new(variables, timeouts);
    for url in [
        format!("http://127.0.0.1:{port}/a"),
        format!("https://127.0.0.1:{port}/a"),
        format!("ssh://127.0.0.1:{port}/a"),
    ] {
        let fault = open(&sandbox, &url, &access)
            .fetch(&mut |_| true)
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::Timeout, "{url}: {fault:?}");
    }
}
