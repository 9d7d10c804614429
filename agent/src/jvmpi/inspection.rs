//! Shows the recorded heap as plain data, for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::MutexGuard;

use loadhook_profile::gc_events::{ArenaId, ClassId, ObjectId, SiteId};

use super::recorder::Recorder;
pub(crate) use super::recorder::{NEEDED, OPTIONAL};
use super::tables::Tables;

/// Numbers of objects and of bytes.
pub(crate) type Count = (u64, u64);

/// The heap by the names of types and places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Ids of the live objects.
    pub(crate) ids: BTreeSet<u64>,
    /// Live objects by arena, type and place.
    pub(crate) live: BTreeMap<(i32, String, String), Count>,
    /// Objects that the program has allocated, by type and place.
    pub(crate) allocated: BTreeMap<(String, String), Count>,
    /// Number of events that were lost or contradict other events.
    pub(crate) faults: u64,
}

/// Locks the tables of a recorder.
pub(crate) fn locked(recorder: &Recorder) -> MutexGuard<'_, Tables> {
    recorder.tables()
}

/// Returns the state of the recorded heap after all events so far.
pub(crate) fn state(recorder: &Recorder) -> State {
    let lost = recorder.lost();
    let tables = recorder.tables();
    let ids = tables.heap.ids().map(|ObjectId(id)| id);
    let mut state = State {
        ids: ids.collect(),
        faults: lost + tables.contradictions,
        ..State::default()
    };
    let names = |class: ClassId, site: SiteId| (tables.type_name(class), place(&tables, site));
    for (group, sums) in tables.heap.amounts_by(|group| group) {
        let ArenaId(arena) = group.arena;
        let (type_name, place) = names(group.class, group.site);
        let sum = state.live.entry((arena, type_name, place)).or_default();
        *sum = (sum.0 + sums.live.objects, sum.1 + sums.live.bytes);
    }
    for ((class, site), amount) in &tables.allocated {
        let sum = state.allocated.entry(names(*class, *site)).or_default();
        *sum = (sum.0 + amount.objects, sum.1 + amount.bytes);
    }
    state
}

/// Returns a site as `thread: outer:line > inner:line`; empty if the site is not shown.
fn place(tables: &Tables, site: SiteId) -> String {
    let Some((thread, innermost)) = tables.sites.place(site) else {
        return String::new();
    };
    let frames = tables.sites.frames();
    let path = std::iter::successors(innermost, |at| frames[*at as usize].parent);
    let names = path.map(|at| {
        let frame = &frames[at as usize];
        let method = &tables.classes.methods()[frame.method as usize];
        let line = frame.line.unwrap_or(0);
        format!("{}.{}:{line}", method.class, method.name)
    });
    let mut names: Vec<String> = names.collect();
    names.reverse();
    format!("{thread}: {}", names.join(" > "))
}
