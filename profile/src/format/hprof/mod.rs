//! HPROF's text format: the tables `CPU SAMPLES`, `CPU TIME (ms)` and `SITES`, with the traces that they refer to.

mod costs;
mod detail;
mod ranked;
mod sites;
mod traces;

use std::io::{self, Write};

use loadhook_hprof::text::{Line, ThreadEnd, ThreadStart, Writer};
use loadhook_text::date::asctime;

use self::costs::cost_lines;
pub use self::detail::Detail;
use self::sites::site_lines;
use self::traces::{Traces, thread_serial};
use crate::analysis::options::Options;
use crate::model::{Profile, Seen, ThreadKind, Timing};

/// The reason why a profile with nothing but calls is refused.
const NO_TABLE: &str = "HPROF's text has times or allocations, and this profile has only calls; \
    run again with --timing sampled or exact, or with --alloc";

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
