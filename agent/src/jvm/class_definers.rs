//! Replacements for the native methods that define hidden classes.
//!
//! HotSpot posts no `ClassFileLoadHook` for hidden classes. One native method of `java.base` defines all of them. The
//! agent binds this method to its own function, which instruments the bytes and passes them to the original function.
//! Two other ways were considered:
//!
//! * Rewriting the callers, such as `Lookup.ClassDefiner`. Their code differs between JDKs, and retransforming classes
//!   of `java.base` makes the JVM give up its archive of classes (CDS).
//! * Calling `JVM_LookupDefineClass` instead of the original. The parameters of that function can change without
//!   notice. The parameters of a native method are in its descriptor.
//!
//! The address of the original function is known from `NativeMethodBind`, the event in which an agent can replace the
//! function. With common options such as `--add-exports` or `--add-modules`, the JVM binds the method so early that the
//! agent cannot read the names of methods yet. In this case the agent binds the method again later, by JNI
//! `RegisterNatives`.
//!
//! If anything fails here, the original function gets the arguments that the program passed.

use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::jni::{Jni, JniError};
use super::jvmti::MethodKey;
use super::reference::{Local, Reference};
use super::sys::{Boolean, Int, NativeMethod, Object};

/// The native methods that define hidden classes. A JDK has one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Definer {
    /// `ClassLoader.defineClass0`, from JDK 15 on.
    ClassLoader,
    /// `Unsafe.defineAnonymousClass0`, up to JDK 14.
    Unsafe,
}

/// The class loader of a hidden class that is about to be defined.
#[derive(Clone, Copy)]
pub(crate) enum DefinedIn<'f> {
    /// This class loader.
    Loader(Local<'f>),
    /// The class loader of this class.
    LoaderOf(Local<'f>),
}

/// Instruments hidden classes before they are defined.
pub(crate) trait HiddenClassHook: Sync {
    /// Returns whether hidden classes are to be instrumented at all.
    fn is_active(&self) -> bool;

    /// Instruments a class. Returns a new `byte[]` and the length of the class in this array; `None` if the class is to
    /// be defined as it is.
    fn instrument<'f>(
        &self,
        jni: Jni<'f>,
        defined_in: DefinedIn<'_>,
        bytes: &[u8],
    ) -> Option<(Local<'f>, Int)>;
}

/// A function that calls its argument with the present agent's hook. If there is no agent, it does not call the
/// argument.
type WithHook = fn(&mut dyn FnMut(&dyn HiddenClassHook));

static HOOK: OnceLock<WithHook> = OnceLock::new();

/// Sets the function through which the replacements reach the agent's hook. Only the first call has an effect.
pub(super) fn set_hook(with_hook: WithHook) {
    let _ = HOOK.set(with_hook);
}

/// `ClassLoader.defineClass0`, from JDK 15 on.
const CLASS_LOADER: Native = Native {
    class: c"java/lang/ClassLoader",
    name: c"defineClass0",
    descriptor: c"(Ljava/lang/ClassLoader;Ljava/lang/Class;Ljava/lang/String;[BIILjava/security/ProtectionDomain;ZILjava/lang/Object;)Ljava/lang/Class;",
    is_static: true,
    ours: define_class_0 as *const c_void,
};

/// `Unsafe.defineAnonymousClass0`, up to JDK 14.
const UNSAFE: Native = Native {
    class: c"jdk/internal/misc/Unsafe",
    name: c"defineAnonymousClass0",
    descriptor: c"(Ljava/lang/Class;[B[Ljava/lang/Object;)Ljava/lang/Class;",
    is_static: false,
    ours: define_anonymous_class_0 as *const c_void,
};

/// `HIDDEN_CLASS` of `MethodHandleNatives.Constants`. Without this flag the native method defines an ordinary class,
/// and the JVM posts `ClassFileLoadHook` for this class.
const HIDDEN: Int = 2;

static CLASS_LOADER_ORIGINAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static UNSAFE_ORIGINAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// A native method and its replacement.
struct Native {
    class: &'static CStr,
    name: &'static CStr,
    descriptor: &'static CStr,
    is_static: bool,
    ours: *const c_void,
}

fn native(definer: Definer) -> &'static Native {
    match definer {
        Definer::ClassLoader => &CLASS_LOADER,
        Definer::Unsafe => &UNSAFE,
    }
}

fn original(definer: Definer) -> &'static AtomicPtr<c_void> {
    match definer {
        Definer::ClassLoader => &CLASS_LOADER_ORIGINAL,
        Definer::Unsafe => &UNSAFE_ORIGINAL,
    }
}

/// The address of a function to which a native method is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Function(pub(super) *mut c_void);

// SAFETY: functions may be called on every thread.
unsafe impl Send for Function {}

