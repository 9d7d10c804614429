//! JVM TI, safe to call.

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::ptr::{null, null_mut};

use crate::jvm::callbacks::AgentThread;
use crate::jvm::jni::Reference;
use crate::jvm::sys::{
    self, Boolean, Callbacks, Capabilities, FrameInfo, Int, JvmtiError, LineNumberEntry, Long,
    MethodId, Object, jvmti,
};

/// A JVM TI environment. The VM allows its use on every thread.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Error(pub(crate) JvmtiError);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JVM TI error {}", self.0)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

pub(super) fn check(error: JvmtiError) -> Result<()> {
    match error {
        0 => Ok(()),
        error => Err(Error(error)),
    }
}

pub(super) type Env = *mut sys::Table;

/// A `jmethodID`. The VM gives none to another method, not even when its class
/// is gone; what it says of one is only asked while the class is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MethodKey(pub(super) MethodId);

// SAFETY: method ids are valid on every thread.
unsafe impl Send for MethodKey {}
// SAFETY: as above.
unsafe impl Sync for MethodKey {}

#[cfg(test)]
impl MethodKey {
    /// One that no VM knows.
    pub(crate) fn unknown(number: usize) -> Self {
        MethodKey(std::ptr::without_provenance_mut(number))
    }
}

/// A place on a stack.
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

    pub(crate) fn add_capabilities(self, capabilities: Capabilities) -> Result<()> {
        type F = unsafe extern "system" fn(Env, *const Capabilities) -> JvmtiError;
        // SAFETY: the struct outlives the call.
        check(unsafe { self.function::<F>(jvmti::ADD_CAPABILITIES)(self.env, &capabilities) })
    }

    pub(super) fn set_callbacks(self, callbacks: &Callbacks) -> Result<()> {
        type F = unsafe extern "system" fn(Env, *const Callbacks, Int) -> JvmtiError;
        let size = size_of::<Callbacks>() as Int;
        // SAFETY: the VM copies `size` bytes of the struct.
        check(unsafe { self.function::<F>(jvmti::SET_EVENT_CALLBACKS)(self.env, callbacks, size) })
    }

    /// Enables or disables an event for all threads.
    pub(crate) fn notify(self, event: c_int, enable: bool) -> Result<()> {
        // Variadic in C; the variable part is reserved and empty.
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

    /// Runs `body` in a thread of the agent's: a daemon that the program's
    /// lists of threads leave out. `thread` was not started.
    pub(crate) fn run_agent_thread(self, thread: Reference, body: AgentThread) -> Result<()> {
        type Start = unsafe extern "system" fn(*mut c_void, *mut c_void, *mut c_void);
        type F = unsafe extern "system" fn(Env, Object, Start, *const c_void, Int) -> JvmtiError;
        // SAFETY: the function pointer is passed through as it is.
        check(unsafe {
            self.function::<F>(jvmti::RUN_AGENT_THREAD)(
                self.env,
                thread.0,
                super::callbacks::agent_thread,
                body as *const c_void,
                sys::THREAD_NORM_PRIORITY,
            )
        })
    }

    /// Memory of the VM: `None` when it has none left.
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
        type F = unsafe extern "system" fn(Env, *mut c_void) -> JvmtiError;
        // SAFETY: callers pass what the VM allocated, once; null is allowed.
        unsafe { self.function::<F>(jvmti::DEALLOCATE)(self.env, memory) };
    }

    /// A system property, as the VM prints it.
    pub(crate) fn system_property(self, name: &str) -> Option<String> {
        type F = unsafe extern "system" fn(Env, *const c_char, *mut *mut c_char) -> JvmtiError;
        let name = CString::new(name).ok()?;
        let mut value: *mut c_char = null_mut();
        // SAFETY: the name ends in a zero byte; the value is the VM's, given back below.
        let error = unsafe {
            self.function::<F>(jvmti::GET_SYSTEM_PROPERTY)(self.env, name.as_ptr(), &mut value)
        };
        check(error).ok()?;
        Some(String::from_utf8_lossy(&self.take_string(value)).into_owned())
    }

    /// Copies a string of the VM's and gives its memory back.
    pub(super) fn take_string(self, string: *mut c_char) -> Vec<u8> {
        if string.is_null() {
            return Vec::new();
        }
        // SAFETY: JVM TI strings end in a zero byte.
        let text = unsafe { CStr::from_ptr(string) }.to_bytes().to_vec();
        self.deallocate(string.cast());
        text
    }

    /// The classes loaded so far, as local references of the calling thread.
    pub(crate) fn loaded_classes(self) -> Result<Vec<Reference>> {
        type F = unsafe extern "system" fn(Env, *mut Int, *mut *mut Object) -> JvmtiError;
        let (mut count, mut classes): (Int, *mut Object) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_LOADED_CLASSES)(self.env, &mut count, &mut classes)
        })?;
        Ok(self.take_references(count, classes))
    }

    /// The classes that a loader has loaded, or has found in another one, as
    /// local references of the calling thread.
    pub(crate) fn class_loader_classes(self, loader: Reference) -> Result<Vec<Reference>> {
        type F = unsafe extern "system" fn(Env, Object, *mut Int, *mut *mut Object) -> JvmtiError;
        let (mut count, mut classes): (Int, *mut Object) = (0, null_mut());
        // SAFETY: null is the boot loader; both are written before success is
        // reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_CLASS_LOADER_CLASSES)(
                self.env,
                loader.0,
                &mut count,
                &mut classes,
            )
        })?;
        Ok(self.take_references(count, classes))
    }

    /// Copies references that the VM wrote and gives the memory back.
    pub(super) fn take_references(self, count: Int, references: *mut Object) -> Vec<Reference> {
        let len = usize::try_from(count).unwrap_or(0);
        let found = match references.is_null() {
            true => Vec::new(),
            // SAFETY: the VM wrote `count` references.
            false => unsafe { std::slice::from_raw_parts(references, len) }
                .iter()
                .map(|&reference| Reference(reference))
                .collect(),
        };
        self.deallocate(references.cast());
        found
    }

    /// The bytes that an object takes.
    pub(crate) fn object_size(self, object: Reference) -> Result<Long> {
        type F = unsafe extern "system" fn(Env, Object, *mut Long) -> JvmtiError;
        let mut size: Long = 0;
        // SAFETY: `size` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_OBJECT_SIZE)(self.env, object.0, &mut size)
        })?;
        Ok(size)
    }

    /// A class's descriptor, `Ljava/lang/String;`, in modified UTF-8.
    pub(crate) fn class_signature(self, class: Reference) -> Result<Vec<u8>> {
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
                class.0,
                &mut signature,
                null_mut(),
            )
        })?;
        Ok(self.take_string(signature))
    }

    /// Whether a class's initialiser has run, to its end and without an exception.
    pub(crate) fn is_initialised(self, class: Reference) -> Result<bool> {
        const INITIALIZED: i32 = 4;
        const ERROR: i32 = 8;
        type F = unsafe extern "system" fn(Env, Object, *mut i32) -> JvmtiError;
        let mut status = 0;
        // SAFETY: `status` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_CLASS_STATUS)(self.env, class.0, &mut status)
        })?;
        Ok(status & (INITIALIZED | ERROR) == INITIALIZED)
    }

    /// A class's loader; null for the boot loader.
    pub(crate) fn class_loader(self, class: Reference) -> Result<Reference> {
        type F = unsafe extern "system" fn(Env, Object, *mut Object) -> JvmtiError;
        let mut loader: Object = null_mut();
        // SAFETY: `loader` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_CLASS_LOADER)(self.env, class.0, &mut loader)
        })?;
        Ok(Reference(loader))
    }

    /// The named module that `package` of `loader` belongs to; null when it
    /// belongs to an unnamed one.
    pub(crate) fn named_module(self, loader: Reference, package: &[u8]) -> Option<Reference> {
        type F = unsafe extern "system" fn(Env, Object, *const c_char, *mut Object) -> JvmtiError;
        let package = CString::new(package).ok()?;
        let mut module: Object = null_mut();
        // SAFETY: the package's name ends in a zero byte.
        let error = unsafe {
            self.function::<F>(jvmti::GET_NAMED_MODULE)(
                self.env,
                loader.0,
                package.as_ptr(),
                &mut module,
            )
        };
        check(error).ok()?;
        (!module.is_null()).then_some(Reference(module))
    }

    pub(crate) fn is_modifiable(self, class: Reference) -> bool {
        type F = unsafe extern "system" fn(Env, Object, *mut Boolean) -> JvmtiError;
        let mut modifiable: Boolean = 0;
        // SAFETY: `modifiable` is written before success is reported.
        let error = unsafe {
            self.function::<F>(jvmti::IS_MODIFIABLE_CLASS)(self.env, class.0, &mut modifiable)
        };
        error == 0 && modifiable != 0
    }

    /// Sends the classes through the hook again, all or none.
    pub(crate) fn retransform(self, classes: &[Reference]) -> Result<()> {
        type F = unsafe extern "system" fn(Env, Int, *const Object) -> JvmtiError;
        let raw: Vec<Object> = classes.iter().map(|class| class.0).collect();
        let count = raw.len() as Int;
        // SAFETY: `raw` holds `count` references.
        check(unsafe {
            self.function::<F>(jvmti::RETRANSFORM_CLASSES)(self.env, count, raw.as_ptr())
        })
    }

    /// The VM's own thread group, in which its threads live.
    pub(crate) fn system_thread_group(self) -> Result<Reference> {
        type F = unsafe extern "system" fn(Env, *mut Int, *mut *mut Object) -> JvmtiError;
        let (mut count, mut groups): (Int, *mut Object) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_TOP_THREAD_GROUPS)(self.env, &mut count, &mut groups)
        })?;
        let first = match groups.is_null() || count < 1 {
            true => null_mut(),
            // SAFETY: the VM wrote `count` references.
            false => unsafe { *groups },
        };
        self.deallocate(groups.cast());
        Ok(Reference(first))
    }

    /// The identity hash code of an object.
    pub(crate) fn hash_code(self, object: Reference) -> Int {
        type F = unsafe extern "system" fn(Env, Object, *mut Int) -> JvmtiError;
        let mut hash: Int = 0;
        // SAFETY: `hash` is written before success is reported.
        unsafe { self.function::<F>(jvmti::GET_OBJECT_HASH_CODE)(self.env, object.0, &mut hash) };
        hash
    }

    /// The mean distance of samples of allocations, in bytes.
    pub(crate) fn set_heap_sampling_interval(self, bytes: Int) -> Result<()> {
        type F = unsafe extern "system" fn(Env, Int) -> JvmtiError;
        // SAFETY: no pointer but the environment.
        check(unsafe { self.function::<F>(jvmti::SET_HEAP_SAMPLING_INTERVAL)(self.env, bytes) })
    }

    /// The innermost `most` frames of the calling thread, innermost first.
    pub(crate) fn stack_trace(self, most: usize) -> Vec<StackFrame> {
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
        // SAFETY: a null thread is the calling one; there is room for `most` frames.
        let error = unsafe {
            self.function::<F>(jvmti::GET_STACK_TRACE)(
                self.env,
                null_mut(),
                0,
                most as Int,
                frames.as_mut_ptr(),
                &mut count,
            )
        };
        if check(error).is_err() {
            return Vec::new();
        }
        // SAFETY: the VM wrote `count` frames, at most `most`.
        unsafe { frames.set_len((count.max(0) as usize).min(most)) };
        frames.iter().map(StackFrame::of).collect()
    }

    /// Name and descriptor of a method on a stack, in modified UTF-8.
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

    /// The class of a method on a stack.
    pub(crate) fn declaring_class(self, method: MethodKey) -> Result<Reference> {
        type F = unsafe extern "system" fn(Env, MethodId, *mut Object) -> JvmtiError;
        let mut class: Object = null_mut();
        // SAFETY: `class` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_METHOD_DECLARING_CLASS)(self.env, method.0, &mut class)
        })?;
        Ok(Reference(class))
    }

    /// A class's `SourceFile`, in modified UTF-8.
    pub(crate) fn source_file_name(self, class: Reference) -> Result<Vec<u8>> {
        type F = unsafe extern "system" fn(Env, Object, *mut *mut c_char) -> JvmtiError;
        let mut name: *mut c_char = null_mut();
        // SAFETY: `name` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_SOURCE_FILE_NAME)(self.env, class.0, &mut name)
        })?;
        Ok(self.take_string(name))
    }

    /// Offsets at which lines begin, of a method on a stack, and those lines.
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
        let len = usize::try_from(count).unwrap_or(0);
        let lines = match entries.is_null() {
            true => Vec::new(),
            // SAFETY: the VM wrote `count` entries.
            false => unsafe { std::slice::from_raw_parts(entries, len) }
                .iter()
                .map(|entry| (entry.start_location, entry.line_number))
                .collect(),
        };
        self.deallocate(entries.cast());
        Ok(lines)
    }

    /// Gives an object a tag, which it has till it is gone.
    pub(crate) fn set_tag(self, object: Reference, tag: Long) -> Result<()> {
        type F = unsafe extern "system" fn(Env, Object, Long) -> JvmtiError;
        // SAFETY: the object is a reference of this thread's.
        check(unsafe { self.function::<F>(jvmti::SET_TAG)(self.env, object.0, tag) })
    }

    /// Collects the whole heap.
    pub(crate) fn collect_garbage(self) -> Result<()> {
        type F = unsafe extern "system" fn(Env) -> JvmtiError;
        // SAFETY: no pointer but the environment.
        check(unsafe { self.function::<F>(jvmti::FORCE_GARBAGE_COLLECTION)(self.env) })
    }

    /// The processor time of the calling thread, in nanoseconds; −1 when the
    /// VM cannot tell.
    pub(crate) fn current_thread_cpu_time(self) -> Long {
        type F = unsafe extern "system" fn(Env, *mut Long) -> JvmtiError;
        let mut nanos: Long = -1;
        // SAFETY: `nanos` is written before success is reported.
        let error =
            unsafe { self.function::<F>(jvmti::GET_CURRENT_THREAD_CPU_TIME)(self.env, &mut nanos) };
        if error == 0 { nanos } else { -1 }
    }

    /// The processor time of a platform thread, in nanoseconds; −1 when the VM
    /// cannot tell.
    pub(crate) fn thread_cpu_time(self, thread: Reference) -> Long {
        type F = unsafe extern "system" fn(Env, Object, *mut Long) -> JvmtiError;
        let mut nanos: Long = -1;
        // SAFETY: the thread is a reference of this thread's, and `nanos` is written
        // before success is reported.
        let error = unsafe {
            self.function::<F>(jvmti::GET_THREAD_CPU_TIME)(self.env, thread.0, &mut nanos)
        };
        if error == 0 { nanos } else { -1 }
    }
}

/// Memory of the VM that a class goes into; given back unless taken.
pub(crate) struct VmBuffer {
    jvmti: Jvmti,
    start: *mut c_uchar,
    len: usize,
}

impl VmBuffer {
    /// Hands the memory over to the VM.
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

/// No function for an event.
pub(super) const NO_CALLBACK: *const c_void = null();
