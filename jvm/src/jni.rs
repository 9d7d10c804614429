//! JNI functions that are safe to call on the thread that the environment belongs to.

use std::ffi::{CStr, CString, c_char, c_uchar, c_void};
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::OnceLock;

use loadhook_rewrite::symbol;
use thiserror::Error;

use crate::reference::{Global, Local, Reference, Weak};
use crate::sys::{self, Boolean, FieldId, Int, Long, Object, jni};

/// The class `java.lang.OutOfMemoryError`, once [`Jni::find_out_of_memory_error`] has found it.
static OUT_OF_MEMORY_ERROR: OnceLock<Global> = OnceLock::new();

/// The reason why a JNI call failed. If the call threw an exception, the exception is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum JniError {
    /// The call threw an `OutOfMemoryError`.
    #[error("the heap is full")]
    OutOfMemory,
    /// The call threw another exception.
    #[error("an exception was thrown")]
    Thrown,
    /// The JVM refused the call without an exception.
    #[error("the JVM refused the call")]
    Refused,
}

/// A field of a class that is never unloaded.
#[derive(Clone, Copy)]
pub struct Field(FieldId);

// SAFETY: field ids are valid on every thread as long as their class is loaded.
unsafe impl Send for Field {}
// SAFETY: field ids are valid on every thread as long as their class is loaded.
unsafe impl Sync for Field {}

/// A `JNIEnv`.
pub type Env = *mut sys::Table;

/// The JNI environment of a thread, in the frame `'e` of local references: a callback, or the closure of
/// [`framed`](Jni::framed).
#[derive(Clone, Copy)]
pub struct Jni<'e> {
    /// The environment, for calls of functions that this crate has no wrapper for.
    pub env: Env,
    callback: PhantomData<&'e ()>,
}

impl<'e> Jni<'e> {
    /// Wraps the environment that a callback got.
    ///
    /// # Safety
    /// `env` must be the `JNIEnv` of this thread, and live as long as `'e`.
    pub unsafe fn new(env: *mut c_void) -> Self {
        Jni {
            env: env.cast(),
            callback: PhantomData,
        }
    }

    /// Returns the function at `place`, as the type `F`.
    ///
    /// # Safety
    /// `F` must be the type of that function in `JNINativeInterface_`.
    pub unsafe fn function<F: Copy>(self, place: usize) -> F {
        const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
        // SAFETY: every place used exists in the tables of JDK 11 and later,
        // and the caller names the type.
        unsafe { std::mem::transmute_copy(&*(*self.env).functions.add(place)) }
    }

    /// Runs `body` with no pending exception, and makes the exception pending again afterwards.
    /// Most functions of JNI must not be called while an exception is pending, and the functions
    /// here would clear the exception.
    pub fn without_exception<T>(self, body: impl FnOnce() -> T) -> T {
        type Occurred = unsafe extern "system" fn(Env) -> Object;
        type Clear = unsafe extern "system" fn(Env);
        type Throw = unsafe extern "system" fn(Env, Object) -> Int;
        // SAFETY: no arguments but the environment and the exception, which is a local reference of this frame.
        unsafe {
            let pending = self.function::<Occurred>(jni::EXCEPTION_OCCURRED)(self.env);
            if pending.is_null() {
                return body();
            }
            self.function::<Clear>(jni::EXCEPTION_CLEAR)(self.env);
            let result = body();
            self.function::<Throw>(jni::THROW)(self.env, pending);
            result
        }
    }

