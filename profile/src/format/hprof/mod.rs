//! HPROF's formats, text and binary: processor time or samples by trace, and allocation sites, with the traces that
//! these tables refer to.

mod binary;
mod costs;
mod detail;
mod monitors;
mod numbers;
mod old;
mod ranked;
mod sites;
mod stream;
mod tables;
mod text;
mod traces;

use std::io::{self, Write};

use loadhook_hprof::text::{Line, ThreadEnd, ThreadStart, Writer};
use loadhook_text::date::asctime;
use loadhook_text::units;

pub use self::binary::StreamSettings;
pub use self::detail::Detail;
pub use self::monitors::{
    Contention, MonitorDump, MonitorState, MonitorTables, ThreadState, WaitEvent, Waiting,
};
pub use self::numbers::Numbers;
pub use self::old::write_old;
pub use self::stream::{add_part, begin_stream, go_on_with_stream};
pub use self::tables::Part;
use self::tables::{Tables, threads};
use crate::analysis::options::Options;
use crate::model::{MethodCalls, Profile, Seen, ThreadKind, Timing};

/// The reason why a profile with nothing but calls is refused.
const NO_TABLE: &str = "HPROF's text has times or allocations, and this profile has only calls; \
    run again with --timing sampled or exact, or with --alloc";

/// The sentence about `SITES` on JDK 11, whose JVM TI does not report all objects.
const ALL_OF_JDK_11: &str = "SITES has the allocations that JDK 11 reports: not those of a thread between an object \
    too large for the thread's buffer and the next buffer.\n";

/// The sentence about the objects that a heap dump has because of the profiler.
const OBJECTS_OF_PROFILER: &str = "HEAP DUMP has the profiler's own objects, too: those of classes \
    java.lang.$Loadhook..., and its reserve of memory, a byte[] of up to 4 MB.\n";

/// Writes all tables of the profile as text: samples or times of traces, and allocations.
///
/// # Errors
///
/// Fails if `out` cannot be written. Fails with [`io::ErrorKind::Unsupported`] if the profile has
/// neither times nor allocations.
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

/// Returns the date and time of the profile's end, in the form of HPROF's texts.
pub fn date(profile: &Profile) -> String {
    asctime(end_millis(profile) / 1000)
}

/// Begins a text with all tables of the profile and of monitors. The caller may add a heap dump,
/// and then finishes the text.
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
    let numbers = Numbers::default();
    let tables = Tables::new(profile, monitors, detail, options, Part::All, numbers);
    let introduction =
        introduction(profile, monitors, detail.has_heap) + &tables.deadlocks(profile);
    let mut writer = Writer::new(out, &date, &introduction)?;
    for (serial, thread) in threads(profile, options, &numbers) {
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
        writer.line(&Line::MonitorEvent(monitors::event(waiting, &numbers)))?;
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

/// Begins a binary file with all tables of the profile, and with the times of monitors. The caller
/// may add a heap dump, and then finishes the file.
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
    let time_ms = u64::try_from(end_millis(profile)).unwrap_or(0);
    let settings = StreamSettings {
        has_sites: profile.allocations.is_some(),
        has_samples: profile.header.timing == Timing::Sampled,
        depth: detail.depth,
    };
    let mut out = begin_stream(time_ms, settings, out)?;
    let mut numbers = Numbers::default();
    let part = Part::All;
    add_part(
        profile,
        monitors,
        detail,
        options,
        part,
        &mut numbers,
        &mut out,
    )?;
    Ok(out)
}

/// Returns the end of the profile, in milliseconds since 1970.
fn end_millis(profile: &Profile) -> i64 {
    let header = &profile.header;
    let ran = i64::try_from(header.duration_ns / 1_000_000).unwrap_or(0);
    header.start_epoch_millis.saturating_add(ran)
}

/// Returns whether a JVM is JDK 11. `jvm` is its name and its version.
fn is_jdk_11(jvm: &str) -> bool {
    let version = jvm.rsplit(' ').next().unwrap_or_default();
    version.starts_with("11.")
}

/// Returns the text above the records.
fn introduction(profile: &Profile, monitors: Option<&MonitorTables>, has_heap: bool) -> String {
    let version = &profile.header.version;
    let mut text = format!("Written by Loadhook {version} in the text format of HPROF.\n");
    match profile.allocations.as_ref().map(|found| found.seen) {
        None => {}
        Some(Seen::Exact) => text += "SITES has all allocations of the instrumented classes.\n",
        Some(Seen::All) if is_jdk_11(&profile.header.jvm) => text += ALL_OF_JDK_11,
        Some(Seen::All) => {
            text += "SITES has all allocations since the JVM's start was complete.\n"
        }
        Some(Seen::Sampled { interval }) => {
            let bytes = if interval == 1 { "byte" } else { "bytes" };
            text += &format!("SITES has estimates from one sample in {interval} {bytes}.\n");
        }
    }
    if matches!(profile.header.timing, Timing::Adaptive | Timing::Exact) {
        let is_lowered = |of: &&MethodCalls| of.since_ns.or(of.until_ns).is_some();
        let lowered = profile.method_calls.iter().filter(is_lowered).count();
        if lowered > 0 {
            let methods = units::counted(lowered as u64, "method", "methods");
            text += &format!(
                "CPU TIME has the calls of {methods} only until these lost probes (--budget).\n"
            );
        }
    }
    if has_heap {
        text += OBJECTS_OF_PROFILER;
    }
    let lost = monitors.map_or((0, 0), |monitors| {
        (monitors.lost_waits, monitors.lost_sleeps)
    });
    for (lost, method) in [(lost.0, "Object.wait"), (lost.1, "Thread.sleep")] {
        if lost > 0 {
            text += &format!("{lost} further events of {method} are left out.\n");
        }
    }
    text
}
