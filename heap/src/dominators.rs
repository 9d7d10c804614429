//! What each object keeps.
//!
//! An object dominates what is reached from the roots only through it; that
//! is what goes when it goes. The algorithm is Lengauer's and Tarjan's with
//! path compression, in O(references × log objects) whatever the graph is.
//! All is numbered in the order in which a depth-first walk comes to it; 0 is
//! above the roots.
//!
//! All columns may be on the disk. References are sorted by the object they
//! lead to, and taken in that order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;

use loadhook_hprof::{Error, ErrorKind};

use crate::graph::Graph;
use crate::passes::Result;
use crate::sort::{Sorted, Sorter};
use crate::store::{Column, Store};
use crate::survey::PRIMITIVES;
use crate::suspects::Children;

/// The dominator tree of the objects that roots keep.
pub struct Dominators<'g> {
    graph: &'g Graph,
    /// Object to its number in the walk, 0 of what no root keeps.
    order: Column,
    /// Number in the walk to object.
    objects: Column,
    /// Number to the one that dominates it.
    above: Column,
    retained: Column,
    /// The entry of `java.lang.Class`.
    of_class: u32,
}

impl Graph {
    /// Finds what each object keeps.
    ///
    /// # Errors
    ///
    /// If the temporary file has no room, or cannot be read.
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
        let above = dominators(store, parents, references)?;
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
            of_class: self.survey.of_class().unwrap_or(0),
        })
    }

    /// Walks from the roots: object to number, number to object, number to the
    /// one from which it was reached.
    fn walk(&self, store: &mut Store) -> io::Result<(Column, Column, Column)> {
        let order = store.column(self.len() as usize);
        let [mut objects, mut parents] = [0; 2].map(|len| store.column(len));
        store.push(&mut objects, 0)?;
        store.push(&mut parents, 0)?;
        // The next reference of those above `from`; they are its parents.
        let mut stack = store.column(0);
        for root in &self.roots {
            let (mut from, mut next) = (0, 0);
            let mut reached = Some(*root);
            loop {
                if let Some(object) = reached {
                    if self.is_left_out_in(store, object)? {
                        // The profiler's own.
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

    /// The references of what is kept, those to the highest number first: its
    /// complement, and the number of the one that refers to it.
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
                // 0 is left out.
                if to > 0 {
                    sorter.push(store, [!to, from])?;
                }
            }
        }
        sorter.finish(store)
    }
}

/// The immediate dominator of each.
fn dominators(
    store: &mut Store,
    mut parents: Column,
    mut references: Sorted<2>,
) -> io::Result<Column> {
    let count = parents.len();
    let forest = Forest(store.column(PARTS * count));
    let mut path = store.column(0);
    let mut reference = references.next(store)?;
    for number in (1..count as u32).rev() {
        let parent = store.pop(&mut parents)?;
        let mut least = parent;
        while let Some([_, referrer]) = reference.filter(|[to, _]| !*to == number) {
            let semi = forest.semi_of_best(store, &mut path, referrer, number)?;
            least = least.min(semi);
            reference = references.next(store)?;
        }
        forest.set(store, number, SEMI, least)?;
        let behind = forest.get(store, least, WAITING)?;
        forest.set(store, number, ABOVE, behind)?;
        forest.set(store, least, WAITING, number + 1)?;
        // From here on, `number` is linked to its parent. None waits for it:
        // those below it are done, and its first child has told them.
        forest.set(store, number, ANCESTOR, parent)?;
        forest.set(store, number, LABEL, number)?;
        let mut waiting = forest.get(store, parent, WAITING)?;
        forest.set(store, parent, WAITING, 0)?;
        while let Some(of) = waiting.checked_sub(1) {
            waiting = forest.get(store, of, ABOVE)?;
            let best = forest.best(store, &mut path, of, number - 1)?;
            let semi = forest.get(store, of, SEMI)?;
            let is_below = forest.get(store, best, SEMI)? < semi;
            forest.set(store, of, ABOVE, if is_below { best } else { parent })?;
        }
    }
    references.free(store);
    store.free(parents);
    store.free(path);
    let mut above = store.column(0);
    for number in 0..count as u32 {
        let mut by = forest.get(store, number, ABOVE)?;
        if by != forest.get(store, number, SEMI)? {
            by = store.get(&above, by as usize)?;
        }
        store.push(&mut above, by)?;
    }
    store.free(forest.0);
    Ok(above)
}

/// What is linked so far: all numbers above one. What there is of a number lies
/// side by side, since it is asked for together.
struct Forest(Column);

/// The parent, or one further up on the compressed path.
const ANCESTOR: usize = 0;
/// The one of the least semidominator on the compressed path.
const LABEL: usize = 1;
/// As long as a number is not linked it has no label; the first of those that
/// wait for it, plus 1, takes its place.
const WAITING: usize = LABEL;
const SEMI: usize = 2;
/// The dominator. While a number waits for its dominator, the one that waits
/// behind it, plus 1.
const ABOVE: usize = 3;
const PARTS: usize = 4;

impl Forest {
    #[inline(always)]
    fn get(&self, store: &mut Store, number: u32, part: usize) -> io::Result<u32> {
        store.get(&self.0, PARTS * number as usize + part)
    }

    #[inline(always)]
    fn set(&self, store: &mut Store, number: u32, part: usize, value: u32) -> io::Result<()> {
        store.set(&self.0, PARTS * number as usize + part, value)
    }

    /// The one of the least semidominator between `number` and the root of
    /// its tree, that excluded; numbers above `limit` are linked.
    #[inline]
    fn best(
        &self,
        store: &mut Store,
        path: &mut Column,
        number: u32,
        limit: u32,
    ) -> io::Result<u32> {
        if number <= limit {
            return Ok(number);
        }
        if self.get(store, number, ANCESTOR)? > limit {
            self.compress(store, path, number, limit)?;
        }
        self.get(store, number, LABEL)
    }

    /// Its semidominator; of what is not linked, itself.
    #[inline]
    fn semi_of_best(
        &self,
        store: &mut Store,
        path: &mut Column,
        number: u32,
        limit: u32,
    ) -> io::Result<u32> {
        if number <= limit {
            return Ok(number);
        }
        let best = self.best(store, path, number, limit)?;
        self.get(store, best, SEMI)
    }

    fn compress(
        &self,
        store: &mut Store,
        path: &mut Column,
        number: u32,
        limit: u32,
    ) -> io::Result<()> {
        let mut at = number;
        loop {
            let ancestor = self.get(store, at, ANCESTOR)?;
            if ancestor <= limit {
                break;
            }
            store.push(path, at)?;
            at = ancestor;
        }
        while path.len() > 0 {
            let below = store.pop(path)?;
            let ancestor = self.get(store, below, ANCESTOR)?;
            let old = self.get(store, below, LABEL)?;
            let new = self.get(store, ancestor, LABEL)?;
            if self.get(store, new, SEMI)? < self.get(store, old, SEMI)? {
                self.set(store, below, LABEL, new)?;
            }
            let ancestor = self.get(store, ancestor, ANCESTOR)?;
            self.set(store, below, ANCESTOR, ancestor)?;
        }
        Ok(())
    }
}

impl Dominators<'_> {
    /// How many objects roots keep, without those that are left out.
    #[must_use]
    pub fn kept(&self) -> u32 {
        self.objects.len() as u32 - 1
    }

    /// How many of the objects that are not left out no root keeps.
    #[must_use]
    pub fn loose(&self) -> u64 {
        let all = self.graph.len() - self.graph.left_out;
        all.saturating_sub(self.kept()).into()
    }

    /// Bytes of an object and of all that it alone keeps; `None` if no root
    /// keeps it.
    #[must_use]
    pub fn retained(&self, object: u32) -> Option<u64> {
        self.graph.told(|store| {
            Ok(match store.get(&self.order, object as usize)? {
                0 => None,
                number => Some(store.get64(&self.retained, number as usize)?),
            })
        })
    }

    /// The object that keeps an object; `None` where roots do, or nothing.
    #[must_use]
    pub fn dominator(&self, object: u32) -> Option<u32> {
        self.graph.told(|store| {
            let number = store.get(&self.order, object as usize)?;
            Ok(match store.get(&self.above, number as usize)? {
                0 => None,
                above => Some(store.get(&self.objects, above as usize)?),
            })
        })
    }

    /// The objects that keep most, the largest first, at most `most`.
    #[must_use]
    pub fn largest(&self, most: usize) -> Vec<u32> {
        self.graph.told(|store| {
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

    /// What the objects of each class keep, by the class's identifier and
    /// name: each by itself, and those inside another of the class not again.
    #[must_use]
    pub fn by_class(&self) -> HashMap<u64, u64> {
        let graph = self.graph;
        let bytes = graph.told(|store| self.by_entry(store));
        // Arrays of primitive types have no class of their own here.
        let key = |class: usize| match graph.survey.entries[class].id {
            0 => class as u64,
            id => id,
        };
        let all = bytes.into_iter().enumerate();
        all.filter(|(_, bytes)| *bytes > 0)
            .map(|(class, bytes)| (key(class), bytes))
            .collect()
    }

    /// What the store has to say; see [`Graph::told`].
    pub(crate) fn told<T: Default>(&self, ask: impl FnOnce(&mut Store) -> io::Result<T>) -> T {
        self.graph.told(ask)
    }

    /// Bytes that an object retains, by its number in the walk; of 0 all bytes that roots keep.
    pub(crate) fn retained_by(&self, store: &mut Store, number: u32) -> io::Result<u64> {
        store.get64(&self.retained, number as usize)
    }

    pub(crate) fn object_at(&self, store: &mut Store, number: u32) -> io::Result<u32> {
        store.get(&self.objects, number as usize)
    }

    /// The entry of an object's class; of a class object that of `java.lang.Class`.
    pub(crate) fn class_at(&self, store: &mut Store, number: u32) -> io::Result<u32> {
        let object = self.object_at(store, number)?;
        let class = self.graph.class_in(store, object)?;
        Ok(class.unwrap_or(self.of_class))
    }

    /// The tree downwards.
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

    /// For each class, by the number in its [`Count`](crate::Count), the objects of it
    /// that retain most, at most `most`; those that no root keeps come last.
    #[must_use]
    pub fn largest_of_each(&self, classes: &[u64], most: usize) -> Vec<Vec<u32>> {
        let entries = &self.graph.survey.entries;
        let mut places: Vec<Option<usize>> = vec![None; entries.len()];
        for (place, class) in classes.iter().enumerate() {
            let entry = match usize::try_from(*class) {
                Ok(class) if class < PRIMITIVES as usize => Some(class),
                _ => self
                    .graph
                    .survey
                    .class_of(*class)
                    .map(|entry| entry as usize),
            };
            if let Some(entry) = entry {
                places[entry] = Some(place);
            }
        }
        self.told(|store| {
            let mut largest = vec![BinaryHeap::new(); classes.len()];
            for object in 0..self.graph.len() {
                let class = self.graph.class_in(store, object)?.unwrap_or(self.of_class);
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
        let mut open = vec![0_u32; graph.survey.entries.len()];
        let mut bytes = vec![0_u64; graph.survey.entries.len()];
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
            // Up until there is something beside.
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

    /// The shortest way from an object up to a root, both included; empty if
    /// no root keeps it. To a thread's variable only if there is no other: what
    /// a running method has at hand is most often held elsewhere, too.
    #[must_use]
    pub fn path(&self, object: u32) -> Vec<u32> {
        match self.retained(object) {
            Some(_) => self.graph.told(|store| self.graph.path(store, object)),
            None => Vec::new(),
        }
    }
}
