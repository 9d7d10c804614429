//! Samples of what is allocated, whoever does it, and which of them are alive.
//!
//! The VM gives an object in so many bytes to `SampledObjectAlloc`, in the
//! thread that allocates it; every one if it is to be one in zero bytes. What
//! it makes itself, and no instruction, it tells by `VMObjectAlloc`. What is
//! known of stacks and sites is behind one lock that is held for a moment and
//! never while the VM is called.

mod begin;
mod estimate;
mod exact_objects;
mod gc_sentinels;
mod live_objects;
mod liveness_scan;
mod report;
mod resolve;
mod stacks;
mod threads;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use loadhook_settings::AllocationMode;

use self::estimate::Estimate;
use self::exact_objects::Objects;
use self::gc_sentinels::Marks;
use self::live_objects::{Followed, Record, Records};
use self::liveness_scan::Crowd;
use self::report::Growth;
use self::resolve::Unloadable;
use self::stacks::{Limits, Numbers, Stacks};
use self::threads::{Owners, Site, VIRTUAL};
use crate::agent::Agent;
use crate::jvm::jni::{Field, Jni, Reference};
use crate::jvm::jvmti::{self, Jvmti, StackFrame};
use crate::jvm::sys::{Capabilities, capability};
use crate::options::Options;

/// Frames of a stack that are looked at.
const DEPTH: usize = 128;

/// Bytes of the largest object that a mark is made behind.
const MOST_BEFORE_MARK: u64 = 1 << 16;

/// Stands for the types there is no room for, and for the sites.
const OTHERS: u32 = 0;

/// The samples of this VM.
pub(crate) struct Samples {
    source: Source,
    /// Whether it is followed which are alive.
    follows: bool,
    /// Which Java this VM runs, as 17.
    feature: OnceLock<u32>,
    thread: OnceLock<ThreadClass>,
    has_begun: AtomicBool,
    /// How many have ended.
    collections: AtomicU32,
    /// Whether the VM collects the heap in one stop when it is asked to.
    collects_at_once: OnceLock<bool>,
    /// For collectors that do not.
    marks: Marks,
    /// The collections that had ended at the last mark.
    marked: AtomicU32,
    /// The class of a mark.
    object: OnceLock<Reference>,
    /// The thread that the VM starts when it is about to end.
    hook: OnceLock<Reference>,
    /// Whether so much is followed that it is worth looking what is gone.
    is_crowded: AtomicBool,
    /// Held by who looks what is gone: a tag is used again where it was found.
    looking: Mutex<()>,
    /// Classes with frames in the stacks.
    classes: Unloadable,
    state: Mutex<State>,
    /// Of the first snapshot.
    growth: OnceLock<Growth>,
}

/// Whose objects these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// Anybody's, one in so many bytes on average.
    Sampled(i32),
    /// Anybody's, all.
    All,
    /// Those that the VM makes itself for instrumented classes; by calling
    /// context or not.
    Vm { callers: bool },
}

/// Where threads have their names and ids: methods can be overridden, and
/// none of the program's are called.
struct ThreadClass {
    id: Field,
    name: Field,
    /// The class of all virtual threads, from JDK 21 on.
    virtual_threads: Option<Reference>,
}

struct State {
    stacks: Stacks,
    owners: Owners,
    types: Numbers<Arc<str>>,
    /// By descriptor, as the VM tells it.
    type_numbers: HashMap<Vec<u8>, u32>,
    followed: Followed,
    /// Objects there was no room to follow.
    missed: u64,
    /// Tags that are being given to their objects: one that has none yet would
    /// pass for gone.
    unfinished: Vec<i64>,
    crowd: Crowd,
    /// Samples there was no room for under their own site.
    without_site: u64,
    /// Samples of types there was no room for.
    without_type: u64,
}

/// What a native thread knows of itself.
#[derive(Clone, Copy, Default)]
struct Own {
    /// Among the owners.
    number: Option<u32>,
    /// The size of its last sample, 0 before.
    previous: u64,
    /// Whether it makes a [mark](Marks).
    is_marking: bool,
}

