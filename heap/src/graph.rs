//! The objects of a dump and their references.
//!
//! Objects are numbered in the order of their identifiers. All references are in one list, in the
//! order of the dump. The references of an object follow each other in the list.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Read};

use loadhook_hprof::{Error, ErrorKind, Root};

use crate::class_names::ClassNames;
use crate::external_sort::{LONGEST_RUN, Sorter};
use crate::histogram::{Histogram, histogram_of};
use crate::object_index::{ObjectIndex, ObjectTable};
use crate::object_kind::ObjectKind;
use crate::object_records::ObjectRecords;
use crate::passes::{Result, pass};
use crate::references::{END, ReferenceReader};
use crate::store::{Column, Store};
use crate::survey::Survey;

/// The objects of a dump and their references, without the `referent` of weak, soft
/// and phantom references.
///
/// Columns that do not fit into memory are in a temporary file. If that file cannot be read, methods return empty
/// results, and [`check`](Graph::check) returns the error.
pub struct Graph {
    pub(crate) survey: Survey,
    /// The number of objects of each class.
    pub histogram: Histogram,
    index: ObjectIndex,
    /// A packed [`ObjectKind`] of each object.
    kinds: Column,
    /// Bytes of each object, divided by 8.
    sizes: Column,
    /// For each object, the position of its first reference plus 1; 0 if it has none.
    first: Column,
    /// The references of all objects in one list; [`END`] follows the references of each object.
    targets: Column,
    /// The objects that are roots, each once; without those that are left out.
    pub(crate) roots: Vec<u32>,
    /// The root record of each object in `roots`.
    root_of: HashMap<u32, Root>,
    /// For each object, a nonzero number if it is left out; see [`Graph::leave_out_profiler`].
    pub(crate) marks: Option<Column>,
    /// Number of objects that are left out.
    pub(crate) left_out: u32,
    pub(crate) is_cut_off: bool,
    /// Bytes of the dump that were read.
    pub(crate) end: u64,
    /// Memory in bytes that sorting may take.
    pub(crate) sorting: u64,
    pub(crate) store: RefCell<Store>,
    fault: RefCell<Option<io::Error>>,
}

/// Returns the part of `memory` that sorting may take.
fn sorting_share(memory: u64) -> u64 {
    (memory / 8).min(LONGEST_RUN)
}

/// Makes the survey for the first pass of a graph.
pub(crate) fn survey_of_objects(memory: u64) -> Survey {
    let sorting = sorting_share(memory);
    let store = Store::new(memory - sorting);
    Survey::of_objects(ObjectRecords::new(store, Sorter::new(sorting)))
}

