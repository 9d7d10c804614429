//! The calls of methods that a thread has begun and not ended.

use std::cell::UnsafeCell;

use super::layer::Profilers;
use crate::abi::MethodId;

/// A call of a method.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) method: MethodId,
    /// The method's number in its probes.
    pub(super) number: u32,
    /// The profilers that may get `METHOD_EXIT`.
    pub(super) told: Profilers,
}

// SAFETY: the method's id belongs to no thread, and nothing reads memory through it. A virtual thread takes its calls to
// other carriers.
unsafe impl Send for Call {}

/// The calls of a thread, the innermost last.
///
/// It is no `RefCell`, because each event would write the flag of a `RefCell` and wait for it several times. The
/// functions here hold the list only while they run, and call nothing that could come back to it.
pub(super) struct Calls(UnsafeCell<Vec<Call>>);

impl Calls {
    pub(super) const fn new() -> Self {
        Calls(UnsafeCell::new(Vec::new()))
    }

    #[inline]
    #[allow(
        clippy::mut_from_ref,
        reason = "private, and never held by two callers"
    )]
    fn list(&self) -> &mut Vec<Call> {
        // SAFETY: `Calls` belongs to one thread, and no function below calls another one while it holds the list.
        unsafe { &mut *self.0.get() }
    }

    /// Adds a call that has begun.
    #[inline]
    pub(super) fn push(&self, call: Call) {
        self.list().push(call);
    }

    /// Removes and returns the innermost call if it is one of the method with this number.
    #[inline]
    pub(super) fn pop_of(&self, number: u32) -> Option<Call> {
        self.list().pop_if(|call| call.number == number)
    }

    /// Removes and returns the innermost call if there are more than `keep`.
    pub(super) fn pop_above(&self, keep: usize) -> Option<Call> {
        let list = self.list();
        if list.len() > keep { list.pop() } else { None }
    }

    /// Returns the number of calls outside of the innermost call of a method; `None` if it has no call.
    pub(super) fn outside_of(&self, number: u32) -> Option<usize> {
        self.list().iter().rposition(|call| call.number == number)
    }

    /// Keeps only these profilers, and forgets the calls of which no profiler was told then.
    pub(super) fn retain(&self, profilers: Profilers) {
        self.list().retain_mut(|call| {
            call.told &= profilers;
            call.told != 0
        });
    }

    /// Sets the calls, and returns those that were here.
    pub(super) fn replace(&self, calls: Vec<Call>) -> Vec<Call> {
        std::mem::replace(self.list(), calls)
    }

    /// Forgets all calls.
    pub(super) fn clear(&self) {
        *self.list() = Vec::new();
    }
}
