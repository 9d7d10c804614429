//! The class `java.lang.String`: the fields that lead to its characters.

use loadhook_hprof::{Type, number};

use crate::instance_fields::instance_fields;
use crate::survey::Survey;

/// The class `java.lang.String`, and the offsets of its fields.
pub(crate) struct StringClass {
    pub(crate) class: u32,
    pub(crate) id: u64,
    id_size: usize,
    /// Offset of the field `value`, which refers to the array of the characters.
    value: usize,
    /// Offset of the field `coder` (JDK 9 and later), which tells whether a character has one byte or two.
    coder: Option<usize>,
    /// Offsets of the fields for the first character and for the number of characters. Up to JDK 6, strings could
    /// share an array.
    range: Option<[usize; 2]>,
}

/// The characters of a string.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StringValue {
    /// Identifier of the array that holds the characters.
    pub(crate) array: u64,
    /// True if a character has two bytes.
    pub(crate) is_wide: bool,
    /// First character and number of characters, for a string that has these fields.
    pub(crate) range: Option<(u32, u32)>,
}

impl StringClass {
    pub(crate) fn of(survey: &Survey) -> Option<StringClass> {
        let mut classes = 0..survey.classes.len() as u32;
        let class = classes.find(|class| survey.internal_name(*class) == b"java/lang/String")?;
        let superclasses = survey.superclasses_with_fields();
        let field = |name: &[u8], value_type: Type| {
            let mut fields = instance_fields(survey, &superclasses, class, usize::MAX);
            let is_it = |field: &u64| survey.names.get(field).is_some_and(|text| **text == *name);
            fields
                .find(|field| field.value_type == value_type && is_it(&field.name))
                .map(|field| field.offset)
        };
        Some(StringClass {
            class,
            id: survey.classes[class as usize].id,
            id_size: survey.header.id_size as usize,
            value: field(b"value", Type::Object)?,
            coder: field(b"coder", Type::Byte),
            range: field(b"offset", Type::Int)
                .zip(field(b"count", Type::Int))
                .map(<[usize; 2]>::from),
        })
    }

    /// Returns whether a string may use only a range of its array.
    pub(crate) fn has_ranges(&self) -> bool {
        self.range.is_some()
    }

    /// Returns the characters of the string that has these field values.
    pub(crate) fn value(&self, fields: &[u8]) -> Option<StringValue> {
        let value = |at: usize, size: usize| fields.get(at..at + size).map(number);
        let range = self
            .range
            .and_then(|[offset, count]| Some((value(offset, 4)? as u32, value(count, 4)? as u32)));
        Some(StringValue {
            array: value(self.value, self.id_size)?,
            is_wide: self.coder.and_then(|coder| value(coder, 1)) == Some(1),
            range,
        })
    }
}
