//! The `Code` attribute (JVMS §4.7.3): read in place, and relocated.
//!
//! One file a structure, reading and relocating side by side.

pub(crate) mod constructor;
pub(crate) mod emit;
pub mod frames;
pub mod handlers;
pub mod instructions;
pub(crate) mod layout;
pub mod line_table;
pub mod local_table;
pub(crate) mod relocation;
pub(crate) mod simulate;
pub mod type_annotations;
pub mod types;
pub(crate) mod work;

use crate::class::{Attributes, ClassFile};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::reader::Reader;

/// The offset of an instruction in the code as it was: `0..=code_length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bci(pub u16);

/// The offset of an instruction in the rewritten code. Only a
/// [`relocation::Relocation`] makes one from a [`Bci`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NewBci(pub(crate) u32);

/// The highest `code_length` (JVMS §4.7.3: less than 65,536).
pub(crate) const MAX_CODE_LENGTH: u32 = 65_535;

/// A method's `Code` attribute.
#[derive(Clone, Debug)]
pub struct Code<'a> {
    /// The depth of the operand stack, in slots.
    pub max_stack: u16,
    /// The number of local variables, in slots.
    pub max_locals: u16,
    /// The instructions.
    pub bytecode: &'a [u8],
    /// The exception table, eight bytes an entry.
    pub(crate) exception_table: &'a [u8],
    attributes: Attributes<'a>,
    /// The offset in the class file of the attribute's first byte.
    pub(crate) offset: usize,
    /// The offset in the class file behind its last byte.
    pub(crate) end: usize,
    place: Place,
}

/// `attribute_name_index` and `attribute_length`.
const ATTRIBUTE_HEADER: usize = 6;
/// From the attribute's first byte to its code: header, `max_stack`,
/// `max_locals`, `code_length`.
const BYTECODE_AT: usize = ATTRIBUTE_HEADER + 8;

impl<'a> Code<'a> {
    #[inline]
    pub(crate) fn parse(class: &ClassFile<'a>, offset: usize, place: Place) -> Result<Self> {
        let bytes = class.bytes().get(offset..).unwrap_or_default();
        let mut reader = Reader::new(bytes, offset, place);
        reader.skip(2)?;
        let len = reader.u4()? as usize;
        let mut reader = reader.sub(len, place)?;
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
            place,
        })
    }

    /// `code_length`.
    #[inline]
    pub fn len(&self) -> u16 {
        // Checked when the attribute was read.
        self.bytecode.len() as u16
    }

    /// Never: `code_length` is at least 1.
    pub fn is_empty(&self) -> bool {
        self.bytecode.is_empty()
    }

    /// The exception table, in the order in which the VM searches it.
    #[inline]
    pub fn exception_table(&self) -> handlers::ExceptionTable<'a> {
        handlers::ExceptionTable::new(self.exception_table)
    }

    /// The attributes of the code: debug tables, frames, type annotations.
    #[inline]
    pub fn attributes(&self) -> Attributes<'a> {
        self.attributes.clone()
    }

    /// The instructions, in order; ends at the first unreadable one.
    pub fn instructions(&self) -> instructions::Instructions<'a> {
        instructions::Instructions::new(self.bytecode)
    }

    /// An error at an instruction of this code.
    #[cold]
    pub(crate) fn error(&self, kind: ErrorKind, bci: usize) -> Error {
        Error::new(kind, self.offset + BYTECODE_AT + bci, self.place)
    }
}
