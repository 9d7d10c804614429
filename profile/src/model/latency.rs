//! Calls by their durations.

/// The calls of a method whose durations are in one range.
///
/// Each nanosecond below 16 has its own range. Above, the durations from each power of two to the next are
/// divided into 16 equal ranges, up to 2⁵⁰ ns, which is 13 days. So a range spans at most a sixteenth of its
/// lower bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyRange {
    /// Index into [`Profile::methods`](super::Profile::methods).
    pub method: u32,
    /// The number of the range, below [`LatencyRange::COUNT`].
    pub range: u16,
    /// The number of these calls. Calls under way are not counted.
    pub calls: u64,
}

/// The number of ranges for each power of two.
const PARTS: u16 = 16;

impl LatencyRange {
    /// The number of ranges. The tracker uses the same ranges.
    pub const COUNT: u16 = 47 * PARTS;

    /// Returns the longest duration of the range, in nanoseconds. Calls that took longer than 2⁵⁰ ns are counted
    /// in the last range, too.
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
pub(crate) struct LatencySums(Vec<LatencyRange>);

impl LatencySums {
    /// Adds calls.
    pub(crate) fn add(&mut self, range: LatencyRange) {
        if range.calls > 0 {
            self.0.push(range);
        }
    }

    /// Returns the ranges with calls, as in [`Profile::latencies`](super::Profile::latencies).
    pub(crate) fn finish(self) -> Vec<LatencyRange> {
        let LatencySums(mut ranges) = self;
        // The ranges of one profile usually are in order.
        if !ranges.is_sorted_by_key(order) {
            ranges.sort_unstable_by_key(order);
        }
        ranges.dedup_by(|range, before| {
            let is_same = order(range) == order(before);
            if is_same {
                before.calls = before.calls.saturating_add(range.calls);
            }
            is_same
        });
        ranges
    }
}

/// Returns the key by which a profile sorts its ranges.
fn order(range: &LatencyRange) -> (u32, u16) {
    (range.method, range.range)
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

    #[test]
    fn ranges_are_sorted_and_added_up() {
        let sum = |ranges: &[(u32, u16, u64)]| {
            let mut sums = LatencySums::default();
            for (method, range, calls) in ranges {
                sums.add(LatencyRange {
                    method: *method,
                    range: *range,
                    calls: *calls,
                });
            }
            let ranges = sums.finish().into_iter();
            let ranges = ranges.map(|range| (range.method, range.range, range.calls));
            ranges.collect::<Vec<_>>()
        };
        assert!(sum(&[]).is_empty());
        assert_eq!(
            sum(&[(1, 2, 3), (0, 9, 1), (1, 2, 4), (0, 8, 0), (0, 9, u64::MAX)]),
            [(0, 9, u64::MAX), (1, 2, 7)]
        );
        assert_eq!(
            sum(&[(0, 1, 2), (0, 1, 3), (0, 2, 1)]),
            [(0, 1, 5), (0, 2, 1)]
        );
    }
}
