//! Questions before a write: asked on a terminal, answered by `--yes` where there is none.

use std::io::Write as _;

use super::env::Env;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::text;
use crate::runtime::jobs::Jobs;

/// Asks whether to go on. In a guarded context the answer is the context's name.
///
/// # Errors
/// `refused` where the answer is no, or where nobody can be asked and `yes` was not given.
pub(super) fn confirm(
    jobs: &Jobs,
    env: &Env,
    context: &str,
    question: &str,
    yes: bool,
) -> Result<(), Fault> {
    if yes {
        return Ok(());
    }
    let refused =
        |why: &str| Fault::new(FaultKind::Refused, why.to_owned()).about(context.to_owned());
    if !env.can_ask {
        return Err(refused("this is a write, and nobody can be asked here")
            .hint("add --yes, or --dry-run to see the plan only"));
    }
    let guarded = jobs.settings().is_guarded(context);
    let wanted = if guarded { context } else { "yes" };
    let prompt = if guarded {
        format!("{question} Type the context's name ({context}) to go on: ")
    } else {
        format!("{question} Type yes to go on: ")
    };
    let mut out = std::io::stderr().lock();
    write!(out, "{}", text::clean(&prompt)).unwrap_or_default();
    drop(out.flush());
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|error| refused("the answer could not be read").because(error))?;
    if answer.trim() == wanted {
        Ok(())
    } else {
        Err(refused(
            "nothing was done: the answer was not the one asked for",
        ))
    }
}
