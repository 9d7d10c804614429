//! Dominators and retained sizes.
//!
//! An object dominates the objects that can be reached from the roots only through it. The object and the objects
//! that it dominates are its retained set: if nothing referred to the object, the garbage collector could free
//! the whole set.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;

use loadhook_hprof::{Error, ErrorKind};

use crate::dominator_algorithm::immediate_dominators;
use crate::external_sort::{Sorted, Sorter};
use crate::graph::Graph;
use crate::object_kind::PRIMITIVES;
use crate::passes::Result;
use crate::store::{Column, Store};

/// The dominator tree of the reachable objects. In it, objects are numbered in the order of a depth-first walk
/// from the roots; 0 is the common parent of all roots.
pub struct Dominators<'g> {
    graph: &'g Graph,
    /// For each object, its number in the walk; 0 if it is unreachable.
    order: Column,
    /// For each number, its object.
    objects: Column,
    /// For each number, the number of its immediate dominator.
    above: Column,
    /// For each number, the bytes of its retained set.
    retained: Column,
    /// The index of `java.lang.Class`.
    java_lang_class: u32,
}

/// The dominator tree from the roots to the leaves: for each number its first child and its next
/// sibling.
pub(crate) struct Children {
    pub(crate) child: Column,
    pub(crate) next: Column,
}

impl Children {
    pub(crate) fn free(self, store: &mut Store) {
        store.free(self.child);
        store.free(self.next);
    }
}

impl Graph {
    /// Finds the dominators and retained sizes of all objects.
    ///
    /// # Errors
    ///
    /// Fails if the temporary file has no room or cannot be read.
    pub fn dominators(&self) -> Result<Dominators<'_>> {
        let store = &mut *self.store.borrow_mut();
        self.dominators_in(store).map_err(|error| Error {
            kind: ErrorKind::Io(error),
            at: self.end,
        })
    }

    fn dominators_in(&self, store: &mut Store) -> io::Result<Dominators<'_>> {
        let (order, objects, parents) = self.walk(store)?;
        let references = self.sorted_references(store, &order)?;
        let above = immediate_dominators(store, parents, references)?;
        let count = objects.len();
        let retained = store.column(2 * count);
        for number in 1..count {
            let object = store.get(&objects, number)?;
            let size = self.size_in(store, object)?;
            store.set64(&retained, number, size)?;
        }
        for number in (1..count).rev() {
            let of = store.get(&above, number)? as usize;
            let sum = store.get64(&retained, of)? + store.get64(&retained, number)?;
            store.set64(&retained, of, sum)?;
        }
        Ok(Dominators {
            graph: self,
            order,
            objects,
            above,
            retained,
            java_lang_class: self.survey.java_lang_class().unwrap_or(0),
        })
    }

    /// Walks depth first from the roots. Returns each object's number, each number's object, and
    /// for each number the number from which the walk reached it.
    fn walk(&self, store: &mut Store) -> io::Result<(Column, Column, Column)> {
        let order = store.column(self.len() as usize);
        let [mut objects, mut parents] = [0; 2].map(|len| store.column(len));
        store.push(&mut objects, 0)?;
        store.push(&mut parents, 0)?;
        // The walk follows the references of `from`, and `next` is the position in them. The stack
        // has a position in the references of each ancestor of `from`.
        let mut stack = store.column(0);
        for root in &self.roots {
            let (mut from, mut next) = (0, 0);
            let mut reached = Some(*root);
            loop {
                if let Some(object) = reached {
                    if self.is_left_out_in(store, object)? {
                        // The walk skips objects that are left out.
                    } else if store.get(&order, object as usize)? == 0 {
                        let number = objects.len() as u32;
                        store.set(&order, object as usize, number)?;
                        store.push(&mut objects, object)?;
                        store.push(&mut parents, from)?;
                        store.push(&mut stack, next)?;
                        (from, next) = (number, self.first_in(store, object)?);
                    }
                } else if from == 0 {
                    break;
                } else {
                    from = store.get(&parents, from as usize)?;
                    next = store.pop(&mut stack)?;
                }
                reached = self.reference_in(store, &mut next)?;
            }
        }
        store.free(stack);
        Ok((order, objects, parents))
    }

    /// Returns the references of reachable objects as records: the bitwise complement of the
    /// target, then the source. So references to the highest number come first.
    fn sorted_references(&self, store: &mut Store, order: &Column) -> io::Result<Sorted<2>> {
        let mut sorter = Sorter::new(self.sorting);
        for root in &self.roots {
            let to = store.get(order, *root as usize)?;
            sorter.push(store, [!to, 0])?;
        }
        for object in 0..self.len() {
            let from = store.get(order, object as usize)?;
            if from == 0 {
                continue;
            }
            let mut next = self.first_in(store, object)?;
            while let Some(to) = self.reference_in(store, &mut next)? {
                let to = store.get(order, to as usize)?;
                // Objects that are left out have no number.
                if to > 0 {
                    sorter.push(store, [!to, from])?;
                }
            }
        }
        sorter.finish(store)
    }
}

