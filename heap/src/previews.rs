//! The beginnings of strings and arrays.

use std::collections::HashMap;

use loadhook_hprof::{ErrorKind, Type, Visitor, number};

use crate::java_values::java_value;
use crate::memory_budget::{ENTRY, SharedBudget};
use crate::strings::StringValue;
use crate::survey::Survey;

/// Maximum number of bytes of an array that a preview uses.
const PREFIX: usize = 512;

/// Estimated bytes of a preview without its text: the preview itself, and the table entries that
/// lead to it.
const PREVIEW: u64 = 4 * ENTRY;

/// The beginning of a string or of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// The characters of a string or `char[]`, or the elements of another array, separated by commas.
    pub text: String,
    /// Number of all characters (as Java counts them) or of all elements.
    pub length: u32,
    /// True if `text` has fewer than `length` characters or elements.
    pub is_cut: bool,
}

/// A visitor that reads the first bytes of the wanted arrays.
pub(crate) struct ArrayPrefixes<'s> {
    survey: &'s Survey,
    /// The wanted arrays.
    arrays: HashMap<u64, WantedArray>,
    /// The array whose contents are being read.
    open: Option<u64>,
    /// The rest of the survey's memory budget. All readers of a pass share it.
    budget: SharedBudget,
}

#[derive(Default)]
struct WantedArray {
    /// Number of previews that will be made from this array.
    times: u32,
    /// `None` until the array is found.
    prefix: Option<ArrayPrefix>,
}

struct ArrayPrefix {
    element: Type,
    length: u32,
    bytes: Vec<u8>,
}

impl<'s> ArrayPrefixes<'s> {
    /// Makes a reader of the arrays with the identifiers `ids`. An identifier occurs once for each
    /// preview of its array.
    pub(crate) fn new(survey: &'s Survey, ids: impl Iterator<Item = u64>) -> ArrayPrefixes<'s> {
        let budget = SharedBudget::new(survey.budget);
        ArrayPrefixes::within(budget, survey, ids.map(|id| (id, 1)))
    }

    /// Makes a reader of arrays, each with the number of its previews. The reader takes memory from a budget that
    /// it shares with other readers of the pass.
    pub(crate) fn within(
        budget: SharedBudget,
        survey: &'s Survey,
        ids: impl Iterator<Item = (u64, u32)>,
    ) -> ArrayPrefixes<'s> {
        let mut arrays: HashMap<u64, WantedArray> = HashMap::new();
        for (id, times) in ids {
            let array = arrays.entry(id).or_default();
            array.times = array.times.saturating_add(times);
        }
        ArrayPrefixes {
            survey,
            arrays,
            open: None,
            budget,
        }
    }

