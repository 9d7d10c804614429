//! What strings and arrays hold, as far as it is shown.

use std::collections::HashMap;
use std::fmt::{Debug, LowerExp};

use loadhook_hprof::{ErrorKind, Type, Visitor, number};

use crate::edges::fields;
use crate::kept::{ENTRY, Kept};
use crate::survey::Survey;

/// Bytes of an array that are kept to be shown.
const SHOWN: usize = 512;

/// What contents that are told take beside the text, about: themselves, and the entries that lead
/// to them.
const TOLD: u64 = 4 * ENTRY;

/// The beginning of what a string or an array holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Characters; of arrays of other types the elements with commas between.
    pub text: String,
    /// How many characters (as Java counts them) or elements there are in all.
    pub length: u32,
    /// Whether there are more than `text` has.
    pub is_cut: bool,
}

/// Where a `java.lang.String` has what.
pub(crate) struct StringClass {
    pub(crate) class: u32,
    pub(crate) id: u64,
    id_size: usize,
    value: usize,
    /// Since JDK 9.
    coder: Option<usize>,
    /// Of the first character and of their number, till JDK 6: strings may share
    /// an array.
    part: Option<[usize; 2]>,
}

/// Where a string's characters are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    /// The array.
    pub(crate) array: u64,
    /// Whether two bytes are a character.
    pub(crate) is_wide: bool,
    /// Its first character and how many there are, if it says so.
    pub(crate) part: Option<(u32, u32)>,
}

impl StringClass {
    pub(crate) fn of(survey: &Survey) -> Option<StringClass> {
        let mut classes = 0..survey.entries.len() as u32;
        let class = classes.find(|class| survey.internal_name(*class) == b"java/lang/String")?;
        let supers = survey.supers();
        let field = |name: &[u8], of: Type| {
            let mut fields = fields(survey, &supers, class, usize::MAX);
            let is_it = |field: &u64| survey.names.get(field).is_some_and(|text| **text == *name);
            fields
                .find(|field| field.2 == of && is_it(&field.1))
                .map(|field| field.0)
        };
        Some(StringClass {
            class,
            id: survey.entries[class as usize].id,
            id_size: survey.header.id_size as usize,
            value: field(b"value", Type::Object)?,
            coder: field(b"coder", Type::Byte),
            part: field(b"offset", Type::Int)
                .zip(field(b"count", Type::Int))
                .map(<[usize; 2]>::from),
        })
    }

    /// Of the fields of an instance.
    pub(crate) fn value(&self, fields: &[u8]) -> Option<Value> {
        let value = |at: usize, size: usize| fields.get(at..at + size).map(number);
        let part = self
            .part
            .and_then(|[offset, count]| Some((value(offset, 4)? as u32, value(count, 4)? as u32)));
        Some(Value {
            array: value(self.value, self.id_size)?,
            is_wide: self.coder.and_then(|coder| value(coder, 1)) == Some(1),
            part,
        })
    }
}

/// Takes the first bytes of some arrays.
pub(crate) struct Beginnings<'s> {
    survey: &'s Survey,
    /// What is looked for.
    arrays: HashMap<u64, Array>,
    /// The array whose contents come.
    open: Option<u64>,
    /// With what the survey keeps.
    kept: Kept,
}

#[derive(Default)]
struct Array {
    /// How often its contents are told.
    times: u32,
    /// Till it is found, nothing.
    beginning: Option<Beginning>,
}

struct Beginning {
    of: Type,
    length: u32,
    bytes: Vec<u8>,
}

