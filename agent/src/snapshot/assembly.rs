//! Assembles a profile from the tracker's snapshot, the samples and the registry.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use loadhook_profile::snapshot::{Decoder, Snapshot, SnapshotError};
use loadhook_profile::{Header, MethodCalls, Profile, ThreadKind, ThreadTree};
use loadhook_settings::attach::AttachFigures;
use loadhook_settings::{Clock, Timing};
use loadhook_text::units;
use thiserror::Error;

use super::gate::SnapshotGate;
use super::symbols;
use crate::allocations::Samples;
use crate::budget::log::{self, BudgetLog};
use crate::control::pause::Pauses;
use crate::gc_pauses::GcRecording;
use crate::instrument::hidden_classes::HiddenClasses;
use crate::instrument::instrumentation::Instrumentation;
use crate::instrument::levels::Level;
use crate::instrument::registry::ClassSymbols;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::monitors::{LockSnapshot, Monitors};
use crate::net::Connection;
use crate::options::Options;
use crate::sampler::{Sampler, TimeSnapshot};
use crate::tracker::client::{NoSnapshot, TrackerClient};

/// The parts of the agent from which a profile is assembled.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) jvmti: Jvmti,
    pub(crate) instrumentation: &'a Instrumentation,
    pub(crate) hidden_classes: &'a HiddenClasses,
    pub(crate) samples: Option<&'a Samples>,
    pub(crate) sampler: Option<&'a Sampler>,
    pub(crate) gc: Option<&'a GcRecording>,
    pub(crate) monitors: Option<&'a Monitors>,
    pub(crate) connection: Option<&'a Connection>,
    pub(crate) tracker: &'a TrackerClient,
    pub(crate) gate: &'a SnapshotGate,
    pub(crate) start_time: &'a StartTime,
    pub(crate) had_virtual_threads: &'a AtomicBool,
    /// Figures of the pauses in which an attached agent changed classes; `None` if the agent was not attached.
    pub(crate) attached: Option<&'a AttachFigures>,
    /// The time for which an attached agent changed classes, until the watching began; zero for other agents.
    pub(crate) attaching: Duration,
    pub(crate) pauses: &'a Pauses,
    pub(crate) budget: &'a BudgetLog,
}

/// The time at which the agent was loaded, which is the beginning of the profile.
pub(crate) struct StartTime {
    wall: SystemTime,
    monotonic: Instant,
}

impl StartTime {
    /// Notes the present time as the start.
    pub(crate) fn now() -> Self {
        StartTime {
            wall: SystemTime::now(),
            monotonic: Instant::now(),
        }
    }

    /// Returns the start time in milliseconds since 1970.
    pub(crate) fn epoch_millis(&self) -> u64 {
        let since_1970 = self.wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since_1970.as_millis()).unwrap_or(0)
    }

    /// Returns the time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.monotonic.elapsed()
    }
}

/// The moment for which a profile is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The program continues to run.
    Running,
    /// The JVM ends, or the agent leaves.
    End,
}

