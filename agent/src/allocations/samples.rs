//! The samples of a JVM's allocations: the state that recording needs, and the tables of the samples.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use loadhook_settings::AllocationMode;

use super::estimate::Estimate;
use super::exact_objects::{ExactObjects, ObjectLimits};
use super::followed::Followed;
use super::gc_sentinels::GcSentinels;
use super::growth::Growth;
use super::known_keys::DIFFERED;
use super::owners::Site;
use super::sample_tables::{DEPTH, EventSource, OTHER_TYPES, SampleTables};
use super::stacks::Collections;
use super::weak_records::{LiveRecord, WeakRecords};
use crate::diagnostics;
use crate::frames::resolve::UnloadableClasses;
use crate::instrument::weak_values::WeakValues;
use crate::jvm::jvmti::{self, Jvmti};
use crate::jvm::jvmti_stacks::StackFrame;
use crate::jvm::reference::{Global, Weak};
use crate::jvm::sampling::{StackKey, StackKeys};
use crate::jvm::sys::{Capabilities, capability};
use crate::locks::lock;
use crate::options::Options;
use crate::threads::fields::ThreadFields;

/// The number for the next [`Samples`]. A thread keeps the number of its [owner](super::owners), together with the
/// number of the `Samples` that has this owner. Threads live on when an agent leaves. By the number of the `Samples`,
/// the next agent sees that the owner is not one of its own.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The samples of this JVM.
pub(crate) struct Samples {
    /// The number of these samples. The samples of each later agent in this JVM have another number.
    number: u32,
    pub(super) source: EventSource,
    /// True if sampled objects are followed until they are dead.
    pub(super) follows: bool,
    /// The feature release of the JDK, for example 17.
    pub(super) feature: OnceLock<u32>,
    pub(super) thread_class: OnceLock<ThreadFields>,
    /// Set when the events are enabled.
    pub(super) has_begun: AtomicBool,
    /// Number of collections that have ended.
    pub(super) collections: AtomicU32,
    /// True if a collection that the agent asks for is one stop of the JVM.
    pub(super) collects_in_one_stop: OnceLock<bool>,
    /// Sentinels for collectors that do not collect in one stop.
    pub(super) sentinels: GcSentinels,
    /// Number of collections that had ended at the last sentinel.
    pub(super) last_sentinel: AtomicU32,
    /// `java.lang.Object`, the class of sentinels.
    pub(super) object_class: OnceLock<Global>,
    /// The shutdown hook: a thread that the JVM starts when it is about to end.
    pub(super) shutdown_hook: OnceLock<Global>,
    /// Set when a liveness scan is due.
    pub(super) scan_is_due: AtomicBool,
    /// Serialises liveness scans, because a scan removes objects by their positions in the table.
    pub(super) scanning: Mutex<()>,
    /// Classes with frames in the stacks.
    pub(super) classes: UnloadableClasses,
    /// The numbers of the types of allocated objects, by class; `None` inside for a class that the JVM does not name.
    pub(super) types: WeakValues<Option<u32>>,
    /// Maximum number of frames of a stack.
    pub(super) depth: usize,
    /// Makes keys of stacks. Set if all objects are recorded and the agent knows this JVM's stack layout.
    pub(super) keys: OnceLock<StackKeys>,
    /// True if the class-load hook is called for classes that other agents retransform.
    can_retransform: bool,
    /// True after two stacks with one key have differed. Then no thread makes keys any more.
    pub(super) keys_are_wrong: AtomicBool,
    tables: Mutex<SampleTables>,
    /// True if no further objects can be followed, because the table of followed objects is full.
    pub(super) is_full: AtomicBool,
    /// The live objects of the first snapshot.
    pub(super) growth: OnceLock<Growth>,
}

