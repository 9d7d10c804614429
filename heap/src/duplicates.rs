//! Strings and arrays that occur more than once.
//!
//! Three passes read a dump. The first reads the classes. The second hashes the contents of arrays, and finds the
//! array of each string. The third reads the beginnings of the values that are shown.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read};
use std::sync::Arc;

use loadhook_hprof::Error;

use crate::array_hashes::{ArrayHashes, HashedArray};
use crate::class_names::ClassNames;
use crate::histogram::{Histogram, histogram_of};
use crate::object_kind::element_type;
use crate::object_sizes::ObjectSizes;
use crate::passes::pass;
use crate::previews::{ArrayPrefixes, Preview};
use crate::profiler::ProfilerObjects;
use crate::strings::{StringClass, StringValue};
use crate::survey::Survey;

/// The strings and arrays of a dump that occur more than once.
#[derive(Clone, Debug)]
pub struct Duplicates {
    /// The number of objects of each class.
    pub histogram: Histogram,
    /// Strings with equal characters. Of equal strings, one string and one array are needed; the others are
    /// wasted.
    pub strings: Waste,
    /// Arrays of one type with equal elements, without the arrays that belong to strings.
    pub arrays: Waste,
    /// Number of strings that use only a range of their array, as strings did before JDK 7. Such
    /// strings are not compared.
    pub partial_strings: u64,
    /// The values that waste most memory, the worst first.
    pub worst: Vec<Duplicate>,
}

/// Values that occur more than once, and the bytes that the surplus objects take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waste {
    /// Number of values that occur more than once.
    pub values: u64,
    /// Number of objects that have these values.
    pub objects: u64,
    /// Bytes of all but one object of each value.
    pub bytes: u64,
}

/// A value that occurs more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// `java.lang.String`, or the class of the arrays.
    pub class: Arc<str>,
    /// True if the value is a string, false if it is an array.
    pub is_string: bool,
    /// Identifier of one of the equal arrays; for a string, of an array with its characters.
    pub array: u64,
    /// Number of objects that have the value.
    pub count: u64,
    /// Bytes of one object; for a string, together with its array.
    pub bytes: u64,
    /// Bytes of all objects but one.
    pub wasted: u64,
    /// The beginning of the value.
    pub preview: Preview,
}

/// A duplicate without its preview. Rows compare in the order of the table.
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
    /// Finds the values that occur more than once, and the `top` values that waste most. `open`
    /// opens the dump, which is read in three passes. The search takes 40 bytes for each array and
    /// 8 for each string, at most `memory` bytes. With [`ProfilerObjects::LeftOutOf`], the classes
    /// come from that graph, and two passes suffice. If the dump is cut off, the result covers the
    /// part before the cut, and the error is returned with it.
    ///
    /// # Errors
    ///
    /// Fails as [`read`](fn@loadhook_hprof::read) does, but not on a dump that is cut off. Also
    /// fails at the first array or string for which the memory has no room.
    pub fn read<R: Read>(
        open: impl Fn() -> io::Result<R>,
        top: usize,
        memory: u64,
        profiler: ProfilerObjects,
    ) -> Result<(Duplicates, Option<Error>), Error> {
        if let ProfilerObjects::LeftOutOf(graph) = profiler {
            let left_out = graph.ids_left_out()?;
            let read = read_duplicates(&open, &graph.survey, &left_out, top, memory)?;
            return Ok((read.with_histogram(graph.histogram.clone()), None));
        }
        let mut survey = Survey::of_classes();
        let (dump_bytes, cut_off) = pass(&open, &mut survey)?;
        let (left_out, histogram) = profiler.find(&survey, &open)?;
        let histogram = histogram.unwrap_or_else(|| Histogram {
            dump_bytes,
            ..histogram_of(&survey)
        });
        let read = read_duplicates(&open, &survey, &left_out, top, memory)?;
        Ok((read.with_histogram(histogram), cut_off))
    }
}

/// Reads a dump whose classes are known, in two passes.
fn read_duplicates<R: Read>(
    open: &impl Fn() -> io::Result<R>,
    survey: &Survey,
    left_out: &[u64],
    top: usize,
    memory: u64,
) -> Result<FoundDuplicates, Error> {
    let string_class = StringClass::of(survey);
    let mut hashes = ArrayHashes::new(survey, left_out, string_class.as_ref(), memory);
    pass(open, &mut hashes)?;
    let groups = DuplicateGroups::new(survey, string_class.as_ref(), hashes, top);
    let mut prefixes = groups.prefixes();
    pass(open, &mut prefixes)?;
    Ok(groups.finish(&prefixes))
}

