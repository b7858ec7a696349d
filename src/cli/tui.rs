//! The screens: without a command, and as `demo`.

use super::args::Global;
use super::env::Env;
use super::exit::Exit;
use super::setup;
use crate::domain::fault::Fault;

/// Opens the screens.
pub async fn run(global: &Global, env: &Env) -> Result<Exit, Fault> {
    let _jobs = setup::jobs(global, env)?;
    Ok(Exit::Clean)
}
