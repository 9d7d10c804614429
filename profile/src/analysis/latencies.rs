//! Durations below which most calls of a method last, and ranges of durations of several profiles.

use std::collections::HashMap;

use crate::model::{LatencyRange, LatencySums, Profile, Timing};

/// The durations of a method's calls, from entry to exit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latency {
    /// The number of calls that the percentiles rest on.
    pub calls: u64,
    /// The durations in nanoseconds below which [`Latency::SHARES`] of the calls last. They are a sixteenth too long at
    /// most, and contain no cost of the method's own probes.
    pub percentiles: [f64; 5],
}

impl Latency {
    /// The shares of calls that [`Latency::percentiles`] stand for, in thousandths. The last one is the longest call.
    pub const SHARES: [u64; 5] = [500, 900, 990, 999, 1000];

    /// The time below which 99 % of the calls last.
    pub fn p99(&self) -> f64 {
        self.percentiles[2]
    }

    /// Computes the percentiles of ranges in their order. Each duration is less by `cost`.
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

/// The durations of all methods that have some.
///
/// In adaptive timing, methods are left out if a call of theirs is not timed. Their first calls are timed, and a sample
/// of the later ones, so the durations of the timed ones are not those of all.
pub(crate) fn latencies(profile: &Profile) -> HashMap<u32, Latency> {
    let cost = profile.header.probe.inside_ps as f64 / 1e3;
    let mut is_left_out = vec![false; profile.methods.len()];
    if profile.header.timing == Timing::Adaptive && !profile.latencies.is_empty() {
        for node in profile.threads.iter().flat_map(|thread| &thread.nodes) {
            is_left_out[node.method as usize] |= node.timed < node.calls;
        }
        for counted in &profile.method_calls {
            is_left_out[counted.method as usize] |= counted.calls > 0;
        }
    }
    let of_methods = profile.latencies.chunk_by(|a, b| a.method == b.method);
    of_methods
        .filter(|ranges| !is_left_out[ranges[0].method as usize])
        .map(|ranges| (ranges[0].method, Latency::of(ranges, cost)))
        .collect()
}

/// The sum of several profiles. `methods` gives the indexes of each profile's methods in the sum.
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

/// The part of `later` that is not in `earlier`. `methods` gives the methods of `earlier` in `later`.
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
