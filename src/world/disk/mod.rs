//! Files of this machine: where they lie, configuration, journal, log, and folders to render from.
//!
//! Every path comes from [`Folders`], which the environment can move; every write is atomic or appended under a lock.

mod cache;
mod config;
mod file;
mod folders;
mod journal;
mod log;
mod tree;

pub use cache::Cache;
pub use config::load_settings;
pub use file::{read_input, write_atomic};
pub use folders::Folders;
pub use journal::{Journal, JournalEntry};
pub use log::start_log;
pub use tree::DiskTree;
