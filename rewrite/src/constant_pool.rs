//! The constant pool: read in place, and extended by appending (JVMS §4.4).

use crate::cp_index::CpIndex;
use crate::error::{Error, ErrorKind, Result, Structure};

/// `cp_info` tags (JVMS table 4.4-A).
pub mod tag {
    #![allow(missing_docs)]
    pub const UTF8: u8 = 1;
    pub const INTEGER: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const LONG: u8 = 5;
    pub const DOUBLE: u8 = 6;
    pub const CLASS: u8 = 7;
    pub const STRING: u8 = 8;
    pub const FIELDREF: u8 = 9;
    pub const METHODREF: u8 = 10;
    pub const INTERFACE_METHODREF: u8 = 11;
    pub const NAME_AND_TYPE: u8 = 12;
    pub const METHOD_HANDLE: u8 = 15;
    pub const METHOD_TYPE: u8 = 16;
    pub const DYNAMIC: u8 = 17;
    pub const INVOKE_DYNAMIC: u8 = 18;
    pub const MODULE: u8 = 19;
    pub const PACKAGE: u8 = 20;
}

/// A constant. Its indexes are those of the class file; the constants to which they refer are not resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Constant<'a> {
    /// Modified UTF-8 (JVMS §4.4.7), as written: not checked, not decoded.
    Utf8(&'a [u8]),
    Integer(i32),
    /// The bits of the number, so that NaN payloads survive.
    Float(u32),
    Long(i64),
    /// The bits of the number, so that NaN payloads survive.
    Double(u64),
    Class {
        name: CpIndex,
    },
    String {
        utf8: CpIndex,
    },
    Fieldref {
        class: CpIndex,
        name_and_type: CpIndex,
    },
    Methodref {
        class: CpIndex,
        name_and_type: CpIndex,
    },
    InterfaceMethodref {
        class: CpIndex,
        name_and_type: CpIndex,
    },
    NameAndType {
        name: CpIndex,
        descriptor: CpIndex,
    },
    MethodHandle {
        kind: u8,
        reference: CpIndex,
    },
    MethodType {
        descriptor: CpIndex,
    },
    Dynamic {
        bootstrap_method: u16,
        name_and_type: CpIndex,
    },
    InvokeDynamic {
        bootstrap_method: u16,
        name_and_type: CpIndex,
    },
    Module {
        name: CpIndex,
    },
    Package {
        name: CpIndex,
    },
}

/// The constant pool of a class file, borrowed from its bytes.
#[derive(Clone, Debug)]
pub struct ConstantPool<'a> {
    class: &'a [u8],
    /// For each index, the offset in the class file of the constant's tag; 0 for an unusable index.
    offsets: Vec<u32>,
    /// The offset in the class file of the first byte after the pool.
    end: usize,
}

/// The offset of `constant_pool_count` in a class file, after `magic` and the versions.
const POOL_COUNT: usize = 8;

impl<'a> ConstantPool<'a> {
    /// Reads the pool of the class file `class`. The bytes after the pool may be missing.
    ///
    /// # Errors
    /// When the pool is not readable.
    pub fn of_class(class: &'a [u8]) -> Result<Self> {
        Self::read(class, Vec::new())
    }

