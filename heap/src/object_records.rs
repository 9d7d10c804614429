//! Records of all objects of a dump, to be sorted by identifier.

use loadhook_hprof::ErrorKind;

use crate::external_sort::Sorter;
use crate::object_kind::ObjectKind;
use crate::store::Store;

/// Maximum number of objects. Their numbers have 32 bits, and the highest number stands for no object.
const MOST_OBJECTS: u64 = u32::MAX as u64 - 2;

/// A record for each object: the two halves of its identifier, its kind, and its length. The
/// length of a `StackChunk` is the number of words of its stack.
pub(crate) struct ObjectRecords {
    pub(crate) store: Store,
    pub(crate) sorter: Sorter<4>,
    count: u64,
}

impl ObjectRecords {
    pub(crate) fn new(store: Store, sorter: Sorter<4>) -> ObjectRecords {
        ObjectRecords {
            store,
            sorter,
            count: 0,
        }
    }

    pub(crate) fn push(&mut self, id: u64, kind: ObjectKind, length: u32) -> Result<(), ErrorKind> {
        if self.count >= MOST_OBJECTS {
            let (what, most) = ("objects", MOST_OBJECTS);
            return Err(ErrorKind::TooMany { what, most });
        }
        self.count += 1;
        let record = [(id >> 32) as u32, id as u32, kind.pack(), length];
        let pushed = self.sorter.push(&mut self.store, record);
        pushed.map_err(ErrorKind::Io)
    }
}
