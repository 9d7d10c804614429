//! Notes the events of a garbage collection while they come. They are applied to the tables later.
//!
//! During a collection in JVMPI, threads are suspended. A suspended thread may hold any lock, even that of `malloc`. So
//! an event is only written into memory that was allocated before the collection began.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use loadhook_profile::gc_events::{ArenaId, Event, ObjectId};

/// The number of events for which the first chunk has room. Each further chunk is twice as large as the chunk before.
const FIRST: usize = 1024;
const MOST_CHUNKS: usize = 32;

/// The numbers for kinds of events in a [`Slot`]; 0 is for a slot that was not written.
const FREE: u32 = 1;
const MOVE: u32 = 2;
const NEW_ARENA: u32 = 3;
const DELETE_ARENA: u32 = 4;
const START: u32 = 5;
const FINISH: u32 = 6;

/// Room for an event. Its kind is written last.
#[derive(Default)]
struct Slot {
    kind: AtomicU32,
    arenas: [AtomicI32; 2],
    objects: [AtomicU64; 2],
}

/// The events of the present collection, or of the last one. Any thread may write. A thread that reads must hold the
/// lock of the recorder's tables.
#[derive(Default)]
pub(super) struct CollectionLog {
    chunks: [OnceLock<Box<[Slot]>>; MOST_CHUNKS],
    /// Number of events for which there is room.
    room: AtomicUsize,
    /// Number of slots that were written, or that a thread is about to write.
    written: AtomicUsize,
    read: AtomicUsize,
    is_collecting: AtomicBool,
    /// Number of events for which there was no room.
    lost: AtomicU64,
}

impl CollectionLog {
    /// Makes room for the events of a collection in a heap of `objects` objects, and notes the start of the collection.
    /// The caller has read all earlier events, and still holds the lock.
    pub(super) fn begin(&self, objects: usize) {
        let written = self.written.load(Ordering::Relaxed);
        for slot in (0..written).map_while(|at| self.slot(at)) {
            slot.kind.store(0, Ordering::Relaxed);
        }
        self.read.store(0, Ordering::Relaxed);
        self.written.store(0, Ordering::Relaxed);
        // At most two events come for an object: the object is freed, or it is moved, and moved again if the collector
        // compacts the generation to which it has moved the object.
        self.make_room(objects.saturating_mul(2).saturating_add(FIRST));
        self.is_collecting.store(true, Ordering::Release);
        self.push(Event::CollectionStart);
    }

    fn make_room(&self, wanted: usize) {
        for (number, chunk) in self.chunks.iter().enumerate() {
            if self.room.load(Ordering::Relaxed) >= wanted {
                return;
            }
            if chunk.get().is_some() {
                continue;
            }
            let len = FIRST << number;
            let mut slots = Vec::new();
            // If there is no memory, events are lost, which a note in the profile says.
            if slots.try_reserve_exact(len).is_err() {
                return;
            }
            slots.resize_with(len, Slot::default);
            if chunk.set(slots.into_boxed_slice()).is_ok() {
                self.room.fetch_add(len, Ordering::Release);
            }
        }
    }

    fn slot(&self, at: usize) -> Option<&Slot> {
        let chunk = (at / FIRST + 1).ilog2();
        let first = FIRST * ((1 << chunk) - 1);
        self.chunks.get(chunk as usize)?.get()?.get(at - first)
    }

