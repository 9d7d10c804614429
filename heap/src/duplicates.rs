//! Strings and arrays that hold the same.
//!
//! Of each array its identifier and a hash of what it holds are kept, of each
//! string its array: 40 bytes and 8. The hash has 128 bits and a key drawn
//! anew, so that nobody can make a dump whose arrays seem equal and are not.
//! A dump is read once for its classes, once for arrays and strings, and once
//! more for the contents that are shown.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read};
use std::sync::Arc;

use siphasher::sip128::{Hasher128, SipHasher13};

use loadhook_hprof::{Error, ErrorKind, Type, Visitor};

use crate::class_names::ClassNames;
use crate::contents::{Beginnings, Contents, StringClass, Value};
use crate::histogram::{Histogram, of_survey};
use crate::passes::pass;
use crate::profiler::Profiler;
use crate::survey::Survey;

/// Bytes that are kept of an array, and of a string.
const ARRAY: u64 = size_of::<Array>() as u64;
const STRING: u64 = 8;

/// What of a dump is there more than once.
#[derive(Clone, Debug)]
pub struct Duplicates {
    /// How many objects each class has.
    pub histogram: Histogram,
    /// Strings with the same characters. What they waste are the strings but
    /// one, and the arrays that they have but one.
    pub strings: Waste,
    /// Arrays of one type with the same elements that are no string's.
    pub arrays: Waste,
    /// Strings that are parts of their arrays, as before JDK 7: they are
    /// compared with none.
    pub parts: u64,
    /// What wastes most, the worst first.
    pub worst: Vec<Duplicate>,
}

/// What could be had once and is there more often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waste {
    /// How many contents there are more than once.
    pub values: u64,
    /// How many objects have them.
    pub objects: u64,
    /// What they take beyond one of each.
    pub bytes: u64,
}

/// Objects that hold the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// `java.lang.String`, or the array's.
    pub class: Arc<str>,
    /// Whether they are strings.
    pub is_string: bool,
    /// One of the arrays; of strings that which has the characters.
    pub array: u64,
    /// How many there are.
    pub count: u64,
    /// Bytes of one, of a string with its array.
    pub bytes: u64,
    /// Bytes of all beyond one.
    pub wasted: u64,
    /// What they hold.
    pub contents: Contents,
}

struct Array {
    id: u64,
    hash: (u64, u64),
    class: u32,
    length: u32,
    /// How many strings have it: of one byte a character and of two.
    strings: [u32; 2],
}

/// One row before its contents are read; the order is that of the table.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    wasted: u64,
    id: Reverse<u64>,
    is_string: bool,
    is_wide: bool,
    class: u32,
    count: u64,
    bytes: u64,
}

impl Duplicates {
    /// Finds what is there more than once, with the `top` that waste most.
    /// `open` gives the dump from its beginning, and is asked three times.
    /// 40 bytes an array and 8 a string are kept; `memory` is how many they
    /// may be. With [`Profiler::Of`] a graph, its classes are taken and the dump is
    /// read twice. Of a dump that is cut off comes the part before, with the
    /// error.
    ///
    /// # Errors
    ///
    /// As of [`read`](fn@loadhook_hprof::read), other than that a dump is cut off; and
    /// at the array or string for which there is not enough memory.
    pub fn read<R: Read>(
        open: impl Fn() -> io::Result<R>,
        top: usize,
        memory: u64,
        profiler: Profiler,
    ) -> Result<(Duplicates, Option<Error>), Error> {
        if let Profiler::Of(graph) = profiler {
            let (left_out, _) = profiler.find(&graph.survey, &open)?;
            let find = Find {
                survey: &graph.survey,
                left_out,
                top,
                memory,
            };
            let found = find.duplicates(&open, graph.histogram.clone())?;
            return Ok((found, None));
        }
        let mut survey = Survey::new(false);
        let (dump_bytes, cut_off) = pass(&open, &mut survey)?;
        let (left_out, histogram) = profiler.find(&survey, &open)?;
        let histogram = histogram.unwrap_or_else(|| Histogram {
            dump_bytes,
            ..of_survey(&survey)
        });
        let find = Find {
            survey: &survey,
            left_out,
            top,
            memory,
        };
        Ok((find.duplicates(&open, histogram)?, cut_off))
    }
}

