//! Does the work of the sampler's thread, in turns of a few microseconds.

use std::time::Instant;

use super::arrivals::{Departure, ThreadEvent, own_tid};
use super::native_code::NativeCode;
use super::parts::Parts;
use super::running::{self, Sink, Taken};
use super::settings::{DRAIN_INTERVAL, LOOK_INTERVAL, VISIT_BUDGET};
use super::stacks::Methods;
use super::table::Table;
use super::visits;
use super::vm_threads::{VmThreads, run_delay_ns};
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::sampling::AsyncEngine;
use crate::jvm::sys::thread_state::{IN_NATIVE, RUNNABLE};
use crate::threads::fields::ThreadFields;

/// The maximum number of threads whose names are read again in one update.
const MOST_NAMES: usize = 1000;

/// Access to the JVM and to the parts of the sampler during a turn.
#[derive(Clone, Copy)]
pub(super) struct Turn<'t> {
    pub(super) parts: &'t Parts,
    pub(super) instrumentation: &'t Instrumentation,
    pub(super) jni: Jni<'t>,
    pub(super) fields: &'t ThreadFields,
}

/// The state of the sampler's work. Only one thread at a time uses it.
pub(super) struct Turns {
    /// True if samples are taken by signals, false if at safepoints.
    is_async: bool,
    table: Table,
    methods: Methods,
    native: NativeCode,
    /// The threads of the JVM; `None` before the sampler's thread has begun.
    vm_threads: Option<VmThreads>,
    /// The system id of the sampler's thread.
    own_tid: Option<u32>,
    /// Samples of threads whose start events were not read yet.
    early: Vec<Taken>,
    /// Ended threads whose last samples were not read yet.
    ended: Vec<Departure>,
    drained_at: Instant,
    /// The time of the last update of names and of the JVM's threads; `None` before the first one.
    looked_at: Option<Instant>,
    is_paused: bool,
}

impl Turns {
    pub(super) fn new(is_async: bool, has_lines: bool) -> Self {
        Turns {
            is_async,
            table: Table::default(),
            methods: Methods::new(has_lines),
            native: NativeCode::default(),
            vm_threads: None,
            own_tid: None,
            early: Vec::new(),
            ended: Vec::new(),
            drained_at: Instant::now(),
            looked_at: None,
            is_paused: false,
        }
    }

    /// Does the first work of the sampler's thread.
    pub(super) fn begin(&mut self, _turn: &Turn<'_>) {
        self.vm_threads = Some(VmThreads::begin());
        self.own_tid = own_tid();
        self.looked_at = Some(Instant::now());
    }

    fn engine(&self, turn: &Turn<'_>) -> Option<AsyncEngine> {
        turn.parts.engine.filter(|_| self.is_async)
    }

    /// Does the work of one turn while the program runs.
    pub(super) fn turn(&mut self, turn: &Turn<'_>) {
        let now = Instant::now();
        let mut ended = self.note_threads(turn);
        if self.engine(turn).is_none() {
            // Threads that ended before the asynchronous engine was given up are still in `self.ended`.
            ended.splice(0..0, std::mem::take(&mut self.ended));
            self.part(turn, ended);
        } else if now.saturating_duration_since(self.drained_at) >= DRAIN_INTERVAL {
            self.drained_at = now;
            ended.splice(0..0, std::mem::take(&mut self.ended));
            self.drain(turn, false);
            self.part(turn, ended);
        } else {
            self.ended.append(&mut ended);
        }
        if self.is_paused {
            return;
        }
        self.methods.renew_lines(turn.instrumentation);
        if turn.parts.settings.waiting || !self.is_async {
            self.visit_some(turn, now);
        }
        let is_due = |at: Instant| now.saturating_duration_since(at) >= LOOK_INTERVAL;
        if self.looked_at.is_none_or(is_due) {
            self.looked_at = Some(now);
            self.look(turn);
            self.methods.forget_unloaded(turn.instrumentation, turn.jni);
        }
    }

    /// Adds the remaining samples and times at the end of the JVM.
    pub(super) fn finish(&mut self, turn: &Turn<'_>) {
        self.settle(turn, true);
        if !self.is_paused {
            self.look(turn);
        }
    }

