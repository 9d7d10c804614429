//! Finds objects by their identifiers.

use std::io;

use loadhook_hprof::Type;

use crate::stacks::stack_bytes;
use crate::store::{Column, Store};
use crate::survey::{PRIMITIVES, Survey, TYPES, What, what};

/// Identifiers in order, and where to begin to look.
pub(crate) struct Index {
    ids: Column,
    len: u32,
    least: u64,
    /// How many identifiers are below each multiple of `1 << shift`, counted
    /// from the least.
    below: Column,
    shift: u32,
}

/// What there is of each object, by its number.
pub(crate) struct Objects {
    pub(crate) store: Store,
    pub(crate) index: Index,
    pub(crate) whats: Column,
    /// Bytes in memory, in steps of 8.
    pub(crate) sizes: Column,
}

impl Objects {
    /// Takes the objects out of a survey.
    pub(crate) fn of(survey: &Survey, objects: crate::survey::Objects) -> io::Result<Objects> {
        let sizes = survey.sizes();
        let of_class = survey.of_class();
        let classes = 0..survey.entries.len() as u32;
        let instances: Vec<u64> = classes
            .clone()
            .map(|class| survey.instance_size(class, &sizes))
            .collect();
        let class_sizes: Vec<u64> = classes
            .map(|class| survey.class_size(class, of_class, &sizes))
            .collect();
        let size = |packed: u32, length: u32| {
            let size = match what(packed) {
                What::Instance(class) => {
                    instances[class as usize] + stack_bytes(length, sizes.model.reference)
                }
                What::Class(class) => class_sizes[class as usize],
                What::Array(class) => {
                    let of = if class < PRIMITIVES {
                        TYPES[class as usize]
                    } else {
                        Type::Object
                    };
                    sizes.model.array(of, length)
                }
            };
            u32::try_from(size.div_ceil(8)).unwrap_or(u32::MAX)
        };
        let mut store = objects.store;
        let mut sorted = objects.sorter.finish(&mut store)?;
        let [mut ids, mut whats, mut sizes] = [0; 3].map(|len| store.column(len));
        let mut before = None;
        while let Some([high, low, packed, length]) = sorted.next(&mut store)? {
            let id = u64::from(high) << 32 | u64::from(low);
            if before.replace(id) == Some(id) {
                continue;
            }
            store.push64(&mut ids, id)?;
            store.push(&mut whats, packed)?;
            store.push(&mut sizes, size(packed, length))?;
        }
        sorted.free(&mut store);
        let index = Index::new(&mut store, ids)?;
        Ok(Objects {
            store,
            index,
            whats,
            sizes,
        })
    }
}

impl Index {
    /// Of identifiers in order, each once.
    fn new(store: &mut Store, ids: Column) -> io::Result<Index> {
        let len = (ids.len() / 2) as u32;
        let [least, most] = match len.checked_sub(1) {
            None => [0; 2],
            Some(last) => [store.get64(&ids, 0)?, store.get64(&ids, last as usize)?],
        };
        let span = most - least;
        let buckets = u64::from(len / 4).max(1);
        let shift = ((span / buckets).max(1).ilog2() + 1).min(63);
        let last = (span >> shift) + 1;
        let mut below = store.column(0);
        for number in 0..len {
            let from = store.get64(&ids, number as usize)? - least;
            while below.len() as u64 <= from >> shift {
                store.push(&mut below, number)?;
            }
        }
        while below.len() as u64 <= last {
            store.push(&mut below, len)?;
        }
        Ok(Index {
            ids,
            len,
            least,
            below,
            shift,
        })
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn id(&self, store: &mut Store, object: u32) -> io::Result<u64> {
        store.get64(&self.ids, object as usize)
    }

    #[inline]
    pub(crate) fn number(&self, store: &mut Store, id: u64) -> io::Result<Option<u32>> {
        let Some(from) = id.checked_sub(self.least) else {
            return Ok(None);
        };
        let bucket = from >> self.shift;
        if bucket + 1 >= self.below.len() as u64 {
            return Ok(None);
        }
        let bucket = bucket as usize;
        let mut start = store.get(&self.below, bucket)?;
        let mut end = store.get(&self.below, bucket + 1)?;
        while start < end {
            let middle = start.midpoint(end);
            match id.cmp(&store.get64(&self.ids, middle as usize)?) {
                std::cmp::Ordering::Less => end = middle,
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
                std::cmp::Ordering::Greater => start = middle + 1,
            }
        }
        Ok(None)
    }
}
