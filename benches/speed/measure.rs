//! The stopwatch: some runs of a piece of work, and their median as a line of a table.
//!
//! The median of a handful of runs is enough to see a factor, which is what these figures are for; nothing is judged.
//! Beside the time stands what the threads of this process computed meanwhile (the mean; Linux only), since that hardly
//! moves when others use the machine too.

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
        let (mut times, mut computed) = (vec![], vec![]);
        for run in 0..warm + runs {
            let mut prepared = prepare()?;
            let (before, start) = (processor(), Instant::now());
            let result = black_box(work(black_box(&mut prepared))?);
            let took = start.elapsed();
            let busy = before
                .zip(processor())
                .map(|(b, after)| after.saturating_sub(b));
            drop(result);
            if run >= warm {
                times.push(took);
                computed.extend(busy);
            }
        }
        times.sort_unstable();
        // The kernel counts by its own tick: only the mean over all runs says something of short work.
        let count = u32::try_from(computed.len()).unwrap_or(1);
        let mean = (count > 0).then(|| computed.iter().sum::<Duration>() / count);
        self.print(name, &times, mean);
        Ok(())
    }

    fn print(&mut self, name: &str, times: &[Duration], computed: Option<Duration>) {
        if self.lines == 0 {
            println!(
                "{:<66} {:>10} {:>10} {:>10} {:>10} {:>5}",
                "what", "median", "fastest", "slowest", "computed", "runs"
            );
        }
        self.lines += 1;
        if let (Some(first), Some(middle), Some(last)) =
            (times.first(), times.get(times.len() / 2), times.last())
        {
            println!(
                "{name:<66} {:>10} {:>10} {:>10} {:>10} {:>5}",
                words(*middle),
                words(*first),
                words(*last),
                computed.map_or_else(|| "-".to_owned(), words),
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

/// Returns what all threads of this process have computed so far; `None` where the system does not say.
fn processor() -> Option<Duration> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let nanos = threads.flatten().filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Some(Duration::from_nanos(nanos.sum()))
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
