//! Hashes of the contents of arrays, and the arrays that belong to strings.
//!
//! A hash has 128 bits and a random key. Without the key, somebody could make a dump that has different arrays
//! with equal hashes.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;

use loadhook_hprof::{ErrorKind, Type, Visitor};
use siphasher::sip128::{Hasher128, SipHasher13};

use crate::object_kind::element_type;
use crate::strings::{StringClass, StringValue};
use crate::survey::Survey;

/// Memory for each array, in bytes.
const ARRAY: u64 = size_of::<HashedArray>() as u64;
/// Memory for each string, in bytes.
const STRING: u64 = 8;
/// Additional memory in bytes for each string that may use only a range of its array.
const RANGE: u64 = size_of::<(StringValue, (u32, u32))>() as u64;

/// The field `what` of the error [`ErrorKind::TooMany`] if the hashes do not fit into the memory that the caller
/// gave [`Duplicates::read`](crate::Duplicates::read) or a [`ViewRequest`](crate::ViewRequest).
pub const BYTES_OF_HASHES: &str = "bytes of hashes of arrays";

/// An array with the hash of its contents.
pub(crate) struct HashedArray {
    pub(crate) id: u64,
    /// Hash of class, length and contents.
    pub(crate) hash: (u64, u64),
    pub(crate) class: u32,
    pub(crate) length: u32,
    /// How many strings use this array: `[0]` with one byte per character, `[1]` with two.
    pub(crate) strings: [u32; 2],
}

/// A visitor that hashes arrays while a dump is read, and collects the arrays of strings.
pub(crate) struct ArrayHashes<'s> {
    survey: &'s Survey,
    /// Identifiers of objects that are left out, in order.
    left_out: &'s [u64],
    string_class: Option<&'s StringClass>,
    key: [u64; 2],
    arrays: Vec<HashedArray>,
    /// Identifiers of the arrays of strings: `[0]` for strings with one byte per character, `[1]` with two.
    string_arrays: [Vec<u64>; 2],
    /// Strings that may use only a range of their array, each with its range.
    ranges: Vec<(StringValue, (u32, u32))>,
    /// The maximum number of bytes for arrays and strings.
    memory: u64,
    /// The number of bytes that arrays and strings take so far.
    used: u64,
    /// The array whose contents are being read: its entry, its hash so far, and the number of bytes
    /// still to be read.
    open: Option<(HashedArray, SipHasher13, u64)>,
}

/// Returns the memory in bytes for the hashes of all arrays and strings of a dump.
pub(crate) fn bytes_of_hashes(survey: &Survey, string_class: Option<&StringClass>) -> u64 {
    let arrays: u64 = survey.classes.iter().map(|class| class.arrays).sum();
    let strings = string_class.map_or(0, |strings| {
        let bytes = if strings.has_ranges() { RANGE } else { STRING };
        bytes * survey.classes[strings.class as usize].instances
    });
    arrays * ARRAY + strings
}

