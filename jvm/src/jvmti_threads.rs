//! JVM TI functions for threads and their names, for objects by their tags, and for JNI's table.

use std::ffi::c_int;
use std::ptr::null_mut;

use crate::jni::Jni;
use crate::jvmti::{Env, Jvmti, MethodKey, Result, check};
use crate::reference::{Local, Reference};
use crate::sys::{
    Boolean, Int, JniTable, JvmtiError, Long, MethodId, Object, ThreadGroupInfo, ThreadInfo, jvmti,
};

/// Names of a thread, in modified UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadNames {
    /// Name of the thread.
    pub name: Vec<u8>,
    /// Name of its group; empty if the thread has ended.
    pub group: Vec<u8>,
    /// Name of the group's parent; empty if there is none.
    pub parent: Vec<u8>,
}

impl Jvmti {
    /// Suspends a thread. The JVM refuses threads that are suspended or have ended.
    pub fn suspend(self, thread: Local<'_>) -> Result<()> {
        type F = unsafe extern "system" fn(Env, Object) -> JvmtiError;
        // SAFETY: the thread is a valid reference.
        check(unsafe { self.function::<F>(jvmti::SUSPEND_THREAD)(self.env, thread.object()) })
    }

    /// Resumes a suspended thread.
    pub fn resume(self, thread: Local<'_>) -> Result<()> {
        type F = unsafe extern "system" fn(Env, Object) -> JvmtiError;
        // SAFETY: the thread is a valid reference.
        check(unsafe { self.function::<F>(jvmti::RESUME_THREAD)(self.env, thread.object()) })
    }

    /// Returns the names of a thread and of its groups.
    pub fn thread_names(self, thread: Local<'_>) -> Result<ThreadNames> {
        type F = unsafe extern "system" fn(Env, Object, *mut ThreadInfo) -> JvmtiError;
        let mut info = ThreadInfo {
            name: null_mut(),
            priority: 0,
            is_daemon: 0 as Boolean,
            group: null_mut(),
            loader: null_mut(),
        };
        // SAFETY: `info` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_THREAD_INFO)(self.env, thread.object(), &mut info)
        })?;
        let name = self.take_string(info.name);
        let (group, parent) = self.group(Local::new(info.group));
        let (parent, _) = self.group(parent);
        Ok(ThreadNames {
            name,
            group,
            parent,
        })
    }

    /// Returns the name and the parent of a thread group. For a null group, the name is empty and the parent is null.
    fn group<'f>(self, group: Local<'f>) -> (Vec<u8>, Local<'f>) {
        type F = unsafe extern "system" fn(Env, Object, *mut ThreadGroupInfo) -> JvmtiError;
        let mut info = ThreadGroupInfo {
            parent: null_mut(),
            name: null_mut(),
            max_priority: 0,
            is_daemon: 0 as Boolean,
        };
        if group.is_null() {
            return (Vec::new(), Local::NULL);
        }
        // SAFETY: the group is a valid reference; `info` is written before success is reported.
        let error = unsafe {
            self.function::<F>(jvmti::GET_THREAD_GROUP_INFO)(self.env, group.object(), &mut info)
        };
        if error != 0 {
            return (Vec::new(), Local::NULL);
        }
        (self.take_string(info.name), Local::new(info.parent))
    }

    /// Returns an object that has this tag; null if no object has it.
    pub fn object_with_tag<'f>(self, jni: Jni<'f>, tag: Long) -> Local<'f> {
        type F = unsafe extern "system" fn(
            Env,
            Int,
            *const Long,
            *mut Int,
            *mut *mut Object,
            *mut *mut Long,
        ) -> JvmtiError;
        let (mut count, mut objects): (Int, *mut Object) = (0, null_mut());
        // SAFETY: one tag is read; the objects are written before success is reported; a null pointer for their tags
        // is allowed.
        let error = unsafe {
            self.function::<F>(jvmti::GET_OBJECTS_WITH_TAGS)(
                self.env,
                1,
                &tag,
                &mut count,
                &mut objects,
                null_mut(),
            )
        };
        if error != 0 {
            return Local::NULL;
        }
        let objects = self.take_references(jni, count, objects);
        objects.first().copied().unwrap_or(Local::NULL)
    }

    /// Returns whether a method is an older version of one that was redefined.
    pub fn is_obsolete(self, method: MethodKey) -> bool {
        type F = unsafe extern "system" fn(Env, MethodId, *mut Boolean) -> JvmtiError;
        let mut obsolete: Boolean = 0;
        // SAFETY: `obsolete` is written before success is reported.
        let error = unsafe {
            self.function::<F>(jvmti::IS_METHOD_OBSOLETE)(self.env, method.0, &mut obsolete)
        };
        error == 0 && obsolete != 0
    }

    /// Returns a copy of JNI's table of functions, which the JVM allocated.
    pub fn jni_table(self) -> Result<*mut JniTable> {
        type F = unsafe extern "system" fn(Env, *mut *mut JniTable) -> JvmtiError;
        let mut table: *mut JniTable = null_mut();
        // SAFETY: `table` is written before success is reported.
        check(unsafe { self.function::<F>(jvmti::GET_JNI_FUNCTION_TABLE)(self.env, &mut table) })?;
        Ok(table)
    }

    /// Replaces JNI's table of functions by a copy of `table`.
    ///
    /// # Safety
    /// All functions of the table must have the types that JNI gives them, and stay loaded.
    pub unsafe fn set_jni_table(self, table: *const JniTable) -> Result<()> {
        type F = unsafe extern "system" fn(Env, *const JniTable) -> JvmtiError;
        // SAFETY: the caller's promise.
        check(unsafe { self.function::<F>(jvmti::SET_JNI_FUNCTION_TABLE)(self.env, table) })
    }

    /// Makes the JVM send an event of this type for everything that exists already, for example for each method that is
    /// compiled already.
    pub fn generate_events(self, event: c_int) -> Result<()> {
        type F = unsafe extern "system" fn(Env, c_int) -> JvmtiError;
        // SAFETY: no pointer but the environment.
        check(unsafe { self.function::<F>(jvmti::GENERATE_EVENTS)(self.env, event) })
    }
}
