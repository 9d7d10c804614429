//! `SITES`: allocations by type and trace.

use std::collections::HashMap;

use loadhook_hprof::text::{self, Line, SitesBegin};

use super::ranked::ranked;
use super::traces::{Place, Traces};
use crate::analysis::allocation_places::chosen_sites;
use crate::analysis::options::Options;
use crate::model::{Amount, Profile, Site};

/// The amounts of a type at a trace.
struct Sums<'p> {
    trace: u32,
    type_name: &'p str,
    live: Amount,
    allocated: Amount,
}

/// The table of the profile's allocations, by live bytes if objects were followed, otherwise by allocated bytes;
/// nothing if it has none.
pub(super) fn site_lines(
    profile: &Profile,
    options: &Options<'_>,
    date: &str,
    traces: &mut Traces<'_>,
) -> Vec<Line> {
    let Some(allocations) = &profile.allocations else {
        return Vec::new();
    };
    let is_live = allocations.live;
    let mut places: HashMap<(u32, &str), usize> = HashMap::new();
    let mut rows: Vec<Sums<'_>> = Vec::new();
    for site in chosen_sites(profile, allocations, options) {
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
    let weight = |row: &Sums<'_>| {
        let amount = if is_live { row.live } else { row.allocated };
        amount.bytes.unwrap_or(0.0)
    };
    let order = if is_live { "live" } else { "allocated" };
    let begin = SitesBegin {
        order: format!("{order} bytes"),
        date: date.to_owned(),
    };
    let mut lines = vec![Line::SitesBegin(begin)];
    let rows = ranked(rows, options.top, traces.detail.cutoff, weight);
    for (rank, (row, own, accumulated)) in (1..).zip(rows) {
        lines.push(Line::Site(text::Site {
            rank,
            own,
            accumulated,
            live: if is_live {
                whole(row.live)
            } else {
                text::Amount::default()
            },
            allocated: whole(row.allocated),
            trace: traces.serial(row.trace),
            class: row.type_name.to_owned(),
        }));
    }
    lines.push(Line::SitesEnd);
    lines
}

fn of(site: &Site, trace: u32) -> Sums<'_> {
    Sums {
        trace,
        type_name: &site.type_name,
        live: site.live,
        allocated: site.allocated,
    }
}

/// Whole numbers, as the table has them.
fn whole(amount: Amount) -> text::Amount {
    let round = |number: f64| number.round() as u64;
    text::Amount {
        bytes: amount.bytes.map(round),
        objects: Some(round(amount.objects)),
    }
}
