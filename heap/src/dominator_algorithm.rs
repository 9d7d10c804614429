//! The dominator algorithm of Lengauer and Tarjan, with path compression. For any graph, it takes
//! O(references × log objects) steps.
//!
//! Objects are numbered in the order of a depth-first walk from the roots. The number 0 stands for
//! a common parent of all roots.
//!
//! The columns may be larger than memory, and then lie partly on the disk. So the references are sorted by their
//! targets, and each is read once, in this order.

use std::io;

use crate::external_sort::Sorted;
use crate::store::{Column, Store};

/// Computes the immediate dominator of each number. `parents` has each number's parent in the
/// depth-first walk. A record of `references` has the bitwise complement of the target, then the
/// source. So the sorted records begin with the references to the highest number.
pub(crate) fn immediate_dominators(
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
        // From here on, `number` is linked to its parent. No other number waits for `number` any more, because
        // the children of `number` have been processed.
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

/// The forest of the numbers that are linked to their parents so far: all numbers above the current one. The four
/// values of a number are stored side by side, because they are used together.
struct Forest(Column);

/// The parent, or an ancestor on the compressed path.
const ANCESTOR: usize = 0;
/// The number with the least semidominator on the compressed path.
const LABEL: usize = 1;
/// The first of the numbers whose semidominator is this number and whose dominator is not known yet, plus 1: these
/// numbers wait for this one. The value shares a slot with [`LABEL`]: only linked numbers have a label, and numbers
/// wait only for a number that is not linked yet.
const WAITING: usize = LABEL;
const SEMI: usize = 2;
/// The immediate dominator. While a number waits, the slot has the next number that waits for the same number,
/// plus 1.
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

    /// Returns the number with the least semidominator between `number` and the root of its tree,
    /// without the root. Only numbers above `limit` are linked to their parents.
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

    /// Returns the semidominator of the number that [`best`](Forest::best) returns. A number that
    /// is not linked counts as its own best number.
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
