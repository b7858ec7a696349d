//! The only code that touches anything outside: clusters, Git, disk and terminal; and the embedded demo.

mod child;
pub mod cluster;
pub mod demo;
pub mod disk;
pub mod git;
pub mod helm;
pub mod term;

pub use child::Stop;
