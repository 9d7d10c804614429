//! Which objects refer to which.
//!
//! Objects are numbered in the order of their identifiers. References lie in
//! one list, in the order of the file, of which each object has a part.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Read};

use loadhook_hprof::{Error, ErrorKind, Root};

use crate::class_names::ClassNames;
use crate::edges::{END, Edges};
use crate::histogram::{Histogram, of_survey};
use crate::index::{Index, Objects};
use crate::passes::{Result, pass};
use crate::sort::{LONGEST_RUN, Sorter};
use crate::store::{Column, Store};
use crate::survey::{Survey, What};

/// The objects of a dump and their references. The `referent` of weak, soft
/// and phantom references is none.
///
/// What memory has no room for is in a temporary file. Where that cannot be
/// read any more, methods give nothing, and [`check`](Graph::check) says so.
pub struct Graph {
    pub(crate) survey: Survey,
    /// How many objects each class has.
    pub histogram: Histogram,
    index: Index,
    whats: Column,
    sizes: Column,
    pub(crate) first: Column,
    pub(crate) targets: Column,
    /// The objects that are roots, each once; without those that are left out.
    pub(crate) roots: Vec<u32>,
    pub(crate) whys: HashMap<u32, Root>,
    /// Of each object, whether it is left out; see [`profiler`](crate::profiler).
    pub(crate) marks: Option<Column>,
    /// How many are.
    pub(crate) left_out: u32,
    pub(crate) is_cut_off: bool,
    /// Where the dump ends.
    pub(crate) end: u64,
    /// Bytes that sorting may take.
    pub(crate) sorting: u64,
    pub(crate) store: RefCell<Store>,
    fault: RefCell<Option<io::Error>>,
}

impl Graph {
    /// Reads a dump, twice from its beginning. Of one that is cut off comes
    /// the part before, with the error.
    ///
    /// The graph and its dominators take some 60 bytes an object and 12 a
    /// reference. Of these, what is beyond `memory` bytes goes to a file
    /// without a name in the folder `TMPDIR`, else `/var/tmp`. Classes, names and
    /// roots are in memory beside that, and 16 MiB at most of where in instances
    /// references are.
    ///
    /// # Errors
    ///
    /// As of [`read`](fn@loadhook_hprof::read), other than that a dump is cut off; where the
    /// temporary file has no room; and if the dump changed between the
    /// readings.
    pub fn read<R: Read>(
        open: impl Fn() -> io::Result<R>,
        memory: u64,
    ) -> std::result::Result<(Graph, Option<Error>), Error> {
        let sorting = (memory / 8).min(LONGEST_RUN);
        let mut survey = Survey::new(true);
        survey.objects = Some(crate::survey::Objects::new(
            Store::new(memory - sorting),
            Sorter::new(sorting),
        ));
        let (end, outcome) = pass(&open, &mut survey)?;
        let failed = |error| at(error, end);
        let mut histogram = of_survey(&survey);
        histogram.dump_bytes = end;
        let Some(objects) = survey.objects.take() else {
            unreachable!("put in above")
        };
        let Objects {
            mut store,
            index,
            whats,
            sizes,
        } = Objects::of(&survey, objects).map_err(failed)?;
        let mut roots: Vec<u32> = Vec::new();
        let mut whys = HashMap::new();
        let count = survey.roots.len();
        let reserved = roots.try_reserve_exact(count);
        let reserved = reserved.and_then(|()| whys.try_reserve(count));
        reserved.map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
        for (id, root) in std::mem::take(&mut survey.roots) {
            if let Some(object) = index.number(&mut store, id).map_err(failed)? {
                roots.push(object);
                whys.insert(object, root);
            }
        }
        let is_root = |object| whys.contains_key(&object);
        let placed = |kind| Error { kind, at: end };
        let mut edges = Edges::new(&survey, &index, &mut store, is_root).map_err(placed)?;
        if pass(&open, &mut edges)?.0 != end {
            return Err(placed(ErrorKind::Changed));
        }
        edges.classes(outcome.is_some()).map_err(placed)?;
        let Edges { first, targets, .. } = edges;
        let graph = Graph {
            survey,
            histogram,
            index,
            whats,
            sizes,
            first,
            targets,
            roots,
            whys,
            marks: None,
            left_out: 0,
            is_cut_off: outcome.is_some(),
            end,
            sorting,
            store: RefCell::new(store),
            fault: RefCell::new(None),
        };
        Ok((graph, outcome))
    }

    /// Whether all that methods gave is right.
    ///
    /// # Errors
    ///
    /// If the temporary file could not be read or had no room.
    pub fn check(&self) -> Result<()> {
        match self.fault.take() {
            Some(error) => Err(at(error, self.end)),
            None => Ok(()),
        }
    }

