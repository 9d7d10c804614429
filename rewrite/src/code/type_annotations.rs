//! Type annotations inside `Code`: `RuntimeVisibleTypeAnnotations` and
//! `RuntimeInvisibleTypeAnnotations` (JVMS §4.7.20).

use crate::annotations::skip_annotation;
use crate::code::bci::Bci;
use crate::code::handlers::Splits;
use crate::code::local_table::relocate_range;
use crate::code::relocation::Relocation;
use crate::cp_index::CpIndex;
use crate::error::{ErrorKind, Result, Structure};
use crate::reader::Reader;

/// The place in the code whose type is annotated (JVMS §4.7.20.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A local or resource variable: `start_pc`, `length` in bytes, and slot for each range in which the variable
    /// has a value.
    LocalVariable(Vec<(Bci, u16, u16)>),
    /// An exception parameter, by the index of its entry in the exception table.
    Catch(u16),
    /// A `new`, `instanceof` or method reference at this offset.
    Offset(Bci),
    /// A cast or call at this offset, and the index of the type in the cast, or of the type argument in the call.
    TypeArgument(Bci, u8),
}

/// One annotation on a type in code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeAnnotation<'a> {
    /// `target_type` (JVMS table 4.7.20-B).
    pub target_type: u8,
    /// The place in the code where the type is used.
    pub target: Target,
    /// `type_path`: kind and argument index of each step.
    pub path: &'a [u8],
    /// Index of the annotation's type, a field descriptor in a `CONSTANT_Utf8`.
    pub type_index: CpIndex,
}

/// Reads the attribute content at the position of `reader`.
///
/// # Errors
/// When the attribute does not have the layout of JVMS §4.7.20.
pub fn entries<'a>(mut reader: Reader<'a>) -> Result<Vec<TypeAnnotation<'a>>> {
    let mut annotations = Vec::new();
    for _ in 0..reader.u2()? {
        let target_type = reader.u1()?;
        let target = match target_type {
            0x40 | 0x41 => {
                let mut ranges = Vec::new();
                for _ in 0..reader.u2()? {
                    ranges.push((Bci(reader.u2()?), reader.u2()?, reader.u2()?));
                }
                Target::LocalVariable(ranges)
            }
            0x42 => Target::Catch(reader.u2()?),
            0x43..=0x46 => Target::Offset(Bci(reader.u2()?)),
            0x47..=0x4B => Target::TypeArgument(Bci(reader.u2()?), reader.u1()?),
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

/// Appends the attribute content to `out`, with relocated offsets. Indexes into the exception table become those
/// of the table that was relocated with `splits`.
pub(crate) fn relocate(
    info: &[u8],
    relocation: &Relocation,
    splits: &Splits,
    out: &mut Vec<u8>,
) -> Result<(), ErrorKind> {
    let start = out.len();
    out.extend_from_slice(info);
    let mut patch = |at: usize, bytes: &[u8]| {
        let from = start + at;
        if let Some(target) = out.get_mut(from..from + bytes.len()) {
            target.copy_from_slice(bytes);
        }
    };
    let mut reader = Reader::new(info, 0, Structure::Named("type annotations"));
    let mut walk = || -> Result<Option<ErrorKind>> {
        for _ in 0..reader.u2()? {
            let target_type = reader.u1()?;
            match target_type {
                0x40 | 0x41 => {
                    for _ in 0..reader.u2()? {
                        let at = reader.offset();
                        let (start_pc, length) = (Bci(reader.u2()?), reader.u2()?);
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
                        Ok(position) => patch(at, &position.to_be_bytes()),
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
