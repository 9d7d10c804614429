//! Types of fields and of array elements.

use std::fmt;

/// The type of a field or of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Type {
    Object,
    Boolean,
    Char,
    Float,
    Double,
    Byte,
    Short,
    Int,
    Long,
}

impl Type {
    /// All types, in the order of their codes. `Type::ALL[t as usize]` is `t`.
    pub const ALL: [Type; 9] = [
        Type::Object,
        Type::Boolean,
        Type::Char,
        Type::Float,
        Type::Double,
        Type::Byte,
        Type::Short,
        Type::Int,
        Type::Long,
    ];

    /// Returns the type with this code in the format.
    pub(crate) fn from_code(code: u8) -> Option<Type> {
        Some(match code {
            2 => Type::Object,
            4 => Type::Boolean,
            5 => Type::Char,
            6 => Type::Float,
            7 => Type::Double,
            8 => Type::Byte,
            9 => Type::Short,
            10 => Type::Int,
            11 => Type::Long,
            _ => return None,
        })
    }

    /// Returns the code of this type in the format.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Type::Object => 2,
            Type::Boolean => 4,
            Type::Char => 5,
            Type::Float => 6,
            Type::Double => 7,
            Type::Byte => 8,
            Type::Short => 9,
            Type::Int => 10,
            Type::Long => 11,
        }
    }

    /// Returns the type for the first byte of a field descriptor (JVMS §4.3.2): a primitive type, or else a
    /// reference.
    #[must_use]
    pub fn from_descriptor(first: u8) -> Type {
        match first {
            b'Z' => Type::Boolean,
            b'C' => Type::Char,
            b'F' => Type::Float,
            b'D' => Type::Double,
            b'B' => Type::Byte,
            b'S' => Type::Short,
            b'I' => Type::Int,
            b'J' => Type::Long,
            _ => Type::Object,
        }
    }

    /// Returns the number of bytes of a value. `reference` is the number of bytes of a reference, which in a dump
    /// is the size of an identifier.
    #[must_use]
    pub fn size(self, reference: u32) -> u32 {
        match self {
            Type::Object => reference,
            Type::Boolean | Type::Byte => 1,
            Type::Char | Type::Short => 2,
            Type::Float | Type::Int => 4,
            Type::Double | Type::Long => 8,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Object => "Object",
            Type::Boolean => "boolean",
            Type::Char => "char",
            Type::Float => "float",
            Type::Double => "double",
            Type::Byte => "byte",
            Type::Short => "short",
            Type::Int => "int",
            Type::Long => "long",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Type;

    #[test]
    fn codes_and_places_of_types_agree() {
        for (place, of) in Type::ALL.into_iter().enumerate() {
            assert_eq!((of as usize, Type::from_code(of.code())), (place, Some(of)));
        }
        let known = (0..=u8::MAX).filter(|code| Type::from_code(*code).is_some());
        assert_eq!(known.count(), Type::ALL.len());
    }
}
