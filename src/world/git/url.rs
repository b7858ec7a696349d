//! Addresses of repositories: every spelling git takes, told apart, and shown without their secrets.
//!
//! The scheme decides who carries the bytes ([`Method`]); `git@host:path` is ssh, a path is a folder. What people see
//! ([`GitUrl::shown`]) never holds a password or a token.

use std::fmt;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::text::without_logins;

/// Who carries the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// A folder on this machine.
    File,
    /// Smart HTTP under TLS.
    Https,
    /// Smart HTTP in the clear.
    Http,
    /// The `ssh` program.
    Ssh,
    /// git's own protocol, in the clear and without authentication.
    Git,
}

impl Method {
    /// Returns the word that faults carry.
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Https => "https",
            Self::Http => "http",
            Self::Ssh => "ssh",
            Self::Git => "git",
        }
    }
}

/// The address of a repository.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct GitUrl {
    /// Who carries the bytes.
    pub method: Method,
    /// The user before `@`, where there is one.
    pub user: Option<String>,
    /// The host, empty for folders; without the brackets of an IPv6 address.
    pub host: String,
    /// The port, where one is written.
    pub port: Option<u16>,
    /// The path as the server takes it: `/team/repo.git`, `team/repo.git` for `git@host:team/repo.git`, an absolute or
    /// relative folder for [`Method::File`].
    pub path: String,
    password: Option<String>,
    /// `git@host:path` rather than `ssh://git@host/path`.
    short: bool,
}

impl GitUrl {
    /// Reads an address: `https://…`, `http://…`, `ssh://…`, `git://…`, `file://…`, `user@host:path`, or a folder.
    ///
    /// # Errors
    /// A scheme that git cannot carry (`oci://`, `s3://`), or an address without a host.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let text = text.trim();
        if let Some((scheme, rest)) = text.split_once("://") {
            return Self::with_scheme(&scheme.to_ascii_lowercase(), rest, text);
        }
        if let Some(short) = Self::scp_like(text) {
            return Ok(short);
        }
        if text.is_empty() {
            return Err(Fault::new(
                FaultKind::Config,
                "the address of the repository is empty",
            ));
        }
        Ok(Self::folder(text))
    }

    fn folder(path: &str) -> Self {
        Self {
            method: Method::File,
            user: None,
            host: String::new(),
            port: None,
            path: path.to_owned(),
            password: None,
            short: false,
        }
    }

    fn with_scheme(scheme: &str, rest: &str, whole: &str) -> Result<Self, Fault> {
        let method = match scheme {
            "https" => Method::Https,
            "http" => Method::Http,
            "ssh" | "git+ssh" | "ssh+git" => Method::Ssh,
            "git" => Method::Git,
            "file" => {
                let path = rest.strip_prefix("localhost").unwrap_or(rest);
                return Ok(Self::folder(&decode(path)));
            }
            other => {
                return Err(Fault::new(
                    FaultKind::Unsupported,
                    format!("`{other}://` is no address that git can fetch from"),
                )
                .about(without_logins(whole))
                .hint(
                    "give the Git repository that holds the files, by https, ssh or as a folder",
                ));
            }
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (userinfo, hostport) = match authority.rsplit_once('@') {
            Some((info, host)) => (Some(info), host),
            None => (None, authority),
        };
        let (host, port) = split_port(hostport);
        let port = port
            .map(|p| {
                p.parse::<u16>().map_err(|_| {
                    Fault::new(FaultKind::Config, format!("`{p}` is no port"))
                        .about(without_logins(whole))
                })
            })
            .transpose()?;
        if host.is_empty() {
            return Err(Fault::new(FaultKind::Config, "the address has no host")
                .about(without_logins(whole)));
        }
        let (user, password) = match userinfo.map(|i| i.split_once(':').unwrap_or((i, ""))) {
            Some((user, password)) => (
                Some(decode(user)).filter(|u| !u.is_empty()),
                Some(decode(password)).filter(|p| !p.is_empty()),
            ),
            None => (None, None),
        };
        Ok(Self {
            method,
            user,
            host: host.to_owned(),
            port,
            path: if matches!(method, Method::Http | Method::Https) {
                path.to_owned()
            } else {
                decode(path)
            },
            password,
            short: false,
        })
    }

    /// Reads `[user@]host:path`; a `/` before the first `:` makes it a folder, as git has it.
    fn scp_like(text: &str) -> Option<Self> {
        let (user, rest) = match text.split_once('@') {
            Some((user, rest)) if !user.contains(['/', ':']) => (Some(user), rest),
            _ => (None, text),
        };
        let (host, path) = if let Some(inner) = rest.strip_prefix('[') {
            let (host, after) = inner.split_once(']')?;
            (host, after.strip_prefix(':')?)
        } else {
            rest.split_once(':')?
        };
        if host.is_empty() || host.contains('/') {
            return None;
        }
        Some(Self {
            method: Method::Ssh,
            user: user.map(str::to_owned),
            host: host.to_owned(),
            port: None,
            path: path.to_owned(),
            password: None,
            short: true,
        })
    }

    /// Returns the password that the address itself carries.
    pub(super) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// Replaces the path; used where a folder is made absolute.
    #[must_use]
    pub(super) fn with_path(mut self, path: String) -> Self {
        self.path = path;
        self
    }

    /// Returns the address for people: without password, and without the user of http addresses, which often is a
    /// token.
    pub fn shown(&self) -> String {
        let web = matches!(self.method, Method::Http | Method::Https);
        let user = if web { None } else { self.user.as_deref() };
        self.spelled(user, None)
    }

    /// Returns the address that may be written into a mirror's configuration: without user and password.
    pub(super) fn plain(&self) -> String {
        let web = matches!(self.method, Method::Http | Method::Https);
        self.spelled(if web { None } else { self.user.as_deref() }, None)
    }

    /// Returns the address with everything it holds; for the transports only.
    pub(super) fn full(&self) -> String {
        self.spelled(self.user.as_deref(), self.password.as_deref())
    }

    fn spelled(&self, user: Option<&str>, password: Option<&str>) -> String {
        if self.method == Method::File {
            return self.path.clone();
        }
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        let user = match (user, password) {
            (Some(user), Some(password)) => format!("{}:{}@", encode(user), encode(password)),
            (Some(user), None) => format!("{}@", encode(user)),
            (None, Some(password)) => format!(":{}@", encode(password)),
            (None, None) => String::new(),
        };
        if self.short {
            return format!("{user}{host}:{}", self.path);
        }
        let port = self.port.map(|p| format!(":{p}")).unwrap_or_default();
        format!("{}://{user}{host}{port}{}", self.method.word(), self.path)
    }

    /// Returns a short readable name for the mirror's folder: `git.example.test-team-repo`.
    pub(super) fn slug(&self) -> String {
        let path = self.path.trim_end_matches('/').trim_end_matches(".git");
        let text = if self.method == Method::File {
            path.rsplit('/').next().unwrap_or("folder").to_owned()
        } else {
            format!("{}-{}", self.host, path.trim_matches('/'))
        };
        text.chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '.' {
                    c
                } else {
                    '-'
                }
            })
            .take(60)
            .collect::<String>()
            .trim_start_matches(['.', '-'])
            .to_owned()
    }
}

