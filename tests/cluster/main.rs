//! The built program against the real world: the Flux story and the Argo CD story of ARCHITECTURE.md.
//!
//! Skipped with a word where the real servers are not asked for; `.ci/run` always asks (GITOPS_TUI_WORLD).
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests: a failed step fails the test"
)]

mod argo_story;
mod flux_story;
mod git_http;
mod proof;
mod world;
