//! HPROF's formats, text and binary: processor time or samples by trace, and allocation sites, with the traces that
//! they refer to.

mod binary;
mod costs;
mod detail;
mod monitors;
mod old;
mod ranked;
mod sites;
mod text;
mod traces;

use std::io::{self, Write};

use loadhook_hprof::contents;
use loadhook_hprof::text::{ThreadEnd, ThreadStart, Writer};
use loadhook_hprof::{Header, text::Line};
use loadhook_text::date::asctime;

use self::costs::{Costs, costs};
pub use self::detail::Detail;
pub use self::monitors::{
    Contention, MonitorDump, MonitorState, MonitorTables, ThreadState, WaitMoment, Waiting,
};
pub use self::old::write_old;
use self::sites::{Sites, sites};
use self::traces::{Traces, thread_index, thread_serial};
use crate::analysis::options::Options;
use crate::model::{Profile, Seen, ThreadKind, ThreadTree, Timing};

/// The reason why a profile with nothing but calls is refused.
const NO_TABLE: &str = "HPROF's text has times or allocations, and this profile has only calls; \
    run again with --timing sampled or exact, or with --alloc";

/// The tables of a profile.
struct Tables<'p> {
    costs: Vec<Costs<'p>>,
    sites: Option<Sites<'p>>,
    monitors: Option<contents::MonitorDump>,
    traces: Traces<'p>,
}

