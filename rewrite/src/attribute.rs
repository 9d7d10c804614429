//! Attributes of a class, field, method or `Code` (JVMS §4.7), read in place.

use crate::cp_index::CpIndex;
use crate::error::{Result, Structure};
use crate::reader::Reader;

/// One `attribute_info` (JVMS §4.7).
#[derive(Clone, Copy, Debug)]
pub struct Attribute<'a> {
    /// Index of the attribute's name, a `CONSTANT_Utf8`.
    pub name_index: CpIndex,
    /// The offset in the class file of the attribute's first byte, where its name index begins.
    pub offset: usize,
    /// The attribute's content: the bytes that follow `attribute_length`.
    pub info: &'a [u8],
}

impl<'a> Attribute<'a> {
    /// Returns a reader of [`Attribute::info`]. Errors name `structure`.
    #[inline]
    pub fn reader(&self, structure: Structure) -> Reader<'a> {
        Reader::new(self.info, self.offset + 6, structure)
    }
}

/// Reads the attribute whose first byte lies at `offset` of the class file.
#[inline]
pub(crate) fn attribute_at(
    class: &[u8],
    offset: usize,
    structure: Structure,
) -> Result<Attribute<'_>> {
    let rest = class.get(offset..).unwrap_or_default();
    read_attribute(&mut Reader::new(rest, offset, structure))
}

#[inline]
fn read_attribute<'a>(reader: &mut Reader<'a>) -> Result<Attribute<'a>> {
    let offset = reader.offset();
    let name_index = reader.cp_index()?;
    let len = reader.u4()? as usize;
    Ok(Attribute {
        name_index,
        offset,
        info: reader.take(len)?,
    })
}

/// An iterator over the attributes of a class, member or `Code`, in file order.
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    reader: Reader<'a>,
    left: u16,
}

impl<'a> Attributes<'a> {
    /// Returns the attributes whose `attributes_count` lies at `offset` of the class file.
    #[inline]
    pub(crate) fn at(class: &'a [u8], offset: usize, structure: Structure) -> Self {
        let rest = class.get(offset..).unwrap_or_default();
        let mut reader = Reader::new(rest, offset, structure);
        let left = reader.u2().unwrap_or(0);
        Attributes { reader, left }
    }

    /// Returns the attributes whose `attributes_count` is at the position of the reader.
    #[inline]
    pub(crate) fn new(mut reader: Reader<'a>) -> Result<Self> {
        let left = reader.u2()?;
        Ok(Attributes { reader, left })
    }

    /// Returns the number of attributes that the iterator has not returned yet.
    pub fn count_left(&self) -> u16 {
        self.left
    }

    /// Checks that no bytes follow the last attribute.
    #[inline]
    pub(crate) fn finish(&self) -> Result<()> {
        self.reader.finish()
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Result<Attribute<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let attribute = read_attribute(&mut self.reader);
        if attribute.is_err() {
            self.left = 0;
        }
        Some(attribute)
    }
}
