//! What a panic does: on the thread of the screens it gives the terminal back before it is reported; elsewhere it goes
//! to the log only, since the job that panicked answers with a fault.

use std::panic;
use std::thread;

use super::guard::{is_entered, restore};
use crate::domain::fault::{Fault, FaultKind};

/// Installs the reporter and the hook that gives the terminal back. The calling thread is taken for the screens' own.
pub fn install_panic_hook() -> Result<(), Fault> {
    color_eyre::config::HookBuilder::default()
        .display_env_section(false)
        .install()
        .map_err(|error| {
            Fault::new(
                FaultKind::Internal,
                "the panic reporter could not be installed",
            )
            .because(error)
        })?;
    let report = panic::take_hook();
    let screens = thread::current().id();
    panic::set_hook(Box::new(move |info| {
        if !is_entered() {
            return report(info);
        }
        if thread::current().id() == screens {
            restore();
            return report(info);
        }
        // The message of a panic may hold anything; the log gets the place only.
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "a job panicked");
    }));
    Ok(())
}