    /// What the store has to say, or nothing, and then [`check`](Graph::check) fails.
    pub(crate) fn told<T: Default>(&self, ask: impl FnOnce(&mut Store) -> io::Result<T>) -> T {
        ask(&mut self.store.borrow_mut()).unwrap_or_else(|error| {
            self.fault.borrow_mut().get_or_insert(error);
            T::default()
        })
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.index.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An object's identifier.
    #[must_use]
    pub fn id(&self, object: u32) -> u64 {
        self.told(|store| self.id_in(store, object))
    }

    pub(crate) fn id_in(&self, store: &mut Store, object: u32) -> io::Result<u64> {
        self.index.id(store, object)
    }

    /// The object of an identifier.
    #[must_use]
    pub fn object(&self, id: u64) -> Option<u32> {
        self.told(|store| self.index.number(store, id))
    }

    /// The objects of a class, by its name as Java writes it; of
    /// `class java.lang.String` the classes of that name, one for each loader
    /// that has one.
    pub fn of_class(&self, class: &str) -> impl Iterator<Item = u32> {
        let (name, of_classes) = match class.strip_prefix("class ") {
            Some(name) => (name, true),
            None => (class, false),
        };
        let mut is_it = vec![false; self.survey.entries.len()];
        let mut names = ClassNames::of(&self.survey);
        for (entry, is_it) in (0..).zip(&mut is_it).skip(1) {
            *is_it = *names.name(entry) == *name;
        }
        let of_class = self.survey.of_class();
        (0..self.len()).filter(move |object| {
            let class = match self.what(*object) {
                What::Class(class) if of_classes => Some(class),
                What::Class(_) => of_class,
                What::Instance(class) | What::Array(class) => Some(class).filter(|_| !of_classes),
            };
            class.is_some_and(|class| is_it[class as usize])
        })
    }

    pub(crate) fn what(&self, object: u32) -> What {
        self.told(|store| self.what_in(store, object).map(Some))
            .unwrap_or(What::Instance(0))
    }

    #[inline]
    pub(crate) fn what_in(&self, store: &mut Store, object: u32) -> io::Result<What> {
        Ok(crate::survey::what(
            store.get(&self.whats, object as usize)?,
        ))
    }

    /// The entry of an object's class; none of a class itself.
    pub(crate) fn class_in(&self, store: &mut Store, object: u32) -> io::Result<Option<u32>> {
        Ok(match self.what_in(store, object)? {
            What::Instance(class) | What::Array(class) => Some(class),
            What::Class(_) => None,
        })
    }

    /// What an object is, as Java writes it: `java.lang.String`, and of
    /// classes `class java.lang.String`.
    #[must_use]
    pub fn name(&self, object: u32) -> String {
        match self.what(object) {
            What::Instance(class) | What::Array(class) => self.survey.name(class),
            What::Class(class) => format!("class {}", self.survey.name(class)),
        }
    }

    /// Bytes of an object in memory.
    #[must_use]
    pub fn size(&self, object: u32) -> u64 {
        self.told(|store| self.size_in(store, object))
    }

    pub(crate) fn size_in(&self, store: &mut Store, object: u32) -> io::Result<u64> {
        Ok(u64::from(store.get(&self.sizes, object as usize)?) * 8)
    }

    /// The objects that an object refers to; its class is one, unless that is
    /// a root.
    #[must_use]
    pub fn references(&self, object: u32) -> Vec<u32> {
        self.told(|store| self.references_in(store, object))
    }

    pub(crate) fn references_in(&self, store: &mut Store, object: u32) -> io::Result<Vec<u32>> {
        let mut references = Vec::new();
        let mut next = self.first_in(store, object)?;
        while let Some(to) = self.reference_in(store, &mut next)? {
            references.push(to);
        }
        Ok(references)
    }

    /// For each of some objects, those that refer to it: at most `most`, and how many there
    /// are. An object that refers to it twice counts once, and what is left out does not.
    #[must_use]
    pub fn referrers(&self, objects: &[u32], most: usize) -> Vec<(Vec<u32>, u64)> {
        self.told(|store| {
            let places = store.column(self.len() as usize);
            for (place, object) in (1..).zip(objects) {
                store.set(&places, *object as usize, place)?;
            }
            let mut found: Vec<(Vec<u32>, u64)> = vec![(Vec::new(), 0); objects.len()];
            // The last that referred to each.
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

    /// Where an object's references begin.
    #[inline]
    pub(crate) fn first_in(&self, store: &mut Store, object: u32) -> io::Result<u32> {
        store.get(&self.first, object as usize)
    }

    /// The next reference.
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
    use crate::support::Writer;

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
    fn a_fault_of_the_disk_is_told_once() {
        let dump = dump();
        let (graph, _) = Graph::read(|| Ok(&dump[..]), 0).expect("there is room");
        graph.check().expect("nothing happened");
        graph.store.borrow_mut().lose_file();
        let ids: Vec<u64> = (0..graph.len()).map(|object| graph.id(object)).collect();
        assert!(ids.contains(&0));
        let error = graph.check().expect_err("the file is lost");
        let text = error.to_string();
        assert!(text.contains("temporary file in "), "{text}");
        graph.check().expect("it was told");
    }

    #[test]
    fn memory_that_sorting_does_not_take_is_for_pages() {
        let dump = dump();
        let read = |memory| {
            Graph::read(|| Ok(&dump[..]), memory)
                .expect("it is whole")
                .0
        };
        assert_eq!(read(1 << 20).sorting, 1 << 17);
        assert_eq!(read(1 << 30).sorting, LONGEST_RUN);
    }
}
