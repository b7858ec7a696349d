//! How fast it is: `cargo bench` prints one table, docs/performance.md says what the figures mean.
//!
//! Each line is the median of some runs over work that the program really does; what is prepared for it is not timed,
//! and what comes out is checked, so that a figure never stands for work that was not done. Words after `--` choose
//! lines (`cargo bench -- yaml`). Without `--bench` (as `cargo test --all-targets` calls it) everything runs once.

mod demo;
mod engine;
mod manifests;
mod measure;
mod screen;

use std::error::Error;

use measure::Report;

fn main() -> Result<(), Box<dyn Error>> {
    let mut report = Report::from_arguments(std::env::args().skip(1));
    demo::run(&mut report)?;
    screen::run(&mut report)?;
    engine::run(&mut report)?;
    Ok(())
}
