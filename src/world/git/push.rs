//! Pushes with their answers: the server's word per branch, never force, never a branch that somebody else made.

use std::cell::RefCell;

use git2::{Direction, ErrorCode, Oid, PushOptions, RemoteCallbacks, Repository};

use super::call::{Act, Call};
use super::mirror::{self, Mirror};
use super::url::GitUrl;
use crate::domain::fault::{Fault, FaultKind};

/// A branch that the server took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// The branch.
    pub branch: String,
    /// The commit it is at now, 40 hex digits.
    pub commit: String,
    /// What the server said besides (a link to open a merge request, often), line by line, clean for a terminal.
    pub messages: Vec<String>,
    /// The server had it already, so nothing was sent.
    pub already: bool,
}

/// What one push brought to light.
enum Outcome {
    Taken,
    Already,
    Refused(String),
    /// The server has another branch of that name.
    Foreign(Oid),
    /// The server had the branch, and has it no more.
    Gone,
    /// Our own pre-push hook said no.
    Hook(Fault),
}

impl Mirror {
    /// Pushes one of our branches under its own name.
    ///
    /// A branch that the server does not have is made; one that it has is only moved forward, and only from where we
    /// last saw it. A retry after success answers [`Pushed::already`].
    ///
    /// # Errors
    /// The server refused the branch (its own words are among the causes), has another of that name, or deleted it
    /// since; the commit is kept in every case.
    pub fn push(&self, branch: &str) -> Result<Pushed, Fault> {
        let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
        let repository = self.repository()?;
        let local = repository
            .find_reference(&format!("refs/heads/{branch}"))
            .and_then(|r| r.peel_to_commit())
            .map(|c| c.id())
            .map_err(|e| self.fault(format!("there is no branch `{branch}` to push"), &e))?;
        let seen = repository
            .find_reference(&format!("refs/remotes/origin/{branch}"))
            .ok()
            .and_then(|r| r.target());
        let url = self.address(true)?;
        let call = Call::new(Act::Push, &url, self.dir(), self.access());
        let heard = RefCell::new(String::new());
        let outcome = call.during(|| send(&repository, &url, self, branch, (local, seen), &heard));
        let messages = lines(&call, &heard.borrow());
        let refusal = |kind, sentence: String, hint: String| {
            let fault = Fault::new(kind, sentence).about(url.shown());
            messages.iter().fold(fault, Fault::because).hint(hint)
        };
        let kept = format!("the commit is kept as {branch} in {}", self.dir().display());
        match outcome {
            Ok(Outcome::Taken | Outcome::Already) => Ok(Pushed {
                branch: branch.to_owned(),
                commit: local.to_string(),
                already: matches!(outcome, Ok(Outcome::Already)),
                messages,
            }),
            Ok(Outcome::Hook(fault)) => Err(fault),
            Ok(Outcome::Refused(words)) => {
                let hint =
                    format!("{kept}; push it under another name, or ask who guards this one");
                let words = call.scrub(&words);
                Err(refusal(
                    FaultKind::Refused,
                    format!("the server refused branch `{branch}`"),
                    hint,
                )
                .because(words))
            }
            Ok(Outcome::Foreign(at)) => {
                let hint = format!("{kept}; fetch, and choose another name with --branch");
                let sentence = format!(
                    "the server has another branch `{branch}`, at {}",
                    &at.to_string()[..10]
                );
                Err(refusal(FaultKind::Conflict, sentence, hint))
            }
            Ok(Outcome::Gone) => {
                let sentence = format!(
                    "branch `{branch}` was deleted on the server, and is not made again silently"
                );
                Err(refusal(
                    FaultKind::Conflict,
                    sentence,
                    format!("{kept}; push it under another name"),
                ))
            }
            Err(fault) => Err(messages.iter().fold(fault, Fault::because)),
        }
    }
}

fn send(
    repository: &Repository,
    url: &GitUrl,
    mirror: &Mirror,
    branch: &str,
    (local, seen): (Oid, Option<Oid>),
    heard: &RefCell<String>,
) -> Result<Outcome, git2::Error> {
    let full = format!("refs/heads/{branch}");
    let mut remote = repository.remote_anonymous(&mirror::wire(url, mirror.access()))?;
    let mut connection = remote.connect_auth(Direction::Push, None, None)?;
    let theirs = connection
        .list()?
        .iter()
        .find(|head| head.name() == full)
        .map(git2::RemoteHead::oid);
    match (theirs, seen) {
        (Some(theirs), _) if theirs == local => return Ok(Outcome::Already),
        (Some(theirs), seen) if seen != Some(theirs) => return Ok(Outcome::Foreign(theirs)),
        (None, Some(_)) => return Ok(Outcome::Gone),
        _ => {}
    }
    if let Err(fault) = mirror.before_push(repository, branch, (local, theirs), &url.shown()) {
        return Ok(Outcome::Hook(fault));
    }
    let refusal = RefCell::new(None);
    let mut callbacks = RemoteCallbacks::new();
    callbacks.sideband_progress(|bytes| {
        heard.borrow_mut().push_str(&String::from_utf8_lossy(bytes));
        true
    });
    callbacks.push_update_reference(|name, status| {
        if let Some(words) = status.filter(|_| name == full) {
            *refusal.borrow_mut() = Some(words.to_owned());
        }
        Ok(())
    });
    let mut options = PushOptions::new();
    options.remote_callbacks(callbacks);
    let spec = format!("{full}:{full}");
    let pushed = connection
        .remote()
        .push(&[spec.as_str()], Some(&mut options));
    drop(options);
    if let Some(words) = refusal.take() {
        return Ok(Outcome::Refused(words));
    }
    match pushed {
        Err(e) if e.code() == ErrorCode::NotFastForward => {
            return Ok(theirs.map_or(Outcome::Refused(e.message().to_owned()), Outcome::Foreign));
        }
        other => other?,
    }
    repository.reference(
        &format!("refs/remotes/origin/{branch}"),
        local,
        true,
        "gitops-tui: pushed",
    )?;
    Ok(Outcome::Taken)
}

fn lines(call: &Call, heard: &str) -> Vec<String> {
    heard
        .lines()
        .map(|line| call.scrub(line.trim_end()))
        .filter(|line| !line.trim().is_empty())
        .collect()
}
