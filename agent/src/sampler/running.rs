//! Adds running time to the tree, from samples taken by signals or at safepoints.

use std::time::Instant;

use loadhook_profile::Engine;

use super::names::TrackerFrames;
use super::native_code::NativeCode;
use super::owner::{OwnerNumber, VIRTUAL};
use super::parts::{Shared, SharedState};
use super::stack_tree::NameNumber;
use super::stacks::Methods;
use super::table::{Record, Table};
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::MethodKey;
use crate::jvm::sampling::{
    JitEvent, MethodNumber, RawSample, SampleFrame, SampleSink, StackEnd, StubKind, ThreadNumber,
};
use crate::threads::groups::OTHERS;

/// In nanoseconds. A thread that a visit finds waiting is sampled at a safepoint only if it has used this much
/// processor time since its last sample.
const MOST_UNSAMPLED_NS: u64 = 100_000_000;

/// A sample that a signal handler has taken.
pub(super) struct Taken {
    thread: ThreadNumber,
    weight_ns: u64,
    frames: Vec<SampleFrame>,
    end: StackEnd,
    /// True if the thread was not known when the sample was first read.
    is_late: bool,
}

impl Taken {
    /// Returns the addresses of native code in the sample.
    pub(super) fn native_code(&self) -> impl Iterator<Item = usize> {
        self.frames.iter().filter_map(|frame| match frame {
            SampleFrame::Native { pc } => Some(*pc),
            _ => None,
        })
    }
}

/// Collects the samples of the asynchronous engine, and finds the names of their methods.
pub(super) struct Sink<'a> {
    pub(super) instrumentation: &'a Instrumentation,
    pub(super) shared: &'a Shared,
    pub(super) methods: &'a mut Methods,
    pub(super) taken: &'a mut Vec<Taken>,
    /// Methods of unloaded classes. Their names are forgotten only after the samples were added to the tree.
    pub(super) gone: Vec<MethodNumber>,
}

impl SampleSink for Sink<'_> {
    fn method(&mut self, jni: Jni<'_>, number: MethodNumber, method: MethodKey) {
        let Sink {
            instrumentation,
            shared,
            methods,
            ..
        } = self;
        methods.define(instrumentation, jni, shared, number, method);
    }

    fn method_gone(&mut self, number: MethodNumber) {
        self.gone.push(number);
    }

    fn jit(&mut self, event: JitEvent<Option<MethodNumber>>) {
        let methods = &*self.methods;
        let mut shared = self.shared.lock();
        let SharedState { names, jit, .. } = &mut *shared;
        let unloaded = names.unloaded;
        let event = event.map(|number| {
            let name = number.and_then(|number| methods.of_number(number, None, names));
            name.unwrap_or(unloaded)
        });
        if let Some(jit) = jit {
            jit.add(event);
        }
    }

    fn sample(&mut self, sample: RawSample<'_>) {
        self.taken.push(Taken {
            thread: sample.thread,
            weight_ns: sample.weight_ns,
            frames: sample.frames.to_vec(),
            end: sample.end,
            is_late: false,
        });
    }
}

/// Adds samples to the tree. Returns the samples whose threads are not known yet.
pub(super) fn add(
    taken: Vec<Taken>,
    table: &mut Table,
    shared: &Shared,
    methods: &Methods,
    native: &mut NativeCode,
) -> Vec<Taken> {
    let mut early = Vec::new();
    let mut shared = shared.lock();
    let SharedState {
        names,
        forest,
        sampling,
        ..
    } = &mut *shared;
    let mut stack: Vec<NameNumber> = Vec::new();
    for mut sample in taken {
        if !sample.is_late && table.of_number(sample.thread).is_none() {
            // The first sample of a thread may be read before the event of the thread's start.
            sample.is_late = true;
            early.push(sample);
            continue;
        }
        stack.clear();
        for frame in &sample.frames {
            let name = match frame {
                SampleFrame::Java { method, bci } => methods
                    .of_number(*method, *bci, names)
                    .unwrap_or(names.unloaded),
                SampleFrame::UnloadedJava => names.unloaded,
                SampleFrame::Native { pc } => native.name(*pc, names),
                SampleFrame::Stub(StubKind::Interpreter) => names.interpreter,
                // The time of these stubs belongs to the method that calls them, as with inlined code.
                SampleFrame::Stub(StubKind::Runtime | StubKind::Dispatch) => continue,
            };
            stack.push(name);
        }
        if let Some(record) = table.of_number(sample.thread) {
            record.sampled_ns += sample.weight_ns;
        }
        sampling.samples += 1;
        sampling.weight_ns += sample.weight_ns;
        let mut weight_ns = sample.weight_ns;
        if let Some(tracker) = names.of_tracker(&stack) {
            weight_ns = programs_part(weight_ns, tracker);
            sampling.tracker_ns += sample.weight_ns - weight_ns;
            if weight_ns == 0 {
                sampling.tracker += 1;
                continue;
            }
            stack.drain(..tracker.count);
        }
        if matches!(sample.end, StackEnd::Unwalked(_)) {
            sampling.unwalked += 1;
            sampling.unwalked_ns += weight_ns;
            stack.push(names.unwalked);
        }
        let is_cut = sample.end == StackEnd::Cut;
        sampling.cut += u64::from(is_cut);
        if stack.is_empty() {
            stack.push(names.unwalked);
        }
        let of_virtual = names.of_virtual_thread(&stack);
        let owner = if of_virtual.is_some() || is_cut && stack.len() < super::stacks::DEPTH {
            VIRTUAL
        } else {
            match table.of_number(sample.thread) {
                Some(record) => record.owner(forest),
                None => forest.group(OTHERS),
            }
        };
        let stack = of_virtual.unwrap_or(&stack);
        forest.run(owner, stack, weight_ns, 1);
    }
    early
}

