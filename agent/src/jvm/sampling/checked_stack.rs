//! A stack that the self-check compares. The stack may have a frame in code that the JVM has not reported yet.
//!
//! HotSpot installs a compiled method first, and a thread of the JVM reports the method later. On a busy machine other
//! threads may run the method meanwhile, for as long as the thread that reports gets no processor time. All stacks of a
//! thread that is in the method have this frame. The walk finds an address in place of the frame's methods, and
//! guesses where the frame ends. So such a stack is compared when the JVM has reported the code, and only up to this
//! frame.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::sample::{StackEnd, Unwalked};
use crate::jvm::jvmti::MethodKey;
use crate::locks::lock;

/// The longest time for which a stack waits until the JVM has reported its code.
const LONGEST: Duration = Duration::from_secs(10);

/// The maximum number of stacks that wait.
const MAX_WAITING: usize = 64;

/// A stack as the walker finds it, and as JVM TI returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckedStack {
    /// The methods that the walker has found, innermost first.
    pub(super) walked: Vec<MethodKey>,
    pub(super) end: StackEnd,
    pub(super) expected: Vec<MethodKey>,
}

/// A stack that ends at an address in code that the JVM has not reported.
struct WaitingStack {
    stack: CheckedStack,
    address: usize,
    since: Instant,
}

/// The stacks that wait until the JVM has reported their code.
#[derive(Default)]
pub(super) struct WaitingStacks(Mutex<Vec<WaitingStack>>);

impl WaitingStacks {
    /// Adds a stack that ends at `address`, in code that the JVM has not reported. Does nothing if too many stacks wait.
    pub(super) fn add(&self, stack: &CheckedStack, address: usize, since: Instant) {
        let mut waiting = lock(&self.0);
        if waiting.len() < MAX_WAITING {
            waiting.push(WaitingStack {
                stack: stack.clone(),
                address,
                since,
            });
        }
    }

    /// Returns the stacks that wait no longer, and whether their code was reported. `methods_at` returns the methods at
    /// an address, innermost first; `None` if the JVM has not reported the code there. A stack whose code was reported
    /// ends after these methods. It stays one that could not be followed to its end, if the walk says so. Neither could
    /// a stack that has waited for the longest time.
    pub(super) fn take(
        &self,
        now: Instant,
        methods_at: impl Fn(usize) -> Option<Vec<MethodKey>>,
    ) -> Vec<(CheckedStack, bool)> {
        let mut taken = Vec::new();
        lock(&self.0).retain_mut(|waiting| {
            let methods = methods_at(waiting.address);
            let is_reported = methods.is_some();
            if let Some(methods) = methods {
                waiting.stack.walked.extend(methods);
                if !matches!(waiting.stack.end, StackEnd::Unwalked(_)) {
                    waiting.stack.end = StackEnd::Cut;
                }
            } else if now.saturating_duration_since(waiting.since) >= LONGEST {
                waiting.stack.end = StackEnd::Unwalked(Unwalked::UnknownCode);
            } else {
                return true;
            }
            taken.push((waiting.stack.clone(), is_reported));
            false
        });
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(of: &[usize]) -> Vec<MethodKey> {
        of.iter().map(|n| MethodKey::unknown(*n)).collect()
    }

    fn stack(walked: &[usize], end: StackEnd) -> CheckedStack {
        CheckedStack {
            walked: keys(walked),
            end,
            expected: keys(&[4, 3, 2, 1]),
        }
    }

    #[test]
    fn a_stack_ends_after_the_code_for_which_it_waited() {
        let waiting = WaitingStacks::default();
        let now = Instant::now();
        waiting.add(&stack(&[4], StackEnd::Complete), 0x100, now);
        waiting.add(&stack(&[4, 3], StackEnd::Complete), 0x200, now);
        assert!(waiting.take(now, |_| None).is_empty());
        let reported = |pc: usize| (pc == 0x100).then(|| keys(&[3, 2]));
        let taken = waiting.take(now, reported);
        assert_eq!(taken, [(stack(&[4, 3, 2], StackEnd::Cut), true)]);
        assert!(waiting.take(now, reported).is_empty(), "taken once");
        let later = now + LONGEST;
        let end = StackEnd::Unwalked(Unwalked::UnknownCode);
        assert_eq!(
            waiting.take(later, |_| None),
            [(stack(&[4, 3], end), false)]
        );
        assert!(waiting.take(later, |_| None).is_empty());
    }

    #[test]
    fn a_stack_that_could_not_be_followed_stays_one() {
        let waiting = WaitingStacks::default();
        let now = Instant::now();
        let end = StackEnd::Unwalked(Unwalked::UnknownCode);
        waiting.add(&stack(&[4], end), 0x100, now);
        let taken = waiting.take(now, |_| Some(keys(&[3])));
        assert_eq!(taken, [(stack(&[4, 3], end), true)]);
    }

    #[test]
    fn the_stacks_that_wait_are_limited() {
        let waiting = WaitingStacks::default();
        let now = Instant::now();
        for _ in 0..2 * MAX_WAITING {
            waiting.add(&stack(&[4], StackEnd::Complete), 0x100, now);
        }
        let taken = waiting.take(now, |_| Some(keys(&[3])));
        assert_eq!(taken.len(), MAX_WAITING);
    }
}
