//! Git's protocol over a child's streams: `ssh host git-upload-pack …`, or `git upload-pack FOLDER`.
//!
//! ssh is the user's own program, so agents, jump hosts, hardware keys and `known_hosts` work as in their shell; it
//! runs with `BatchMode`, so that it fails rather than asks. A folder is served by `git` itself, so that its hooks run
//! and every kind of repository that git reads can be fetched. What the child complained becomes the fault's cause.

use std::io::{self, ErrorKind, Read, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use git2::Error;
use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream};

use crate::domain::fault::FaultKind;
use crate::world::child::{self, Guard};
use crate::world::git::call::Call;
use crate::world::git::url::{GitUrl, Method};

/// Transport over a child's streams.
pub(super) struct Pipe {
    call: Arc<Call>,
}

impl Pipe {
    /// Makes the transport of one conversation.
    pub(super) fn new(call: Arc<Call>) -> Self {
        Self { call }
    }
}

impl SmartSubtransport for Pipe {
    fn action(
        &self,
        url: &str,
        service: Service,
    ) -> Result<Box<dyn SmartSubtransportStream>, Error> {
        let refused = |fault: crate::domain::fault::Fault| Error::from_str(&fault.to_string());
        let url = GitUrl::parse(url).map_err(refused)?;
        let program = match service {
            Service::UploadPackLs | Service::UploadPack => "upload-pack",
            Service::ReceivePackLs | Service::ReceivePack => "receive-pack",
        };
        let command = match url.method {
            Method::File => self.folder(&url, program),
            _ => self.ssh(&url, program),
        }?;
        let stream = Stream::start(command, &self.call).map_err(|e| {
            self.call.failed(
                FaultKind::Config,
                e.to_string(),
                "install it, or use an https address",
            );
            Error::from_str("the transport's program could not be started")
        })?;
        Ok(Box::new(stream))
    }

    fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}

impl Pipe {
    fn folder(&self, url: &GitUrl, program: &str) -> Result<Command, Error> {
        let Some(mut command) = self.call.access.git(std::path::Path::new("/")) else {
            self.call.failed(
                FaultKind::Unsupported,
                "a folder is served by the `git` program, so that its hooks run, and git is not installed",
                "install git",
            );
            return Err(Error::from_str("git is not installed"));
        };
        command.arg(program).arg(&url.path);
        Ok(command)
    }

    fn ssh(&self, url: &GitUrl, program: &str) -> Result<Command, Error> {
        let user = url.user.as_deref().unwrap_or_default();
        if url.host.starts_with('-') || user.starts_with('-') || url.path.starts_with('-') {
            self.call.failed(
                FaultKind::Refused,
                "a host, user or path that begins with `-` would be read as an option",
                "correct the address",
            );
            return Err(Error::from_str("refused"));
        }
        let access = &self.call.access;
        let shell = access
            .variables()
            .get("GIT_SSH_COMMAND")
            .map(str::to_owned)
            .or_else(|| {
                access
                    .config(&self.call.dir, "core.sshCommand")
                    .filter(|c| !c.is_empty())
            });
        let mut command = match shell {
            Some(line) => {
                let mut command = access.command("sh");
                command.arg("-c").arg(format!("{line} \"$@\"")).arg("ssh");
                command
            }
            None => access.command(access.variables().get("GIT_SSH").unwrap_or("ssh")),
        };
        let connect = access.timeouts().connect.as_secs().max(1);
        command
            .args([
                "-o",
                "BatchMode=yes",
                "-o",
                &format!("ConnectTimeout={connect}"),
            ])
            .args([
                "-o",
                "ServerAliveInterval=15",
                "-o",
                "ServerAliveCountMax=3",
            ]);
        if let Some(port) = url.port {
            command.arg("-p").arg(port.to_string());
        }
        let host = match &url.user {
            Some(user) => format!("{user}@{}", url.host),
            None => url.host.clone(),
        };
        // `ssh://host/~user/repo` means a path from that user's home, as git has it.
        let path = match url.path.strip_prefix("/~") {
            Some(_) => &url.path[1..],
            None => &url.path,
        };
        command
            .arg("--")
            .arg(host)
            .arg(format!("git-{program} '{}'", path.replace('\'', "'\\''")));
        Ok(command)
    }
}

/// Most of a child's complaint that is kept.
const COMPLAINT: usize = 16 << 10;
/// How long a child may finish its work (hooks, say) after we hung up.
const FAREWELL: Duration = Duration::from_secs(10);

struct Stream {
    child: Guard,
    stdin: Option<ChildStdin>,
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    at: usize,
    ended: bool,
    complaint: Arc<Mutex<Vec<u8>>>,
    complained: Receiver<()>,
    call: Arc<Call>,
}

impl Stream {
    fn start(mut command: Command, call: &Arc<Call>) -> io::Result<Self> {
        let mut child = Guard(
            command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()?,
        );
        let complaint = Arc::new(Mutex::new(vec![]));
        let (chunks, complained) = (
            pump(child.0.stdout.take()),
            keep(child.0.stderr.take(), Arc::clone(&complaint)),
        );
        Ok(Self {
            stdin: child.0.stdin.take(),
            child,
            chunks,
            chunk: vec![],
            at: 0,
            ended: false,
            complaint,
            complained,
            call: Arc::clone(call),
        })
    }

