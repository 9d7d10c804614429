//! A frame of a stack trace (`HPROF_FRAME`).

use std::io::Read;

use crate::error::Result;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;

/// A frame of a stack trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackFrame {
    /// Identifier of the frame, by which stack traces refer to it.
    pub id: u64,
    /// Identifier of the method's name.
    pub method_name: u64,
    /// Identifier of the method's descriptor.
    pub method_descriptor: u64,
    /// Identifier of the source file's name; 0 if it is unknown.
    pub source_file: u64,
    /// Serial number of the method's class.
    pub class_serial: u32,
    /// Line in the source file. If the line is unknown, one of the constants below or another number below 1.
    pub line: i32,
}

impl StackFrame {
    /// The line of a frame whose line is unknown.
    pub const UNKNOWN_LINE: i32 = -1;
    /// The line of a frame in a compiled method. Old JVMs kept no lines of such methods.
    pub const COMPILED_METHOD: i32 = -2;
    /// The line of a native method.
    pub const NATIVE_METHOD: i32 = -3;

    /// Returns the number of bytes of the record.
    pub(crate) fn length(id_size: u64) -> u64 {
        8 + 4 * id_size
    }

    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<StackFrame> {
        let what = "a frame";
        Ok(StackFrame {
            id: input.id(what)?,
            method_name: input.id(what)?,
            method_descriptor: input.id(what)?,
            source_file: input.id(what)?,
            class_serial: input.input.u4(what)?,
            line: input.input.u4(what)?.cast_signed(),
        })
    }

    pub(crate) fn write(&self, out: &mut RecordBuffer) {
        out.id(self.id);
        out.id(self.method_name);
        out.id(self.method_descriptor);
        out.id(self.source_file);
        out.u4(self.class_serial);
        out.u4(self.line.cast_unsigned());
    }
}