    /// Reads the pool of the class file `class`. Reuses the memory of `offsets`.
    pub(crate) fn read(class: &'a [u8], mut offsets: Vec<u32>) -> Result<Self> {
        let count = match class.get(POOL_COUNT..POOL_COUNT + 2) {
            Some(&[high, low]) => u16::from_be_bytes([high, low]),
            _ => {
                return Err(eof(class, POOL_COUNT, 2, Structure::Class));
            }
        };
        if count == 0 {
            return Err(Error::new(
                ErrorKind::BadConstantIndex(CpIndex::NONE),
                POOL_COUNT,
                Structure::Named("constant_pool_count"),
            ));
        }
        offsets.clear();
        offsets.push(0);
        let mut position = POOL_COUNT + 2;
        while offsets.len() < count as usize {
            let index = CpIndex(offsets.len() as u16);
            let Some(&tag) = class.get(position) else {
                return Err(eof(class, position, 1, Structure::Constant(index)));
            };
            offsets.push(position as u32);
            let len = match tag {
                tag::UTF8 => match class.get(position + 1..position + 3) {
                    Some(&[high, low]) => 3 + u16::from_be_bytes([high, low]) as usize,
                    _ => return Err(eof(class, position, 3, Structure::Constant(index))),
                },
                tag::INTEGER
                | tag::FLOAT
                | tag::FIELDREF
                | tag::METHODREF
                | tag::INTERFACE_METHODREF
                | tag::NAME_AND_TYPE
                | tag::DYNAMIC
                | tag::INVOKE_DYNAMIC => 5,
                tag::CLASS | tag::STRING | tag::METHOD_TYPE | tag::MODULE | tag::PACKAGE => 3,
                tag::LONG | tag::DOUBLE => {
                    // The constant takes two indexes. The second one is unusable (JVMS §4.4.5).
                    offsets.push(0);
                    9
                }
                tag::METHOD_HANDLE => 4,
                other => {
                    return Err(Error::new(
                        ErrorKind::BadConstantTag(other),
                        position,
                        Structure::Constant(index),
                    ));
                }
            };
            position += len;
        }
        let last = CpIndex((offsets.len() - 1) as u16);
        if position > class.len() {
            let missing = position - class.len();
            return Err(eof(class, class.len(), missing, Structure::Constant(last)));
        }
        if offsets.len() != count as usize {
            // The last constant is a Long or Double, so its second index is beyond the pool.
            let kind = ErrorKind::BadConstantIndex(last);
            return Err(Error::new(
                kind,
                position,
                Structure::Constant(CpIndex(last.0 - 1)),
            ));
        }
        Ok(ConstantPool {
            class,
            offsets,
            end: position,
        })
    }

    /// Returns the vector of offsets, to reuse its memory.
    pub(crate) fn into_storage(self) -> Vec<u32> {
        self.offsets
    }

    /// Returns `constant_pool_count`, which is one more than the highest index.
    #[inline]
    pub fn count(&self) -> u16 {
        // The conversion loses nothing: `read` stops at a count of 16 bits.
        self.offsets.len() as u16
    }

    /// Returns all indexes of the pool, from 1 on, including the unusable ones.
    pub fn indexes(&self) -> impl Iterator<Item = CpIndex> + use<> {
        (1..self.count()).map(CpIndex)
    }

    /// Returns the offset in the class file of the first byte after the pool.
    #[inline]
    pub fn end(&self) -> usize {
        self.end
    }

