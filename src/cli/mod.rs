//! The command line: arguments, one file per command, output forms, exit codes.
//!
//! Results go to stdout, words for people to stderr. Every command runs the same jobs as the screens
//! ([`crate::runtime::jobs`]); here is only what is asked, what is printed and how it ends.

mod accept;
mod act;
mod args;
mod ask;
mod check;
mod diff;
mod documents;
mod env;
mod exit;
mod list;
mod pick;
mod render;
mod setup;
mod table;
mod tui;
mod words;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};

use args::{Cli, Command};
use env::Env;
use exit::Exit;

use crate::domain::fault::{Fault, FaultKind};

/// How long the end of the program waits for work that cannot be stopped.
const LAST_WAIT: Duration = Duration::from_millis(500);
/// The same for the demo: its work is short, and its folder is to be removed however loaded the machine is.
const LAST_WAIT_OF_DEMO: Duration = Duration::from_secs(20);

/// Runs the program and returns its exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let env = Env::capture();
    let verbose = cli.global.verbose;
    match run(cli, &env) {
        Ok(exit) => exit.into(),
        Err(fault) => {
            words::fault(&fault, verbose);
            Exit::of_fault(&fault).into()
        }
    }
}

fn run(cli: Cli, env: &Env) -> Result<Exit, Fault> {
    if let Some(Command::Completions { shell }) = cli.command {
        let mut command = Cli::command();
        // Written into memory first: the generators panic where the reader went away (`| head`).
        let mut script = vec![];
        clap_complete::generate(shell, &mut command, "gitops-tui", &mut script);
        words::raw(&script);
        return Ok(Exit::Clean);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            Fault::new(
                FaultKind::Internal,
                "the async runtime could not be started",
            )
            .because(error)
        })?;
    let wait = match &cli.command {
        Some(Command::Demo) => LAST_WAIT_OF_DEMO,
        _ if cli.global.demo => LAST_WAIT_OF_DEMO,
        _ => LAST_WAIT,
    };
    let ended = runtime.block_on(command(cli, env));
    // What still runs is let go; a fetch that hangs must not keep the program from ending.
    runtime.shutdown_timeout(wait);
    ended
}

async fn command(cli: Cli, env: &Env) -> Result<Exit, Fault> {
    let global = &cli.global;
    match cli.command {
        None => tui::run(global, env).await,
        Some(Command::Demo) => {
            let global = args::Global {
                demo: true,
                ..global.clone()
            };
            tui::run(&global, env).await
        }
        Some(Command::List(args)) => list::run(&setup::jobs(global, env)?, &args).await,
        Some(Command::Render(args)) => render::run(global, env, &args).await,
        Some(Command::Diff(args)) => diff::run(global, env, &args).await,
        Some(Command::Check(args)) => check::run(&setup::jobs(global, env)?, env, &args).await,
        Some(Command::Accept(args)) => accept::run(&setup::jobs(global, env)?, env, &args).await,
        Some(Command::Revert(args)) => act::revert(&setup::jobs(global, env)?, env, &args).await,
        Some(Command::Sync(args)) => act::sync(&setup::jobs(global, env)?, env, &args).await,
        Some(Command::Refresh(args)) => act::refresh(&setup::jobs(global, env)?, env, &args).await,
        Some(Command::Suspend(args)) => act::suspend(&setup::jobs(global, env)?, env, &args).await,
        Some(Command::Resume(args)) => act::resume(&setup::jobs(global, env)?, env, &args).await,
        Some(Command::Completions { .. }) => Ok(Exit::Clean),
    }
}
