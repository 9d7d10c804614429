//! Safe wrappers around the functions of JVMPI.

use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};

use loadhook_jvm::jvmpi::{self as abi, Interface};
use loadhook_profile::gc_events::ObjectId;

use super::super::sys::Table;
use super::super::vm::interface;
use crate::jvmpi::events::{CallFrame, MethodId, ThreadId};

/// The JVMPI of a JVM. Its functions may be called on every thread.
#[derive(Clone, Copy)]
pub(crate) struct Jvmpi(*mut Interface);

// SAFETY: the JVM never frees the interface, and its functions may be called on every thread.
unsafe impl Send for Jvmpi {}
// SAFETY: as for `Send`.
unsafe impl Sync for Jvmpi {}

/// Converts the id of a thread to the pointer that JVMPI uses.
fn env(thread: ThreadId) -> *mut c_void {
    without_provenance_mut(thread.0)
}

impl Jvmpi {
    /// Gets the JVMPI of a JVM, in the latest version that the JVM offers; `None` if it offers none.
    ///
    /// # Safety
    /// `vm` must be the running JVM's.
    pub(super) unsafe fn of(vm: *mut Table) -> Option<Self> {
        let mut versions = (abi::VERSION_1..=abi::VERSION_1_2).rev();
        // SAFETY: the caller's promise.
        let found = versions.find_map(|version| unsafe { interface(vm, version) });
        found.map(|found| Jvmpi(found.cast()))
    }

    /// Sets the function to which the JVM sends events. Must be called before an event is enabled.
    pub(super) fn set_notify(self, notify: unsafe extern "C" fn(*mut abi::Event)) {
        // SAFETY: the interface is the JVM's, and no event is enabled yet.
        unsafe { (*self.0).notify_event = Some(notify) }
    }

    /// Returns a pointer to the table of functions. It is not a reference, because a reference would also cover
    /// `notify_event`, a field that the profiler writes.
    fn functions(self) -> *const Interface {
        self.0
    }

    /// Enables an event. Returns false if the JVM does not send it.
    pub(crate) fn enable(self, event: i32) -> bool {
        // SAFETY: the function is the JVM's. No event has an argument.
        unsafe { ((*self.functions()).enable_event)(event, null_mut()) == abi::SUCCESS }
    }

    /// Requests an event about an object. The JVM sends the event before this function returns. Returns false if the
    /// JVM sends none.
    pub(crate) fn request(self, event: i32, object: ObjectId) -> bool {
        let argument = without_provenance_mut(object.0 as usize);
        // SAFETY: the function is the JVM's. These events take the id of an object.
        unsafe { ((*self.functions()).request_event)(event, argument) == abi::SUCCESS }
    }

    /// Returns at most `depth` frames of a thread, innermost first.
    pub(crate) fn call_trace(self, thread: ThreadId, depth: usize) -> Vec<CallFrame> {
        let empty = abi::CallFrame {
            line: 0,
            method: null_mut(),
        };
        let mut frames = vec![empty; depth];
        let mut trace = abi::CallTrace {
            env: env(thread),
            count: 0,
            frames: frames.as_mut_ptr(),
        };
        // SAFETY: the trace has room for `depth` frames.
        unsafe { ((*self.functions()).get_call_trace)(&mut trace, depth as abi::Int) };
        frames.truncate(usize::try_from(trace.count).unwrap_or(0));
        let frame = |frame: &abi::CallFrame| CallFrame {
            method: MethodId(frame.method.addr()),
            line: u32::try_from(frame.line).ok(),
        };
        frames.iter().map(frame).collect()
    }

    /// Returns the class of a method.
    pub(crate) fn class_of_method(self, method: MethodId) -> Option<ObjectId> {
        // SAFETY: the id is from a stack of this thread, so the method's class is loaded.
        let class =
            unsafe { ((*self.functions()).get_method_class)(without_provenance_mut(method.0)) };
        (class != 0).then_some(ObjectId(class as u64))
    }

    /// Returns the object of a thread.
    pub(crate) fn thread_object(self, thread: ThreadId) -> Option<ObjectId> {
        // SAFETY: the function is the JVM's, and the thread is the calling one.
        let object = unsafe { ((*self.functions()).get_thread_object)(env(thread)) };
        (object != 0).then_some(ObjectId(object as u64))
    }

    /// Runs a garbage collection. The JVM sends the events of the collection before this function returns.
    pub(crate) fn run_gc(self) {
        // SAFETY: the function is the JVM's.
        unsafe { ((*self.functions()).run_gc)() }
    }
}