    fn begin(&mut self, id: u64, element: Type, length: u32) -> Result<(), ErrorKind> {
        self.open = None;
        if let Some(array) = self.arrays.get_mut(&id)
            && array.prefix.is_none()
        {
            let size = u64::from(element.size(self.survey.header.id_size));
            let most = (u64::from(length) * size).min(PREFIX as u64);
            // In UTF-8, a Latin-1 character takes up to two bytes, a UTF-16 unit up to three.
            let preview = PREVIEW + 2 * most;
            self.budget
                .reserve(ENTRY + most + u64::from(array.times) * preview)?;
            array.prefix = Some(ArrayPrefix {
                element,
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
        if let Some(array) = array.and_then(|array| array.prefix.as_mut()) {
            let room = PREFIX - array.bytes.len();
            array.bytes.extend(&bytes[..bytes.len().min(room)]);
            if array.bytes.len() == PREFIX {
                self.open = None;
            }
        }
    }

    fn prefix(&self, array: u64) -> Option<&ArrayPrefix> {
        self.arrays.get(&array)?.prefix.as_ref()
    }

    /// Returns the beginning of an array.
    pub(crate) fn array(&self, array: u64) -> Preview {
        let Some(array) = self.prefix(array) else {
            return Preview::default();
        };
        if array.element == Type::Char {
            return characters(&array.bytes, true, u16::from_be_bytes, array.length);
        }
        let size = array.element.size(self.survey.header.id_size) as usize;
        let elements = array.bytes.chunks_exact(size);
        let is_cut = elements.len() < array.length as usize;
        let elements: Vec<String> = elements
            .map(|bytes| java_value(array.element, number(bytes)))
            .collect();
        Preview {
            text: elements.join(", "),
            length: array.length,
            is_cut,
        }
    }

    /// Returns the beginning of a string.
    pub(crate) fn string(&self, value: &StringValue) -> Preview {
        let Some(array) = self.prefix(value.array) else {
            return Preview::default();
        };
        let is_wide = value.is_wide || array.element == Type::Char;
        let unit = if is_wide { 2 } else { 1 };
        // Numbers in a dump are big-endian, but a `byte[]` is copied as it is in the JVM's memory.
        // So UTF-16 characters in it have the byte order of the machine, which is nearly always
        // little-endian.
        let (all, order): (u32, fn([u8; 2]) -> u16) = match array.element {
            Type::Char => (array.length, u16::from_be_bytes),
            _ => (array.length / unit, u16::from_le_bytes),
        };
        let (from, length) = value.range.unwrap_or((0, all));
        let bytes = array.bytes.get(from as usize * unit as usize..);
        let bytes = bytes.unwrap_or(&[]);
        let end = bytes.len().min(length as usize * unit as usize);
        characters(&bytes[..end], is_wide, order, length)
    }
}

fn characters(bytes: &[u8], is_wide: bool, order: fn([u8; 2]) -> u16, length: u32) -> Preview {
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
    // A cut may split a surrogate pair, and half of a pair is not a character.
    if is_cut && matches!(units.last(), Some(0xd800..=0xdbff)) {
        units.pop();
    }
    Preview {
        text: String::from_utf16_lossy(&units),
        length,
        is_cut,
    }
}

impl Visitor for ArrayPrefixes<'_> {
    fn wants_contents(&self) -> bool {
        true
    }

    fn object_array(&mut self, id: u64, _: u64, length: u32) -> Result<(), ErrorKind> {
        self.begin(id, Type::Object, length)
    }

    fn elements(&mut self, ids: &[u8]) {
        self.add(ids);
    }

    fn primitive_array(&mut self, id: u64, element: Type, length: u32) -> Result<(), ErrorKind> {
        self.begin(id, element, length)
    }

    fn values(&mut self, bytes: &[u8]) {
        self.add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_budget::MemoryBudget;

    /// A hostile dump may have very many strings, or one array that very many strings share. Their
    /// previews must not take much memory.
    #[test]
    fn prefixes_and_previews_share_the_budget() {
        const MOST: u64 = 10_000;
        let mut survey = Survey::of_classes();
        survey.budget = MemoryBudget::new(MOST);
        let found = |ids: &[u64]| {
            let mut prefixes = ArrayPrefixes::new(&survey, ids.iter().copied());
            let mut found = 0;
            for id in 1..100 {
                if let Err(error) = prefixes.primitive_array(id, Type::Byte, 100_000) {
                    let is_it = matches!(error, ErrorKind::TooMany { most: MOST, .. });
                    assert!(is_it, "{error}");
                    return Err(found);
                }
                prefixes.values(&[b'a'; 1000]);
                found += prefixes.array(id).text.len().min(1);
            }
            Ok(found)
        };
        assert_eq!(found(&[]), Ok(0));
        assert_eq!(found(&[2, 4, 6, 8, 10]), Ok(5));
        assert_eq!(found(&[2, 4, 6, 8, 10, 12]), Err(5));
        assert_eq!(found(&[7; 7]), Ok(1));
        assert_eq!(found(&[7; 8]), Err(0));
    }

    /// If two readers work in the same pass, they share one memory budget.
    #[test]
    fn readers_of_a_pass_share_the_budget() {
        const MOST: u64 = 10_000;
        let survey = Survey::of_classes();
        let budget = SharedBudget::new(MemoryBudget::new(MOST));
        let reader = || {
            let ids = (1..=5).map(|id| (id, 1));
            ArrayPrefixes::within(budget.clone(), &survey, ids)
        };
        let (mut first, mut second) = (reader(), reader());
        let read =
            |reader: &mut ArrayPrefixes<'_>, id| reader.primitive_array(id, Type::Byte, 100_000);
        for id in 1..=5 {
            read(&mut first, id).expect("the budget has room");
        }
        let error = read(&mut second, 1).expect_err("the budget is used up");
        let is_it = matches!(error, ErrorKind::TooMany { most: MOST, .. });
        assert!(is_it, "{error}");
    }
}
