//! Sorts more records than fit into memory. Runs of records that fit are sorted
//! and put into columns. The runs are merged when the records are taken out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io;

use crate::store::{Column, Store};

/// Maximum number of bytes of a run.
pub(crate) const LONGEST_RUN: u64 = 32 << 20;

/// Sorts records of `N` numbers. `N` must divide the number of 32-bit numbers in a page of the store.
pub(crate) struct Sorter<const N: usize> {
    run: Vec<[u32; N]>,
    longest: usize,
    columns: Vec<Column>,
}

impl<const N: usize> Sorter<N> {
    /// Returns a sorter that takes at most `memory` bytes, but at least 16 KB.
    pub(crate) fn new(memory: u64) -> Sorter<N> {
        let longest = memory.clamp(1 << 14, LONGEST_RUN) as usize / (4 * N);
        Sorter {
            run: Vec::new(),
            longest,
            columns: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, store: &mut Store, record: [u32; N]) -> io::Result<()> {
        if self.run.len() == self.longest {
            self.write(store)?;
        } else if self.run.len() == self.run.capacity() {
            let more = self
                .run
                .len()
                .max(1 << 10)
                .min(self.longest - self.run.len());
            self.run.reserve_exact(more);
        }
        self.run.push(record);
        Ok(())
    }

    fn write(&mut self, store: &mut Store) -> io::Result<()> {
        self.run.sort_unstable();
        let mut column = store.column(0);
        for number in self.run.iter().flatten() {
            store.push(&mut column, *number)?;
        }
        self.columns.push(column);
        self.run.clear();
        Ok(())
    }

    /// Returns the records in ascending order.
    pub(crate) fn finish(mut self, store: &mut Store) -> io::Result<Sorted<N>> {
        let mut sorted = Sorted {
            run: Vec::new(),
            columns: Vec::new(),
            heads: BinaryHeap::new(),
        };
        if self.columns.is_empty() {
            // The order is reversed, because records are taken from the end.
            self.run.sort_unstable_by_key(|record| Reverse(*record));
            sorted.run = self.run;
            return Ok(sorted);
        }
        self.write(store)?;
        for column in self.columns {
            let mut at = 0;
            if let Some(record) = read(store, &column, &mut at)? {
                sorted.heads.push(Reverse((record, sorted.columns.len())));
            }
            sorted.columns.push((column, at));
        }
        Ok(sorted)
    }
}

/// Sorted records.
pub(crate) struct Sorted<const N: usize> {
    /// All records in reverse order, if they fit into memory.
    run: Vec<[u32; N]>,
    /// The runs, each with the position up to which it has been read.
    columns: Vec<(Column, usize)>,
    /// The next record of each run.
    heads: BinaryHeap<Reverse<([u32; N], usize)>>,
}

impl<const N: usize> Sorted<N> {
    pub(crate) fn next(&mut self, store: &mut Store) -> io::Result<Option<[u32; N]>> {
        let Some(mut head) = self.heads.peek_mut() else {
            return Ok(self.run.pop());
        };
        let Reverse((record, run)) = *head;
        let (column, at) = &mut self.columns[run];
        match read(store, column, at)? {
            Some(next) => head.0.0 = next,
            None => drop(PeekMut::pop(head)),
        }
        Ok(Some(record))
    }

    /// Frees the columns.
    pub(crate) fn free(self, store: &mut Store) {
        for (column, _) in self.columns {
            store.free(column);
        }
    }
}

/// Reads the next record of a run, and frees the pages that were read.
fn read<const N: usize>(
    store: &mut Store,
    column: &Column,
    at: &mut usize,
) -> io::Result<Option<[u32; N]>> {
    store.passed(column, *at);
    if *at == column.len() {
        return Ok(None);
    }
    let mut record = [0; N];
    for number in &mut record {
        *number = store.get(column, *at)?;
        *at += 1;
    }
    Ok(Some(record))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_in_order_however_many_they_are() {
        let counts = [0_u32, 1, 1000, 1024, 1025, 5000, 40_000];
        // Memory for runs of 1024 records, of a few more, of 3000, and for all records in one run.
        let memories = [0, 16 * 1025, 16 * 1300, 16 * 3000, 1 << 24];
        for (count, memory) in counts
            .into_iter()
            .flat_map(|count| memories.map(|memory| (count, memory)))
        {
            let mut store = Store::new(0);
            let mut sorter: Sorter<4> = Sorter::new(memory);
            let mut all = Vec::new();
            for n in 0..count {
                let record = [n.wrapping_mul(2_654_435_769) % 977, n % 13, n, !n];
                sorter.push(&mut store, record).expect("the store has room");
                all.push(record);
            }
            all.sort_unstable();
            let mut sorted = sorter.finish(&mut store).expect("the store has room");
            for record in all {
                assert_eq!(
                    sorted.next(&mut store).expect("the store is readable"),
                    Some(record)
                );
            }
            assert_eq!(
                sorted.next(&mut store).expect("the store is readable"),
                None
            );
            sorted.free(&mut store);
        }
    }
}