/// State of a native thread for its samples.
#[derive(Clone, Copy, Default)]
pub(super) struct ThreadState {
    /// The number of the [`Samples`] in which the thread has an owner, and the number of this owner.
    pub(super) owner: Option<(u32, u32)>,
    /// Size in bytes of the object that was sampled last in the thread; 0 before the first sample.
    pub(super) previous: u64,
    /// True while the thread makes a [sentinel](GcSentinels).
    pub(super) is_making_sentinel: bool,
}

thread_local! {
    pub(super) static THREAD_STATE: Cell<ThreadState> = const {
        Cell::new(ThreadState { owner: None, previous: 0, is_making_sentinel: false })
    };
}

/// A sample of an allocation.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    /// The number of the sample's owner.
    pub(super) owner: u32,
    pub(super) type_number: u32,
    pub(super) estimate: Estimate,
    /// A reference to the object; `None` if the object cannot be followed.
    pub(super) weak: Option<Weak>,
}

/// The innermost frames of a stack.
pub(super) struct Stack {
    /// The frames, innermost first.
    pub(super) frames: Vec<StackFrame>,
    /// True if the stack has further frames.
    pub(super) is_deeper: bool,
}

impl Samples {
    /// Adds the capabilities that this mode needs, and makes the tables. Called in `Agent_OnLoad`.
    ///
    /// # Errors
    ///
    /// Returns error 98 if another agent samples allocations, because only one agent of a JVM can.
    pub(crate) fn prepare(
        jvmti: Jvmti,
        mode: AllocationMode,
        options: &Options,
    ) -> jvmti::Result<Self> {
        let (source, followed) = match mode {
            AllocationMode::Sampled { interval } => {
                (EventSource::Sampled(interval), Followed::Nothing)
            }
            AllocationMode::Live { interval } => (
                EventSource::Sampled(interval),
                Followed::Samples(WeakRecords::default()),
            ),
            AllocationMode::LiveExact => (
                EventSource::All,
                Followed::All(Box::new(ExactObjects::new(ObjectLimits::DEFAULT))),
            ),
            AllocationMode::Exact => {
                let callers = options.timing.is_some();
                (EventSource::Vm { callers }, Followed::Nothing)
            }
        };
        let follows = !matches!(followed, Followed::Nothing);
        let mut needed = vec![
            match source {
                EventSource::Vm { .. } => capability::CAN_GENERATE_VM_OBJECT_ALLOC_EVENTS,
                _ => capability::CAN_GENERATE_SAMPLED_OBJECT_ALLOC_EVENTS,
            },
            capability::CAN_GET_SOURCE_FILE_NAME,
            capability::CAN_GET_LINE_NUMBERS,
        ];
        if follows {
            needed.push(capability::CAN_GENERATE_GARBAGE_COLLECTION_EVENTS);
        }
        jvmti.add_capabilities(Capabilities::of(&needed))?;
        // Without this capability, the JVM does not call the hook for classes that other agents retransform. The JVM
        // reads the capability when the hook is enabled for the first time.
        let can_retransform = source == EventSource::All
            && jvmti
                .add_capabilities(Capabilities::of(&[capability::CAN_RETRANSFORM_CLASSES]))
                .is_ok();
        match source {
            EventSource::Sampled(interval) => jvmti.set_heap_sampling_interval(interval)?,
            EventSource::All => jvmti.set_heap_sampling_interval(0)?,
            EventSource::Vm { .. } => {}
        }
        let mut samples = Samples::new(source, followed);
        samples.can_retransform = can_retransform;
        if let Some(hprof) = &options.settings.hprof {
            // The traces of HPROF have at most `depth` frames.
            let depth = usize::try_from(hprof.depth).unwrap_or(usize::MAX);
            samples.depth = depth.clamp(1, DEPTH);
        }
        Ok(samples)
    }