    /// Returns the class file to which the pool belongs.
    pub fn class_bytes(&self) -> &'a [u8] {
        self.class
    }

    /// Returns the constant's tag, and all bytes of the class file after the tag.
    #[inline]
    fn entry(&self, index: CpIndex) -> Result<(u8, &'a [u8])> {
        let offset = self.offsets.get(usize::from(index)).copied().unwrap_or(0) as usize;
        match self.class.get(offset..) {
            Some([tag, rest @ ..]) if offset != 0 => Ok((*tag, rest)),
            _ => Err(self.bad_index(index)),
        }
    }

    #[cold]
    fn bad_index(&self, index: CpIndex) -> Error {
        Error::new(
            ErrorKind::BadConstantIndex(index),
            self.end,
            Structure::Constant(index),
        )
    }

    #[cold]
    fn wrong(&self, index: CpIndex, expected: u8, found: u8) -> Error {
        Error::new(
            ErrorKind::WrongConstant {
                index,
                expected,
                found,
            },
            self.offsets.get(usize::from(index)).copied().unwrap_or(0) as usize,
            Structure::Constant(index),
        )
    }

    #[inline]
    fn fixed<const N: usize>(&self, index: CpIndex, expected: u8) -> Result<[u8; N]> {
        let (found, rest) = self.entry(index)?;
        match rest.first_chunk::<N>() {
            Some(bytes) if found == expected => Ok(*bytes),
            _ => Err(self.wrong(index, expected, found)),
        }
    }

    /// Returns the bytes of a `CONSTANT_Utf8`: modified UTF-8, not checked.
    ///
    /// # Errors
    /// When the constant at the index is of another kind, or there is none. The other methods that are named
    /// after a constant fail in the same way.
    #[inline]
    pub fn utf8(&self, index: CpIndex) -> Result<&'a [u8]> {
        let (found, rest) = self.entry(index)?;
        match rest {
            [high, low, text @ ..] if found == tag::UTF8 => {
                let len = u16::from_be_bytes([*high, *low]) as usize;
                text.get(..len).ok_or_else(|| self.bad_index(index))
            }
            _ => Err(self.wrong(index, tag::UTF8, found)),
        }
    }

    /// Returns the internal name of a `CONSTANT_Class`.
    #[inline]
    pub fn class_name(&self, index: CpIndex) -> Result<&'a [u8]> {
        self.utf8(CpIndex::from_be_bytes(self.fixed(index, tag::CLASS)?))
    }

    /// Returns name and descriptor of a `CONSTANT_NameAndType`.
    #[inline]
    pub fn name_and_type(&self, index: CpIndex) -> Result<(&'a [u8], &'a [u8])> {
        let [a, b, c, d] = self.fixed(index, tag::NAME_AND_TYPE)?;
        Ok((
            self.utf8(CpIndex::from_be_bytes([a, b]))?,
            self.utf8(CpIndex::from_be_bytes([c, d]))?,
        ))
    }

    /// Returns name and descriptor of a constant that refers to a `CONSTANT_NameAndType`: of a field, method,
    /// dynamic constant or dynamic call site.
    pub fn member(&self, index: CpIndex) -> Result<(&'a [u8], &'a [u8])> {
        match self.get(index)? {
            Constant::Fieldref { name_and_type, .. }
            | Constant::Methodref { name_and_type, .. }
            | Constant::InterfaceMethodref { name_and_type, .. }
            | Constant::Dynamic { name_and_type, .. }
            | Constant::InvokeDynamic { name_and_type, .. } => self.name_and_type(name_and_type),
            _ => Err(self.wrong(index, tag::METHODREF, self.entry(index)?.0)),
        }
    }

    /// Returns the constant at `index`.
    ///
    /// # Errors
    /// When the index is 0, after the end of the pool, or the second index of a `Long` or
    /// `Double`.
    pub fn get(&self, index: CpIndex) -> Result<Constant<'a>> {
        let (tag, rest) = self.entry(index)?;
        // `read` has checked that entries of fixed size lie within the class.
        let byte = |i: usize| rest.get(i).copied().unwrap_or(0);
        let u2 = |i: usize| u16::from_be_bytes([byte(i), byte(i + 1)]);
        let cp = |i: usize| CpIndex(u2(i));
        let u4 = || u32::from_be_bytes([byte(0), byte(1), byte(2), byte(3)]);
        let u8 = || (u64::from(u4()) << 32) | (u64::from(u2(4)) << 16) | u64::from(u2(6));
        Ok(match tag {
            tag::UTF8 => Constant::Utf8(self.utf8(index)?),
            tag::INTEGER => Constant::Integer(u4() as i32),
            tag::FLOAT => Constant::Float(u4()),
            tag::LONG => Constant::Long(u8() as i64),
            tag::DOUBLE => Constant::Double(u8()),
            tag::CLASS => Constant::Class { name: cp(0) },
            tag::STRING => Constant::String { utf8: cp(0) },
            tag::FIELDREF => Constant::Fieldref {
                class: cp(0),
                name_and_type: cp(2),
            },
            tag::METHODREF => Constant::Methodref {
                class: cp(0),
                name_and_type: cp(2),
            },
            tag::INTERFACE_METHODREF => Constant::InterfaceMethodref {
                class: cp(0),
                name_and_type: cp(2),
            },
            tag::NAME_AND_TYPE => Constant::NameAndType {
                name: cp(0),
                descriptor: cp(2),
            },
            tag::METHOD_HANDLE => Constant::MethodHandle {
                kind: byte(0),
                reference: cp(1),
            },
            tag::METHOD_TYPE => Constant::MethodType { descriptor: cp(0) },
            tag::DYNAMIC => Constant::Dynamic {
                bootstrap_method: u2(0),
                name_and_type: cp(2),
            },
            tag::INVOKE_DYNAMIC => Constant::InvokeDynamic {
                bootstrap_method: u2(0),
                name_and_type: cp(2),
            },
            tag::MODULE => Constant::Module { name: cp(0) },
            tag::PACKAGE => Constant::Package { name: cp(0) },
            other => {
                return Err(Error::new(
                    ErrorKind::BadConstantTag(other),
                    self.end,
                    Structure::Constant(index),
                ));
            }
        })
    }
}

