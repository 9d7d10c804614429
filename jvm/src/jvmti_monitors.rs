//! JVM TI functions for monitors.

use std::ptr::null_mut;

use crate::jni::Jni;
use crate::jvmti::{Env, Jvmti, Result, check};
use crate::reference::{Local, Reference};
use crate::sys::{Int, JvmtiError, MonitorUsage, Object, jvmti};

/// The threads that use a monitor.
pub struct MonitorThreads<'f> {
    /// The thread that owns the monitor, or null.
    pub owner: Local<'f>,
    /// The number of times that the owner has entered the monitor and not left it yet.
    pub entries: i32,
    /// Threads that wait to enter. Before JDK 23, threads that wait to be notified are among them.
    pub to_enter: Vec<Local<'f>>,
    /// Threads that wait to be notified.
    pub to_be_notified: Vec<Local<'f>>,
}

impl Jvmti {
    /// Returns the objects whose monitors a thread owns.
    pub fn owned_monitors<'f>(self, jni: Jni<'f>, thread: Local<'_>) -> Result<Vec<Local<'f>>> {
        type F = unsafe extern "system" fn(Env, Object, *mut Int, *mut *mut Object) -> JvmtiError;
        let (mut count, mut monitors): (Int, *mut Object) = (0, null_mut());
        // SAFETY: the thread is a valid reference; both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_OWNED_MONITOR_INFO)(
                self.env,
                thread.object(),
                &mut count,
                &mut monitors,
            )
        })?;
        Ok(self.take_references(jni, count, monitors))
    }

    /// Returns the object whose monitor a thread waits to enter, or on which the thread waits in `Object.wait`; null if
    /// the thread waits for no monitor.
    pub fn contended_monitor<'f>(self, _jni: Jni<'f>, thread: Local<'_>) -> Result<Local<'f>> {
        type F = unsafe extern "system" fn(Env, Object, *mut Object) -> JvmtiError;
        let mut monitor: Object = null_mut();
        // SAFETY: the thread is a valid reference; `monitor` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_CURRENT_CONTENDED_MONITOR)(
                self.env,
                thread.object(),
                &mut monitor,
            )
        })?;
        Ok(Local::new(monitor))
    }

    /// Returns the threads that use the monitor of an object.
    pub fn monitor_threads<'f>(
        self,
        jni: Jni<'f>,
        object: Local<'_>,
    ) -> Result<MonitorThreads<'f>> {
        type F = unsafe extern "system" fn(Env, Object, *mut MonitorUsage) -> JvmtiError;
        let mut usage = MonitorUsage {
            owner: null_mut(),
            entry_count: 0,
            waiter_count: 0,
            waiters: null_mut(),
            notify_waiter_count: 0,
            notify_waiters: null_mut(),
        };
        // SAFETY: the object is a valid reference; `usage` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_OBJECT_MONITOR_USAGE)(
                self.env,
                object.object(),
                &mut usage,
            )
        })?;
        Ok(MonitorThreads {
            owner: Local::new(usage.owner),
            entries: usage.entry_count,
            to_enter: self.take_references(jni, usage.waiter_count, usage.waiters),
            to_be_notified: self.take_references(
                jni,
                usage.notify_waiter_count,
                usage.notify_waiters,
            ),
        })
    }
}
