//! One conversation with a server: what its transports need to know, and what they leave behind when it fails.
//!
//! libgit2 makes transports from a global table and passes errors on as bare text. So a call stands in a slot of its
//! thread while it runs ([`Call::during`]); the transports find it there, and put the fault they understood into it.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use git2::ErrorCode;

use super::access::Access;
use super::url::{GitUrl, Method};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::text;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Call>>> = const { RefCell::new(None) };
}

/// What is being done, for the sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Reading from the server.
    Fetch,
    /// Writing to it.
    Push,
}

/// One conversation with a server.
#[derive(Debug)]
pub(super) struct Call {
    /// What is being done.
    pub act: Act,
    /// The repository's address, with its credentials.
    pub url: GitUrl,
    /// Whose configuration counts.
    pub dir: PathBuf,
    /// Environment and bounds.
    pub access: Access,
    failure: Mutex<Option<Fault>>,
    cancelled: AtomicBool,
}

impl Call {
    /// Prepares a conversation.
    pub(super) fn new(act: Act, url: &GitUrl, dir: &Path, access: &Access) -> Arc<Self> {
        Arc::new(Self {
            act,
            url: url.clone(),
            dir: dir.to_owned(),
            access: access.clone(),
            failure: Mutex::new(None),
            cancelled: AtomicBool::new(false),
        })
    }

    /// Returns the conversation that runs on this thread.
    pub(super) fn current() -> Option<Arc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Runs `body` with this conversation in the thread's slot and words its failure.
    pub(super) fn during<T>(
        self: &Arc<Self>,
        body: impl FnOnce() -> Result<T, git2::Error>,
    ) -> Result<T, Fault> {
        let before = CURRENT.replace(Some(Arc::clone(self)));
        let result = body();
        CURRENT.set(before);
        result.map_err(|e| self.fault(&e))
    }

    /// Notes that the user has given up: what ends now is no fault of the server.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Tells whether the user has given up.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Keeps what a transport understood; the first one counts.
    pub(super) fn failed(&self, kind: FaultKind, cause: impl AsRef<str>, hint: impl Into<String>) {
        let fault = self
            .sentence(kind)
            .because(self.scrub(cause.as_ref()))
            .hint(hint);
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(fault);
    }

    /// Words a failure of libgit2: what a transport understood where it did, libgit2's own words else.
    pub(super) fn fault(&self, error: &git2::Error) -> Fault {
        if self.is_cancelled() {
            return self
                .sentence(FaultKind::Timeout)
                .because("it was cancelled");
        }
        let known = self
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        known.unwrap_or_else(|| {
            let (kind, hint) = judge(error, self.url.method);
            self.sentence(kind)
                .because(self.scrub(error.message()))
                .hint(hint)
        })
    }

    fn sentence(&self, kind: FaultKind) -> Fault {
        let verb = match self.act {
            Act::Fetch => "fetch",
            Act::Push => "push to",
        };
        Fault::new(
            kind,
            format!(
                "cannot {verb} {} over {}",
                self.url.shown(),
                self.url.method.word()
            ),
        )
    }

    /// Takes credentials and what a terminal would obey out of foreign text.
    pub(super) fn scrub(&self, foreign: &str) -> String {
        let mut plain = text::without_logins(foreign);
        if let Some(password) = self.url.password() {
            plain = plain.replace(password, "***");
        }
        text::clean_line(&plain).into_owned()
    }
}

/// Tells whether libgit2 met something of git's that it does not know.
pub(super) fn is_unsupported(error: &git2::Error) -> bool {
    ["unsupported extension", "object format", "object-format"]
        .iter()
        .any(|word| error.message().contains(word))
}

fn judge(error: &git2::Error, method: Method) -> (FaultKind, String) {
    let kind = match error.code() {
        ErrorCode::Auth => FaultKind::Unauthorized,
        ErrorCode::Timeout => FaultKind::Timeout,
        ErrorCode::NotFound => FaultKind::NotFound,
        ErrorCode::NotFastForward => FaultKind::Conflict,
        ErrorCode::Owner => FaultKind::Forbidden,
        _ if is_unsupported(error) => FaultKind::Unsupported,
        _ if error.class() == git2::ErrorClass::Net || error.class() == git2::ErrorClass::Os => {
            FaultKind::Unreachable
        }
        _ => FaultKind::Git,
    };
    let hint = match (kind, method) {
        (FaultKind::Unsupported, _) => {
            "this version reads SHA-1 repositories only; name a mirror of it under `repositories`".into()
        }
        (FaultKind::Conflict, _) => "fetch, and put the change on top of what moved".into(),
        (FaultKind::Forbidden, _) => {
            "the folder belongs to another user; `git config --global --add safe.directory` allows it".into()
        }
        (_, Method::File) => "check that the folder exists and holds a Git repository".into(),
        (_, method) => format!("try `git ls-remote` with this {} address", method.word()),
    };
    (kind, hint)
}
