//! A Git server over http on loopback: `git http-backend` behind a small HTTP/1.1 server, one thread a connection.
//!
//! It knows what real clients send: `Content-Length` and chunked bodies, gzip passed on to the backend as it came.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// A running Git server; its repositories lie in one folder.
pub(crate) struct GitServer {
    root: PathBuf,
    port: u16,
}

impl GitServer {
    /// Serves the bare repositories below `root` until the process ends.
    pub(crate) fn start(root: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = root.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let root = served.clone();
                thread::spawn(move || answer(stream, &root));
            }
        });
        Self { root, port }
    }

    /// Returns the URL of a repository.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}.git", self.port)
    }

    /// Makes a bare repository whose first commit on `main` is `files`; pushes over http are allowed.
    pub(crate) fn create(&self, name: &str, files: &[(&str, &str)]) {
        let bare = self.bare(name);
        git(
            &self.root,
            &["init", "-q", "--bare", "-b", "main", bare.to_str().unwrap()],
        );
        git(&bare, &["config", "http.receivepack", "true"]);
        self.commit(name, "first", files);
    }

    /// Returns the folder of the bare repository.
    pub(crate) fn bare(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}.git"))
    }

    /// Writes `files` as one commit on `main`.
    pub(crate) fn commit(&self, name: &str, subject: &str, files: &[(&str, &str)]) {
        let work = tempfile::tempdir().unwrap();
        let folder = work.path().join("w");
        git(
            work.path(),
            &[
                "clone",
                "-q",
                self.bare(name).to_str().unwrap(),
                folder.to_str().unwrap(),
            ],
        );
        for (path, text) in files {
            let file = folder.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        git(&folder, &["add", "-A"]);
        git(&folder, &["commit", "-q", "-m", subject]);
        git(&folder, &["push", "-q", "origin", "HEAD:main"]);
    }

    /// Merges `branch` into `main` on the server, as a person would after review.
    pub(crate) fn merge(&self, name: &str, branch: &str) {
        let work = tempfile::tempdir().unwrap();
        let folder = work.path().join("w");
        git(
            work.path(),
            &[
                "clone",
                "-q",
                self.bare(name).to_str().unwrap(),
                folder.to_str().unwrap(),
            ],
        );
        git(
            &folder,
            &["merge", "-q", "--no-edit", &format!("origin/{branch}")],
        );
        git(&folder, &["push", "-q", "origin", "HEAD:main"]);
    }
}

/// Runs git with a fixed identity and no configuration of this machine; returns what it printed.
pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let out = Command::new("git")
        .args(args)
        .current_dir(folder)
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "Test")
        .env("GIT_AUTHOR_EMAIL", "test@example.test")
        .env("GIT_COMMITTER_NAME", "Test")
        .env("GIT_COMMITTER_EMAIL", "test@example.test")
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8_lossy(&out.stdout).into_owned()
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map_or("", |(_, v)| v)
    }
}

fn answer(stream: TcpStream, root: &Path) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut out = stream;
    while let Some(request) = read_request(&mut reader, &mut out) {
        if out.write_all(&run_backend(&request, root)).is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>, out: &mut TcpStream) -> Option<Request> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|n| *n > 0)?;
    let mut words = first.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut request = Request {
        method,
        path: path.into(),
        query: query.into(),
        headers: vec![],
        body: vec![],
    };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            request
                .headers
                .push((name.trim().into(), value.trim().into()));
        }
    }
    if request
        .header("expect")
        .eq_ignore_ascii_case("100-continue")
    {
        out.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    if request
        .header("transfer-encoding")
        .eq_ignore_ascii_case("chunked")
    {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).ok()?;
            if size == 0 {
                break;
            }
            request.body.extend_from_slice(&chunk[..size]);
        }
    } else if let Ok(length) = request.header("content-length").parse::<usize>() {
        request.body = vec![0; length];
        reader.read_exact(&mut request.body).ok()?;
    }
    Some(request)
}

fn run_backend(request: &Request, root: &Path) -> Vec<u8> {
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", "test")
        .env("REMOTE_ADDR", "127.0.0.1")
        .env("REQUEST_METHOD", &request.method)
        .env("PATH_INFO", &request.path)
        .env("QUERY_STRING", &request.query)
        .env("CONTENT_TYPE", request.header("content-type"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", request.header("content-encoding"))
        .env("GIT_PROTOCOL", request.header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let body = request.body.clone();
    let feeder = thread::spawn(move || {
        drop(input.write_all(&body));
    });
    let output = child.wait_with_output().unwrap();
    drop(feeder.join());
    let split = output
        .stdout
        .windows(4)
        .position(|w| w == b"\r\n\r\n")
        .unwrap_or(0);
    let head = String::from_utf8_lossy(&output.stdout[..split]).into_owned();
    let body = &output.stdout[(split + 4).min(output.stdout.len())..];
    let mut status = "200 OK".to_owned();
    let mut headers = String::new();
    for line in head.lines() {
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("status") => {
                value.trim().clone_into(&mut status);
            }
            _ => {
                headers.push_str(line);
                headers.push_str("\r\n");
            }
        }
    }
    let mut answer = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    answer.extend_from_slice(body);
    answer
}
