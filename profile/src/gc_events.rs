//! A model of a heap, kept up to date by events that suit any garbage collector.
//!
//! The events are JVMPI's: arenas come and go, objects are allocated, freed and moved in them. These events suit
//! every kind of collector. A reference counter sends [`Event::DeleteObject`] at any time. A copying collector moves
//! the live objects and deletes the arena with the rest.
//!
//! **Order.** Each event takes effect at once. An id names the object that got it last in the stream, until this
//! object is freed or moved. Ids are addresses, so an id names only one object in all arenas. A compaction cannot
//! keep to this rule: it may move an object to the address of another one before that one is moved or freed. In a
//! ring of moves this is unavoidable. So between [`Event::CollectionStart`] and [`Event::CollectionFinish`]
//! (JVMPI's `GC_START` and `GC_FINISH`), a move may go to an id in use. Until the object that was there first is
//! itself moved or freed, the id names that first object. It must be moved or freed before the collection ends: that
//! another object moves to its address does not free it.
//!
//! # Example
//!
//! ```
//! use loadhook_profile::gc_events::{Amount, ArenaId, ClassId, Event, HeapModel, ObjectId, ObjectGroup, SiteId};
//!
//! let [eden, old] = [ArenaId(1), ArenaId(2)];
//! let group = |arena| ObjectGroup { arena, class: ClassId(7), site: SiteId(0) };
//! let mut heap = HeapModel::default();
//! for arena in [eden, old] {
//!     heap.apply(Event::NewArena { arena })?;
//! }
//! for object in [ObjectId(0x10), ObjectId(0x20)] {
//!     heap.apply(Event::NewObject { group: group(eden), object, size: 16 })?;
//! }
//! let (object, new_object) = (ObjectId(0x10), ObjectId(0x900));
//! heap.apply(Event::MoveObject { arena: eden, object, new_arena: old, new_object })?;
//! heap.apply(Event::DeleteArena { arena: eden })?;
//!
//! let by_arena = heap.amounts_by(|group| group.arena);
//! assert_eq!(by_arena[&old].live, Amount { objects: 1, bytes: 16 });
//! assert_eq!(by_arena[&eden].live, Amount::default());
//! assert_eq!(by_arena[&eden].allocated, Amount { objects: 2, bytes: 32 });
//!
//! let error = heap.apply(Event::DeleteObject { object }).expect_err("the object was deleted");
//! assert_eq!(error.to_string(), "event 6: there is no object 0x10");
//! # Ok::<(), loadhook_profile::gc_events::HeapError>(())
//! ```

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use thiserror::Error;

use crate::number_hash::NumberMap;

#[cfg(test)]
mod tests;

/// The id of an arena, which is a part of the heap. After the arena's end,
/// another arena can get the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArenaId(pub i32);

/// The id of an object. After the object is moved or freed, another object can
/// get the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u64);

/// The id of a class; the caller numbers the classes. JVMPI identifies a class by its `Class` object, whose id
/// changes when the object moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

/// The id of a place in the code that allocates; the caller numbers the places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub u32);

/// A change of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Objects can be in this arena from now on.
    NewArena {
        /// The arena's id, which no other arena has.
        arena: ArenaId,
    },
    /// The arena ends, and with it all objects in it.
    DeleteArena {
        /// The arena.
        arena: ArenaId,
    },
    /// An object is allocated.
    NewObject {
        /// The arena, class and allocation site of the object.
        group: ObjectGroup,
        /// The object's id, which no other object has.
        object: ObjectId,
        /// The object's size in bytes.
        size: u64,
    },
    /// An object ends.
    DeleteObject {
        /// The object.
        object: ObjectId,
    },
    /// An object gets another id, another arena, or both.
    MoveObject {
        /// The arena that the object is in.
        arena: ArenaId,
        /// The object.
        object: ObjectId,
        /// The arena that the object is in from now on; may equal `arena`.
        new_arena: ArenaId,
        /// The object's id from now on; may equal `object`. During a collection another object may still have
        /// this id.
        new_object: ObjectId,
    },
    /// A collection begins.
    CollectionStart,
    /// The collection ends.
    CollectionFinish,
}

/// Arena, class and site: the properties by which objects are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectGroup {
    /// The arena that the objects are in; for allocated objects, the first one.
    pub arena: ArenaId,
    /// The class of the objects.
    pub class: ClassId,
    /// The place where the objects were allocated.
    pub site: SiteId,
}

/// A number of objects, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// The number of objects.
    pub objects: u64,
    /// The sum of the objects' sizes.
    pub bytes: u64,
}

/// The objects that were allocated, and those that are alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// All objects from the beginning on.
    pub allocated: Amount,
    /// The objects that were neither deleted themselves nor in a deleted arena.
    pub live: Amount,
}

