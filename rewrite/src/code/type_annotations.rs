//! Type annotations inside `Code`: `RuntimeVisibleTypeAnnotations` and
//! `RuntimeInvisibleTypeAnnotations` (JVMS §4.7.20).

use crate::annotations::skip_annotation;
use crate::code::handlers::Splits;
use crate::code::local_table::relocate_range;
use crate::code::relocation::Relocation;
use crate::code::{Bci, NewBci};
use crate::error::{ErrorKind, Place, Result};
use crate::reader::Reader;

/// What an annotated type belongs to (JVMS table 4.7.20-B).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A local or resource variable: ranges of start, length and local.
    LocalVariable(Vec<(u16, u16, u16)>),
    /// An exception parameter, by its entry in the exception table.
    Catch(u16),
    /// A `new`, `instanceof` or method reference at this offset.
    Offset(u16),
    /// A cast, or a type argument of a call, at this offset, and which.
    TypeArgument(u16, u8),
}

/// One annotation on a type in code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeAnnotation<'a> {
    /// `target_type` (JVMS table 4.7.20-B).
    pub target_type: u8,
    /// What it belongs to.
    pub target: Target,
    /// `type_path`: kind and argument index of each step.
    pub path: &'a [u8],
    /// The constant-pool index of the annotation's type.
    pub type_index: u16,
}

/// Reads the attribute content that `reader` stands at.
///
/// # Errors
/// When the attribute is not laid out as JVMS §4.7.20 says.
pub fn entries<'a>(mut reader: Reader<'a>) -> Result<Vec<TypeAnnotation<'a>>> {
    let mut annotations = Vec::new();
    for _ in 0..reader.u2()? {
        let target_type = reader.u1()?;
        let target = match target_type {
            0x40 | 0x41 => {
                let mut ranges = Vec::new();
                for _ in 0..reader.u2()? {
                    ranges.push((reader.u2()?, reader.u2()?, reader.u2()?));
                }
                Target::LocalVariable(ranges)
            }
            0x42 => Target::Catch(reader.u2()?),
            0x43..=0x46 => Target::Offset(reader.u2()?),
            0x47..=0x4B => Target::TypeArgument(reader.u2()?, reader.u1()?),
            other => return Err(reader.error(ErrorKind::BadTargetType(other))),
        };
        let path_length = reader.u1()?;
        annotations.push(TypeAnnotation {
            target_type,
            target,
            path: reader.take(2 * usize::from(path_length))?,
            type_index: skip_annotation(&mut reader, 0)?,
        });
    }
    reader.finish()?;
    Ok(annotations)
}

/// Appends the attribute content to `out`, offsets relocated and indexes into
/// the exception table, which was relocated with `splits`.
pub(crate) fn relocate(
    info: &[u8],
    relocation: &Relocation,
    splits: &Splits,
    out: &mut Vec<u8>,
) -> Result<(), ErrorKind> {
    let start = out.len();
    out.extend_from_slice(info);
    let mut patch = |at: usize, bytes: &[u8]| {
        let at = start + at;
        if let Some(place) = out.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    };
    let mut reader = Reader::new(info, 0, Place::In("type annotations"));
    let mut walk = || -> Result<Option<ErrorKind>> {
        for _ in 0..reader.u2()? {
            let target_type = reader.u1()?;
            match target_type {
                0x40 | 0x41 => {
                    for _ in 0..reader.u2()? {
                        let at = reader.offset();
                        let (start_pc, length) = (reader.u2()?, reader.u2()?);
                        reader.skip(2)?;
                        match relocate_range(relocation, start_pc, length) {
                            Ok(range) => patch(at, range.as_flattened()),
                            Err(kind) => return Ok(Some(kind)),
                        }
                    }
                }
                0x42 => {
                    let at = reader.offset();
                    patch(at, &splits.first_piece(reader.u2()?).to_be_bytes());
                }
                0x43..=0x4B => {
                    let at = reader.offset();
                    match relocation.instruction(Bci(reader.u2()?)) {
                        Ok(NewBci(position)) => patch(at, &(position as u16).to_be_bytes()),
                        Err(kind) => return Ok(Some(kind)),
                    }
                    if target_type >= 0x47 {
                        reader.skip(1)?;
                    }
                }
                other => return Ok(Some(ErrorKind::BadTargetType(other))),
            }
            let path_length = reader.u1()?;
            reader.skip(2 * usize::from(path_length))?;
            skip_annotation(&mut reader, 0)?;
        }
        reader.finish()?;
        Ok(None)
    };
    match walk() {
        Ok(None) => Ok(()),
        Ok(Some(kind)) => Err(kind),
        Err(error) => Err(error.kind().clone()),
    }
}
