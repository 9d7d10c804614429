//! The signal of the sampler: one for which the program has no handler.

use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, Ordering};

use super::handler::on_signal;

/// The signal and its handler.
pub(super) struct Signal {
    /// The number; 0 before it was installed.
    number: AtomicI32,
}

impl Signal {
    pub(super) const fn new() -> Self {
        Signal {
            number: AtomicI32::new(0),
        }
    }

    /// The number of the signal.
    pub(super) fn number(&self) -> i32 {
        self.number.load(Ordering::Relaxed)
    }

    /// Installs the handler for `SIGPROF`, or for a real-time signal if the program handles `SIGPROF` itself.
    /// Returns whether a signal was free.
    pub(super) fn install(&self) -> bool {
        let real_time = (libc::SIGRTMIN()..=libc::SIGRTMAX()).rev();
        for number in std::iter::once(libc::SIGPROF).chain(real_time) {
            if has_default_action(number) && install(number) {
                self.number.store(number, Ordering::Relaxed);
                return true;
            }
        }
        false
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
