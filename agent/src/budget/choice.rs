//! The choice of the methods that lose their entry and exit probes.

use crate::tracker::client::MethodSum;

/// A method keeps its probes if its mean time is this many times what its probes cost. They make its time at most two
/// percent longer.
const LONG: f64 = 50.0;

/// A method keeps its probes if they cost less than this part of the budget. 2,000 such methods together are within the
/// budget.
const SMALL: f64 = 1.0 / 2000.0;

/// The part of the budget that the probes may cost after a choice. The rest is for methods that become hot later.
/// Otherwise a few more calls would make the agent change classes again.
const AIM: f64 = 0.5;

/// The smallest part of the processor time that counts as the program's own, however much the probes seem to have
/// taken.
const LEAST_OWN: f64 = 0.1;

/// The cost of probes and its limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// The limit in percent of the program's own processor time.
    pub(super) percent: u32,
    /// Nanoseconds that the probes of a call take.
    pub(super) call_ns: f64,
}

impl Budget {
    /// Chooses methods to count only, from the calls in an interval and the processor time of the process in
    /// nanoseconds.
    ///
    /// If the probes keep the budget, none is chosen. Otherwise methods are chosen in the order of their mean times,
    /// the shortest first, until the probes of the others cost half of the budget. `may_lose` returns whether a method
    /// may lose its probes. The probes of a method that must keep them are left out of the sum, because the other
    /// methods cannot make up for them.
    pub(super) fn choose(
        self,
        seen: &[MethodSum],
        cpu_ns: f64,
        may_lose: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        let cost = |method: &MethodSum| method.calls as f64 * self.call_ns;
        // If many threads share few processors, most of the elapsed time of short calls belongs to other threads. But
        // the calls of a method never take more processor time than the process.
        let mean = |method: &MethodSum| (method.nanos as f64).min(cpu_ns) / method.calls as f64;
        let all: f64 = seen.iter().map(cost).sum();
        let own = (cpu_ns - all).max(cpu_ns * LEAST_OWN);
        let allowed = own * f64::from(self.percent) / 100.0;
        if all <= allowed {
            return Vec::new();
        }
        let called = seen.iter().filter(|method| method.calls > 0);
        let free: Vec<&MethodSum> = called.filter(|method| may_lose(method.id)).collect();
        let probes: f64 = free.iter().copied().map(cost).sum();
        if probes <= allowed {
            return Vec::new();
        }
        let is_candidate = |method: &&MethodSum| {
            cost(method) >= allowed * SMALL && mean(method) < LONG * self.call_ns
        };
        let mut candidates = free;
        candidates.retain(is_candidate);
        // Methods that are no candidates keep their probes. The cost of these probes alone may exceed the budget. So it
        // counts as half of the aim at most, and the candidates get the other half.
        let losing: f64 = candidates.iter().copied().map(cost).sum();
        let mut probes = losing + (probes - losing).min(allowed * AIM / 2.0);
        candidates.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
        let mut chosen = Vec::new();
        for method in candidates {
            if probes <= allowed * AIM {
                break;
            }
            probes -= cost(method);
            chosen.push(method.id);
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget {
        percent: 25,
        call_ns: 20.0,
    };

    fn method(id: u32, calls: u64, mean: u64) -> MethodSum {
        MethodSum {
            id,
            calls,
            nanos: calls * mean,
        }
    }

    #[test]
    fn nothing_is_chosen_within_the_budget() {
        // The probes cost 20 ms, and the program itself takes 80 ms.
        let seen = [method(1, 1_000_000, 5)];
        assert!(BUDGET.choose(&seen, 100e6, |_| true).is_empty());
        assert_eq!(BUDGET.choose(&seen, 99e6, |_| true), [1]);
        assert!(BUDGET.choose(&[], 0.0, |_| true).is_empty());
    }

    #[test]
    fn the_shortest_calls_are_chosen_until_half_of_the_budget_is_left() {
        // The budget is 25 % of 80 ms, 20 ms; the probes cost 60 ms.
        let seen = [
            method(1, 500_000, 400),
            method(2, 1_000_000, 30),
            method(3, 500_000, 90),
            method(4, 1_000_000, 60),
        ];
        assert_eq!(BUDGET.choose(&seen, 140e6, |_| true), [2, 4, 3]);
        assert_eq!(BUDGET.choose(&seen, 140e6, |id| id != 4), [2, 3]);
    }

    #[test]
    fn others_do_not_make_up_for_a_method_that_must_keep_its_probes() {
        // 20 ms are allowed. Without method 1, the probes cost 4 ms in the first case and 24 ms in the second one.
        let few = [
            method(1, 2_000_000, 30),
            method(2, 100_000, 30),
            method(3, 100_000, 40),
        ];
        assert!(BUDGET.choose(&few, 124e6, |id| id != 1).is_empty());
        let many = [
            method(1, 2_000_000, 30),
            method(2, 700_000, 30),
            method(3, 500_000, 40),
        ];
        assert_eq!(BUDGET.choose(&many, 144e6, |id| id != 1), [2]);
    }

    #[test]
    fn short_calls_keep_a_part_of_a_budget_that_long_ones_exceed() {
        let nested = (3..63).map(|id| method(id, 40_000, 1500));
        let seen: Vec<MethodSum> = nested
            .chain([method(1, 100_000, 30), method(2, 500_000, 20)])
            .collect();
        // 20 ms are allowed. The probes of the 60 long methods cost 48 ms, those of the two short ones 2 ms and 10 ms.
        assert_eq!(BUDGET.choose(&seen, 140e6, |_| true), [2]);
    }

    #[test]
    fn long_calls_and_rare_ones_keep_their_probes() {
        let seen = [
            method(1, 100_000, 1000),
            method(2, 400, 10),
            method(3, 1_000_000, 99),
            method(4, 0, 0),
        ];
        assert_eq!(BUDGET.choose(&seen, 100e6, |_| true), [3]);
    }

    #[test]
    fn calls_are_short_that_only_other_threads_make_long() {
        let seen = [method(1, 1_000_000, 40_000), method(2, 1000, 40_000)];
        assert_eq!(BUDGET.choose(&seen, 60e6, |_| true), [1]);
    }

    #[test]
    fn probes_cannot_take_more_than_all() {
        let seen = [method(1, 100_000_000, 3), method(2, 1_000_000, 7)];
        assert_eq!(BUDGET.choose(&seen, 100e6, |_| true), [1, 2]);
    }
}
