//! The self-check: compares stacks that the walker finds with the stacks that JVM TI returns. The check continues after
//! samples are trusted.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use super::checked_stack::{CheckedStack, WaitingStacks};
use super::sample::{StackEnd, Trust};
use crate::jvm::jvmti::MethodKey;

/// Number of stacks that are compared before the samples are trusted.
const ENOUGH: u32 = 20;

/// After this number of compared stacks, at least half of them must have been followed to their ends.
const MANY: u32 = 100;

/// Once samples are trusted, one in this many stacks is compared.
const LATER: u32 = 16;

/// If less than this percentage of the stacks are equal, samples are not trusted. Some stacks differ even if the walker
/// works well. For example, the walker knows the method of a frame that is being deoptimised, but not always the
/// methods that are inlined into it.
const LEAST: u32 = 90;

/// The maximum number of frames of a stack that are compared.
pub(super) const MAX_CHECKED: usize = 256;

/// The outcomes of the self-check.
#[derive(Default)]
pub(super) struct SelfCheck {
    seen: AtomicU32,
    compared: AtomicU32,
    equal: AtomicU32,
    /// Number of stacks that could not be followed to their end, but are equal as far as they were followed.
    unwalked: AtomicU32,
    waiting: WaitingStacks,
}

impl SelfCheck {
    /// Returns whether the next stack is to be compared.
    pub(super) fn is_due(&self) -> bool {
        let seen = self.seen.fetch_add(1, Ordering::Relaxed);
        self.compared.load(Ordering::Relaxed) < 2 * ENOUGH || seen.is_multiple_of(LATER)
    }

    /// Compares a stack. If the stack ends at an address in code that the JVM has not reported, it waits until
    /// [`compare_waiting`](Self::compare_waiting) finds the code's methods. If too many stacks wait, it counts as nothing.
    pub(super) fn add(&self, stack: &CheckedStack, unreported: Option<usize>) {
        match unreported {
            Some(address) => self.waiting.add(stack, address, Instant::now()),
            None => self.compare(&stack.walked, stack.end, &stack.expected),
        }
    }

    /// Compares the stacks whose code the JVM has reported meanwhile. `methods_at` returns the methods at an address,
    /// innermost first; `None` if the JVM has not reported the code there. If the walk ended in that code and the methods
    /// are equal, this counts neither for the walk nor against it.
    pub(super) fn compare_waiting(&self, methods_at: impl Fn(usize) -> Option<Vec<MethodKey>>) {
        for (stack, is_reported) in self.waiting.take(Instant::now(), methods_at) {
            let CheckedStack {
                walked,
                end,
                expected,
            } = &stack;
            let is_cut = matches!(end, StackEnd::Unwalked(_)) && is_reported;
            if !(is_cut && is_equal(walked, *end, expected)) {
                self.compare(walked, *end, expected);
            }
        }
    }

