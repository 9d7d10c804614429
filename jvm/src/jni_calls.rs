//! Calls of static methods and constructors by JNI.

use std::ffi::{CStr, c_char};

use crate::jni::{Env, Jni, JniError};
use crate::jvmti::MethodKey;
use crate::reference::{Global, Local, Reference};
use crate::sys::{Boolean, Int, Long, MethodId, Object, Value, jni};

/// A static method of a class that is never unloaded.
#[derive(Clone, Copy)]
pub struct StaticMethod {
    class: Global,
    method: MethodId,
}

// SAFETY: method ids are valid on every thread as long as their class is
// loaded, and `class` is a global reference.
unsafe impl Send for StaticMethod {}
// SAFETY: method id and global reference are valid on every thread.
unsafe impl Sync for StaticMethod {}

/// An argument of a call.
#[derive(Clone, Copy)]
pub enum Argument<'f> {
    /// An `int`.
    Int(Int),
    /// A `long`.
    Long(Long),
    /// A reference.
    Object(Local<'f>),
}

impl Argument<'_> {
    fn value(self) -> Value {
        match self {
            Argument::Int(i) => Value { i },
            Argument::Long(j) => Value { j },
            Argument::Object(reference) => Value {
                l: reference.object(),
            },
        }
    }
}

impl<'e> Jni<'e> {
    /// Finds a static method of `class`. Makes a global reference to `class`, which the result keeps.
    pub fn static_method(
        self,
        class: impl Reference,
        name: &CStr,
        descriptor: &CStr,
    ) -> Result<StaticMethod, JniError> {
        type F = unsafe extern "system" fn(Env, Object, *const c_char, *const c_char) -> MethodId;
        // SAFETY: both strings end in a zero byte.
        let method = unsafe {
            self.function::<F>(jni::GET_STATIC_METHOD_ID)(
                self.env,
                class.object(),
                name.as_ptr(),
                descriptor.as_ptr(),
            )
        };
        let method = self.unless_thrown(method)?;
        if method.is_null() {
            return Err(JniError::Refused);
        }
        let class = self.global(class)?;
        Ok(StaticMethod { class, method })
    }

