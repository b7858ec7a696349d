//! Who commits: as git itself decides, or nobody.
//!
//! `git var` knows the environment, every conditional include and `user.useConfigOnly`; libgit2 does not know
//! `includeIf hasconfig:`, so without the program such a configuration is refused rather than read wrong. A name is
//! never made up from user and host.

use super::mirror::Mirror;
use crate::domain::fault::{Fault, FaultKind};
use crate::world::child::Input;

/// One person at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// `Ada Lovelace`.
    pub name: String,
    /// `ada@example.test`.
    pub email: String,
    /// Seconds since 1970, UTC.
    pub time: i64,
    /// Minutes east of UTC.
    pub offset: i32,
}

/// Who writes a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Who made the change.
    pub author: Person,
    /// Who commits it.
    pub committer: Person,
}

impl Person {
    /// Reads `Name <email> SECONDS +HHMM`, as `git var` prints it.
    fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.trim().split_once(" <")?;
        let (email, when) = rest.rsplit_once("> ")?;
        let (time, zone) = when.split_once(' ')?;
        let digits: i32 = zone.parse().ok()?;
        Some(Self {
            name: name.to_owned(),
            email: email.to_owned(),
            time: time.parse().ok()?,
            offset: digits / 100 * 60 + digits % 100,
        })
        .filter(|p| !p.name.is_empty() && !p.email.is_empty())
    }

    pub(super) fn signature(&self) -> Result<git2::Signature<'static>, git2::Error> {
        git2::Signature::new(
            &self.name,
            &self.email,
            &git2::Time::new(self.time, self.offset),
        )
    }
}

impl From<&git2::Signature<'_>> for Person {
    fn from(signature: &git2::Signature<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            name: text(signature.name_bytes()),
            email: text(signature.email_bytes()),
            time: signature.when().seconds(),
            offset: signature.when().offset_minutes(),
        }
    }
}

impl Mirror {
    /// Returns who would commit here now, as git decides: environment, then configuration with its includes.
    ///
    /// # Errors
    /// No identity is set, or it may stand in an include that only the `git` program understands.
    pub fn identity(&self) -> Result<Identity, Fault> {
        if self.access().has_program() {
            return Ok(Identity {
                author: self.var("GIT_AUTHOR_IDENT")?,
                committer: self.var("GIT_COMMITTER_IDENT")?,
            });
        }
        self.identity_of_library()
    }

    fn var(&self, name: &str) -> Result<Person, Fault> {
        let Some(mut git) = self.access().git(self.dir()) else {
            return Err(self.nobody("git is not installed"));
        };
        // Makes git refuse where it would otherwise make an address up from user and host.
        git.args(["-c", "user.useConfigOnly=true", "var", name]);
        let output = self.access().run(&mut git, Input::Empty)?;
        if !output.success {
            return Err(self.nobody(&output.complaint()));
        }
        Person::parse(&output.text()).ok_or_else(|| self.nobody("the name or the address is empty"))
    }

    fn identity_of_library(&self) -> Result<Identity, Fault> {
        let repository = self.repository()?;
        let wrong = |e: git2::Error| self.nobody(e.message());
        let config = repository.config().map_err(wrong)?;
        if has_remote_conditions(&config) {
            return Err(Fault::new(
                FaultKind::Unsupported,
                "the identity may stand in an `includeIf hasconfig:` file, which only the git program reads",
            )
            .about(self.subject())
            .hint("install git, or set GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL and their COMMITTER twins"));
        }
        let variables = self.access().variables();
        let stored = repository.signature().ok();
        let person = |role: &str| {
            let value = |what: &str| {
                variables
                    .get(&format!("GIT_{role}_{what}"))
                    .map(str::to_owned)
            };
            let stored = stored.as_ref().map(Person::from);
            Some(Person {
                name: value("NAME").or_else(|| Some(stored.as_ref()?.name.clone()))?,
                email: value("EMAIL").or_else(|| Some(stored.as_ref()?.email.clone()))?,
                ..stored.or_else(|| Some(Person::from(&git2::Signature::now("x", "x").ok()?)))?
            })
        };
        match (person("AUTHOR"), person("COMMITTER")) {
            (Some(author), Some(committer)) => Ok(Identity { author, committer }),
            _ => Err(self.nobody("neither the environment nor the configuration has one")),
        }
    }

    fn nobody(&self, cause: &str) -> Fault {
        Fault::new(
            FaultKind::Config,
            "nobody to commit as: git has no identity here",
        )
        .about(self.subject())
        .because(cause)
        .hint("set git config --global user.name and user.email")
    }
}

fn has_remote_conditions(config: &git2::Config) -> bool {
    let Ok(mut entries) = config.entries(Some("includeif\\.hasconfig:")) else {
        return true;
    };
    entries.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_git_var_prints() {
        let person = Person::parse("Ada L. <ada@example.test> 1700000000 -0230\n").unwrap();
        assert_eq!(
            (
                person.name.as_str(),
                person.email.as_str(),
                person.time,
                person.offset
            ),
            ("Ada L.", "ada@example.test", 1_700_000_000, -150)
        );
        assert_eq!(Person::parse(" <ada@example.test> 1 +0000"), None);
    }
}
