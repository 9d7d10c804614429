//! The natives that define hidden classes, with ours before them.
//!
//! HotSpot shows hidden classes to no `ClassFileLoadHook`. All of them pass
//! through one native of `java.base`, so ours stands before it, rewrites the
//! bytes and calls the original with them. Two other ways were weighed:
//!
//! * Rewriting the callers, `Lookup.ClassDefiner` among them: their code differs
//!   from JDK to JDK, and a retransformed `java.base` costs its archive.
//! * Calling `JVM_LookupDefineClass` instead of the original: nobody tells when
//!   that function's parameters change. A native's are in its descriptor.
//!
//! The original's address is known from `NativeMethodBind`, the event in which
//! JVM TI lets an agent put another function in its place. Options as common as
//! `--add-exports` or `--add-modules` have the VM bind the native before an agent can ask
//! for the method's name. Then it is bound again, by JNI `RegisterNatives`.
//!
//! Whatever fails here, the original gets the arguments that the program gave.

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::callbacks::AGENT;
use super::jni::{Jni, Reference, Thrown};
use super::jvmti::MethodKey;
use crate::instrument::hidden_classes::{self, Definer};
use crate::jvm::sys::{Boolean, Int, MethodId, NativeMethod, Object, jni};

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

/// `HIDDEN_CLASS` of `MethodHandleNatives.Constants`; without it the native
/// defines an ordinary class, which the VM does show.
const HIDDEN: Int = 2;

static CLASS_LOADER_ORIGINAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static UNSAFE_ORIGINAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

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

/// The address of a native's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Function(*mut c_void);

// SAFETY: code is there for every thread.
unsafe impl Send for Function {}

#[cfg(test)]
impl Function {
    /// One that nobody calls.
    pub(crate) fn unknown(number: usize) -> Self {
        Function(std::ptr::without_provenance_mut(number))
    }
}

/// The method of a native; `None` where this JDK has none of that descriptor.
pub(crate) fn method(jni: Jni<'_>, definer: Definer) -> Option<MethodKey> {
    let native = native(definer);
    let found = jni.framed(|| {
        let class = jni.find_class(native.class)?;
        jni.method_key(class, native.name, native.descriptor, native.is_static)
    });
    found?.ok()
}

/// Keeps the original of a native that is bound to ours from now on.
pub(crate) fn keep(definer: Definer, function: Function) {
    original(definer).store(function.0, Ordering::Release);
}

/// Binds a native to ours. To be called by Java code of the boot loader, or
/// the VM prints a warning.
pub(crate) fn bind(jni: Jni<'_>, definer: Definer) -> Result<(), Thrown> {
    let native = native(definer);
    let bound = jni.framed(|| {
        let class = jni.find_class(native.class)?;
        let method = NativeMethod {
            name: native.name.as_ptr(),
            signature: native.descriptor.as_ptr(),
            function: native.ours,
        };
        jni.register_native(class, &method)
    });
    bound.unwrap_or_else(|| Err(Thrown::default()))
}

/// `NativeMethodBind`. Before the VM has started there is no `env`.
pub(super) unsafe extern "system" fn native_method_bind(
    _jvmti: *mut c_void,
    _env: *mut c_void,
    _thread: Object,
    method: MethodId,
    address: *mut c_void,
    new_address: *mut *mut c_void,
) {
    super::callbacks::on_event_without_jni(|agent| {
        let definer = agent.hidden.bound(MethodKey(method), Function(address));
        if let Some(definer) = definer {
            keep(definer, Function(address));
            // SAFETY: the VM's own place.
            unsafe { *new_address = native(definer).ours.cast_mut() }
            agent.hidden.is_bound(agent.jvmti);
        }
    });
}