thread_local! {
    static OWN: Cell<Own> = const {
        Cell::new(Own { number: None, previous: 0, is_marking: false })
    };
}

/// What `SampledObjectAlloc` and `VMObjectAlloc` tell.
#[derive(Clone, Copy)]
pub(crate) struct Event {
    pub(crate) thread: Reference,
    pub(crate) object: Reference,
    pub(crate) class: Reference,
    /// In bytes.
    pub(crate) size: i64,
}

impl Samples {
    /// Gets ready at `Agent_OnLoad`.
    ///
    /// # Errors
    /// 98 if another agent samples: one can at a time.
    pub(crate) fn prepare(
        jvmti: Jvmti,
        mode: AllocationMode,
        options: &Options,
    ) -> jvmti::Result<Self> {
        let (source, followed) = match mode {
            AllocationMode::Sampled { interval } => (Source::Sampled(interval), Followed::Nothing),
            AllocationMode::Live { interval } => (
                Source::Sampled(interval),
                Followed::Samples(Records::default()),
            ),
            AllocationMode::LiveExact => (
                Source::All,
                Followed::All(Box::new(Objects::new(exact_objects::Limits::DEFAULT))),
            ),
            AllocationMode::Exact => {
                let callers = options.timing.is_some();
                (Source::Vm { callers }, Followed::Nothing)
            }
        };
        let follows = !matches!(followed, Followed::Nothing);
        let mut needed = vec![
            match source {
                Source::Vm { .. } => capability::CAN_GENERATE_VM_OBJECT_ALLOC_EVENTS,
                _ => capability::CAN_GENERATE_SAMPLED_OBJECT_ALLOC_EVENTS,
            },
            capability::CAN_GET_SOURCE_FILE_NAME,
            capability::CAN_GET_LINE_NUMBERS,
        ];
        if follows {
            needed.extend([
                capability::CAN_TAG_OBJECTS,
                capability::CAN_GENERATE_GARBAGE_COLLECTION_EVENTS,
            ]);
        }
        jvmti.add_capabilities(Capabilities::of(&needed))?;
        match source {
            Source::Sampled(interval) => jvmti.set_heap_sampling_interval(interval)?,
            Source::All => jvmti.set_heap_sampling_interval(0)?,
            Source::Vm { .. } => {}
        }
        Ok(Samples::new(source, followed))
    }

    fn new(source: Source, followed: Followed) -> Self {
        let mut types = Numbers::default();
        types.number("(other types)".into(), 1);
        Samples {
            source,
            follows: !matches!(followed, Followed::Nothing),
            feature: OnceLock::new(),
            thread: OnceLock::new(),
            has_begun: AtomicBool::new(false),
            collections: AtomicU32::new(0),
            collects_at_once: OnceLock::new(),
            marks: Marks::default(),
            marked: AtomicU32::new(0),
            object: OnceLock::new(),
            hook: OnceLock::new(),
            is_crowded: AtomicBool::new(false),
            looking: Mutex::new(()),
            classes: Unloadable::default(),
            state: Mutex::new(State {
                stacks: Stacks::new(Limits::DEFAULT),
                owners: Owners::new(),
                types,
                type_numbers: HashMap::new(),
                followed,
                missed: 0,
                unfinished: Vec::new(),
                crowd: Crowd::default(),
                without_site: 0,
                without_type: 0,
            }),
            growth: OnceLock::new(),
        }
    }

