//! Adds the recorded waits to HPROF's tables and to a profile.

use std::collections::{BTreeSet, HashMap};

use loadhook_profile::format::hprof::{Contention, MonitorTables, Waiting};
use loadhook_profile::{Holder, LockWait, LocksBuilder, Profile, ThreadKind};
use loadhook_text::count;

use super::dump::dump;
use super::frames::Names;
use super::recording::{Monitors, Purpose, WaitsSoFar};
use super::sums::{Place, Sums, Waiters};
use crate::diagnostics;
use crate::frames::profile_parts::{self, ProfileMethods};
use crate::instrument::instrumentation::Instrumentation;
use crate::instrument::loaders::Loader;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti_stacks::StackFrame;
use crate::locks::lock;

/// A copy of the recorded waits at a moment, for a profile.
pub(crate) struct LockSnapshot<'m> {
    sums: Sums,
    names: &'m Names,
}

impl Monitors {
    /// Makes HPROF's tables of waits since the last [`begin_anew`](Self::begin_anew), and the waits so far. Adds their
    /// methods and threads to the profile if the profile does not have them.
    pub(crate) fn tables(
        &self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        profile: &mut Profile,
    ) -> (MonitorTables, WaitsSoFar) {
        let mut methods = ProfileMethods::of(profile);
        let (depth, names) = (self.depth(), &self.names);
        let dump = dump(instrumentation, jni, depth, names, &mut methods, profile);
        let (sums, shown, events, lost) = {
            let state = lock(&self.state);
            let (sums, shown) = (state.sums.clone(), state.shown.clone());
            let events = state.events.kept().to_vec();
            (sums, shown, events, state.events.lost())
        };
        let number_of_events = events.len();
        if sums.lost() > 0 {
            diagnostics::line(&format!(
                "monitor=y: {} waits are missing in MONITOR TIME and PARK TIME, because threads waited at too many different places; give a smaller depth= or thread=n",
                count(sums.lost())
            ));
        }
        if let Some(note) = names.note() {
            diagnostics::line(&format!("monitor=y: {note}"));
        }
        let loaders = instrumentation.loaders.names(names.loaders());
        let mut contentions = Vec::new();
        for (place, sum) in sums
            .without(&shown)
            .filter(|(place, _)| place.kind.is_contention())
        {
            contentions.push(Contention {
                kind: place.kind,
                thread: names.index(sum.first, profile),
                frames: names.places(&place.frames, &loaders, &mut methods, profile),
                class: place.class.to_string(),
                count: sum.count,
                ns: u64::try_from(sum.time.as_nanos()).unwrap_or(u64::MAX),
            });
        }
        let mut waits = Vec::with_capacity(events.len());
        for event in events {
            waits.push(Waiting {
                thread: names.index(event.thread, profile),
                event: event.event,
            });
        }
        let tables = MonitorTables {
            contentions,
            waits,
            lost_waits: lost.waits,
            lost_sleeps: lost.sleeps,
            dump,
        };
        let so_far = WaitsSoFar {
            sums,
            events: number_of_events,
            lost,
        };
        (tables, so_far)
    }

    /// Returns a copy of the recorded waits for a profile, or `None` if the options ask for HPROF's tables.
    pub(crate) fn snapshot(&self) -> Option<LockSnapshot<'_>> {
        (self.purpose == Purpose::Profile).then(|| LockSnapshot {
            sums: lock(&self.state).sums.clone(),
            names: &self.names,
        })
    }
}

impl LockSnapshot<'_> {
    /// Returns the class loaders of the methods on the recorded stacks.
    pub(crate) fn loaders(&self) -> BTreeSet<Loader> {
        self.names.loaders()
    }

    /// Adds the waits to a profile. `loaders` has the names of class loaders by number.
    pub(crate) fn add_to(&self, loaders: &HashMap<u32, String>, profile: &mut Profile) {
        let mut methods = ProfileMethods::of(profile);
        let mut locks = LocksBuilder::default();
        for (waiters, place, sum) in self.sums.all() {
            let thread = match waiters {
                Waiters::Group(number) => {
                    let name = self.sums.group(*number);
                    profile_parts::thread(profile, &name, None, ThreadKind::Ended)
                }
                Waiters::All | Waiters::Thread(_) | Waiters::Virtual => {
                    self.names.index(sum.first, profile)
                }
            };
            let mut stack = |frames: &[StackFrame]| {
                let places = self.names.places(frames, loaders, &mut methods, profile);
                locks.stack(places.into_iter().rev())
            };
            let Place {
                kind,
                class,
                frames,
                holder,
            } = place;
            let frame = stack(frames);
            let holder = holder.as_ref().map(|holder| Holder {
                thread: holder.thread.clone(),
                frame: stack(&holder.frames),
            });
            locks.add(LockWait {
                kind: *kind,
                thread,
                class: class.clone(),
                frame,
                holder,
                count: sum.count,
                ns: u64::try_from(sum.time.as_nanos()).unwrap_or(u64::MAX),
            });
        }
        profile.locks = Some(locks.finish());
        let notes = &mut profile.header.notes;
        notes.extend(self.names.note().map(str::to_owned));
        if self.sums.lost() > 0 {
            notes.push(format!(
                "{} waits for locks are left out, because threads waited at too many different places",
                count(self.sums.lost())
            ));
        }
    }
}
