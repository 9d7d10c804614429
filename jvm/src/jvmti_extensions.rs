//! Events that are extensions of a JVM. JVM TI identifies such an event only by its name.

use std::ffi::CStr;
use std::ptr::null_mut;

use crate::jvmti::{Env, Jvmti, Result, check};
use crate::sys::{ExtensionEvent, ExtensionEventInfo, Int, JvmtiError, jvmti};

impl Jvmti {
    /// Sets the callback of the extension event with this id, and enables the event, since HotSpot needs both. Returns
    /// false if the JVM has no such event.
    ///
    /// # Safety
    /// The callback must have the parameters of the event, and stay loaded.
    pub unsafe fn set_extension_callback(
        self,
        id: &CStr,
        callback: ExtensionEvent,
    ) -> Result<bool> {
        type F = unsafe extern "system" fn(Env, Int, ExtensionEvent) -> JvmtiError;
        let Some(index) = self.extension_event(id)? else {
            return Ok(false);
        };
        // SAFETY: the caller's promise.
        check(unsafe {
            self.function::<F>(jvmti::SET_EXTENSION_EVENT_CALLBACK)(self.env, index, callback)
        })?;
        self.notify(index, true)?;
        Ok(true)
    }

    /// Returns the number of an extension event in this JVM; `None` if the JVM has no such event.
    fn extension_event(self, id: &CStr) -> Result<Option<Int>> {
        type F =
            unsafe extern "system" fn(Env, *mut Int, *mut *mut ExtensionEventInfo) -> JvmtiError;
        let (mut count, mut events): (Int, *mut ExtensionEventInfo) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_EXTENSION_EVENTS)(self.env, &mut count, &mut events)
        })?;
        let mut found = None;
        // SAFETY: the JVM wrote `count` events.
        for event in unsafe { self.take_array(count, events) } {
            if self.take_string(event.id) == id.to_bytes() {
                found = Some(event.index);
            }
            self.take_string(event.description);
            // SAFETY: the JVM wrote this number of parameters.
            for parameter in unsafe { self.take_array(event.parameter_count, event.parameters) } {
                self.take_string(parameter.name);
            }
        }
        Ok(found)
    }
}
