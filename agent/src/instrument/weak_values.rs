//! A table of objects of the program, with a value for each object. The value is dropped after its object was
//! collected.
//!
//! An object is found by its identity hash. A weak reference, which does not keep the object alive, distinguishes the
//! object from other objects with the same hash. No lock is held during a call of the JVM, because the calling thread
//! may be suspended there and would keep the lock.

use std::collections::HashSet;
use std::iter::once;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use loadhook_profile::NumberMap;

use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::{Local, Weak};
use crate::locks::lock;

/// The number of entries at which the table is first searched for collected objects. The next search is due when the
/// number of entries that remained has doubled.
const FIRST_SWEEP: usize = 256;

/// A table of objects with a value each.
pub(crate) struct WeakValues<T> {
    table: Mutex<Table<T>>,
    /// Number of threads that hold copies of weak references. It grows only under the lock of the table.
    readers: AtomicUsize,
}

struct Table<T> {
    /// Weak references and values, by identity hash.
    entries: NumberMap<i32, Vec<(Weak, T)>>,
    len: usize,
    /// Number of entries that were ever added.
    added: u64,
    /// Number of entries at which the table is swept.
    sweep_at: usize,
    is_sweeping: bool,
    /// Weak references that are deleted when no reader is left.
    to_delete: Vec<Weak>,
}

/// The operations of the JVM on objects that the table needs.
pub(crate) trait Objects {
    /// The type of a reference to an object.
    type Object: Copy;

    /// Returns the identity hash of an object.
    fn hash(&self, object: Self::Object) -> i32;

    /// Makes a weak reference; `None` if the JVM has no memory for it.
    fn weak(&self, object: Self::Object) -> Option<Weak>;

    /// Returns whether a weak reference leads to an object.
    fn leads_to(&self, weak: Weak, object: Self::Object) -> bool;

    /// Returns whether the object of a weak reference was collected.
    fn is_gone(&self, weak: Weak) -> bool;

    /// Deletes a weak reference.
    fn delete(&self, weak: Weak);
}

/// Objects of the running JVM, as the calling thread refers to them.
#[derive(Clone, Copy)]
pub(crate) struct JvmObjects<'f> {
    pub(crate) jvmti: Jvmti,
    pub(crate) jni: Jni<'f>,
}

impl<'f> Objects for JvmObjects<'f> {
    type Object = Local<'f>;

    fn hash(&self, object: Local<'f>) -> i32 {
        self.jvmti.hash_code(object)
    }

    fn weak(&self, object: Local<'f>) -> Option<Weak> {
        self.jni.weak(object).ok()
    }

    fn leads_to(&self, weak: Weak, object: Local<'f>) -> bool {
        self.jni.is_same(weak, object)
    }

    fn is_gone(&self, weak: Weak) -> bool {
        self.jni.is_gone(weak)
    }

    fn delete(&self, weak: Weak) {
        self.jni.delete_weak(weak);
    }
}

impl<T> Default for WeakValues<T> {
    fn default() -> Self {
        WeakValues {
            table: Mutex::new(Table {
                entries: NumberMap::default(),
                len: 0,
                added: 0,
                sweep_at: FIRST_SWEEP,
                is_sweeping: false,
                to_delete: Vec::new(),
            }),
            readers: AtomicUsize::new(0),
        }
    }
}

/// A thread that holds copies of weak references. It is counted in `readers` until this is dropped, also after a panic.
struct Reader<'v, T> {
    values: &'v WeakValues<T>,
    /// True if the thread sweeps the table.
    sweeps: bool,
}

impl<'v, T> Reader<'v, T> {
    /// Counts a reader of `values`. The caller has locked the table.
    fn new(values: &'v WeakValues<T>, table: &mut Table<T>, sweeps: bool) -> Self {
        values.readers.fetch_add(1, Ordering::Relaxed);
        table.is_sweeping |= sweeps;
        Reader { values, sweeps }
    }
}

impl<T> Drop for Reader<'_, T> {
    fn drop(&mut self) {
        if self.sweeps {
            lock(&self.values.table).is_sweeping = false;
        }
        self.values.readers.fetch_sub(1, Ordering::Release);
    }
}

