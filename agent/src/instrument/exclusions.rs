//! What must never call the tracker: the tracker itself, and what it stands
//! on.
//!
//! The tracker marks its thread around nearly all that it calls, so that
//! probes met there do nothing. What it calls before it can mark it must have
//! no probes. The tests compute these methods on every JDK, and hold this list
//! against them in both directions.

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

/// What moves threads from and to carriers: a method's probes would meet
/// different threads at its entry and at its end.
const CARRIERS: &[&str] = &["java/lang/VirtualThread", "jdk/internal/vm/"];

/// Whether no method of a class may be instrumented.
pub(crate) fn has_class(name: &[u8]) -> bool {
    let begins_with = |prefix: &str| name.starts_with(prefix.as_bytes());
    begins_with(crate::tracker::NAME) || CARRIERS.iter().any(|prefix| begins_with(prefix))
}

/// Whether a method of a class may not be instrumented.
pub(crate) fn has_method(class: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
    let of_class = METHODS.iter().find(|(below, _)| below.as_bytes() == class);
    of_class.is_some_and(|(_, methods)| {
        methods
            .iter()
            .any(|method| method.as_bytes().strip_prefix(name) == Some(descriptor))
    })
}

#[cfg(test)]
mod tests;
