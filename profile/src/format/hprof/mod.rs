//! HPROF's text format: the tables `CPU SAMPLES`, `CPU TIME (ms)` and `SITES`, with the traces that they refer to.

mod costs;
mod sites;
mod traces;

use std::io::{self, Write};

use loadhook_hprof::text::{Line, ThreadEnd, ThreadStart, Writer};
use loadhook_text::date::asctime;

use self::costs::cost_lines;
use self::sites::site_lines;
use self::traces::{Traces, thread_serial};
use crate::analysis::options::Options;
use crate::model::{Profile, Seen, ThreadKind, Timing};

/// The reason why a profile with nothing but calls is refused.
const NO_TABLE: &str = "HPROF's text has times or allocations, and this profile has only calls; \
    run again with --timing sampled or exact, or with --alloc";

/// The detail of HPROF's text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// Maximum number of frames of a trace.
    pub depth: usize,
    /// Rows with a smaller share of the whole are left out.
    pub cutoff: f64,
    /// Traces of different threads are different traces.
    pub by_thread: bool,
    /// Frames have their lines, where they are known.
    pub lines: bool,
}

impl Default for Detail {
    /// Whole stacks of each thread, with all rows.
    fn default() -> Detail {
        Detail {
            depth: usize::MAX,
            cutoff: 0.0,
            by_thread: true,
            lines: true,
        }
    }
}

/// Writes the tables of all that the profile has: processor time or calls, and allocations.
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
    let ran = i64::try_from(header.duration_ns / 1_000_000_000).unwrap_or(0);
    let date = asctime((header.start_epoch_millis / 1000).saturating_add(ran));
    let mut traces = Traces::new(profile, *detail);
    let costs = cost_lines(profile, options, &date, &mut traces);
    let sites = site_lines(profile, options, &date, &mut traces);
    let mut writer = Writer::new(out, &date, &introduction(profile))?;
    for (index, thread) in profile.threads.iter().enumerate() {
        if options.thread.is_some_and(|wanted| !wanted(&thread.name)) {
            continue;
        }
        let serial = thread_serial(index);
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
    for line in traces.lines().chain(sites).chain(costs) {
        writer.line(&line)?;
    }
    writer.finish()
}

/// The text above the records.
fn introduction(profile: &Profile) -> String {
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
    text
}

/// The rows of a table in their order, the largest first: up to `top`, and up to the first below the cutoff. `weight`
/// is that of a row. Returns each with its share and that of all rows so far, in percent.
fn ranked<T>(
    mut rows: Vec<T>,
    top: Option<usize>,
    cutoff: f64,
    weight: impl Fn(&T) -> f64,
) -> Vec<(T, f64, f64)> {
    rows.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let whole: f64 = rows.iter().map(&weight).sum();
    let share = |part: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let mut sum = 0.0;
    let mut ranked = Vec::new();
    for row in rows.into_iter().take(top.unwrap_or(usize::MAX)) {
        let weight = weight(&row);
        if share(weight) < cutoff {
            break;
        }
        sum += weight;
        ranked.push((row, 100.0 * share(weight), 100.0 * share(sum)));
    }
    ranked
}