impl<T: Copy> WeakValues<T> {
    /// Forgets all objects. Must be called only when no thread reads the table any more.
    pub(crate) fn release<O: Objects>(&self, objects: &O) {
        let (entries, to_delete) = {
            let mut table = lock(&self.table);
            table.len = 0;
            (
                std::mem::take(&mut table.entries),
                std::mem::take(&mut table.to_delete),
            )
        };
        let known = entries.into_values().flatten().map(|(weak, _)| weak);
        for weak in known.chain(to_delete) {
            objects.delete(weak);
        }
    }

    /// Returns the value of an object, if it has one, and the number of entries that were ever added to the table.
    fn find<O: Objects>(&self, objects: &O, object: O::Object, hash: i32) -> (Option<T>, u64) {
        let (first, others, added, _reader) = {
            let mut table = lock(&self.table);
            let same_hash = table.entries.get(&hash);
            let Some((first, others)) = same_hash.and_then(|all| all.split_first()) else {
                return (None, table.added);
            };
            // Usually no other entry has this hash, and then the copy needs no memory.
            let (first, others) = (*first, others.to_vec());
            let reader = Reader::new(self, &mut table, false);
            (first, others, table.added, reader)
        };
        let mut candidates = once(first).chain(others);
        let entry = candidates.find(|(weak, _)| objects.leads_to(*weak, object));
        (entry.map(|(_, value)| value), added)
    }

    /// Returns the value of an object, if it has one.
    pub(crate) fn get<O: Objects>(&self, objects: &O, object: O::Object) -> Option<T> {
        self.find(objects, object, objects.hash(object)).0
    }

    /// Returns the value of an object. If the object has no value, `make` makes one.
    ///
    /// If another thread adds a value for the object while `make` runs, the other thread's value is
    /// used, and `discard` gets the value of `make`.
    pub(crate) fn get_or_make<O: Objects>(
        &self,
        objects: &O,
        object: O::Object,
        make: impl FnOnce() -> T,
        discard: impl FnOnce(T),
    ) -> T {
        let hash = objects.hash(object);
        let (found, mut known) = self.find(objects, object, hash);
        if let Some(found) = found {
            return found;
        }
        let value = make();
        // If the JVM has no memory for a weak reference, the value is not kept, and the object gets a new value each
        // time.
        let Some(weak) = objects.weak(object) else {
            return value;
        };
        loop {
            {
                let mut table = lock(&self.table);
                if table.added == known {
                    table.added += 1;
                    table.len += 1;
                    let same_hash = table.entries.entry(hash).or_default();
                    same_hash.push((weak, value));
                    return value;
                }
            }
            // Since the last search, an entry was added, for this object or for another object. So the table is
            // searched again.
            let (found, added) = self.find(objects, object, hash);
            if let Some(found) = found {
                objects.delete(weak);
                discard(value);
                return found;
            }
            known = added;
        }
    }

