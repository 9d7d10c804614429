//! A GC root (the heap records `HPROF_GC_ROOT_…`).

use std::io::Read;

use crate::error::{Error, ErrorKind, Result};
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;

/// The reason why an object is a GC root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RootKind {
    Unknown,
    JniGlobal,
    JniLocal,
    JavaFrame,
    NativeStack,
    StickyClass,
    ThreadBlock,
    MonitorUsed,
    ThreadObject,
}

/// A GC root: an object that the JVM keeps alive even if no object refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// Identifier of the object.
    pub id: u64,
    /// The reason why the object is a root.
    pub kind: RootKind,
    /// Serial number of the thread to which the root belongs; 0 if it belongs to none.
    pub thread: u32,
    /// Index of the frame in the thread's stack, from the top. If the object is a thread, the serial number of
    /// its stack trace. `u32::MAX` if there is neither.
    pub frame: u32,
}

impl RootKind {
    fn from_tag(tag: u8) -> Option<RootKind> {
        Some(match tag {
            0xff => RootKind::Unknown,
            0x01 => RootKind::JniGlobal,
            0x02 => RootKind::JniLocal,
            0x03 => RootKind::JavaFrame,
            0x04 => RootKind::NativeStack,
            0x05 => RootKind::StickyClass,
            0x06 => RootKind::ThreadBlock,
            0x07 => RootKind::MonitorUsed,
            0x08 => RootKind::ThreadObject,
            _ => return None,
        })
    }

    fn tag(self) -> u8 {
        match self {
            RootKind::Unknown => 0xff,
            RootKind::JniGlobal => 0x01,
            RootKind::JniLocal => 0x02,
            RootKind::JavaFrame => 0x03,
            RootKind::NativeStack => 0x04,
            RootKind::StickyClass => 0x05,
            RootKind::ThreadBlock => 0x06,
            RootKind::MonitorUsed => 0x07,
            RootKind::ThreadObject => 0x08,
        }
    }

    /// Returns whether records of this kind have the serial number of a thread.
    fn has_thread(self) -> bool {
        matches!(self, RootKind::NativeStack | RootKind::ThreadBlock) || self.has_frame()
    }

    /// Returns whether records of this kind have a frame, or the serial number of a stack trace.
    fn has_frame(self) -> bool {
        matches!(
            self,
            RootKind::JniLocal | RootKind::JavaFrame | RootKind::ThreadObject
        )
    }
}

impl Root {
    /// Reads the root of the record whose tag was at byte `at`.
    pub(crate) fn read<R: Read>(tag: u8, at: u64, input: &mut RecordInput<'_, R>) -> Result<Root> {
        let what = "a root";
        let Some(kind) = RootKind::from_tag(tag) else {
            let kind = ErrorKind::UnknownRecord(tag);
            return Err(Error { kind, at });
        };
        let numbers = u64::from(kind.has_thread()) + u64::from(kind.has_frame());
        input.reserve(input.id_size as u64 + 4 * numbers, what)?;
        let id = input.id(what)?;
        if kind == RootKind::JniGlobal {
            let _address_of_reference = {
                input.reserve(input.id_size as u64, what)?;
                input.id(what)?
            };
        }
        let thread = if kind.has_thread() {
            input.input.u4(what)?
        } else {
            0
        };
        let frame = if kind.has_frame() {
            input.input.u4(what)?
        } else {
            u32::MAX
        };
        Ok(Root {
            id,
            kind,
            thread,
            frame,
        })
    }

    pub(crate) fn write(&self, out: &mut RecordBuffer) {
        out.u1(self.kind.tag());
        out.id(self.id);
        if self.kind == RootKind::JniGlobal {
            // The address of the reference is unknown.
            out.id(0);
        }
        if self.kind.has_thread() {
            out.u4(self.thread);
        }
        if self.kind.has_frame() {
            out.u4(self.frame);
        }
    }
}
