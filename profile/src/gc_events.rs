//! What a heap holds, told by events that suit any garbage collector.
//!
//! The events are JVMPI's: arenas come and go, objects are allocated, freed and
//! moved in them. Nothing is said of how a collector works: a reference counter
//! sends [`Event::DeleteObject`] at any time, a copying one moves what lives and
//! deletes the arena with the rest.
//!
//! **Order.** Each event holds at once: an id names the object that has it at
//! that point of the stream, and a free or a move ends that. Ids are addresses,
//! so one id names one object in all arenas together. Only a compaction cannot
//! keep to this: an object may be moved onto the place of another one before
//! that one is moved or freed, in a ring even by necessity. So between
//! [`Event::CollectionStart`] and [`Event::CollectionFinish`], JVMPI's `GC_START`
//! and `GC_FINISH`, a move may go to an id in use. Until it has left, the object
//! that was there first is the one that the id names. By the end of the
//! collection it must have left: a move onto its place is not its death.
//!
//! # Example
//!
//! ```
//! use loadhook_profile::gc_events::{Amount, ArenaId, ClassId, Event, Heap, ObjectId, Place, SiteId};
//!
//! let [eden, old] = [ArenaId(1), ArenaId(2)];
//! let place = |arena| Place { arena, class: ClassId(7), site: SiteId(0) };
//! let mut heap = Heap::default();
//! for arena in [eden, old] {
//!     heap.apply(Event::NewArena { arena })?;
//! }
//! for object in [ObjectId(0x10), ObjectId(0x20)] {
//!     heap.apply(Event::NewObject { place: place(eden), object, size: 16 })?;
//! }
//! let (object, new_object) = (ObjectId(0x10), ObjectId(0x900));
//! heap.apply(Event::MoveObject { arena: eden, object, new_arena: old, new_object })?;
//! heap.apply(Event::DeleteArena { arena: eden })?;
//!
//! let by_arena = heap.amounts_by(|place| place.arena);
//! assert_eq!(by_arena[&old].live, Amount { objects: 1, bytes: 16 });
//! assert_eq!(by_arena[&eden].live, Amount::default());
//! assert_eq!(by_arena[&eden].allocated, Amount { objects: 2, bytes: 32 });
//!
//! let error = heap.apply(Event::DeleteObject { object }).expect_err("it is gone");
//! assert_eq!(error.to_string(), "event 6: there is no object 0x10");
//! # Ok::<(), loadhook_profile::gc_events::HeapError>(())
//! ```

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use thiserror::Error;

#[cfg(test)]
mod tests;

/// A part of the heap; after its end its id may be another one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArenaId(pub i32);

/// An object, until it is moved or freed; then its id may be another one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u64);

/// A class, as the caller numbers them. JVMPI's own id is that of the `Class`
/// object, which moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

/// A place that allocates, as the caller numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub u32);

/// What happens to a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Objects can be in this arena from now on.
    NewArena {
        /// No other arena's.
        arena: ArenaId,
    },
    /// The arena ends, and all objects that are in it.
    DeleteArena {
        /// The arena.
        arena: ArenaId,
    },
    /// An object is allocated.
    NewObject {
        /// Where and what.
        place: Place,
        /// No other object's.
        object: ObjectId,
        /// In bytes.
        size: u64,
    },
    /// An object ends.
    DeleteObject {
        /// The object.
        object: ObjectId,
    },
    /// An object gets another id, another arena, or both.
    MoveObject {
        /// The arena in which it is.
        arena: ArenaId,
        /// The object.
        object: ObjectId,
        /// The arena in which it is from now on, which may be the same.
        new_arena: ArenaId,
        /// Its id from now on, which may be the same. In a collection another
        /// object may still have it.
        new_object: ObjectId,
    },
    /// A collection begins.
    CollectionStart,
    /// The collection ends.
    CollectionFinish,
}

