//! Snapshots while the program runs: a JVM that is killed leaves the last.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::assembly;
use crate::agent::Agent;
use crate::diagnostics;
use crate::jvm::jni::{Argument, Jni, Thrown};

/// The longest wait for a snapshot under way when the VM ends. It sees that and
/// gives up; a debugger may have suspended its thread.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Whose turn it is to write the profile: one writer at a time, and none after
/// the one at the VM's end.
#[derive(Default)]
pub(crate) struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    writing: bool,
    /// Whether the writer is in the VM, which may not come back, and takes no
    /// part in what is written.
    outside: bool,
    ending: bool,
}

/// The right to write, until it is dropped.
struct Turn<'t>(&'t Turns);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.lock().writing = false;
        self.0.changed.notify_all();
    }
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Two flags, each whole by itself.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `stop` holds, at most for `time`; whether it does.
    fn wait(&self, time: Duration, stop: impl Fn(&State) -> bool) -> bool {
        // A time beyond what the clock can tell is for ever.
        let end = Instant::now().checked_add(time);
        let mut state = self.lock();
        while !stop(&state) {
            let left = end.map_or(time, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn take(&self) -> Option<Turn<'_>> {
        let mut state = self.lock();
        let free = !state.ending && !state.writing;
        state.writing |= free;
        // Not `then_some`: a turn that is not given must not be dropped.
        free.then(|| Turn(self))
    }

    /// Whether the VM is about to end, so that a snapshot is not worth while.
    pub(crate) fn is_ending(&self) -> bool {
        self.lock().ending
    }

    /// The VM ends: takes the last turn, for good. Waits for a snapshot under
    /// way; false when that does not end.
    pub(crate) fn last(&self) -> bool {
        self.lock().ending = true;
        self.changed.notify_all();
        self.wait(LONGEST_WAIT, |state| !state.writing || state.outside)
    }

    /// Does what the VM's end does not wait for: who writes has to see whether
    /// it [ends](Self::is_ending), before and after.
    pub(crate) fn outside(&self, work: impl FnOnce()) {
        self.lock().outside = true;
        self.changed.notify_all();
        work();
        self.lock().outside = false;
    }
}

/// Starts the thread. In the VM's own thread group: the program's own counts
/// and enumerates the program's threads.
pub(crate) fn start(agent: &'static Agent, jni: Jni<'_>) {
    let started = jni.framed(|| {
        let class = jni.find_class(c"java/lang/Thread")?;
        let group = agent
            .jvmti
            .system_thread_group()
            .map_err(|_| Thrown::default())?;
        let name = jni.new_string(c"loadhook snapshot")?;
        let arguments = [group, name].map(Argument::Object);
        let descriptor = c"(Ljava/lang/ThreadGroup;Ljava/lang/String;)V";
        let thread = jni.new_object(class, descriptor, &arguments)?;
        agent
            .jvmti
            .run_agent_thread(thread, run)
            .map_err(|_| Thrown::default())
    });
    if !matches!(started, Some(Ok(()))) {
        diagnostics::once(
            "snapshot-every: the snapshot thread cannot be started; the profile is written only at exit",
        );
    }
}

/// What the thread does.
fn run(agent: &'static Agent, jni: Jni<'_>) {
    let (Some(tracker), Some(interval)) = (
        agent.tracker.get(),
        agent.hook.options().settings.snapshot_every,
    ) else {
        return;
    };
    while !agent.turns.wait(interval.duration(), |state| state.ending) {
        let Some(_turn) = agent.turns.take() else {
            return;
        };
        if agent.hook.options().rewrites() && !tracker.heap.can_spare(jni) {
            diagnostics::once("a snapshot is skipped: the heap is nearly full");
            continue;
        }
        if let Err(error) = assembly::write_snapshot(agent, jni, tracker) {
            diagnostics::once(&format!(
                "a snapshot failed, and is tried again later: {error}"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writes_at_a_time() {
        let turns = Turns::default();
        let turn = turns.take();
        assert!(turn.is_some() && turns.take().is_none());
        drop(turn);
        assert!(turns.take().is_some());
        assert!(turns.take().is_some(), "a turn ends where it is dropped");
    }

    #[test]
    fn the_last_does_not_wait_for_the_vm() {
        let turns = Turns::default();
        let _turn = turns.take();
        turns.outside(|| assert!(turns.last()));
        assert!(turns.is_ending());
    }

    #[test]
    fn the_last_waits_for_the_one_under_way() {
        let turns = Turns::default();
        let turn = turns.take();
        std::thread::scope(|scope| {
            let last = scope.spawn(|| turns.last());
            assert!(turns.wait(LONGEST_WAIT, |state| state.ending));
            assert!(turns.is_ending() && !last.is_finished());
            drop(turn);
            assert!(last.join().expect("no panic"));
        });
        assert!(turns.take().is_none(), "none after the last");
    }
}
