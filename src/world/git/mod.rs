//! Git over libgit2: bare mirrors, trees without a checkout, commits without an index, pushes with their answers.
//!
//! A repository is looked at through a [`Mirror`]: a bare clone in the cache folder, or the user's own clone opened
//! where it lies ([`Mirror::of_clone`]). Nothing here touches a working tree, an index or `HEAD`.
//!
//! libgit2 is built without OpenSSL and libssh2. ssh runs the user's own `ssh` program (so `ssh_config`, agents, jump
//! hosts and `known_hosts` are ssh's own business, checked by ssh and by nobody else), https and http run over ureq
//! and rustls, a folder on this machine is served by `git` itself where it is installed. What git decides from
//! configuration that libgit2 does not know (conditional includes, credential helpers, identities, signatures) is
//! asked of the `git` program; without it the answer is libgit2's, or a refusal with its reason.
//!
//! Everything that may wait is bounded by [`Access::timeouts`]. Calls block: run them off the loop's thread.

mod access;
mod call;
mod commit;
mod credentials;
mod history;
mod hooks;
mod identity;
mod mirror;
mod push;
mod range;
mod revision;
mod sign;
mod transport;
mod tree;
mod url;

pub use access::{Access, Timeouts};
pub use commit::{Commit, Edit};
pub use history::{CommitInfo, FileChange, FileStatus};
pub use identity::{Identity, Person};
pub use mirror::{Fetched, Mirror, Phase, Progress, RefChange};
pub use push::Pushed;
pub use tree::{GitTree, LfsPointer};
pub use url::{GitUrl, Method};
