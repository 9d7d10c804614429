//! Orders the writers of snapshots: one writer at a time, and none after the writer at the end of the JVM.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::locks::{lock, wait};

/// The longest wait for a running snapshot when the JVM ends. Normally the snapshot soon gives up, because it sees that
/// the JVM ends, but a debugger may have suspended its thread.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Lets one thread at a time write a profile or change the agent's state.
#[derive(Default)]
pub(crate) struct SnapshotGate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    is_writing: bool,
    /// True while the writer makes a call that may not return. Then the end of the JVM does not wait for the writer.
    is_released: bool,
    is_ending: bool,
    /// True if a file was requested and its writing has not begun yet.
    is_requested: bool,
}

/// The right to write. It ends when this is dropped.
pub(crate) struct Pass<'g>(&'g SnapshotGate);

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.lock().is_writing = false;
        self.0.changed.notify_all();
    }
}

impl SnapshotGate {
    fn lock(&self) -> MutexGuard<'_, GateState> {
        lock(&self.state)
    }

    /// Waits until `condition` is true, at most for `time`. Returns whether `condition` is true.
    fn wait_until(&self, time: Duration, condition: impl Fn(&GateState) -> bool) -> bool {
        // A time beyond the clock's range means no limit.
        let end = Instant::now().checked_add(time);
        let mut state = self.lock();
        while !condition(&state) {
            let left = end.map_or(time, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            state = wait(&self.changed, state, left);
        }
        true
    }

    /// Waits for `time`, or until the JVM is about to end. Returns whether the
    /// JVM is about to end.
    pub(crate) fn wait_for_end(&self, time: Duration) -> bool {
        self.wait_until(time, |state| state.is_ending)
    }

    /// Takes the right to write. Waits while another thread has the right. Returns `None` if the JVM is about to end.
    pub(crate) fn enter(&self) -> Option<Pass<'_>> {
        let mut state = self.lock();
        while state.is_writing && !state.is_ending {
            state = wait(&self.changed, state, Duration::MAX);
        }
        let is_free = !state.is_ending;
        state.is_writing |= is_free;
        // Not `then_some`, which would make and drop a pass even if the gate is not free.
        is_free.then(|| Pass(self))
    }

    /// Requests a file. Further requests have no effect until the writing of this file has begun.
    pub(crate) fn request(&self) {
        self.lock().is_requested = true;
        self.changed.notify_all();
    }

    /// Waits for a request. Returns false if the JVM is about to end.
    pub(super) fn wait_for_request(&self) -> bool {
        let mut state = self.lock();
        while !state.is_requested && !state.is_ending {
            state = wait(&self.changed, state, Duration::MAX);
        }
        state.is_requested = false;
        !state.is_ending
    }

    /// Returns whether the JVM is about to end. Then a snapshot is of no use.
    pub(crate) fn is_ending(&self) -> bool {
        self.lock().is_ending
    }

    /// Announces the end of the JVM, so that work under way gives up.
    pub(crate) fn begin_end(&self) {
        self.lock().is_ending = true;
        self.changed.notify_all();
    }

    /// Closes the gate at the end of the JVM. The caller then writes the last
    /// profile. Waits for a running snapshot; returns false if the snapshot does
    /// not end in time.
    pub(crate) fn close(&self) -> bool {
        self.begin_end();
        self.wait_until(LONGEST_WAIT, |state| !state.is_writing || state.is_released)
    }

    /// Runs `work` of the writer. During `work`, the end of the JVM does not wait for the writer. So the writer must
    /// check [`is_ending`](Self::is_ending) before and after `work`.
    pub(crate) fn release_during(&self, work: impl FnOnce()) {
        self.lock().is_released = true;
        self.changed.notify_all();
        work();
        self.lock().is_released = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_writes_at_a_time() {
        let gate = SnapshotGate::default();
        let pass = gate.enter();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| gate.enter().is_some());
            assert!(!gate.wait_for_end(Duration::from_millis(50)));
            assert!(
                !second.is_finished(),
                "the second waits while the first has the pass"
            );
            drop(pass);
            assert!(second.join().expect("the thread did not panic"));
        });
        assert!(gate.enter().is_some(), "the pass of the thread was dropped");
    }

    #[test]
    fn the_end_does_not_wait_for_a_released_writer() {
        let gate = SnapshotGate::default();
        let _pass = gate.enter();
        gate.release_during(|| assert!(gate.close()));
        assert!(gate.is_ending());
    }

    #[test]
    fn requests_that_wait_are_one() {
        let gate = SnapshotGate::default();
        gate.request();
        gate.request();
        assert!(gate.wait_for_request());
        std::thread::scope(|scope| {
            let second = scope.spawn(|| gate.wait_for_request());
            assert!(!gate.wait_for_end(Duration::from_millis(50)));
            assert!(!second.is_finished(), "no request is left");
            gate.begin_end();
            assert!(!second.join().expect("the thread did not panic"));
        });
    }

    #[test]
    fn the_end_waits_for_a_snapshot_under_way() {
        let gate = SnapshotGate::default();
        let pass = gate.enter();
        std::thread::scope(|scope| {
            let close = scope.spawn(|| gate.close());
            assert!(gate.wait_for_end(LONGEST_WAIT));
            assert!(gate.is_ending() && !close.is_finished());
            drop(pass);
            assert!(close.join().expect("the thread did not panic"));
        });
        assert!(gate.enter().is_none(), "a closed gate gives no pass");
    }
}
