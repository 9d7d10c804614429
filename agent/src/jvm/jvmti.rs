//! JVM TI functions that are safe to call. A function that returns local
//! references takes a JNI environment; the references belong to the frame of that
//! environment.

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};

use thiserror::Error;

use super::jni::Jni;
use super::reference::{Local, Reference};
use super::sys::{
    self, Boolean, Callbacks, Capabilities, FrameInfo, Int, JvmtiError, LineNumberEntry, Long,
    MethodId, Object, jvmti,
};

/// A JVM TI environment. The JVM allows its use on every thread.
#[derive(Clone, Copy)]
pub(crate) struct Jvmti {
    pub(super) env: *mut sys::Table,
}

// SAFETY: "a JVM TI environment is not bound to a thread" (JVM TI, Agent
// Start-Up); the pointer is valid until DisposeEnvironment, which the agent
// calls only when it gives up.
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

/// An error number of JVM TI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("JVM TI error {0}")]
pub(crate) struct Error(pub(crate) JvmtiError);

pub(crate) type Result<T> = std::result::Result<T, Error>;

pub(super) fn check(error: JvmtiError) -> Result<()> {
    match error {
        0 => Ok(()),
        error => Err(Error(error)),
    }
}

pub(super) type Env = *mut sys::Table;

/// A `jmethodID`. The JVM reuses no id for another method, not even after the class is unloaded.
/// The agent passes an id to the JVM only while the class is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MethodKey(pub(super) MethodId);

// SAFETY: method ids are valid on every thread.
unsafe impl Send for MethodKey {}
// SAFETY: as above.
unsafe impl Sync for MethodKey {}

#[cfg(test)]
impl MethodKey {
    /// A method that no JVM knows.
    pub(crate) fn unknown(number: usize) -> Self {
        MethodKey(std::ptr::without_provenance_mut(number))
    }
}

/// A frame of a stack: a method and a location in its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StackFrame {
    pub(crate) method: MethodKey,
    /// The offset in the code; −1 in a native method.
    pub(crate) location: Long,
}

impl StackFrame {
    pub(super) fn of(info: &FrameInfo) -> Self {
        StackFrame {
            method: MethodKey(info.method),
            location: info.location,
        }
    }
}

impl Jvmti {
    /// Wraps an environment that `GetEnv` gave.
    ///
    /// # Safety
    /// `env` must be a `jvmtiEnv` of the running VM.
    pub(super) unsafe fn new(env: *mut c_void) -> Self {
        Jvmti { env: env.cast() }
    }

    /// The function at `place`, as the type `F`.
    ///
    /// # Safety
    /// `F` must be the type of that function in `jvmtiInterface_1_`.
    pub(super) unsafe fn function<F: Copy>(self, place: usize) -> F {
        const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
        debug_assert!(place < jvmti::COUNT);
        // SAFETY: the table has `COUNT` places in every JDK from 11 on, and the
        // caller names the type.
        unsafe { std::mem::transmute_copy(&*(*self.env).functions.add(place)) }
    }

    /// Adds capabilities, all or none.
    pub(crate) fn add_capabilities(self, capabilities: Capabilities) -> Result<()> {
        type F = unsafe extern "system" fn(Env, *const Capabilities) -> JvmtiError;
        // SAFETY: the struct outlives the call.
        check(unsafe { self.function::<F>(jvmti::ADD_CAPABILITIES)(self.env, &capabilities) })
    }

    pub(super) fn set_callbacks(self, callbacks: &Callbacks) -> Result<()> {
        type F = unsafe extern "system" fn(Env, *const Callbacks, Int) -> JvmtiError;
        let size = size_of::<Callbacks>() as Int;
        // SAFETY: the JVM copies `size` bytes of the struct.
        check(unsafe { self.function::<F>(jvmti::SET_EVENT_CALLBACKS)(self.env, callbacks, size) })
    }

