//! The choice of the methods that lose probes.

use crate::tracker::client::MethodSum;

/// A call is long if it takes at least this many times the cost of its probes.
const LONG: f64 = 25.0;

/// The part of the processor time that is considerable for one method.
const CONSIDERABLE: f64 = 0.01;

/// A method keeps its probes if they cost less than this part of what all probes may cost after the choice.
const SMALL: f64 = 1.0 / 2500.0;

/// A method with fewer calls than this in an interval keeps its probes. All these calls may still be under way, so that
/// their times are not known yet.
const FEW: u64 = 250;

/// Compiled code is this many times faster than the code of a program that warms up.
pub(super) const FASTER: f64 = 4.0;

/// After a choice, the remaining probes may cost this part of the budget. The rest is reserve for methods that become
/// hot later: without a reserve, a few more calls would make the agent change classes again.
const AIM: f64 = 0.5;

/// While a program warms up, the remaining probes may cost this part of [`AIM`]: the program's own code becomes several
/// times faster when it is compiled, so its budget becomes that much smaller. Otherwise classes would be changed again
/// and again. This does not concern calls that will be long even then. They are the operations whose times the profile
/// is read for, and their probes cost them little.
const WARMING_UP: f64 = 1.0 / 8.0;

/// No method is chosen if there were fewer calls than this in an interval. A change of classes costs some milliseconds
/// itself, and the code that it throws away has to be compiled again.
const LEAST_CALLS: u64 = 100_000;

/// The choice of methods that lose their entry and exit probes.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedChoice {
    /// Nanoseconds that the probes of a call take.
    pub(super) call_ns: f64,
    /// Nanoseconds that all probes may take.
    pub(super) allowed_ns: f64,
    /// The processor time of the process in nanoseconds.
    pub(super) cpu_ns: f64,
    /// Set while the JIT compiler takes a considerable part of the processor time.
    pub(super) is_warming_up: bool,
}

impl TimedChoice {
    /// Returns the mean time of a method's timed calls in nanoseconds.
    ///
    /// If many threads share few processors, other threads run during most of the elapsed time of short calls. So the
    /// time of a method is limited to the processor time of the process, which is never less than the method's own.
    fn mean(&self, method: &MethodSum) -> f64 {
        (method.nanos as f64).min(self.cpu_ns) / method.calls as f64
    }

    /// Returns whether the timed calls of a method are long, and take a considerable part of the processor time.
    pub(super) fn is_long(&self, method: &MethodSum) -> bool {
        method.calls > 0
            && method.nanos as f64 >= CONSIDERABLE * self.cpu_ns
            && self.mean(method) >= LONG * self.call_ns
    }

    /// Returns whether the timed calls of a method will be short when the program's code has been compiled.
    pub(super) fn gets_short(&self, method: &MethodSum) -> bool {
        method.calls >= FEW
            && self.mean(method) < FASTER * LONG * self.call_ns
            && !self.is_long(method)
    }

    /// Chooses methods to count only, from the calls in an interval.
    ///
    /// If the probes cost no more than the budget, no method is chosen. Otherwise methods are chosen in the order of
    /// their mean times, the shortest first, until the probes of the remaining methods cost half of the budget. While the
    /// program warms up, more methods are chosen, but only those whose calls will be short.
    /// `may_lose` returns whether a method may lose its probes. If it may not, the cost of its probes is left out of
    /// the sum, because the choice of other methods cannot make up for it.
    pub(super) fn choose(&self, seen: &[MethodSum], may_lose: impl Fn(u32) -> bool) -> Vec<u32> {
        let cost = |method: &MethodSum| method.calls as f64 * self.call_ns;
        let allowed = self.allowed_ns;
        let called = seen.iter().filter(|method| method.calls > 0);
        let free: Vec<&MethodSum> = called.filter(|method| may_lose(method.id)).collect();
        let probes: f64 = free.iter().copied().map(cost).sum();
        let calls: u64 = free.iter().map(|method| method.calls).sum();
        if probes <= allowed || calls < LEAST_CALLS {
            return Vec::new();
        }
        let aim = allowed * AIM;
        let aim_for_short = if self.is_warming_up {
            aim * WARMING_UP
        } else {
            aim
        };
        let is_candidate =
            |method: &&MethodSum| method.calls >= FEW && cost(method) >= aim_for_short * SMALL;
        let mut candidates = free;
        candidates.retain(is_candidate);
        // Methods that are no candidates keep their probes. These probes alone may cost more than the budget. So their
        // cost counts as half of the aim at most, and the probes of candidates may cost the other half.
        let losing: f64 = candidates.iter().copied().map(cost).sum();
        let mut probes = losing + (probes - losing).min(aim_for_short / 2.0);
        candidates.sort_by(|a, b| self.mean(a).total_cmp(&self.mean(b)));
        let mut chosen = Vec::new();
        for method in candidates {
            let stays_long = self.mean(method) >= FASTER * LONG * self.call_ns;
            if probes <= if stays_long { aim } else { aim_for_short } {
                break;
            }
            probes -= cost(method);
            chosen.push(method.id);
        }
        chosen
    }
}

