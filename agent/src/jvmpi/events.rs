//! JVMPI's events as safe values.

use loadhook_profile::gc_events::{ArenaId, ObjectId};

use crate::jvm::jni::Jni;

/// A thread: the address of its `JNIEnv`. A thread that starts can have the id of one that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ThreadId(pub(crate) usize);

/// A method: its `jmethodID`. After the class is unloaded, a method of another class can have the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MethodId(pub(crate) usize);

/// A frame of a thread's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallFrame {
    pub(crate) method: MethodId,
    pub(crate) line: Option<u32>,
}

/// A class, as `CLASS_LOAD` describes it. Texts are modified UTF-8.
pub(crate) struct LoadedClass<'e> {
    pub(crate) class: ObjectId,
    /// The name with dots; of an array `[I` or `[Ljava.lang.String;`.
    pub(crate) name: &'e [u8],
    pub(crate) source_file: Option<&'e [u8]>,
    pub(crate) methods: Vec<LoadedMethod<'e>>,
}

/// A method of a [`LoadedClass`].
pub(crate) struct LoadedMethod<'e> {
    pub(crate) method: MethodId,
    pub(crate) name: &'e [u8],
    pub(crate) descriptor: &'e [u8],
    pub(crate) line: Option<u32>,
}

/// An object, as `OBJECT_ALLOC` describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllocatedObject {
    pub(crate) arena: ArenaId,
    pub(crate) object: ObjectId,
    /// The class; of an array of objects the class of its elements. `None` if the VM does not say it.
    pub(crate) class: Option<ObjectId>,
    /// The number by which JVMPI distinguishes objects and arrays of each type.
    pub(crate) kind: i32,
    pub(crate) size: u64,
}

/// An event.
///
/// From `CollectionStart` to `CollectionFinish` threads are suspended, one of them perhaps inside `malloc` or while it
/// holds a lock. So the handlers of the events that come there neither allocate nor lock.
pub(crate) enum Event<'e> {
    /// The JVM is initialised. `None` if the event has no JNI environment.
    InitDone(Option<Jni<'e>>),
    /// The JVM ends.
    ShutDown(Option<Jni<'e>>),
    /// A thread starts, or is told of because it was asked for.
    ThreadStart {
        thread: ThreadId,
        name: &'e [u8],
    },
    /// The calling thread ends.
    ThreadEnd {
        thread: ThreadId,
        jni: Jni<'e>,
    },
    ClassLoad(LoadedClass<'e>),
    ClassUnload(ObjectId),
    /// `thread` has allocated an object, or the agent has asked for an object that exists.
    ObjectAlloc {
        thread: ThreadId,
        object: AllocatedObject,
        is_requested: bool,
    },
    NewArena(ArenaId),
    CollectionStart,
    CollectionFinish,
    DeleteArena(ArenaId),
    ObjectFree(ObjectId),
    ObjectMove {
        arena: ArenaId,
        object: ObjectId,
        new_arena: ArenaId,
        new_object: ObjectId,
    },
}