    /// Compares a stack of the walker with the stack of JVM TI. A stack that was cut, or could not be followed to its
    /// end, is compared as far as it goes. If such an unfollowed stack is equal, this is no reason for trust: under
    /// `-Xcomp` the JVM reports most methods only after they ran, so most stacks are short.
    fn compare(&self, walked: &[MethodKey], end: StackEnd, expected: &[MethodKey]) {
        let is_equal = is_equal(walked, end, expected);
        if is_equal && matches!(end, StackEnd::Unwalked(_)) {
            self.unwalked.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.compared.fetch_add(1, Ordering::Relaxed);
        if is_equal {
            self.equal.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns how many stacks were compared, and how many of them were equal.
    pub(super) fn compared(&self) -> (u32, u32) {
        let equal = self.equal.load(Ordering::Relaxed);
        let compared = self.compared.load(Ordering::Relaxed).max(equal);
        (compared, equal)
    }

    /// Returns the outcome of the comparisons so far.
    pub(super) fn trust(&self) -> Trust {
        let (compared, equal) = self.compared();
        let unwalked = self.unwalked.load(Ordering::Relaxed);
        let all = compared.saturating_add(unwalked);
        if all >= MANY && unwalked > all / 2 {
            Trust::No {
                compared: all,
                equal,
            }
        } else if compared < ENOUGH {
            Trust::Checking
        } else if u64::from(equal) * 100 >= u64::from(compared) * u64::from(LEAST) {
            Trust::Yes
        } else {
            Trust::No { compared, equal }
        }
    }
}

/// Returns whether a stack of the walker is equal to the stack of JVM TI, as far as it goes.
fn is_equal(walked: &[MethodKey], end: StackEnd, expected: &[MethodKey]) -> bool {
    if end == StackEnd::Complete && expected.len() < MAX_CHECKED {
        walked == expected
    } else {
        expected.starts_with(walked.get(..MAX_CHECKED).unwrap_or(walked))
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::Unwalked;
    use super::*;

    fn keys(of: &[usize]) -> Vec<MethodKey> {
        of.iter().map(|n| MethodKey::unknown(*n)).collect()
    }

    #[test]
    fn samples_are_believed_when_enough_stacks_are_equal() {
        let check = SelfCheck::default();
        let stack = keys(&[3, 2, 1]);
        for _ in 0..ENOUGH - 1 {
            check.compare(&stack, StackEnd::Complete, &stack);
            assert_eq!(check.trust(), Trust::Checking);
        }
        check.compare(&stack, StackEnd::Complete, &keys(&[3, 2]));
        assert_eq!(check.trust(), Trust::Yes);
        check.compare(&keys(&[3, 2]), StackEnd::Complete, &stack);
        check.compare(&keys(&[]), StackEnd::Complete, &stack);
        let no = Trust::No {
            compared: 22,
            equal: 19,
        };
        assert_eq!(check.trust(), no);
    }

    #[test]
    fn a_cut_stack_is_compared_as_far_as_it_goes() {
        let check = SelfCheck::default();
        for _ in 0..ENOUGH {
            check.compare(&keys(&[3, 2]), StackEnd::Cut, &keys(&[3, 2, 1]));
        }
        assert_eq!(check.trust(), Trust::Yes);
        for _ in 0..ENOUGH {
            check.compare(&keys(&[3, 1]), StackEnd::Cut, &keys(&[3, 2, 1]));
        }
        assert!(matches!(check.trust(), Trust::No { .. }));
    }

    /// All classes that a method loads have the method's frame on their stacks. Some machines are so busy that the JVM
    /// reports the method only afterwards.
    #[test]
    fn late_reports_of_code_are_no_faults() {
        let check = SelfCheck::default();
        let stack = |walked: &[usize]| CheckedStack {
            walked: keys(walked),
            end: StackEnd::Complete,
            expected: keys(&[4, 3, 2, 1]),
        };
        for _ in 0..ENOUGH {
            check.add(&stack(&[4]), Some(0x100));
        }
        check.compare_waiting(|_| None);
        assert_eq!(check.trust(), Trust::Checking);
        check.compare_waiting(|_| Some(keys(&[3, 2])));
        assert_eq!(check.trust(), Trust::Yes);
        for _ in 0..ENOUGH {
            check.add(&stack(&[4]), Some(0x100));
        }
        check.compare_waiting(|_| Some(keys(&[2, 1])));
        let no = Trust::No {
            compared: 2 * ENOUGH,
            equal: ENOUGH,
        };
        assert_eq!(check.trust(), no, "other methods are no equal stack");
    }

    #[test]
    fn walks_that_end_in_code_reported_later_prove_nothing() {
        let stack = |walked: &[usize]| CheckedStack {
            walked: keys(walked),
            end: StackEnd::Unwalked(Unwalked::UnknownCode),
            expected: keys(&[4, 3, 2, 1]),
        };
        let check = SelfCheck::default();
        for _ in 0..2 * MANY {
            check.add(&stack(&[4]), Some(0x100));
            check.compare_waiting(|_| Some(keys(&[3])));
        }
        assert_eq!(check.trust(), Trust::Checking);
        for _ in 0..ENOUGH {
            check.add(&stack(&[4]), Some(0x100));
            check.compare_waiting(|_| Some(keys(&[2])));
        }
        let no = Trust::No {
            compared: ENOUGH,
            equal: 0,
        };
        assert_eq!(check.trust(), no, "wrong methods");
    }

    #[test]
    fn stacks_that_cannot_be_followed_prove_nothing() {
        let check = SelfCheck::default();
        let end = StackEnd::Unwalked(Unwalked::UnknownCode);
        for _ in 0..MANY - 1 {
            check.compare(&keys(&[3]), end, &keys(&[3, 2, 1]));
            assert_eq!(check.trust(), Trust::Checking);
        }
        check.compare(&keys(&[3]), end, &keys(&[3, 2, 1]));
        assert!(matches!(check.trust(), Trust::No { .. }), "too many");
        let check = SelfCheck::default();
        for _ in 0..ENOUGH {
            check.compare(&keys(&[4]), end, &keys(&[3, 2, 1]));
        }
        assert!(matches!(check.trust(), Trust::No { .. }), "wrong");
    }
}
