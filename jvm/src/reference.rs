//! JNI references, one type for each lifetime.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::null_mut;

use crate::sys::Object;

/// A local reference, or null.
///
/// `'f` is the frame that the reference belongs to: a callback of the JVM, or the
/// closure that [`Jni::framed`](crate::jni::Jni::framed) runs. The JVM frees the
/// reference when the frame ends. The reference is valid on one thread only, so
/// the type cannot move to another thread.
///
/// A reference made by the environment of the closure cannot leave the closure.
/// But the closure must not use an outer environment. The JVM gives every new
/// reference to the innermost frame, while the compiler takes a reference of the
/// outer environment for one of the outer frame. So that reference could leave
/// the closure and outlive its frame.
#[derive(Clone, Copy)]
pub struct Local<'f> {
    object: Object,
    frame: PhantomData<&'f ()>,
}

impl<'f> Local<'f> {
    /// The null reference.
    pub const NULL: Local<'static> = Local::new(null_mut());

    /// The boot loader, which JNI and JVM TI represent as null.
    pub const BOOT_LOADER: Local<'static> = Local::NULL;

    /// Wraps a reference of the JVM. The caller chooses the frame that the JVM made it for.
    pub const fn new(object: Object) -> Self {
        Local {
            object,
            frame: PhantomData,
        }
    }

    /// Returns whether the reference is null.
    pub fn is_null(self) -> bool {
        self.object.is_null()
    }
}

/// A global reference: it keeps its object alive and is valid on every thread.
///
/// A working agent deletes the references to threads that have ended, and the references to classes after it has noted,
/// sampled or changed them. When it leaves, it deletes all its other references. Only the references to the tracker are
/// never deleted, because the tracker stays.
#[derive(Clone, Copy)]
pub struct Global(Object);

// SAFETY: global references may be used on every thread.
unsafe impl Send for Global {}
// SAFETY: global references may be used on every thread.
unsafe impl Sync for Global {}

impl Global {
    /// Wraps a reference that `NewGlobalRef` made.
    pub fn new(object: Object) -> Self {
        Global(object)
    }

    /// Returns the reference as a local reference. This is allowed because a global reference is valid in every frame.
    pub fn local<'f>(self) -> Local<'f> {
        Local::new(self.0)
    }

    /// Returns a reference that no JVM knows, for tests.
    pub fn unknown() -> Self {
        Global(std::ptr::null_mut())
    }
}

/// A weak global reference: it is valid on every thread and does not keep its object alive.
///
/// `==` and hashes compare the references, not their objects; [`Jni::is_same`](crate::jni::Jni::is_same) compares the
/// objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Weak(Object);

// SAFETY: weak global references may be used on every thread.
unsafe impl Send for Weak {}
// SAFETY: weak global references may be used on every thread.
unsafe impl Sync for Weak {}

impl Weak {
    /// Wraps a reference that `NewWeakGlobalRef` made.
    pub fn new(object: Object) -> Self {
        Weak(object)
    }

    /// Returns a reference that no JVM knows, for tests.
    pub fn unknown(number: usize) -> Self {
        Weak(std::ptr::without_provenance_mut(number))
    }
}

/// A local, global or weak global reference. JNI and JVM TI take all three.
pub trait Reference: Copy {
    /// Returns the reference as the pointer that the JVM knows.
    fn object(self) -> Object;
}

impl Reference for Local<'_> {
    fn object(self) -> Object {
        self.object
    }
}

impl Reference for Global {
    fn object(self) -> Object {
        self.0
    }
}

impl Reference for Weak {
    fn object(self) -> Object {
        self.0
    }
}

impl fmt::Debug for Local<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Local({:p})", self.object)
    }
}
