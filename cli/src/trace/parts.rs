//! Finds the traced calls that ran inside another one, by their thread and times.

use std::collections::VecDeque;

use loadhook_settings::control::TracedCall;

/// The maximum number of calls that are kept because they may be inside a call that ends later. Each shown call
/// searches all of them.
const MOST: usize = 20_000;

/// The time in nanoseconds by which a call may arrive too late, that is, after another thread's
/// call that ended later.
const DISORDER_NS: u64 = 1_000_000_000;

/// Calls that have ended, and that may be inside calls that end later.
#[derive(Default)]
pub(super) struct Parts {
    /// The calls, roughly in the order in which they ended.
    recent: VecDeque<TracedCall>,
}

/// A traced call inside another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// 1 for a call directly below, 2 for a call below that one, and so on.
    pub(super) depth: usize,
    pub(super) call: TracedCall,
}

impl Parts {
    /// Adds a call that has ended.
    pub(super) fn add(&mut self, call: TracedCall) {
        if self.recent.len() >= MOST {
            self.recent.pop_front();
        }
        self.recent.push_back(call);
    }

    /// Returns the calls inside `call`, in the order of their starts.
    pub(super) fn of(&self, call: &TracedCall) -> Vec<Part> {
        let latest_first = self.recent.iter().rev();
        let may_be_inside =
            latest_first.take_while(|it| it.end_ns() + DISORDER_NS >= call.start_ns);
        let inside = may_be_inside.filter(|it| {
            it.thread == call.thread && it.start_ns >= call.start_ns && it.end_ns() <= call.end_ns()
        });
        let mut inside: Vec<&TracedCall> = inside.collect();
        // Of calls that start at the same time, the last one to end is the outermost.
        inside.sort_by_key(|it| it.start_ns);
        let mut ends: Vec<u64> = Vec::new();
        let mut parts = Vec::new();
        for it in inside {
            while ends.last().is_some_and(|end| it.end_ns() > *end) {
                ends.pop();
            }
            ends.push(it.end_ns());
            parts.push(Part {
                depth: ends.len(),
                call: TracedCall {
                    is_part: true,
                    stack: Vec::new(),
                    ..it.clone()
                },
            });
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(thread: u64, start_ns: u64, duration_ns: u64) -> TracedCall {
        TracedCall {
            thread,
            start_ns,
            duration_ns,
            ..TracedCall::default()
        }
    }

    #[test]
    fn calls_are_nested_by_their_times() {
        let mut parts = Parts::default();
        let before = call(1, 50, 20);
        let [inner, second, outer] = [call(1, 110, 20), call(1, 140, 5), call(1, 105, 60)];
        for it in [&before, &inner, &call(2, 120, 5), &second, &outer] {
            parts.add(it.clone());
        }
        let last = call(1, 170, 10);
        parts.add(last.clone());
        let found = parts.of(&call(1, 100, 100));
        let found: Vec<(usize, u64)> = found
            .iter()
            .map(|part| (part.depth, part.call.start_ns))
            .collect();
        assert_eq!(found, [(1, 105), (2, 110), (2, 140), (1, 170)]);
        assert!(parts.of(&call(3, 100, 100)).is_empty());
    }

    #[test]
    fn a_call_that_starts_with_its_caller_is_inside() {
        let mut parts = Parts::default();
        parts.add(call(1, 100, 10));
        parts.add(call(1, 100, 30));
        let found = parts.of(&call(1, 100, 40));
        let found: Vec<(usize, u64)> = found
            .iter()
            .map(|part| (part.depth, part.call.duration_ns))
            .collect();
        assert_eq!(found, [(1, 30), (2, 10)]);
    }

    #[test]
    fn the_number_of_calls_is_bounded() {
        let mut parts = Parts::default();
        for start in 0..MOST as u64 + 10 {
            parts.add(call(1, start, 1));
        }
        assert_eq!(parts.of(&call(1, 0, u64::MAX)).len(), MOST);
    }
}