    /// Begins a pause. Adds the samples and times so far first.
    pub(super) fn pause(&mut self, turn: &Turn<'_>) {
        if self.is_paused {
            return;
        }
        self.settle(turn, false);
        self.look(turn);
        self.is_paused = true;
        let jvmti = turn.instrumentation.jvmti;
        for record in self.table.all() {
            let cpu_ns = u64::try_from(jvmti.thread_cpu_time(record.thread.local())).ok();
            record.paused_cpu_ns = cpu_ns.or(Some(record.visit.cpu_ns));
        }
    }

    /// Ends a pause.
    pub(super) fn resume(&mut self, turn: &Turn<'_>) {
        if !self.is_paused {
            return;
        }
        // This comes first, because threads that have ended meanwhile still belong to the pause.
        self.settle(turn, false);
        self.is_paused = false;
        let jvmti = turn.instrumentation.jvmti;
        let now = Instant::now();
        for record in self.table.all() {
            let cpu_ns = u64::try_from(jvmti.thread_cpu_time(record.thread.local()));
            let cpu_ns = cpu_ns.unwrap_or(record.counted_cpu_ns());
            record.resume(now, cpu_ns, record.tid.and_then(run_delay_ns));
        }
        let mut java = self.table.take_tids();
        java.extend(self.own_tid);
        if let Some(threads) = &mut self.vm_threads {
            threads.skip(&java);
        }
    }

    /// Adds the samples and times so far. `is_last` is true if the agent's work ends.
    fn settle(&mut self, turn: &Turn<'_>, is_last: bool) {
        let mut ended = self.note_threads(turn);
        ended.splice(0..0, std::mem::take(&mut self.ended));
        self.native.end_pause();
        if self.engine(turn).is_some() {
            self.drain(turn, is_last);
            // This second call also adds the samples of threads whose starts are still unknown, instead of waiting for
            // these starts.
            self.add(turn, Vec::new());
        }
        ended.append(&mut self.ended);
        self.part(turn, ended);
        if self.is_paused {
            return;
        }
        let jvmti = turn.instrumentation.jvmti;
        let shared = &turn.parts.shared;
        let now = Instant::now();
        let is_async = self.is_async;
        for record in self.table.all() {
            let cpu_ns = u64::try_from(jvmti.thread_cpu_time(record.thread.local())).ok();
            if turn.parts.settings.waiting {
                visits::settle(record, shared, now, cpu_ns);
            }
            if !is_async {
                running::run_to(record, shared, cpu_ns.unwrap_or(0));
            }
        }
    }

    /// Deletes the references to threads and classes.
    pub(super) fn release(&mut self, jvmti: Jvmti, jni: Jni<'_>) {
        for record in self.table.all() {
            jni.delete_global(record.thread);
        }
        self.methods.release(jvmti, jni);
    }

    /// Notes the threads that have started. Returns the threads that have ended.
    fn note_threads(&mut self, turn: &Turn<'_>) -> Vec<Departure> {
        let mut ended = Vec::new();
        for event in turn.parts.arrivals.take() {
            match event {
                ThreadEvent::Started(arrival) => self.table.add(arrival),
                ThreadEvent::Ended(departure) => ended.push(departure),
            }
        }
        ended
    }

    /// Reads the samples that signals have taken. `is_last` is true if the agent's work ends.
    fn drain(&mut self, turn: &Turn<'_>, is_last: bool) {
        let Some(engine) = self.engine(turn) else {
            return;
        };
        let mut taken = Vec::new();
        let mut sink = Sink {
            instrumentation: turn.instrumentation,
            shared: &turn.parts.shared,
            methods: &mut self.methods,
            taken: &mut taken,
            gone: Vec::new(),
        };
        engine.drain(turn.jni, &mut sink, is_last);
        let gone = sink.gone;
        // A sampled thread may have started after the events were read. So the events are read once more.
        let ended = self.note_threads(turn);
        self.ended.extend(ended);
        self.add(turn, taken);
        for method in gone {
            self.methods.undefine(method);
        }
        let counts = engine.counts();
        let mut shared = turn.parts.shared.lock();
        shared.sampling.lost = counts.lost;
        shared.sampling.compared = counts.compared;
        shared.sampling.equal = counts.equal;
        shared.untimed_threads = counts.untimed_threads;
        drop(shared);
        // During a pause, the engine is not judged, because no samples are taken in any case.
        if !self.is_paused
            && let Some(reason) = turn.parts.distrust(engine)
        {
            self.fall_back(turn, engine, &reason);
        }
    }