impl fmt::Display for GitUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// Shows the address without its secrets, so that no log line can leak one.
impl fmt::Debug for GitUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GitUrl({})", self.shown())
    }
}

fn split_port(hostport: &str) -> (&str, Option<&str>) {
    if let Some(inner) = hostport.strip_prefix('[')
        && let Some((host, after)) = inner.split_once(']')
    {
        return (host, after.strip_prefix(':').filter(|p| !p.is_empty()));
    }
    match hostport.rsplit_once(':') {
        Some((host, port)) => (host, Some(port).filter(|p| !p.is_empty())),
        None => (hostport, None),
    }
}

fn decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let digits = (byte == b'%')
            .then(|| Some((hex(ahead.next()?)?, hex(ahead.next()?)?)))
            .flatten();
        match digits {
            Some((high, low)) => {
                out.push(high * 16 + low);
                bytes = ahead;
            }
            None => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|d| d as u8)
}

fn encode(text: &str) -> String {
    text.bytes()
        .map(|b| match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(b).to_string()
            }
            _ => format!("%{b:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, method: Method, host: &str, path: &str, shown: &str) {
        let url = GitUrl::parse(text).unwrap();
        assert_eq!(
            (
                url.method,
                url.host.as_str(),
                url.path.as_str(),
                url.shown().as_str()
            ),
            (method, host, path, shown),
            "{text}"
        );
    }

    #[test]
    fn tells_every_spelling_apart() {
        check(
            "https://bob:s3cret@git.example.test:8443/a/b.git",
            Method::Https,
            "git.example.test",
            "/a/b.git",
            "https://git.example.test:8443/a/b.git",
        );
        check(
            "HTTPS://token@git.example.test/a",
            Method::Https,
            "git.example.test",
            "/a",
            "https://git.example.test/a",
        );
        check(
            "ssh://git@git.example.test:2222/a/b",
            Method::Ssh,
            "git.example.test",
            "/a/b",
            "ssh://git@git.example.test:2222/a/b",
        );
        check(
            "git@git.example.test:a/b.git",
            Method::Ssh,
            "git.example.test",
            "a/b.git",
            "git@git.example.test:a/b.git",
        );
        check(
            "ssh://[::1]:22/a",
            Method::Ssh,
            "::1",
            "/a",
            "ssh://[::1]:22/a",
        );
        check("git@[::1]:a", Method::Ssh, "::1", "a", "git@[::1]:a");
        check(
            "git://h.example.test/a",
            Method::Git,
            "h.example.test",
            "/a",
            "git://h.example.test/a",
        );
        check(
            "file:///srv/my%20repo",
            Method::File,
            "",
            "/srv/my repo",
            "/srv/my repo",
        );
        check("/srv/a:b", Method::File, "", "/srv/a:b", "/srv/a:b");
        check("./repo", Method::File, "", "./repo", "./repo");
    }

    #[test]
    fn refuses_what_git_cannot_carry() {
        for text in ["oci://ghcr.io/a/b", "https:///a", "", "ssh://h:port/a"] {
            assert!(GitUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn keeps_secrets_out_of_sight() {
        let url = GitUrl::parse("https://bob:s3c%40ret@git.example.test/a").unwrap();
        assert_eq!(url.password(), Some("s3c@ret"));
        assert_eq!(format!("{url:?}"), "GitUrl(https://git.example.test/a)");
        assert_eq!(GitUrl::parse(&url.full()).unwrap(), url);
    }
}