impl Graph {
    /// Reads a dump in two passes. If the dump is cut off, the graph covers the part before the
    /// cut, and the error is returned with it.
    ///
    /// The graph and its dominators take about 60 bytes an object and 12 a reference. The part that
    /// exceeds `memory` goes to an unnamed file in the folder `TMPDIR`, or else in `/var/tmp`.
    /// Classes, names, roots, and up to 16 MiB of field offsets take memory in addition.
    ///
    /// # Errors
    ///
    /// Fails as [`read`](fn@loadhook_hprof::read) does, but not on a dump that is cut off. Also
    /// fails if the temporary file has no room, and if the dump changed between the passes.
    pub fn read<R: Read>(
        open: impl Fn() -> io::Result<R>,
        memory: u64,
    ) -> std::result::Result<(Graph, Option<Error>), Error> {
        let mut survey = survey_of_objects(memory);
        let (end, cut_off) = pass(&open, &mut survey)?;
        let second_pass = |_: &Survey, references: &mut ReferenceReader<'_>| {
            let (end, _) = pass(&open, references)?;
            Ok((end, ()))
        };
        let (graph, ()) = Graph::new(survey, memory, end, cut_off.is_some(), second_pass)?;
        Ok((graph, cut_off))
    }

    /// Makes a graph from a first pass, which ended at byte `end` of the dump. `second_pass` reads the references
    /// in the dump. It returns the byte at which it ended, and a result for the caller.
    pub(crate) fn new<T>(
        mut survey: Survey,
        memory: u64,
        end: u64,
        is_cut_off: bool,
        second_pass: impl FnOnce(&Survey, &mut ReferenceReader<'_>) -> Result<(u64, T)>,
    ) -> Result<(Graph, T)> {
        let failed = |error| at(error, end);
        let mut histogram = histogram_of(&survey);
        histogram.dump_bytes = end;
        let Some(objects) = survey.objects.take() else {
            unreachable!("the graph needs a survey that recorded objects")
        };
        let (table, mut store) = ObjectTable::new(&survey, objects).map_err(failed)?;
        let ObjectTable {
            index,
            kinds,
            sizes,
        } = table;
        let mut roots: Vec<u32> = Vec::new();
        let mut root_of = HashMap::new();
        let count = survey.roots.len();
        let reserved = roots.try_reserve_exact(count);
        let reserved = reserved.and_then(|()| root_of.try_reserve(count));
        reserved.map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
        for (id, root) in std::mem::take(&mut survey.roots) {
            if let Some(object) = index.number(&mut store, id).map_err(failed)? {
                roots.push(object);
                root_of.insert(object, root);
            }
        }
        let is_root = |object| root_of.contains_key(&object);
        let placed = |kind| Error { kind, at: end };
        let reader = ReferenceReader::new(&survey, &index, &mut store, is_root);
        let mut references = reader.map_err(placed)?;
        let (second_end, other) = second_pass(&survey, &mut references)?;
        if second_end != end {
            return Err(placed(ErrorKind::Changed));
        }
        references.classes(is_cut_off).map_err(placed)?;
        let ReferenceReader { first, targets, .. } = references;
        let graph = Graph {
            survey,
            histogram,
            index,
            kinds,
            sizes,
            first,
            targets,
            roots,
            root_of,
            marks: None,
            left_out: 0,
            is_cut_off,
            end,
            sorting: sorting_share(memory),
            store: RefCell::new(store),
            fault: RefCell::new(None),
        };
        Ok((graph, other))
    }

    /// Checks that no access to the temporary file has failed since the last check.
    ///
    /// # Errors
    ///
    /// Fails with the first fault since the last check: the temporary file could not be read, or had no room.
    pub fn check(&self) -> Result<()> {
        match self.fault.take() {
            Some(error) => Err(at(error, self.end)),
            None => Ok(()),
        }
    }

    /// Reads from the store. If that fails, returns the default value, and [`check`](Graph::check)
    /// returns the error.
    pub(crate) fn query<T: Default>(&self, ask: impl FnOnce(&mut Store) -> io::Result<T>) -> T {
        ask(&mut self.store.borrow_mut()).unwrap_or_else(|error| {
            self.fault.borrow_mut().get_or_insert(error);
            T::default()
        })
    }

    /// Returns whether the dump is cut off.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// Returns the number of objects.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.index.len()
    }

    /// Returns whether the dump has no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the identifier of an object.
    #[must_use]
    pub fn id(&self, object: u32) -> u64 {
        self.query(|store| self.id_in(store, object))
    }

    pub(crate) fn id_in(&self, store: &mut Store, object: u32) -> io::Result<u64> {
        self.index.id(store, object)
    }

    /// Returns the object that has an identifier; `None` if the dump has no such object.
    #[must_use]
    pub fn object(&self, id: u64) -> Option<u32> {
        self.query(|store| self.index.number(store, id))
    }

    /// Returns the root record of an object, if it is a GC root.
    #[must_use]
    pub fn root(&self, object: u32) -> Option<Root> {
        self.root_of.get(&object).copied()
    }

    /// Finds the objects of a class, given by its name in Java. The name `class java.lang.String` stands for the
    /// class objects of that name, of which each class loader may have one.
    pub fn objects_of_class(&self, class: &str) -> impl Iterator<Item = u32> {
        let (name, wants_classes) = match class.strip_prefix("class ") {
            Some(name) => (name, true),
            None => (class, false),
        };
        let mut is_it = vec![false; self.survey.classes.len()];
        let mut names = ClassNames::new(&self.survey);
        for (entry, is_it) in (0..).zip(&mut is_it).skip(1) {
            *is_it = *names.name(entry) == *name;
        }
        let java_lang_class = self.survey.java_lang_class();
        (0..self.len()).filter(move |object| {
            let class = match self.kind(*object) {
                ObjectKind::Class(class) if wants_classes => Some(class),
                ObjectKind::Class(_) => java_lang_class,
                ObjectKind::Instance(class) | ObjectKind::Array(class) => {
                    Some(class).filter(|_| !wants_classes)
                }
            };
            class.is_some_and(|class| is_it[class as usize])
        })
    }

    pub(crate) fn kind(&self, object: u32) -> ObjectKind {
        self.query(|store| self.kind_in(store, object).map(Some))
            .unwrap_or(ObjectKind::Instance(0))
    }

    #[inline]
    pub(crate) fn kind_in(&self, store: &mut Store, object: u32) -> io::Result<ObjectKind> {
        Ok(ObjectKind::unpack(store.get(&self.kinds, object as usize)?))
    }

    /// Returns the class of an object; `None` for a class object.
    pub(crate) fn class_in(&self, store: &mut Store, object: u32) -> io::Result<Option<u32>> {
        Ok(match self.kind_in(store, object)? {
            ObjectKind::Instance(class) | ObjectKind::Array(class) => Some(class),
            ObjectKind::Class(_) => None,
        })
    }

    /// Returns the name in Java of an object's class: `java.lang.String`. For a class object, returns
    /// `class java.lang.String`.
    #[must_use]
    pub fn name(&self, object: u32) -> String {
        match self.kind(object) {
            ObjectKind::Instance(class) | ObjectKind::Array(class) => self.survey.name(class),
            ObjectKind::Class(class) => format!("class {}", self.survey.name(class)),
        }
    }

    /// Returns the number of bytes that an object takes in memory.
    #[must_use]
    pub fn size(&self, object: u32) -> u64 {
        self.query(|store| self.size_in(store, object))
    }

    pub(crate) fn size_in(&self, store: &mut Store, object: u32) -> io::Result<u64> {
        Ok(u64::from(store.get(&self.sizes, object as usize)?) * 8)
    }

    /// Returns the objects to which an object refers. The object's class object is one of them, unless that class
    /// object is a root.
    #[must_use]
    pub fn references(&self, object: u32) -> Vec<u32> {
        self.query(|store| self.references_in(store, object))
    }

    pub(crate) fn references_in(&self, store: &mut Store, object: u32) -> io::Result<Vec<u32>> {
        let mut references = Vec::new();
        let mut next = self.first_in(store, object)?;
        while let Some(to) = self.reference_in(store, &mut next)? {
            references.push(to);
        }
        Ok(references)
    }

    /// Returns for each of `objects` at most `most` referrers, and the number of all its referrers.
    /// A referrer with several references to the object counts once. Referrers that are left out of
    /// the graph do not count.
    #[must_use]
    pub fn referrers(&self, objects: &[u32], most: usize) -> Vec<(Vec<u32>, u64)> {
        self.query(|store| {
            let places = store.column(self.len() as usize);
            for (place, object) in (1..).zip(objects) {
                store.set(&places, *object as usize, place)?;
            }
            let mut found: Vec<(Vec<u32>, u64)> = vec![(Vec::new(), 0); objects.len()];
            // For each object, the last object that referred to it.
            let mut last = vec![END; objects.len()];
            for from in 0..self.len() {
                if self.marks.is_some() && self.is_left_out_in(store, from)? {
                    continue;
                }
                let mut next = self.first_in(store, from)?;
                while let Some(to) = self.reference_in(store, &mut next)? {
                    let Some(place) = store.get(&places, to as usize)?.checked_sub(1) else {
                        continue;
                    };
                    let place = place as usize;
                    if std::mem::replace(&mut last[place], from) != from {
                        let (first, count) = &mut found[place];
                        *count += 1;
                        if first.len() < most {
                            first.push(from);
                        }
                    }
                }
            }
            store.free(places);
            Ok(found)
        })
    }

    /// Returns the position of an object's first reference plus 1; 0 if it has none.
    #[inline]
    pub(crate) fn first_in(&self, store: &mut Store, object: u32) -> io::Result<u32> {
        store.get(&self.first, object as usize)
    }

    /// Returns the reference at the position `next`, and advances `next`; `None` after the object's
    /// last reference.
    #[inline]
    pub(crate) fn reference_in(
        &self,
        store: &mut Store,
        next: &mut u32,
    ) -> io::Result<Option<u32>> {
        if *next == 0 {
            return Ok(None);
        }
        let to = store.get(&self.targets, *next as usize - 1)?;
        *next += 1;
        Ok((to != END).then_some(to))
    }
}