    fn add(&mut self, turn: &Turn<'_>, taken: Vec<Taken>) {
        let mut all = std::mem::take(&mut self.early);
        all.extend(taken);
        for pc in all.iter().flat_map(Taken::native_code) {
            self.native.look_up(pc);
        }
        let shared = &turn.parts.shared;
        self.early = running::add(
            all,
            &mut self.table,
            shared,
            &self.methods,
            &mut self.native,
        );
    }

    /// Stops the asynchronous engine, and samples threads at safepoints from now on.
    fn fall_back(&mut self, turn: &Turn<'_>, engine: AsyncEngine, reason: &str) {
        engine.give_up(turn.jni);
        turn.parts.fall_back(reason);
        self.is_async = false;
        self.early.clear();
        running::begin_anew(&turn.parts.shared);
        let jvmti = turn.instrumentation.jvmti;
        for record in self.table.all() {
            // All running time of the thread so far will be added again, by samples at safepoints.
            record.sampled_ns = 0;
            let cpu_ns = u64::try_from(jvmti.thread_cpu_time(record.thread.local()));
            running::run_to(record, &turn.parts.shared, cpu_ns.unwrap_or(0));
        }
    }

    /// Adds the times of ended threads to their groups.
    fn part(&mut self, turn: &Turn<'_>, ended: Vec<Departure>) {
        if ended.is_empty() {
            return;
        }
        for departure in ended {
            self.table.depart(departure);
        }
        let shared = &turn.parts.shared;
        for mut record in self.table.take_departed() {
            let Some(mut departure) = record.departure.take() else {
                continue;
            };
            if self.is_paused {
                departure.at = record.visit.at;
                departure.cpu_ns = Some(record.counted_cpu_ns());
            }
            if turn.parts.settings.waiting {
                visits::settle(&mut record, shared, departure.at, departure.cpu_ns);
            }
            if !self.is_async {
                running::run_to(&mut record, shared, departure.cpu_ns.unwrap_or(0));
            }
            let unsampled_ns = record.unsampled_ns(departure.cpu_ns);
            let mut state = shared.lock();
            state
                .forest
                .end(record.owner, &departure.name, unsampled_ns);
            drop(state);
            turn.jni.delete_global(record.thread);
        }
    }

    /// Visits threads in turn, as many as there is time for.
    fn visit_some(&mut self, turn: &Turn<'_>, began: Instant) {
        for _ in 0..self.table.len() {
            self.visit_next(turn);
            if began.elapsed() > VISIT_BUDGET {
                return;
            }
        }
    }

    fn visit_next(&mut self, turn: &Turn<'_>) {
        let Turn {
            parts,
            instrumentation,
            jni,
            ..
        } = turn;
        let Some(record) = self.table.next() else {
            return;
        };
        let thread = record.thread;
        let jvmti = instrumentation.jvmti;
        let Some(cpu_ns) = record.cpu_ns(jvmti) else {
            // The time cannot be read because the thread is about to end.
            return;
        };
        let state = record
            .visit
            .state(cpu_ns, || jvmti.thread_state(thread.local()));
        let now = Instant::now();
        let shared = &parts.shared;
        let methods = &mut self.methods;
        let mut stack = || methods.stack(instrumentation, *jni, shared, thread);
        if parts.settings.waiting {
            visits::visit(record, shared, now, cpu_ns, state, &mut stack);
        }
        let since = now.saturating_duration_since(record.sampled_at);
        if !self.is_async && since >= parts.settings.safepoint_interval() {
            let is_runnable = state & RUNNABLE != 0 || state & IN_NATIVE != 0;
            running::sample_at_safepoint(record, shared, now, cpu_ns, is_runnable, &mut stack);
        }
    }

    /// Reads again the processor times of the JVM's own threads, and the names of the program's threads.
    fn look(&mut self, turn: &Turn<'_>) {
        let mut java = self.table.take_tids();
        java.extend(self.own_tid);
        let vm_threads = self.vm_threads.as_mut();
        let vm_threads = vm_threads.map_or_else(Vec::new, |threads| {
            threads.look(&java);
            threads.sums().collect()
        });
        let mut renamed = Vec::new();
        for record in self.table.next_to_rename(MOST_NAMES) {
            let name = turn.fields.name(turn.jni, record.thread);
            if record.name != name {
                record.name.clone_from(&name);
                renamed.extend(record.owner.map(|owner| (owner, name)));
            }
        }
        let mut shared = turn.parts.shared.lock();
        shared.vm_threads = vm_threads;
        for (owner, name) in renamed {
            shared.forest.rename(owner, &name);
        }
    }
}
