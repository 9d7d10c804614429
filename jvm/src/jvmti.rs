//! JVM TI functions that are safe to call. A function that returns local references takes a JNI environment. The
//! references belong to the frame of this environment.

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};

use thiserror::Error;

use crate::jni::Jni;
use crate::reference::{Local, Reference};
use crate::sys::{self, Callbacks, Capabilities, Int, JvmtiError, Long, MethodId, Object, jvmti};

/// A JVM TI environment. The JVM allows its use on every thread.
#[derive(Clone, Copy)]
pub struct Jvmti {
    /// The environment, for calls of functions that this crate has no wrapper for.
    pub env: *mut sys::Table,
}

// SAFETY: "a JVM TI environment is not bound to a thread" (JVM TI, Agent
// Start-Up); the pointer is valid until DisposeEnvironment, which is called when no thread
// uses the environment any more.
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

/// An error number of JVM TI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("JVM TI error {0}")]
pub struct Error(pub JvmtiError);

/// The result of a function of JVM TI.
pub type Result<T> = std::result::Result<T, Error>;

/// Converts an error number to a result.
pub fn check(error: JvmtiError) -> Result<()> {
    match error {
        0 => Ok(()),
        error => Err(Error(error)),
    }
}

/// A `jvmtiEnv`.
pub type Env = *mut sys::Table;

/// A `jmethodID`. The JVM reuses no id for another method, not even after the class is unloaded.
/// The agent passes an id to the JVM only while the class is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MethodKey(pub MethodId);

// SAFETY: method ids are valid on every thread.
unsafe impl Send for MethodKey {}
// SAFETY: as above.
unsafe impl Sync for MethodKey {}

impl MethodKey {
    /// Returns a method that no JVM knows, for tests.
    pub fn unknown(number: usize) -> Self {
        MethodKey(std::ptr::without_provenance_mut(number))
    }
}

impl Jvmti {
    /// Wraps an environment that `GetEnv` gave.
    ///
    /// # Safety
    /// `env` must be a `jvmtiEnv` of the running VM.
    pub unsafe fn new(env: *mut c_void) -> Self {
        Jvmti { env: env.cast() }
    }

    /// Returns the function at `place`, as the type `F`.
    ///
    /// # Safety
    /// `F` must be the type of that function in `jvmtiInterface_1_`.
    pub unsafe fn function<F: Copy>(self, place: usize) -> F {
        const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
        debug_assert!(place < jvmti::COUNT);
        // SAFETY: the table has `COUNT` places in every JDK from 11 on, and the
        // caller names the type.
        unsafe { std::mem::transmute_copy(&*(*self.env).functions.add(place)) }
    }

    /// Adds capabilities, all or none.
    pub fn add_capabilities(self, capabilities: Capabilities) -> Result<()> {
        type F = unsafe extern "system" fn(Env, *const Capabilities) -> JvmtiError;
        // SAFETY: the struct outlives the call.
        check(unsafe { self.function::<F>(jvmti::ADD_CAPABILITIES)(self.env, &capabilities) })
    }

    /// Sets the callbacks of all events.
    pub fn set_callbacks(self, callbacks: &Callbacks) -> Result<()> {
        type F = unsafe extern "system" fn(Env, *const Callbacks, Int) -> JvmtiError;
        let size = size_of::<Callbacks>() as Int;
        // SAFETY: the JVM copies `size` bytes of the struct.
        check(unsafe { self.function::<F>(jvmti::SET_EVENT_CALLBACKS)(self.env, callbacks, size) })
    }

    /// Enables or disables an event for all threads.
    pub fn notify(self, event: c_int, enable: bool) -> Result<()> {
        // The function is variadic in C. The variable part is reserved and empty.
        type F = unsafe extern "C" fn(Env, c_int, c_int, Object, ...) -> JvmtiError;
        // SAFETY: a null thread means all.
        check(unsafe {
            self.function::<F>(jvmti::SET_EVENT_NOTIFICATION_MODE)(
                self.env,
                c_int::from(enable),
                event,
                null_mut(),
            )
        })
    }