fn at(error: io::Error, at: u64) -> Error {
    let kind = ErrorKind::Io(error);
    Error { kind, at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadhook_testkit::dump::Writer;

    fn dump() -> Vec<u8> {
        let mut writer = Writer::new();
        writer.root(0x03, 0x1000, &[1, 0]);
        for number in 0..5000 {
            let id = 0x1000 + 32 * number;
            writer.pair(id, id + 32, 0x1000);
        }
        writer.finish()
    }

    #[test]
    fn a_fault_of_the_disk_is_returned_once() {
        let dump = dump();
        let (graph, _) = Graph::read(|| Ok(&dump[..]), 0).expect("the dump is readable");
        graph.check().expect("no fault has happened yet");
        graph.store.borrow_mut().lose_file();
        let ids: Vec<u64> = (0..graph.len()).map(|object| graph.id(object)).collect();
        assert!(ids.contains(&0));
        let error = graph.check().expect_err("the temporary file is unreadable");
        let text = error.to_string();
        assert!(text.contains("temporary file in "), "{text}");
        graph.check().expect("check returns an error only once");
    }

    #[test]
    fn sorting_takes_an_eighth_of_memory_up_to_a_limit() {
        let dump = dump();
        let read = |memory| {
            Graph::read(|| Ok(&dump[..]), memory)
                .expect("the dump is readable")
                .0
        };
        assert_eq!(read(1 << 20).sorting, 1 << 17);
        assert_eq!(read(1 << 30).sorting, LONGEST_RUN);
    }
}
