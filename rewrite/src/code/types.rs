//! Verification types (JVMS §4.10.1.2) and their form in frames (§4.7.4).

use std::collections::HashMap;

use crate::code::bci::Bci;
use crate::constant_pool::{ConstantPool, PoolAdditions, PoolFull};
use crate::cp_index::CpIndex;
use crate::error::{ErrorKind, Result};
use crate::reader::Reader;

/// The tags of `verification_type_info` (JVMS §4.7.4).
pub(crate) mod tag {
    pub(crate) const TOP: u8 = 0;
    pub(crate) const INTEGER: u8 = 1;
    pub(crate) const FLOAT: u8 = 2;
    pub(crate) const DOUBLE: u8 = 3;
    pub(crate) const LONG: u8 = 4;
    pub(crate) const NULL: u8 = 5;
    pub(crate) const UNINITIALIZED_THIS: u8 = 6;
    pub(crate) const OBJECT: u8 = 7;
    pub(crate) const UNINITIALIZED: u8 = 8;
}

/// A class or array type. Making one allocates nothing.
#[derive(Clone, Copy, Debug, Eq)]
pub struct ClassRef<'a> {
    /// The `CONSTANT_Class` from which the type was read, or `None`.
    pub index: Option<CpIndex>,
    /// An internal name, or an array descriptor, in modified UTF-8.
    pub name: &'a [u8],
    /// The number of array dimensions to add to `name`.
    pub dimensions: u8,
}

impl PartialEq for ClassRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.dimensions == other.dimensions && self.name == other.name
    }
}

/// The type of a local variable or operand-stack slot. After a `long` or `double`, the second slot is
/// [`VerificationType::Top`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerificationType<'a> {
    /// A slot that holds nothing usable.
    Top,
    /// `int` and everything narrower.
    Integer,
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// `long`.
    Long,
    /// The type of `null`.
    Null,
    /// `this` in a constructor before `this(…)` or `super(…)` was called.
    UninitializedThis,
    /// An object or array.
    Object(ClassRef<'a>),
    /// An object made by the `new` at this offset, before its constructor ran.
    Uninitialized(Bci),
    /// The value that `jsr` pushes: a return address into a caller of the
    /// subroutine at this offset. It never occurs in a frame.
    ReturnAddress(Bci),
}

use VerificationType as V;

impl<'a> VerificationType<'a> {
    /// Returns the type of a value of this field type (JVMS §4.3.2); `None` if `field_type` is malformed.
    pub(crate) fn of_field_type(field_type: &'a [u8]) -> Option<Self> {
        Some(match field_type {
            [b'B' | b'C' | b'I' | b'S' | b'Z'] => V::Integer,
            b"F" => V::Float,
            b"D" => V::Double,
            b"J" => V::Long,
            [b'L', name @ .., b';'] => V::object(None, name),
            [b'[', ..] => V::object(None, field_type),
            _ => return None,
        })
    }

    pub(crate) fn object(index: Option<CpIndex>, name: &'a [u8]) -> Self {
        V::Object(ClassRef {
            index,
            name,
            dimensions: 0,
        })
    }

    /// Returns the element type of this array type; `None` if this is not an array type.
    pub(crate) fn element(self) -> Option<Self> {
        match self {
            V::Null => Some(V::Null),
            V::Object(array) if array.dimensions > 0 => {
                let dimensions = array.dimensions - 1;
                Some(V::Object(ClassRef {
                    index: array.index.filter(|_| dimensions == 0),
                    dimensions,
                    ..array
                }))
            }
            V::Object(array) => V::of_field_type(array.name.strip_prefix(b"[")?),
            _ => None,
        }
    }

    /// Returns whether a value of this type takes two slots (JVMS §2.6.1).
    pub(crate) fn is_wide(self) -> bool {
        matches!(self, V::Long | V::Double)
    }

    /// Reads one `verification_type_info`.
    pub(crate) fn read(reader: &mut Reader<'a>, pool: &ConstantPool<'a>) -> Result<Self> {
        Ok(match reader.u1()? {
            tag::TOP => V::Top,
            tag::INTEGER => V::Integer,
            tag::FLOAT => V::Float,
            tag::DOUBLE => V::Double,
            tag::LONG => V::Long,
            tag::NULL => V::Null,
            tag::UNINITIALIZED_THIS => V::UninitializedThis,
            tag::OBJECT => {
                let index = reader.cp_index()?;
                V::object(Some(index), pool.class_name(index)?)
            }
            tag::UNINITIALIZED => V::Uninitialized(Bci(reader.u2()?)),
            other => return Err(reader.error(ErrorKind::BadVerificationTag(other))),
        })
    }
}

/// The `CONSTANT_Class` entries that were appended for added frames, at most one per class.
#[derive(Debug, Default)]
pub(crate) struct ClassConstants {
    added: HashMap<Vec<u8>, CpIndex>,
}

impl ClassConstants {
    /// Forgets the constants of the previous class.
    pub(crate) fn clear(&mut self) {
        self.added.clear();
    }

    /// Forgets the constants that the pool lost when it was rolled back. `count` is the pool's
    /// `constant_pool_count` after that.
    pub(crate) fn roll_back(&mut self, count: u16) {
        self.added.retain(|_, index| index.0 < count);
    }

    /// Returns the index of a `CONSTANT_Class` for `class`. If there is none yet, appends one to `pool`.
    pub(crate) fn index(
        &mut self,
        class: ClassRef<'_>,
        pool: &mut PoolAdditions,
    ) -> Result<CpIndex, PoolFull> {
        if let (Some(index), 0) = (class.index, class.dimensions) {
            return Ok(index);
        }
        let mut name = vec![b'['; usize::from(class.dimensions)];
        if class.dimensions > 0 && !class.name.starts_with(b"[") {
            name.push(b'L');
            name.extend_from_slice(class.name);
            name.push(b';');
        } else {
            name.extend_from_slice(class.name);
        }
        if let Some(&index) = self.added.get(&name) {
            return Ok(index);
        }
        let index = pool.class(&name)?;
        self.added.insert(name, index);
        Ok(index)
    }
}