    /// Runs `body` in an agent thread: a daemon that the program's lists of threads leave out. `thread` is a
    /// `java.lang.Thread` that was not started.
    pub fn run_agent_thread(self, thread: Local<'_>, body: AgentThread) -> Result<()> {
        self.run_agent_thread_with(thread, sys::THREAD_NORM_PRIORITY, body)
    }

    /// Runs `body` in an agent thread like [`run_agent_thread`](Self::run_agent_thread), but with the given priority,
    /// from 1 to 10.
    pub fn run_agent_thread_with(
        self,
        thread: Local<'_>,
        priority: Int,
        body: AgentThread,
    ) -> Result<()> {
        type Start = unsafe extern "system" fn(*mut c_void, *mut c_void, *mut c_void);
        type F = unsafe extern "system" fn(Env, Object, Start, *const c_void, Int) -> JvmtiError;
        let body = Box::into_raw(Box::new(body));
        // SAFETY: `agent_thread` takes the box back, in the new thread.
        let started = check(unsafe {
            self.function::<F>(jvmti::RUN_AGENT_THREAD)(
                self.env,
                thread.object(),
                agent_thread,
                body.cast_const().cast(),
                priority,
            )
        });
        if started.is_err() {
            // SAFETY: no thread was started that could take the box.
            drop(unsafe { Box::from_raw(body) });
        }
        started
    }

    /// Allocates memory of the JVM, filled with zeros; `None` if the JVM has no memory.
    pub fn allocate(self, len: usize) -> Option<VmBuffer> {
        type F = unsafe extern "system" fn(Env, Long, *mut *mut c_uchar) -> JvmtiError;
        let mut start: *mut c_uchar = null_mut();
        let size = Long::try_from(len).ok()?;
        // SAFETY: `start` is written before success is reported.
        check(unsafe { self.function::<F>(jvmti::ALLOCATE)(self.env, size, &mut start) }).ok()?;
        if start.is_null() {
            return None;
        }
        // SAFETY: `len` bytes were allocated; a slice must be initialised.
        unsafe { start.write_bytes(0, len) };
        Some(VmBuffer {
            jvmti: self,
            start,
            len,
        })
    }

    /// Gives back memory that the JVM allocated.
    pub fn deallocate(self, memory: *mut c_void) {
        type F = unsafe extern "system" fn(Env, *mut c_uchar) -> JvmtiError;
        // SAFETY: callers pass memory that the JVM allocated, and pass it once.
        // Null is allowed.
        unsafe { self.function::<F>(jvmti::DEALLOCATE)(self.env, memory.cast()) };
    }

    /// Returns the value of a system property of the JVM.
    pub fn system_property(self, name: &str) -> Option<String> {
        type F = unsafe extern "system" fn(Env, *const c_char, *mut *mut c_char) -> JvmtiError;
        let name = CString::new(name).ok()?;
        let mut value: *mut c_char = null_mut();
        // SAFETY: the name ends in a zero byte; the value is the JVM's, given back below.
        let error = unsafe {
            self.function::<F>(jvmti::GET_SYSTEM_PROPERTY)(self.env, name.as_ptr(), &mut value)
        };
        check(error).ok()?;
        Some(String::from_utf8_lossy(&self.take_string(value)).into_owned())
    }

    /// Returns the version of Java, for example 17; 0 if it is not known.
    pub fn java_version(self) -> u32 {
        let version = self.system_property("java.vm.specification.version");
        let number = version.and_then(|version| version.parse().ok());
        number.unwrap_or(0)
    }

    /// Copies a string that the JVM allocated, and gives its memory back.
    pub(crate) fn take_string(self, string: *mut c_char) -> Vec<u8> {
        if string.is_null() {
            return Vec::new();
        }
        // SAFETY: JVM TI strings end in a zero byte.
        let text = unsafe { CStr::from_ptr(string) }.to_bytes().to_vec();
        self.deallocate(string.cast());
        text
    }

    /// Copies an array that the JVM allocated, and gives its memory back.
    ///
    /// # Safety
    /// `start` must be null, or the JVM must have allocated it and written `count` elements.
    pub unsafe fn take_array<T: Copy>(self, count: Int, start: *mut T) -> Vec<T> {
        let len = usize::try_from(count).unwrap_or(0);
        let elements = if start.is_null() {
            Vec::new()
        } else {
            // SAFETY: the caller's promise.
            unsafe { std::slice::from_raw_parts(start, len) }.to_vec()
        };
        self.deallocate(start.cast());
        elements
    }

