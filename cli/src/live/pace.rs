//! Measures how much processor time profiles cost the JVM, and makes the pauses between profiles long enough.

use std::fs;
use std::time::{Duration, Instant};

/// The shortest pause between two profiles.
const SHORTEST: Duration = Duration::from_secs(1);

/// The longest pause, also if a profile takes seconds.
const LONGEST: Duration = Duration::from_secs(60);

/// The pause is this many times as long as the work, so the work takes one percent of a processor.
const SHARE: u32 = 100;

/// The name of the agent's thread that carries out orders. The kernel cuts names after 15 bytes.
const THREAD: &str = "loadhook contro";

/// Measures the processor time that profiles take in the JVM.
pub(super) struct Pace {
    /// The path of the `schedstat` file of the agent's thread; `None` if there is no such thread.
    clock: Option<String>,
    begun: Instant,
    begun_ns: Option<u64>,
    cost: Duration,
}

impl Pace {
    pub(super) fn new(pid: u32) -> Pace {
        Pace {
            clock: clock(pid),
            begun: Instant::now(),
            begun_ns: None,
            cost: Duration::ZERO,
        }
    }

    /// Notes the time at which a profile is asked for.
    pub(super) fn begin(&mut self) {
        self.begun = Instant::now();
        self.begun_ns = self.read();
    }

    /// Measures the cost of the profile that has arrived.
    pub(super) fn end(&mut self) {
        let worked = self.begun_ns.zip(self.read());
        // Without the thread's clock, the elapsed time is an upper bound.
        self.cost = match worked {
            Some((begin, end)) => Duration::from_nanos(end.saturating_sub(begin)),
            None => self.begun.elapsed(),
        };
    }

    /// Returns the pause after the last profile.
    pub(super) fn pause(&self) -> Duration {
        (self.cost * SHARE).clamp(SHORTEST, LONGEST)
    }

    /// Reads the processor time of the agent's thread so far, in nanoseconds: the first number of `schedstat`.
    fn read(&self) -> Option<u64> {
        let text = fs::read_to_string(self.clock.as_ref()?).ok()?;
        text.split_whitespace().next()?.parse().ok()
    }
}

/// Finds the `schedstat` file of the agent's thread.
fn clock(pid: u32) -> Option<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let mut folders = tasks.map(|task| task.path());
    let folder = folders.find(|folder| {
        let name = fs::read_to_string(folder.join("comm"));
        name.is_ok_and(|name| name.trim_end() == THREAD)
    })?;
    Some(folder.join("schedstat").to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_follow_the_cost() {
        let mut pace = Pace::new(0);
        assert_eq!(pace.pause(), SHORTEST);
        for (cost, pause) in [(5, 1000), (30, 3000), (2000, 60_000)] {
            pace.cost = Duration::from_millis(cost);
            assert_eq!(pace.pause(), Duration::from_millis(pause));
        }
    }
}
