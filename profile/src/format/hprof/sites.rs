//! Allocations by type and trace.

use std::collections::HashMap;

use super::ranked::{Ranked, ranked};
use super::traces::{Place, Traces};
use crate::analysis::allocation_places::chosen_sites;
use crate::analysis::options::Options;
use crate::model::{self, Allocations, Amount, Frame, Profile};

/// The allocation sites, ordered by live bytes if objects were followed, otherwise by allocated
/// bytes.
pub(super) struct Sites<'p> {
    /// True if objects were followed.
    pub(super) is_live: bool,
    /// The live objects of all sites of the program, including sites without a row.
    pub(super) live: Amount,
    /// The allocated objects of all sites of the program, including sites without a row.
    pub(super) allocated: Amount,
    pub(super) rows: Vec<Ranked<Site<'p>>>,
}

/// The objects of a type that a trace allocated.
pub(super) struct Site<'p> {
    /// Serial number of the trace.
    pub(super) trace: u32,
    pub(super) type_name: &'p str,
    pub(super) live: Amount,
    pub(super) allocated: Amount,
}

/// Returns the sites of the profile's allocations; `None` if allocations were not recorded.
pub(super) fn sites<'p>(
    profile: &'p Profile,
    options: &Options<'_>,
    traces: &mut Traces<'_>,
) -> Option<Sites<'p>> {
    let allocations = profile.allocations.as_ref()?;
    let is_live = allocations.live;
    let mut places: HashMap<(u32, &str), usize> = HashMap::new();
    let mut rows: Vec<Site<'_>> = Vec::new();
    for site in chosen_sites(profile, allocations, options) {
        let was_there = site.allocated.objects > 0.0 || site.live.objects > 0.0;
        if !was_there || is_profilers(profile, allocations, site) {
            continue;
        }
        let frames = allocations.path(site);
        let frames = frames.map(|frame| -> Place { (frame.method, frame.line) });
        let trace = traces.number(site.thread as usize, frames);
        let place = *places.entry((trace, &site.type_name)).or_insert(rows.len());
        match rows.get_mut(place) {
            Some(row) => {
                row.live.add(&site.live);
                row.allocated.add(&site.allocated);
            }
            None => rows.push(of(site, trace)),
        }
    }
    let weight = |row: &Site<'_>| {
        let amount = if is_live { row.live } else { row.allocated };
        amount.bytes.unwrap_or(0.0)
    };
    let (mut live, mut allocated) = (Amount::default(), Amount::default());
    for row in &rows {
        live.add(&row.live);
        allocated.add(&row.allocated);
    }
    let mut rows = ranked(rows, options.top, traces.detail.cutoff, weight);
    for row in &mut rows {
        row.of.trace = traces.serial(row.of.trace);
    }
    Some(Sites {
        is_live,
        live,
        allocated,
        rows,
    })
}

/// Returns whether the profiler allocated the objects of a site, or has their class: the tracker's classes make arrays
/// for the calls that they count.
fn is_profilers(profile: &Profile, allocations: &Allocations, site: &model::Site) -> bool {
    let is_tracker = |class: &str| class.starts_with("java.lang.$Loadhook");
    let class = |frame: &Frame| &*profile.methods[frame.method as usize].class;
    is_tracker(&site.type_name) || allocations.path(site).any(|frame| is_tracker(class(frame)))
}

fn of(site: &model::Site, trace: u32) -> Site<'_> {
    Site {
        trace,
        type_name: &site.type_name,
        live: site.live,
        allocated: site.allocated,
    }
}