impl<'s> ArrayHashes<'s> {
    pub(crate) fn new(
        survey: &'s Survey,
        left_out: &'s [u64],
        string_class: Option<&'s StringClass>,
        memory: u64,
    ) -> ArrayHashes<'s> {
        // The random key of a hash map.
        let random = || RandomState::new().hash_one(0);
        ArrayHashes {
            survey,
            left_out,
            string_class,
            key: [random(), random()],
            arrays: Vec::new(),
            string_arrays: [Vec::new(), Vec::new()],
            ranges: Vec::new(),
            memory,
            used: 0,
            open: None,
        }
    }

    fn keep(&mut self, bytes: u64) -> Result<(), ErrorKind> {
        self.used += bytes;
        let most = self.memory;
        if self.used > most {
            let what = BYTES_OF_HASHES;
            return Err(ErrorKind::TooMany { what, most });
        }
        Ok(())
    }

    fn is_left_out(&self, id: u64) -> bool {
        !self.left_out.is_empty() && self.left_out.binary_search(&id).is_ok()
    }

    fn begin(&mut self, id: u64, class: u32, length: u32) -> Result<(), ErrorKind> {
        self.open = None;
        if self.is_left_out(id) {
            return Ok(());
        }
        self.keep(ARRAY)?;
        grow(&mut self.arrays)?;
        let mut hasher = SipHasher13::new_with_keys(self.key[0], self.key[1]);
        hasher.write_u64(u64::from(class) << 32 | u64::from(length));
        let size = element_type(class).size(self.survey.header.id_size);
        let array = HashedArray {
            id,
            hash: (0, 0),
            class,
            length,
            strings: [0, 0],
        };
        self.open = Some((array, hasher, u64::from(length) * u64::from(size)));
        self.add(&[]);
        Ok(())
    }

    fn add(&mut self, bytes: &[u8]) {
        let Some((array, hasher, missing)) = &mut self.open else {
            return;
        };
        hasher.write(bytes);
        *missing = missing.saturating_sub(bytes.len() as u64);
        if *missing == 0 {
            array.hash = hasher.finish128().as_u64();
            self.arrays.extend(self.open.take().map(|open| open.0));
        }
    }

    /// Returns the arrays in the order of their identifiers, each with the number of strings that
    /// use it. Also returns the number of strings that use only a range of their array.
    pub(crate) fn finish(mut self) -> (Vec<HashedArray>, u64) {
        let mut arrays = self.arrays;
        arrays.sort_unstable_by_key(|array| array.id);
        arrays.dedup_by_key(|array| array.id);
        let mut partial = 0;
        for (value, range) in self.ranges {
            let at = arrays.binary_search_by_key(&value.array, |array| array.id);
            match at.map(|at| (0, arrays[at].length)) {
                Ok(whole) if whole != range => partial += 1,
                _ => self.string_arrays[0].push(value.array),
            }
        }
        for (width, mut ids) in self.string_arrays.into_iter().enumerate() {
            ids.sort_unstable();
            let mut rest = arrays.iter_mut().peekable();
            for id in ids {
                while rest.next_if(|array| array.id < id).is_some() {}
                if let Some(array) = rest.peek_mut().filter(|array| array.id == id) {
                    array.strings[width] = array.strings[width].saturating_add(1);
                }
            }
        }
        (arrays, partial)
    }
}

/// Reserves room for one more entry. A full list grows only by an eighth, because doubling it might exceed the
/// memory limit.
fn grow<T>(all: &mut Vec<T>) -> Result<(), ErrorKind> {
    if all.len() < all.capacity() {
        return Ok(());
    }
    let reserved = all.try_reserve_exact((all.len() / 8).max(1 << 10));
    reserved.map_err(|_| ErrorKind::Io(io::ErrorKind::OutOfMemory.into()))
}

impl Visitor for ArrayHashes<'_> {
    fn wants_contents(&self) -> bool {
        true
    }

    fn instance(&mut self, id: u64, class: u64, fields: &[u8]) -> Result<(), ErrorKind> {
        let string_class = self.string_class.filter(|strings| strings.id == class);
        let string_class = string_class.filter(|_| !self.is_left_out(id));
        let Some(value) = string_class.and_then(|strings| strings.value(fields)) else {
            return Ok(());
        };
        match value.range {
            Some(range) => {
                self.keep(RANGE)?;
                grow(&mut self.ranges)?;
                self.ranges.push((value, range));
            }
            None => {
                self.keep(STRING)?;
                let arrays = &mut self.string_arrays[usize::from(value.is_wide)];
                grow(arrays)?;
                arrays.push(value.array);
            }
        }
        Ok(())
    }

    fn object_array(&mut self, id: u64, class: u64, length: u32) -> Result<(), ErrorKind> {
        match self.survey.class_index(class) {
            Some(class) => self.begin(id, class, length),
            // The dump has become longer since the first pass.
            None => Ok(()),
        }
    }

    fn elements(&mut self, ids: &[u8]) {
        self.add(ids);
    }

    fn primitive_array(&mut self, id: u64, element: Type, length: u32) -> Result<(), ErrorKind> {
        self.begin(id, element as u32, length)
    }

    fn values(&mut self, bytes: &[u8]) {
        self.add(bytes);
    }
}
