//! Reads fields of threads. Fields are read instead of calling methods, because programs can override methods.

use crate::jvm::jni::{Field, Jni};
use crate::jvm::reference::{Global, Reference};

/// The fields of `java.lang.Thread` that the agent reads.
pub(crate) struct ThreadFields {
    id: Field,
    name: Field,
    /// The superclass of all virtual threads; `None` before JDK 21.
    virtual_threads: Option<Global>,
}

impl ThreadFields {
    /// Looks up the fields. Returns `None` if a field is missing.
    pub(crate) fn find(jni: Jni<'_>) -> Option<Self> {
        let found = jni.framed(|jni| {
            let class = jni.find_class(c"java/lang/Thread").ok()?;
            let virtual_threads = jni.find_class(c"java/lang/BaseVirtualThread").ok();
            Some(ThreadFields {
                id: jni.field(class, c"tid", c"J").ok()?,
                name: jni.field(class, c"name", c"Ljava/lang/String;").ok()?,
                virtual_threads: virtual_threads.and_then(|class| jni.global(class).ok()),
            })
        });
        found.flatten()
    }

    /// Returns the Java id of a thread.
    pub(crate) fn id(&self, jni: Jni<'_>, thread: impl Reference) -> Option<u64> {
        let id = jni.long_field(thread, self.id).ok()?;
        u64::try_from(id).ok()
    }

    /// Returns the name of a thread, empty if it cannot be read.
    pub(crate) fn name(&self, jni: Jni<'_>, thread: impl Reference) -> String {
        let name = jni.framed(|jni| jni.string_field(thread, self.name).ok()?);
        name.flatten().unwrap_or_default()
    }

    /// Returns whether a thread is virtual.
    pub(crate) fn is_virtual(&self, jni: Jni<'_>, thread: impl Reference) -> bool {
        self.virtual_threads
            .is_some_and(|class| jni.is_instance(thread, class))
    }
}
