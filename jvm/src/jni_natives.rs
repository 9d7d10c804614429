//! JNI functions for byte arrays and for native methods.

use std::ffi::{CStr, c_char};

use crate::jni::{Env, Jni, JniError};
use crate::jvmti::MethodKey;
use crate::reference::{Local, Reference};
use crate::sys::{Int, MethodId, NativeMethod, Object, jni};

impl<'e> Jni<'e> {
    /// Returns the id of a method of a class.
    pub fn method_key(
        self,
        class: Local<'_>,
        name: &CStr,
        descriptor: &CStr,
        is_static: bool,
    ) -> Result<MethodKey, JniError> {
        type F = unsafe extern "system" fn(Env, Object, *const c_char, *const c_char) -> MethodId;
        let place = if is_static {
            jni::GET_STATIC_METHOD_ID
        } else {
            jni::GET_METHOD_ID
        };
        // SAFETY: both strings end in a zero byte.
        let method = unsafe {
            let get = self.function::<F>(place);
            get(self.env, class.object(), name.as_ptr(), descriptor.as_ptr())
        };
        let method = self.unless_thrown(method)?;
        if method.is_null() {
            Err(JniError::Refused)
        } else {
            Ok(MethodKey(method))
        }
    }

    /// Binds a native method to a function.
    pub fn register_native(self, class: Local<'_>, method: &NativeMethod) -> Result<(), JniError> {
        type F = unsafe extern "system" fn(Env, Object, *const NativeMethod, Int) -> Int;
        // SAFETY: one method, whose strings end in a zero byte.
        let error = unsafe {
            self.function::<F>(jni::REGISTER_NATIVES)(self.env, class.object(), method, 1)
        };
        match self.unless_thrown(error)? {
            0 => Ok(()),
            _ => Err(JniError::Refused),
        }
    }

    /// Returns the length of an array.
    pub fn array_length(self, array: Local<'_>) -> Int {
        type F = unsafe extern "system" fn(Env, Object) -> Int;
        // SAFETY: callers pass an array, which is not null.
        unsafe { self.function::<F>(jni::GET_ARRAY_LENGTH)(self.env, array.object()) }
    }

    /// Copies elements of a `byte[]` from `offset` on: `len` elements, or all if `len` is `None`.
    pub fn read_bytes(
        self,
        array: Local<'_>,
        offset: Int,
        len: Option<Int>,
    ) -> Result<Vec<u8>, JniError> {
        type Read = unsafe extern "system" fn(Env, Object, Int, Int, *mut u8);
        let all = self.array_length(array);
        let rest = all.checked_sub(offset).ok_or(JniError::Refused)?;
        let len = len.unwrap_or(rest);
        // Checked here, so that the JVM does not throw an exception that the program would not get otherwise.
        if offset < 0 || len < 0 || len > rest {
            return Err(JniError::Refused);
        }
        let mut bytes = vec![0; len as usize];
        // SAFETY: there is room for `len` elements, and the array has them.
        unsafe {
            self.function::<Read>(jni::GET_BYTE_ARRAY_REGION)(
                self.env,
                array.object(),
                offset,
                len,
                bytes.as_mut_ptr(),
            );
        }
        self.unless_thrown(bytes)
    }

    /// Makes a `byte[]` of these bytes. Returns the array and its length.
    pub fn new_byte_array(self, bytes: &[u8]) -> Result<(Local<'e>, Int), JniError> {
        type New = unsafe extern "system" fn(Env, Int) -> Object;
        type Write = unsafe extern "system" fn(Env, Object, Int, Int, *const u8);
        let len = Int::try_from(bytes.len()).map_err(|_| JniError::Refused)?;
        // SAFETY: no pointer but the environment.
        let array = unsafe { self.function::<New>(jni::NEW_BYTE_ARRAY)(self.env, len) };
        let array = self.local(array)?;
        // SAFETY: the array has `len` elements, as `bytes` has.
        unsafe {
            self.function::<Write>(jni::SET_BYTE_ARRAY_REGION)(
                self.env,
                array.object(),
                0,
                len,
                bytes.as_ptr(),
            );
        }
        self.unless_thrown((array, len))
    }
}
