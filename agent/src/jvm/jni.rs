//! JNI, safe to call on the thread that the VM gave the environment to.

use std::ffi::{CStr, CString, c_char, c_uchar, c_void};
use std::marker::PhantomData;
use std::ptr::null_mut;

use loadhook_rewrite::symbol;

use crate::jvm::sys::{self, Boolean, FieldId, Int, Long, MethodId, Object, Value, jni};

/// A local or global reference, or null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reference(pub(super) Object);

// SAFETY: only global references are kept beyond a call; those may be used on
// every thread.
unsafe impl Send for Reference {}
// SAFETY: as above.
unsafe impl Sync for Reference {}

impl Reference {
    /// What a weak reference is to when its object is gone.
    pub(crate) const NULL: Reference = Reference(null_mut());

    /// The loader of the boot classes.
    pub(crate) const BOOT_LOADER: Reference = Reference::NULL;

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }
}

/// A method of a class that is never unloaded.
#[derive(Clone, Copy)]
pub(crate) struct StaticMethod {
    class: Reference,
    method: MethodId,
}

// SAFETY: method ids are valid on every thread as long as their class is
// loaded, and `class` is a global reference.
unsafe impl Send for StaticMethod {}
// SAFETY: as above.
unsafe impl Sync for StaticMethod {}

/// A field of a class that is never unloaded.
#[derive(Clone, Copy)]
pub(crate) struct Field(FieldId);

// SAFETY: field ids are valid on every thread as long as their class is loaded.
unsafe impl Send for Field {}
// SAFETY: as above.
unsafe impl Sync for Field {}

/// An argument of a call.
#[derive(Clone, Copy)]
pub(crate) enum Argument {
    Int(Int),
    Long(Long),
    Object(Reference),
}

impl Argument {
    fn value(self) -> Value {
        match self {
            Argument::Int(i) => Value { i },
            Argument::Long(j) => Value { j },
            Argument::Object(Reference(l)) => Value { l },
        }
    }
}

/// An exception was thrown; it is cleared. Null if the VM only said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thrown(Reference);

impl Default for Thrown {
    fn default() -> Self {
        Thrown(Reference(null_mut()))
    }
}

type Env = *mut sys::Table;

/// A thread's JNI environment, for the length of a callback.
#[derive(Clone, Copy)]
pub(crate) struct Jni<'e> {
    pub(super) env: Env,
    callback: PhantomData<&'e ()>,
}

impl<'e> Jni<'e> {
    /// Wraps the environment that a callback got.
    ///
    /// # Safety
    /// `env` must be the `JNIEnv` of this thread, and live as long as `'e`.
    pub(super) unsafe fn new(env: *mut c_void) -> Self {
        Jni {
            env: env.cast(),
            callback: PhantomData,
        }
    }

    /// The function at `place`, as the type `F`.
    ///
    /// # Safety
    /// `F` must be the type of that function in `JNINativeInterface_`.
    pub(super) unsafe fn function<F: Copy>(self, place: usize) -> F {
        const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
        // SAFETY: every place used exists in the tables of JDK 11 and later,
        // and the caller names the type.
        unsafe { std::mem::transmute_copy(&*(*self.env).functions.add(place)) }
    }

    /// Clears the pending exception, if there is one.
    fn caught(self) -> Option<Thrown> {
        type Occurred = unsafe extern "system" fn(Env) -> Object;
        type Clear = unsafe extern "system" fn(Env);
        // SAFETY: no arguments but the environment.
        unsafe {
            let exception = self.function::<Occurred>(jni::EXCEPTION_OCCURRED)(self.env);
            if exception.is_null() {
                return None;
            }
            self.function::<Clear>(jni::EXCEPTION_CLEAR)(self.env);
            Some(Thrown(Reference(exception)))
        }
    }

    pub(super) fn unless_thrown<T>(self, value: T) -> Result<T, Thrown> {
        self.caught().map_or(Ok(value), Err)
    }

    /// Whether an exception is of this class or one below it.
    pub(crate) fn is_a(self, thrown: Thrown, class: Reference) -> bool {
        // Null would be of every class.
        !thrown.0.is_null() && self.is_instance(thrown.0, class)
    }

    pub(super) fn reference(self, object: Object) -> Result<Reference, Thrown> {
        let object = self.unless_thrown(Reference(object))?;
        if object.is_null() {
            Err(Thrown::default())
        } else {
            Ok(object)
        }
    }

    /// Defines a class in the boot loader.
    pub(crate) fn define_boot_class(self, name: &str, bytes: &[u8]) -> Result<Reference, Thrown> {
        type F =
            unsafe extern "system" fn(Env, *const c_char, Object, *const c_uchar, Int) -> Object;
        let name = CString::new(name).map_err(|_| Thrown::default())?;
        let len = Int::try_from(bytes.len()).map_err(|_| Thrown::default())?;
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
        self.reference(class)
    }

