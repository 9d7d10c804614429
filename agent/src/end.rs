//! Makes sure that an agent's work is ended only once. The end of the JVM and a detach may begin to end it at the same
//! moment.

use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::locks::{lock, wait};

#[derive(Default, PartialEq)]
enum State {
    #[default]
    Working,
    Ending,
    Ended,
}

/// Lets one thread end the work. Other threads wait for that thread.
#[derive(Default)]
pub(crate) struct End {
    state: Mutex<State>,
    changed: Condvar,
}

/// Notes the end of the work when this is dropped, also after a panic.
struct Ends<'e>(&'e End);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        *lock(&self.0.state) = State::Ended;
        self.0.changed.notify_all();
    }
}

impl End {
    /// Runs `finish`, unless another thread has begun to run it. In that case waits until that thread has finished, at
    /// most for `longest`.
    pub(crate) fn once(&self, longest: Duration, finish: impl FnOnce()) {
        let mut state = lock(&self.state);
        if *state == State::Working {
            *state = State::Ending;
            drop(state);
            let _ends = Ends(self);
            finish();
            return;
        }
        let began = Instant::now();
        while *state != State::Ended {
            let left = longest.saturating_sub(began.elapsed());
            if left.is_zero() {
                return;
            }
            state = wait(&self.changed, state, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn work_ends_once() {
        let (end, count) = (End::default(), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    end.once(Duration::MAX, || {
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                    assert_eq!(count.load(Ordering::Relaxed), 1, "the others wait");
                });
            }
        });
    }

    #[test]
    fn work_that_panics_has_ended() {
        let end = End::default();
        std::thread::scope(|scope| {
            let work = scope.spawn(|| end.once(Duration::MAX, || panic!("as intended")));
            assert!(work.join().is_err());
        });
        end.once(Duration::MAX, || panic!("the work begins again"));
    }

    #[test]
    fn a_wait_for_the_other_thread_has_an_end() {
        let (end, is_over) = (End::default(), Mutex::new(false));
        end.once(Duration::MAX, || {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    end.once(Duration::from_millis(1), || panic!("the work ends twice"));
                    *lock(&is_over) = true;
                });
            });
            assert!(*lock(&is_over), "the other thread has given up");
        });
    }
}