impl Dominators<'_> {
    /// Returns the number of reachable objects, without those that are left out.
    #[must_use]
    pub fn reachable(&self) -> u32 {
        self.objects.len() as u32 - 1
    }

    /// Returns the number of unreachable objects, without those that are left out.
    #[must_use]
    pub fn unreachable(&self) -> u64 {
        let all = self.graph.len() - self.graph.left_out;
        all.saturating_sub(self.reachable()).into()
    }

    /// Returns the retained size of an object; `None` if it is unreachable.
    #[must_use]
    pub fn retained(&self, object: u32) -> Option<u64> {
        self.graph.query(|store| {
            Ok(match store.get(&self.order, object as usize)? {
                0 => None,
                number => Some(store.get64(&self.retained, number as usize)?),
            })
        })
    }

    /// Returns the immediate dominator of an object; `None` if only roots dominate it, or if it is
    /// unreachable.
    #[must_use]
    pub fn dominator(&self, object: u32) -> Option<u32> {
        self.graph.query(|store| {
            let number = store.get(&self.order, object as usize)?;
            Ok(match store.get(&self.above, number as usize)? {
                0 => None,
                above => Some(store.get(&self.objects, above as usize)?),
            })
        })
    }

    /// Returns the objects with the largest retained sizes, the largest first, at most `most`.
    #[must_use]
    pub fn largest(&self, most: usize) -> Vec<u32> {
        self.graph.query(|store| {
            let mut largest = BinaryHeap::new();
            for number in 1..self.objects.len() as u32 {
                let retained = store.get64(&self.retained, number as usize)?;
                largest.push((Reverse(retained), number));
                if largest.len() > most {
                    largest.pop();
                }
            }
            let largest = largest.into_sorted_vec().into_iter();
            let object = |(_, number)| store.get(&self.objects, number as usize);
            largest.map(object).collect()
        })
    }

    /// Returns for each class, by its identifier, the retained size of all its objects together. An object that
    /// another object of the same class dominates does not count again.
    #[must_use]
    pub fn by_class(&self) -> HashMap<u64, u64> {
        let graph = self.graph;
        let bytes = graph.query(|store| self.by_entry(store));
        // The classes of arrays of primitive types have no identifier.
        let key = |class: usize| match graph.survey.classes[class].id {
            0 => class as u64,
            id => id,
        };
        let all = bytes.into_iter().enumerate();
        all.filter(|(_, bytes)| *bytes > 0)
            .map(|(class, bytes)| (key(class), bytes))
            .collect()
    }

    /// Runs `ask` on the store; see [`Graph::query`].
    pub(crate) fn query<T: Default>(&self, ask: impl FnOnce(&mut Store) -> io::Result<T>) -> T {
        self.graph.query(ask)
    }

    /// Returns the retained size of an object, given by its number; for 0 the bytes of all reachable objects.
    pub(crate) fn retained_by(&self, store: &mut Store, number: u32) -> io::Result<u64> {
        store.get64(&self.retained, number as usize)
    }

    pub(crate) fn object_at(&self, store: &mut Store, number: u32) -> io::Result<u32> {
        store.get(&self.objects, number as usize)
    }

    /// Returns the index of the class of an object, given by its number; for a class object, the index of
    /// `java.lang.Class`.
    pub(crate) fn class_at(&self, store: &mut Store, number: u32) -> io::Result<u32> {
        let object = self.object_at(store, number)?;
        let class = self.graph.class_in(store, object)?;
        Ok(class.unwrap_or(self.java_lang_class))
    }

    /// Returns the dominator tree from the roots to the leaves.
    pub(crate) fn children(&self, store: &mut Store) -> io::Result<Children> {
        let count = self.objects.len();
        let [child, next] = [count; 2].map(|len| store.column(len));
        for number in (1..count).rev() {
            let above = store.get(&self.above, number)? as usize;
            let beside = store.get(&child, above)?;
            store.set(&next, number, beside)?;
            store.set(&child, above, number as u32)?;
        }
        Ok(Children { child, next })
    }

    /// Returns for each class in `classes`, at most `most` of its objects: those with the largest
    /// retained sizes. Unreachable objects come last.
    #[must_use]
    pub fn largest_of_each(&self, classes: &[u64], most: usize) -> Vec<Vec<u32>> {
        let mut places: Vec<Option<usize>> = vec![None; self.graph.survey.classes.len()];
        for (place, class) in classes.iter().enumerate() {
            let entry = match usize::try_from(*class) {
                Ok(class) if class < PRIMITIVES as usize => Some(class),
                _ => self
                    .graph
                    .survey
                    .class_index(*class)
                    .map(|entry| entry as usize),
            };
            if let Some(entry) = entry {
                places[entry] = Some(place);
            }
        }
        self.query(|store| {
            let mut largest = vec![BinaryHeap::new(); classes.len()];
            for object in 0..self.graph.len() {
                let class = self
                    .graph
                    .class_in(store, object)?
                    .unwrap_or(self.java_lang_class);
                let Some(place) = places[class as usize] else {
                    continue;
                };
                if self.graph.is_left_out_in(store, object)? {
                    continue;
                }
                let retained = match store.get(&self.order, object as usize)? {
                    0 => None,
                    number => Some(self.retained_by(store, number)?),
                };
                let largest = &mut largest[place];
                largest.push((Reverse(retained), object));
                if largest.len() > most {
                    largest.pop();
                }
            }
            let sorted = largest.into_iter().map(BinaryHeap::into_sorted_vec);
            let objects = |sorted: Vec<(Reverse<Option<u64>>, u32)>| {
                sorted.into_iter().map(|(_, object)| object).collect()
            };
            Ok(sorted.map(objects).collect())
        })
    }

    fn by_entry(&self, store: &mut Store) -> io::Result<Vec<u64>> {
        let graph = self.graph;
        let class =
            |store: &mut Store, number: u32| io::Result::Ok(self.class_at(store, number)? as usize);
        let children = self.children(store)?;
        let Children { child, next } = &children;
        let mut open = vec![0_u32; graph.survey.classes.len()];
        let mut bytes = vec![0_u64; graph.survey.classes.len()];
        let mut at = store.get(child, 0)?;
        while at != 0 {
            let of = class(store, at)?;
            if open[of] == 0 {
                bytes[of] += store.get64(&self.retained, at as usize)?;
            }
            open[of] += 1;
            let below = store.get(child, at as usize)?;
            if below != 0 {
                at = below;
                continue;
            }
            // Goes up until there is a sibling.
            loop {
                open[class(store, at)?] -= 1;
                let beside = store.get(next, at as usize)?;
                if beside != 0 {
                    at = beside;
                    break;
                }
                at = store.get(&self.above, at as usize)?;
                if at == 0 {
                    break;
                }
            }
        }
        children.free(store);
        Ok(bytes)
    }

    /// Returns the shortest path from an object to a root, both included; empty for an unreachable object. The
    /// path ends at a root that is a variable of a thread only if there is no other path.
    #[must_use]
    pub fn path(&self, object: u32) -> Vec<u32> {
        match self.retained(object) {
            Some(_) => self.graph.query(|store| self.graph.path(store, object)),
            None => Vec::new(),
        }
    }
}