    /// Whether the VM tells of objects.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // After a panic a sum may lack a sample.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `SampledObjectAlloc` or `VMObjectAlloc`, in the thread that allocates.
    pub(crate) fn take(&self, agent: &Agent, jni: Jni<'_>, event: Event) {
        let jvmti = agent.jvmti;
        // A thread that attaches to the VM and has no object yet: JDK 11. And
        // what is made here is not the program's.
        if event.thread.is_null() || OWN.get().is_marking {
            return;
        }
        let Ok(size) = u64::try_from(event.size) else {
            return;
        };
        let mut frames = jvmti.stack_trace(DEPTH + 1);
        let deeper = frames.len() > DEPTH;
        frames.truncate(DEPTH);
        // The methods are on the stack: their classes are there.
        let unknown = self.lock().stacks.unknown(&frames);
        for frame in unknown {
            if let Some(found) = resolve::frame(agent, jni, frame, &self.classes) {
                self.lock().stacks.define(frame, found);
                self.forget_unloaded(agent, jni);
            }
        }
        // Most of what the VM makes is not the program's.
        if matches!(self.source, Source::Vm { .. })
            && !deeper
            && !self.lock().stacks.has_chosen(&frames)
        {
            return;
        }
        let Ok(descriptor) = jvmti.class_signature(event.class) else {
            return;
        };
        let thread = self.owner(jni, event.thread);
        let sample = Sample {
            thread,
            frames: &frames,
            deeper,
            descriptor: &descriptor,
            estimate: self.estimate(size),
        };
        // The thread may be suspended for ever while the VM tags the object, so
        // that no lock is held. One that gets no tag passes for gone.
        if let Some(tag) = self.add(sample) {
            let _ = jvmti.set_tag(event.object, tag);
            self.lock().unfinished.retain(|other| *other != tag);
        }
        if self.is_crowded.swap(false, Ordering::Relaxed)
            && let Some(alone) = self.alone()
        {
            self.look(jvmti, &alone);
        }
        // Behind a small object there is most often room for a mark: it must not
        // be what fills the heap.
        if self.follows && !self.collects_at_once() && size <= MOST_BEFORE_MARK {
            let now = self.collections.load(Ordering::Relaxed);
            if self.marked.fetch_max(now, Ordering::Relaxed) < now {
                self.mark(jni, now);
            }
        }
    }

    /// Forgets the frames of classes that are unloaded.
    fn forget_unloaded(&self, agent: &Agent, jni: Jni<'_>) {
        agent.forget_unloaded(jni);
        let gone = self.classes.gone(jni);
        if !gone.is_empty() {
            let mut state = self.lock();
            for class in gone {
                state.stacks.forget(class);
            }
        }
    }

    /// What a sample of the calling thread stands for.
    fn estimate(&self, size: u64) -> Estimate {
        let own = OWN.get();
        OWN.set(Own {
            previous: size,
            ..own
        });
        match self.source {
            Source::Sampled(interval) if self.draws_as_11() => {
                Estimate::following(own.previous, size, interval)
            }
            Source::Sampled(interval) => Estimate::of(size, interval),
            Source::All | Source::Vm { .. } => Estimate::exactly(1, size),
        }
    }

    fn draws_as_11(&self) -> bool {
        self.feature.get() == Some(&11)
    }

    fn is_before(&self, feature: u32) -> bool {
        self.feature.get().is_some_and(|it| *it < feature)
    }

    /// Whose the samples of the calling thread are.
    fn owner(&self, jni: Jni<'_>, thread: Reference) -> u32 {
        let class = self.thread.get();
        let is_virtual = class
            .and_then(|class| class.virtual_threads)
            .is_some_and(|class| jni.is_instance(thread, class));
        if is_virtual {
            return VIRTUAL;
        }
        let own = OWN.get();
        if let Some(number) = own.number {
            return number;
        }
        let id = class.and_then(|class| jni.long_field(thread, class.id).ok());
        let id = id.and_then(|id| u64::try_from(id).ok());
        let name = self.name(jni, thread);
        let number = self.lock().owners.begin(name.into(), id);
        OWN.set(Own {
            number: Some(number),
            ..own
        });
        number
    }

    fn name(&self, jni: Jni<'_>, thread: Reference) -> String {
        let name = jni.framed(|| {
            let class = self.thread.get()?;
            jni.string_field(thread, class.name).ok()?
        });
        name.flatten().unwrap_or_default()
    }

