//! Credentials for http: each source is asked once, and what was refused is not offered again.
//!
//! In order: the address itself, the environment, the credential helper (through `git credential`, which honours
//! per-address helpers and never prompts here; libgit2's own reading of the helper where git is missing).
//!
//! The environment's password goes to the one host it is meant for, [`HOST`], and to no other: addresses come from
//! clusters, and an address must not be able to ask for it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::call::Call;
use crate::world::child::Input;

/// The host that the environment's credentials are for.
const HOST: &str = "GITOPS_TUI_GIT_HOST";
/// The user name; `git` where it is not set.
const USERNAME: &str = "GITOPS_TUI_GIT_USERNAME";
/// The password or token.
const PASSWORD: &str = "GITOPS_TUI_GIT_PASSWORD";

/// A name and a password; never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credential {
    username: String,
    password: String,
    from: Source,
}

/// Where a credential came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The address.
    Url,
    /// The environment.
    Environment,
    /// The credential helper.
    Helper,
}

impl Credential {
    /// Returns the value of the `Authorization` header.
    pub(super) fn header(&self) -> String {
        format!(
            "Basic {}",
            STANDARD.encode(format!("{}:{}", self.username, self.password))
        )
    }
}

/// The address that asks: scheme, host with port, path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asker {
    /// `https` or `http`.
    pub scheme: String,
    /// `git.example.test`, `127.0.0.1:8080`.
    pub host: String,
    /// Without its leading `/`.
    pub path: String,
}

/// The sources that were not asked yet.
#[derive(Debug)]
pub(super) struct Sources(Vec<Source>);

impl Default for Sources {
    fn default() -> Self {
        Self(vec![Source::Helper, Source::Environment, Source::Url])
    }
}

impl Sources {
    /// Returns the next credential for who asks; `None` once every source was asked.
    pub(super) fn next(&mut self, call: &Call, asker: &Asker) -> Option<Credential> {
        while let Some(source) = self.0.pop() {
            let found = match source {
                Source::Url => of_url(call, asker),
                Source::Environment => of_environment(call, asker),
                Source::Helper => of_helper(call, asker),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

fn of_url(call: &Call, asker: &Asker) -> Option<Credential> {
    // After a redirect to another host the address's password is not meant for who asks.
    let host = asker.host.split(':').next().unwrap_or_default();
    (call.url.host == host).then_some(())?;
    // A user alone is a hint for the helper, not a credential.
    Some(Credential {
        username: call.url.user.clone().unwrap_or_default(),
        password: call.url.password()?.to_owned(),
        from: Source::Url,
    })
}

fn of_environment(call: &Call, asker: &Asker) -> Option<Credential> {
    let variables = call.access.variables();
    let host = variables.get(HOST)?;
    let meant = host == asker.host || Some(host) == asker.host.split(':').next();
    let safe = asker.scheme == "https"
        || asker.host.starts_with("127.0.0.1")
        || asker.host.starts_with("localhost");
    (meant && safe).then_some(())?;
    Some(Credential {
        username: variables.get(USERNAME).unwrap_or("git").to_owned(),
        password: variables.get(PASSWORD)?.to_owned(),
        from: Source::Environment,
    })
}

fn of_helper(call: &Call, asker: &Asker) -> Option<Credential> {
    if !call.access.has_program() {
        return of_library(call, asker);
    }
    let question = question(call, asker, None);
    let mut git = call.access.git(&call.dir)?;
    let answer = call
        .access
        .run(
            git.args(["credential", "fill"]),
            Input::Bytes(question.as_bytes()),
        )
        .ok()
        .filter(|o| o.success)?;
    let text = answer.text();
    let field = |name: &str| {
        text.lines()
            .find_map(|l| l.strip_prefix(name)?.strip_prefix('='))
            .map(str::to_owned)
    };
    Some(Credential {
        username: field("username").unwrap_or_default(),
        password: field("password")?,
        from: Source::Helper,
    })
}

fn of_library(call: &Call, asker: &Asker) -> Option<Credential> {
    let config = git2::Repository::open(&call.dir)
        .and_then(|r| r.config())
        .ok()?;
    let url = format!("{}://{}/{}", asker.scheme, asker.host, asker.path);
    let (username, password) = git2::CredentialHelper::new(&url)
        .config(&config)
        .username(call.url.user.as_deref())
        .execute()?;
    Some(Credential {
        username,
        password,
        from: Source::Helper,
    })
}

fn question(call: &Call, asker: &Asker, answer: Option<&Credential>) -> String {
    let user = answer
        .map(|a| a.username.as_str())
        .or(call.url.user.as_deref());
    let mut lines = vec![
        format!("protocol={}", asker.scheme),
        format!("host={}", asker.host),
        format!("path={}", asker.path),
    ];
    lines.extend(user.map(|u| format!("username={u}")));
    lines.extend(answer.map(|a| format!("password={}", a.password)));
    // A line break within a value would be read as another answer.
    lines.retain(|l| !l.contains(['\n', '\r', '\0']));
    lines.join("\n") + "\n\n"
}

/// Tells the helper whether its credential was taken, as git does: what was refused is forgotten, what was taken may be
/// kept.
pub(super) fn report(call: &Call, asker: &Asker, credential: &Credential, taken: bool) {
    if credential.from != Source::Helper {
        return;
    }
    if let Some(mut git) = call.access.git(&call.dir) {
        let question = question(call, asker, Some(credential));
        let verb = if taken { "approve" } else { "reject" };
        // A helper that cannot forget or keep changes nothing for this call.
        let _told = call.access.run(
            git.args(["credential", verb]),
            Input::Bytes(question.as_bytes()),
        );
    }
}
