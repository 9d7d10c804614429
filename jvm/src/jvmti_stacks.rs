//! JVM TI functions for threads, their stacks, and the methods of stack frames.

use std::ffi::c_char;
use std::ptr::null_mut;

use crate::jni::Jni;
use crate::jvmti::{Env, Jvmti, MethodKey, Result, check};
use crate::reference::{Local, Reference};
use crate::sys::{
    FrameInfo, Int, JvmtiError, LineNumberEntry, Long, MethodId, Object, StackInfo, jvmti,
};

/// A frame of a stack: a method and a location in its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackFrame {
    /// The method.
    pub method: MethodKey,
    /// The offset in the code; −1 in a native method.
    pub location: Long,
}

impl StackFrame {
    /// Converts a frame that the JVM wrote.
    pub fn of(info: &FrameInfo) -> Self {
        StackFrame {
            method: MethodKey(info.method),
            location: info.location,
        }
    }
}

/// A thread and its innermost frames.
pub struct ThreadStack<'f> {
    /// The thread.
    pub thread: Local<'f>,
    /// The thread's frames, innermost first.
    pub frames: Vec<StackFrame>,
}

impl Jvmti {
    /// Returns the platform threads that are alive.
    pub fn threads<'f>(self, jni: Jni<'f>) -> Result<Vec<Local<'f>>> {
        type F = unsafe extern "system" fn(Env, *mut Int, *mut *mut Object) -> JvmtiError;
        let (mut count, mut threads): (Int, *mut Object) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_ALL_THREADS)(self.env, &mut count, &mut threads)
        })?;
        Ok(self.take_references(jni, count, threads))
    }

    /// Returns the calling thread. If a virtual thread runs on it, returns the virtual thread.
    pub fn current_thread<'f>(self, _jni: Jni<'f>) -> Result<Local<'f>> {
        type F = unsafe extern "system" fn(Env, *mut Object) -> JvmtiError;
        let mut thread: Object = null_mut();
        // SAFETY: `thread` is written before success is reported.
        check(unsafe { self.function::<F>(jvmti::GET_CURRENT_THREAD)(self.env, &mut thread) })?;
        Ok(Local::new(thread))
    }

    /// Returns the top-level thread group, `system`, to which the JVM's own threads belong.
    pub fn system_thread_group<'f>(self, jni: Jni<'f>) -> Result<Local<'f>> {
        type F = unsafe extern "system" fn(Env, *mut Int, *mut *mut Object) -> JvmtiError;
        let (mut count, mut groups): (Int, *mut Object) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_TOP_THREAD_GROUPS)(self.env, &mut count, &mut groups)
        })?;
        let groups = self.take_references(jni, count, groups);
        Ok(groups.first().copied().unwrap_or(Local::NULL))
    }

    /// Returns the state of a thread: bits of [`thread_state`](crate::sys::thread_state), 0 if it has ended.
    pub fn thread_state(self, thread: Local<'_>) -> Int {
        type F = unsafe extern "system" fn(Env, Object, *mut Int) -> JvmtiError;
        let mut state: Int = 0;
        // SAFETY: the thread is a valid reference, and `state` is written before success is reported.
        let error = unsafe {
            self.function::<F>(jvmti::GET_THREAD_STATE)(self.env, thread.object(), &mut state)
        };
        if error == 0 { state } else { 0 }
    }

    /// Returns at most `most` frames of the calling thread, innermost first.
    pub fn stack_trace(self, most: usize) -> Vec<StackFrame> {
        self.stack_trace_of(Local::NULL, most)
    }

    /// Returns at most `most` frames of a thread, innermost first. Null is the calling thread.
    pub fn stack_trace_of(self, thread: Local<'_>, most: usize) -> Vec<StackFrame> {
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

    /// Returns the stacks of several threads, the innermost frame first. A stack has at most `most` frames. The stack
    /// of a thread that has ended is empty.
    pub fn stacks<'f>(
        self,
        _jni: Jni<'f>,
        threads: &[Local<'_>],
        most: Int,
    ) -> Result<Vec<ThreadStack<'f>>> {
        type F = unsafe extern "system" fn(
            Env,
            Int,
            *const Object,
            Int,
            *mut *mut StackInfo,
        ) -> JvmtiError;
        let threads: Vec<Object> = threads.iter().map(|thread| thread.object()).collect();
        let mut stacks: *mut StackInfo = null_mut();
        // SAFETY: the JVM reads the given number of references, and writes `stacks` before it
        // reports success.
        check(unsafe {
            self.function::<F>(jvmti::GET_THREAD_LIST_STACK_TRACES)(
                self.env,
                threads.len() as Int,
                threads.as_ptr(),
                most,
                &mut stacks,
            )
        })?;
        let found = if stacks.is_null() {
            &[][..]
        } else {
            // SAFETY: the JVM wrote a stack for each thread.
            unsafe { std::slice::from_raw_parts(stacks, threads.len()) }
        };
        let stack = |info: &StackInfo| {
            let frames: &[FrameInfo] = if info.frame_buffer.is_null() {
                &[]
            } else {
                let count = info.frame_count.max(0) as usize;
                // SAFETY: the JVM wrote `count` frames in the same memory.
                unsafe { std::slice::from_raw_parts(info.frame_buffer, count) }
            };
            ThreadStack {
                thread: Local::new(info.thread),
                frames: frames.iter().map(StackFrame::of).collect(),
            }
        };
        let all = found.iter().map(stack).collect();
        self.deallocate(stacks.cast());
        Ok(all)
    }

    /// Returns the value of the local variable in a slot of the calling thread's innermost frame. The variable must be
    /// an `int`.
    pub fn local_int(self, slot: u16) -> Result<Int> {
        type F = unsafe extern "system" fn(Env, Object, Int, Int, *mut Int) -> JvmtiError;
        let mut value: Int = 0;
        // SAFETY: null is the calling thread, and `value` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_LOCAL_INT)(
                self.env,
                null_mut(),
                0,
                Int::from(slot),
                &mut value,
            )
        })?;
        Ok(value)
    }

    /// Returns the name and descriptor of a method, in modified UTF-8.
    pub fn method_name(self, method: MethodKey) -> Result<(Vec<u8>, Vec<u8>)> {
        type F = unsafe extern "system" fn(
            Env,
            MethodId,
            *mut *mut c_char,
            *mut *mut c_char,
            *mut *mut c_char,
        ) -> JvmtiError;
        let (mut name, mut descriptor): (*mut c_char, *mut c_char) = (null_mut(), null_mut());
        // SAFETY: null means that the generic signature is not requested.
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

    /// Returns the class that declares a method.
    pub fn declaring_class<'f>(self, _jni: Jni<'f>, method: MethodKey) -> Result<Local<'f>> {
        type F = unsafe extern "system" fn(Env, MethodId, *mut Object) -> JvmtiError;
        let mut class: Object = null_mut();
        // SAFETY: `class` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_METHOD_DECLARING_CLASS)(self.env, method.0, &mut class)
        })?;
        Ok(Local::new(class))
    }

    /// Returns the `LineNumberTable` of a method: offsets in the code, and the lines that begin there.
    pub fn line_numbers(self, method: MethodKey) -> Result<Vec<(Long, Int)>> {
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

    /// Returns the processor time of the calling thread, in nanoseconds; −1 if it is not known.
    pub fn current_thread_cpu_time(self) -> Long {
        type F = unsafe extern "system" fn(Env, *mut Long) -> JvmtiError;
        let mut nanos: Long = -1;
        // SAFETY: `nanos` is written before success is reported.
        let error =
            unsafe { self.function::<F>(jvmti::GET_CURRENT_THREAD_CPU_TIME)(self.env, &mut nanos) };
        if error == 0 { nanos } else { -1 }
    }

    /// Returns the processor time of a platform thread, in nanoseconds; −1 if it is not known.
    pub fn thread_cpu_time(self, thread: Local<'_>) -> Long {
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