/// What allocated objects are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The arena that they are in; of what was allocated, in which it was.
    pub arena: ArenaId,
    /// Their class.
    pub class: ClassId,
    /// Where they were allocated.
    pub site: SiteId,
}

/// How many objects, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many.
    pub objects: u64,
    /// The sum of their sizes.
    pub bytes: u64,
}

/// What was allocated, and what is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// All from the beginning on.
    pub allocated: Amount,
    /// What was neither deleted itself nor was in a deleted arena.
    pub live: Amount,
}

/// A heap, as the events so far leave it.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    /// Whether places are dropped where nothing is alive.
    forgets: bool,
    /// How many objects are in each arena.
    arenas: HashMap<ArenaId, usize>,
    /// Those of all arenas in one table: a table for each arena would stay as
    /// large as the arena once was, for one object that is left.
    objects: HashMap<ObjectId, Object>,
    /// Objects whose id another one was moved to, and which keep it till they
    /// leave: in a collection only.
    covered: HashMap<ObjectId, Object>,
    is_collecting: bool,
    amounts: HashMap<Place, Amounts>,
    allocated: Amount,
    /// How many events came, refused ones too.
    events: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Object {
    place: Place,
    size: u64,
}

/// An event that cannot be. It changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("event {position}: {fault}")]
pub struct HeapError {
    /// How many events came before it.
    pub position: u64,
    /// Why it cannot be.
    pub fault: Fault,
}

/// Why an event cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// It begins or allocates in no arena that is.
    #[error("there is no arena {}", .0.0)]
    UnknownArena(ArenaId),
    /// It begins an arena that is there.
    #[error("there is an arena {} already", .0.0)]
    ArenaInUse(ArenaId),
    /// It deletes or moves what is not alive.
    #[error("there is no object {:#x}", .0.0)]
    UnknownObject(ObjectId),
    /// It gives an id that another object has, and keeps.
    #[error("there is an object {:#x} already", .0.0)]
    ObjectInUse(ObjectId),
    /// It moves an object from where it is not.
    #[error("object {:#x} is in arena {}", .0.0, .1.0)]
    OtherArena(ObjectId, ArenaId),
    /// It begins a collection inside another one.
    #[error("a collection is under way already")]
    Collecting,
    /// It ends no collection.
    #[error("no collection is under way")]
    NotCollecting,
    /// A sum of sizes is beyond 64 bits.
    #[error("more bytes than can be counted")]
    TooManyBytes,
}

impl Heap {
    /// A heap that forgets a place with the last object that is alive there:
    /// [`Amounts::allocated`] counts from then on. What it takes is bounded by
    /// the most that were alive at a time.
    pub fn of_the_living() -> Self {
        Heap {
            forgets: true,
            ..Heap::default()
        }
    }

    /// How many objects are alive.
    pub fn objects(&self) -> usize {
        self.objects.len() + self.covered.len()
    }

    /// How many of them are in an arena; `None` if it is not there.
    pub fn objects_in(&self, arena: ArenaId) -> Option<usize> {
        self.arenas.get(&arena).copied()
    }

    /// The objects, in no order.
    pub fn ids(&self) -> impl Iterator<Item = ObjectId> {
        self.objects.keys().copied()
    }

    /// Where an object is, and what it is counted by.
    pub fn place(&self, object: ObjectId) -> Option<Place> {
        let first = self.covered.get(&object);
        let object = first.or_else(|| self.objects.get(&object))?;
        Some(object.place)
    }

