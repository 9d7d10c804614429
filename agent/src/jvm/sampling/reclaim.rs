//! Finds out when memory that signal handlers read can be freed, because no handler can read it any more.
//!
//! A handler claims one of a fixed number of desks, and writes the number of the present epoch there. A thread that
//! removes something from a table begins a new epoch afterwards. The removed thing may be freed when every desk is
//! empty, or was claimed in the new epoch or a later one.

use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

/// Number of handlers that can run at a time. If more threads are interrupted at once, their samples are lost.
const DESKS: usize = 64;

/// The maximum number of frames of a stack that are followed.
pub(super) const MAX_FRAMES: usize = 2048;

/// A period of time. It ends when something is removed from a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Epoch(u64);

/// The desks for all handlers, and the present epoch.
pub(super) struct Desks {
    epoch: AtomicU64,
    /// For each desk the epoch in which it was claimed; 0 if the desk is empty.
    claimed: [AtomicU64; DESKS],
    /// Room for the frames that handlers find, [`MAX_FRAMES`] for each desk. It is one array, which is so large that the
    /// kernel provides its pages at the first write. Arrays of one desk would be cleared at the JVM's start.
    frames: Box<[AtomicU64]>,
}

impl Desks {
    pub(super) fn new() -> Self {
        Desks {
            epoch: AtomicU64::new(1),
            claimed: [const { AtomicU64::new(0) }; DESKS],
            frames: zeroed(DESKS * MAX_FRAMES),
        }
    }

    /// Claims a desk; `None` if all are taken. The signal handler calls this.
    pub(super) fn claim(&self) -> Option<Desk<'_>> {
        let now = self.epoch.load(Ordering::SeqCst);
        for (claimed, frames) in self.claimed.iter().zip(self.frames.chunks(MAX_FRAMES)) {
            let claim = claimed.compare_exchange(0, now, Ordering::SeqCst, Ordering::Relaxed);
            if claim.is_ok() {
                // The fence makes sure that the handler reads tables only after the claim.
                fence(Ordering::SeqCst);
                return Some(Desk { claimed, frames });
            }
        }
        None
    }

    /// Begins a new epoch, after something was removed from a table. Returns the epoch that has ended.
    pub(super) fn retire(&self) -> Epoch {
        fence(Ordering::SeqCst);
        Epoch(self.epoch.fetch_add(1, Ordering::SeqCst))
    }

    /// Returns whether all handlers that began in `epoch` or before have ended.
    pub(super) fn is_over(&self, epoch: Epoch) -> bool {
        fence(Ordering::SeqCst);
        self.claimed.iter().all(|claimed| {
            let claimed = claimed.load(Ordering::SeqCst);
            claimed == 0 || claimed > epoch.0
        })
    }
}

/// A claimed desk.
pub(super) struct Desk<'d> {
    claimed: &'d AtomicU64,
    frames: &'d [AtomicU64],
}

impl Desk<'_> {
    /// Returns the memory into which the handler writes frames.
    pub(super) fn frames(&self) -> &[AtomicU64] {
        self.frames
    }
}

impl Drop for Desk<'_> {
    fn drop(&mut self) {
        self.claimed.store(0, Ordering::Release);
    }
}

/// A type of which all-zero bytes are a valid value.
///
/// # Safety
/// All-zero bytes must be a valid value of the type.
pub(super) unsafe trait Word {}

// SAFETY: all-zero bytes are the number 0.
unsafe impl Word for AtomicU32 {}
// SAFETY: all-zero bytes are the number 0.
unsafe impl Word for AtomicU64 {}
// SAFETY: all-zero bytes are the null pointer.
unsafe impl<T> Word for AtomicPtr<T> {}

/// Allocates an array of zeroed words. The kernel provides a page of a large array only when the page is first written.
pub(super) fn zeroed<T: Word>(len: usize) -> Box<[T]> {
    // SAFETY: `Word` promises that zeros are a value.
    unsafe { Box::<[T]>::new_zeroed_slice(len).assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_kept_while_a_handler_of_its_time_runs() {
        let desks = Desks::new();
        let before = desks.claim().unwrap();
        let epoch = desks.retire();
        let after = desks.claim().unwrap();
        assert!(!desks.is_over(epoch));
        drop(before);
        assert!(desks.is_over(epoch), "the later handler does not count");
        let next = desks.retire();
        assert!(!desks.is_over(next));
        drop(after);
        assert!(desks.is_over(next));
    }

    #[test]
    fn desks_are_bounded_and_used_again() {
        let desks = Desks::new();
        let all: Vec<_> = (0..DESKS).map(|_| desks.claim().unwrap()).collect();
        assert!(desks.claim().is_none());
        drop(all);
        assert!(desks.claim().is_some());
    }
}
