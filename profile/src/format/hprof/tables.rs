//! The tables of an HPROF file, or of a part of a stream.

use loadhook_hprof::contents;

use super::costs::{Costs, costs};
use super::detail::Detail;
use super::monitors::{self, MonitorTables};
use super::numbers::Numbers;
use super::sites::{Sites, sites};
use super::traces::Traces;
use crate::analysis::options::Options;
use crate::model::{Profile, ThreadTree};

/// The tables that a part of a stream contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All tables.
    All,
    /// `CPU SAMPLES` or `CPU TIME`.
    Costs,
    /// `SITES`.
    Sites,
    /// The sizes of the heap.
    Summary,
    /// The traces of all tables.
    Traces,
}

impl Part {
    /// Returns whether samples or times are needed.
    fn has_costs(self) -> bool {
        matches!(self, Part::All | Part::Costs | Part::Traces)
    }

    /// Returns whether allocation sites are needed.
    fn has_sites(self) -> bool {
        matches!(self, Part::All | Part::Sites | Part::Summary | Part::Traces)
    }
}

/// The tables of a profile.
pub(super) struct Tables<'p> {
    pub(super) costs: Vec<Costs<'p>>,
    pub(super) sites: Option<Sites<'p>>,
    pub(super) monitors: Option<contents::MonitorDump>,
    pub(super) traces: Traces<'p>,
}

impl<'p> Tables<'p> {
    pub(super) fn new(
        profile: &'p Profile,
        monitors: Option<&'p MonitorTables>,
        detail: &Detail,
        options: &Options<'_>,
        part: Part,
        first: Numbers,
    ) -> Tables<'p> {
        let mut traces = Traces::new(profile, *detail, first);
        let mut all_costs: Vec<Costs<'p>> = Vec::new();
        if part.has_costs() {
            all_costs.extend(costs(profile, options, &mut traces));
        }
        let sites = if part.has_sites() {
            sites(profile, options, &mut traces)
        } else {
            None
        };
        let monitors = monitors.filter(|_| matches!(part, Part::All | Part::Traces));
        if let Some(monitors) = monitors {
            all_costs.extend(monitors::all_costs(monitors, options, &mut traces));
        }
        Tables {
            costs: all_costs,
            sites,
            monitors: monitors.map(|of| monitors::numbered(&of.dump, &mut traces)),
            traces,
        }
    }

    /// Returns the sentences of the introduction about threads that wait for each other.
    pub(super) fn deadlocks(&self, profile: &Profile) -> String {
        let mut text = String::new();
        for circle in self.monitors.iter().flat_map(|dump| dump.deadlocks()) {
            let names = circle.iter().map(|serial| {
                let index = self.traces.first.thread_index(*serial);
                let thread = index.and_then(|at| profile.threads.get(at));
                thread.map_or("?", |thread| &*thread.name)
            });
            let names: Vec<&str> = names.collect();
            text += &format!(
                "Deadlock: each of these threads waits for the next one: {}.\n",
                names.join(", ")
            );
        }
        text
    }
}

/// Returns the threads that the options choose, with their serial numbers.
pub(super) fn threads<'p>(
    profile: &'p Profile,
    options: &Options<'p>,
    numbers: &Numbers,
) -> impl Iterator<Item = (u32, &'p ThreadTree)> {
    let (wanted, numbers) = (options.thread, *numbers);
    let threads = profile.threads.iter().enumerate();
    let threads = threads.map(move |(index, thread)| (numbers.thread(index), thread));
    threads.filter(move |(_, thread)| wanted.is_none_or(|wanted| wanted(&thread.name)))
}