    /// Notes an event, without allocating memory or waiting. Returns false if no collection is under way.
    pub(super) fn push(&self, event: Event) -> bool {
        if !self.is_collecting.load(Ordering::Acquire) {
            return false;
        }
        if event == Event::CollectionFinish {
            self.is_collecting.store(false, Ordering::Release);
        }
        let at = self.written.fetch_add(1, Ordering::AcqRel);
        let Some(slot) = self.slot(at) else {
            self.written.fetch_sub(1, Ordering::AcqRel);
            self.lost.fetch_add(1, Ordering::Relaxed);
            return true;
        };
        let (kind, arenas, objects) = match event {
            Event::DeleteObject { object } => (FREE, [0; 2], [object.0, 0]),
            Event::MoveObject {
                arena,
                object,
                new_arena,
                new_object,
            } => (MOVE, [arena.0, new_arena.0], [object.0, new_object.0]),
            Event::NewArena { arena } => (NEW_ARENA, [arena.0, 0], [0; 2]),
            Event::DeleteArena { arena } => (DELETE_ARENA, [arena.0, 0], [0; 2]),
            Event::CollectionStart => (START, [0; 2], [0; 2]),
            Event::CollectionFinish => (FINISH, [0; 2], [0; 2]),
            // This event does not come during a collection.
            Event::NewObject { .. } => (0, [0; 2], [0; 2]),
        };
        for (place, arena) in slot.arenas.iter().zip(arenas) {
            place.store(arena, Ordering::Relaxed);
        }
        for (place, object) in slot.objects.iter().zip(objects) {
            place.store(object, Ordering::Relaxed);
        }
        slot.kind.store(kind, Ordering::Release);
        true
    }

    /// Passes each event that was not read yet to `apply`, in order. The caller holds the lock.
    pub(super) fn read(&self, mut apply: impl FnMut(Event)) {
        let mut at = self.read.load(Ordering::Relaxed);
        while at < self.written.load(Ordering::Acquire)
            && let Some(event) = self.slot(at).and_then(event_in)
        {
            apply(event);
            at += 1;
        }
        self.read.store(at, Ordering::Relaxed);
    }

    /// Returns the number of events for which there was no room.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// Returns the event in a slot; `None` if the slot is not written yet.
fn event_in(slot: &Slot) -> Option<Event> {
    let kind = slot.kind.load(Ordering::Acquire);
    let [arena, new_arena] = [0, 1].map(|at| ArenaId(slot.arenas[at].load(Ordering::Relaxed)));
    let [object, new_object] = [0, 1].map(|at| ObjectId(slot.objects[at].load(Ordering::Relaxed)));
    Some(match kind {
        FREE => Event::DeleteObject { object },
        MOVE => Event::MoveObject {
            arena,
            object,
            new_arena,
            new_object,
        },
        NEW_ARENA => Event::NewArena { arena },
        DELETE_ARENA => Event::DeleteArena { arena },
        START => Event::CollectionStart,
        FINISH => Event::CollectionFinish,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(id: usize) -> Event {
        Event::DeleteObject {
            object: ObjectId(id as u64),
        }
    }

    fn take(log: &CollectionLog) -> Vec<Event> {
        let mut events = Vec::new();
        log.read(|event| events.push(event));
        events
    }

    #[test]
    fn events_are_read_in_order_and_once() {
        let log = CollectionLog::default();
        assert!(!log.push(free(1)), "no collection is under way");
        for objects in [0, 3000, 10] {
            log.begin(objects);
            let moved = Event::MoveObject {
                arena: ArenaId(-1),
                object: ObjectId(u64::MAX),
                new_arena: ArenaId(i32::MAX),
                new_object: ObjectId(7),
            };
            let arena = ArenaId(3);
            let others = [Event::DeleteArena { arena }, Event::NewArena { arena }];
            assert!(log.push(moved) && others.iter().all(|it| log.push(*it)));
            assert_eq!(
                take(&log),
                [Event::CollectionStart, moved, others[0], others[1]]
            );
            let freed: Vec<Event> = (0..2 * objects).map(free).collect();
            assert!(freed.iter().all(|event| log.push(*event)));
            assert!(log.push(Event::CollectionFinish));
            assert!(!log.push(free(1)), "the collection is over");
            let read = take(&log);
            assert_eq!(
                read.split_last(),
                Some((&Event::CollectionFinish, &freed[..]))
            );
            assert_eq!(take(&log), []);
        }
        assert_eq!(log.lost(), 0);
    }

    #[test]
    fn events_without_room_are_counted() {
        let log = CollectionLog::default();
        log.begin(0);
        assert!((0..FIRST + 4).all(|id| log.push(free(id))));
        assert_eq!((log.lost(), take(&log).len()), (5, FIRST));
    }
}
