//! Finds objects by their identifiers.

use std::io;

use crate::object_kind::{ObjectKind, element_type};
use crate::object_records::ObjectRecords;
use crate::object_sizes::ObjectSizes;
use crate::stack_chunks::stack_bytes;
use crate::store::{Column, Store};
use crate::survey::Survey;

/// The identifiers of all objects in ascending order. An object's number is its position in this order.
///
/// A search begins in the bucket of the identifier. A bucket has four identifiers on average, because identifiers
/// are addresses that lie close together.
pub(crate) struct ObjectIndex {
    ids: Column,
    len: u32,
    /// The smallest identifier.
    least: u64,
    /// For each multiple of `1 << shift` above `least`: the number of identifiers below that multiple.
    buckets: Column,
    shift: u32,
}

/// Columns of all objects, by their numbers.
pub(crate) struct ObjectTable {
    pub(crate) index: ObjectIndex,
    /// A packed [`ObjectKind`] of each object.
    pub(crate) kinds: Column,
    /// Bytes in memory of each object, divided by 8.
    pub(crate) sizes: Column,
}

impl ObjectTable {
    /// Sorts the records of all objects. Returns the table, and the store that has its columns.
    pub(crate) fn new(survey: &Survey, objects: ObjectRecords) -> io::Result<(ObjectTable, Store)> {
        let sizes = ObjectSizes::new(survey);
        let classes = 0..survey.classes.len() as u32;
        let instances: Vec<u64> = classes.clone().map(|class| sizes.instance(class)).collect();
        let class_objects: Vec<u64> = classes.map(|class| sizes.class_object(class)).collect();
        let size = |packed: u32, length: u32| {
            let size = match ObjectKind::unpack(packed) {
                ObjectKind::Instance(class) => {
                    instances[class as usize] + stack_bytes(length, sizes.model.reference)
                }
                ObjectKind::Class(class) => class_objects[class as usize],
                ObjectKind::Array(class) => sizes.array(element_type(class), length),
            };
            u32::try_from(size.div_ceil(8)).unwrap_or(u32::MAX)
        };
        let mut store = objects.store;
        let mut sorted = objects.sorter.finish(&mut store)?;
        let [mut ids, mut kinds, mut object_sizes] = [0; 3].map(|len| store.column(len));
        let mut before = None;
        while let Some([high, low, packed, length]) = sorted.next(&mut store)? {
            let id = u64::from(high) << 32 | u64::from(low);
            if before.replace(id) == Some(id) {
                continue;
            }
            store.push64(&mut ids, id)?;
            store.push(&mut kinds, packed)?;
            store.push(&mut object_sizes, size(packed, length))?;
        }
        sorted.free(&mut store);
        let index = ObjectIndex::new(&mut store, ids)?;
        let table = ObjectTable {
            index,
            kinds,
            sizes: object_sizes,
        };
        Ok((table, store))
    }
}

impl ObjectIndex {
    /// Makes an index of `ids`, which are in order and without duplicates.
    fn new(store: &mut Store, ids: Column) -> io::Result<ObjectIndex> {
        let len = (ids.len() / 2) as u32;
        let [least, most] = match len.checked_sub(1) {
            None => [0; 2],
            Some(last) => [store.get64(&ids, 0)?, store.get64(&ids, last as usize)?],
        };
        let span = most - least;
        let bucket_count = u64::from(len / 4).max(1);
        let shift = ((span / bucket_count).max(1).ilog2() + 1).min(63);
        let last = (span >> shift) + 1;
        let mut buckets = store.column(0);
        for number in 0..len {
            let from = store.get64(&ids, number as usize)? - least;
            while buckets.len() as u64 <= from >> shift {
                store.push(&mut buckets, number)?;
            }
        }
        while buckets.len() as u64 <= last {
            store.push(&mut buckets, len)?;
        }
        Ok(ObjectIndex {
            ids,
            len,
            least,
            buckets,
            shift,
        })
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn id(&self, store: &mut Store, object: u32) -> io::Result<u64> {
        store.get64(&self.ids, object as usize)
    }

    /// Returns the number of the object with this identifier.
    #[inline]
    pub(crate) fn number(&self, store: &mut Store, id: u64) -> io::Result<Option<u32>> {
        let Some(from) = id.checked_sub(self.least) else {
            return Ok(None);
        };
        let bucket = from >> self.shift;
        if bucket + 1 >= self.buckets.len() as u64 {
            return Ok(None);
        }
        let bucket = bucket as usize;
        let mut start = store.get(&self.buckets, bucket)?;
        let mut end = store.get(&self.buckets, bucket + 1)?;
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
