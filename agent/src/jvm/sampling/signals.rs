//! Chooses the sampler's signal: a signal that the program neither handles nor waits for.

use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, Ordering};

use super::handler::on_signal;
use super::sample::ClockSource;
use crate::threads::tasks::Tasks;

/// The signal and its handler.
pub(super) struct Signal {
    /// The number of the signal; 0 while the handler is not installed.
    number: AtomicI32,
    source: ClockSource,
}

/// Returns the signals that may be used for a clock, the best one first.
///
/// Timers use `SIGPROF` last, because other profilers need it: JFR's `CPUTimeSample` works only if no other handler is
/// installed for it. Performance events use `SIGPROF` first. With a real-time signal, the kernel would send `SIGIO`
/// instead when the limit of pending signals is reached, and `SIGIO` ends the process.
fn candidates(source: ClockSource) -> impl Iterator<Item = i32> {
    let real_time = (libc::SIGRTMIN()..=libc::SIGRTMAX()).rev();
    let (first, last) = match source {
        ClockSource::Timer => (None, Some(libc::SIGPROF)),
        ClockSource::Perf => (Some(libc::SIGPROF), None),
    };
    first.into_iter().chain(real_time).chain(last)
}

/// Returns a signal for a trial timer, which is never started.
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

    /// Returns the number of the signal.
    pub(super) fn number(&self) -> i32 {
        self.number.load(Ordering::Relaxed)
    }

    /// Installs the handler for the first signal that the program does not handle itself. Signals that a thread blocks
    /// are tried last, because the program may wait for them by `sigwait`. Returns false if there is no such signal.
    pub(super) fn install(&self) -> bool {
        let blocked = blocked(Tasks::own(), candidates(self.source));
        let (last, first): (Vec<i32>, Vec<i32>) =
            candidates(self.source).partition(|number| blocked & bit(*number) != 0);
        for number in first.into_iter().chain(last) {
            if has_default_action(number) && install(number) {
                self.number.store(number, Ordering::Relaxed);
                return true;
            }
        }
        false
    }

    /// Returns whether performance events use a signal other than `SIGPROF`, because the program handles `SIGPROF`.
    pub(super) fn avoids_sigprof(&self) -> bool {
        let number = self.number();
        self.source == ClockSource::Perf && number != 0 && number != libc::SIGPROF
    }

    /// Restores the default action of the signal. Called when no timer sends the signal any more.
    pub(super) fn uninstall(&self) {
        let number = self.number.swap(0, Ordering::Relaxed);
        if number == 0 || action(number).is_none_or(|action| action.sa_sigaction != address()) {
            return;
        }
        // The signal may still be pending for a thread that blocks it, and its default action would end the process. So
        // the signal is first set to be ignored, which drops pending signals (POSIX, `sigaction`).
        for handler in [libc::SIG_IGN, libc::SIG_DFL] {
            // SAFETY: all bytes zero are a valid value of the structure, and the old value is not asked for.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler;
                libc::sigaction(number, &action, null_mut());
            }
        }
    }

    /// Returns whether the signal still has our handler.
    pub(super) fn is_ours(&self) -> bool {
        action(self.number()).is_some_and(|action| action.sa_sigaction == address())
    }
}

/// Returns a mask with the bit of one signal.
fn bit(number: i32) -> u64 {
    let place = u32::try_from(number - 1).unwrap_or(0);
    1_u64.checked_shl(place).unwrap_or(0)
}

/// Returns the mask of the signals that at least one thread blocks. A thread that blocks all of `signals` is left out,
/// because it does not wait for a particular one of them.
fn blocked(tasks: Option<Tasks>, signals: impl Iterator<Item = i32>) -> u64 {
    let all = signals.fold(0, |mask, number| mask | bit(number));
    let Some(tasks) = tasks else {
        return 0;
    };
    let ids = tasks.ids().into_iter();
    ids.filter_map(|id| blocked_mask(&tasks.text(id, "status")?))
        .filter(|mask| mask & all != all)
        .fold(0, |sum, mask| sum | mask)
}

/// Returns the mask of blocked signals from the text of `/proc/self/task/TID/status`.
fn blocked_mask(status: &str) -> Option<u64> {
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigBlk:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

fn address() -> libc::sighandler_t {
    on_signal as *const () as libc::sighandler_t
}

/// Returns the present action of a signal.
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
    // SA_RESTART: interrupted system calls of the program continue after the handler. SA_ONSTACK: a thread with a
    // separate stack for signals may have no room on its normal stack.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the handler is async-signal-safe, and lives as long as the process.
    unsafe { libc::sigaction(number, &action, null_mut()) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    /// Runs `work` while another thread blocks a signal, or all signals.
    fn while_blocked(number: Option<i32>, work: impl FnOnce()) {
        let (says, hears) = mpsc::channel();
        let (ends, waits) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            // SAFETY: all bytes zero are a valid value; the calls write the set and read it.
            unsafe {
                let mut set: libc::sigset_t = std::mem::zeroed();
                match number {
                    Some(number) => libc::sigaddset(&mut set, number),
                    None => libc::sigfillset(&mut set),
                };
                assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, &set, null_mut()), 0);
            }
            says.send(()).expect("the test waits for the message");
            let _ = waits.recv();
        });
        hears.recv().expect("the thread has blocked the signal");
        work();
        drop(ends);
        thread.join().expect("the thread did not panic");
    }

    #[test]
    fn a_signal_that_a_thread_blocks_may_be_waited_for() {
        let all = || candidates(ClockSource::Timer);
        let of_tasks = || blocked(Tasks::own(), all());
        let number = libc::SIGRTMAX() - 3;
        while_blocked(Some(number), || {
            assert_ne!(of_tasks() & bit(number), 0);
            assert_eq!(of_tasks() & bit(number - 1), 0);
        });
        while_blocked(None, || {
            assert_eq!(
                of_tasks() & bit(number),
                0,
                "a thread that blocks all signals waits for none"
            );
        });
        assert_eq!(blocked(None, all()), 0);
        assert_eq!(
            blocked_mask("Name:\tx\nSigBlk:\t8000000000000001\n"),
            Some(1 << 63 | 1)
        );
        assert_eq!(bit(64), 1 << 63);
    }

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
