//! The signal of the sampler: one for which the program has no handler.

use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, Ordering};

use super::handler::on_signal;
use super::sample::ClockSource;

/// The signal and its handler.
pub(super) struct Signal {
    /// The number; 0 before it was installed.
    number: AtomicI32,
    source: ClockSource,
}

/// The signals that may be used for a clock, the best one first.
///
/// `SIGPROF` is left to other profilers: JFR's `CPUTimeSample` works only if nobody else handles it. Performance events
/// use it if they can. When the limit of pending signals is reached, the kernel sends `SIGIO` in place of their real-time
/// signal, and `SIGIO` ends the process.
fn candidates(source: ClockSource) -> impl Iterator<Item = i32> {
    let real_time = (libc::SIGRTMIN()..=libc::SIGRTMAX()).rev();
    let (first, last) = match source {
        ClockSource::Timer => (None, Some(libc::SIGPROF)),
        ClockSource::Perf => (Some(libc::SIGPROF), None),
    };
    first.into_iter().chain(real_time).chain(last)
}

/// A signal with which a timer can be tried that is never started.
pub(super) fn any(source: ClockSource) -> i32 {
    candidates(source).next().unwrap_or(libc::SIGPROF)
}

impl Signal {
    pub(super) const fn new(source: ClockSource) -> Self {
        Signal {
            number: AtomicI32::new(0),
            source,
        }
    }

    /// The number of the signal.
    pub(super) fn number(&self) -> i32 {
        self.number.load(Ordering::Relaxed)
    }

    /// Installs the handler for the first signal that the program does not handle itself. Returns whether there was one.
    pub(super) fn install(&self) -> bool {
        for number in candidates(self.source) {
            if has_default_action(number) && install(number) {
                self.number.store(number, Ordering::Relaxed);
                return true;
            }
        }
        false
    }

    /// Returns whether the program's use of `SIGPROF` has decided which signal is used.
    pub(super) fn avoids_sigprof(&self) -> bool {
        let number = self.number();
        self.source == ClockSource::Perf && number != 0 && number != libc::SIGPROF
    }

    /// Returns whether the signal still has our handler.
    pub(super) fn is_ours(&self) -> bool {
        action(self.number()).is_some_and(|action| action.sa_sigaction == address())
    }
}

fn address() -> libc::sighandler_t {
    on_signal as *const () as libc::sighandler_t
}

/// The action of a signal.
fn action(number: i32) -> Option<libc::sigaction> {
    // SAFETY: all bytes zero are a valid value of the structure.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the action is written if the call succeeds.
    let error = unsafe { libc::sigaction(number, null(), &mut action) };
    (error == 0).then_some(action)
}

fn has_default_action(number: i32) -> bool {
    action(number).is_some_and(|action| action.sa_sigaction == libc::SIG_DFL)
}

fn install(number: i32) -> bool {
    // SAFETY: all bytes zero are a valid value of the structure, with an empty
    // mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = address();
    // SA_RESTART: the program's system calls go on after the handler. SA_ONSTACK: a thread that has a stack for signals
    // may have no room on its other stack.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the handler is async-signal-safe, and lives as long as the process.
    unsafe { libc::sigaction(number, &action, null_mut()) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signal_of_other_profilers_is_the_last_one_for_timers() {
        let for_timers: Vec<i32> = candidates(ClockSource::Timer).collect();
        assert_eq!(for_timers.first(), Some(&libc::SIGRTMAX()));
        assert_eq!(for_timers.last(), Some(&libc::SIGPROF));
        assert!(for_timers.contains(&libc::SIGRTMIN()));
        let for_events: Vec<i32> = candidates(ClockSource::Perf).collect();
        assert_eq!(for_events.first(), Some(&libc::SIGPROF));
        assert_eq!(for_events.len(), for_timers.len());
    }
}
