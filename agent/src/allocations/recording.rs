//! Recording of allocation events, in the threads that allocate.

use std::sync::atomic::Ordering;

use super::owners::VIRTUAL;
use super::sample_tables::{DEPTH, EventSource};
use super::samples::{Sample, Samples, Stack, THREAD_STATE, ThreadState};
use crate::frames::resolve;
use crate::instrument::instrumentation::Instrumentation;
use crate::instrument::weak_values::JvmObjects;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::{Local, Weak};
use crate::locks::try_lock;
use crate::tracker::heap_reserve::HeapReserve;

/// The size of the largest object after which a sentinel is made, in bytes. The sentinel must not be the object that
/// fills the heap. After a small object, the heap usually has room for a sentinel.
const MOST_BEFORE_SENTINEL: u64 = 1 << 16;

/// The arguments of `SampledObjectAlloc` and `VMObjectAlloc`.
#[derive(Clone, Copy)]
pub(crate) struct AllocationEvent<'f> {
    pub(crate) thread: Local<'f>,
    pub(crate) object: Local<'f>,
    pub(crate) class: Local<'f>,
    /// Size of the object in bytes.
    pub(crate) size: i64,
}

impl Samples {
    /// Records an event in the thread that allocates.
    pub(crate) fn record(
        &self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        event: AllocationEvent<'_>,
    ) {
        let jvmti = instrumentation.jvmti;
        // On JDK 11, a thread that is being attached to the JVM has no object yet. A sentinel is no allocation of the
        // program.
        if event.thread.is_null() || THREAD_STATE.get().is_making_sentinel {
            return;
        }
        let Ok(size) = u64::try_from(event.size) else {
            return;
        };
        // Most objects that the JVM makes itself are not for instrumented classes. So the stack is checked first.
        let stack =
            matches!(self.source, EventSource::Vm { .. }).then(|| self.stack(instrumentation, jni));
        if let Some(Stack {
            frames,
            is_deeper: false,
        }) = &stack
            && !self.lock().stacks.has_chosen(frames)
        {
            return;
        }
        let Some(type_number) = self.type_number(jvmti, jni, event.class) else {
            return;
        };
        let sample = Sample {
            owner: self.owner(jni, event.thread),
            type_number,
            estimate: self.estimate(size),
            weak: self.weak(jni, event.object),
        };
        let is_followed = self.add_with_stack(instrumentation, jni, sample, stack);
        if let Some(weak) = sample.weak
            && !is_followed
        {
            jni.delete_weak(weak);
        }
        if self.scan_is_due.swap(false, Ordering::Relaxed)
            && let Some(scanning) = try_lock(&self.scanning)
        {
            self.scan(jni, &scanning);
        }
        if self.follows && !self.collects_in_one_stop() && size <= MOST_BEFORE_SENTINEL {
            let now = self.collections.load(Ordering::Relaxed);
            if self.last_sentinel.fetch_max(now, Ordering::Relaxed) < now {
                self.make_sentinel(jni, now);
            }
        }
    }

    /// Makes a weak reference to a new object; `None` if objects are not followed, or if there is no room. Called
    /// before the lock is taken, because the lock must not be held during a call of the JVM.
    fn weak(&self, jni: Jni<'_>, object: Local<'_>) -> Option<Weak> {
        let has_room = self.follows && !self.is_full.load(Ordering::Relaxed);
        has_room.then(|| jni.weak(object).ok()).flatten()
    }

    /// Adds a sample of the calling thread. `stack` is the thread's stack if the caller has it already. Returns whether
    /// the sampled object is followed.
    fn add_with_stack(
        &self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        sample: Sample,
        stack: Option<Stack>,
    ) -> bool {
        let redefinitions = &instrumentation.redefinitions;
        let uses_keys = stack.is_none() && !self.keys_are_wrong.load(Ordering::Relaxed);
        let keys = self.keys.get().filter(|_| uses_keys);
        // After a redefinition of classes, an old key may stand for another interpreted method.
        let with_interpreted = redefinitions.are_excluded();
        let key = keys.and_then(|keys| keys.key(jni, self.asked_depth(), with_interpreted));
        if let Some(key) = &key
            && let Some(is_followed) = self.add_by_key(sample, key, redefinitions.version())
        {
            return is_followed;
        }
        let stack = stack.unwrap_or_else(|| self.stack(instrumentation, jni));
        let is_followed = self.add(sample, &stack);
        if let Some(key) = &key
            && !stack.is_deeper
        {
            self.note_key(key, &stack);
        }
        is_followed
    }