    /// Clears the pending exception, if there is one, and returns the error that stands for it.
    fn caught(self) -> Option<JniError> {
        type Occurred = unsafe extern "system" fn(Env) -> Object;
        type Clear = unsafe extern "system" fn(Env);
        // SAFETY: no arguments but the environment.
        let exception: Local<'e> = unsafe {
            let exception = self.function::<Occurred>(jni::EXCEPTION_OCCURRED)(self.env);
            if exception.is_null() {
                return None;
            }
            self.function::<Clear>(jni::EXCEPTION_CLEAR)(self.env);
            Local::new(exception)
        };
        let is_out_of_memory = OUT_OF_MEMORY_ERROR
            .get()
            .is_some_and(|class| self.is_instance(exception, *class));
        Some(if is_out_of_memory {
            JniError::OutOfMemory
        } else {
            JniError::Thrown
        })
    }

    /// Finds the class that distinguishes [`JniError::OutOfMemory`] from other exceptions. Before
    /// that, every exception is [`JniError::Thrown`].
    pub fn find_out_of_memory_error(self) -> Result<(), JniError> {
        let class = self.global(self.find_class(c"java/lang/OutOfMemoryError")?)?;
        let _ = OUT_OF_MEMORY_ERROR.set(class);
        Ok(())
    }

    /// Returns `value`, or an error if an exception is pending. Clears the exception.
    pub fn unless_thrown<T>(self, value: T) -> Result<T, JniError> {
        match self.caught() {
            Some(error) => Err(error),
            None => Ok(value),
        }
    }

    /// Returns the reference that a call of JNI returned, or an error if the reference is null or an exception is
    /// pending.
    pub fn local(self, object: Object) -> Result<Local<'e>, JniError> {
        let object = self.unless_thrown(object)?;
        if object.is_null() {
            Err(JniError::Refused)
        } else {
            Ok(Local::new(object))
        }
    }

    /// Defines a class in the boot loader.
    pub fn define_boot_class(self, name: &str, bytes: &[u8]) -> Result<Local<'e>, JniError> {
        type F =
            unsafe extern "system" fn(Env, *const c_char, Object, *const c_uchar, Int) -> Object;
        let name = CString::new(name).map_err(|_| JniError::Refused)?;
        let len = Int::try_from(bytes.len()).map_err(|_| JniError::Refused)?;
        // SAFETY: name and bytes outlive the call; a null loader is the boot loader.
        let class = unsafe {
            self.function::<F>(jni::DEFINE_CLASS)(
                self.env,
                name.as_ptr(),
                null_mut(),
                bytes.as_ptr(),
                len,
            )
        };
        self.local(class)
    }

    /// Finds a class by its internal name.
    pub fn find_class(self, name: &CStr) -> Result<Local<'e>, JniError> {
        type F = unsafe extern "system" fn(Env, *const c_char) -> Object;
        // SAFETY: the name ends in a zero byte.
        self.local(unsafe { self.function::<F>(jni::FIND_CLASS)(self.env, name.as_ptr()) })
    }

    /// Returns a new global reference to an object.
    pub fn global(self, object: impl Reference) -> Result<Global, JniError> {
        type F = unsafe extern "system" fn(Env, Object) -> Object;
        // SAFETY: the reference is valid on this thread.
        let global = unsafe { self.function::<F>(jni::NEW_GLOBAL_REF)(self.env, object.object()) };
        self.local(global)
            .map(|global| Global::new(global.object()))
    }

    /// Returns a new weak global reference to an object.
    pub fn weak(self, object: impl Reference) -> Result<Weak, JniError> {
        type F = unsafe extern "system" fn(Env, Object) -> Object;
        // SAFETY: the reference is valid on this thread.
        let weak =
            unsafe { self.function::<F>(jni::NEW_WEAK_GLOBAL_REF)(self.env, object.object()) };
        if weak.is_null() {
            // The JVM throws an error if it has no memory.
            return Err(self.caught().unwrap_or(JniError::Refused));
        }
        Ok(Weak::new(weak))
    }

    /// Deletes a weak reference. No copy of it may be used later.
    pub fn delete_weak(self, weak: Weak) {
        type F = unsafe extern "system" fn(Env, Object);
        // SAFETY: no copy of the reference is used again.
        unsafe { self.function::<F>(jni::DELETE_WEAK_GLOBAL_REF)(self.env, weak.object()) }
    }

    /// Deletes a global reference. No copy of it may be used later.
    pub fn delete_global(self, global: Global) {
        type F = unsafe extern "system" fn(Env, Object);
        // SAFETY: the caller gives the reference up.
        unsafe { self.function::<F>(jni::DELETE_GLOBAL_REF)(self.env, global.object()) }
    }

    /// Returns whether the object of a weak reference is gone.
    pub fn is_gone(self, weak: Weak) -> bool {
        self.is_same(weak, Local::NULL)
    }

    /// Returns whether two references refer to the same object, or both to none.
    pub fn is_same(self, a: impl Reference, b: impl Reference) -> bool {
        type F = unsafe extern "system" fn(Env, Object, Object) -> Boolean;
        // SAFETY: both references are valid on this thread, or null.
        unsafe { self.function::<F>(jni::IS_SAME_OBJECT)(self.env, a.object(), b.object()) != 0 }
    }

    /// Runs `body` in a new frame of local references, and frees the references that `body` made. Returns `None` if the
    /// JVM has no memory for the frame.
    ///
    /// `body` gets an environment whose references belong to the frame. It must not make references by another
    /// environment.
    pub fn framed<T>(self, body: impl for<'f> FnOnce(Jni<'f>) -> T) -> Option<T> {
        type Push = unsafe extern "system" fn(Env, Int) -> Int;
        type Pop = unsafe extern "system" fn(Env, Object) -> Object;
        // SAFETY: every frame pushed is popped below; no reference leaves it.
        unsafe {
            if self.function::<Push>(jni::PUSH_LOCAL_FRAME)(self.env, 16) != 0 {
                let _ = self.caught();
                return None;
            }
            let result = body(Jni {
                env: self.env,
                callback: PhantomData,
            });
            self.function::<Pop>(jni::POP_LOCAL_FRAME)(self.env, null_mut());
            Some(result)
        }
    }

    /// Tells the JVM to expect a large number of local references. Otherwise `-Xcheck:jni` warns of the references that
    /// functions of JVM TI return.
    pub fn ensure_local_capacity(self) {
        type F = unsafe extern "system" fn(Env, Int) -> Int;
        let most = 1 << 16;
        // If HotSpot refuses, it throws nothing. So a pending exception is the program's, and stays.
        // SAFETY: no arguments but the environment and a number.
        let _ = unsafe { self.function::<F>(jni::ENSURE_LOCAL_CAPACITY)(self.env, most) };
    }

    /// Finds an instance field of a class that the JVM never unloads.
    pub fn field(
        self,
        class: impl Reference,
        name: &CStr,
        descriptor: &CStr,
    ) -> Result<Field, JniError> {
        type F = unsafe extern "system" fn(Env, Object, *const c_char, *const c_char) -> FieldId;
        // SAFETY: both strings end in a zero byte.
        let field = unsafe {
            self.function::<F>(jni::GET_FIELD_ID)(
                self.env,
                class.object(),
                name.as_ptr(),
                descriptor.as_ptr(),
            )
        };
        let field = self.unless_thrown(field)?;
        if field.is_null() {
            return Err(JniError::Refused);
        }
        Ok(Field(field))
    }

    /// Returns the value of a field of type `String`; `None` for null.
    pub fn string_field(
        self,
        object: impl Reference,
        field: Field,
    ) -> Result<Option<String>, JniError> {
        let string = self.object_field(object, field)?;
        (!string.is_null()).then(|| self.text(string)).transpose()
    }

    /// Returns the value of a field of a reference type. The value may be null.
    pub fn object_field(self, object: impl Reference, field: Field) -> Result<Local<'e>, JniError> {
        type F = unsafe extern "system" fn(Env, Object, FieldId) -> Object;
        // SAFETY: callers pass an object of the class they looked the field up
        // in, and a field of objects.
        let held = unsafe {
            self.function::<F>(jni::GET_OBJECT_FIELD)(self.env, object.object(), field.0)
        };
        self.unless_thrown(Local::new(held))
    }

    /// Returns the value of a field of type `long`.
    pub fn long_field(self, object: impl Reference, field: Field) -> Result<Long, JniError> {
        type F = unsafe extern "system" fn(Env, Object, FieldId) -> Long;
        // SAFETY: as in `object_field`, but the field is a `long`.
        let value =
            unsafe { self.function::<F>(jni::GET_LONG_FIELD)(self.env, object.object(), field.0) };
        self.unless_thrown(value)
    }

    /// Returns whether an object, which must not be null, is an instance of this class or a subclass.
    pub fn is_instance(self, object: impl Reference, class: impl Reference) -> bool {
        type F = unsafe extern "system" fn(Env, Object, Object) -> Boolean;
        // SAFETY: both references are valid on this thread.
        unsafe {
            self.function::<F>(jni::IS_INSTANCE_OF)(self.env, object.object(), class.object()) != 0
        }
    }

    /// Returns the class of an object.
    pub fn class_of(self, object: impl Reference) -> Result<Local<'e>, JniError> {
        type F = unsafe extern "system" fn(Env, Object) -> Object;
        // SAFETY: the object is not null.
        self.local(unsafe { self.function::<F>(jni::GET_OBJECT_CLASS)(self.env, object.object()) })
    }

    /// Returns the superclass of a class; null for `java.lang.Object` and for interfaces.
    pub fn superclass(self, class: impl Reference) -> Local<'e> {
        type F = unsafe extern "system" fn(Env, Object) -> Object;
        // SAFETY: the reference is a class's.
        Local::new(unsafe { self.function::<F>(jni::GET_SUPERCLASS)(self.env, class.object()) })
    }

    /// Allocates an object of `class` without running a constructor.
    pub fn alloc_object(self, class: impl Reference) -> Result<Local<'e>, JniError> {
        type F = unsafe extern "system" fn(Env, Object) -> Object;
        // SAFETY: the reference is a class's.
        self.local(unsafe { self.function::<F>(jni::ALLOC_OBJECT)(self.env, class.object()) })
    }

    /// Makes a string of a text in modified UTF-8.
    pub fn new_string(self, text: &CStr) -> Result<Local<'e>, JniError> {
        type F = unsafe extern "system" fn(Env, *const c_char) -> Object;
        // SAFETY: the text ends in a zero byte.
        self.local(unsafe { self.function::<F>(jni::NEW_STRING_UTF)(self.env, text.as_ptr()) })
    }

    /// Returns the text of a string.
    pub fn text(self, string: impl Reference) -> Result<String, JniError> {
        type Get = unsafe extern "system" fn(Env, Object, *mut Boolean) -> *const c_char;
        type Release = unsafe extern "system" fn(Env, Object, *const c_char);
        // SAFETY: the characters end in a zero byte and are given back.
        unsafe {
            let chars = self.function::<Get>(jni::GET_STRING_UTF_CHARS)(
                self.env,
                string.object(),
                null_mut(),
            );
            if chars.is_null() {
                return Err(self.caught().unwrap_or(JniError::Refused));
            }
            let text = symbol::text(CStr::from_ptr(chars).to_bytes());
            self.function::<Release>(jni::RELEASE_STRING_UTF_CHARS)(
                self.env,
                string.object(),
                chars,
            );
            Ok(text)
        }
    }

    /// Makes a `long[]`.
    pub fn new_long_array(self, len: Int) -> Result<Local<'e>, JniError> {
        type F = unsafe extern "system" fn(Env, Int) -> Object;
        // SAFETY: no pointer but the environment.
        self.local(unsafe { self.function::<F>(jni::NEW_LONG_ARRAY)(self.env, len) })
    }

    /// Fills `into` with the first elements of a `long[]`.
    pub fn read_longs(self, array: impl Reference, into: &mut [Long]) -> Result<(), JniError> {
        type F = unsafe extern "system" fn(Env, Object, Int, Int, *mut Long);
        let len = Int::try_from(into.len()).map_err(|_| JniError::Refused)?;
        // SAFETY: `into` has room for `len` elements; the JVM checks that the array has as many.
        unsafe {
            self.function::<F>(jni::GET_LONG_ARRAY_REGION)(
                self.env,
                array.object(),
                0,
                len,
                into.as_mut_ptr(),
            );
        }
        self.unless_thrown(())
    }

    /// Returns a local reference to the object of a weak reference; null if the object is gone.
    pub fn strong(self, weak: Weak) -> Local<'e> {
        type F = unsafe extern "system" fn(Env, Object) -> Object;
        // SAFETY: the weak reference was not deleted.
        Local::new(unsafe { self.function::<F>(jni::NEW_LOCAL_REF)(self.env, weak.object()) })
    }
}