    pub(super) fn new(source: EventSource, followed: Followed) -> Self {
        Samples {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            source,
            follows: !matches!(followed, Followed::Nothing),
            feature: OnceLock::new(),
            thread_class: OnceLock::new(),
            has_begun: AtomicBool::new(false),
            collections: AtomicU32::new(0),
            collects_in_one_stop: OnceLock::new(),
            sentinels: GcSentinels::default(),
            last_sentinel: AtomicU32::new(0),
            object_class: OnceLock::new(),
            shutdown_hook: OnceLock::new(),
            scan_is_due: AtomicBool::new(false),
            scanning: Mutex::new(()),
            classes: UnloadableClasses::default(),
            types: WeakValues::default(),
            depth: DEPTH,
            keys: OnceLock::new(),
            can_retransform: false,
            keys_are_wrong: AtomicBool::new(false),
            tables: Mutex::new(SampleTables::new(followed)),
            is_full: AtomicBool::new(false),
            growth: OnceLock::new(),
        }
    }

    /// Returns the number of the owner of the calling thread's samples, if the thread has an owner in these samples.
    pub(super) fn owner_of(&self, state: ThreadState) -> Option<u32> {
        let of_these = state.owner.filter(|(number, _)| *number == self.number);
        of_these.map(|(_, owner)| owner)
    }

    /// Remembers the owner of the calling thread's samples.
    pub(super) fn set_owner(&self, owner: u32) {
        let state = THREAD_STATE.get();
        THREAD_STATE.set(ThreadState {
            owner: Some((self.number, owner)),
            ..state
        });
    }

    /// Returns whether the samples use keys of stacks, and the JVM calls the class-load hook for every redefinition.
    pub(crate) fn can_see_redefinitions(&self) -> bool {
        self.has_begun() && self.keys.get().is_some() && self.can_retransform
    }

    /// Returns whether the events are enabled.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, SampleTables> {
        lock(&self.tables)
    }

    pub(super) fn collects_in_one_stop(&self) -> bool {
        self.collects_in_one_stop.get() == Some(&true)
    }

    /// Returns whether this JVM is of JDK 11, whose samples need another estimate.
    pub(super) fn is_jdk_11(&self) -> bool {
        self.feature.get() == Some(&11)
    }

    pub(super) fn is_before(&self, feature: u32) -> bool {
        self.feature.get().is_some_and(|it| *it < feature)
    }

    /// Handles `GarbageCollectionFinish`. The program is stopped meanwhile.
    pub(crate) fn collection_ends(&self) {
        self.collections.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the estimate for one sample of the calling thread, an object of `size` bytes. Notes the size for the
    /// next estimate.
    pub(super) fn estimate(&self, size: u64) -> Estimate {
        let state = THREAD_STATE.get();
        THREAD_STATE.set(ThreadState {
            previous: size,
            ..state
        });
        match self.source {
            EventSource::Sampled(interval) if self.is_jdk_11() => {
                Estimate::following(state.previous, size, interval)
            }
            EventSource::Sampled(interval) => Estimate::of(size, interval),
            EventSource::All | EventSource::Vm { .. } => Estimate::exactly(1, size),
        }
    }

    /// Adds a sample if the key of its stack is known. Returns whether the sampled object is followed, or `None` if
    /// nothing was added because the frames of the stack are needed.
    pub(super) fn add_by_key(&self, sample: Sample, key: &StackKey, version: u32) -> Option<bool> {
        let mut tables = self.lock();
        let collections = self.collections.load(Ordering::Relaxed);
        let node = tables.stacks.node_of_key(key, version, collections)?;
        Some(self.add_at(&mut tables, node, sample))
    }

    /// Notes the key of a stack that was added to the tables.
    pub(super) fn note_key(&self, key: &StackKey, stack: &Stack) {
        let mut tables = self.lock();
        let collections = Collections {
            ended: self.collections.load(Ordering::Relaxed),
            are_all_known: self.collects_in_one_stop(),
        };
        let stacks = &mut tables.stacks;
        stacks.note_key(key, &stack.frames, collections);
        let are_wrong = stacks.keys.are_wrong;
        drop(tables);
        if are_wrong && !self.keys_are_wrong.swap(true, Ordering::Relaxed) {
            // HPROF's files have no notes, so the message is printed.
            diagnostics::once(&format!("1 {DIFFERED}"));
        }
    }

    /// Adds a sample. Returns whether the sampled object is followed.
    pub(super) fn add(&self, sample: Sample, stack: &Stack) -> bool {
        let mut tables = self.lock();
        let stacks = &mut tables.stacks;
        let node = match self.source {
            EventSource::Vm { callers } => {
                match stacks.node_of_chosen(&stack.frames, stack.is_deeper, callers) {
                    None => return false,
                    found => found,
                }
            }
            _ => stacks.node(&stack.frames, stack.is_deeper),
        };
        self.add_at(&mut tables, node, sample)
    }

    /// Adds a sample at a node of the stacks. Returns whether the sampled object is followed.
    fn add_at(&self, tables: &mut SampleTables, node: Option<u32>, sample: Sample) -> bool {
        let born = self.collections.load(Ordering::Relaxed);
        let most = tables.stacks.limits().others;
        let type_number = sample.type_number;
        tables.without_type += u64::from(type_number == OTHER_TYPES);
        let site = Site { node, type_number };
        let SampleTables {
            owners,
            followed,
            schedule,
            ..
        } = tables;
        if !owners.add(sample.owner, site, sample.estimate, most) {
            let other = Site {
                node: None,
                type_number: OTHER_TYPES,
            };
            owners.add(sample.owner, other, sample.estimate, usize::MAX);
            tables.without_site += 1;
            return false;
        }
        if !self.follows {
            return false;
        }
        if schedule.is_due(followed.len(), born) {
            self.scan_is_due.store(true, Ordering::Relaxed);
        }
        let record = LiveRecord {
            owner: sample.owner,
            site,
            born,
            estimate: sample.estimate,
        };
        let is_followed = sample.weak.is_some_and(|weak| followed.put(weak, record));
        if is_followed {
            owners.hold(sample.owner);
            if followed.len() >= followed.most() {
                self.is_full.store(true, Ordering::Relaxed);
            }
        } else {
            tables.missed += 1;
        }
        is_followed
    }
}

