//! JVMPI's events as safe values.

use loadhook_profile::gc_events::{ArenaId, ObjectId};

use crate::jvm::jni::Jni;

/// The id of a thread: the address of its `JNIEnv`. A new thread can get the id of an ended thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ThreadId(pub(crate) usize);

/// The id of a method: its `jmethodID`. After the method's class is unloaded, a method of another class can get the id.
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
    /// The name with dots; for an array class, for example `[I` or `[Ljava.lang.String;`.
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
    /// The class of the object; for an array of objects, the class of its elements. `None` if the VM does not give it.
    pub(crate) class: Option<ObjectId>,
    /// The number by which JVMPI distinguishes objects and arrays of each type.
    pub(crate) kind: i32,
    pub(crate) size: u64,
}

/// An event.
///
/// From `CollectionStart` to `CollectionFinish`, threads are suspended. A suspended thread may be inside `malloc` or
/// hold a lock. So the handlers of events in this period neither allocate memory nor take a lock.
pub(crate) enum Event<'e> {
    /// The JVM is initialised. `None` if the event has no JNI environment.
    InitDone(Option<Jni<'e>>),
    /// The JVM is ending.
    ShutDown(Option<Jni<'e>>),
    /// A thread starts, or was requested by the agent.
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
    /// `thread` has allocated an object, or the agent has requested an existing object.
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
