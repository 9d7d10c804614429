//! The processor time of virtual threads. The operating system counts it for the carriers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::own;

/// Counts the processor time of one virtual thread, in nanoseconds.
#[derive(Default)]
pub(super) struct Meter(Mutex<State>);

#[derive(Default)]
struct State {
    /// The time up to the last stop.
    used: i64,
    /// The clock of the carrier; `None` while the virtual thread has no carrier.
    clock: Option<libc::clockid_t>,
    /// The reading of `clock` at which the virtual thread's time would be 0.
    zero: i64,
}

impl Meter {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the calling thread begins to run the virtual thread.
    pub(super) fn start(&self) {
        let mut state = self.state();
        state.zero = own::cpu_time() - state.used;
        state.clock = Some(own::cpu_clock());
    }

    /// Notes that the calling thread stops running the virtual thread. Returns the time since the start.
    pub(super) fn stop(&self) -> i64 {
        let mut state = self.state();
        let used = own::cpu_time() - state.zero;
        state.clock = None;
        used - std::mem::replace(&mut state.used, used)
    }

    /// Returns the time so far. Any thread may call this.
    pub(super) fn read(&self) -> i64 {
        let state = self.state();
        match state.clock {
            None => state.used,
            Some(clock) => own::clock(clock) - state.zero,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work() {
        let end = own::cpu_time() + 1_000_000;
        while own::cpu_time() < end {}
    }

    #[test]
    fn time_counts_only_between_start_and_stop() {
        let meter = Meter::default();
        work();
        assert_eq!(meter.read(), 0);
        meter.start();
        work();
        let running = meter.read();
        let first = meter.stop();
        work();
        assert!(running >= 1_000_000 && first >= running);
        assert_eq!(meter.read(), first);
        // Another carrier continues the virtual thread.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                meter.start();
                work();
                let second = meter.stop();
                assert!(second >= 1_000_000);
                assert_eq!(meter.read(), first + second);
            });
        });
    }
}