/// A heap as the events so far have left it.
#[derive(Clone, Debug, Default)]
pub struct HeapModel {
    /// True if a group is dropped together with its last live object.
    forgets: bool,
    /// The number of objects in each arena.
    arenas: NumberMap<ArenaId, usize>,
    /// The objects of all arenas in one table. With a table for each arena, a single remaining
    /// object would keep the table as large as the arena once was.
    objects: NumberMap<ObjectId, Object>,
    /// Objects whose id another object got by a move. Each keeps the id until it is moved or freed itself, during
    /// the same collection.
    covered: NumberMap<ObjectId, Object>,
    is_collecting: bool,
    amounts: NumberMap<ObjectGroup, Amounts>,
    allocated: Amount,
    /// The number of events so far, refused ones too.
    events: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Object {
    group: ObjectGroup,
    label: u32,
    size: u64,
}

/// An event that contradicts earlier events and therefore changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("event {position}: {fault}")]
pub struct HeapError {
    /// The number of events before this one.
    pub position: u64,
    /// The contradiction.
    pub fault: Fault,
}

/// The contradiction between an event and the events before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// The event names an arena that does not exist.
    #[error("there is no arena {}", .0.0)]
    UnknownArena(ArenaId),
    /// The event begins an arena that exists already.
    #[error("there is already an arena {}", .0.0)]
    ArenaInUse(ArenaId),
    /// The event deletes or moves an object that is not alive.
    #[error("there is no object {:#x}", .0.0)]
    UnknownObject(ObjectId),
    /// The event gives an object an id that another object has and keeps.
    #[error("there is already an object {:#x}", .0.0)]
    ObjectInUse(ObjectId),
    /// The event moves an object out of an arena that the object is not in.
    #[error("object {:#x} is in arena {}", .0.0, .1.0)]
    OtherArena(ObjectId, ArenaId),
    /// The event begins a collection inside another one.
    #[error("a collection is under way already")]
    Collecting,
    /// The event ends a collection that has not begun.
    #[error("no collection is under way")]
    NotCollecting,
    /// A sum of sizes exceeds 64 bits.
    #[error("more bytes than can be counted")]
    TooManyBytes,
}

impl HeapModel {
    /// Returns a model that drops a group with its last live object. [`Amounts::allocated`] then starts again from 0.
    /// The model's memory is bounded by the largest number of objects alive at a time.
    pub fn of_live_objects() -> Self {
        HeapModel {
            forgets: true,
            ..HeapModel::default()
        }
    }

    /// Returns the number of live objects.
    pub fn objects(&self) -> usize {
        self.objects.len() + self.covered.len()
    }

    /// Returns the number of live objects in an arena; `None` if there is no such arena.
    pub fn objects_in(&self, arena: ArenaId) -> Option<usize> {
        self.arenas.get(&arena).copied()
    }

    /// Returns the ids of the live objects, in no order, each id once.
    pub fn ids(&self) -> impl Iterator<Item = ObjectId> {
        self.objects.keys().copied()
    }

    /// Returns the group of an object; `None` if it is not alive.
    pub fn group(&self, object: ObjectId) -> Option<ObjectGroup> {
        let first = self.covered.get(&object);
        let object = first.or_else(|| self.objects.get(&object))?;
        Some(object.group)
    }

    /// Gives an object a number that the caller chooses. The object keeps the number when it moves. Returns false if
    /// the object is not alive.
    pub fn set_label(&mut self, object: ObjectId, label: u32) -> bool {
        let first = self.covered.get_mut(&object);
        let object = first.or_else(|| self.objects.get_mut(&object));
        object.map(|object| object.label = label).is_some()
    }

    /// Returns the number that [`set_label`](Self::set_label) gave an object; 0 if it gave none. `None` if the object
    /// is not alive.
    pub fn label(&self, object: ObjectId) -> Option<u32> {
        let first = self.covered.get(&object);
        let object = first.or_else(|| self.objects.get(&object))?;
        Some(object.label)
    }

    /// Applies the next event. [`Event::DeleteArena`] visits all objects, unless the arena is
    /// empty.
    ///
    /// # Errors
    ///
    /// Fails if the event contradicts the events before it. The model then stays as it was, and can
    /// take further events.
    pub fn apply(&mut self, event: Event) -> Result<(), HeapError> {
        let position = self.events;
        self.events += 1;
        let applied = match event {
            Event::NewArena { arena } => self.new_arena(arena),
            Event::DeleteArena { arena } => self.delete_arena(arena),
            Event::NewObject {
                group,
                object,
                size,
            } => self.new_object(group, object, size),
            Event::DeleteObject { object } => self.delete_object(object),
            Event::MoveObject {
                arena,
                object,
                new_arena,
                new_object,
            } => self.move_object((arena, object), (new_arena, new_object)),
            Event::CollectionStart if self.is_collecting => Err(Fault::Collecting),
            Event::CollectionStart => {
                self.is_collecting = true;
                Ok(())
            }
            Event::CollectionFinish => self.finish(),
        };
        applied.map_err(|fault| HeapError { position, fault })
    }

    /// Adds up the groups that have the same `key`, for example the same arena, class or site, or several of
    /// these together.
    pub fn amounts_by<K: Ord>(&self, key: impl Fn(ObjectGroup) -> K) -> BTreeMap<K, Amounts> {
        let mut sums = BTreeMap::<K, Amounts>::new();
        for (group, amounts) in &self.amounts {
            let sum = sums.entry(key(*group)).or_default();
            sum.allocated.add(amounts.allocated);
            sum.live.add(amounts.live);
        }
        sums
    }