    /// Copies local references that a function of JVM TI wrote, and gives the memory of the array
    /// back. The references belong to the frame of `_jni`, in which the function was called.
    pub(crate) fn take_references<'f>(
        self,
        _jni: Jni<'f>,
        count: Int,
        references: *mut Object,
    ) -> Vec<Local<'f>> {
        // SAFETY: the JVM wrote `count` references.
        let references = unsafe { self.take_array(count, references) };
        references.into_iter().map(Local::new).collect()
    }

    /// Returns the size of an object in bytes.
    pub fn object_size(self, object: Local<'_>) -> Result<Long> {
        type F = unsafe extern "system" fn(Env, Object, *mut Long) -> JvmtiError;
        let mut size: Long = 0;
        // SAFETY: `size` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_OBJECT_SIZE)(self.env, object.object(), &mut size)
        })?;
        Ok(size)
    }

    /// Returns the identity hash code of an object.
    pub fn hash_code(self, object: Local<'_>) -> Int {
        type F = unsafe extern "system" fn(Env, Object, *mut Int) -> JvmtiError;
        let mut hash: Int = 0;
        // SAFETY: `hash` is written before success is reported.
        unsafe {
            self.function::<F>(jvmti::GET_OBJECT_HASH_CODE)(self.env, object.object(), &mut hash)
        };
        hash
    }

    /// Sets the mean number of bytes between two sampled allocations.
    pub fn set_heap_sampling_interval(self, bytes: Int) -> Result<()> {
        type F = unsafe extern "system" fn(Env, Int) -> JvmtiError;
        // SAFETY: no pointer but the environment.
        check(unsafe { self.function::<F>(jvmti::SET_HEAP_SAMPLING_INTERVAL)(self.env, bytes) })
    }

    /// Sets the tag of an object in this environment.
    pub fn set_tag(self, object: Local<'_>, tag: Long) -> Result<()> {
        type F = unsafe extern "system" fn(Env, Object, Long) -> JvmtiError;
        // SAFETY: the object is a reference of the calling thread.
        check(unsafe { self.function::<F>(jvmti::SET_TAG)(self.env, object.object(), tag) })
    }

    /// Runs a garbage collection of the whole heap.
    pub fn collect_garbage(self) -> Result<()> {
        type F = unsafe extern "system" fn(Env) -> JvmtiError;
        // SAFETY: no pointer but the environment.
        check(unsafe { self.function::<F>(jvmti::FORCE_GARBAGE_COLLECTION)(self.env) })
    }
}

/// Memory of the JVM for the bytes of a class. The memory is given back unless the JVM takes it
/// over.
pub struct VmBuffer {
    jvmti: Jvmti,
    start: *mut c_uchar,
    len: usize,
}

impl VmBuffer {
    /// Hands the memory over to the JVM.
    pub fn into_raw(self) -> (*mut c_uchar, Int) {
        let raw = (self.start, self.len as Int);
        std::mem::forget(self);
        raw
    }
}

impl AsMut<[u8]> for VmBuffer {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: `allocate` initialised `len` bytes, which are ours alone.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl Drop for VmBuffer {
    fn drop(&mut self) {
        self.jvmti.deallocate(self.start.cast());
    }
}

/// The code that an agent thread runs.
pub type AgentThread = Box<dyn FnOnce(Jni<'_>) + Send>;

/// Runs `body`, a `Box<AgentThread>`, in a new agent thread. The JVM calls this function.
unsafe extern "system" fn agent_thread(_jvmti: *mut c_void, env: *mut c_void, body: *mut c_void) {
    // SAFETY: `run_agent_thread` passed a box of this type, and the JVM passes this thread's environment.
    let (body, jni) = unsafe { (Box::from_raw(body.cast::<AgentThread>()), Jni::new(env)) };
    // The panic hook has logged a panic.
    let _ = catch_unwind(AssertUnwindSafe(|| body(jni)));
}

/// The value for an event without a callback.
pub const NO_CALLBACK: *const c_void = null();
