//! The processor time of virtual threads. The operating system counts it for the carriers.

use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};

use super::own;

/// Counts the processor time of one virtual thread, in nanoseconds.
#[derive(Default)]
pub(super) struct Meter {
    /// The time up to the last stop.
    used: AtomicI64,
    /// The clock of the carrier; 0 while the virtual thread has none.
    clock: AtomicI32,
    /// The time of this clock at which the virtual thread would have had no time yet.
    zero: AtomicI64,
}

impl Meter {
    /// Notes that the calling thread begins to run the virtual thread.
    pub(super) fn start(&self) {
        let used = self.used.load(Ordering::SeqCst);
        self.zero.store(own::cpu_time() - used, Ordering::SeqCst);
        self.clock.store(own::cpu_clock(), Ordering::SeqCst);
    }

    /// Notes that the calling thread stops running the virtual thread. Returns the time since the start.
    pub(super) fn stop(&self) -> i64 {
        let used = own::cpu_time() - self.zero.load(Ordering::SeqCst);
        self.clock.store(0, Ordering::SeqCst);
        used - self.used.swap(used, Ordering::SeqCst)
    }

    /// Returns the time so far. Any thread may ask.
    pub(super) fn read(&self) -> i64 {
        match self.clock.load(Ordering::SeqCst) {
            0 => self.used.load(Ordering::SeqCst),
            clock => own::clock(clock) - self.zero.load(Ordering::SeqCst),
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
        // Another carrier goes on.
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