#[cold]
fn eof(class: &[u8], offset: usize, needed: usize, structure: Structure) -> Error {
    // If the structure exceeds the end of the class, the error is at the end of the class.
    let missed = offset.saturating_sub(class.len());
    let (offset, needed) = (offset - missed, needed + missed);
    Error::new(
        ErrorKind::UnexpectedEof {
            needed,
            left: class.len().saturating_sub(offset),
        },
        offset,
        structure,
    )
}

/// The error for a full constant pool, which has no index left: `constant_pool_count` is at most 65,535 (JVMS
/// §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolFull;

/// Constants that are appended to an existing pool. Old constants keep their indexes, so attributes that contain
/// indexes can be copied.
#[derive(Debug, Default)]
pub(crate) struct PoolAdditions {
    bytes: Vec<u8>,
    /// `constant_pool_count`, additions included.
    count: u16,
}

/// A state of [`PoolAdditions`] that can be restored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolMark {
    len: usize,
    count: u16,
}

impl PoolAdditions {
    /// Begins additions to a pool whose `constant_pool_count` is `count`.
    pub(crate) fn reset(&mut self, count: u16) {
        self.bytes.clear();
        self.count = count;
    }

    /// Returns the appended `cp_info` structures.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the new `constant_pool_count`.
    pub(crate) fn count(&self) -> u16 {
        self.count
    }

    pub(crate) fn mark(&self) -> PoolMark {
        PoolMark {
            len: self.bytes.len(),
            count: self.count,
        }
    }

    pub(crate) fn roll_back(&mut self, mark: PoolMark) {
        self.bytes.truncate(mark.len);
        self.count = mark.count;
    }

    fn next(&mut self) -> Result<CpIndex, PoolFull> {
        let index = CpIndex(self.count);
        self.count = self.count.checked_add(1).ok_or(PoolFull)?;
        Ok(index)
    }

    fn pair(&mut self, tag: u8, a: CpIndex, b: CpIndex) -> Result<CpIndex, PoolFull> {
        let index = self.next()?;
        let ([a, b], [c, d]) = (a.to_be_bytes(), b.to_be_bytes());
        self.bytes.extend_from_slice(&[tag, a, b, c, d]);
        Ok(index)
    }

    /// Appends a `CONSTANT_Utf8`. `text` is modified UTF-8 of at most 65,535 bytes; callers must not pass longer
    /// texts.
    pub(crate) fn utf8(&mut self, text: &[u8]) -> Result<CpIndex, PoolFull> {
        let len = u16::try_from(text.len()).map_err(|_| PoolFull)?;
        let index = self.next()?;
        self.bytes.push(tag::UTF8);
        self.bytes.extend_from_slice(&len.to_be_bytes());
        self.bytes.extend_from_slice(text);
        Ok(index)
    }

    pub(crate) fn integer(&mut self, value: i32) -> Result<CpIndex, PoolFull> {
        let index = self.next()?;
        self.bytes.push(tag::INTEGER);
        self.bytes.extend_from_slice(&value.to_be_bytes());
        Ok(index)
    }

    /// Appends a `CONSTANT_Class` and its name.
    pub(crate) fn class(&mut self, name: &[u8]) -> Result<CpIndex, PoolFull> {
        let name = self.utf8(name)?;
        let index = self.next()?;
        let [a, b] = name.to_be_bytes();
        self.bytes.extend_from_slice(&[tag::CLASS, a, b]);
        Ok(index)
    }

    /// Appends a `CONSTANT_Methodref` for a method of `class`, with its `CONSTANT_NameAndType`. `descriptor` is
    /// the index of a `CONSTANT_Utf8`.
    pub(crate) fn method(
        &mut self,
        class: CpIndex,
        name: &[u8],
        descriptor: CpIndex,
    ) -> Result<CpIndex, PoolFull> {
        let name = self.utf8(name)?;
        let name_and_type = self.pair(tag::NAME_AND_TYPE, name, descriptor)?;
        self.pair(tag::METHODREF, class, name_and_type)
    }
}
