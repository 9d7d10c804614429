//! Values that callbacks and signal handlers use, and that are freed when the agent leaves.
//!
//! When the agent leaves, callbacks may still run in any thread. So a callback begins a visit of the value that it
//! needs. The agent withdraws the value, so that no further visit can begin, and frees the value after the last visit
//! has ended.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A value that many threads visit, or no value. All functions except [`withdraw`](Self::withdraw) may be called in a
/// signal handler.
pub struct Visited<T> {
    value: AtomicPtr<T>,
    /// Number of visits that have not ended.
    visits: AtomicUsize,
}

/// The right to use the value. The visit ends when this is dropped.
pub struct Visit<T: 'static> {
    value: &'static T,
    visits: &'static AtomicUsize,
}

impl<T: 'static> Visited<T> {
    /// Makes a place without a value.
    pub const fn none() -> Self {
        Visited {
            value: AtomicPtr::new(null_mut()),
            visits: AtomicUsize::new(0),
        }
    }

    /// Puts a value, which callbacks can visit from now on. Returns `None`, and puts nothing, if there is a value
    /// already.
    pub fn put(&self, value: Box<T>) -> Option<&'static T> {
        let value = Box::into_raw(value);
        let put =
            self.value
                .compare_exchange(null_mut(), value, Ordering::SeqCst, Ordering::SeqCst);
        // SAFETY: the box was leaked just now, and only `Withdrawn::free` takes it back.
        unsafe {
            if put.is_ok() {
                Some(&*value)
            } else {
                drop(Box::from_raw(value));
                None
            }
        }
    }

    /// Begins a visit; `None` if there is no value.
    pub fn visit(&'static self) -> Option<Visit<T>> {
        // A visitor counts its visit before it reads the value. `withdraw` takes the value away before it reads the
        // count. So either the visitor sees that the value is gone, or `withdraw` sees the visit.
        self.visits.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the pointer is that of a box, which is freed only after it was withdrawn and no visit is left.
        let value = unsafe { self.value.load(Ordering::SeqCst).as_ref() };
        if value.is_none() {
            self.visits.fetch_sub(1, Ordering::SeqCst);
        }
        Some(Visit {
            value: value?,
            visits: &self.visits,
        })
    }

    /// Takes the value away from callbacks, and waits until all visits have ended, for `longest` at most. Returns
    /// `None` if there was no value, or if a visit has not ended in this time.
    pub fn withdraw(&self, longest: Duration) -> Option<Withdrawn<T>> {
        let value = self.value.swap(null_mut(), Ordering::SeqCst);
        let began = Instant::now();
        while self.visits.load(Ordering::SeqCst) > 0 {
            if began.elapsed() > longest {
                return None;
            }
            thread::sleep(Duration::from_millis(1));
        }
        (!value.is_null()).then_some(Withdrawn(value))
    }
}

/// A value that no callback uses any more.
pub struct Withdrawn<T>(*mut T);

impl<T> Withdrawn<T> {
    /// Frees the value. Threads that kept a reference to the value beyond their visits must have ended.
    pub fn free(self) {
        // SAFETY: `put` leaked the box, and nobody has a reference to it any more.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl<T: 'static> Visit<T> {
    /// Returns the value. A thread may use the reference after the visit only if the thread ends before the value is
    /// freed.
    pub fn value(&self) -> &'static T {
        self.value
    }
}

impl<T: 'static> Drop for Visit<T> {
    fn drop(&mut self) {
        self.visits.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_withdrawn_when_no_visit_is_left() {
        static NUMBER: Visited<u32> = Visited::none();
        assert!(NUMBER.visit().is_none());
        assert!(NUMBER.put(Box::new(7)).is_some() && NUMBER.put(Box::new(8)).is_none());
        let visit = NUMBER.visit().expect("a value");
        assert!(NUMBER.withdraw(Duration::ZERO).is_none());
        assert!(NUMBER.visit().is_none());
        assert_eq!(*visit.value(), 7);
        drop(visit);
        assert!(NUMBER.put(Box::new(8)).is_some());
        let withdrawn = NUMBER.withdraw(Duration::ZERO);
        withdrawn.expect("no visit is left").free();
    }
}
