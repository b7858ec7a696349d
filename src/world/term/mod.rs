//! The terminal: entered and left by a guard, input, clipboard, children.
//!
//! Whatever ends the program (quit, fault, panic, signal), the terminal is left as it was found. A panic of a job, on a
//! thread of its own, is no end: it goes to the log and neither touches nor smears the screen.

mod child;
mod guard;
mod panics;

pub use child::{page, stop_as_ctrl_z};
pub use guard::{Guard, copy, events};
pub use panics::install_panic_hook;
