//! gitops-tui: the terminal program to open when a cluster and its Git repository disagree.
//!
//! The house has floors, and a module names only what lies below it (ARCHITECTURE.md, `tests/architecture.rs`):
//! [`domain`] is pure (values in, values out), [`world`] is the only code that touches anything outside,
//! [`session`] is the running program as a state machine, [`ui`] paints it, [`runtime`] runs the loop and performs
//! what the session asks for, and [`cli`] is the command line over the same jobs.

pub mod cli;
pub mod domain;
pub mod runtime;
pub mod session;
pub mod ui;
pub mod world;
