//! Times by trace, a record of our own. HPROF's binary format has no record for its tables `CPU TIME (ms)` and
//! `MONITOR TIME`, nor for our table `PARK TIME`. Readers skip records whose tag they do not know.

use std::io::Read;

use crate::error::Result;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;
use crate::tag::top;

/// The table to which times by trace belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimesOf {
    /// `CPU TIME (ms)`: calls of the trace's innermost method, and the time that this method took by itself.
    Calls,
    /// `MONITOR TIME`: contended monitors, and the time that threads waited for them.
    Monitors,
    /// `PARK TIME`: contended locks of `java.util.concurrent`, and the time that threads waited for them.
    Parks,
}

impl TimesOf {
    /// Returns the table of the record with this tag; `None` for other records.
    pub(crate) fn from_tag(tag: u8) -> Option<TimesOf> {
        match tag {
            top::CPU_TIMES => Some(TimesOf::Calls),
            top::MONITOR_TIMES => Some(TimesOf::Monitors),
            top::PARK_TIMES => Some(TimesOf::Parks),
            _ => None,
        }
    }

    pub(crate) fn tag(self) -> u8 {
        match self {
            TimesOf::Calls => top::CPU_TIMES,
            TimesOf::Monitors => top::MONITOR_TIMES,
            TimesOf::Parks => top::PARK_TIMES,
        }
    }
}

/// The fixed part of the record. The times of each trace follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceTimesHead {
    /// Sum of the nanoseconds of all traces.
    pub(crate) total_ns: u64,
    /// Number of traces.
    pub(crate) traces: u32,
}

impl TraceTimesHead {
    /// Number of bytes of the fixed part.
    pub(crate) const LENGTH: u64 = 12;

    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<TraceTimesHead> {
        let what = "times";
        Ok(TraceTimesHead {
            total_ns: input.input.u8(what)?,
            traces: input.input.u4(what)?,
        })
    }

    pub(crate) fn write(&self, out: &mut RecordBuffer) {
        out.u8(self.total_ns);
        out.u4(self.traces);
    }
}

/// The time of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceTime {
    /// The time in nanoseconds.
    pub ns: u64,
    /// Number of calls, or how often the monitor or lock was contended.
    pub count: u64,
    /// Serial number of the trace.
    pub trace: u32,
    /// Serial number of the class of the monitor or lock; 0 for calls.
    pub class_serial: u32,
}

impl TraceTime {
    /// Number of bytes of the time of a trace.
    pub(crate) const LENGTH: u64 = 24;

    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<TraceTime> {
        let what = "the time of a trace";
        Ok(TraceTime {
            ns: input.input.u8(what)?,
            count: input.input.u8(what)?,
            trace: input.input.u4(what)?,
            class_serial: input.input.u4(what)?,
        })
    }

    pub(crate) fn write(&self, out: &mut RecordBuffer) {
        out.u8(self.ns);
        out.u8(self.count);
        out.u4(self.trace);
        out.u4(self.class_serial);
    }
}