/// The bytes of a class that the program defines, instrumented, in an array of
/// their own; `None` if the original is to get the program's.
///
/// # Safety
/// `env` must be the `JNIEnv` of this thread, and the array one of bytes.
unsafe fn instrumented(
    env: *mut c_void,
    loader: impl FnOnce(Jni<'_>) -> Option<Reference>,
    array: Object,
    offset: Int,
    len: Option<Int>,
) -> Option<(Object, Int)> {
    let agent = AGENT.get()?;
    if array.is_null() || !agent.hidden.is_active() {
        return None;
    }
    // A panic was told by the hook.
    let array = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller's promise.
        let jni = unsafe { Jni::new(env) };
        let bytes = jni.read_bytes(Reference(array), offset, len).ok()?;
        hidden_classes::instrumented(agent, jni, loader(jni)?, &bytes)
    }));
    array.ok()?.map(|(array, len)| (array.0, len))
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
    let ours = match flags & HIDDEN {
        0 => None,
        // SAFETY: the VM passes this thread's environment and a `byte[]`.
        _ => unsafe {
            let loader = |_: Jni<'_>| Some(Reference(loader));
            instrumented(env, loader, array, offset, Some(len))
        },
    };
    let (array, offset, len) = match ours {
        Some((array, len)) => (array, 0, len),
        None => (array, offset, len),
    };
    // SAFETY: ours is bound only after the original was kept, which has the
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
    let host_loader = |_: Jni<'_>| {
        let agent = AGENT.get().filter(|_| !host.is_null())?;
        agent.jvmti.class_loader(Reference(host)).ok()
    };
    // SAFETY: the VM passes this thread's environment and a `byte[]`.
    let ours = unsafe { instrumented(env, host_loader, array, 0, None) };
    let array = ours.map_or(array, |(array, _)| array);
    // SAFETY: as above.
    unsafe {
        let original = UNSAFE_ORIGINAL.load(Ordering::Acquire);
        let original = std::mem::transmute::<*mut c_void, DefineAnonymousClass0>(original);
        original(env, this, host, array, patches)
    }
}

/// JNI for arrays of bytes and for natives.
impl Jni<'_> {
    fn method_key(
        self,
        class: Reference,
        name: &CStr,
        descriptor: &CStr,
        is_static: bool,
    ) -> Result<MethodKey, Thrown> {
        type F = unsafe extern "system" fn(
            *mut c_void,
            Object,
            *const c_char,
            *const c_char,
        ) -> MethodId;
        let place = match is_static {
            true => jni::GET_STATIC_METHOD_ID,
            false => jni::GET_METHOD_ID,
        };
        // SAFETY: both strings end in a zero byte.
        let method = unsafe {
            let get = self.function::<F>(place);
            get(self.env.cast(), class.0, name.as_ptr(), descriptor.as_ptr())
        };
        let method = self.unless_thrown(method)?;
        match method.is_null() {
            true => Err(Thrown::default()),
            false => Ok(MethodKey(method)),
        }
    }

    fn register_native(self, class: Reference, method: &NativeMethod) -> Result<(), Thrown> {
        type F = unsafe extern "system" fn(*mut c_void, Object, *const NativeMethod, Int) -> Int;
        // SAFETY: one method, whose strings end in a zero byte.
        let error = unsafe {
            self.function::<F>(jni::REGISTER_NATIVES)(self.env.cast(), class.0, method, 1)
        };
        match self.unless_thrown(error)? {
            0 => Ok(()),
            _ => Err(Thrown::default()),
        }
    }

    /// Copies elements of a `byte[]`: `len` of them, or all that follow.
    fn read_bytes(
        self,
        array: Reference,
        offset: Int,
        len: Option<Int>,
    ) -> Result<Vec<u8>, Thrown> {
        type Length = unsafe extern "system" fn(*mut c_void, Object) -> Int;
        type Read = unsafe extern "system" fn(*mut c_void, Object, Int, Int, *mut u8);
        // SAFETY: the array is not null.
        let all =
            unsafe { self.function::<Length>(jni::GET_ARRAY_LENGTH)(self.env.cast(), array.0) };
        let rest = all.checked_sub(offset).ok_or_else(Thrown::default)?;
        let len = len.unwrap_or(rest);
        // An exception of the VM's would be none of the program's.
        if offset < 0 || len < 0 || len > rest {
            return Err(Thrown::default());
        }
        let mut bytes = vec![0; len as usize];
        // SAFETY: there is room for `len` elements, and the array has them.
        unsafe {
            self.function::<Read>(jni::GET_BYTE_ARRAY_REGION)(
                self.env.cast(),
                array.0,
                offset,
                len,
                bytes.as_mut_ptr(),
            );
        }
        self.unless_thrown(bytes)
    }

    /// A new `byte[]` of these, and its length.
    pub(crate) fn new_byte_array(self, bytes: &[u8]) -> Result<(Reference, Int), Thrown> {
        type New = unsafe extern "system" fn(*mut c_void, Int) -> Object;
        type Write = unsafe extern "system" fn(*mut c_void, Object, Int, Int, *const u8);
        let len = Int::try_from(bytes.len()).map_err(|_| Thrown::default())?;
        // SAFETY: no pointer but the environment.
        let array = unsafe { self.function::<New>(jni::NEW_BYTE_ARRAY)(self.env.cast(), len) };
        let array = self.reference(array)?;
        // SAFETY: the array has `len` elements, as `bytes` has.
        unsafe {
            self.function::<Write>(jni::SET_BYTE_ARRAY_REGION)(
                self.env.cast(),
                array.0,
                0,
                len,
                bytes.as_ptr(),
            );
        }
        self.unless_thrown((array, len))
    }
}