impl<'s> Beginnings<'s> {
    /// Of the arrays of these ids, each as often as its contents are to be told.
    pub(crate) fn new(survey: &'s Survey, ids: impl Iterator<Item = u64>) -> Beginnings<'s> {
        let mut arrays: HashMap<u64, Array> = HashMap::new();
        for id in ids {
            arrays.entry(id).or_default().times += 1;
        }
        Beginnings {
            survey,
            arrays,
            open: None,
            kept: survey.kept,
        }
    }

    fn begin(&mut self, id: u64, of: Type, length: u32) -> Result<(), ErrorKind> {
        self.open = None;
        if let Some(array) = self.arrays.get_mut(&id)
            && array.beginning.is_none()
        {
            let size = u64::from(of.size(self.survey.header.id_size));
            let most = (u64::from(length) * size).min(SHOWN as u64);
            // A Latin-1 character may take two bytes, one of UTF-16 three.
            let told = TOLD + 2 * most;
            self.kept
                .keep(ENTRY + most + u64::from(array.times) * told)?;
            array.beginning = Some(Beginning {
                of,
                length,
                bytes: Vec::with_capacity(most as usize),
            });
            self.open = Some(id);
        }
        Ok(())
    }

    fn add(&mut self, bytes: &[u8]) {
        let Some(id) = self.open else {
            return;
        };
        let array = self.arrays.get_mut(&id);
        if let Some(array) = array.and_then(|array| array.beginning.as_mut()) {
            let room = SHOWN - array.bytes.len();
            array.bytes.extend(&bytes[..bytes.len().min(room)]);
            if array.bytes.len() == SHOWN {
                self.open = None;
            }
        }
    }

    fn of(&self, array: u64) -> Option<&Beginning> {
        self.arrays.get(&array)?.beginning.as_ref()
    }

    /// What an array holds.
    pub(crate) fn array(&self, array: u64) -> Contents {
        let Some(array) = self.of(array) else {
            return Contents::default();
        };
        if array.of == Type::Char {
            return characters(&array.bytes, true, u16::from_be_bytes, array.length);
        }
        let size = array.of.size(self.survey.header.id_size) as usize;
        let elements = array.bytes.chunks_exact(size);
        let is_cut = elements.len() < array.length as usize;
        let elements: Vec<String> = elements
            .map(|bytes| shown(array.of, number(bytes)))
            .collect();
        Contents {
            text: elements.join(", "),
            length: array.length,
            is_cut,
        }
    }

    /// What a string holds.
    pub(crate) fn string(&self, value: &Value) -> Contents {
        let Some(array) = self.of(value.array) else {
            return Contents::default();
        };
        let is_wide = value.is_wide || array.of == Type::Char;
        let unit = if is_wide { 2 } else { 1 };
        // A dump has an array's numbers in the order of the network, but bytes
        // are as the VM had them; all machines that it runs on today are
        // little-endian, but for a few.
        let (all, order): (u32, fn([u8; 2]) -> u16) = match array.of {
            Type::Char => (array.length, u16::from_be_bytes),
            _ => (array.length / unit, u16::from_le_bytes),
        };
        let (from, length) = value.part.unwrap_or((0, all));
        let bytes = array.bytes.get(from as usize * unit as usize..);
        let bytes = bytes.unwrap_or(&[]);
        let end = bytes.len().min(length as usize * unit as usize);
        characters(&bytes[..end], is_wide, order, length)
    }
}

fn characters(bytes: &[u8], is_wide: bool, order: fn([u8; 2]) -> u16, length: u32) -> Contents {
    let mut units: Vec<u16> = match is_wide {
        true => bytes
            .as_chunks()
            .0
            .iter()
            .map(|unit| order(*unit))
            .collect(),
        false => bytes.iter().copied().map(u16::from).collect(),
    };
    let is_cut = units.len() < length as usize;
    // The first half of a character says nothing.
    if is_cut && matches!(units.last(), Some(0xd800..=0xdbff)) {
        units.pop();
    }
    Contents {
        text: String::from_utf16_lossy(&units),
        length,
        is_cut,
    }
}

/// A value as Java prints it; of a reference its identifier.
pub(crate) fn shown(of: Type, bits: u64) -> String {
    match of {
        Type::Object if bits == 0 => "null".to_owned(),
        Type::Object => format!("{bits:#x}"),
        Type::Boolean => (bits != 0).to_string(),
        Type::Char => format!("'{}'", String::from_utf16_lossy(&[bits as u16])),
        Type::Float => floating(f32::from_bits(bits as u32)),
        Type::Double => floating(f64::from_bits(bits)),
        Type::Byte => (bits as i8).to_string(),
        Type::Short => (bits as i16).to_string(),
        Type::Int => (bits as i32).to_string(),
        Type::Long => (bits as i64).to_string(),
    }
}

/// The fewest digits that tell it from others, two at least; with an exponent if it
/// is very small or large (`Double.toString`, JDK 19 and later).
fn floating<T: Copy + Debug + LowerExp + Into<f64>>(value: T) -> String {
    let wide: f64 = value.into();
    if wide.is_infinite() {
        return if wide > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if wide.is_nan() || wide == 0.0 || (1e-3..1e7).contains(&wide.abs()) {
        return format!("{value:?}");
    }
    let shortest = format!("{value:e}");
    let text = match shortest.contains('.') {
        true => shortest,
        false => format!("{value:.1e}"),
    };
    text.replace('e', "E")
}

impl Visitor for Beginnings<'_> {
    fn wants_contents(&self) -> bool {
        true
    }

    fn object_array(&mut self, id: u64, _: u64, length: u32) -> Result<(), ErrorKind> {
        self.begin(id, Type::Object, length)
    }

    fn elements(&mut self, ids: &[u8]) {
        self.add(ids);
    }

    fn primitive_array(&mut self, id: u64, of: Type, length: u32) -> Result<(), ErrorKind> {
        self.begin(id, of, length)
    }

    fn values(&mut self, bytes: &[u8]) {
        self.add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hostile dumps have many strings, or one that many have.
    #[test]
    fn beginnings_and_texts_have_room_together() {
        const MOST: u64 = 10_000;
        let mut survey = Survey::new(false);
        survey.kept = Kept::new(MOST);
        let found = |ids: &[u64]| {
            let mut beginnings = Beginnings::new(&survey, ids.iter().copied());
            let mut found = 0;
            for id in 1..100 {
                if let Err(error) = beginnings.primitive_array(id, Type::Byte, 100_000) {
                    let is_it = matches!(error, ErrorKind::TooMany { most: MOST, .. });
                    assert!(is_it, "{error}");
                    return Err(found);
                }
                beginnings.values(&[b'a'; 1000]);
                found += beginnings.array(id).text.len().min(1);
            }
            Ok(found)
        };
        assert_eq!(found(&[]), Ok(0));
        assert_eq!(found(&[2, 4, 6, 8, 10]), Ok(5));
        assert_eq!(found(&[2, 4, 6, 8, 10, 12]), Err(5));
        assert_eq!(found(&[7; 7]), Ok(1));
        assert_eq!(found(&[7; 8]), Err(0));
    }

    #[test]
    fn numbers_are_written_as_java_does() {
        let doubles = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-2.5, "-2.5"),
            (0.001, "0.001"),
            (0.000_999, "9.99E-4"),
            (9_999_999.5, "9999999.5"),
            (1e7, "1.0E7"),
            (-123_456_789.0, "-1.23456789E8"),
            (1e300, "1.0E300"),
            (2e-5, "2.0E-5"),
            (f64::from_bits(1), "4.9E-324"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in doubles {
            assert_eq!(floating(value), text);
        }
        let floats = [
            (0.1_f32, "0.1"),
            (0.001, "0.001"),
            (16_777_216.0, "1.6777216E7"),
            (f32::from_bits(1), "1.4E-45"),
            (f32::MAX, "3.4028235E38"),
        ];
        for (value, text) in floats {
            assert_eq!(floating(value), text);
        }
    }
}