/// The reason why there is no profile.
#[derive(Debug, Error)]
pub(crate) enum AssemblyError {
    /// The tracker could not make a snapshot.
    #[error(transparent)]
    NoSnapshot(#[from] NoSnapshot),
    /// The tracker's snapshot is malformed.
    #[error(transparent)]
    Malformed(#[from] SnapshotError),
    /// The JVM is ending, and the last profile will contain all data.
    #[error("the JVM is ending; the last profile follows")]
    Ending,
}

impl<'a> Sources<'a> {
    pub(crate) fn options(&self) -> &'a Options {
        self.instrumentation.hook.options()
    }

    /// Returns whether the heap has room for a snapshot of the tracker. Always true if probes have counted nothing,
    /// because then no snapshot is taken.
    pub(crate) fn has_heap_for_snapshot(&self, jni: Jni<'_>) -> bool {
        !self.has_counts() || self.tracker.reserve.can_spare_snapshot(jni)
    }

    /// Returns whether probes may have counted something.
    pub(super) fn has_counts(&self) -> bool {
        self.instrumentation.hook.may_have_counts()
    }

    /// Assembles a profile. Gives up when `goes_on` returns false.
    pub(super) fn profile(
        &self,
        jni: Jni<'_>,
        moment: Moment,
        goes_on: impl Fn() -> bool,
    ) -> Result<Profile, AssemblyError> {
        let options = self.options();
        let counted = if self.has_counts() {
            let mut counted = self.counted(jni, &goes_on)?;
            if !self.attaching.is_zero() {
                // The tracker's time begins later than the attaching.
                let own = header(options, self.start_time);
                counted.header.duration_ns = own.duration_ns;
                counted.header.start_epoch_millis = own.start_epoch_millis;
            }
            counted
        } else {
            // No probe calls the tracker, so its snapshot is not needed. It is not taken, because the heap may be full.
            Snapshot {
                header: header(self.options(), self.start_time),
                threads: Vec::new(),
                method_calls: Vec::new(),
                latencies: Vec::new(),
            }
        };
        let registry = &self.instrumentation.hook.registry;
        let classes = registry.classes();
        if options.counts_allocations() {
            self.measure(jni, moment, &classes, &counted);
        }
        let reserve = &self.tracker.reserve;
        let sampled = match self.samples.filter(|samples| samples.has_begun()) {
            Some(samples) => {
                let can_ask = moment == Moment::Running && reserve.can_spare_snapshot(jni);
                let snapshot =
                    samples.scan_and_snapshot(self.jvmti, jni, self.gate, can_ask, goes_on);
                Some((samples, snapshot.ok_or(AssemblyError::Ending)?))
            }
            None => None,
        };
        let times = self.sampler.map(Sampler::snapshot);
        let locks = self.monitors.and_then(Monitors::snapshot);
        // All loaders are named in one call, because only loaders of the same call are sure to get different ordinals.
        let sampled_loaders = sampled.iter().flat_map(|(_, snapshot)| snapshot.loaders());
        let counted_loaders = classes.iter().map(|class| class.loader);
        let timed_loaders = times.iter().flat_map(TimeSnapshot::loaders);
        let lock_loaders = locks.iter().flat_map(LockSnapshot::loaders);
        let all_loaders = sampled_loaders
            .chain(counted_loaders)
            .chain(lock_loaders)
            .chain(timed_loaders)
            .collect();
        let loaders = self.instrumentation.loaders.names(all_loaders);
        let symbols = symbols::symbols(classes, &loaders, &self.tracker.sizes);
        let mut profile = symbols.profile(counted);
        self.describe(jni, moment, &mut profile);
        if let Some(times) = times {
            profile.header.timing = Timing::Sampled;
            times.add_to(&loaders, &mut profile);
        }
        profile.gc_pauses = self.gc.map(GcRecording::pauses);
        if options.counts_allocations() {
            profile.allocations.get_or_insert_default();
            self.note_uncounted_allocations(jni, &mut profile);
        }
        if let Some((samples, snapshot)) = sampled {
            samples.add_to(&snapshot, &loaders, &mut profile);
        }
        if let Some(locks) = locks {
            locks.add_to(&loaders, &mut profile);
        }
        Ok(profile)
    }

    /// Fetches the calls that the tracker has counted.
    fn counted(&self, jni: Jni<'_>, goes_on: impl Fn() -> bool) -> Result<Snapshot, AssemblyError> {
        let mut counted = counted(self.tracker, jni, goes_on)?;
        self.mark_lowered(&mut counted.method_calls);
        Ok(counted)
    }

    /// Marks the methods that have lost probes because of the budget, even if they had no calls since then. With
    /// `timing=sampled`, calls are never timed, so methods are marked only if their calls are not counted any more.
    fn mark_lowered(&self, counted: &mut Vec<MethodCalls>) {
        let are_timed = self.options().timing != Some(Timing::Sampled);
        let levels = &self.instrumentation.hook.levels;
        let silent = levels.silent();
        let mut lowered = levels.counted();
        for (id, level) in &silent {
            lowered.entry(*id).or_insert(*level);
        }
        let marked = |method: MethodCalls, level: &Level| MethodCalls {
            since_ns: are_timed.then(|| level.untimed_since_ns()),
            until_ns: silent.get(&method.method).map(Level::since_ns),
            ..method
        };
        for method in counted.iter_mut() {
            if let Some(level) = lowered.remove(&method.method) {
                *method = marked(*method, &level);
            }
        }
        lowered.retain(|id, level| level.had_probes || silent.contains_key(id));
        counted.extend(lowered.iter().map(|(id, level)| {
            let method = MethodCalls {
                method: *id,
                ..MethodCalls::default()
            };
            marked(method, level)
        }));
    }

    /// Measures the sizes of the objects that the sites in the snapshot allocate.
    fn measure(&self, jni: Jni<'_>, moment: Moment, classes: &[ClassSymbols], counted: &Snapshot) {
        let reserve = &self.tracker.reserve;
        let has_room = || match moment {
            Moment::Running => reserve.can_spare_snapshot(jni),
            Moment::End => reserve.has_room_at_exit(jni, || self.jvmti.collect_garbage().is_ok()),
        };
        let allocated = symbols::allocated_classes(classes, counted);
        let loaders = &self.instrumentation.loaders;
        let sizes = &self.tracker.sizes;
        sizes.measure(self.jvmti, jni, loaders, allocated, has_room);
    }

    /// Fills the header: the command, the JVM, the methods that are not instrumented, and notes.
    fn describe(&self, jni: Jni<'_>, moment: Moment, profile: &mut Profile) {
        let hook = &self.instrumentation.hook;
        let has_untimed_threads = self.has_untimed_threads(profile);
        let property = |name| self.jvmti.system_property(name).unwrap_or_default();
        let methods = profile.methods.len();
        let header = &mut profile.header;
        header.command = property("sun.java.command");
        header.jvm = format!(
            "{} {}",
            property("java.vm.name"),
            property("java.vm.version")
        );
        hook.describe(header);
        let attaching = u64::try_from(self.attaching.as_nanos()).unwrap_or(u64::MAX);
        header.attaching_ns = attaching.min(header.duration_ns);
        header.not_ended = moment == Moment::Running;
        let mut notes = self.hidden_classes.notes(self.instrumentation, jni);
        notes.extend(self.attached.map(attached_note));
        notes.extend(self.pauses.note(self.options().timing));
        if has_untimed_threads {
            let note =
                "virtual threads have no CPU clock, so their calls are counted but not timed";
            notes.push(note.to_owned());
        }
        notes.extend(hook.registry.notes());
        notes.extend(self.only_counted(methods, &profile.method_calls));
        notes.extend(self.not_counted());
        notes.extend(self.budget.note());
        notes.extend(self.gc.and_then(GcRecording::note));
        notes.extend(self.instrumentation.loaders.note());
        header.notes = notes;
    }

    /// Returns the note on the methods whose calls are only counted now because of the budget. `methods` is the number
    /// of methods with calls in the profile.
    fn only_counted(&self, methods: usize, counted: &[MethodCalls]) -> Option<String> {
        let percent = self.options().settings.budget_percent()?;
        let is_only_counted =
            |method: &&MethodCalls| method.since_ns.is_some() && method.until_ns.is_none();
        let only_counted = counted.iter().filter(is_only_counted).count() as u64;
        (only_counted > 0).then(|| log::only_counted(percent, only_counted, methods as u64))
    }

    /// Returns the note that, because of the budget, the calls of some methods are not counted any more.
    fn not_counted(&self) -> Option<String> {
        let percent = self.options().settings.budget_percent()?;
        let hook = &self.instrumentation.hook;
        let lowered = hook.levels.silent();
        if lowered.is_empty() {
            return None;
        }
        let classes = hook.registry.classes();
        let symbols = classes.iter().flat_map(|class| {
            let methods = class.methods.iter();
            methods.map(|method| (&class.name, method))
        });
        let lowered = symbols.filter(|(_, method)| lowered.contains_key(&method.id));
        let names: Vec<String> = lowered
            .map(|(class, method)| format!("{class}.{}", method.name))
            .collect();
        let is_sampled = self.options().timing == Some(Timing::Sampled);
        Some(log::not_counted(percent, &names, is_sampled))
    }

    /// Returns whether there were virtual threads while the CPU clock was used. Virtual threads are not timed then,
    /// because this clock would measure their carriers. (Ended virtual threads cannot be seen in the profile, because
    /// they are in groups with other threads.)
    fn has_untimed_threads(&self, profile: &Profile) -> bool {
        let options = self.options();
        let is_virtual = |thread: &ThreadTree| thread.kind == ThreadKind::Virtual;
        options.settings.clock == Clock::Cpu
            && matches!(options.timing, Some(Timing::Adaptive | Timing::Exact))
            && (self.had_virtual_threads.load(Ordering::Relaxed)
                || profile.threads.iter().any(is_virtual))
    }

    /// Adds notes about allocations that are not counted.
    fn note_uncounted_allocations(&self, jni: Jni<'_>, profile: &mut Profile) {
        let jvm_reports = self.samples.is_some_and(Samples::has_begun);
        profile.header.notes.push(not_counted(jvm_reports));
        let lost = self.tracker.lost_allocations(jni);
        if lost > 0 {
            let note = format!(
                "{lost} allocations are missing, since there was no room for their sites; raise --max-nodes or the heap (-Xmx)"
            );
            profile.header.notes.push(note);
        }
    }
}

/// Makes the header of a profile without calls.
pub(crate) fn header(options: &Options, start_time: &StartTime) -> Header {
    Header {
        timing: Timing::Count,
        clock: options.settings.clock,
        start_epoch_millis: i64::try_from(start_time.epoch_millis()).unwrap_or(0),
        duration_ns: u64::try_from(start_time.elapsed().as_nanos()).unwrap_or(u64::MAX),
        ..Header::default()
    }
}

/// Fetches a snapshot of the tracker's counts. Gives up when `goes_on` returns false.
pub(crate) fn counted(
    tracker: &TrackerClient,
    jni: Jni<'_>,
    goes_on: impl Fn() -> bool,
) -> Result<Snapshot, AssemblyError> {
    let mut decoder = Decoder::default();
    let mut malformed: Option<SnapshotError> = None;
    tracker.snapshot(jni, |words| {
        if malformed.is_none() {
            malformed = decoder.push(words).err();
        }
        goes_on()
    })?;
    if let Some(malformed) = malformed {
        return Err(malformed.into());
    }
    Ok(decoder.finish()?)
}

/// Returns the note of an attached agent: that the profile begins with the attaching, and how long the program was
/// stopped to change classes.
fn attached_note(figures: &AttachFigures) -> String {
    let begun = "Loadhook was attached while the program was running; the profile shows only what happened after that";
    if figures.batches == 0 {
        return format!("{begun}; attaching changed no class");
    }
    let time = |micros: u64| units::time(1e3 * micros as f64);
    format!(
        "{begun}; to change {}, the program was stopped {}, for {} in the median and {} at most",
        units::counted(figures.classes, "loaded class", "loaded classes"),
        units::counted(figures.batches, "time", "times"),
        time(figures.median_pause_us),
        time(figures.longest_pause_us),
    )
}

/// Returns the note about allocations that are not counted. `jvm_reports` is true if the JVM reports the objects that
/// it allocates itself.
fn not_counted(jvm_reports: bool) -> String {
    let made_by_jvm = if jvm_reports {
        "Allocations by JIT intrinsics (clone(), reflection) are not counted once the code is \
         compiled"
    } else {
        "Allocations by reflection, clone() and JNI are not counted: this JVM does not report them"
    };
    format!(
        "only allocations in the code of instrumented classes are counted, not allocations that other \
         classes make for them (for example for string concatenation). {made_by_jvm}; --alloc live=exact counts all"
    )
}

#[cfg(test)]
mod tests {
    use super::not_counted;

    #[test]
    fn the_note_depends_on_what_the_jvm_reports() {
        assert!(
            not_counted(true).contains("reflection) are not counted once the code is compiled")
        );
        assert!(
            not_counted(false)
                .contains("reflection, clone() and JNI are not counted: this JVM does not")
        );
    }
}
