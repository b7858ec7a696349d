//! The repository behind an app: a bare mirror in the cache folder, or the user's own clone where it lies.
//!
//! A mirror holds every branch under `refs/remotes/origin/` and every tag; its own `refs/heads/` are the branches that
//! we commit. libgit2's handles are not shared between threads, so a [`Mirror`] holds the folder and opens it per call;
//! opening takes a fraction of a millisecond.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use git2::{
    AutotagOption, FetchOptions, FetchPrune, RemoteCallbacks, Repository, RepositoryInitOptions,
};
use sha2::{Digest as _, Sha256};

use super::access::Access;
use super::call::{self, Act, Call};
use super::transport;
use super::url::{GitUrl, Method};
use crate::domain::fault::{Fault, FaultKind};
use crate::world::child::Input;

/// Branches, as a mirror keeps them.
pub(super) const HEADS: &str = "+refs/heads/*:refs/remotes/origin/*";
const TAGS: &str = "+refs/tags/*:refs/tags/*";

/// What a fetch is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Talking to the server.
    Connecting,
    /// Receiving objects.
    Receiving,
    /// Resolving deltas.
    Resolving,
}

/// How far a fetch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What it is doing.
    pub phase: Phase,
    /// Objects or deltas done.
    pub done: usize,
    /// Of how many.
    pub total: usize,
    /// Bytes received.
    pub bytes: usize,
}

/// One reference that a fetch moved; ids are 40 hex digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefChange {
    /// Its name here: `refs/remotes/origin/main`, `refs/tags/v1`.
    pub name: String,
    /// Where it was; `None` for a new one.
    pub from: Option<String>,
    /// Where it is; `None` for one that the server has no more.
    pub to: Option<String>,
}

/// What a fetch brought.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fetched {
    /// The references that moved.
    pub changed: Vec<RefChange>,
    /// The server's default branch (`main`), where it says one.
    pub default_branch: Option<String>,
}

/// A repository to read from, commit into and push from.
#[derive(Debug, Clone)]
pub struct Mirror {
    dir: PathBuf,
    url: Option<GitUrl>,
    own: bool,
    access: Access,
}

impl Mirror {
    /// Opens the mirror of `url` in the folder `cache`, made where it does not exist yet; nothing is fetched.
    ///
    /// # Errors
    /// The address is none, or the folder cannot be written.
    pub fn open(cache: &Path, url: &str, access: &Access) -> Result<Self, Fault> {
        transport::ready(access.timeouts())?;
        let url = absolute(GitUrl::parse(url)?)?;
        let digest = Sha256::digest(url.plain().as_bytes());
        let mark = digest
            .iter()
            .take(6)
            .fold(0_u64, |mark, byte| (mark << 8) | u64::from(*byte));
        let dir = cache.join(format!("{}-{mark:012x}.git", url.slug()));
        let mirror = Self {
            dir,
            url: Some(url),
            own: false,
            access: access.clone(),
        };
        mirror.make().map_err(|e| mirror.unusable(&e))?;
        Ok(mirror)
    }

    /// Opens the user's own clone (`--repo`), which may be a linked worktree or a folder within one.
    ///
    /// # Errors
    /// No repository is there, or it uses an extension that libgit2 cannot read, named.
    pub fn of_clone(path: &Path, access: &Access) -> Result<Self, Fault> {
        transport::ready(access.timeouts())?;
        let found = Repository::discover(path).map_err(|e| {
            let kind = match e.code() {
                git2::ErrorCode::NotFound => FaultKind::NotFound,
                git2::ErrorCode::Owner => FaultKind::Forbidden,
                _ if call::is_unsupported(&e) => FaultKind::Unsupported,
                _ => FaultKind::Git,
            };
            Fault::new(
                kind,
                format!("cannot open the repository at {}", path.display()),
            )
            .because(e.message())
            .hint("give the folder of a Git clone, or leave --repo out to work in a mirror")
        })?;
        let dir = found.path().to_owned();
        let url = found
            .find_remote("origin")
            .ok()
            .and_then(|r| r.url().ok().map(str::to_owned))
            .and_then(|u| GitUrl::parse(&u).ok());
        Ok(Self {
            dir,
            url: url.map(absolute).transpose()?,
            own: true,
            access: access.clone(),
        })
    }

    /// Returns the repository's folder (the `.git` of a clone).
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the address, where there is one.
    pub fn url(&self) -> Option<&GitUrl> {
        self.url.as_ref()
    }