    /// Adds a sample; the tag for its object, if it is to be followed.
    fn add(&self, sample: Sample<'_>) -> Option<i64> {
        let born = self.collections.load(Ordering::Relaxed);
        let mut state = self.lock();
        let most = state.stacks.limits().others;
        let node = match self.source {
            Source::Vm { callers } => {
                let node = state
                    .stacks
                    .node_of_chosen(sample.frames, sample.deeper, callers)?;
                Some(node)
            }
            _ => state.stacks.node(sample.frames, sample.deeper),
        };
        let type_number = state.type_number(sample.descriptor, most);
        state.without_type += u64::from(type_number == OTHERS);
        let mut site = Site { node, type_number };
        let State {
            owners,
            followed,
            unfinished,
            crowd,
            ..
        } = &mut *state;
        if !owners.add(sample.thread, site, sample.estimate, most) {
            site = Site {
                node: None,
                type_number: OTHERS,
            };
            owners.add(sample.thread, site, sample.estimate, usize::MAX);
            state.without_site += 1;
            return None;
        }
        if !self.follows {
            return None;
        }
        if crowd.is_worth_a_look(followed.len(), born) {
            self.is_crowded.store(true, Ordering::Relaxed);
        }
        let tag = followed.put(Record {
            thread: sample.thread,
            site,
            born,
            estimate: sample.estimate,
        });
        match tag {
            Some(tag) => {
                owners.hold(sample.thread);
                unfinished.push(tag);
            }
            None => state.missed += 1,
        }
        tag
    }

    /// `ThreadEnd`, in the thread that ends.
    pub(crate) fn thread_ends(&self, agent: &Agent, jni: Jni<'_>, thread: Reference) {
        if self
            .hook
            .get()
            .is_some_and(|hook| jni.is_same(*hook, thread))
        {
            self.collect_last(agent, jni);
        }
        // It may attach again, as another one.
        let own = OWN.replace(Own::default());
        if let Some(number) = own.number {
            let name = self.name(jni, thread);
            self.lock().owners.end(number, &name);
        }
    }
}

/// A sample, as [`Samples::add`] takes it.
#[derive(Clone, Copy)]
struct Sample<'s> {
    thread: u32,
    frames: &'s [StackFrame],
    deeper: bool,
    descriptor: &'s [u8],
    estimate: Estimate,
}

impl State {
    fn type_number(&mut self, descriptor: &[u8], most: usize) -> u32 {
        // Hidden classes differ in their addresses.
        let descriptor = crate::instrument::hidden_classes::without_address(descriptor);
        if let Some(number) = self.type_numbers.get(descriptor) {
            return *number;
        }
        let name = resolve::type_name(descriptor).into();
        let Some(number) = self.types.number(name, most) else {
            return OTHERS;
        };
        if self.type_numbers.len() < most {
            self.type_numbers.insert(descriptor.to_vec(), number);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jvm::jvmti::MethodKey;

    #[test]
    fn what_finds_no_room_is_counted_and_told() {
        let frames = [StackFrame {
            method: MethodKey::unknown(1),
            location: 0,
        }];
        for (source, sample) in [
            (Source::All, "samples"),
            (
                Source::Vm { callers: false },
                "objects that the JVM made itself",
            ),
        ] {
            let samples = Samples::new(source, Followed::Nothing);
            samples.lock().stacks = Stacks::new(Limits {
                nodes: 9,
                others: 2,
            });
            for descriptor in ["La/A;", "La/B;", "La/C;"] {
                samples.add(Sample {
                    thread: VIRTUAL,
                    frames: &frames,
                    deeper: false,
                    descriptor: descriptor.as_bytes(),
                    estimate: Estimate::exactly(1, 16),
                });
            }
            let state = samples.lock();
            let (_, owner) = state.owners.with_sites().next().expect("samples");
            let objects: f64 = owner.sites.values().map(|sum| sum.objects).sum();
            assert!((objects - 3.0).abs() < 1e-9, "{objects}");
            let lacks = state.lacks(source);
            assert_eq!(lacks.len(), 2, "{lacks:?}");
            assert!(lacks[0].starts_with(&format!("3 {sample} have (other methods)")));
            assert!(lacks[1].starts_with("2 samples are shown as (other types)"));
        }
    }
}
