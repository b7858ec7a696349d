//! Revisions by every spelling that Flux, Argo CD and people use, turned into a commit.
//!
//! `main` · `refs/heads/main` · `v1.2` · `refs/tags/v1.2` · a commit's id, also abbreviated · Flux's
//! `main@sha1:ID`, `sha1:ID` and the older `main/ID` · `HEAD` or nothing for the default branch · a version range
//! (`v1.*`, `>=1.2 <2`) for the newest tag in it, where nothing has that name.

use git2::{Oid, Repository};

use super::mirror::{Mirror, Progress};
use super::range::{Range, Version};
use crate::domain::fault::{Fault, FaultKind};

impl Mirror {
    /// Resolves a revision to a commit's id (40 hex digits), as of the last fetch.
    ///
    /// A branch is the server's (`refs/remotes/origin/`) before our own; a branch goes before a tag of the same name.
    ///
    /// # Errors
    /// Nothing here has that name.
    pub fn resolve(&self, rev: &str) -> Result<String, Fault> {
        let repository = self.repository()?;
        let missing = || {
            Fault::new(
                FaultKind::NotFound,
                format!("revision `{rev}` is not in the repository"),
            )
            .about(self.subject())
            .hint("fetch, and check the name of the branch, tag or commit")
        };
        if let Some(digest) = rev.split_once("@sha256:").map(|(_, d)| d) {
            return Err(Fault::new(
                FaultKind::Unsupported,
                format!("revision sha256:{digest} is an artifact's digest, not a Git commit"),
            )
            .about(self.subject()));
        }
        candidates(rev)
            .iter()
            .find_map(|name| lookup(&repository, name))
            .or_else(|| newest(&repository, &Range::parse(rev)?, false).map(|(_, oid)| oid))
            .map(|oid| oid.to_string())
            .ok_or_else(missing)
    }

    /// Returns the newest tag in a version range, and its commit (40 hex digits), as Flux's `ref.semver` picks it: of
    /// equal versions the one whose commit is newer; tags must have all three numbers.
    ///
    /// # Errors
    /// The text is no range, or no tag is in it.
    pub fn newest_tag(&self, range: &str) -> Result<(String, String), Fault> {
        let parsed = Range::parse(range).ok_or_else(|| {
            Fault::new(FaultKind::Config, format!("`{range}` is no version range"))
                .about(self.subject())
                .hint("write >=1.2.0 <2.0.0, 1.x or ~1.2")
        })?;
        let repository = self.repository()?;
        newest(&repository, &parsed, true)
            .map(|(tag, oid)| (tag, oid.to_string()))
            .ok_or_else(|| {
                Fault::new(
                    FaultKind::NotFound,
                    format!("no tag is in the version range `{range}`"),
                )
                .about(self.subject())
                .hint("fetch, and check the tags of the repository")
            })
    }

    /// Resolves a revision, and asks the server for it by name where no branch or tag leads to it: `refs/pull/7/head`,
    /// or a commit that was rewritten away. `progress` is as for [`Mirror::fetch`].
    ///
    /// # Errors
    /// The server does not have it, or does not give commits by their id.
    pub fn want(
        &self,
        rev: &str,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<String, Fault> {
        let unknown = match self.resolve(rev) {
            Err(fault) if fault.kind == FaultKind::NotFound => fault,
            other => return other,
        };
        let names = candidates(rev);
        let spec = names.iter().find_map(|name| match name {
            // Kept by a reference of its own, or the next cleaning would take it away.
            Name::Id(id) if id.len() == 40 && is_id(id) => {
                Some(format!("+{id}:refs/gitops-tui/{id}"))
            }
            Name::Reference(full) if full == rev && !self.is_own_clone() => {
                Some(format!("+{full}:{full}"))
            }
            _ => None,
        });
        let Some(spec) = spec else {
            return Err(unknown);
        };
        self.fetch_specs(&[&spec], progress)?;
        self.resolve(rev)
    }

    /// Returns the commit at the tip of a branch of the server, or of our own where the server has none.
    ///
    /// # Errors
    /// There is no such branch.
    pub fn tip(&self, branch: &str) -> Result<String, Fault> {
        let repository = self.repository()?;
        let name = branch.strip_prefix("refs/heads/").unwrap_or(branch);
        branches(name)
            .iter()
            .find_map(|full| commit_of(&repository, full))
            .map(|oid| oid.to_string())
            .ok_or_else(|| {
                Fault::new(
                    FaultKind::NotFound,
                    format!("the repository has no branch `{name}`"),
                )
                .about(self.subject())
                .hint("check the name; the branch may have been deleted on the server")
            })
    }

    /// Returns the server's default branch (`main`), as of the last fetch.
    pub fn default_branch(&self) -> Option<String> {
        let repository = self.repository().ok()?;
        let head = repository.find_reference("refs/remotes/origin/HEAD").ok()?;
        let target = head.symbolic_target().ok()??;
        target
            .strip_prefix("refs/remotes/origin/")
            .map(str::to_owned)
    }
}

/// Ways to look a name up.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    /// A full reference name.
    Reference(String),
    /// A commit's id, whole or abbreviated.
    Id(String),
}

