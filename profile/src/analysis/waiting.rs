//! Threads that only waited.
//!
//! By the wall clock an idle thread of a pool takes as long as the program runs, and a thread that waits for
//! another thread takes that thread's time once more. Reports leave such threads out of tables and percentages,
//! and name them in one line.
//!
//! A thread only waited if its processor time is below 1 % of the wall time of its calls. On a
//! machine with too few processors, threads also wait for a processor, and many threads that each
//! do a little may together do the program's work. So all threads left out took at most 5 % of the
//! processor time of all threads; the least busy are left out first. Threads of unknown processor
//! time, for example virtual threads, stay.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use loadhook_text::{printable, units};

use super::options::Options;
use crate::model::{Clock, Profile, ThreadTree, Timing};

/// The maximum processor time of a thread that only waited, as a share of its wall time.
const MOST_OF_WALL: f64 = 0.01;

/// The maximum processor time of all threads left out, as a share of the processor time of all
/// threads.
const MOST_OF_CPU: f64 = 0.05;

/// The maximum number of thread names in the line below a table.
const NAMED: usize = 4;

/// Returns for each thread whether it only waited.
pub(crate) fn only_waited(profile: &Profile) -> Vec<bool> {
    let mut waited = vec![false; profile.threads.len()];
    let header = &profile.header;
    let has_wall_times = matches!(header.timing, Timing::Adaptive | Timing::Exact);
    if header.clock != Clock::Wall || !has_wall_times {
        return waited;
    }
    let cpu = profile.threads.iter().filter_map(|thread| thread.cpu_ns);
    let mut left = MOST_OF_CPU * cpu.map(|ns| ns as f64).sum::<f64>();
    let mut idle: Vec<(f64, usize)> = Vec::new();
    for (at, thread) in profile.threads.iter().enumerate() {
        let Some(cpu) = thread.cpu_ns.map(|ns| ns as f64) else {
            continue;
        };
        if cpu < MOST_OF_WALL * wall_ns(thread) {
            idle.push((cpu, at));
        }
    }
    idle.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (cpu, at) in idle {
        left -= cpu;
        if left < 0.0 {
            break;
        }
        waited[at] = true;
    }
    waited
}

/// Returns the time of a thread's outermost calls.
fn wall_ns(thread: &ThreadTree) -> f64 {
    let roots = thread.nodes.iter().filter(|node| node.parent.is_none());
    roots.map(|root| root.outermost_ns as f64).sum()
}

/// The threads that a report leaves out.
#[derive(Default)]
pub(crate) struct Waiting {
    names: Vec<String>,
    /// Set when each entry is one thread, and none is a group of several.
    are_single: bool,
    wall_ns: f64,
}

impl Waiting {
    /// Chooses the threads that only waited; none if the options name threads or methods.
    pub(crate) fn of(profile: &Profile, options: &Options<'_>) -> (Waiting, Vec<bool>) {
        let mut waiting = Waiting {
            are_single: true,
            ..Waiting::default()
        };
        let waited = match (options.thread, options.focus) {
            (None, None) => only_waited(profile),
            _ => vec![false; profile.threads.len()],
        };
        let pairs = profile.threads.iter().zip(&waited);
        for (thread, _) in pairs.filter(|(_, waited)| **waited) {
            waiting.names.push(printable(&thread.name).into_owned());
            waiting.are_single &= thread.id.is_some();
            waiting.wall_ns += wall_ns(thread);
        }
        (waiting, waited)
    }

