//! JVM TI functions for classes: they list loaded classes, read properties of a class, and retransform classes.

use std::ffi::{CString, c_char};
use std::ptr::null_mut;

use crate::jni::Jni;
use crate::jvmti::{Env, Jvmti, MethodKey, Result, check};
use crate::reference::{Local, Reference};
use crate::sys::{Boolean, FieldId, Int, JvmtiError, MethodId, Object, jvmti};

/// A field of a class.
#[derive(Clone, Debug)]
pub struct FieldInfo {
    /// Name in modified UTF-8.
    pub name: Vec<u8>,
    /// Descriptor in modified UTF-8.
    pub descriptor: Vec<u8>,
    /// True for a static field.
    pub is_static: bool,
}

impl Jvmti {
    /// Returns the classes loaded so far.
    pub fn loaded_classes<'f>(self, jni: Jni<'f>) -> Result<Vec<Local<'f>>> {
        type F = unsafe extern "system" fn(Env, *mut Int, *mut *mut Object) -> JvmtiError;
        let (mut count, mut classes): (Int, *mut Object) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_LOADED_CLASSES)(self.env, &mut count, &mut classes)
        })?;
        Ok(self.take_references(jni, count, classes))
    }

    /// Returns the classes of which a loader is an initiating loader (JVMS §5.3): those that the loader has defined
    /// itself, and those that it has found in another loader.
    pub fn class_loader_classes<'f>(
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

    /// Returns a class's descriptor, `Ljava/lang/String;`, in modified UTF-8.
    pub fn class_signature(self, class: Local<'_>) -> Result<Vec<u8>> {
        type F = unsafe extern "system" fn(
            Env,
            Object,
            *mut *mut c_char,
            *mut *mut c_char,
        ) -> JvmtiError;
        let mut signature: *mut c_char = null_mut();
        // SAFETY: null means that the generic signature is not requested.
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
    pub fn is_initialised(self, class: Local<'_>) -> Result<bool> {
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

    /// Returns the defining loader of a class; null for the boot loader.
    pub fn class_loader<'f>(self, _jni: Jni<'f>, class: Local<'_>) -> Result<Local<'f>> {
        type F = unsafe extern "system" fn(Env, Object, *mut Object) -> JvmtiError;
        let mut loader: Object = null_mut();
        // SAFETY: `loader` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_CLASS_LOADER)(self.env, class.object(), &mut loader)
        })?;
        Ok(Local::new(loader))
    }

    /// Returns the named module that `package` of `loader` belongs to; `None` if it belongs to an unnamed module.
    pub fn named_module<'f>(
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
    pub fn is_modifiable(self, class: Local<'_>) -> bool {
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

    /// Retransforms the classes. After an error, none of them has changed.
    pub fn retransform(self, classes: &[Local<'_>]) -> Result<()> {
        type F = unsafe extern "system" fn(Env, Int, *const Object) -> JvmtiError;
        let raw: Vec<Object> = classes.iter().map(|class| class.object()).collect();
        let count = raw.len() as Int;
        // SAFETY: `raw` holds `count` references.
        check(unsafe {
            self.function::<F>(jvmti::RETRANSFORM_CLASSES)(self.env, count, raw.as_ptr())
        })
    }

    /// Returns the name in a class's attribute `SourceFile` (JVMS §4.7.10), in modified UTF-8.
    pub fn source_file_name(self, class: Local<'_>) -> Result<Vec<u8>> {
        type F = unsafe extern "system" fn(Env, Object, *mut *mut c_char) -> JvmtiError;
        let mut name: *mut c_char = null_mut();
        // SAFETY: `name` is written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_SOURCE_FILE_NAME)(self.env, class.object(), &mut name)
        })?;
        Ok(self.take_string(name))
    }

    /// Returns the fields that a class declares, in the order in which the class file has them.
    pub fn class_fields(self, class: Local<'_>) -> Result<Vec<FieldInfo>> {
        type F = unsafe extern "system" fn(Env, Object, *mut Int, *mut *mut FieldId) -> JvmtiError;
        let (mut count, mut fields): (Int, *mut FieldId) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_CLASS_FIELDS)(
                self.env,
                class.object(),
                &mut count,
                &mut fields,
            )
        })?;
        // SAFETY: the JVM wrote `count` ids.
        let ids = unsafe { self.take_array(count, fields) };
        ids.into_iter()
            .map(|field| self.field(class, field))
            .collect()
    }

    fn field(self, class: Local<'_>, field: FieldId) -> Result<FieldInfo> {
        const ACC_STATIC: Int = 8;
        type Name = unsafe extern "system" fn(
            Env,
            Object,
            FieldId,
            *mut *mut c_char,
            *mut *mut c_char,
            *mut *mut c_char,
        ) -> JvmtiError;
        type Modifiers = unsafe extern "system" fn(Env, Object, FieldId, *mut Int) -> JvmtiError;
        let (mut name, mut descriptor): (*mut c_char, *mut c_char) = (null_mut(), null_mut());
        let mut modifiers: Int = 0;
        // SAFETY: the field belongs to the class; null means that the generic signature is not
        // requested.
        check(unsafe {
            self.function::<Name>(jvmti::GET_FIELD_NAME)(
                self.env,
                class.object(),
                field,
                &mut name,
                &mut descriptor,
                null_mut(),
            )
        })?;
        let (name, descriptor) = (self.take_string(name), self.take_string(descriptor));
        // SAFETY: the field belongs to the class.
        check(unsafe {
            self.function::<Modifiers>(jvmti::GET_FIELD_MODIFIERS)(
                self.env,
                class.object(),
                field,
                &mut modifiers,
            )
        })?;
        Ok(FieldInfo {
            name,
            descriptor,
            is_static: modifiers & ACC_STATIC != 0,
        })
    }

    /// Returns the direct superinterfaces of a class.
    pub fn interfaces<'f>(self, jni: Jni<'f>, class: Local<'_>) -> Result<Vec<Local<'f>>> {
        type F = unsafe extern "system" fn(Env, Object, *mut Int, *mut *mut Object) -> JvmtiError;
        let (mut count, mut classes): (Int, *mut Object) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_IMPLEMENTED_INTERFACES)(
                self.env,
                class.object(),
                &mut count,
                &mut classes,
            )
        })?;
        Ok(self.take_references(jni, count, classes))
    }

    /// Returns the ids of a class's methods; `None` if the class is not prepared.
    pub fn class_methods(self, class: Local<'_>) -> Option<Vec<MethodKey>> {
        type F = unsafe extern "system" fn(Env, Object, *mut Int, *mut *mut MethodId) -> JvmtiError;
        let (mut count, mut methods): (Int, *mut MethodId) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        let error = unsafe {
            self.function::<F>(jvmti::GET_CLASS_METHODS)(
                self.env,
                class.object(),
                &mut count,
                &mut methods,
            )
        };
        if error != 0 {
            return None;
        }
        // SAFETY: the JVM wrote `count` ids.
        let methods = unsafe { self.take_array(count, methods) };
        Some(methods.into_iter().map(MethodKey).collect())
    }

    /// Returns the bytecode of a method as it is now.
    pub fn bytecodes(self, method: MethodKey) -> Result<Vec<u8>> {
        type F = unsafe extern "system" fn(Env, MethodId, *mut Int, *mut *mut u8) -> JvmtiError;
        let (mut count, mut bytes): (Int, *mut u8) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_BYTECODES)(self.env, method.0, &mut count, &mut bytes)
        })?;
        // SAFETY: the JVM wrote `count` bytes.
        Ok(unsafe { self.take_array(count, bytes) })
    }

    /// Returns the constant pool of a class as it is now: `constant_pool_count` and the constants as in a class file.
    pub fn constant_pool(self, class: Local<'_>) -> Result<(u16, Vec<u8>)> {
        type F =
            unsafe extern "system" fn(Env, Object, *mut Int, *mut Int, *mut *mut u8) -> JvmtiError;
        let (mut constants, mut count, mut bytes): (Int, Int, *mut u8) = (0, 0, null_mut());
        // SAFETY: all three are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_CONSTANT_POOL)(
                self.env,
                class.object(),
                &mut constants,
                &mut count,
                &mut bytes,
            )
        })?;
        // SAFETY: the JVM wrote `count` bytes.
        Ok((constants as u16, unsafe { self.take_array(count, bytes) }))
    }

    /// Returns whether the boot loader has defined a class.
    pub fn is_of_boot_loader(self, class: Local<'_>) -> bool {
        type F = unsafe extern "system" fn(Env, Object, *mut Object) -> JvmtiError;
        let mut loader: Object = null_mut();
        // SAFETY: `loader` is written before success is reported. The local reference lives as long as the caller's
        // frame.
        let error = unsafe {
            self.function::<F>(jvmti::GET_CLASS_LOADER)(self.env, class.object(), &mut loader)
        };
        error == 0 && loader.is_null()
    }
}
