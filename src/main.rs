//! The thin binary: hands the command line to [`gitops_tui::cli`] and ends with its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    gitops_tui::cli::main()
}
