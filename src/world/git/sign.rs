//! Signatures: where the configuration says that commits are signed, ours are signed by the same program, or refused.
//!
//! libgit2 signs nothing by itself. The programs run without a terminal, so that a passphrase prompt never smears the
//! screen: an agent or a graphical prompt answers, or the commit is refused with the program's words.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use super::access::Access;
use super::identity::Person;
use super::mirror::Mirror;
use crate::domain::fault::{Fault, FaultKind};
use crate::world::child::{self, Input};

/// How commits of a repository are signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Signer {
    /// gpg, or gpgsm for x509: the program and the key.
    Gpg(String, String),
    /// `ssh-keygen -Y sign`: the program and the key.
    Ssh(String, SshKey),
}

/// The key of an ssh signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SshKey {
    /// A file.
    File(String),
    /// A public key as text, whose private half the agent holds.
    Literal(String),
}

impl Mirror {
    /// Reads how commits here are signed; `None` where they are not.
    pub(super) fn signer(&self, committer: &Person) -> Result<Option<Signer>, Fault> {
        let config = |key: &str| {
            self.access()
                .config(self.dir(), key)
                .filter(|v| !v.is_empty())
        };
        if !self.access().config_bool(self.dir(), "commit.gpgSign") {
            return Ok(None);
        }
        let key = config("user.signingKey");
        let format = config("gpg.format").unwrap_or_else(|| "openpgp".into());
        let program = |section: &str, default: &str| {
            self.access()
                .config_path(self.dir(), &format!("gpg.{section}.program"))
                .unwrap_or_else(|| default.to_owned())
        };
        let whoever = || format!("{} <{}>", committer.name, committer.email);
        match format.as_str() {
            "openpgp" => {
                let default = self.access().config_path(self.dir(), "gpg.program");
                let program = program("openpgp", default.as_deref().unwrap_or("gpg"));
                Ok(Some(Signer::Gpg(program, key.unwrap_or_else(whoever))))
            }
            "x509" => Ok(Some(Signer::Gpg(
                program("x509", "gpgsm"),
                key.unwrap_or_else(whoever),
            ))),
            "ssh" => Ok(Some(Signer::Ssh(
                program("ssh", "ssh-keygen"),
                self.ssh_key(key)?,
            ))),
            other => Err(self.unsigned(format!("gpg.format `{other}` is unknown"))),
        }
    }

    fn ssh_key(&self, key: Option<String>) -> Result<SshKey, Fault> {
        let key = match key {
            Some(key) => key,
            None => self.default_ssh_key()?,
        };
        let literal = key.strip_prefix("key::").or_else(|| {
            let kinds = ["ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-"];
            kinds
                .iter()
                .any(|k| key.starts_with(k))
                .then_some(key.as_str())
        });
        if let Some(literal) = literal {
            return Ok(SshKey::Literal(literal.to_owned()));
        }
        let path = self.access().config_path(self.dir(), "user.signingKey");
        Ok(SshKey::File(path.unwrap_or(key)))
    }

    fn default_ssh_key(&self) -> Result<String, Fault> {
        let Some(line) = self
            .access()
            .config(self.dir(), "gpg.ssh.defaultKeyCommand")
        else {
            return Err(self.unsigned("user.signingKey is not set".into()));
        };
        let mut command = self.access().command("sh");
        let output = self
            .access()
            .run(command.args(["-c", &line]), Input::Empty)?;
        let text = output.text();
        text.lines()
            .next()
            .filter(|first| output.success && !first.is_empty())
            .map(str::to_owned)
            .ok_or_else(|| {
                self.unsigned(format!(
                    "gpg.ssh.defaultKeyCommand gave no key: {}",
                    output.complaint()
                ))
            })
    }

    /// Signs a commit's text; returns the armoured signature.
    pub(super) fn sign(&self, signer: &Signer, text: &str) -> Result<String, Fault> {
        match signer {
            Signer::Gpg(program, key) => self.sign_gpg(program, key, text),
            Signer::Ssh(program, key) => self.sign_ssh(program, key, text),
        }
    }

    fn sign_gpg(&self, program: &str, key: &str, text: &str) -> Result<String, Fault> {
        let mut command = without_terminal(self.access(), program);
        command.args(["--status-fd=2", "-bsau", key]);
        let output = self
            .access()
            .run(&mut command, Input::Bytes(text.as_bytes()))?;
        let status = String::from_utf8_lossy(&output.stderr).into_owned();
        let made = status
            .lines()
            .any(|l| l.starts_with("[GNUPG:] SIG_CREATED "));
        if !output.success || !made {
            let words: Vec<&str> = status
                .lines()
                .filter(|l| !l.starts_with("[GNUPG:]"))
                .collect();
            return Err(self.unsigned(child::complaint(words.join("\n").as_bytes())));
        }
        Ok(output.text().replace("\r\n", "\n"))
    }

    fn sign_ssh(&self, program: &str, key: &SshKey, text: &str) -> Result<String, Fault> {
        let failed = |e: std::io::Error| self.unsigned(e.to_string());
        let folder = tempfile::tempdir().map_err(failed)?;
        let (commit, public) = (folder.path().join("commit"), folder.path().join("key.pub"));
        write(&commit, text).map_err(failed)?;
        let mut command = without_terminal(self.access(), program);
        command.args(["-Y", "sign", "-n", "git", "-f"]);
        match key {
            SshKey::File(path) => command.arg(path),
            SshKey::Literal(line) => {
                write(&public, &format!("{line}\n")).map_err(failed)?;
                command.arg(&public).arg("-U")
            }
        };
        let output = self.access().run(command.arg(&commit), Input::Empty)?;
        if !output.success {
            return Err(self.unsigned(output.complaint()));
        }
        read(&folder.path().join("commit.sig")).map_err(failed)
    }

    fn unsigned(&self, cause: String) -> Fault {
        let cause = if cause.is_empty() {
            "the program said nothing".to_owned()
        } else {
            cause
        };
        Fault::new(
            FaultKind::Refused,
            "the commit could not be signed, and commit.gpgSign says that it must be",
        )
        .about(self.subject())
        .because(cause)
        .hint("unlock the key (gpg-agent, ssh-add) in another terminal, or correct user.signingKey")
    }
}

/// Prepares a signing program that cannot reach the terminal to ask.
fn without_terminal(access: &Access, program: &str) -> Command {
    let mut command = access.command(program);
    command
        .env_remove("GPG_TTY")
        .env("SSH_ASKPASS_REQUIRE", "force");
    if access.variables().get("SSH_ASKPASS").is_none() {
        command.env("SSH_ASKPASS", "/bin/false");
    }
    command
}

pub(super) fn write(path: &Path, text: &str) -> std::io::Result<()> {
    std::fs::File::create(path)?.write_all(text.as_bytes())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the signature that a program left in our own temporary folder"
)]
fn read(path: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}