    pub(crate) fn find_class(self, name: &CStr) -> Result<Reference, Thrown> {
        type F = unsafe extern "system" fn(Env, *const c_char) -> Object;
        // SAFETY: the name ends in a zero byte.
        self.reference(unsafe { self.function::<F>(jni::FIND_CLASS)(self.env, name.as_ptr()) })
    }

    /// Makes a reference last, and usable on every thread.
    pub(crate) fn global(self, object: Reference) -> Result<Reference, Thrown> {
        type F = unsafe extern "system" fn(Env, Object) -> Object;
        // SAFETY: the reference is valid on this thread.
        self.reference(unsafe { self.function::<F>(jni::NEW_GLOBAL_REF)(self.env, object.0) })
    }

    /// A reference for every thread that does not keep its object alive.
    pub(crate) fn weak(self, object: Reference) -> Result<Reference, Thrown> {
        type F = unsafe extern "system" fn(Env, Object) -> Object;
        // SAFETY: the reference is valid on this thread.
        self.reference(unsafe { self.function::<F>(jni::NEW_WEAK_GLOBAL_REF)(self.env, object.0) })
    }

    /// Frees a reference that [`weak`](Self::weak) made, for good.
    pub(crate) fn delete_weak(self, weak: Reference) {
        type F = unsafe extern "system" fn(Env, Object);
        // SAFETY: who has it does not use it again.
        unsafe { self.function::<F>(jni::DELETE_WEAK_GLOBAL_REF)(self.env, weak.0) }
    }

    pub(crate) fn is_same(self, a: Reference, b: Reference) -> bool {
        type F = unsafe extern "system" fn(Env, Object, Object) -> Boolean;
        // SAFETY: both references are valid on this thread, or null.
        unsafe { self.function::<F>(jni::IS_SAME_OBJECT)(self.env, a.0, b.0) != 0 }
    }

    /// Runs `body` and frees the local references it made.
    pub(crate) fn framed<T>(self, body: impl FnOnce() -> T) -> Option<T> {
        type Push = unsafe extern "system" fn(Env, Int) -> Int;
        type Pop = unsafe extern "system" fn(Env, Object) -> Object;
        // SAFETY: every frame pushed is popped below; no reference leaves it.
        unsafe {
            if self.function::<Push>(jni::PUSH_LOCAL_FRAME)(self.env, 16) != 0 {
                let _ = self.caught();
                return None;
            }
            let result = body();
            self.function::<Pop>(jni::POP_LOCAL_FRAME)(self.env, null_mut());
            Some(result)
        }
    }

    /// Announces as many local references as the VM allows: `-Xcheck:jni`
    /// complains of those that JVM TI returns, else.
    pub(crate) fn ensure_local_capacity(self) {
        type F = unsafe extern "system" fn(Env, Int) -> Int;
        let most = 1 << 16;
        // SAFETY: no arguments but the environment and a number.
        if unsafe { self.function::<F>(jni::ENSURE_LOCAL_CAPACITY)(self.env, most) } != 0 {
            let _ = self.caught();
        }
    }

    /// A static method of `class`, which becomes a global reference.
    pub(crate) fn static_method(
        self,
        class: Reference,
        name: &CStr,
        descriptor: &CStr,
    ) -> Result<StaticMethod, Thrown> {
        type F = unsafe extern "system" fn(Env, Object, *const c_char, *const c_char) -> MethodId;
        // SAFETY: both strings end in a zero byte.
        let method = unsafe {
            self.function::<F>(jni::GET_STATIC_METHOD_ID)(
                self.env,
                class.0,
                name.as_ptr(),
                descriptor.as_ptr(),
            )
        };
        let method = self.unless_thrown(method)?;
        if method.is_null() {
            return Err(Thrown::default());
        }
        let class = self.global(class)?;
        Ok(StaticMethod { class, method })
    }

    /// A field of the objects of a class that the VM never unloads.
    pub(crate) fn field(
        self,
        class: Reference,
        name: &CStr,
        descriptor: &CStr,
    ) -> Result<Field, Thrown> {
        type F = unsafe extern "system" fn(Env, Object, *const c_char, *const c_char) -> FieldId;
        // SAFETY: both strings end in a zero byte.
        let field = unsafe {
            self.function::<F>(jni::GET_FIELD_ID)(
                self.env,
                class.0,
                name.as_ptr(),
                descriptor.as_ptr(),
            )
        };
        let field = self.unless_thrown(field)?;
        if field.is_null() {
            return Err(Thrown::default());
        }
        Ok(Field(field))
    }