/// Returns how many nanoseconds of a sample in the tracker count as the program's time: as many as a run without probes
/// would take as well.
///
/// The processor executes instructions of an inlined probe and of the method around it at the same time. While all of
/// them wait for memory or for a result of the method, a sample may show the probe. So half of each sample in an
/// inlined probe counts as the program's. Other shares gave wrong times of small methods: 0.6 to 1.0 times the time
/// without an agent if nothing of these samples counted, and 1.0 to 2.1 times if the whole samples counted.
/// `docs/dev/performance.md` has the measurement.
fn programs_part(weight_ns: u64, tracker: TrackerFrames) -> u64 {
    if tracker.is_probe { weight_ns / 2 } else { 0 }
}

/// Samples a thread at a safepoint: adds the thread's processor time since its last sample to the thread's present
/// stack.
pub(super) fn sample_at_safepoint(
    record: &mut Record,
    shared: &Shared,
    now: Instant,
    cpu_ns: u64,
    is_runnable: bool,
    stack: impl FnOnce() -> Vec<NameNumber>,
) {
    let ns = cpu_ns.saturating_sub(record.sampled_cpu_ns);
    // The stack of a waiting thread does not show where the thread has run. So a waiting thread is sampled only after
    // it has run for long.
    if ns == 0 || !is_runnable && ns < MOST_UNSAMPLED_NS {
        return;
    }
    record.last_stack = stack();
    if record.last_stack.is_empty() {
        // A thread without frames is just starting or ending. Its time counts as the JVM's.
        record.last_stack.push(shared.lock().names.vm);
    }
    record.sampled_at = now;
    run_to(record, shared, cpu_ns);
}

/// Adds the processor time that a thread has used since its last sample to the
/// stack of that sample. `cpu_ns` is the thread's processor time by now.
pub(super) fn run_to(record: &mut Record, shared: &Shared, cpu_ns: u64) {
    let ns = cpu_ns.saturating_sub(record.sampled_cpu_ns);
    if ns == 0 {
        return;
    }
    record.sampled_cpu_ns = cpu_ns;
    record.sampled_ns += ns;
    let mut shared = shared.lock();
    let SharedState {
        names,
        forest,
        sampling,
        ..
    } = &mut *shared;
    sampling.samples += 1;
    sampling.weight_ns += ns;
    if names.of_tracker(&record.last_stack).is_some() {
        sampling.tracker_ns += ns;
        sampling.tracker += 1;
        return;
    }
    let unwalked = [names.unwalked];
    let is_mounted = names.is_mounted(&record.last_stack);
    let stack: &[NameNumber] = if record.last_stack.is_empty() || is_mounted {
        // JVM TI does not show which virtual thread a carrier runs.
        sampling.unwalked += 1;
        sampling.unwalked_ns += ns;
        &unwalked
    } else {
        &record.last_stack
    };
    let owner: OwnerNumber = if is_mounted {
        VIRTUAL
    } else {
        record
            .owner
            .get_or_insert_with(|| forest.begin(record.name.as_str().into(), record.id))
            .to_owned()
    };
    forest.run(owner, stack, ns, 1);
}

/// Drops the samples of the asynchronous engine, because its stacks are not trusted. New samples are taken at
/// safepoints.
pub(super) fn begin_anew(shared: &Shared) {
    let mut shared = shared.lock();
    shared.sampling.engine = Engine::Safepoint;
    let sampling = &mut shared.sampling;
    sampling.cut = 0;
    (sampling.tracker, sampling.tracker_ns) = (0, 0);
    let unwalked = shared.names.unwalked;
    let forgotten = shared.forest.forget_running(unwalked);
    let sampling = &mut shared.sampling;
    (sampling.samples, sampling.weight_ns) = forgotten;
    (sampling.unwalked, sampling.unwalked_ns) = forgotten;
}