    /// Returns the number of frames that are requested from the JVM. With the default depth, this is one frame more
    /// than [`Samples::depth`]. The further frame shows that the stack is deeper. With a smaller depth, the user wants
    /// no deeper frames. A key also has this number of frames: otherwise a stack of exactly [`Samples::depth`] frames
    /// and a deeper stack could have the same key.
    fn asked_depth(&self) -> usize {
        let wants_all = self.depth == DEPTH;
        self.depth + usize::from(wants_all)
    }

    /// Returns the stack of the calling thread. Defines its unknown frames first.
    fn stack(&self, instrumentation: &Instrumentation, jni: Jni<'_>) -> Stack {
        let mut frames = instrumentation.jvmti.stack_trace(self.asked_depth());
        let is_deeper = frames.len() > self.depth;
        frames.truncate(self.depth);
        // The methods are on the stack, so their classes are loaded.
        let version = instrumentation.redefinitions.version();
        let unknown = self.lock().stacks.unknown(&frames, version);
        for frame in unknown {
            if let Some(resolved) = resolve::frame(instrumentation, jni, frame, Some(&self.classes))
            {
                self.lock().stacks.define(frame, resolved, version);
                self.forget_unloaded(instrumentation, jni);
            }
        }
        Stack { frames, is_deeper }
    }

    /// Returns the number of the type of the objects of a class.
    fn type_number(&self, jvmti: Jvmti, jni: Jni<'_>, class: Local<'_>) -> Option<u32> {
        let mut is_new = false;
        let make = || {
            is_new = true;
            let descriptor = jvmti.class_signature(class).ok()?;
            let mut tables = self.lock();
            let most = tables.stacks.limits().others;
            Some(tables.type_number(&descriptor, most))
        };
        // All classes of one name have the same type number, so an unused result needs no clean-up.
        let discard = |_| ();
        let objects = JvmObjects { jvmti, jni };
        let number = self.types.get_or_make(&objects, class, make, discard);
        // The search for unloaded classes is also needed here: new classes may have objects without any new frame.
        if is_new {
            drop(self.types.take_gone(&objects));
        }
        number
    }

    /// Forgets the frames of unloaded classes.
    fn forget_unloaded(&self, instrumentation: &Instrumentation, jni: Jni<'_>) {
        instrumentation.forget_unloaded(jni);
        let gone = self.classes.take_gone(instrumentation.jvmti, jni);
        if !gone.is_empty() {
            let mut tables = self.lock();
            for class in gone {
                tables.stacks.forget(class);
            }
        }
    }

    /// Returns the number of the owner of the calling thread's samples.
    fn owner(&self, jni: Jni<'_>, thread: Local<'_>) -> u32 {
        let class = self.thread_class.get();
        if class.is_some_and(|class| class.is_virtual(jni, thread)) {
            return VIRTUAL;
        }
        if let Some(owner) = self.owner_of(THREAD_STATE.get()) {
            return owner;
        }
        let id = class.and_then(|class| class.id(jni, thread));
        let name = self.name(jni, thread);
        let owner = self.lock().owners.begin(name.into(), id);
        self.set_owner(owner);
        owner
    }

    fn name(&self, jni: Jni<'_>, thread: Local<'_>) -> String {
        let class = self.thread_class.get();
        class.map_or(String::new(), |class| class.name(jni, thread))
    }

    /// Handles `ThreadEnd`, in the thread that ends.
    pub(crate) fn thread_ends(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        reserve: Option<&HeapReserve>,
        thread: Local<'_>,
    ) {
        let hook = self.shutdown_hook.get();
        if hook.is_some_and(|hook| jni.is_same(*hook, thread)) {
            self.collect_at_exit(jvmti, jni, reserve);
        }
        // The native thread may attach again, as another Java thread.
        let state = THREAD_STATE.replace(ThreadState::default());
        if let Some(owner) = self.owner_of(state) {
            let name = self.name(jni, thread);
            self.lock().owners.end(owner, &name);
        }
    }
}
