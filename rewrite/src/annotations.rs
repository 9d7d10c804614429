//! Annotations (JVMS §4.7.16). Only their types are read; their values are skipped.

use crate::constant_pool::ConstantPool;
use crate::cp_index::CpIndex;
use crate::error::{ErrorKind, Result};
use crate::reader::Reader;

/// Maximum nesting of values that is read. Compilers do not reach it; the limit protects the stack
/// from hostile input.
const MAX_DEPTH: u32 = 64;

/// An iterator over the type descriptors of the annotations in a `RuntimeVisibleAnnotations` or
/// `RuntimeInvisibleAnnotations` attribute.
pub(crate) struct AnnotationTypes<'p, 'a> {
    pool: &'p ConstantPool<'a>,
    reader: Reader<'a>,
    left: u16,
}

impl<'p, 'a> AnnotationTypes<'p, 'a> {
    /// Reads the attribute content at the position of `reader`.
    pub(crate) fn new(pool: &'p ConstantPool<'a>, mut reader: Reader<'a>) -> Self {
        let left = reader.u2().unwrap_or(0);
        AnnotationTypes { pool, reader, left }
    }
}

impl<'a> Iterator for AnnotationTypes<'_, 'a> {
    type Item = Result<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let annotation_type =
            skip_annotation(&mut self.reader, 0).and_then(|type_index| self.pool.utf8(type_index));
        if annotation_type.is_err() {
            self.left = 0;
        }
        Some(annotation_type)
    }
}

/// Skips an `annotation` and returns its `type_index`.
pub(crate) fn skip_annotation(reader: &mut Reader<'_>, depth: u32) -> Result<CpIndex> {
    let type_index = reader.cp_index()?;
    for _ in 0..reader.u2()? {
        reader.skip(2)?;
        skip_element_value(reader, depth + 1)?;
    }
    Ok(type_index)
}

fn skip_element_value(reader: &mut Reader<'_>, depth: u32) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(reader.error(ErrorKind::AnnotationsTooDeep));
    }
    match reader.u1()? {
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b's' | b'c' => reader.skip(2),
        b'e' => reader.skip(4),
        b'@' => skip_annotation(reader, depth).map(|_| ()),
        b'[' => {
            for _ in 0..reader.u2()? {
                skip_element_value(reader, depth + 1)?;
            }
            Ok(())
        }
        other => Err(reader.error(ErrorKind::BadElementValueTag(other))),
    }
}