/// While a program warms up, the counting probes that remain may cost this part of [`AIM`]. The code between them becomes
/// faster when it is compiled, so their part of the time grows. Later choices would make the JIT compiler begin anew.
const COUNTED_WARMING_UP: f64 = 1.0 / 8.0;

/// Chooses methods that lose their counting probes. Begins with the method that has the most calls in an interval, and
/// ends when the probes of the remaining methods cost half of the budget, or less while the program warms up. A pair of
/// `seen` has the id of a method and the number of its calls. The probes of all calls have taken `cost_ns`, and may take
/// `allowed_ns`.
pub(super) fn choose_counted(
    seen: &[(u32, u64)],
    cost_ns: f64,
    allowed_ns: f64,
    is_warming_up: bool,
) -> Vec<u32> {
    let aim = if is_warming_up {
        allowed_ns * AIM * COUNTED_WARMING_UP
    } else {
        allowed_ns * AIM
    };
    let all: u64 = seen.iter().map(|(_, calls)| calls).sum();
    let mut left_ns = cost_ns;
    let mut by_calls = seen.to_vec();
    by_calls.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
    let mut chosen = Vec::new();
    for (id, calls) in by_calls {
        if left_ns <= aim || calls == 0 {
            break;
        }
        left_ns -= cost_ns * calls as f64 / all as f64;
        chosen.push(id);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chooses methods for a budget of 25 %, with probes that take 20 ns. `cpu_ns` is the processor time of the
    /// process.
    fn choose(seen: &[MethodSum], cpu_ns: f64, may_lose: impl Fn(u32) -> bool) -> Vec<u32> {
        let calls: u64 = seen.iter().map(|method| method.calls).sum();
        let own = (cpu_ns - calls as f64 * 20.0).max(cpu_ns / 10.0);
        let choice = TimedChoice {
            call_ns: 20.0,
            allowed_ns: own * 0.25,
            cpu_ns,
            is_warming_up: false,
        };
        choice.choose(seen, may_lose)
    }

    fn method(id: u32, calls: u64, mean: u64) -> MethodSum {
        MethodSum {
            id,
            calls,
            nanos: calls * mean,
            counted: 0,
        }
    }

    #[test]
    fn nothing_is_chosen_within_the_budget() {
        // The probes cost 20 ms, and the program itself takes 80 ms.
        let seen = [method(1, 1_000_000, 5)];
        assert!(choose(&seen, 100e6, |_| true).is_empty());
        assert_eq!(choose(&seen, 99e6, |_| true), [1]);
        assert!(choose(&[], 0.0, |_| true).is_empty());
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
        assert_eq!(choose(&seen, 140e6, |_| true), [2, 4, 3]);
        assert_eq!(choose(&seen, 140e6, |id| id != 4), [2, 3]);
    }

    #[test]
    fn others_do_not_make_up_for_a_method_that_must_keep_its_probes() {
        // 20 ms are allowed. Without method 1, the probes cost 4 ms in the first case and 24 ms in the second one.
        let few = [
            method(1, 2_000_000, 30),
            method(2, 100_000, 30),
            method(3, 100_000, 40),
        ];
        assert!(choose(&few, 124e6, |id| id != 1).is_empty());
        let many = [
            method(1, 2_000_000, 30),
            method(2, 700_000, 30),
            method(3, 500_000, 40),
        ];
        assert_eq!(choose(&many, 144e6, |id| id != 1), [2]);
    }

    #[test]
    fn the_shortest_of_long_calls_lose_their_probes() {
        let nested = (3..63).map(|id| method(id, 40_000, 1500 + u64::from(id)));
        let seen: Vec<MethodSum> = nested
            .chain([method(1, 100_000, 30), method(2, 500_000, 20)])
            .collect();
        // 20 ms are allowed. The probes of the 60 long methods cost 48 ms, so twelve of them are within half of that.
        let chosen = choose(&seen, 140e6, |_| true);
        let expected: Vec<u32> = [2, 1].into_iter().chain(3..51).collect();
        assert_eq!(chosen, expected);
    }

    #[test]
    fn rare_calls_keep_their_probes() {
        let seen = [
            method(1, 1000, 200),
            method(2, 240, 10),
            method(3, 1_000_000, 99),
            method(4, 0, 0),
        ];
        assert_eq!(choose(&seen, 100e6, |_| true), [3]);
    }

    #[test]
    fn methods_get_short_when_the_program_is_compiled() {
        let choice = TimedChoice {
            call_ns: 20.0,
            allowed_ns: 10e6,
            cpu_ns: 60e6,
            is_warming_up: true,
        };
        for (calls, mean, expected) in [(300, 1999, true), (300, 2000, false), (240, 10, false)] {
            assert_eq!(choice.gets_short(&method(1, calls, mean)), expected);
        }
        assert!(choice.is_long(&method(1, 2000, 500)) && !choice.gets_short(&method(1, 2000, 500)));
        assert!(!choice.is_long(&method(1, 2000, 499)));
        let little = method(1, 1000, 500);
        assert!(
            !choice.is_long(&little),
            "less than a hundredth of the time"
        );
    }

    #[test]
    fn calls_that_have_not_ended_are_not_short() {
        let seen = [method(1, 10_000_000, 30), method(2, 202, 0)];
        assert_eq!(choose(&seen, 10e6, |_| true), [1]);
    }

    #[test]
    fn calls_are_short_that_only_other_threads_make_long() {
        let seen = [method(1, 1_000_000, 40_000), method(2, 1000, 40_000)];
        assert_eq!(choose(&seen, 60e6, |_| true), [1]);
    }

    #[test]
    fn fewer_probes_remain_while_the_program_warms_up() {
        let seen = [method(1, 200_000, 500), method(2, 400_000, 30)];
        let choose = |is_warming_up| {
            let choice = TimedChoice {
                call_ns: 20.0,
                allowed_ns: 10e6,
                cpu_ns: 60e6,
                is_warming_up,
            };
            choice.choose(&seen, |_| true)
        };
        assert_eq!(
            choose(false),
            [2],
            "the probes take 12 of 10 ms, those of the first method 4 ms"
        );
        assert_eq!(choose(true), [2, 1]);
    }

    #[test]
    fn calls_that_stay_long_keep_their_probes_while_the_program_warms_up() {
        // 10 ms are allowed, so 0.6 ms may remain. The probes of the long calls take 1.2 ms.
        let seen = [method(1, 60_000, 2000), method(2, 1_000_000, 30)];
        let choose = |allowed_ns| {
            let choice = TimedChoice {
                call_ns: 20.0,
                allowed_ns,
                cpu_ns: 200e6,
                is_warming_up: true,
            };
            choice.choose(&seen, |_| true)
        };
        assert_eq!(choose(10e6), [2]);
        assert_eq!(
            choose(2e6),
            [2, 1],
            "half of the budget is less than 1.2 ms"
        );
    }

    #[test]
    fn a_few_calls_are_not_worth_a_change() {
        assert!(choose(&[method(1, 99_000, 5)], 2e6, |_| true).is_empty());
        assert_eq!(choose(&[method(1, 100_000, 5)], 2e6, |_| true), [1]);
    }

    #[test]
    fn counting_ends_for_the_most_calls_first() {
        let seen = [(1, 100), (2, 700), (3, 200), (4, 0)];
        let choose = |seen: &[(u32, u64)], allowed| choose_counted(seen, 1000.0, allowed, false);
        assert_eq!(choose(&seen, 700.0), [2]);
        assert_eq!(choose(&seen, 500.0), [2, 3]);
        assert_eq!(choose(&seen, 2000.0), [0_u32; 0]);
        assert_eq!(choose(&seen, 0.0), [2, 3, 1]);
        assert_eq!(choose(&[], 0.0), [0_u32; 0]);
        assert_eq!(choose_counted(&seen, 1000.0, 1600.0, true), [2, 3]);
    }

    #[test]
    fn probes_cannot_take_more_than_all() {
        let seen = [method(1, 100_000_000, 3), method(2, 1_000_000, 7)];
        assert_eq!(choose(&seen, 100e6, |_| true), [1, 2]);
    }
}