/// The search for duplicates in a dump whose classes are known.
struct Find<'s> {
    survey: &'s Survey,
    /// Identifiers of objects that are not looked at, in order.
    left_out: Vec<u64>,
    top: usize,
    memory: u64,
}

impl Find<'_> {
    fn duplicates<R: Read>(
        self,
        open: &impl Fn() -> io::Result<R>,
        histogram: Histogram,
    ) -> Result<Duplicates, Error> {
        let Find { survey, top, .. } = self;
        let string_class = StringClass::of(survey);
        let mut hashes = Hashes::new(&self, string_class.as_ref());
        pass(open, &mut hashes)?;
        let (mut arrays, parts) = hashes.finish();
        arrays.sort_unstable_by_key(|array| (array.hash, array.id));
        let sizes = survey.sizes();
        let string_bytes = string_class
            .as_ref()
            .map_or(0, |strings| survey.instance_size(strings.class, &sizes));
        let mut found = Found {
            top,
            ..Found::default()
        };
        for same in arrays.chunk_by(|a, b| a.hash == b.hash) {
            let class = same[0].class;
            let of = Survey::element_type(class);
            found.add(same, string_bytes, sizes.model.array(of, same[0].length));
        }
        drop(arrays);
        let mut rows = found.rows.into_vec();
        rows.sort_unstable();
        let ids = rows.iter().map(|Reverse(row)| row.id.0);
        let mut beginnings = Beginnings::new(survey, ids);
        pass(open, &mut beginnings)?;
        let mut names = ClassNames::of(survey);
        let duplicate = |Reverse(row): Reverse<Row>| {
            let array = row.id.0;
            let value = Value {
                array,
                is_wide: row.is_wide,
                part: None,
            };
            Duplicate {
                class: names.name(match &string_class {
                    Some(strings) if row.is_string => strings.class,
                    _ => row.class,
                }),
                is_string: row.is_string,
                array,
                count: row.count,
                bytes: row.bytes,
                wasted: row.wasted,
                contents: match row.is_string {
                    true => beginnings.string(&value),
                    false => beginnings.array(array),
                },
            }
        };
        let worst = rows.into_iter().map(duplicate).collect();
        Ok(Duplicates {
            histogram,
            strings: found.strings,
            arrays: found.arrays,
            parts,
            worst,
        })
    }
}

/// What was found of arrays that hold the same.
#[derive(Default)]
struct Found {
    strings: Waste,
    arrays: Waste,
    /// The worst, as many as there are to be.
    rows: BinaryHeap<Reverse<Row>>,
    top: usize,
}

impl Found {
    /// Arrays with one content: those of strings, and the others.
    fn add(&mut self, same: &[Array], string_bytes: u64, array_bytes: u64) {
        let class = same[0].class;
        for (width, is_wide) in [false, true].into_iter().enumerate() {
            let has = |array: &&Array| array.strings[width] > 0;
            let Some(first) = same.iter().find(has) else {
                continue;
            };
            let count = same.iter().map(|array| u64::from(array.strings[width]));
            let count: u64 = count.sum();
            let arrays = same.iter().filter(has).count() as u64;
            let wasted = (count - 1) * string_bytes + (arrays - 1) * array_bytes;
            let row = Row {
                wasted,
                id: Reverse(first.id),
                is_string: true,
                is_wide,
                class,
                count,
                bytes: string_bytes + array_bytes,
            };
            self.strings.see(count, wasted);
            self.see(row);
        }
        let mut others = same.iter().filter(|array| array.strings == [0, 0]);
        if let Some(first) = others.next() {
            let count = 1 + others.count() as u64;
            let wasted = (count - 1) * array_bytes;
            let row = Row {
                wasted,
                id: Reverse(first.id),
                is_string: false,
                is_wide: false,
                class,
                count,
                bytes: array_bytes,
            };
            self.arrays.see(count, wasted);
            self.see(row);
        }
    }

    fn see(&mut self, row: Row) {
        if row.count < 2 {
            return;
        }
        self.rows.push(Reverse(row));
        if self.rows.len() > self.top {
            self.rows.pop();
        }
    }
}

impl Waste {
    fn see(&mut self, count: u64, wasted: u64) {
        if count > 1 {
            self.values += 1;
            self.objects += count;
            self.bytes += wasted;
        }
    }
}