    fn new_arena(&mut self, arena: ArenaId) -> Result<(), Fault> {
        if self.arenas.contains_key(&arena) {
            return Err(Fault::ArenaInUse(arena));
        }
        self.arenas.insert(arena, 0);
        Ok(())
    }

    fn delete_arena(&mut self, arena: ArenaId) -> Result<(), Fault> {
        match self.arenas.remove(&arena) {
            None => return Err(Fault::UnknownArena(arena)),
            Some(0) => return Ok(()),
            Some(_) => {}
        }
        let is_in_it = |object: &Object| object.group.arena == arena;
        let covered = self.covered.extract_if(|_, first| is_in_it(first));
        let covered: Vec<_> = covered.collect();
        let objects = self.objects.extract_if(|_, object| is_in_it(object));
        let objects: Vec<_> = objects.collect();
        for (_, object) in covered {
            self.remove(object);
        }
        for (id, object) in objects {
            self.remove(object);
            // Now the object that was there first has the id alone.
            if let Some(first) = self.covered.remove(&id) {
                self.objects.insert(id, first);
            }
        }
        Ok(())
    }

    fn new_object(&mut self, group: ObjectGroup, id: ObjectId, size: u64) -> Result<(), Fault> {
        let Some(arena) = self.arenas.get_mut(&group.arena) else {
            return Err(Fault::UnknownArena(group.arena));
        };
        let Entry::Vacant(place) = self.objects.entry(id) else {
            return Err(Fault::ObjectInUse(id));
        };
        if self.covered.contains_key(&id) {
            return Err(Fault::ObjectInUse(id));
        }
        // Only this sum is checked, because no other is greater.
        if self.allocated.bytes.checked_add(size).is_none() {
            return Err(Fault::TooManyBytes);
        }
        *arena += 1;
        let label = 0;
        place.insert(Object { group, label, size });
        self.allocated.put(size);
        let amounts = self.amounts.entry(group).or_default();
        amounts.allocated.put(size);
        amounts.live.put(size);
        Ok(())
    }

    fn delete_object(&mut self, id: ObjectId) -> Result<(), Fault> {
        let object = self.take(id).ok_or(Fault::UnknownObject(id))?;
        self.remove(object);
        Ok(())
    }

    fn move_object(
        &mut self,
        (arena, id): (ArenaId, ObjectId),
        (new_arena, new_id): (ArenaId, ObjectId),
    ) -> Result<(), Fault> {
        let found = self.group(id).ok_or(Fault::UnknownObject(id))?;
        if found.arena != arena {
            return Err(Fault::OtherArena(id, found.arena));
        }
        if !self.arenas.contains_key(&new_arena) {
            return Err(Fault::UnknownArena(new_arena));
        }
        // The new id is free for the object if only the object itself has it.
        let is_its_own = id == new_id && !self.covered.contains_key(&id);
        let in_use = self.objects.contains_key(&new_id) && !is_its_own;
        if in_use && (!self.is_collecting || self.covered.contains_key(&new_id)) {
            return Err(Fault::ObjectInUse(new_id));
        }
        let object = self.take(id).ok_or(Fault::UnknownObject(id))?;
        if let Some(first) = self.objects.remove(&new_id) {
            self.covered.insert(new_id, first);
        }
        self.remove(object);
        let group = ObjectGroup {
            arena: new_arena,
            ..object.group
        };
        self.amounts.entry(group).or_default().live.put(object.size);
        self.put(new_id, Object { group, ..object });
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Fault> {
        if !self.is_collecting {
            return Err(Fault::NotCollecting);
        }
        if let Some(left) = self.covered.keys().min() {
            return Err(Fault::ObjectInUse(*left));
        }
        self.is_collecting = false;
        Ok(())
    }

    /// Puts an object into an existing arena.
    fn put(&mut self, id: ObjectId, object: Object) {
        *self.arenas.entry(object.group.arena).or_default() += 1;
        self.objects.insert(id, object);
    }

    /// Takes out the object that has an id.
    fn take(&mut self, id: ObjectId) -> Option<Object> {
        let first = self.covered.remove(&id);
        let object = first.or_else(|| self.objects.remove(&id))?;
        *self.arenas.get_mut(&object.group.arena)? -= 1;
        Some(object)
    }

    /// Takes a dead object out of its group.
    fn remove(&mut self, object: Object) {
        if let Entry::Occupied(mut amounts) = self.amounts.entry(object.group) {
            let live = &mut amounts.get_mut().live;
            live.take(object.size);
            if self.forgets && live.objects == 0 {
                amounts.remove();
            }
        }
    }
}

impl Amount {
    fn put(&mut self, size: u64) {
        self.add(Amount {
            objects: 1,
            bytes: size,
        });
    }

    fn take(&mut self, size: u64) {
        self.objects -= 1;
        self.bytes -= size;
    }

    fn add(&mut self, other: Amount) {
        self.objects += other.objects;
        self.bytes += other.bytes;
    }
}
