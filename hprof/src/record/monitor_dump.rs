//! The states of threads and monitors: two records of our own, because HPROF's binary format has none for
//! `MONITOR DUMP`.

use std::io::Read;

use crate::error::Result;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;

/// The state of a thread. The states of all threads come first in a dump of monitors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DumpedThread {
    /// Serial number of the thread.
    pub thread: u32,
    /// Serial number of the thread's trace.
    pub trace: u32,
    /// Identifier of a name: the thread's state, in the letters that the text format uses, for example `MW`.
    pub status: u64,
}

impl DumpedThread {
    /// Returns the number of bytes of the record.
    pub(crate) fn length(id_size: u64) -> u64 {
        8 + id_size
    }

    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<DumpedThread> {
        let what = "the state of a thread";
        Ok(DumpedThread {
            thread: input.input.u4(what)?,
            trace: input.input.u4(what)?,
            status: input.id(what)?,
        })
    }

    pub(crate) fn write(&self, out: &mut RecordBuffer) {
        out.u4(self.thread);
        out.u4(self.trace);
        out.id(self.status);
    }
}

/// A monitor. The serial numbers of the waiting threads follow: first the threads that wait to
/// enter, then the threads that wait to be notified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DumpedMonitor {
    /// Identifier of a name: the class of the monitor's object, as a descriptor (JVMS §4.3.2).
    pub class: u64,
    /// Serial number of the thread that owns the monitor; 0 if no thread does.
    pub owner: u32,
    /// How often the owner has entered the monitor.
    pub entries: u32,
    /// Number of threads that wait to enter the monitor.
    pub to_enter: u32,
    /// Number of threads that wait to be notified.
    pub to_be_notified: u32,
}

impl DumpedMonitor {
    /// Returns the number of bytes of the fixed part.
    pub(crate) fn length(id_size: u64) -> u64 {
        16 + id_size
    }

    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<DumpedMonitor> {
        let what = "a monitor";
        Ok(DumpedMonitor {
            class: input.id(what)?,
            owner: input.input.u4(what)?,
            entries: input.input.u4(what)?,
            to_enter: input.input.u4(what)?,
            to_be_notified: input.input.u4(what)?,
        })
    }

    pub(crate) fn write(&self, out: &mut RecordBuffer) {
        out.id(self.class);
        out.u4(self.owner);
        out.u4(self.entries);
        out.u4(self.to_enter);
        out.u4(self.to_be_notified);
    }
}