    /// Enables or disables an event for all threads.
    pub(crate) fn notify(self, event: c_int, enable: bool) -> Result<()> {
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
    pub(crate) fn run_agent_thread(self, thread: Local<'_>, body: AgentThread) -> Result<()> {
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
                sys::THREAD_NORM_PRIORITY,
            )
        });
        if started.is_err() {
            // SAFETY: no thread was started that could take the box.
            drop(unsafe { Box::from_raw(body) });
        }
        started
    }

    /// Allocates memory of the JVM; `None` if there is none.
    pub(crate) fn allocate(self, len: usize) -> Option<VmBuffer> {
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

    pub(super) fn deallocate(self, memory: *mut c_void) {
        type F = unsafe extern "system" fn(Env, *mut c_uchar) -> JvmtiError;
        // SAFETY: callers pass memory that the JVM allocated, and pass it once.
        // Null is allowed.
        unsafe { self.function::<F>(jvmti::DEALLOCATE)(self.env, memory.cast()) };
    }

    /// The value of a system property of the JVM.
    pub(crate) fn system_property(self, name: &str) -> Option<String> {
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

    /// Copies a string that the JVM allocated, and gives its memory back.
    pub(super) fn take_string(self, string: *mut c_char) -> Vec<u8> {
        if string.is_null() {
            return Vec::new();
        }
        // SAFETY: JVM TI strings end in a zero byte.
        let text = unsafe { CStr::from_ptr(string) }.to_bytes().to_vec();
        self.deallocate(string.cast());
        text
    }

    /// The classes loaded so far.
    pub(crate) fn loaded_classes<'f>(self, jni: Jni<'f>) -> Result<Vec<Local<'f>>> {
        type F = unsafe extern "system" fn(Env, *mut Int, *mut *mut Object) -> JvmtiError;
        let (mut count, mut classes): (Int, *mut Object) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_LOADED_CLASSES)(self.env, &mut count, &mut classes)
        })?;
        Ok(self.take_references(jni, count, classes))
    }

    /// The classes of which a loader is an initiating loader (JVMS 5.3): those that it has defined or has found in
    /// another loader.
    pub(crate) fn class_loader_classes<'f>(
        self,
        jni: Jni<'f>,
        loader: Local<'_>,
    ) -> Result<Vec<Local<'f>>> {
        type F = unsafe extern "system" fn(Env, Object, *mut Int, *mut *mut Object) -> JvmtiError;
        let (mut count, mut classes): (Int, *mut Object) = (0, null_mut());
        // SAFETY: null is the boot loader; both are written before success is
        // reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_CLASS_LOADER_CLASSES)(
                self.env,
                loader.object(),
                &mut count,
                &mut classes,
            )
        })?;
        Ok(self.take_references(jni, count, classes))
    }

    /// Copies an array that the JVM allocated, and gives its memory back.
    ///
    /// # Safety
    /// `start` must be null, or the JVM must have allocated it and written `count` elements.
    pub(super) unsafe fn take_array<T: Copy>(self, count: Int, start: *mut T) -> Vec<T> {
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

    /// Copies local references that a function of JVM TI wrote, and gives the memory of the array back. They belong to
    /// the frame of `_jni`, in which the function was called.
    pub(super) fn take_references<'f>(
        self,
        _jni: Jni<'f>,
        count: Int,
        references: *mut Object,
    ) -> Vec<Local<'f>> {
        // SAFETY: the JVM wrote `count` references.
        let references = unsafe { self.take_array(count, references) };
        references.into_iter().map(Local::new).collect()
    }

    /// The size of an object in bytes.
    pub(crate) fn object_size(self, object: Local<'_>) -> Result<Long> {
        type F = unsafe extern "system" fn(Env, Object, *mut Long) -> JvmtiError;
        let mut size: Long = 0;
        // SAFETY: `size` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_OBJECT_SIZE)(self.env, object.object(), &mut size)
        })?;
        Ok(size)
    }

    /// A class's descriptor, `Ljava/lang/String;`, in modified UTF-8.
    pub(crate) fn class_signature(self, class: Local<'_>) -> Result<Vec<u8>> {
        type F = unsafe extern "system" fn(
            Env,
            Object,
            *mut *mut c_char,
            *mut *mut c_char,
        ) -> JvmtiError;
        let mut signature: *mut c_char = null_mut();
        // SAFETY: a null generic signature is not asked for.
        check(unsafe {
            self.function::<F>(jvmti::GET_CLASS_SIGNATURE)(
                self.env,
                class.object(),
                &mut signature,
                null_mut(),
            )
        })?;
        Ok(self.take_string(signature))
    }

    /// Returns whether the initialiser of a class has completed normally.
    pub(crate) fn is_initialised(self, class: Local<'_>) -> Result<bool> {
        const INITIALIZED: i32 = 4;
        const ERROR: i32 = 8;
        type F = unsafe extern "system" fn(Env, Object, *mut i32) -> JvmtiError;
        let mut status = 0;
        // SAFETY: `status` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_CLASS_STATUS)(self.env, class.object(), &mut status)
        })?;
        Ok(status & (INITIALIZED | ERROR) == INITIALIZED)
    }

    /// The defining loader of a class; null for the boot loader.
    pub(crate) fn class_loader<'f>(self, _jni: Jni<'f>, class: Local<'_>) -> Result<Local<'f>> {
        type F = unsafe extern "system" fn(Env, Object, *mut Object) -> JvmtiError;
        let mut loader: Object = null_mut();
        // SAFETY: `loader` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_CLASS_LOADER)(self.env, class.object(), &mut loader)
        })?;
        Ok(Local::new(loader))
    }

    /// The named module that `package` of `loader` belongs to; `None` if it belongs to an unnamed module.
    pub(crate) fn named_module<'f>(
        self,
        _jni: Jni<'f>,
        loader: Local<'_>,
        package: &[u8],
    ) -> Option<Local<'f>> {
        type F = unsafe extern "system" fn(Env, Object, *const c_char, *mut Object) -> JvmtiError;
        let package = CString::new(package).ok()?;
        let mut module: Object = null_mut();
        // SAFETY: the package's name ends in a zero byte.
        let error = unsafe {
            self.function::<F>(jvmti::GET_NAMED_MODULE)(
                self.env,
                loader.object(),
                package.as_ptr(),
                &mut module,
            )
        };
        check(error).ok()?;
        (!module.is_null()).then_some(Local::new(module))
    }

    /// Returns whether a class can be retransformed.
    pub(crate) fn is_modifiable(self, class: Local<'_>) -> bool {
        type F = unsafe extern "system" fn(Env, Object, *mut Boolean) -> JvmtiError;
        let mut modifiable: Boolean = 0;
        // SAFETY: `modifiable` is written before success is reported.
        let error = unsafe {
            self.function::<F>(jvmti::IS_MODIFIABLE_CLASS)(
                self.env,
                class.object(),
                &mut modifiable,
            )
        };
        error == 0 && modifiable != 0
    }

    /// Retransforms the classes, all or none.
    pub(crate) fn retransform(self, classes: &[Local<'_>]) -> Result<()> {
        type F = unsafe extern "system" fn(Env, Int, *const Object) -> JvmtiError;
        let raw: Vec<Object> = classes.iter().map(|class| class.object()).collect();
        let count = raw.len() as Int;
        // SAFETY: `raw` holds `count` references.
        check(unsafe {
            self.function::<F>(jvmti::RETRANSFORM_CLASSES)(self.env, count, raw.as_ptr())
        })
    }

    /// The top-level thread group, `system`, to which the JVM's own threads belong.
    pub(crate) fn system_thread_group<'f>(self, jni: Jni<'f>) -> Result<Local<'f>> {
        type F = unsafe extern "system" fn(Env, *mut Int, *mut *mut Object) -> JvmtiError;
        let (mut count, mut groups): (Int, *mut Object) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_TOP_THREAD_GROUPS)(self.env, &mut count, &mut groups)
        })?;
        let groups = self.take_references(jni, count, groups);
        Ok(groups.first().copied().unwrap_or(Local::NULL))
    }

    /// The identity hash code of an object.
    pub(crate) fn hash_code(self, object: Local<'_>) -> Int {
        type F = unsafe extern "system" fn(Env, Object, *mut Int) -> JvmtiError;
        let mut hash: Int = 0;
        // SAFETY: `hash` is written before success is reported.
        unsafe {
            self.function::<F>(jvmti::GET_OBJECT_HASH_CODE)(self.env, object.object(), &mut hash)
        };
        hash
    }

    /// Sets the mean number of bytes between two sampled allocations.
    pub(crate) fn set_heap_sampling_interval(self, bytes: Int) -> Result<()> {
        type F = unsafe extern "system" fn(Env, Int) -> JvmtiError;
        // SAFETY: no pointer but the environment.
        check(unsafe { self.function::<F>(jvmti::SET_HEAP_SAMPLING_INTERVAL)(self.env, bytes) })
    }

    /// At most `most` frames of the calling thread, innermost first.
    pub(crate) fn stack_trace(self, most: usize) -> Vec<StackFrame> {
        self.stack_trace_of(Local::NULL, most)
    }

    /// At most `most` frames of a thread, innermost first. Null is the calling thread.
    pub(crate) fn stack_trace_of(self, thread: Local<'_>, most: usize) -> Vec<StackFrame> {
        type F = unsafe extern "system" fn(
            Env,
            Object,
            Int,
            Int,
            *mut FrameInfo,
            *mut Int,
        ) -> JvmtiError;
        let mut frames: Vec<FrameInfo> = Vec::with_capacity(most);
        let mut count: Int = 0;
        // SAFETY: the thread is null or a valid reference; there is room for `most` frames.
        let error = unsafe {
            self.function::<F>(jvmti::GET_STACK_TRACE)(
                self.env,
                thread.object(),
                0,
                most as Int,
                frames.as_mut_ptr(),
                &mut count,
            )
        };
        if check(error).is_err() {
            return Vec::new();
        }
        // SAFETY: the JVM wrote `count` frames, at most `most`.
        unsafe { frames.set_len((count.max(0) as usize).min(most)) };
        frames.iter().map(StackFrame::of).collect()
    }

    /// The state of a thread: bits of [`thread_state`](sys::thread_state), 0 if it has ended.
    pub(crate) fn thread_state(self, thread: Local<'_>) -> Int {
        type F = unsafe extern "system" fn(Env, Object, *mut Int) -> JvmtiError;
        let mut state: Int = 0;
        // SAFETY: the thread is a valid reference, and `state` is written before success is reported.
        let error = unsafe {
            self.function::<F>(jvmti::GET_THREAD_STATE)(self.env, thread.object(), &mut state)
        };
        if error == 0 { state } else { 0 }
    }

    /// Name and descriptor of a method, in modified UTF-8.
    pub(crate) fn method_name(self, method: MethodKey) -> Result<(Vec<u8>, Vec<u8>)> {
        type F = unsafe extern "system" fn(
            Env,
            MethodId,
            *mut *mut c_char,
            *mut *mut c_char,
            *mut *mut c_char,
        ) -> JvmtiError;
        let (mut name, mut descriptor): (*mut c_char, *mut c_char) = (null_mut(), null_mut());
        // SAFETY: a null generic signature is not asked for.
        check(unsafe {
            self.function::<F>(jvmti::GET_METHOD_NAME)(
                self.env,
                method.0,
                &mut name,
                &mut descriptor,
                null_mut(),
            )
        })?;
        Ok((self.take_string(name), self.take_string(descriptor)))
    }

    /// The class that declares a method.
    pub(crate) fn declaring_class<'f>(self, _jni: Jni<'f>, method: MethodKey) -> Result<Local<'f>> {
        type F = unsafe extern "system" fn(Env, MethodId, *mut Object) -> JvmtiError;
        let mut class: Object = null_mut();
        // SAFETY: `class` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_METHOD_DECLARING_CLASS)(self.env, method.0, &mut class)
        })?;
        Ok(Local::new(class))
    }

    /// A class's `SourceFile`, in modified UTF-8.
    pub(crate) fn source_file_name(self, class: Local<'_>) -> Result<Vec<u8>> {
        type F = unsafe extern "system" fn(Env, Object, *mut *mut c_char) -> JvmtiError;
        let mut name: *mut c_char = null_mut();
        // SAFETY: `name` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_SOURCE_FILE_NAME)(self.env, class.object(), &mut name)
        })?;
        Ok(self.take_string(name))
    }

    /// The `LineNumberTable` of a method: offsets in the code, and the lines that begin there.
    pub(crate) fn line_numbers(self, method: MethodKey) -> Result<Vec<(Long, Int)>> {
        type F = unsafe extern "system" fn(
            Env,
            MethodId,
            *mut Int,
            *mut *mut LineNumberEntry,
        ) -> JvmtiError;
        let (mut count, mut entries): (Int, *mut LineNumberEntry) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_LINE_NUMBER_TABLE)(
                self.env,
                method.0,
                &mut count,
                &mut entries,
            )
        })?;
        // SAFETY: the JVM wrote `count` entries.
        let entries = unsafe { self.take_array(count, entries) };
        let lines = entries
            .iter()
            .map(|entry| (entry.start_location, entry.line_number));
        Ok(lines.collect())
    }

    /// Sets the tag of an object in this environment.
    pub(crate) fn set_tag(self, object: Local<'_>, tag: Long) -> Result<()> {
        type F = unsafe extern "system" fn(Env, Object, Long) -> JvmtiError;
        // SAFETY: the object is a reference of the calling thread.
        check(unsafe { self.function::<F>(jvmti::SET_TAG)(self.env, object.object(), tag) })
    }

    /// Runs a garbage collection of the whole heap.
    pub(crate) fn collect_garbage(self) -> Result<()> {
        type F = unsafe extern "system" fn(Env) -> JvmtiError;
        // SAFETY: no pointer but the environment.
        check(unsafe { self.function::<F>(jvmti::FORCE_GARBAGE_COLLECTION)(self.env) })
    }

    /// The processor time of the calling thread, in nanoseconds; −1 if it is not known.
    pub(crate) fn current_thread_cpu_time(self) -> Long {
        type F = unsafe extern "system" fn(Env, *mut Long) -> JvmtiError;
        let mut nanos: Long = -1;
        // SAFETY: `nanos` is written before success is reported.
        let error =
            unsafe { self.function::<F>(jvmti::GET_CURRENT_THREAD_CPU_TIME)(self.env, &mut nanos) };
        if error == 0 { nanos } else { -1 }
    }

    /// The processor time of a platform thread, in nanoseconds; −1 if it is not known.
    pub(crate) fn thread_cpu_time(self, thread: Local<'_>) -> Long {
        type F = unsafe extern "system" fn(Env, Object, *mut Long) -> JvmtiError;
        let mut nanos: Long = -1;
        // SAFETY: the thread is a reference of this thread's, and `nanos` is written
        // before success is reported.
        let error = unsafe {
            self.function::<F>(jvmti::GET_THREAD_CPU_TIME)(self.env, thread.object(), &mut nanos)
        };
        if error == 0 { nanos } else { -1 }
    }
}

/// Memory of the JVM for the bytes of a class. It is given back unless the JVM takes it.
pub(crate) struct VmBuffer {
    jvmti: Jvmti,
    start: *mut c_uchar,
    len: usize,
}

impl VmBuffer {
    /// Hands the memory over to the JVM.
    pub(super) fn into_raw(self) -> (*mut c_uchar, Int) {
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

/// The body of an agent thread.
pub(crate) type AgentThread = Box<dyn FnOnce(Jni<'_>) + Send>;

/// Start function of an agent thread. `body` is a `Box<AgentThread>`.
unsafe extern "system" fn agent_thread(_jvmti: *mut c_void, env: *mut c_void, body: *mut c_void) {
    // SAFETY: `run_agent_thread` passed a box of this type, and the JVM passes this thread's environment.
    let (body, jni) = unsafe { (Box::from_raw(body.cast::<AgentThread>()), Jni::new(env)) };
    // The panic hook has logged a panic.
    let _ = catch_unwind(AssertUnwindSafe(|| body(jni)));
}

/// The value for an event without a callback.
pub(super) const NO_CALLBACK: *const c_void = null();
