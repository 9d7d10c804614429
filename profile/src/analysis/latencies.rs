//! Percentiles of the durations of calls, and sums of ranges of durations over several profiles.

use std::collections::HashMap;

use crate::model::{LatencyRange, LatencySums, Profile};

/// The durations of a method's calls, from entry to exit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latency {
    /// The number of calls that the percentiles rest on.
    pub calls: u64,
    /// Durations in nanoseconds that [`Latency::SHARES`] of the calls do not exceed. Each is at most a sixteenth too
    /// long, and contains no cost of the method's own probes.
    pub percentiles: [f64; 5],
}

impl Latency {
    /// The shares of calls that [`Latency::percentiles`] stand for, in thousandths. The last share stands for the
    /// longest call.
    pub const SHARES: [u64; 5] = [500, 900, 990, 999, 1000];

    /// Returns the duration that 99 % of the calls do not exceed, in nanoseconds.
    pub fn p99(&self) -> f64 {
        self.percentiles[2]
    }

    /// Returns whether the percentiles lack more than 1 % of the method's calls, whose number is `calls`. Up to 1 % may
    /// always be missing, because the durations and the calls of a running program are not read in the same moment.
    pub fn is_partial(&self, calls: u64) -> bool {
        is_large_part(calls.saturating_sub(self.calls), calls)
    }

    /// Computes the percentiles from ranges, the shortest first. `cost` is subtracted from each
    /// duration.
    fn of(ranges: &[LatencyRange], cost: f64) -> Latency {
        let counts = ranges.iter().map(|range| range.calls);
        let calls = counts.fold(0, u64::saturating_add);
        let percentiles = Latency::SHARES.map(|share| {
            let mut left = (u128::from(calls) * u128::from(share)).div_ceil(1000);
            for range in ranges {
                left = left.saturating_sub(range.calls.into());
                if left == 0 {
                    return (range.longest_ns() as f64 - cost).max(0.0);
                }
            }
            0.0
        });
        Latency { calls, percentiles }
    }
}

/// Returns whether a part of a method's calls is more than 1 % of them.
fn is_large_part(part: u64, calls: u64) -> bool {
    part > calls / 100
}

/// The number of untimed calls that a method may have without being left out. Calls that have not returned are not
/// timed.
const HANDFUL: u64 = 8;

/// All calls of a method, and those that are not timed.
#[derive(Clone, Copy, Default)]
struct Calls {
    all: u64,
    untimed: u64,
}

impl Calls {
    fn add(&mut self, all: u64, untimed: u64) {
        self.all = self.all.saturating_add(all);
        self.untimed = self.untimed.saturating_add(untimed);
    }
}

/// Returns the percentiles of all methods whose durations are known.
///
/// A method is left out if more than 8 of its calls, and more than 1 % of them, are not timed. In adaptive
/// timing, the first calls are timed, and a sample of the later ones. With a budget, a method that loses its
/// probes has no timed calls from then on, and maybe not even counted ones. In both cases the durations of the
/// timed calls do not represent all calls.
pub(crate) fn latencies(profile: &Profile) -> HashMap<u32, Latency> {
    if profile.latencies.is_empty() {
        return HashMap::new();
    }
    let cost = profile.header.probe.inside_ps as f64 / 1e3;
    let mut calls = vec![Calls::default(); profile.methods.len()];
    for node in profile.threads.iter().flat_map(|thread| &thread.nodes) {
        let untimed = node.calls.saturating_sub(node.timed);
        calls[node.method as usize].add(node.calls, untimed);
    }
    for counted in &profile.method_calls {
        // Nobody knows how many calls came after the method lost its last probe.
        let untimed = counted.until_ns.map_or(counted.calls, |_| u64::MAX);
        calls[counted.method as usize].add(counted.calls, untimed);
    }
    let is_left_out = |method: u32| {
        let Calls { all, untimed } = calls[method as usize];
        untimed > HANDFUL && is_large_part(untimed, all)
    };
    let of_methods = profile.latencies.chunk_by(|a, b| a.method == b.method);
    of_methods
        .filter(|ranges| !is_left_out(ranges[0].method))
        .map(|ranges| (ranges[0].method, Latency::of(ranges, cost)))
        .collect()
}

/// Adds up the ranges of several profiles. `methods` gives the indexes of each profile's methods in
/// the sum.
pub(super) fn merged(profiles: &[&Profile], methods: &[Vec<u32>]) -> Vec<LatencyRange> {
    let mut sum = LatencySums::default();
    for (profile, methods) in profiles.iter().zip(methods) {
        for range in &profile.latencies {
            sum.add(LatencyRange {
                method: methods[range.method as usize],
                ..*range
            });
        }
    }
    sum.finish()
}

/// Returns the part of `later` that is not in `earlier`. `methods` maps the methods of `earlier` to those of `later`.
pub(super) fn since(
    earlier: &Profile,
    later: &Profile,
    methods: &[Option<u32>],
) -> Vec<LatencyRange> {
    let before = earlier.latencies.iter().filter_map(|range| {
        let method = methods[range.method as usize]?;
        Some(((method, range.range), range.calls))
    });
    let before: HashMap<(u32, u16), u64> = before.collect();
    let mut left = LatencySums::default();
    for range in &later.latencies {
        let before = before.get(&(range.method, range.range));
        left.add(LatencyRange {
            calls: range.calls.saturating_sub(before.copied().unwrap_or(0)),
            ..*range
        });
    }
    left.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(method: u32, counts: &[(u16, u64)]) -> Vec<LatencyRange> {
        let range = |(range, calls): &(u16, u64)| LatencyRange {
            method,
            range: *range,
            calls: *calls,
        };
        counts.iter().map(range).collect()
    }

    #[test]
    fn one_call_in_a_hundred_may_be_missing() {
        let is_partial = |known, calls| {
            let latency = Latency {
                calls: known,
                ..Latency::default()
            };
            latency.is_partial(calls)
        };
        assert!(!is_partial(0, 0) && !is_partial(5, 5) && !is_partial(6, 5));
        assert!(is_partial(4, 5) && is_partial(98, 99));
        assert!(!is_partial(99, 100) && is_partial(98, 100));
        assert!(is_partial(0, u64::MAX));
    }

    #[test]
    fn percentiles_are_those_of_the_counts() {
        let of = |counts: &[(u16, u64)]| Latency::of(&ranges(0, counts), 0.0);
        assert_eq!(of(&[]).percentiles, [0.0; 5]);
        assert_eq!(of(&[(7, 1)]).percentiles, [7.0; 5]);
        let many = of(&[(1, 500), (2, 400), (3, 90), (4, 9), (5, 1)]);
        assert_eq!(
            (many.calls, many.percentiles),
            (1000, [1.0, 2.0, 3.0, 4.0, 5.0])
        );
        assert_eq!(of(&[(1, 1), (9, 1)]).percentiles, [1.0, 9.0, 9.0, 9.0, 9.0]);
        assert_eq!(of(&[(1, u64::MAX), (2, u64::MAX)]).calls, u64::MAX);
        assert_eq!(
            Latency::of(&ranges(0, &[(9, 1)]), 4.0).percentiles,
            [5.0; 5]
        );
        assert_eq!(
            Latency::of(&ranges(0, &[(9, 1)]), 14.0).percentiles,
            [0.0; 5]
        );
    }
}
