//! The `Code` attribute itself (JVMS §4.7.3): limits, instructions, tables.

use crate::attribute::Attributes;
use crate::code::bci::Bci;
use crate::code::{handlers, instructions};
use crate::error::{Error, ErrorKind, Result, Structure};
use crate::reader::Reader;

/// Maximum `code_length` (JVMS §4.7.3: less than 65,536).
pub(crate) const MAX_CODE_LENGTH: u32 = 65_535;

/// A method's `Code` attribute.
#[derive(Clone, Debug)]
pub struct Code<'a> {
    /// The greatest depth of the operand stack, in slots.
    pub max_stack: u16,
    /// The number of local variables, in slots.
    pub max_locals: u16,
    /// The instructions: `code_length` bytes, 1 to 65,535.
    pub bytecode: &'a [u8],
    /// The exception table, eight bytes an entry.
    exception_table: &'a [u8],
    attributes: Attributes<'a>,
    /// The offset in the class file of the attribute's first byte.
    pub(crate) offset: usize,
    /// The offset in the class file of the first byte after the attribute.
    pub(crate) end: usize,
    structure: Structure,
}

/// Length in bytes of `attribute_name_index` and `attribute_length`.
const ATTRIBUTE_HEADER: usize = 6;
/// Distance in bytes from the attribute's first byte to its code: header,
/// `max_stack`, `max_locals`, `code_length`.
const BYTECODE_AT: usize = ATTRIBUTE_HEADER + 8;

impl<'a> Code<'a> {
    /// Reads the attribute that begins at `offset` of the class file `class`.
    #[inline]
    pub(crate) fn parse(class: &'a [u8], offset: usize, structure: Structure) -> Result<Self> {
        let bytes = class.get(offset..).unwrap_or_default();
        let mut attribute = Reader::new(bytes, offset, structure);
        attribute.skip(2)?;
        let len = attribute.u4()? as usize;
        let mut reader = attribute.sub(len, structure)?;
        let max_stack = reader.u2()?;
        let max_locals = reader.u2()?;
        let code_length = reader.u4()?;
        if code_length == 0 || code_length > MAX_CODE_LENGTH {
            return Err(reader.error(ErrorKind::BadCodeLength(code_length)));
        }
        let bytecode = reader.take(code_length as usize)?;
        let entries = reader.u2()? as usize;
        let exception_table = reader.take(8 * entries)?;
        let attributes = Attributes::new(reader)?;
        Ok(Code {
            max_stack,
            max_locals,
            bytecode,
            exception_table,
            attributes,
            offset,
            end: offset + ATTRIBUTE_HEADER + len,
            structure,
        })
    }

    /// Returns `code_length`.
    #[inline]
    pub fn len(&self) -> u16 {
        // Checked when the attribute was read.
        self.bytecode.len() as u16
    }

    /// Returns false: `code_length` is at least 1.
    pub fn is_empty(&self) -> bool {
        self.bytecode.is_empty()
    }

    /// Returns the exception table, in the order in which the JVM searches it.
    #[inline]
    pub fn exception_table(&self) -> handlers::ExceptionTable<'a> {
        handlers::ExceptionTable::new(self.exception_table)
    }

    /// Returns the attributes of the code: debug tables, frames, type annotations.
    #[inline]
    pub fn attributes(&self) -> Attributes<'a> {
        self.attributes.clone()
    }

    /// Returns the instructions, in code order. The iterator ends at the first unreadable instruction, for which
    /// it returns an error.
    pub fn instructions(&self) -> instructions::Instructions<'a> {
        instructions::Instructions::new(self.bytecode)
    }

    /// Returns an error at an instruction of this code.
    #[cold]
    pub(crate) fn error(&self, kind: ErrorKind, bci: Bci) -> Error {
        Error::new(
            kind,
            self.offset + BYTECODE_AT + bci.index(),
            self.structure,
        )
    }
}