    /// Takes the next event. The end of an arena looks at all objects, unless
    /// none is left in it.
    ///
    /// # Errors
    ///
    /// When it cannot follow those before it; the heap stays as it was, and may
    /// take others.
    pub fn apply(&mut self, event: Event) -> Result<(), HeapError> {
        let position = self.events;
        self.events += 1;
        let applied = match event {
            Event::NewArena { arena } => self.new_arena(arena),
            Event::DeleteArena { arena } => self.delete_arena(arena),
            Event::NewObject {
                place,
                object,
                size,
            } => self.new_object(place, object, size),
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

    /// What was allocated and what is alive, added up by what `key` says of
    /// each place: its arena, class or site, or several of these.
    pub fn amounts_by<K: Ord>(&self, key: impl Fn(Place) -> K) -> BTreeMap<K, Amounts> {
        let mut sums = BTreeMap::<K, Amounts>::new();
        for (place, amounts) in &self.amounts {
            let sum = sums.entry(key(*place)).or_default();
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
        let is_in_it = |object: &Object| object.place.arena == arena;
        let covered = self.covered.extract_if(|_, first| is_in_it(first));
        let covered: Vec<_> = covered.collect();
        let objects = self.objects.extract_if(|_, object| is_in_it(object));
        let objects: Vec<_> = objects.collect();
        for (_, object) in covered {
            self.ends(object);
        }
        for (id, object) in objects {
            self.ends(object);
            // Which now has the id alone.
            if let Some(first) = self.covered.remove(&id) {
                self.objects.insert(id, first);
            }
        }
        Ok(())
    }

    fn new_object(&mut self, place: Place, id: ObjectId, size: u64) -> Result<(), Fault> {
        if !self.arenas.contains_key(&place.arena) {
            return Err(Fault::UnknownArena(place.arena));
        }
        if self.objects.contains_key(&id) || self.covered.contains_key(&id) {
            return Err(Fault::ObjectInUse(id));
        }
        // No other sum is greater.
        if self.allocated.bytes.checked_add(size).is_none() {
            return Err(Fault::TooManyBytes);
        }
        self.put(id, Object { place, size });
        self.allocated.put(size);
        let amounts = self.amounts.entry(place).or_default();
        amounts.allocated.put(size);
        amounts.live.put(size);
        Ok(())
    }

    fn delete_object(&mut self, id: ObjectId) -> Result<(), Fault> {
        let object = self.take(id).ok_or(Fault::UnknownObject(id))?;
        self.ends(object);
        Ok(())
    }

    fn move_object(
        &mut self,
        (arena, id): (ArenaId, ObjectId),
        (new_arena, new_id): (ArenaId, ObjectId),
    ) -> Result<(), Fault> {
        let found = self.place(id).ok_or(Fault::UnknownObject(id))?;
        if found.arena != arena {
            return Err(Fault::OtherArena(id, found.arena));
        }
        if !self.arenas.contains_key(&new_arena) {
            return Err(Fault::UnknownArena(new_arena));
        }
        // Whether another object than this one has the new id.
        let is_its_own = id == new_id && !self.covered.contains_key(&id);
        let in_use = self.objects.contains_key(&new_id) && !is_its_own;
        if in_use && (!self.is_collecting || self.covered.contains_key(&new_id)) {
            return Err(Fault::ObjectInUse(new_id));
        }
        let object = self.take(id).ok_or(Fault::UnknownObject(id))?;
        if let Some(first) = self.objects.remove(&new_id) {
            self.covered.insert(new_id, first);
        }
        self.ends(object);
        let place = Place {
            arena: new_arena,
            ..object.place
        };
        self.amounts.entry(place).or_default().live.put(object.size);
        self.put(new_id, Object { place, ..object });
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

    /// Puts an object into an arena that is there.
    fn put(&mut self, id: ObjectId, object: Object) {
        *self.arenas.entry(object.place.arena).or_default() += 1;
        self.objects.insert(id, object);
    }

    /// Takes out the object that an id names.
    fn take(&mut self, id: ObjectId) -> Option<Object> {
        let first = self.covered.remove(&id);
        let object = first.or_else(|| self.objects.remove(&id))?;
        *self.arenas.get_mut(&object.place.arena)? -= 1;
        Some(object)
    }

    /// What was alive at a place is so there no longer.
    fn ends(&mut self, object: Object) {
        if let Entry::Occupied(mut amounts) = self.amounts.entry(object.place) {
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