    /// The child ended or broke off: its complaint is the reason, where it has one.
    fn explain(&mut self) {
        // The complaint may still be on its way when the stream has ended.
        let _late = self.complained.recv_timeout(Duration::from_millis(500));
        let complaint = child::complaint(
            &self
                .complaint
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        let (kind, hint) = judge(&complaint, &self.call.url);
        let cause = if complaint.is_empty() {
            "the server hung up without a word".to_owned()
        } else {
            complaint
        };
        self.call.failed(kind, cause, hint);
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() {
            if self.ended {
                return Ok(0);
            }
            match self.chunks.recv_timeout(self.call.access.timeouts().idle) {
                Ok(Ok(chunk)) => (self.chunk, self.at) = (chunk, 0),
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                    // Git's protocol says when it is over, so libgit2 reads on only where something is missing.
                    self.ended = true;
                    self.explain();
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.ended = true;
                    self.call.failed(
                        FaultKind::Timeout,
                        "the server sent nothing for too long",
                        "try again, or raise git.timeout",
                    );
                    return Err(ErrorKind::TimedOut.into());
                }
            }
        }
        let n = buffer.len().min(self.chunk.len() - self.at);
        buffer[..n].copy_from_slice(&self.chunk[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match self.stdin.as_mut() {
            Some(stdin) => stdin.write(bytes),
            None => Err(ErrorKind::BrokenPipe.into()),
        };
        if written.is_err() {
            self.explain();
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdin.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// Hangs up, and lets the child finish: a server's post-receive hook runs after the answer. Then it is ended.
impl Drop for Stream {
    fn drop(&mut self) {
        self.stdin = None;
        if self.call.is_cancelled() {
            // The guard reaps it; ending it first keeps the pumps from waiting for its streams.
            let _ended = self.child.0.kill();
            return;
        }
        while !self.ended {
            match self.chunks.recv_timeout(FAREWELL) {
                Ok(Ok(_)) => {}
                _ => self.ended = true,
            }
        }
    }
}

/// Moves a stream's bytes into a channel, so that waiting for them has a bound; a full channel holds the child back.
fn pump(stream: Option<impl Read + Send + 'static>) -> Receiver<io::Result<Vec<u8>>> {
    let (give, take) = mpsc::sync_channel(16);
    if let Some(mut stream) = stream {
        drop(thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            loop {
                let chunk = match stream.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(n) => Ok(buffer[..n].to_vec()),
                    Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                    Err(e) => Err(e),
                };
                let last = chunk.is_err();
                if give.send(chunk).is_err() || last {
                    return;
                }
            }
        }));
    }
    take
}

/// Keeps the first part of a stream, reads the rest away, and hangs up the returned channel at its end.
fn keep(stream: Option<impl Read + Send + 'static>, into: Arc<Mutex<Vec<u8>>>) -> Receiver<()> {
    let (open, take) = mpsc::channel();
    if let Some(mut stream) = stream {
        drop(thread::spawn(move || {
            let _open = open;
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = stream.read(&mut buffer) {
                let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
                let room = COMPLAINT.saturating_sub(kept.len()).min(n);
                kept.extend_from_slice(&buffer[..room]);
            }
        }));
    }
    take
}

/// Tells from ssh's or git's words what kind of failure it was, and the next step.
fn judge(complaint: &str, url: &GitUrl) -> (FaultKind, String) {
    let has = |words: &str| complaint.contains(words);
    let dest = match &url.user {
        Some(user) => format!("{user}@{}", url.host),
        None => url.host.clone(),
    };
    let port = url.port.map(|p| format!("-p {p} ")).unwrap_or_default();
    if has("REMOTE HOST IDENTIFICATION HAS CHANGED") {
        let hint =
            "the server's key is not the one in known_hosts: find out why before you trust it";
        (FaultKind::Refused, hint.into())
    } else if has("Host key verification failed") || has("host key is known") {
        let hint = format!(
            "compare the server's key and add it: ssh-keyscan {port}{} >> ~/.ssh/known_hosts",
            url.host
        );
        (FaultKind::Refused, hint)
    } else if has("Permission denied") || has("Too many authentication failures") {
        (
            FaultKind::Unauthorized,
            format!("load the key into the agent (ssh-add) and try: ssh -T {port}{dest}"),
        )
    } else if has("dubious ownership") || has("safe.directory") {
        let hint = "the folder belongs to another user; `git config --global --add safe.directory` allows it";
        (FaultKind::Forbidden, hint.into())
    } else if has("not appear to be a git repository") || has("not found") || has("does not exist")
    {
        (
            FaultKind::NotFound,
            "check the path of the repository, and that you may read it".into(),
        )
    } else if has("timed out") {
        (
            FaultKind::Timeout,
            format!("check the network, then try: ssh -T {port}{dest}"),
        )
    } else if has("Could not resolve")
        || has("Connection refused")
        || has("No route")
        || has("unreachable")
    {
        (
            FaultKind::Unreachable,
            format!("check host and port, then try: ssh -T {port}{dest}"),
        )
    } else if url.method == Method::File {
        (FaultKind::Git, format!("try: git ls-remote '{}'", url.path))
    } else {
        (FaultKind::Git, format!("try: ssh -T {port}{dest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judges_what_ssh_says() {
        let url = GitUrl::parse("ssh://git@h.example.test:2222/a").unwrap();
        for (complaint, kind, hint) in [
            (
                "git@h.example.test: Permission denied (publickey).",
                FaultKind::Unauthorized,
                "ssh -T -p 2222 git@h.example.test",
            ),
            (
                "Host key verification failed.",
                FaultKind::Refused,
                "ssh-keyscan -p 2222 h.example.test",
            ),
            (
                "ssh: Could not resolve hostname h.example.test",
                FaultKind::Unreachable,
                "check host",
            ),
            (
                "fatal: '/a' does not appear to be a git repository",
                FaultKind::NotFound,
                "check the path",
            ),
        ] {
            let (got, said) = judge(complaint, &url);
            assert_eq!(got, kind, "{complaint}");
            assert!(said.contains(hint), "{said}");
        }
    }
}
