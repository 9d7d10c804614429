//! Calls by their durations.

use std::collections::BTreeMap;

/// The calls of a method whose durations are in one range.
///
/// A range spans a sixteenth of its lower bound at most. The durations below 16 ns have a range each, and so has each
/// sixteenth of a power of two above, up to 2⁵⁰ ns, which is thirteen days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyRange {
    /// Index into [`Profile::methods`](super::Profile::methods).
    pub method: u32,
    /// The number of the range, below [`LatencyRange::COUNT`].
    pub range: u16,
    /// The number of calls, which have ended.
    pub calls: u64,
}

/// The number of ranges for each power of two.
const PARTS: u16 = 16;

impl LatencyRange {
    /// The number of ranges. The tracker has the same.
    pub const COUNT: u16 = 47 * PARTS;

    /// The longest duration of the range, in nanoseconds. Longer calls than those of all ranges are in the last one.
    pub fn longest_ns(&self) -> u64 {
        let range = self.range.min(LatencyRange::COUNT - 1);
        if range < 2 * PARTS {
            return range.into();
        }
        let next = u64::from(range % PARTS + PARTS + 1);
        (next << (range / PARTS - 1)) - 1
    }
}

/// Adds up ranges of durations, by method and range.
#[derive(Default)]
pub(crate) struct LatencySums(BTreeMap<(u32, u16), u64>);

impl LatencySums {
    /// Adds calls.
    pub(crate) fn add(&mut self, range: LatencyRange) {
        let sum = self.0.entry((range.method, range.range)).or_default();
        *sum = sum.saturating_add(range.calls);
    }

    /// The ranges with calls, as in [`Profile::latencies`](super::Profile::latencies).
    pub(crate) fn finish(self) -> Vec<LatencyRange> {
        let all = self.0.into_iter().filter(|(_, calls)| *calls > 0);
        all.map(|((method, range), calls)| LatencyRange {
            method,
            range,
            calls,
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_each_other() {
        let longest = |range| {
            let range = LatencyRange {
                range,
                ..LatencyRange::default()
            };
            range.longest_ns()
        };
        assert_eq!(
            [0, 15, 16, 31, 32, 33].map(longest),
            [0, 15, 16, 31, 33, 35]
        );
        for range in 16..LatencyRange::COUNT {
            let (before, last) = (longest(range - 1), longest(range));
            assert!(
                last > before && (last - before) * 16 <= before + 1,
                "{range}"
            );
        }
        assert_eq!(longest(LatencyRange::COUNT - 1), (1 << 50) - 1);
        assert_eq!(longest(u16::MAX), (1 << 50) - 1);
    }
}
