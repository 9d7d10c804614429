//! Adds samples to a profile.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use loadhook_profile::{Allocations, Profile, Seen};
use loadhook_text::count;

use super::estimate::Estimate;
use super::growth::Growth;
use super::profile_builder::ProfileBuilder;
use super::sample_snapshot::SampleSnapshot;
use super::sample_tables::EventSource;
use super::samples::Samples;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::snapshot::gate::SnapshotGate;

/// When a thread allocates an object that does not fit into its allocation buffer, JDK 11 reports no further
/// allocations of this thread until the thread gets another buffer. The reason: the JVM shortens a buffer so that it
/// ends at the next sample, and forgets this.
const BEHIND_LARGE: &str = "JDK 11 does not report what a thread allocates after an object too \
    large for the thread's allocation buffer (TLAB), until the thread gets its next buffer; run with \
    -XX:-UseTLAB and G1 or ZGC to count all";

const NOT_ALLOCATED: &str = "objects that the JIT compiler removes (scalar replacement) are not seen: \
    they are never allocated";

/// The size in bytes from which on an object may be too large for a thread's buffer.
const LARGE: f64 = 32_768.0;

/// [`AROUND_LARGE`] is added if large objects have more than this part of all allocated bytes.
const MANY_LARGE: f64 = 0.05;

/// When an object is too large for a thread's buffer, JVMs before JDK 25 lose count of the thread's bytes. A program
/// allocated an object of 400 KB and 24 KB of small objects in turn. For the small objects, JDK 17 and 21 gave 2.6
/// times the true number, JDK 11 two thirds of it.
const AROUND_LARGE: &str = "estimates may be wrong by more than their errors: the program makes many objects too large for \
    a thread's allocation buffer (TLAB), and JVMs before JDK 25 then lose count of the thread's bytes; \
    run with -XX:-UseTLAB and G1 or ZGC for right estimates (on JDK 11, up to an eighth too low)";

const AT_LAST_COLLECTION: &str = "objects shown as alive were alive at the last collection of the whole \
    heap; newer objects are missing, since this garbage collector cannot run while the JVM ends";

const NOT_SCANNED: &str =
    "objects shown as alive may be gone, since a suspended thread prevented a check";

impl Samples {
    /// Takes a snapshot, after a scan for live objects if objects are followed. Returns `None` if `goes_on` returned
    /// false.
    ///
    /// If the collector collects in one stop, a collection comes first. Otherwise the snapshot shows the objects that
    /// were alive at the last collection. `can_ask` is true if a collector that does not collect in one stop can be
    /// asked for a collection now.
    pub(crate) fn scan_and_snapshot(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        gate: &SnapshotGate,
        can_ask: bool,
        goes_on: impl Fn() -> bool,
    ) -> Option<SampleSnapshot> {
        let in_one_stop = self.collects_in_one_stop();
        if self.follows && goes_on() {
            // A thread that requests a collection of a concurrent collector just before the JVM ends waits for ever. So
            // the end of the JVM does not wait for this thread.
            gate.release_during(|| {
                if in_one_stop {
                    let _ = jvmti.collect_garbage();
                } else if can_ask {
                    self.collect_after_sentinel(jvmti, jni);
                }
            });
        }
        // The number of collections is read before the scan, because the scan shows nothing about later collections.
        let now = self.collections.load(Ordering::Relaxed);
        let judged = if in_one_stop {
            now
        } else {
            self.sentinels.judged(jni)
        };
        let was_scanned = !self.follows || goes_on() && self.scan_in_time(jni, &goes_on);
        goes_on().then(|| SampleSnapshot {
            was_scanned,
            is_late: self.follows && !in_one_stop && !can_ask,
            ..SampleSnapshot::of(&self.lock(), self.source, now, judged)
        })
    }

    /// Adds a snapshot to a profile. The profile may already have allocations that probes have counted. `loaders` are
    /// the names of the loaders in the profile.
    pub(crate) fn add_to(
        &self,
        snapshot: &SampleSnapshot,
        loaders: &HashMap<u32, String>,
        profile: &mut Profile,
    ) {
        let alive = snapshot.alive();
        let mut builder = ProfileBuilder::new(profile);
        builder.add_frames(snapshot, loaders);
        let mut all = Estimate::default();
        let mut large = 0.0;
        for (number, owner) in snapshot.owners.with_sites() {
            let thread = builder.thread(owner);
            for (site, estimate) in &owner.sites {
                all.add(*estimate);
                if estimate.bytes >= LARGE * estimate.objects {
                    large += estimate.bytes;
                }
                let alive = alive.get(&(number, *site)).copied().unwrap_or_default();
                builder.add_site(snapshot, thread, *site, *estimate, alive);
            }
        }
        let (frames, sites) = builder.finish();
        let has_many_large = large > MANY_LARGE * all.bytes;
        let notes = self.notes(snapshot, all, has_many_large);
        profile.header.notes.extend(notes);
        profile.allocations = Some(Allocations {
            seen: match self.source {
                EventSource::Sampled(interval) => Seen::Sampled {
                    interval: interval as u64,
                },
                EventSource::All => Seen::All,
                EventSource::Vm { .. } => Seen::Exact,
            },
            live: self.follows,
            frames,
            sites,
        });
    }

    fn notes(&self, snapshot: &SampleSnapshot, all: Estimate, has_many_large: bool) -> Vec<String> {
        let mut notes = snapshot.notes.clone();
        let mut note = |note: &str| notes.push(note.to_owned());
        if matches!(self.source, EventSource::Vm { .. }) && all.objects > 0.0 {
            note(&format!(
                "{} of the objects were made by the JVM itself",
                count(all.objects as u64)
            ));
        }
        let is_sampled = matches!(self.source, EventSource::Sampled(_));
        // When an object is too large for a thread's buffer, JDK 17 and 21 count the rest of the buffer as allocated,
        // and JDK 11 counts it as sampled.
        if is_sampled && self.is_before(25) && has_many_large {
            note(AROUND_LARGE);
        }
        if self.source == EventSource::All {
            note(NOT_ALLOCATED);
        }
        if self.source == EventSource::All && self.is_jdk_11() {
            note(BEHIND_LARGE);
        }
        if snapshot.is_late {
            note(AT_LAST_COLLECTION);
        }
        if !snapshot.was_scanned {
            note(NOT_SCANNED);
        }
        if self.follows {
            match self.growth.get() {
                Some(growth) => notes.extend(growth.notes(snapshot)),
                None => drop(self.growth.set(Growth::of(snapshot))),
            }
        }
        notes
    }
}
