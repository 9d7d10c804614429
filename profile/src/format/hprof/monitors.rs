//! Monitors: the numbers of `MONITOR TIME`, `PARK TIME` and `MONITOR DUMP`, and events of `Object.wait` and
//! `Thread.sleep`. A profile has no data about monitors, so this data is passed beside the profile. Threads and methods
//! are indexes into the profile.

use std::collections::HashMap;

use loadhook_hprof::contents;
use loadhook_hprof::text::{CostKind, MonitorEvent, Owner};

use super::costs::{Cost, Costs};
use super::numbers::Numbers;
use super::ranked::ranked;
use super::traces::Traces;
use crate::analysis::options::Options;
use crate::model::WaitKind;

/// The data about monitors.
#[derive(Clone, Debug, Default)]
pub struct MonitorTables {
    /// The waits to enter monitors, and the waits for locks of `java.util.concurrent`.
    pub contentions: Vec<Contention>,
    /// Events of `Object.wait` and `Thread.sleep`, in the order of time.
    pub waits: Vec<Waiting>,
    /// Number of events of `Object.wait` that were not kept.
    pub lost_waits: u64,
    /// Number of events of `Thread.sleep` that were not kept.
    pub lost_sleeps: u64,
    /// Monitors and threads at the end.
    pub dump: MonitorDump,
}

/// The waits of one thread at one trace for monitors or locks of one class.
#[derive(Clone, Debug)]
pub struct Contention {
    /// The kind of the waits: for monitors or for locks.
    pub kind: WaitKind,
    /// The thread.
    pub thread: u32,
    /// Methods and lines, the innermost first.
    pub frames: Vec<(u32, Option<u32>)>,
    /// The class of the monitors' objects, or of the locks.
    pub class: String,
    /// How often the thread waited.
    pub count: u64,
    /// How long the thread waited, in nanoseconds.
    pub ns: u64,
}

/// An event of a thread that waits or sleeps.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The thread.
    pub thread: u32,
    /// The event.
    pub event: WaitEvent,
}

/// Begin or end of `Object.wait`, or begin of `Thread.sleep`. `class` is the descriptor of the class of the monitor's
/// object. Times are milliseconds.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum WaitEvent {
    /// A thread begins to wait, for `timeout_ms` at most; 0 means without limit.
    Begins { class: String, timeout_ms: i64 },
    /// A thread has waited.
    Ends { class: String, waited_ms: i64 },
    /// A thread begins to sleep.
    Sleeps { timeout_ms: i64 },
}

/// Threads and monitors at a moment.
#[derive(Clone, Debug, Default)]
pub struct MonitorDump {
    /// All platform threads.
    pub threads: Vec<ThreadState>,
    /// The monitors that threads own or wait for.
    pub monitors: Vec<MonitorState>,
}

/// A thread in a dump of monitors.
#[derive(Clone, Debug)]
pub struct ThreadState {
    /// The thread.
    pub thread: u32,
    /// Methods and lines, the innermost first.
    pub frames: Vec<(u32, Option<u32>)>,
    /// The state in HPROF's letters.
    pub status: String,
}

/// A monitor in a dump of monitors.
#[derive(Clone, Debug)]
pub struct MonitorState {
    /// The descriptor of the class of the monitor's object.
    pub class: String,
    /// The thread that owns the monitor, and how often that thread has entered it.
    pub owner: Option<(u32, i32)>,
    /// Threads that wait to enter.
    pub to_enter: Vec<u32>,
    /// Threads that wait to be notified.
    pub to_be_notified: Vec<u32>,
}

/// Returns the times that threads waited, by trace and class: one table for monitors, another for locks.
pub(super) fn all_costs<'m>(
    monitors: &'m MonitorTables,
    options: &Options<'_>,
    traces: &mut Traces<'_>,
) -> Vec<Costs<'m>> {
    let mut all = vec![costs(CostKind::Monitors, monitors, options, traces)];
    let parks = costs(CostKind::Parks, monitors, options, traces);
    // HPROF had no table of parks. Readers may not expect it, so it is left out if it is empty.
    if !parks.rows.is_empty() {
        all.push(parks);
    }
    all
}

fn costs<'m>(
    kind: CostKind,
    monitors: &'m MonitorTables,
    options: &Options<'_>,
    traces: &mut Traces<'_>,
) -> Costs<'m> {
    let mut sums: HashMap<(u32, &str), Cost<'m>> = HashMap::new();
    let is_of_kind = |contention: &&Contention| {
        (contention.kind == WaitKind::Monitor) == (kind == CostKind::Monitors)
    };
    for contention in monitors.contentions.iter().filter(is_of_kind) {
        let frames = contention.frames.iter().copied();
        let trace = traces.number(contention.thread as usize, frames);
        let class = contention.class.as_str();
        let sum = sums.entry((trace, class)).or_insert(Cost {
            trace,
            class: Some(class),
            count: 0,
            ns: 0.0,
        });
        sum.count += contention.count;
        sum.ns += contention.ns as f64;
    }
    let mut sums: Vec<Cost<'_>> = sums.into_values().collect();
    sums.sort_by_key(|cost| (cost.trace, cost.class));
    let weight = |cost: &Cost<'_>| cost.ns;
    let total = sums.iter().map(weight).sum();
    let mut rows = ranked(sums, options.top, traces.detail.cutoff, weight);
    for row in &mut rows {
        row.of.trace = traces.serial(row.of.trace);
    }
    Costs { kind, total, rows }
}

/// Converts the dump: serial numbers replace the indexes.
pub(super) fn numbered(dump: &MonitorDump, traces: &mut Traces<'_>) -> contents::MonitorDump {
    use loadhook_hprof::text::ThreadState;
    let numbers = traces.first;
    let serial = |thread: &u32| numbers.thread(*thread as usize);
    let thread = |state: &self::ThreadState| {
        let frames = state.frames.iter().copied();
        let number = traces.number(state.thread as usize, frames);
        ThreadState {
            thread: serial(&state.thread),
            trace: traces.serial(number),
            status: state.status.clone(),
        }
    };
    let threads = dump.threads.iter().map(thread).collect();
    let monitor = |monitor: &MonitorState| contents::MonitorState {
        class: monitor.class.clone(),
        owner: monitor.owner.map(|(thread, entries)| Owner {
            thread: serial(&thread),
            entries,
        }),
        to_enter: monitor.to_enter.iter().map(serial).collect(),
        to_be_notified: monitor.to_be_notified.iter().map(serial).collect(),
    };
    let monitors = dump.monitors.iter().map(monitor).collect();
    contents::MonitorDump { threads, monitors }
}

/// Converts an event of a thread that waits or sleeps to a line of the text.
pub(super) fn event(waiting: &Waiting, numbers: &Numbers) -> MonitorEvent {
    let thread = numbers.thread(waiting.thread as usize);
    match waiting.event.clone() {
        WaitEvent::Begins { class, timeout_ms } => MonitorEvent::Wait {
            class,
            timeout: timeout_ms,
            thread,
        },
        WaitEvent::Ends { class, waited_ms } => MonitorEvent::Waited {
            class,
            time: waited_ms,
            thread,
        },
        WaitEvent::Sleeps { timeout_ms } => MonitorEvent::Sleep {
            timeout: timeout_ms,
            thread,
        },
    }
}
