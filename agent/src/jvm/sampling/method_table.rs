//! The table by which a signal handler finds the method of an interpreted frame. It maps the address of HotSpot's
//! `Method` to the number of a noted method.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::reclaim::zeroed;

/// The maximum number of places that a search looks at.
const PROBES: usize = 64;

/// Number of places in the first table. A small program's methods fill a third of the places. Each page of the table
/// that the methods touch makes the JVM's start longer by microseconds.
const FIRST_LEN: usize = 1 << 14;

/// The bit of a value that marks the address of an old version of a method.
const OLD: u32 = 1 << 31;

struct Slots {
    /// The methods' addresses; 0 for a free place. An address is never moved to another place.
    keys: Box<[AtomicU64]>,
    /// The methods' numbers plus 1, possibly with [`OLD`]; 0 for a removed method.
    values: Box<[AtomicU32]>,
}

/// A version of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) method: u32,
    /// True if a redefinition has replaced the version. The JVM frees it when no call of it is under way any more, and
    /// may then make another method at its address.
    pub(super) is_old: bool,
}

impl Slots {
    fn new(len: usize) -> Box<Slots> {
        Box::new(Slots {
            keys: zeroed(len),
            values: zeroed(len),
        })
    }

    /// Returns the places where a search looks for an address, in the order of the search.
    fn probe(&self, address: usize) -> impl Iterator<Item = (&AtomicU64, &AtomicU32)> {
        let mask = self.keys.len().wrapping_sub(1);
        let hash = (address as u64 >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let start = (hash >> 20) as usize;
        (0..PROBES).filter_map(move |step| {
            let index = start.wrapping_add(step) & mask;
            Some((self.keys.get(index)?, self.values.get(index)?))
        })
    }

    fn value(&self, address: usize) -> Option<&AtomicU32> {
        for (key, value) in self.probe(address) {
            match key.load(Ordering::Acquire) {
                0 => return None,
                key if key == address as u64 => return Some(value),
                _ => {}
            }
        }
        None
    }

    /// Enters a method. Returns false if all places where a search would look are taken. Only one thread at a time may
    /// change a table.
    fn insert(&self, address: usize, new: u32) -> bool {
        for (key, value) in self.probe(address) {
            let old = key.load(Ordering::Relaxed);
            if old == 0 || old == address as u64 {
                value.store(new, Ordering::Release);
                key.store(address as u64, Ordering::Release);
                return true;
            }
        }
        false
    }

    fn all(&self) -> impl Iterator<Item = (usize, u32)> {
        self.keys
            .iter()
            .zip(&self.values)
            .filter_map(|(key, value)| {
                let value = value.load(Ordering::Relaxed);
                (value != 0).then(|| (key.load(Ordering::Relaxed) as usize, value))
            })
    }
}

/// The table. Any thread that has claimed a desk may read it. The owner of the table must let only one thread at a time
/// change it.
pub(super) struct MethodTable {
    slots: AtomicPtr<Slots>,
    /// The number of places in use, including the places of removed methods.
    used: AtomicU32,
    /// True if methods may be missing in the table: until the methods of the classes loaded at `VMInit` are entered,
    /// while classes are being redefined, and for good once methods of unloadable classes are no longer entered.
    is_filling: AtomicBool,
}

/// A table that was replaced by a larger one, and that handlers may still read.
pub(super) struct OldTable(#[expect(dead_code)] Box<Slots>);

impl MethodTable {
    pub(super) fn new() -> Self {
        MethodTable {
            slots: AtomicPtr::new(Box::into_raw(Slots::new(FIRST_LEN))),
            used: AtomicU32::new(0),
            is_filling: AtomicBool::new(false),
        }
    }

    /// Notes that methods may be missing in the table from now on.
    pub(super) fn begin_filling(&self) {
        self.is_filling.store(true, Ordering::Release);
    }

    /// Notes that all methods are entered.
    pub(super) fn end_filling(&self) {
        self.is_filling.store(false, Ordering::Release);
    }

    /// Returns whether methods may be missing in the table.
    pub(super) fn is_filling(&self) -> bool {
        self.is_filling.load(Ordering::Acquire)
    }

    fn slots(&self) -> &Slots {
        // SAFETY: the pointer comes from a box. A box that is replaced lives
        // until no reader can have it (see `OldTable`).
        unsafe { &*self.slots.load(Ordering::Acquire) }
    }

    /// Returns the number of the method whose `Method` is at `address`. Signal handlers may call this: it takes no
    /// lock, and its time is bounded.
    pub(super) fn find(&self, address: usize) -> Option<u32> {
        self.find_version(address).map(|version| version.method)
    }

    /// Like [`find`](Self::find), but also tells whether the method has another address meanwhile.
    pub(super) fn find_version(&self, address: usize) -> Option<Version> {
        if address == 0 || !address.is_multiple_of(8) {
            return None;
        }
        let value = self.slots().value(address)?.load(Ordering::Acquire);
        Some(Version {
            method: (value & !OLD).checked_sub(1)?,
            is_old: value & OLD != 0,
        })
    }

    /// Enters a method, and replaces any other method with this address. If the table is too small, a larger table
    /// replaces it. Returns the replaced table, which the caller must keep until the [epoch](super::reclaim) is over.
    #[must_use]
    pub(super) fn insert(&self, address: usize, number: u32) -> Option<OldTable> {
        if address == 0 || number >= OLD - 1 {
            return None;
        }
        let value = number + 1;
        let used = self.used.load(Ordering::Relaxed) as usize;
        let slots = self.slots();
        if used * 2 < slots.keys.len() && slots.insert(address, value) {
            self.used.store(used as u32 + 1, Ordering::Relaxed);
            return None;
        }
        let live = slots.all().count() + 1;
        let mut len = (live * 4).next_power_of_two().max(FIRST_LEN);
        loop {
            let larger = Slots::new(len);
            let entries = slots.all().chain([(address, value)]);
            if entries.fold(true, |fits, (key, value)| fits && larger.insert(key, value)) {
                self.used.store(live as u32, Ordering::Relaxed);
                let old = self.slots.swap(Box::into_raw(larger), Ordering::AcqRel);
                // SAFETY: the pointer comes from a box, and nobody else replaces it.
                return Some(OldTable(unsafe { Box::from_raw(old) }));
            }
            len *= 2;
        }
    }

    /// Marks the address of a method as that of an old version, unless another method has taken the address.
    pub(super) fn mark_old(&self, address: usize, number: u32) {
        self.change(address, number, |value| value | OLD);
    }

    /// Removes a method, unless another method has taken its address.
    pub(super) fn remove(&self, address: usize, number: u32) {
        self.change(address, number, |_| 0);
    }

    fn change(&self, address: usize, number: u32, change: impl Fn(u32) -> u32) {
        if let Some(place) = self.slots().value(address) {
            let value = place.load(Ordering::Relaxed);
            if value & !OLD == number.wrapping_add(1) {
                place.store(change(value), Ordering::Release);
            }
        }
    }
}

impl Drop for MethodTable {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from a box, and there is no reader any more.
        drop(unsafe { Box::from_raw(*self.slots.get_mut()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: usize) -> usize {
        0x7f00_0000_0000 + n * 104
    }

    #[test]
    fn methods_are_found_while_the_table_grows() {
        let table = MethodTable::new();
        let mut old = Vec::new();
        for n in 0..50_000 {
            old.extend(table.insert(address(n), n as u32));
        }
        assert!(!old.is_empty());
        assert!((0..50_000).all(|n| table.find(address(n)) == Some(n as u32)));
        assert_eq!(table.find(address(50_000)), None);
        assert_eq!(table.find(0), None);
        assert_eq!(table.find(address(1) + 1), None);
    }

    #[test]
    fn an_address_is_used_again() {
        let table = MethodTable::new();
        assert!(table.insert(address(1), 10).is_none());
        assert!(table.insert(address(1), 20).is_none());
        table.remove(address(1), 10);
        assert_eq!(
            table.find(address(1)),
            Some(20),
            "method 20 has taken the address of method 10"
        );
        table.remove(address(1), 20);
        assert_eq!(table.find(address(1)), None);
        assert!(table.insert(address(1), 30).is_none());
        assert_eq!(table.find(address(1)), Some(30));
    }

    #[test]
    fn old_versions_are_marked() {
        let table = MethodTable::new();
        let version = |n: usize| {
            let found = table.find_version(address(n));
            found.map(|version| (version.method, version.is_old))
        };
        assert!(table.insert(address(1), 10).is_none());
        assert_eq!(version(1), Some((10, false)));
        table.mark_old(address(1), 20);
        assert_eq!(version(1), Some((10, false)), "the address of another one");
        table.mark_old(address(1), 10);
        assert_eq!(version(1), Some((10, true)));
        let grown = (2..FIRST_LEN).filter_map(|n| table.insert(address(n), n as u32));
        assert!(grown.count() > 0);
        assert_eq!(version(1), Some((10, true)), "after the table has grown");
        drop(table.insert(address(1), 20));
        assert_eq!(version(1), Some((20, false)), "the JVM's new method");
        table.mark_old(address(1), 20);
        table.remove(address(1), 20);
        assert_eq!(version(1), None);
    }

    #[test]
    fn methods_that_come_and_go_take_no_more_room() {
        let table = MethodTable::new();
        for n in 0..400_000 {
            drop(table.insert(address(n), n as u32));
            if let Some(gone) = n.checked_sub(1_000) {
                table.remove(address(gone), gone as u32);
            }
        }
        assert_eq!(table.slots().keys.len(), FIRST_LEN);
        assert!((399_000..400_000).all(|n| table.find(address(n)) == Some(n as u32)));
    }
}