    /// Removes the values of collected objects, and returns these values. Most calls return at once without a value,
    /// because the table is searched only after it has grown.
    pub(crate) fn take_gone<O: Objects>(&self, objects: &O) -> Vec<T> {
        let (all, reader) = {
            let mut table = lock(&self.table);
            if table.len < table.sweep_at || table.is_sweeping {
                return Vec::new();
            }
            let entries = table.entries.values().flatten();
            let all: Vec<Weak> = entries.map(|(weak, _)| *weak).collect();
            (all, Reader::new(self, &mut table, true))
        };
        let gone: HashSet<Weak> = all
            .into_iter()
            .filter(|weak| objects.is_gone(*weak))
            .collect();
        let mut values = Vec::with_capacity(gone.len());
        {
            let mut table = lock(&self.table);
            table.entries.retain(|_, same_hash| {
                same_hash.retain(|(weak, value)| {
                    let is_gone = gone.contains(weak);
                    if is_gone {
                        values.push(*value);
                    }
                    !is_gone
                });
                !same_hash.is_empty()
            });
            table.len -= values.len();
            table.sweep_at = FIRST_SWEEP.max(2 * table.len);
            table.to_delete.extend(gone);
        }
        drop(reader);
        let to_delete = {
            let mut table = lock(&self.table);
            match self.readers.load(Ordering::Acquire) {
                0 => std::mem::take(&mut table.to_delete),
                _ => Vec::new(),
            }
        };
        for weak in to_delete {
            objects.delete(weak);
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::collections::HashMap;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Simulated objects, which are numbers. All have the same hash.
    #[derive(Default)]
    struct Numbers {
        /// Weak references and their objects.
        weak: RefCell<HashMap<Weak, u32>>,
        next: Cell<usize>,
        /// Objects below this number count as collected.
        gone_below: Cell<u32>,
        /// True if access to a weak reference panics.
        panics: Cell<bool>,
    }

    impl Objects for Numbers {
        type Object = u32;

        fn hash(&self, _object: u32) -> i32 {
            7
        }

        fn weak(&self, object: u32) -> Option<Weak> {
            let weak = Weak::unknown(self.next.replace(self.next.get() + 1) + 1);
            self.weak.borrow_mut().insert(weak, object);
            Some(weak)
        }

        fn leads_to(&self, weak: Weak, object: u32) -> bool {
            assert!(!self.panics.get());
            self.weak.borrow()[&weak] == object
        }

        fn is_gone(&self, weak: Weak) -> bool {
            assert!(!self.panics.get());
            self.weak.borrow()[&weak] < self.gone_below.get()
        }

        fn delete(&self, weak: Weak) {
            let deleted = self.weak.borrow_mut().remove(&weak);
            assert!(deleted.is_some(), "a reference is deleted once");
        }
    }

    #[test]
    fn the_value_of_a_slower_thread_is_discarded() {
        let (objects, values) = (Numbers::default(), WeakValues::default());
        let discarded = Cell::new(None);
        let not_discarded = |_| panic!("nobody else made a value");
        let faster = || {
            values.get_or_make(&objects, 1, || 10, not_discarded);
            // An entry for another object does not make the thread discard its value.
            values.get_or_make(&objects, 2, || 20, not_discarded);
            11
        };
        let value = values.get_or_make(&objects, 1, faster, |value| discarded.set(Some(value)));
        assert_eq!((value, discarded.get()), (10, Some(11)));
        assert_eq!(
            objects.weak.borrow().len(),
            2,
            "the reference of the discarded value is deleted"
        );
        let other = || {
            values.get_or_make(&objects, 4, || 40, not_discarded);
            30
        };
        assert_eq!(values.get_or_make(&objects, 3, other, not_discarded), 30);
        assert_eq!(values.get(&objects, 4), Some(40));
    }

    #[test]
    fn values_of_objects_that_are_gone_are_returned_once() {
        let (objects, values) = (Numbers::default(), WeakValues::default());
        let most = FIRST_SWEEP as u32;
        for object in 0..most {
            assert!(
                values.take_gone(&objects).is_empty(),
                "a small table is not searched"
            );
            values.get_or_make(&objects, object, || object, |_| ());
        }
        objects.gone_below.set(100);
        let mut gone = values.take_gone(&objects);
        gone.sort_unstable();
        assert_eq!(gone, (0..100).collect::<Vec<u32>>());
        assert_eq!(objects.weak.borrow().len(), most as usize - 100);
        assert!(values.take_gone(&objects).is_empty());
        assert_eq!(values.get(&objects, 100), Some(100));
    }

    #[test]
    fn the_table_is_swept_after_panics() {
        let (objects, values) = (Numbers::default(), WeakValues::default());
        let most = FIRST_SWEEP as u32;
        for object in 0..most {
            values.get_or_make(&objects, object, || object, |_| ());
        }
        objects.gone_below.set(100);
        objects.panics.set(true);
        let search = AssertUnwindSafe(|| values.get(&objects, 1));
        assert!(catch_unwind(search).is_err());
        let sweep = AssertUnwindSafe(|| values.take_gone(&objects));
        assert!(catch_unwind(sweep).is_err());
        objects.panics.set(false);
        assert_eq!(values.take_gone(&objects).len(), 100);
        let left = objects.weak.borrow().len();
        assert_eq!(left, most as usize - 100, "the references are deleted");
    }
}
