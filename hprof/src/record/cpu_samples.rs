//! Samples by trace (`HPROF_CPU_SAMPLES`).

use std::io::Read;

use crate::error::Result;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;

/// The fixed part of the samples. The samples of each trace follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuSamplesHead {
    /// Number of samples of all traces.
    pub(crate) total: u32,
    /// Number of traces.
    pub(crate) traces: u32,
}

impl CpuSamplesHead {
    /// Number of bytes of the fixed part.
    pub(crate) const LENGTH: u64 = 8;

    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<CpuSamplesHead> {
        let what = "samples";
        Ok(CpuSamplesHead {
            total: input.input.u4(what)?,
            traces: input.input.u4(what)?,
        })
    }

    pub(crate) fn write(&self, out: &mut RecordBuffer) {
        out.u4(self.total);
        out.u4(self.traces);
    }
}

/// The samples of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuSample {
    /// Number of samples.
    pub count: u32,
    /// Serial number of the trace.
    pub trace: u32,
}

impl CpuSample {
    /// Number of bytes of the samples of a trace.
    pub(crate) const LENGTH: u64 = 8;

    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<CpuSample> {
        let what = "the samples of a trace";
        Ok(CpuSample {
            count: input.input.u4(what)?,
            trace: input.input.u4(what)?,
        })
    }

    pub(crate) fn write(&self, out: &mut RecordBuffer) {
        out.u4(self.count);
        out.u4(self.trace);
    }
}
