//! The integration tests: one binary, one module per subject. Each subject has its own file beside this one.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::format_push_string,
    clippy::format_collect,
    clippy::print_stdout,
    clippy::use_debug,
    clippy::clone_on_ref_ptr,
    clippy::field_reassign_with_default,
    clippy::nonminimal_bool,
    reason = "tests: a failed step fails the test"
)]

mod acts;
mod argo_render;
mod backfill;
mod cli;
mod cluster;
mod demo;
mod docs;
mod drift;
mod edit;
mod flux_render;
mod folder;
mod git;
mod helm;
mod kustomize;
mod screens;
mod settings;
mod yaml;

#[test]
fn the_house_stands() {
    let target: gitops_tui::domain::fleet::Target = "ks/flux-system/apps".parse().unwrap();
    assert_eq!(target.to_string(), "ks/flux-system/apps");
}
