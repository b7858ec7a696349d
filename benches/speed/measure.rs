//! The stopwatch: some runs of a piece of work, and their median as a line of a table.
//!
//! The median of a handful of runs is enough to see a factor, which is what these figures are for; nothing is judged.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a stopwatch reads the clock and prints what it read"
)]

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Prints a line for each piece of work.
pub(crate) struct Report {
    once: bool,
    chosen: Vec<String>,
    lines: usize,
}

impl Report {
    /// Takes the words of the command line: `--bench` for real runs, other words choose lines that hold one of them.
    pub(crate) fn from_arguments(arguments: impl Iterator<Item = String>) -> Self {
        let (options, chosen): (Vec<String>, Vec<String>) =
            arguments.partition(|word| word.starts_with("--"));
        Self {
            once: !options.iter().any(|option| option == "--bench"),
            chosen,
            lines: 0,
        }
    }

    /// Times `work` over what `prepare` gives, `runs` times after one that is thrown away, and prints its line.
    pub(crate) fn time<P, T>(
        &mut self,
        name: &str,
        runs: usize,
        mut prepare: impl FnMut() -> Result<P, Box<dyn Error>>,
        mut work: impl FnMut(&mut P) -> Result<T, Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        if !self.chosen.is_empty() && !self.chosen.iter().any(|word| name.contains(word)) {
            return Ok(());
        }
        let (warm, runs) = if self.once { (0, 1) } else { (1, runs) };
        let mut times = vec![];
        for run in 0..warm + runs {
            let mut prepared = prepare()?;
            let start = Instant::now();
            let result = black_box(work(black_box(&mut prepared))?);
            let took = start.elapsed();
            drop(result);
            if run >= warm {
                times.push(took);
            }
        }
        times.sort_unstable();
        self.print(name, &times);
        Ok(())
    }

    fn print(&mut self, name: &str, times: &[Duration]) {
        if self.lines == 0 {
            println!(
                "{:<72} {:>10} {:>10} {:>10} {:>5}",
                "what", "median", "fastest", "slowest", "runs"
            );
        }
        self.lines += 1;
        if let (Some(first), Some(middle), Some(last)) =
            (times.first(), times.get(times.len() / 2), times.last())
        {
            println!(
                "{name:<72} {:>10} {:>10} {:>10} {:>5}",
                words(*middle),
                words(*first),
                words(*last),
                times.len()
            );
        }
    }
}

/// Ends with the reason where a piece of work did not give what it should.
pub(crate) fn check(holds: bool, otherwise: impl Into<String>) -> Result<(), Box<dyn Error>> {
    if holds {
        Ok(())
    } else {
        Err(otherwise.into().into())
    }
}

fn words(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    if micros < 1e3 {
        format!("{micros:.1} µs")
    } else if micros < 1e6 {
        format!("{:.2} ms", micros / 1e3)
    } else {
        format!("{:.2} s", micros / 1e6)
    }
}
