//! The agent of this VM.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use loadhook_profile::{Header, Timing};
use thiserror::Error;

use crate::allocations::Samples;
use crate::instrument::hidden_classes::Hidden;
use crate::instrument::hook::Hook;
use crate::instrument::loaders::Loaders;
use crate::jvm::jni::{Argument, Jni, Reference, StaticMethod, Thrown};
use crate::jvm::jvmti::Jvmti;
use crate::snapshot::periodic::Turns;
use crate::tracker::heap_reserve::Heap;
use crate::tracker::sizes::Sizes;

/// Everything the events need.
pub(crate) struct Agent {
    pub(crate) jvmti: Jvmti,
    pub(crate) hook: Hook,
    pub(crate) loaders: Loaders,
    pub(crate) hidden: Hidden,
    /// Of allocations, if they are asked for and no other agent has them.
    pub(crate) samples: Option<Samples>,
    pub(crate) tracker: OnceLock<Tracker>,
    pub(crate) turns: Turns,
    /// When the JVM began.
    pub(crate) began: (SystemTime, Instant),
    /// The profile's name in the manifest.
    pub(crate) noted: OnceLock<PathBuf>,
    /// Profiles of the rewritten archives in this JVM, which have trackers of
    /// their own.
    pub(crate) others: Mutex<BTreeSet<PathBuf>>,
    /// Whether a virtual thread has ended.
    pub(crate) virtual_threads: AtomicBool,
}

/// The tracker's methods that the agent calls.
pub(crate) struct Tracker {
    configure: StaticMethod,
    begin_snapshot: StaticMethod,
    snapshot: StaticMethod,
    thread_end: StaticMethod,
    bind: StaticMethod,
    /// Made at the start: when the program ends, its heap may have no room.
    buffer: Reference,
    out_of_memory_error: Reference,
    lost_allocations: StaticMethod,
    pub(crate) heap: Heap,
    pub(crate) sizes: Sizes,
}

impl Agent {
    /// Forgets the classes of loaders that are gone.
    pub(crate) fn forget_unloaded(&self, jni: Jni<'_>) {
        for loader in self.loaders.gone(jni) {
            self.hook.registry.forget(loader);
        }
    }

    /// The JVM's time so far, of a profile without calls.
    pub(crate) fn lifetime(&self) -> Header {
        let (began, at) = self.began;
        let since_1970 = began.duration_since(UNIX_EPOCH).unwrap_or_default();
        Header {
            timing: Timing::Count,
            clock: self.hook.options().settings.clock,
            start_epoch_millis: i64::try_from(since_1970.as_millis()).unwrap_or(0),
            duration_ns: u64::try_from(at.elapsed().as_nanos()).unwrap_or(u64::MAX),
            ..Header::default()
        }
    }
}

/// Why there is no snapshot.
#[derive(Clone, Copy, Debug, Error)]
pub(crate) enum NoSnapshot {
    #[error("the tracker failed")]
    Failed,
    #[error("the heap is full; give the JVM more heap (-Xmx)")]
    Full,
    #[error("a thread holds the tracker's lock (is it suspended by a debugger?)")]
    Locked,
    #[error("given up")]
    GivenUp,
}

/// Words fetched at a time; more than the longest record has.
const BUFFER: i32 = 1 << 13;

impl Tracker {
    /// Looks up the methods of the class that was defined at VMStart.
    pub(crate) fn find(jni: Jni<'_>, class: Reference) -> Result<Self, Thrown> {
        Ok(Tracker {
            configure: jni.static_method(class, c"configure", c"(III)V")?,
            begin_snapshot: jni.static_method(class, c"beginSnapshot", c"()Z")?,
            snapshot: jni.static_method(class, c"snapshot", c"([J)I")?,
            thread_end: jni.static_method(class, c"threadEnd", c"(Ljava/lang/Thread;)V")?,
            bind: jni.static_method(class, c"bind", c"()V")?,
            buffer: jni.global(jni.new_long_array(BUFFER)?)?,
            out_of_memory_error: jni.global(jni.find_class(c"java/lang/OutOfMemoryError")?)?,
            lost_allocations: jni.static_method(class, c"lostAllocations", c"()J")?,
            heap: Heap::find(jni)?,
            sizes: Sizes::find(jni)?,
        })
    }

    pub(crate) fn configure(
        &self,
        jni: Jni<'_>,
        timing: i32,
        clock: i32,
        max_nodes: i32,
    ) -> Result<(), Thrown> {
        let arguments = [timing, clock, max_nodes].map(Argument::Int);
        jni.call_void(self.configure, &arguments)
    }

    /// How many allocations the last snapshot lacks.
    pub(crate) fn lost_allocations(&self, jni: Jni<'_>) -> i64 {
        jni.call_long(self.lost_allocations, &[]).unwrap_or(0)
    }

    /// A thread is about to end: its tree is merged.
    pub(crate) fn thread_ends(&self, jni: Jni<'_>, thread: Reference) {
        // A tracker that fails keeps the tree with the dead thread's state.
        let _ = jni.call_void(self.thread_end, &[Argument::Object(thread)]);
    }

    /// Has the native that defines hidden classes bound again, by code of the
    /// boot loader.
    pub(crate) fn bind(&self, jni: Jni<'_>) {
        // Who fails is seen by what is bound.
        let _ = jni.call_void(self.bind, &[]);
    }

    /// Fetches a snapshot and passes its words on, part by part, as long as
    /// `take` wants more.
    pub(crate) fn snapshot(
        &self,
        jni: Jni<'_>,
        mut take: impl FnMut(&[i64]) -> bool,
    ) -> Result<(), NoSnapshot> {
        let why = |thrown| match jni.is_a(thrown, self.out_of_memory_error) {
            true => NoSnapshot::Full,
            false => NoSnapshot::Failed,
        };
        let done = jni.framed(|| {
            let mut words = vec![0; BUFFER as usize];
            if !jni.call_boolean(self.begin_snapshot, &[]).map_err(why)? {
                return Err(NoSnapshot::Locked);
            }
            let buffer = [Argument::Object(self.buffer)];
            loop {
                let count = jni.call_int(self.snapshot, &buffer).map_err(why)?;
                let Some(part) = usize::try_from(count)
                    .ok()
                    .and_then(|count| words.get_mut(..count))
                else {
                    return Err(NoSnapshot::Failed);
                };
                if part.is_empty() {
                    return Ok(());
                }
                jni.read_longs(self.buffer, part).map_err(why)?;
                if !take(part) {
                    return Err(NoSnapshot::GivenUp);
                }
            }
        });
        done.unwrap_or(Err(NoSnapshot::Failed))
    }
}