#[cfg(test)]
impl Function {
    /// Makes the address of a function that is never called, for tests.
    pub(crate) fn unknown(number: usize) -> Self {
        Function(std::ptr::without_provenance_mut(number))
    }
}

/// Returns the method id of a native method; `None` if this JDK has no such method.
pub(crate) fn method(jni: Jni<'_>, definer: Definer) -> Option<MethodKey> {
    let native = native(definer);
    let found = jni.framed(|jni| {
        let class = jni.find_class(native.class)?;
        jni.method_key(class, native.name, native.descriptor, native.is_static)
    });
    found?.ok()
}

/// Stores the original function of a native method that is about to be bound to its replacement.
pub(crate) fn keep(definer: Definer, function: Function) {
    original(definer).store(function.0, Ordering::Release);
}

/// Returns the address of the function that replaces a native method.
pub(super) fn replacement(definer: Definer) -> *const c_void {
    native(definer).ours
}

/// Binds a native method to its replacement. Java code of the boot loader must call this, because otherwise the JVM
/// prints a warning.
pub(crate) fn bind(jni: Jni<'_>, definer: Definer) -> Result<(), JniError> {
    let native = native(definer);
    let bound = jni.framed(|jni| {
        let class = jni.find_class(native.class)?;
        let method = NativeMethod {
            name: native.name.as_ptr(),
            signature: native.descriptor.as_ptr(),
            function: native.ours,
        };
        jni.register_native(class, &method)
    });
    bound.unwrap_or(Err(JniError::Refused))
}

/// Instruments the class in a `byte[]`. Returns a new array and the length of the class in this array, or `None` if the
/// original function is to get the array that the program passed.
///
/// # Safety
/// `env` must be the `JNIEnv` of this thread, and `array` null or a `byte[]`.
unsafe fn instrumented(
    env: *mut c_void,
    defined_in: DefinedIn<'_>,
    array: Object,
    offset: Int,
    len: Option<Int>,
) -> Option<(Object, Int)> {
    let with_hook = HOOK.get()?;
    if array.is_null() {
        return None;
    }
    let mut made = None;
    // The panic hook has logged a panic.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        with_hook(&mut |hook| {
            // SAFETY: the caller's promise.
            let jni = unsafe { Jni::new(env) };
            if hook.is_active()
                && let Ok(bytes) = jni.read_bytes(Local::new(array), offset, len)
                && let Some((array, len)) = hook.instrument(jni, defined_in, &bytes)
            {
                made = Some((array.object(), len));
            }
        });
    }));
    made
}

type DefineClass0 = unsafe extern "system" fn(
    *mut c_void,
    Object,
    Object,
    Object,
    Object,
    Object,
    Int,
    Int,
    Object,
    Boolean,
    Int,
    Object,
) -> Object;

#[allow(clippy::too_many_arguments)]
unsafe extern "system" fn define_class_0(
    env: *mut c_void,
    class: Object,
    loader: Object,
    lookup: Object,
    name: Object,
    array: Object,
    offset: Int,
    len: Int,
    domain: Object,
    initialize: Boolean,
    flags: Int,
    class_data: Object,
) -> Object {
    let ours = if flags & HIDDEN == 0 {
        None
    } else {
        let defined_in = DefinedIn::Loader(Local::new(loader));
        // SAFETY: the JVM passes this thread's environment and a `byte[]`.
        unsafe { instrumented(env, defined_in, array, offset, Some(len)) }
    };
    let (array, offset, len) = match ours {
        Some((array, len)) => (array, 0, len),
        None => (array, offset, len),
    };
    // SAFETY: the original was kept before the replacement was bound. It has the
    // type that the descriptor says.
    unsafe {
        let original = CLASS_LOADER_ORIGINAL.load(Ordering::Acquire);
        let original = std::mem::transmute::<*mut c_void, DefineClass0>(original);
        original(
            env, class, loader, lookup, name, array, offset, len, domain, initialize, flags,
            class_data,
        )
    }
}

type DefineAnonymousClass0 =
    unsafe extern "system" fn(*mut c_void, Object, Object, Object, Object) -> Object;

unsafe extern "system" fn define_anonymous_class_0(
    env: *mut c_void,
    this: Object,
    host: Object,
    array: Object,
    patches: Object,
) -> Object {
    let ours = if host.is_null() {
        None
    } else {
        let defined_in = DefinedIn::LoaderOf(Local::new(host));
        // SAFETY: the JVM passes this thread's environment and a `byte[]`.
        unsafe { instrumented(env, defined_in, array, 0, None) }
    };
    let array = ours.map_or(array, |(array, _)| array);
    // SAFETY: the original was kept before the replacement was bound. It has the
    // type that the descriptor says.
    unsafe {
        let original = UNSAFE_ORIGINAL.load(Ordering::Acquire);
        let original = std::mem::transmute::<*mut c_void, DefineAnonymousClass0>(original);
        original(env, this, host, array, patches)
    }
}