    /// What an object's field of type `String` holds; `None` for null.
    pub(crate) fn string_field(
        self,
        object: Reference,
        field: Field,
    ) -> Result<Option<String>, Thrown> {
        let string = self.object_field(object, field)?;
        (!string.is_null()).then(|| self.text(string)).transpose()
    }

    /// What an object's field of objects holds, which may be null.
    pub(crate) fn object_field(self, object: Reference, field: Field) -> Result<Reference, Thrown> {
        type F = unsafe extern "system" fn(Env, Object, FieldId) -> Object;
        // SAFETY: callers pass an object of the class they looked the field up
        // in, and a field of objects.
        let held =
            unsafe { self.function::<F>(jni::GET_OBJECT_FIELD)(self.env, object.0, field.0) };
        self.unless_thrown(Reference(held))
    }

    /// What an object's field of type `long` holds.
    pub(crate) fn long_field(self, object: Reference, field: Field) -> Result<Long, Thrown> {
        type F = unsafe extern "system" fn(Env, Object, FieldId) -> Long;
        // SAFETY: as in `string_field`, and a field of `long`.
        let value = unsafe { self.function::<F>(jni::GET_LONG_FIELD)(self.env, object.0, field.0) };
        self.unless_thrown(value)
    }

    /// Whether an object, not null, is of this class or one below it.
    pub(crate) fn is_instance(self, object: Reference, class: Reference) -> bool {
        type F = unsafe extern "system" fn(Env, Object, Object) -> Boolean;
        // SAFETY: both references are valid on this thread.
        unsafe { self.function::<F>(jni::IS_INSTANCE_OF)(self.env, object.0, class.0) != 0 }
    }

    /// The class of an object.
    pub(crate) fn class_of(self, object: Reference) -> Result<Reference, Thrown> {
        type F = unsafe extern "system" fn(Env, Object) -> Object;
        // SAFETY: the object is not null.
        self.reference(unsafe { self.function::<F>(jni::GET_OBJECT_CLASS)(self.env, object.0) })
    }

    /// The class that a class extends; null of `java.lang.Object` and of
    /// interfaces.
    pub(crate) fn superclass(self, class: Reference) -> Reference {
        type F = unsafe extern "system" fn(Env, Object) -> Object;
        // SAFETY: the reference is a class's.
        Reference(unsafe { self.function::<F>(jni::GET_SUPERCLASS)(self.env, class.0) })
    }

    /// Calls a static method that returns nothing.
    pub(crate) fn call_void(
        self,
        callee: StaticMethod,
        arguments: &[Argument],
    ) -> Result<(), Thrown> {
        type F = unsafe extern "system" fn(Env, Object, MethodId, *const Value);
        let values: Vec<Value> = arguments.iter().map(|a| a.value()).collect();
        // SAFETY: callers pass what the descriptor they looked up says.
        unsafe {
            self.function::<F>(jni::CALL_STATIC_VOID_METHOD_A)(
                self.env,
                callee.class.0,
                callee.method,
                values.as_ptr(),
            );
        }
        self.unless_thrown(())
    }

    /// Calls a static method that returns an `int`.
    pub(crate) fn call_int(
        self,
        callee: StaticMethod,
        arguments: &[Argument],
    ) -> Result<Int, Thrown> {
        type F = unsafe extern "system" fn(Env, Object, MethodId, *const Value) -> Int;
        let values: Vec<Value> = arguments.iter().map(|a| a.value()).collect();
        // SAFETY: as in `call_void`.
        let result = unsafe {
            self.function::<F>(jni::CALL_STATIC_INT_METHOD_A)(
                self.env,
                callee.class.0,
                callee.method,
                values.as_ptr(),
            )
        };
        self.unless_thrown(result)
    }

    /// Calls a static method that returns a `long`.
    pub(crate) fn call_long(
        self,
        callee: StaticMethod,
        arguments: &[Argument],
    ) -> Result<Long, Thrown> {
        type F = unsafe extern "system" fn(Env, Object, MethodId, *const Value) -> Long;
        let values: Vec<Value> = arguments.iter().map(|a| a.value()).collect();
        // SAFETY: as in `call_void`.
        let result = unsafe {
            self.function::<F>(jni::CALL_STATIC_LONG_METHOD_A)(
                self.env,
                callee.class.0,
                callee.method,
                values.as_ptr(),
            )
        };
        self.unless_thrown(result)
    }