#[cfg(test)]
mod tests {
    use super::super::owners::VIRTUAL;
    use super::super::stacks::{StackLimits, Stacks};
    use super::*;
    use crate::jvm::jvmti::MethodKey;

    #[test]
    fn samples_without_room_are_counted_and_noted() {
        let stack = Stack {
            frames: vec![StackFrame {
                method: MethodKey::unknown(1),
                location: 0,
            }],
            is_deeper: false,
        };
        for (source, sample) in [
            (EventSource::All, "samples"),
            (
                EventSource::Vm { callers: false },
                "objects that the JVM made itself",
            ),
        ] {
            let samples = Samples::new(source, Followed::Nothing);
            samples.lock().stacks = Stacks::new(StackLimits {
                nodes: 9,
                others: 2,
            });
            for descriptor in ["La/A;", "La/B;", "La/C;"] {
                let type_number = samples.lock().type_number(descriptor.as_bytes(), 2);
                let sample = Sample {
                    owner: VIRTUAL,
                    type_number,
                    estimate: Estimate::exactly(1, 16),
                    weak: None,
                };
                samples.add(sample, &stack);
            }
            let tables = samples.lock();
            let (_, owner) = tables
                .owners
                .with_sites()
                .next()
                .expect("the thread has samples");
            let objects: f64 = owner.sites.values().map(|sum| sum.objects).sum();
            assert!((objects - 3.0).abs() < 1e-9, "{objects}");
            let notes = tables.notes(source);
            assert_eq!(notes.len(), 2, "{notes:?}");
            assert!(notes[0].starts_with(&format!(
                "3 {sample} have frames that are shown as (other methods)"
            )));
            assert!(notes[1].starts_with("2 samples are shown as (other types)"));
        }
    }
}
