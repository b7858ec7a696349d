//! Who carries the bytes: our own transports, registered with libgit2 once.
//!
//! libgit2 is built without OpenSSL and libssh2, and its own plain-http and folder transports ask for credentials
//! without end or skip the server's hooks. So `https` and `http` run over ureq ([`http`]), `ssh` over the user's `ssh`
//! and folders over the `git` program ([`pipe`]). `git://` stays libgit2's, with bounds.

mod http;
mod pipe;

use std::sync::OnceLock;

use git2::transport::{self, Transport};
use git2::{Error, Remote};

use super::access::Timeouts;
use super::call::Call;
use crate::domain::fault::{Fault, FaultKind};

static READY: OnceLock<Result<(), String>> = OnceLock::new();

/// Registers the transports and libgit2's own bounds; the first call's bounds count for `git://`.
///
/// # Errors
/// libgit2 refused; nothing can be fetched then.
pub(super) fn ready(timeouts: Timeouts) -> Result<(), Fault> {
    READY
        .get_or_init(|| register(timeouts).map_err(|e| e.message().to_owned()))
        .clone()
        .map_err(|cause| {
            Fault::new(FaultKind::Internal, "Git's transports could not be set up").because(cause)
        })
}

#[expect(
    unsafe_code,
    reason = "libgit2's tables are global and unlocked: this runs once, under the OnceLock, and every use of libgit2 \
              in this crate passes through it first"
)]
fn register(timeouts: Timeouts) -> Result<(), Error> {
    let millis = |d: std::time::Duration| i32::try_from(d.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: called once before any repository is opened by this crate, so that nothing reads the tables meanwhile.
    unsafe {
        git2::opts::set_server_connect_timeout_in_milliseconds(millis(timeouts.connect))?;
        git2::opts::set_server_timeout_in_milliseconds(millis(timeouts.idle))?;
        // Reading a partial clone is safe; a blob it lacks is an error of its own.
        git2::opts::set_extensions(&["partialclone"])?;
        transport::register("http", web)?;
        transport::register("https", web)?;
        transport::register("ssh", piped)?;
        transport::register("git+ssh", piped)?;
        transport::register("ssh+git", piped)?;
        transport::register("file", piped)
    }
}

fn web(remote: &Remote<'_>) -> Result<Transport, Error> {
    Transport::smart(remote, true, http::Http::new(call()?))
}

fn piped(remote: &Remote<'_>) -> Result<Transport, Error> {
    Transport::smart(remote, false, pipe::Pipe::new(call()?))
}

fn call() -> Result<std::sync::Arc<Call>, Error> {
    Call::current().ok_or_else(|| Error::from_str("a transport was asked for outside of a call"))
}