/// Takes hashes of arrays, and the arrays of strings.
struct Hashes<'s> {
    survey: &'s Survey,
    left_out: &'s [u64],
    strings: Option<&'s StringClass>,
    key: [u64; 2],
    arrays: Vec<Array>,
    /// Arrays of strings, of one byte a character and of two.
    values: [Vec<u64>; 2],
    /// Of strings that may be parts of their arrays.
    parts: Vec<(Value, (u32, u32))>,
    /// Bytes that may be kept, and that are.
    memory: u64,
    used: u64,
    /// The array whose contents come, and how many bytes are missing.
    open: Option<(Array, SipHasher13, u64)>,
}

impl<'s> Hashes<'s> {
    fn new(find: &'s Find, strings: Option<&'s StringClass>) -> Hashes<'s> {
        // What a map would be keyed with.
        let random = || RandomState::new().hash_one(0);
        Hashes {
            survey: find.survey,
            left_out: &find.left_out,
            strings,
            key: [random(), random()],
            arrays: Vec::new(),
            values: [Vec::new(), Vec::new()],
            parts: Vec::new(),
            memory: find.memory,
            used: 0,
            open: None,
        }
    }

    fn keep(&mut self, bytes: u64) -> Result<(), ErrorKind> {
        self.used += bytes;
        let most = self.memory;
        match self.used > most {
            true => Err(ErrorKind::TooMany {
                what: "bytes of hashes of arrays",
                most,
            }),
            false => Ok(()),
        }
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
        let size = Survey::element_type(class).size(self.survey.header.id_size);
        let array = Array {
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

    /// The arrays by their identifiers, with the strings that have them; and how many
    /// strings are parts of theirs.
    fn finish(mut self) -> (Vec<Array>, u64) {
        let mut arrays = self.arrays;
        arrays.sort_unstable_by_key(|array| array.id);
        arrays.dedup_by_key(|array| array.id);
        let mut parts = 0;
        for (value, part) in self.parts {
            let at = arrays.binary_search_by_key(&value.array, |array| array.id);
            match at.map(|at| (0, arrays[at].length)) {
                Ok(whole) if whole != part => parts += 1,
                _ => self.values[0].push(value.array),
            }
        }
        for (width, mut ids) in self.values.into_iter().enumerate() {
            ids.sort_unstable();
            let mut rest = arrays.iter_mut().peekable();
            for id in ids {
                while rest.next_if(|array| array.id < id).is_some() {}
                if let Some(array) = rest.peek_mut().filter(|array| array.id == id) {
                    array.strings[width] = array.strings[width].saturating_add(1);
                }
            }
        }
        (arrays, parts)
    }
}

/// Makes room for one more, by an eighth: twice as much might be more than there is.
fn grow<T>(all: &mut Vec<T>) -> Result<(), ErrorKind> {
    if all.len() < all.capacity() {
        return Ok(());
    }
    let reserved = all.try_reserve_exact((all.len() / 8).max(1 << 10));
    reserved.map_err(|_| ErrorKind::Io(io::ErrorKind::OutOfMemory.into()))
}

impl Visitor for Hashes<'_> {
    fn wants_contents(&self) -> bool {
        true
    }

    fn instance(&mut self, id: u64, class: u64, fields: &[u8]) -> Result<(), ErrorKind> {
        let strings = self.strings.filter(|strings| strings.id == class);
        let strings = strings.filter(|_| !self.is_left_out(id));
        let Some(value) = strings.and_then(|strings| strings.value(fields)) else {
            return Ok(());
        };
        match value.part {
            Some(part) => {
                self.keep(size_of::<(Value, (u32, u32))>() as u64)?;
                grow(&mut self.parts)?;
                self.parts.push((value, part));
            }
            None => {
                self.keep(STRING)?;
                let values = &mut self.values[usize::from(value.is_wide)];
                grow(values)?;
                values.push(value.array);
            }
        }
        Ok(())
    }

    fn object_array(&mut self, id: u64, class: u64, length: u32) -> Result<(), ErrorKind> {
        match self.survey.class_of(class) {
            Some(class) => self.begin(id, class, length),
            // Behind where the first reading came to an end.
            None => Ok(()),
        }
    }

    fn elements(&mut self, ids: &[u8]) {
        self.add(ids);
    }

    fn primitive_array(&mut self, id: u64, of: Type, length: u32) -> Result<(), ErrorKind> {
        self.begin(id, of as u32, length)
    }

    fn values(&mut self, bytes: &[u8]) {
        self.add(bytes);
    }
}
