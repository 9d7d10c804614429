//! Records whether profilers have suspended a thread.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The state of a thread's suspension by profilers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Hold {
    /// No profiler has suspended the thread.
    #[default]
    Free,
    /// A profiler is just suspending or resuming the thread.
    Changing,
    /// A profiler has suspended the thread.
    Suspended,
    /// The thread has ended, and can no longer be suspended.
    Ended,
}

/// The hold on one thread, which is the state of its suspension.
///
/// A thread that ends waits until no profiler holds it. After the thread's end, a profiler could not resume it,
/// because its environment leads to no record any more.
#[derive(Default)]
pub(super) struct Suspension {
    hold: Mutex<Hold>,
    changed: Condvar,
    /// The thread's processor time at the last suspension, and at the one before that.
    times: [AtomicI64; 2],
}

impl Suspension {
    fn hold(&self) -> MutexGuard<'_, Hold> {
        self.hold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a profiler has suspended the thread.
    pub(super) fn is_suspended(&self) -> bool {
        *self.hold() == Hold::Suspended
    }

    /// Suspends or resumes the thread by `act`, which returns the new hold and a result. If the present hold is not
    /// `from`, does nothing and returns the present hold as the error.
    pub(super) fn change<T>(&self, from: Hold, act: impl FnOnce() -> (Hold, T)) -> Result<T, Hold> {
        {
            let mut hold = self.hold();
            if *hold != from {
                return Err(*hold);
            }
            *hold = Hold::Changing;
        }
        // The lock is free meanwhile, because the JVM may stop the calling thread in `act`.
        let (new, result) = act();
        *self.hold() = new;
        self.changed.notify_all();
        Ok(result)
    }

    /// Waits until no profiler holds the thread, and sets [`Hold::Ended`].
    pub(super) fn end(&self) {
        let is_held = |hold: &mut Hold| [Hold::Changing, Hold::Suspended].contains(hold);
        let hold = self.changed.wait_while(self.hold(), is_held);
        *hold.unwrap_or_else(PoisonError::into_inner) = Hold::Ended;
    }

    /// Records the processor time of the thread, which has just been suspended.
    pub(super) fn stopped(&self, time: i64) {
        let [last, before] = &self.times;
        before.store(last.swap(time, Ordering::SeqCst), Ordering::SeqCst);
    }

    /// Returns the processor time at the last suspension.
    pub(super) fn last_time(&self) -> i64 {
        self.times[0].load(Ordering::SeqCst)
    }

    /// Returns whether the thread has run between its last two suspensions.
    pub(super) fn ran_between(&self) -> bool {
        let [last, before] = &self.times;
        last.load(Ordering::SeqCst) > before.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_thread_is_suspended_once() {
        let thread = Suspension::default();
        let suspend = || thread.change(Hold::Free, || (Hold::Suspended, ()));
        let resume = || thread.change(Hold::Suspended, || (Hold::Free, ()));
        assert_eq!(resume(), Err(Hold::Free));
        assert_eq!(suspend(), Ok(()));
        assert!(thread.is_suspended());
        assert_eq!(suspend(), Err(Hold::Suspended));
        assert_eq!(resume(), Ok(()));
        thread.end();
        assert_eq!(suspend(), Err(Hold::Ended));
    }

    #[test]
    fn a_suspended_thread_does_not_end() {
        let suspension = Arc::new(Suspension::default());
        let suspended = suspension.change(Hold::Free, || (Hold::Suspended, ()));
        assert_eq!(suspended, Ok(()));
        let (begun, begins) = mpsc::channel();
        let ending = thread::spawn({
            let suspension = suspension.clone();
            move || {
                begun.send(()).expect("the first thread waits");
                suspension.end();
            }
        });
        begins.recv().expect("the thread begins to end");
        thread::sleep(Duration::from_millis(20));
        assert!(!ending.is_finished());
        let resumed = suspension.change(Hold::Suspended, || (Hold::Free, ()));
        assert_eq!(resumed, Ok(()));
        ending.join().expect("the thread ends after its release");
    }
}
