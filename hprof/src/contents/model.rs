//! The contents of a file as data.

use std::collections::BTreeMap;

use super::warning::Warning;
use crate::record::heap_summary::HeapSummary;
use crate::text::{Cost, CostsBegin, Frame, OldCall, Owner, Site, SitesBegin, ThreadState};

/// The contents of an HPROF file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// The format of the file.
    pub format: Format,
    /// Threads by serial number.
    pub threads: BTreeMap<u32, Thread>,
    /// Traces by serial number.
    pub traces: BTreeMap<u32, Trace>,
    /// Tables and dumps, in the order of the file.
    pub sections: Vec<Section>,
    /// Number of lines that report one event of a monitor each. Dumps of monitors do not count.
    pub monitor_events: u64,
    /// Statements that contradict each other.
    pub warnings: Vec<Warning>,
}

/// The format of a file, with the time at which the file was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Format {
    /// The text format, with the date as the file has it.
    Text { date: String },
    /// The binary format, with the number of bytes of an identifier and the milliseconds since 1970.
    Binary { id_size: u32, time_ms: u64 },
    /// The list that `cpu=old` writes.
    Old,
}

impl Default for Format {
    fn default() -> Format {
        Format::Text {
            date: String::new(),
        }
    }
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Name of the thread.
    pub name: String,
    /// Name of the thread's group.
    pub group: String,
    /// True if the thread ended before the file did.
    pub has_ended: bool,
}

/// The innermost frames of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Serial number of the thread; `None` if the file does not distinguish traces by thread.
    pub thread: Option<u32>,
    /// The frames, from the top.
    pub frames: Vec<Frame>,
}

/// A table or a dump.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Section {
    Sites {
        begin: SitesBegin,
        rows: Vec<Site>,
    },
    Costs {
        begin: CostsBegin,
        rows: Vec<Cost>,
    },
    Monitors(MonitorDump),
    /// Calls by called and calling method.
    Old(Vec<OldCall>),
    Heap(Heap),
    /// Bytes and objects of the heap, from a binary file.
    Summary(HeapSummary),
}

/// The monitors of a JVM and the threads that wait for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MonitorDump {
    /// All threads.
    pub threads: Vec<ThreadState>,
    /// The monitors that threads own or wait for.
    pub monitors: Vec<MonitorState>,
}

/// A monitor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MonitorState {
    /// The class of the monitor's object, as a descriptor (JVMS §4.3.2).
    pub class: String,
    /// The thread that owns the monitor.
    pub owner: Option<Owner>,
    /// Threads that wait to enter the monitor.
    pub to_enter: Vec<u32>,
    /// Threads that wait to be notified.
    pub to_be_notified: Vec<u32>,
}

/// The numbers of records in a heap dump.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// Number of roots.
    pub roots: u64,
    /// Number of classes.
    pub classes: u64,
    /// Number of objects that are not arrays.
    pub objects: u64,
    /// Number of arrays.
    pub arrays: u64,
}