    /// Tells whether this is the user's own clone rather than a mirror of ours.
    pub fn is_own_clone(&self) -> bool {
        self.own
    }

    /// Returns environment and bounds.
    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    /// Opens libgit2's handle for one call.
    pub(super) fn repository(&self) -> Result<Repository, Fault> {
        Repository::open(&self.dir).map_err(|e| self.unusable(&e))
    }

    /// Words what libgit2 said about something in this repository.
    pub(super) fn fault(&self, sentence: impl Into<String>, error: &git2::Error) -> Fault {
        let kind = match error.code() {
            git2::ErrorCode::NotFound => FaultKind::NotFound,
            _ => FaultKind::Git,
        };
        Fault::new(kind, sentence)
            .about(self.subject())
            .because(error.message())
    }

    /// Returns what people know the repository by.
    pub(super) fn subject(&self) -> String {
        match &self.url {
            Some(url) if !self.own => url.shown(),
            _ => self.dir.display().to_string(),
        }
    }

    fn unusable(&self, error: &git2::Error) -> Fault {
        let unsupported = call::is_unsupported(error);
        let kind = if unsupported {
            FaultKind::Unsupported
        } else {
            FaultKind::Git
        };
        let hint = if self.own {
            "leave --repo out to work in a mirror of its remote".to_owned()
        } else {
            format!(
                "check the folder, or delete it to fetch anew: {}",
                self.dir.display()
            )
        };
        Fault::new(kind, "cannot open the repository")
            .about(self.subject())
            .because(error.message())
            .hint(hint)
    }

    fn make(&self) -> Result<(), git2::Error> {
        if Repository::open_bare(&self.dir).is_ok() {
            return Ok(());
        }
        let mut options = RepositoryInitOptions::new();
        options
            .bare(true)
            .mkpath(true)
            .external_template(false)
            .initial_head("main");
        let repository = Repository::init_opts(&self.dir, &options)?;
        // The `git` program reads this too: conditional includes may depend on the remote's address.
        let mut config = repository.config()?;
        if let Some(url) = &self.url {
            config.set_str("remote.origin.url", &url.plain())?;
            config.set_str("remote.origin.fetch", HEADS)?;
        }
        Ok(())
    }

