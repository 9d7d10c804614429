//! Finds the attributes of the code that is being rewritten, by their names.

use crate::class::ClassFile;
use crate::code::Code;
use crate::code::frames::FrameFormat;
use crate::cp_index::CpIndex;
use crate::error::ErrorKind;
use crate::options::{Options, UnknownCodeAttributes};
use crate::outcome::{Reason, Refusal};

/// First `major_version` whose `StackMapTable` the JVM reads (JVMS §4.10).
pub(super) const FIRST_WITH_FRAMES: u16 = 50;

/// The kinds of attributes of `Code` that are relocated. All of them contain bytecode offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableKind {
    LineNumbers,
    LocalVariables,
    Frames(FrameFormat),
    TypeAnnotations,
    Unknown,
}

fn kind_of(name: &[u8]) -> TableKind {
    match name {
        b"LineNumberTable" => TableKind::LineNumbers,
        b"LocalVariableTable" | b"LocalVariableTypeTable" => TableKind::LocalVariables,
        b"StackMapTable" => TableKind::Frames(FrameFormat::StackMapTable),
        b"StackMap" => TableKind::Frames(FrameFormat::StackMap),
        b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
            TableKind::TypeAnnotations
        }
        _ => TableKind::Unknown,
    }
}

/// An attribute of the code that is being rewritten, by its place in the class file.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocatedTable {
    pub(super) kind: TableKind,
    pub(super) name_index: CpIndex,
    /// Offset in the class file of the content, after `attribute_length`.
    pub(super) offset: usize,
    /// Length in bytes of the content.
    pub(super) len: usize,
}

impl LocatedTable {
    /// Returns the content of the attribute.
    pub(super) fn info<'a>(&self, class: &ClassFile<'a>) -> &'a [u8] {
        class
            .bytes()
            .get(self.offset..self.offset + self.len)
            .unwrap_or_default()
    }
}

/// Fills `tables` with the attributes of `code` that the rewritten code keeps.
///
/// # Errors
/// When an attribute is unknown and the options refuse such methods, or when the code has two
/// `StackMapTable`s and the JVM would read them.
pub(super) fn locate(
    class: &ClassFile<'_>,
    code: &Code<'_>,
    options: &Options,
    tables: &mut Vec<LocatedTable>,
) -> Result<(), Refusal> {
    tables.clear();
    let mut attributes = code.attributes();
    for read in &mut attributes {
        let attribute = read?;
        let name = class.pool().utf8(attribute.name_index)?;
        let kind = kind_of(name);
        if kind == TableKind::Unknown {
            match options.unknown_code_attributes {
                UnknownCodeAttributes::Drop => continue,
                UnknownCodeAttributes::LeaveMethod => {
                    let name = String::from_utf8_lossy(name).into_owned();
                    return Err(Reason::UnknownAttribute(name).into());
                }
            }
        }
        // The JVM accepts several attributes of a kind if it does not read that kind.
        let is_read = kind == TableKind::Frames(FrameFormat::StackMapTable)
            && class.major_version() >= FIRST_WITH_FRAMES;
        if is_read && tables.iter().any(|table| table.kind == kind) {
            return Err(ErrorKind::DuplicateAttribute("StackMapTable").into());
        }
        tables.push(LocatedTable {
            kind,
            name_index: attribute.name_index,
            offset: attribute.offset + 6,
            len: attribute.info.len(),
        });
    }
    attributes.finish()?;
    Ok(())
}
