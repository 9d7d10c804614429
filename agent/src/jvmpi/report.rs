//! Adds the recorded objects to a profile.

use std::sync::Arc;

use loadhook_profile::gc_events;
use loadhook_profile::{Allocations, Amount, Frame, Profile, Seen, Site, ThreadKind, ThreadTree};
use loadhook_text::count;

use super::recorder::Recorder;
use super::tables::Tables;
use crate::frames::profile_parts::{self, ProfileMethods};

/// Adds the allocated and the live objects of the program to a profile.
pub(super) fn add_to(recorder: &Recorder, profile: &mut Profile) {
    let lost = recorder.lost();
    let tables = recorder.tables();
    let frames = frames(&tables, profile);
    let by_site = |group: gc_events::ObjectGroup| (group.class, group.site);
    let live = tables.heap.amounts_by(by_site);
    let mut sites = Vec::new();
    let mut allocated: Vec<_> = tables.allocated.iter().collect();
    allocated.sort_unstable_by_key(|(at, _)| **at);
    for (&(type_number, site), allocated) in allocated {
        let Some((thread, frame)) = tables.sites.place(site) else {
            continue;
        };
        let live = live.get(&(type_number, site)).map(|sums| sums.live);
        sites.push(Site {
            thread: thread_number(profile, thread),
            frame: frame.and_then(|frame| frames.get(frame as usize).map(|_| frame)),
            type_name: tables.type_name(type_number).into(),
            allocated: amount(*allocated),
            live: amount(live.unwrap_or_default()),
            // The age is left out, because the VM does not report how many collections an object has survived.
            live_age: 0.0,
        });
    }
    profile.header.notes.extend(notes(&tables, lost));
    profile.allocations = Some(Allocations {
        seen: Seen::All,
        live: true,
        frames,
        sites,
    });
}

/// Makes the frames of a profile. Adds their methods to the profile.
fn frames(tables: &Tables, profile: &mut Profile) -> Vec<Frame> {
    let mut methods = ProfileMethods::of(profile);
    let mut frames = Vec::new();
    for frame in tables.sites.frames() {
        let known = tables.classes.methods().get(frame.method as usize);
        let method = known
            .cloned()
            .unwrap_or_else(|| loadhook_profile::Method::unknown(frame.method));
        frames.push(Frame {
            method: methods.number(profile, method),
            ..*frame
        });
    }
    frames
}

/// Returns the index of the thread with this name in the profile. The profile may already have the thread with its call
/// tree; otherwise adds the thread. Threads of one name are shown as one thread.
fn thread_number(profile: &mut Profile, name: &Arc<str>) -> u32 {
    let is_it = |thread: &ThreadTree| thread.name == *name && thread.kind != ThreadKind::Virtual;
    match profile.threads.iter().position(is_it) {
        Some(at) => at as u32,
        None => profile_parts::thread(profile, name, None, ThreadKind::Ended),
    }
}

fn amount(amount: gc_events::Amount) -> Amount {
    Amount {
        objects: amount.objects as f64,
        bytes: Some(amount.bytes as f64),
        ..Amount::default()
    }
}

/// Returns notes about objects that are missing, or whose end is not known.
fn notes(tables: &Tables, lost: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if tables.not_followed > 0 {
        notes.push(format!(
            "{} objects may be missing among the live objects, because too many were alive at the same time",
            count(tables.not_followed)
        ));
    }
    if tables.sites.without_room > 0 {
        notes.push(format!(
            "{} objects are missing or shown at an outer caller, since there was no room for their places; raise --max-nodes",
            count(tables.sites.without_room)
        ));
    }
    let doubtful = lost + tables.contradictions;
    if doubtful > 0 {
        notes.push(format!(
            "objects shown as alive may be gone: {} events of collections were lost or contradict earlier events",
            count(doubtful)
        ));
    }
    notes
}