/// Duplicates without the histogram of the dump.
pub(crate) struct FoundDuplicates {
    strings: Waste,
    arrays: Waste,
    partial_strings: u64,
    worst: Vec<Duplicate>,
}

impl FoundDuplicates {
    pub(crate) fn with_histogram(self, histogram: Histogram) -> Duplicates {
        Duplicates {
            histogram,
            strings: self.strings,
            arrays: self.arrays,
            partial_strings: self.partial_strings,
            worst: self.worst,
        }
    }
}

/// Values that occur more than once, before their previews are made.
pub(crate) struct DuplicateGroups<'s> {
    survey: &'s Survey,
    string_class: Option<&'s StringClass>,
    sums: Sums,
    /// The worst rows in the order of the table.
    rows: Vec<Row>,
    partial_strings: u64,
}

impl<'s> DuplicateGroups<'s> {
    pub(crate) fn new(
        survey: &'s Survey,
        string_class: Option<&'s StringClass>,
        hashes: ArrayHashes<'_>,
        top: usize,
    ) -> DuplicateGroups<'s> {
        let (mut arrays, partial_strings) = hashes.finish();
        arrays.sort_unstable_by_key(|array| (array.hash, array.id));
        let sizes = ObjectSizes::new(survey);
        let string_bytes = string_class.map_or(0, |strings| sizes.instance(strings.class));
        let mut sums = Sums {
            top,
            ..Sums::default()
        };
        for equal in arrays.chunk_by(|a, b| a.hash == b.hash) {
            let element = element_type(equal[0].class);
            sums.add(equal, string_bytes, sizes.array(element, equal[0].length));
        }
        drop(arrays);
        let rows = std::mem::take(&mut sums.rows).into_sorted_vec();
        DuplicateGroups {
            survey,
            string_class,
            sums,
            rows: rows.into_iter().map(|Reverse(row)| row).collect(),
            partial_strings,
        }
    }

    /// Returns the arrays whose beginnings are read for previews.
    pub(crate) fn prefixes(&self) -> ArrayPrefixes<'s> {
        ArrayPrefixes::new(self.survey, self.rows.iter().map(|row| row.id.0))
    }

    pub(crate) fn finish(self, prefixes: &ArrayPrefixes<'_>) -> FoundDuplicates {
        let mut names = ClassNames::new(self.survey);
        let mut worst = Vec::new();
        for row in self.rows {
            let array = row.id.0;
            let value = StringValue {
                array,
                is_wide: row.is_wide,
                range: None,
            };
            let class = match self.string_class {
                Some(strings) if row.is_string => strings.class,
                _ => row.class,
            };
            worst.push(Duplicate {
                class: names.name(class),
                is_string: row.is_string,
                array,
                count: row.count,
                bytes: row.bytes,
                wasted: row.wasted,
                preview: if row.is_string {
                    prefixes.string(&value)
                } else {
                    prefixes.array(array)
                },
            });
        }
        FoundDuplicates {
            strings: self.sums.strings,
            arrays: self.sums.arrays,
            partial_strings: self.partial_strings,
            worst,
        }
    }
}

/// Sums over all values, and the rows of the values that waste most.
#[derive(Default)]
struct Sums {
    strings: Waste,
    arrays: Waste,
    /// The worst rows, at most `top`.
    rows: BinaryHeap<Reverse<Row>>,
    top: usize,
}

impl Sums {
    /// Adds a group of arrays with equal contents to the sums of strings and of arrays.
    fn add(&mut self, equal: &[HashedArray], string_bytes: u64, array_bytes: u64) {
        let class = equal[0].class;
        for (width, is_wide) in [false, true].into_iter().enumerate() {
            let has = |array: &&HashedArray| array.strings[width] > 0;
            let Some(first) = equal.iter().find(has) else {
                continue;
            };
            let count = equal.iter().map(|array| u64::from(array.strings[width]));
            let count: u64 = count.sum();
            let arrays = equal.iter().filter(has).count() as u64;
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
        let mut others = equal.iter().filter(|array| array.strings == [0, 0]);
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
