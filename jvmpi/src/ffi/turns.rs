//! Work that one thread at a time carries out, for all threads that have asked for it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::own;

/// The longest wait in which the working thread makes no step. A profiler may have suspended that thread, or the thread
/// may wait for a lock that the waiting thread holds.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 1 });

pub(super) struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Number of times that the work was asked for, and number of the last time for which it is done.
    asked: u64,
    done: u64,
    steps: u64,
    /// Token of the thread that works.
    worker: Option<usize>,
}

impl Turns {
    pub(super) const fn new() -> Self {
        Turns {
            state: Mutex::new(State {
                asked: 0,
                done: 0,
                steps: 0,
                worker: None,
            }),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the work is to be done, even if a thread is at it already.
    pub(super) fn ask(&self) {
        self.state().asked += 1;
    }

    /// Notes that the working thread has done a part of its work.
    pub(super) fn step(&self) {
        self.state().steps += 1;
        self.changed.notify_all();
    }

    /// Does the work that was asked for, and what is asked for meanwhile. If another thread is at it, waits until that
    /// thread has done what was asked for before this call. Returns false if that thread makes no step for
    /// [`PATIENCE`]. If the calling thread is itself at work, returns true at once: the thread does this work after its
    /// present work.
    pub(super) fn work(&self, work: impl Fn()) -> bool {
        let me = own::token();
        let mut state = self.state();
        let goal = state.asked;
        while state.worker.is_some() {
            if state.worker == Some(me) || state.done >= goal {
                return true;
            }
            let (steps, done) = (state.steps, state.done);
            let stands =
                |it: &mut State| it.worker.is_some() && (it.steps, it.done) == (steps, done);
            let waited = self.changed.wait_timeout_while(state, PATIENCE, stands);
            let (now, result) = waited.unwrap_or_else(PoisonError::into_inner);
            if result.timed_out() {
                return false;
            }
            state = now;
        }
        self.work_alone(state, me, work);
        true
    }

    /// Does the work that was asked for, and what is asked for meanwhile, unless a thread is at it. That thread does
    /// this work, too, but nobody waits for it.
    pub(super) fn work_if_free(&self, work: impl Fn()) {
        let state = self.state();
        if state.worker.is_none() {
            self.work_alone(state, own::token(), work);
        }
    }

    /// Does the work as the thread with the token `me`, while no other thread is at it.
    fn work_alone<'s>(&'s self, mut state: MutexGuard<'s, State>, me: usize, work: impl Fn()) {
        while state.done < state.asked {
            let asked = state.asked;
            state.worker = Some(me);
            // The lock is free meanwhile, because the JVM may stop the calling thread.
            drop(state);
            let turn = Turn(self);
            work();
            drop(turn);
            state = self.state();
            state.done = asked;
            self.changed.notify_all();
        }
    }
}

/// The time in which a thread works. It also ends if the work panics. Otherwise all other threads would wait for ever.
struct Turn<'t>(&'t Turns);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.state().worker = None;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_second_thread_returns_when_the_first_has_done_its_work_too() {
        let turns = Turns::new();
        let done = AtomicU32::new(0);
        let (begun, begins) = mpsc::channel();
        let (asked, asks) = mpsc::channel();
        thread::scope(|threads| {
            let (turns, done) = (&turns, &done);
            let first = threads.spawn(move || {
                turns.ask();
                turns.work(|| {
                    if done.load(Ordering::SeqCst) == 0 {
                        begun.send(()).expect("the second thread waits");
                        asks.recv().expect("the second thread asks");
                        turns.step();
                    }
                    done.fetch_add(1, Ordering::SeqCst);
                })
            });
            begins.recv().expect("the first thread begins");
            turns.ask();
            asked.send(()).expect("the first thread waits");
            let add = || {
                done.fetch_add(1, Ordering::SeqCst);
            };
            assert!(turns.work(add));
            // What the first thread began before the second asked does not count.
            assert_eq!(done.load(Ordering::SeqCst), 2);
            assert!(first.join().expect("the first thread"));
        });
    }

    #[test]
    fn a_thread_that_does_not_wait_leaves_its_work_to_the_working_thread() {
        let turns = Turns::new();
        let done = AtomicU32::new(0);
        let add = || {
            done.fetch_add(1, Ordering::SeqCst);
        };
        turns.ask();
        turns.work_if_free(add);
        assert_eq!(done.load(Ordering::SeqCst), 1);
        turns.ask();
        let worked = turns.work(|| {
            if done.fetch_add(1, Ordering::SeqCst) == 1 {
                turns.ask();
                thread::scope(|threads| {
                    threads.spawn(|| turns.work_if_free(|| unreachable!("a thread is at work")));
                });
            }
        });
        assert!(worked);
        assert_eq!(done.load(Ordering::SeqCst), 3);
    }

    #[test]
    fn a_thread_does_not_wait_for_itself() {
        let turns = Turns::new();
        let done = AtomicU32::new(0);
        turns.ask();
        let worked = turns.work(|| {
            if done.fetch_add(1, Ordering::SeqCst) == 0 {
                turns.ask();
                assert!(turns.work(|| unreachable!("it is at work already")));
            }
        });
        assert!(worked);
        assert_eq!(done.load(Ordering::SeqCst), 2);
    }
}