    /// Calls a static method that returns a `boolean`.
    pub(crate) fn call_boolean(
        self,
        callee: StaticMethod,
        arguments: &[Argument],
    ) -> Result<bool, Thrown> {
        type F = unsafe extern "system" fn(Env, Object, MethodId, *const Value) -> Boolean;
        let values: Vec<Value> = arguments.iter().map(|a| a.value()).collect();
        // SAFETY: as in `call_void`.
        let result = unsafe {
            self.function::<F>(jni::CALL_STATIC_BOOLEAN_METHOD_A)(
                self.env,
                callee.class.0,
                callee.method,
                values.as_ptr(),
            )
        };
        self.unless_thrown(result != 0)
    }

    /// Calls a static method that returns an object.
    pub(crate) fn call_object(
        self,
        callee: StaticMethod,
        arguments: &[Argument],
    ) -> Result<Reference, Thrown> {
        type F = unsafe extern "system" fn(Env, Object, MethodId, *const Value) -> Object;
        let values: Vec<Value> = arguments.iter().map(|a| a.value()).collect();
        // SAFETY: as in `call_void`.
        let result = unsafe {
            self.function::<F>(jni::CALL_STATIC_OBJECT_METHOD_A)(
                self.env,
                callee.class.0,
                callee.method,
                values.as_ptr(),
            )
        };
        self.unless_thrown(Reference(result))
    }

    /// A new object of `class`, by the constructor of this descriptor.
    pub(crate) fn new_object(
        self,
        class: Reference,
        descriptor: &CStr,
        arguments: &[Argument],
    ) -> Result<Reference, Thrown> {
        type GetMethod =
            unsafe extern "system" fn(Env, Object, *const c_char, *const c_char) -> MethodId;
        type New = unsafe extern "system" fn(Env, Object, MethodId, *const Value) -> Object;
        let values: Vec<Value> = arguments.iter().map(|a| a.value()).collect();
        // SAFETY: the strings end in a zero byte, and callers pass what the
        // descriptor says.
        let object = unsafe {
            let constructor = self.function::<GetMethod>(jni::GET_METHOD_ID)(
                self.env,
                class.0,
                c"<init>".as_ptr(),
                descriptor.as_ptr(),
            );
            let constructor = self.unless_thrown(constructor)?;
            if constructor.is_null() {
                return Err(Thrown::default());
            }
            self.function::<New>(jni::NEW_OBJECT_A)(self.env, class.0, constructor, values.as_ptr())
        };
        self.reference(object)
    }

    /// A new object of `class`, which no constructor has seen.
    pub(crate) fn alloc_object(self, class: Reference) -> Result<Reference, Thrown> {
        type F = unsafe extern "system" fn(Env, Object) -> Object;
        // SAFETY: the reference is a class's.
        self.reference(unsafe { self.function::<F>(jni::ALLOC_OBJECT)(self.env, class.0) })
    }

    /// A new string.
    pub(crate) fn new_string(self, text: &CStr) -> Result<Reference, Thrown> {
        type F = unsafe extern "system" fn(Env, *const c_char) -> Object;
        // SAFETY: the text ends in a zero byte.
        self.reference(unsafe { self.function::<F>(jni::NEW_STRING_UTF)(self.env, text.as_ptr()) })
    }

    pub(super) fn text(self, string: Reference) -> Result<String, Thrown> {
        type Get = unsafe extern "system" fn(Env, Object, *mut Boolean) -> *const c_char;
        type Release = unsafe extern "system" fn(Env, Object, *const c_char);
        // SAFETY: the characters end in a zero byte and are given back.
        unsafe {
            let chars =
                self.function::<Get>(jni::GET_STRING_UTF_CHARS)(self.env, string.0, null_mut());
            if chars.is_null() {
                return Err(self.caught().unwrap_or_default());
            }
            let text = symbol::text(CStr::from_ptr(chars).to_bytes());
            self.function::<Release>(jni::RELEASE_STRING_UTF_CHARS)(self.env, string.0, chars);
            Ok(text)
        }
    }

    pub(crate) fn new_long_array(self, len: Int) -> Result<Reference, Thrown> {
        type F = unsafe extern "system" fn(Env, Int) -> Object;
        // SAFETY: no pointer but the environment.
        self.reference(unsafe { self.function::<F>(jni::NEW_LONG_ARRAY)(self.env, len) })
    }

    /// Copies the first elements of a `long[]`.
    pub(crate) fn read_longs(self, array: Reference, into: &mut [Long]) -> Result<(), Thrown> {
        type F = unsafe extern "system" fn(Env, Object, Int, Int, *mut Long);
        let len = Int::try_from(into.len()).map_err(|_| Thrown::default())?;
        // SAFETY: `into` has room for `len` elements; the VM checks the array's.
        unsafe {
            self.function::<F>(jni::GET_LONG_ARRAY_REGION)(
                self.env,
                array.0,
                0,
                len,
                into.as_mut_ptr(),
            );
        }
        self.unless_thrown(())
    }
}