    /// Fetches every branch and tag; `progress` is told how far it is, and ends the fetch by returning `false`.
    ///
    /// In the user's own clone only `refs/remotes/origin/` moves, tags are left as they are.
    ///
    /// # Errors
    /// The fault names address, method and next step.
    pub fn fetch(&self, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Fetched, Fault> {
        self.fetch_specs(if self.own { &[HEADS] } else { &[HEADS, TAGS] }, progress)
    }

    pub(super) fn fetch_specs(
        &self,
        specs: &[&str],
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Fetched, Fault> {
        let url = &self.address(false)?;
        let _lock = self.lock()?;
        let call = Call::new(Act::Fetch, url, &self.dir, &self.access);
        let begun = Progress {
            phase: Phase::Connecting,
            done: 0,
            total: 0,
            bytes: 0,
        };
        if !progress(begun) {
            call.cancel();
            return Err(call.fault(&git2::Error::from_str("")));
        }
        let repository = self.repository()?;
        call.during(|| self.fetch_with((&repository, url), specs, &call, progress))
    }

    fn fetch_with(
        &self,
        (repository, url): (&Repository, &GitUrl),
        specs: &[&str],
        call: &Call,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Fetched, git2::Error> {
        let mut fetched = Fetched::default();
        let mut remote = repository.remote_anonymous(&wire(url, &self.access))?;
        {
            let mut callbacks = RemoteCallbacks::new();
            callbacks.transfer_progress(|p| {
                let receiving = p.received_objects() < p.total_objects() || p.total_deltas() == 0;
                let told = Progress {
                    phase: if receiving {
                        Phase::Receiving
                    } else {
                        Phase::Resolving
                    },
                    done: if receiving {
                        p.received_objects()
                    } else {
                        p.indexed_deltas()
                    },
                    total: if receiving {
                        p.total_objects()
                    } else {
                        p.total_deltas()
                    },
                    bytes: p.received_bytes(),
                };
                let on = progress(told);
                if !on {
                    call.cancel();
                }
                on
            });
            callbacks.update_tips(|name, from, to| {
                let id = |oid: git2::Oid| (!oid.is_zero()).then(|| oid.to_string());
                fetched.changed.push(RefChange {
                    name: name.to_owned(),
                    from: id(from),
                    to: id(to),
                });
                true
            });
            let mut options = FetchOptions::new();
            options
                .prune(if specs.contains(&HEADS) {
                    FetchPrune::On
                } else {
                    FetchPrune::Off
                })
                .update_fetchhead(false)
                .download_tags(AutotagOption::None)
                .remote_callbacks(callbacks);
            remote.fetch(specs, Some(&mut options), Some("gitops-tui fetch"))?;
        }
        let head = remote.default_branch().ok();
        fetched.default_branch = head
            .as_ref()
            .and_then(|name| name.as_str().ok())
            .and_then(|name| name.strip_prefix("refs/heads/"))
            .map(str::to_owned);
        if let Some(branch) = &fetched.default_branch {
            let target = format!("refs/remotes/origin/{branch}");
            repository.reference_symbolic(
                "refs/remotes/origin/HEAD",
                &target,
                true,
                "gitops-tui fetch",
            )?;
        }
        Ok(fetched)
    }

    /// Returns the address that is really talked to: the configuration may set another in its place (`insteadOf`,
    /// `pushInsteadOf`, `pushurl`). The `git` program is asked, since libgit2 does not read all of it.
    pub(super) fn address(&self, push: bool) -> Result<GitUrl, Fault> {
        let none = || {
            Fault::new(FaultKind::Git, "the repository has no remote `origin`")
                .about(self.subject())
                .hint("add one: git remote add origin ADDRESS")
        };
        let asked = self.access.git(&self.dir).map(|mut git| {
            git.args(["remote", "get-url"])
                .args(push.then_some("--push"))
                .arg("origin");
            self.access.run(&mut git, Input::Empty)
        });
        let said = match asked {
            Some(Ok(output)) if output.success => Some(output.text().trim_end().to_owned()),
            _ if push && self.own => self
                .repository()?
                .find_remote("origin")
                .ok()
                .and_then(|remote| remote.pushurl().ok().flatten().map(str::to_owned)),
            _ => None,
        };
        match (said, &self.url) {
            // Our own copy of the address holds the credentials that the configuration does not.
            (Some(said), Some(url)) if said != url.plain() => absolute(GitUrl::parse(&said)?),
            (_, Some(url)) => Ok(url.clone()),
            (Some(said), None) => absolute(GitUrl::parse(&said)?),
            (None, None) => Err(none()),
        }
    }

    /// Takes the mirror for one writer at a time, also between programs.
    fn lock(&self) -> Result<Option<File>, Fault> {
        if self.own {
            return Ok(None);
        }
        let path = self.dir.with_extension("lock");
        let wrong = |e: &std::io::Error| {
            Fault::new(
                FaultKind::Config,
                format!("cannot write {}", path.display()),
            )
            .because(e)
        };
        let file = File::create(&path).map_err(|e| wrong(&e))?;
        let mut waited = Duration::ZERO;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::Error(e)) => return Err(wrong(&e)),
                Err(TryLockError::WouldBlock) if waited >= LOCK_BOUND => {
                    return Err(Fault::new(
                        FaultKind::Timeout,
                        "another program is fetching this repository",
                    )
                    .about(self.subject())
                    .hint("wait for it, or end it"));
                }
                Err(TryLockError::WouldBlock) => {
                    thread::sleep(LOCK_STEP);
                    waited += LOCK_STEP;
                }
            }
        }
    }
}

const LOCK_STEP: Duration = Duration::from_millis(50);
const LOCK_BOUND: Duration = Duration::from_mins(5);

/// Makes a folder's address absolute, since children run elsewhere.
fn absolute(url: GitUrl) -> Result<GitUrl, Fault> {
    if url.method != Method::File {
        return Ok(url);
    }
    let path = fs::canonicalize(&url.path).map_err(|e| {
        Fault::new(
            FaultKind::NotFound,
            format!("there is no folder {}", url.path),
        )
        .because(e)
        .hint("check the path of the repository")
    })?;
    Ok(url.with_path(path.to_string_lossy().into_owned()))
}

/// Spells the address as libgit2 takes it: folders go to `git` where it is installed, to libgit2's own reader else.
pub(super) fn wire(url: &GitUrl, access: &Access) -> String {
    match url.method {
        Method::File if access.has_program() => format!("file://{}", url.path.replace('%', "%25")),
        Method::Http | Method::Https => url.plain(),
        _ => url.full(),
    }
}
