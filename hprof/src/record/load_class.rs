//! The name of a class (`HPROF_LOAD_CLASS`).

use std::io::Read;

use crate::error::Result;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;

/// The name and the serial number of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadClass {
    /// Serial number of the class, by which stack frames refer to it.
    pub serial: u32,
    /// Identifier of the class object.
    pub class: u64,
    /// Identifier of the class's name, for example `java/lang/String`.
    pub name: u64,
}

impl LoadClass {
    /// Returns the number of bytes of the record.
    pub(crate) fn length(id_size: u64) -> u64 {
        8 + 2 * id_size
    }

    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<LoadClass> {
        let what = "a class's name";
        let serial = input.input.u4(what)?;
        let class = input.id(what)?;
        let _stack_trace = input.input.u4(what)?;
        let name = input.id(what)?;
        Ok(LoadClass {
            serial,
            class,
            name,
        })
    }

    pub(crate) fn write(&self, stack_trace: u32, out: &mut RecordBuffer) {
        out.u4(self.serial);
        out.id(self.class);
        out.u4(stack_trace);
        out.id(self.name);
    }
}