    /// Calls a static method that returns nothing.
    pub fn call_void(
        self,
        callee: StaticMethod,
        arguments: &[Argument<'_>],
    ) -> Result<(), JniError> {
        type F = unsafe extern "system" fn(Env, Object, MethodId, *const Value);
        let values: Vec<Value> = arguments.iter().map(|a| a.value()).collect();
        // SAFETY: callers pass arguments of the types in the descriptor with which they looked the method up.
        unsafe {
            self.function::<F>(jni::CALL_STATIC_VOID_METHOD_A)(
                self.env,
                callee.class.object(),
                callee.method,
                values.as_ptr(),
            );
        }
        self.unless_thrown(())
    }

    /// Calls a static method that returns an `int`.
    pub fn call_int(
        self,
        callee: StaticMethod,
        arguments: &[Argument<'_>],
    ) -> Result<Int, JniError> {
        type F = unsafe extern "system" fn(Env, Object, MethodId, *const Value) -> Int;
        let values: Vec<Value> = arguments.iter().map(|a| a.value()).collect();
        // SAFETY: as in `call_void`.
        let result = unsafe {
            self.function::<F>(jni::CALL_STATIC_INT_METHOD_A)(
                self.env,
                callee.class.object(),
                callee.method,
                values.as_ptr(),
            )
        };
        self.unless_thrown(result)
    }

    /// Calls a static method that returns a `long`.
    pub fn call_long(
        self,
        callee: StaticMethod,
        arguments: &[Argument<'_>],
    ) -> Result<Long, JniError> {
        type F = unsafe extern "system" fn(Env, Object, MethodId, *const Value) -> Long;
        let values: Vec<Value> = arguments.iter().map(|a| a.value()).collect();
        // SAFETY: as in `call_void`.
        let result = unsafe {
            self.function::<F>(jni::CALL_STATIC_LONG_METHOD_A)(
                self.env,
                callee.class.object(),
                callee.method,
                values.as_ptr(),
            )
        };
        self.unless_thrown(result)
    }

    /// Calls a static method that returns a `boolean`.
    pub fn call_boolean(
        self,
        callee: StaticMethod,
        arguments: &[Argument<'_>],
    ) -> Result<bool, JniError> {
        type F = unsafe extern "system" fn(Env, Object, MethodId, *const Value) -> Boolean;
        let values: Vec<Value> = arguments.iter().map(|a| a.value()).collect();
        // SAFETY: as in `call_void`.
        let result = unsafe {
            self.function::<F>(jni::CALL_STATIC_BOOLEAN_METHOD_A)(
                self.env,
                callee.class.object(),
                callee.method,
                values.as_ptr(),
            )
        };
        self.unless_thrown(result != 0)
    }

    /// Calls a static method that returns an object.
    pub fn call_object(
        self,
        callee: StaticMethod,
        arguments: &[Argument<'_>],
    ) -> Result<Local<'e>, JniError> {
        type F = unsafe extern "system" fn(Env, Object, MethodId, *const Value) -> Object;
        let values: Vec<Value> = arguments.iter().map(|a| a.value()).collect();
        // SAFETY: as in `call_void`.
        let result = unsafe {
            self.function::<F>(jni::CALL_STATIC_OBJECT_METHOD_A)(
                self.env,
                callee.class.object(),
                callee.method,
                values.as_ptr(),
            )
        };
        self.unless_thrown(Local::new(result))
    }

    /// Makes an object of `class` with the constructor that has this descriptor.
    pub fn new_object(
        self,
        class: impl Reference,
        descriptor: &CStr,
        arguments: &[Argument<'_>],
    ) -> Result<Local<'e>, JniError> {
        type GetMethod =
            unsafe extern "system" fn(Env, Object, *const c_char, *const c_char) -> MethodId;
        type New = unsafe extern "system" fn(Env, Object, MethodId, *const Value) -> Object;
        let values: Vec<Value> = arguments.iter().map(|a| a.value()).collect();
        // SAFETY: the strings end in a zero byte, and callers pass arguments of the types in the descriptor.
        let object = unsafe {
            let constructor = self.function::<GetMethod>(jni::GET_METHOD_ID)(
                self.env,
                class.object(),
                c"<init>".as_ptr(),
                descriptor.as_ptr(),
            );
            let constructor = self.unless_thrown(constructor)?;
            if constructor.is_null() {
                return Err(JniError::Refused);
            }
            self.function::<New>(jni::NEW_OBJECT_A)(
                self.env,
                class.object(),
                constructor,
                values.as_ptr(),
            )
        };
        self.local(object)
    }

    /// Calls a method that returns nothing on an object.
    pub fn call_void_method(
        self,
        object: impl Reference,
        name: &CStr,
        descriptor: &CStr,
        arguments: &[Argument<'_>],
    ) -> Result<(), JniError> {
        type F = unsafe extern "system" fn(Env, Object, MethodId, *const Value);
        let class = self.class_of(object)?;
        let method = self.method_key(class, name, descriptor, false)?;
        let values: Vec<Value> = arguments.iter().map(|a| a.value()).collect();
        // SAFETY: the method was found in the object's class, and callers pass arguments of the types in the
        // descriptor.
        unsafe {
            self.function::<F>(jni::CALL_VOID_METHOD_A)(
                self.env,
                object.object(),
                method.0,
                values.as_ptr(),
            );
        }
        self.unless_thrown(())
    }

    /// Calls a method on an object. The method takes no arguments and returns a `long`.
    pub fn call_long_method(self, object: impl Reference, name: &CStr) -> Result<Long, JniError> {
        type F = unsafe extern "system" fn(Env, Object, MethodId, *const Value) -> Long;
        let class = self.class_of(object)?;
        let method = self.method_key(class, name, c"()J", false)?;
        // SAFETY: the method was found in the object's class, and has no arguments.
        let result = unsafe {
            self.function::<F>(jni::CALL_LONG_METHOD_A)(
                self.env,
                object.object(),
                method.0,
                std::ptr::null(),
            )
        };
        self.unless_thrown(result)
    }

    /// Calls a static method of a class. The method takes no arguments and returns an object.
    pub fn call_static_object(
        self,
        class: impl Reference,
        method: MethodKey,
    ) -> Result<Local<'e>, JniError> {
        type F = unsafe extern "system" fn(Env, Object, MethodId, *const Value) -> Object;
        // SAFETY: callers looked the method up in the class, without arguments.
        let result = unsafe {
            self.function::<F>(jni::CALL_STATIC_OBJECT_METHOD_A)(
                self.env,
                class.object(),
                method.0,
                std::ptr::null(),
            )
        };
        self.local(result)
    }
}
