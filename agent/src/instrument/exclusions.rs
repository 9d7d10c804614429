//! Classes and methods that must have no probes: the tracker, and the methods of the JDK that the tracker calls.
//!
//! The tracker marks its thread during nearly all its calls, so that probes in the callees do nothing. But the methods
//! that it calls before it can mark the thread must have no probes. Tests compute these methods for every JDK and
//! compare them with this list in both directions.

/// A class and its methods, each with its descriptor.
type Methods = (&'static str, &'static [&'static str]);

const METHODS: &[Methods] = &[
    ("java/lang/Class", &["<clinit>()V", "runtimeSetup()V"]),
    ("java/lang/Double", &["<clinit>()V"]),
    ("java/lang/Object", &["<init>()V"]),
    ("java/lang/System", &["<clinit>()V"]),
    (
        "java/lang/Thread",
        &["<clinit>()V", "isVirtual()Z", "threadId()J"],
    ),
    (
        "java/util/concurrent/atomic/AtomicInteger",
        &["<clinit>()V", "getAndDecrement()I", "getAndIncrement()I"],
    ),
    (
        "java/util/concurrent/atomic/AtomicLong",
        &[
            "<clinit>()V",
            "compareAndSet(JJ)Z",
            "get()J",
            "getAndAdd(J)J",
            "getAndIncrement()J",
        ],
    ),
    (
        "jdk/internal/misc/Unsafe",
        &[
            "<clinit>()V",
            "<init>()V",
            "arrayBaseOffset(Ljava/lang/Class;)I",
            "arrayBaseOffset(Ljava/lang/Class;)J",
            "arrayIndexScale(Ljava/lang/Class;)I",
            "getAndAddInt(Ljava/lang/Object;JI)I",
            "getAndAddLong(Ljava/lang/Object;JJ)J",
            "getUnsafe()Ljdk/internal/misc/Unsafe;",
            "objectFieldOffset(Ljava/lang/Class;Ljava/lang/String;)J",
            "runtimeSetup()V",
            "weakCompareAndSetInt(Ljava/lang/Object;JII)Z",
            "weakCompareAndSetLong(Ljava/lang/Object;JJJ)Z",
        ],
    ),
    ("jdk/internal/misc/UnsafeConstants", &["<clinit>()V"]),
];

/// Prefixes of classes that mount and unmount virtual threads. Probes of their methods would run on different threads at
/// the entry and at the exit.
const CARRIERS: &[&str] = &["java/lang/VirtualThread", "jdk/internal/vm/"];

/// Returns whether all methods of a class are excluded.
pub(crate) fn has_class(name: &[u8]) -> bool {
    let begins_with = |prefix: &str| name.starts_with(prefix.as_bytes());
    begins_with(crate::tracker::NAME) || CARRIERS.iter().any(|prefix| begins_with(prefix))
}

/// Returns whether a method is excluded.
pub(crate) fn has_method(class: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
    let of_class = METHODS.iter().find(|(name, _)| name.as_bytes() == class);
    of_class.is_some_and(|(_, methods)| {
        methods
            .iter()
            .any(|method| method.as_bytes().strip_prefix(name) == Some(descriptor))
    })
}

/// Returns whether the methods of this class cannot be traced, because the tracker uses them to record a traced call.
pub(crate) fn records_traces(class: &[u8]) -> bool {
    class == b"java/lang/Throwable"
}

/// Packages of the JDK whose methods the tracker calls while its thread is marked.
const CALLED: &[&str] = &[
    "java.lang",
    "java.lang.ref",
    "java.util.concurrent.atomic",
    "jdk.internal.misc",
];

/// Returns whether the tracker may call methods of this class. Such methods must not get the probe that only counts,
/// because this probe does not check whether the thread is marked, and would count the tracker's own calls.
pub(crate) fn is_called_by_tracker(class: &str) -> bool {
    let package = class.rsplit_once('.').map_or("", |(package, _)| package);
    CALLED.contains(&package)
}

#[cfg(test)]
mod tests;
