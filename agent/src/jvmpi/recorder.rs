//! Records the objects of the heap by JVMPI's events.
//!
//! No lock is held during a call of JVMPI, because a request sends its event before it returns, in the same thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use loadhook_jvm::jvmpi::event;
use loadhook_profile::gc_events::{Event as HeapEvent, ObjectId};

use super::collection_log::CollectionLog;
use super::events::{AllocatedObject, CallFrame, Event, MethodId, ThreadId};
use super::sites::NOT_SHOWN;
use super::tables::{DEPTH, Tables};
use crate::jvm::jvmpi::interface::Jvmpi;
use crate::locks::lock;

/// The events that a recorder needs. All are enabled before the first of them can come.
pub(crate) const NEEDED: [i32; 7] = [
    event::CLASS_LOAD,
    event::THREAD_START,
    event::THREAD_END,
    event::OBJECT_ALLOC,
    event::OBJECT_FREE,
    event::GC_START,
    event::GC_FINISH,
];

/// Further events, which a VM need not support: it may have only one arena, and may never move objects or unload
/// classes.
pub(crate) const OPTIONAL: [i32; 4] = [
    event::ARENA_NEW,
    event::ARENA_DELETE,
    event::OBJECT_MOVE,
    event::CLASS_UNLOAD,
];

/// The maximum of [`NESTED`]. An object needs its class, whose object needs `java.lang.Class`. Deeper requests would be
/// a circle.
const MOST_NESTED: u32 = 2;

thread_local! {
    /// Number of classes that this thread has requested and not got yet. It is more than one if the description of a
    /// class needs an object that is not known.
    static NESTED: Cell<u32> = const { Cell::new(0) };
}

/// Records the objects that the VM reports.
pub(crate) struct Recorder {
    tables: Mutex<Tables>,
    log: CollectionLog,
    /// True while objects count as allocated by the program.
    is_counting: AtomicBool,
}

impl Recorder {
    pub(super) fn new(most_sites: usize) -> Self {
        Recorder {
            tables: Mutex::new(Tables::new(most_sites)),
            log: CollectionLog::default(),
            is_counting: AtomicBool::new(false),
        }
    }

    /// Locks the tables, and applies the events of the last collection to them. Must not be called during a collection,
    /// because a suspended thread may hold the lock.
    pub(super) fn tables(&self) -> MutexGuard<'_, Tables> {
        let mut tables = lock(&self.tables);
        self.log.read(|event| tables.apply(event));
        tables
    }

    /// Returns the number of events of collections for which there was no room.
    pub(super) fn lost(&self) -> u64 {
        self.log.lost()
    }

    /// Sets whether new objects count as allocated by the program. Objects that the VM reports before it is initialised
    /// do not count.
    pub(super) fn count(&self, counts: bool) {
        self.is_counting.store(counts, Ordering::Relaxed);
    }

    /// Handles an event.
    pub(super) fn handle(&self, jvmpi: Jvmpi, event: Event<'_>) {
        match event {
            Event::ThreadStart { thread, name } => {
                let name = loadhook_rewrite::symbol::text(name);
                self.tables().sites.thread_starts(thread, name);
            }
            Event::ThreadEnd { thread, .. } => self.tables().sites.thread_ends(thread),
            Event::ClassLoad(loaded) => {
                if !self.tables().knows(loaded.class) {
                    jvmpi.request(event::OBJECT_ALLOC, loaded.class);
                }
                self.tables().class_loads(&loaded);
            }
            Event::ClassUnload(class) => self.tables().class_unloads(class),
            Event::ObjectAlloc {
                thread,
                object,
                is_requested,
            } => self.allocated(jvmpi, thread, &object, is_requested),
            // The lock can be taken, because threads are suspended only after this event.
            Event::CollectionStart => {
                let tables = self.tables();
                self.log.begin(tables.heap.objects());
            }
            Event::CollectionFinish => self.apply(HeapEvent::CollectionFinish),
            Event::NewArena(arena) => self.apply(HeapEvent::NewArena { arena }),
            Event::DeleteArena(arena) => self.apply(HeapEvent::DeleteArena { arena }),
            Event::ObjectFree(object) => self.apply(HeapEvent::DeleteObject { object }),
            Event::ObjectMove {
                arena,
                object,
                new_arena,
                new_object,
            } => self.apply(HeapEvent::MoveObject {
                arena,
                object,
                new_arena,
                new_object,
            }),
            Event::InitDone(_) | Event::ShutDown(_) => {}
        }
    }

    /// Notes an event that comes during a collection. Applies any other event at once.
    fn apply(&self, event: HeapEvent) {
        if !self.log.push(event) {
            self.tables().apply(event);
        }
    }

    fn allocated(
        &self,
        jvmpi: Jvmpi,
        thread: ThreadId,
        object: &AllocatedObject,
        is_requested: bool,
    ) {
        let (unknown_class, knows_thread) = {
            let tables = self.tables();
            let is_unknown = |class: &ObjectId| tables.class(*class).is_none();
            // The class object of `java.lang.Class` is its own class. A request for it would have no end.
            let other = object.class.filter(|class| *class != object.object);
            (other.filter(is_unknown), tables.sites.knows_thread(thread))
        };
        if let Some(class) = unknown_class.filter(|_| NESTED.get() < MOST_NESTED) {
            NESTED.set(NESTED.get() + 1);
            jvmpi.request(event::CLASS_LOAD, class);
            NESTED.set(NESTED.get() - 1);
        }
        let counts = !is_requested && self.is_counting.load(Ordering::Relaxed);
        let stack = if counts {
            if !knows_thread && let Some(object) = jvmpi.thread_object(thread) {
                jvmpi.request(event::THREAD_START, object);
            }
            self.stack(jvmpi, thread)
        } else {
            Vec::new()
        };
        let mut tables = self.tables();
        let site = if counts {
            tables.site(thread, &stack)
        } else {
            NOT_SHOWN
        };
        tables.object(object, site, is_requested);
    }

    /// Returns the stack of the calling thread. Requests the classes of unknown methods from the VM.
    fn stack(&self, jvmpi: Jvmpi, thread: ThreadId) -> Vec<CallFrame> {
        let stack = jvmpi.call_trace(thread, DEPTH + 1);
        let unknown: Vec<MethodId> = {
            let classes = &self.tables().classes;
            let methods = stack.iter().map(|frame| frame.method);
            methods.filter(|it| classes.method(*it).is_none()).collect()
        };
        for method in unknown {
            if self.tables().classes.method(method).is_some() {
                continue;
            }
            if let Some(class) = jvmpi.class_of_method(method) {
                jvmpi.request(event::CLASS_LOAD, class);
            }
            self.tables().classes.give_up(method);
        }
        stack
    }
}