    /// Chooses the threads that only waited in every run of both sides that has them, and marks
    /// them for each side and run. A thread that worked in one of the runs is compared. Also returns a line that names
    /// the chosen threads, and one that names the threads that only waited in some runs.
    pub(crate) fn in_all(
        sides: &[Vec<Cow<'_, Profile>>; 2],
        options: &Options<'_>,
    ) -> ([Option<String>; 2], [Vec<Vec<bool>>; 2]) {
        let found = sides.each_ref().map(|side| {
            let runs = side.iter().map(|profile| Waiting::of(profile, options));
            runs.collect::<Vec<(Waiting, Vec<bool>)>>()
        });
        let mut worked: HashSet<&str> = HashSet::new();
        for (profile, (_, waited)) in sides.iter().flatten().zip(found.iter().flatten()) {
            let pairs = profile.threads.iter().zip(waited);
            worked.extend(
                pairs
                    .filter(|(_, waited)| !**waited)
                    .map(|(thread, _)| &*thread.name),
            );
        }
        let mut names: BTreeSet<&str> = BTreeSet::new();
        let mut left_out = [Vec::new(), Vec::new()];
        for (side, runs) in sides.iter().enumerate() {
            for profile in runs {
                let marks = profile
                    .threads
                    .iter()
                    .map(|thread| !worked.contains(&*thread.name));
                left_out[side].push(marks.collect());
                let threads = profile.threads.iter().map(|thread| &*thread.name);
                names.extend(threads.filter(|name| !worked.contains(name)));
            }
        }
        let pairs = sides.iter().flatten().zip(found.iter().flatten());
        let waited = pairs.flat_map(|(profile, (_, waited))| {
            let pairs = profile.threads.iter().zip(waited);
            pairs
                .filter(|(_, waited)| **waited)
                .map(|(thread, _)| &*thread.name)
        });
        let in_some: BTreeSet<&str> = waited.filter(|name| worked.contains(name)).collect();
        let line = |text: &str, names: BTreeSet<&str>| {
            let printable: Vec<_> = names.iter().map(|name| printable(name)).collect();
            (!names.is_empty()).then(|| format!("{text}: {}", printable.join(", ")))
        };
        let lines = [
            line(
                "threads that only waited in all runs are not compared",
                names,
            ),
            line(
                "the sums include threads that only waited in some of the runs",
                in_some,
            ),
        ];
        (lines, left_out)
    }

    /// Returns the line below a table; `None` if no thread was left out.
    pub(crate) fn line(&self) -> Option<String> {
        let what = match (self.names.len(), self.are_single) {
            (0, _) => return None,
            (1, true) => "1 thread".to_owned(),
            (1, false) => "1 group of threads".to_owned(),
            (several, true) => format!("{several} threads"),
            (several, false) => format!("{several} threads and groups"),
        };
        let mut names = self.names.iter().take(NAMED).cloned().collect::<Vec<_>>();
        let more = self.names.len() - names.len();
        if more > 0 {
            names.push(format!("{more} more"));
        }
        Some(format!(
            "{what} only waited ({}), not counted above: {} (--thread NAME shows one)",
            units::time(self.wall_ns),
            names.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Header, Node, ThreadKind};

    /// Returns a profile of threads with these processor and wall times, in milliseconds.
    fn profile(threads: &[(Option<u64>, u64)]) -> Profile {
        let thread = |(cpu_ms, wall_ms): &(Option<u64>, u64)| ThreadTree {
            name: format!("cpu {cpu_ms:?} of {wall_ms}").into(),
            id: Some(1),
            kind: ThreadKind::Platform,
            cpu_ns: cpu_ms.map(|ms| ms * 1_000_000),
            nodes: vec![Node {
                calls: 1,
                timed: 1,
                all_ns: wall_ms * 1_000_000,
                outermost_ns: wall_ms * 1_000_000,
                ..Node::default()
            }],
        };
        Profile {
            threads: threads.iter().map(thread).collect(),
            ..Profile::default()
        }
    }

    #[test]
    fn idle_threads_are_found_by_their_processor_time() {
        let idle = profile(&[(Some(900), 1_000), (Some(9), 1_000), (Some(11), 1_000)]);
        assert_eq!(only_waited(&idle), [false, true, false]);
        let unknown = profile(&[(Some(900), 1_000), (None, 1_000), (Some(0), 0)]);
        assert_eq!(only_waited(&unknown), [false; 3]);
    }

    /// A hundred threads share one processor; each has a hundredth of its time.
    #[test]
    fn threads_that_did_the_work_are_no_idle_ones() {
        let crowd = profile(&[(Some(9), 1_000); 100]);
        let waited = only_waited(&crowd);
        assert_eq!(waited.iter().filter(|waited| **waited).count(), 5);
        assert_eq!(only_waited(&profile(&[(Some(1), 60_000)])), [false]);
    }

    #[test]
    fn only_wall_time_can_be_waiting() {
        let mut idle = profile(&[(Some(900), 1_000), (Some(0), 1_000)]);
        assert_eq!(only_waited(&idle), [false, true]);
        for (clock, timing) in [
            (Clock::Cpu, Timing::Adaptive),
            (Clock::Wall, Timing::Count),
            (Clock::Wall, Timing::Sampled),
        ] {
            idle.header = Header {
                clock,
                timing,
                ..Header::default()
            };
            assert_eq!(only_waited(&idle), [false; 2]);
        }
    }

    #[test]
    fn threads_that_are_left_out_are_named() {
        let mut threads = vec![(Some(1_000), 1_000)];
        threads.extend([(Some(0), 500); 6]);
        let idle = profile(&threads);
        let (waiting, _) = Waiting::of(&idle, &Options::default());
        let line = waiting.line().expect("six threads only waited");
        assert!(
            line.starts_with("6 threads only waited (3.00 s), "),
            "{line}"
        );
        assert!(line.contains(", 2 more ("), "{line}");
        let all = |_: &str| true;
        let by_name = Options {
            thread: Some(&all),
            ..Options::default()
        };
        assert_eq!(Waiting::of(&idle, &by_name).0.line(), None);
    }
}
