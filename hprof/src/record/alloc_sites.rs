//! Allocations by class and trace (`HPROF_ALLOC_SITES`).

use std::io::Read;

use crate::error::Result;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;

/// The sums of all allocation sites, and the way in which the sites were chosen. The sites follow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AllocSites {
    /// Bits: 1 if the record has only the changes since the last record, 2 if sites are ordered by
    /// allocated instead of live bytes, 4 if a garbage collection came before the record.
    pub flags: u16,
    /// The smallest share of all bytes, from 0 to 1, of a site in the record.
    pub cutoff: f32,
    /// Bytes and objects that are alive.
    pub live: (u32, u32),
    /// Bytes and objects that were allocated.
    pub allocated: (u64, u64),
    /// Number of sites.
    pub sites: u32,
}

impl AllocSites {
    /// Number of bytes of the fixed part.
    pub(crate) const LENGTH: u64 = 34;

    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<AllocSites> {
        let input = &mut input.input;
        let what = "allocation sites";
        Ok(AllocSites {
            flags: input.u2(what)?,
            cutoff: f32::from_bits(input.u4(what)?),
            live: (input.u4(what)?, input.u4(what)?),
            allocated: (input.u8(what)?, input.u8(what)?),
            sites: input.u4(what)?,
        })
    }

    pub(crate) fn write(&self, out: &mut RecordBuffer) {
        out.u2(self.flags);
        out.u4(self.cutoff.to_bits());
        out.u4(self.live.0);
        out.u4(self.live.1);
        out.u8(self.allocated.0);
        out.u8(self.allocated.1);
        out.u4(self.sites);
    }
}

/// An allocation site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocSite {
    /// 0 for objects that are not arrays, otherwise the code of the elements' type.
    pub array: u8,
    /// Serial number of the class.
    pub class_serial: u32,
    /// Serial number of the trace.
    pub trace: u32,
    /// Bytes and objects that are alive.
    pub live: (u32, u32),
    /// Bytes and objects that were allocated.
    pub allocated: (u32, u32),
}

impl AllocSite {
    /// Number of bytes of a site.
    pub(crate) const LENGTH: u64 = 25;

    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<AllocSite> {
        let input = &mut input.input;
        let what = "an allocation site";
        Ok(AllocSite {
            array: input.u1(what)?,
            class_serial: input.u4(what)?,
            trace: input.u4(what)?,
            live: (input.u4(what)?, input.u4(what)?),
            allocated: (input.u4(what)?, input.u4(what)?),
        })
    }

    pub(crate) fn write(&self, out: &mut RecordBuffer) {
        out.u1(self.array);
        out.u4(self.class_serial);
        out.u4(self.trace);
        out.u4(self.live.0);
        out.u4(self.live.1);
        out.u4(self.allocated.0);
        out.u4(self.allocated.1);
    }
}