impl<'p> Tables<'p> {
    fn new(
        profile: &'p Profile,
        monitors: Option<&'p MonitorTables>,
        detail: &Detail,
        options: &Options<'_>,
    ) -> Tables<'p> {
        let mut traces = Traces::new(profile, *detail);
        let mut all_costs: Vec<Costs<'p>> = Vec::new();
        all_costs.extend(costs(profile, options, &mut traces));
        let sites = sites(profile, options, &mut traces);
        all_costs.extend(monitors.map(|of| monitors::costs(of, options, &mut traces)));
        Tables {
            costs: all_costs,
            sites,
            monitors: monitors.map(|of| monitors::numbered(&of.dump, &mut traces)),
            traces,
        }
    }

    /// The introduction about threads that wait for each other.
    fn deadlocks(&self, profile: &Profile) -> String {
        let mut text = String::new();
        for circle in self.monitors.iter().flat_map(|dump| dump.deadlocks()) {
            let names = circle.iter().map(|serial| {
                let thread = thread_index(*serial).and_then(|at| profile.threads.get(at));
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

/// Writes the tables of all that the profile has as text: samples or times of traces, and allocations.
///
/// # Errors
///
/// Fails if `out` cannot be written. Fails with [`io::ErrorKind::Unsupported`] if the profile has neither times nor
/// allocations.
pub fn write(
    profile: &Profile,
    detail: &Detail,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let header = &profile.header;
    if header.timing == Timing::Count && profile.allocations.is_none() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, NO_TABLE));
    }
    begin_text(profile, None, detail, options, out)?.finish()
}

/// The end of the profile as HPROF's texts have it.
pub fn date(profile: &Profile) -> String {
    asctime(end_millis(profile) / 1000)
}

/// Begins a text with the tables of all that the profile has, and of monitors. The caller may add a heap dump, and
/// finishes the text.
///
/// # Errors
///
/// Fails if `out` cannot be written.
pub fn begin_text<W: Write>(
    profile: &Profile,
    monitors: Option<&MonitorTables>,
    detail: &Detail,
    options: &Options<'_>,
    out: W,
) -> io::Result<Writer<W>> {
    let date = date(profile);
    let tables = Tables::new(profile, monitors, detail, options);
    let lost = monitors.map_or(0, |monitors| monitors.lost_waits);
    let introduction = introduction(profile, lost) + &tables.deadlocks(profile);
    let mut writer = Writer::new(out, &date, &introduction)?;
    for (serial, thread) in threads(profile, options) {
        let start = ThreadStart {
            serial,
            name: thread.name.to_string(),
            ..ThreadStart::default()
        };
        writer.line(&Line::ThreadStart(start))?;
        if thread.kind == ThreadKind::Ended {
            writer.line(&Line::ThreadEnd(ThreadEnd(serial)))?;
        }
    }
    for line in text::trace_lines(&tables.traces) {
        writer.line(&line)?;
    }
    for waiting in monitors.iter().flat_map(|monitors| &monitors.waits) {
        writer.line(&Line::MonitorEvent(monitors::event(waiting)))?;
    }
    if let Some(sites) = &tables.sites {
        for line in text::site_lines(sites, &date) {
            writer.line(&line)?;
        }
    }
    for costs in &tables.costs {
        for line in text::cost_lines(costs, &date, &tables.traces) {
            writer.line(&line)?;
        }
    }
    if let Some(dump) = &tables.monitors {
        for line in text::monitor_lines(dump) {
            writer.line(&line)?;
        }
    }
    Ok(writer)
}

/// Begins a binary file with the tables of all that the profile has, and with the times of monitors. The caller may add
/// a heap dump, and finishes the file.
///
/// # Errors
///
/// Fails if `out` cannot be written.
pub fn begin_binary<W: Write>(
    profile: &Profile,
    monitors: Option<&MonitorTables>,
    detail: &Detail,
    options: &Options<'_>,
    out: W,
) -> io::Result<loadhook_hprof::Writer<W>> {
    let header = Header {
        id_size: 8,
        time_ms: u64::try_from(end_millis(profile)).unwrap_or(0),
    };
    let tables = Tables::new(profile, monitors, detail, options);
    let (costs, sites) = (&tables.costs, tables.sites.as_ref());
    let mut out = loadhook_hprof::Writer::new(out, header)?;
    binary::settings(costs, sites.is_some(), detail, &mut out)?;
    for (serial, thread) in threads(profile, options) {
        binary::thread(serial, &thread.name, &mut out)?;
        if thread.kind == ThreadKind::Ended {
            out.end_thread(serial)?;
        }
    }
    let mut defined = binary::Defined::default();
    defined.traces(&tables.traces, &mut out)?;
    if let Some(sites) = sites {
        defined.sites(sites, detail, &mut out)?;
    }
    for costs in costs {
        defined.costs(costs, &mut out)?;
    }
    Ok(out)
}

/// The end of the profile, in milliseconds since 1970.
fn end_millis(profile: &Profile) -> i64 {
    let header = &profile.header;
    let ran = i64::try_from(header.duration_ns / 1_000_000).unwrap_or(0);
    header.start_epoch_millis.saturating_add(ran)
}

/// The threads that the options choose, with their serial numbers.
fn threads<'p>(
    profile: &'p Profile,
    options: &Options<'p>,
) -> impl Iterator<Item = (u32, &'p ThreadTree)> {
    let wanted = options.thread;
    let threads = profile.threads.iter().enumerate();
    let threads = threads.map(|(index, thread)| (thread_serial(index), thread));
    threads.filter(move |(_, thread)| wanted.is_none_or(|wanted| wanted(&thread.name)))
}

/// The text above the records.
fn introduction(profile: &Profile, lost_waits: u64) -> String {
    let version = &profile.header.version;
    let mut text = format!("Written by Loadhook {version} in the text format of HPROF.\n");
    match profile.allocations.as_ref().map(|found| found.seen) {
        None => {}
        Some(Seen::Exact) => text += "SITES has all allocations of the instrumented classes.\n",
        Some(Seen::All) => text += "SITES has all allocations.\n",
        Some(Seen::Sampled { interval }) => {
            let bytes = if interval == 1 { "byte" } else { "bytes" };
            text += &format!("SITES has estimates from one sample in {interval} {bytes}.\n");
        }
    }
    if lost_waits > 0 {
        text += &format!("{lost_waits} further events of Object.wait are left out.\n");
    }
    text
}