fn branches(name: &str) -> [String; 2] {
    [
        format!("refs/remotes/origin/{name}"),
        format!("refs/heads/{name}"),
    ]
}

fn candidates(rev: &str) -> Vec<Name> {
    let rev = rev.trim();
    // Flux: NAME@sha1:ID, sha1:ID. The id decides, the name only says where it came from.
    if let Some((_, id)) = rev.rsplit_once("sha1:") {
        return vec![Name::Id(id.to_owned())];
    }
    let mut names = vec![];
    if rev.is_empty() || rev == "HEAD" {
        names.push(Name::Reference("refs/remotes/origin/HEAD".into()));
        names.push(Name::Reference("HEAD".into()));
        return names;
    }
    if let Some(branch) = rev.strip_prefix("refs/heads/") {
        names.extend(branches(branch).map(Name::Reference));
        return names;
    }
    if rev.starts_with("refs/") {
        return vec![Name::Reference(rev.into())];
    }
    if is_id(rev) && rev.len() == 40 {
        names.push(Name::Id(rev.into()));
    }
    names.extend(branches(rev).map(Name::Reference));
    names.push(Name::Reference(format!("refs/tags/{rev}")));
    if is_id(rev) {
        names.push(Name::Id(rev.into()));
    }
    // Flux before 2.0: BRANCH/ID.
    if let Some((_, id)) = rev
        .rsplit_once('/')
        .filter(|(_, id)| id.len() == 40 && is_id(id))
    {
        names.push(Name::Id(id.into()));
    }
    names
}

fn is_id(text: &str) -> bool {
    (7..=40).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn lookup(repository: &Repository, name: &Name) -> Option<Oid> {
    match name {
        Name::Reference(full) => commit_of(repository, full),
        Name::Id(id) if id.len() == 40 => {
            Some(repository.find_commit(Oid::from_str(id).ok()?).ok()?.id())
        }
        Name::Id(id) if is_id(id) => Some(repository.find_commit_by_prefix(id).ok()?.id()),
        Name::Id(_) => None,
    }
}

/// Finds the newest tag in a range; `whole` takes tags with three numbers only.
fn newest(repository: &Repository, range: &Range, whole: bool) -> Option<(String, Oid)> {
    let names = repository.tag_names(None).ok()?;
    names
        .iter()
        .flatten()
        .flatten()
        .filter_map(|tag| {
            let version = Version::parse(tag).filter(|v| !whole || v.given == 3)?;
            range.takes(&version).then_some((version, tag))
        })
        .filter_map(|(version, tag)| {
            let oid = commit_of(repository, &format!("refs/tags/{tag}"))?;
            let time = repository.find_commit(oid).ok()?.time().seconds();
            Some(((version, time), (tag.to_owned(), oid)))
        })
        .max_by(|(a, _), (b, _)| a.cmp(b))
        .map(|(_, found)| found)
}

fn commit_of(repository: &Repository, reference: &str) -> Option<Oid> {
    let commit = repository
        .find_reference(reference)
        .ok()?
        .peel_to_commit()
        .ok()?;
    Some(commit.id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_spelling() {
        let id = "0123456789012345678901234567890123456789";
        let of = |rev: &str| {
            candidates(rev)
                .iter()
                .map(|n| match n {
                    Name::Reference(r) => r.trim_start_matches("refs/").to_owned(),
                    Name::Id(i) => format!("#{i}"),
                })
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(of("main"), "remotes/origin/main heads/main tags/main");
        assert_eq!(of(&format!("main@sha1:{id}")), format!("#{id}"));
        assert_eq!(of(&format!("refs/heads/a@sha1:{id}")), format!("#{id}"));
        assert_eq!(of("sha1:abcdef0"), "#abcdef0");
        assert_eq!(of("refs/heads/a/b"), "remotes/origin/a/b heads/a/b");
        assert_eq!(of("HEAD"), "remotes/origin/HEAD HEAD");
        assert_eq!(
            of("abcdef0"),
            "remotes/origin/abcdef0 heads/abcdef0 tags/abcdef0 #abcdef0"
        );
        assert_eq!(of("refs/pull/1/head"), "pull/1/head");
        assert!(of(&format!("main/{id}")).ends_with(&format!(" #{id}")));
    }
}
