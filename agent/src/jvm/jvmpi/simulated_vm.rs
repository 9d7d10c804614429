//! A VM that speaks JVMPI and runs no code: a heap with a simulated collector, classes, and threads with stacks.
//!
//! The VM knows its true heap, and compares the agent's record with this heap after every event.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

use loadhook_jvm::jvmpi::{self as abi, Data, Event, Int, Interface, event};
use loadhook_testkit::collectors::{Collector, Heap};

use super::notify::PROFILER;
use crate::jvmpi::inspection::{self, State};

thread_local! {
    static VM: RefCell<Option<Vm>> = const { RefCell::new(None) };
    static INTERFACE: Cell<*mut Interface> = const { Cell::new(null_mut()) };
}

/// Ids of thread objects begin here.
pub(super) const THREAD_OBJECTS: usize = 1 << 40;

/// An object.
pub(super) struct Known {
    /// The class of the object; for an array of references, the class of its elements.
    pub(super) class: Option<usize>,
    pub(super) kind: Int,
    pub(super) size: Int,
    /// The thread and the stack that have allocated the object, as text; empty for objects that were allocated before
    /// the VM was initialised.
    pub(super) place: String,
    pub(super) at: Option<(i32, u64)>,
}

/// A class. Its class object is never dropped before the class is unloaded.
pub(super) struct Class {
    pub(super) name: CString,
    pub(super) object: usize,
    pub(super) methods: Vec<(usize, CString)>,
    pub(super) is_loaded: bool,
}

/// A thread.
pub(super) struct Thread {
    pub(super) env: usize,
    pub(super) name: CString,
    pub(super) is_alive: bool,
    /// Classes, methods and lines, innermost first.
    pub(super) stack: Vec<(usize, usize, Int)>,
}

/// The true state of the VM.
pub(super) struct Vm {
    pub(super) objects: Vec<Known>,
    pub(super) held: Vec<bool>,
    pub(super) classes: Vec<Class>,
    pub(super) threads: Vec<Thread>,
    /// The collector; `None` while it works.
    collector: Option<Collector>,
    pub(super) is_initialised: bool,
    pub(super) enabled: [bool; event::COUNT],
    is_collecting: bool,
    /// Number of events that were sent, by type.
    pub(super) sent: [u32; event::COUNT],
}

/// Runs `body` with the VM's state. `body` must not send events.
pub(super) fn with<T>(body: impl FnOnce(&mut Vm) -> T) -> T {
    VM.with_borrow_mut(|vm| body(vm.as_mut().expect("there is a VM")))
}

impl Vm {
    /// Returns the live thread whose environment is `env`.
    pub(super) fn thread(&self, env: *mut c_void) -> Option<&Thread> {
        let mut threads = self.threads.iter();
        threads.find(|thread| thread.is_alive && thread.env == env.addr())
    }

    /// Returns the index of the object whose id is `id`.
    pub(super) fn object(&self, id: usize) -> Option<usize> {
        let is_it = |known: &Known| known.at.is_some_and(|(_, at)| at == id as u64);
        self.objects.iter().position(is_it)
    }

    pub(super) fn class_id(&self, class: Option<usize>) -> usize {
        let object = class.map(|class| &self.objects[self.classes[class].object]);
        object
            .and_then(|object| object.at)
            .map_or(0, |(_, id)| id as usize)
    }

    /// Returns the type of an object in Java notation.
    fn type_name(&self, object: &Known) -> String {
        let name = object
            .class
            .map(|class| self.classes[class].name.to_string_lossy());
        let name = name.as_deref().unwrap_or("?");
        match object.kind {
            0 => name.to_owned(),
            2 => format!("{name}[]"),
            _ => "int[]".to_owned(),
        }
    }

    /// Returns the true state in the form in which the agent should have recorded it.
    pub(super) fn state(&self) -> State {
        let mut state = State::default();
        for object in &self.objects {
            let key = (self.type_name(object), object.place.clone());
            let size = object.size as u64;
            if !object.place.is_empty() {
                let sum = state.allocated.entry(key.clone()).or_default();
                *sum = (sum.0 + 1, sum.1 + size);
            }
            if let Some((arena, id)) = object.at {
                state.ids.insert(id);
                let sum = state.live.entry((arena, key.0, key.1)).or_default();
                *sum = (sum.0 + 1, sum.1 + size);
            }
        }
        state
    }
}

/// Sends an event if it is enabled, and compares the agent's record with the true state afterwards.
pub(super) fn send(event_type: Int, env: usize, data: Data) {
    let place = (event_type & !abi::REQUESTED) as usize;
    let (is_enabled, is_collecting) = with(|vm| {
        vm.sent[place] += u32::from(vm.enabled[place]);
        (vm.enabled[place], vm.is_collecting)
    });
    if !is_enabled {
        return;
    }
    let mut event = Event {
        event_type,
        env: std::ptr::without_provenance_mut(env),
        data,
    };
    let profiler = PROFILER.visit().expect("the agent is loaded");
    let recorder = profiler.value().recorder().expect("objects are recorded");
    if is_collecting {
        // During a collection, another thread may be suspended while it holds the agent's lock.
        let held = inspection::locked(recorder);
        let before = super::tests::allocations();
        notify(&mut event);
        assert_eq!(
            super::tests::allocations(),
            before,
            "event {event_type} allocates"
        );
        drop(held);
    } else {
        notify(&mut event);
    }
    // A requested event comes while the agent handles another event.
    let is_whole = event_type & abi::REQUESTED == 0 && event_type != event::JVM_SHUT_DOWN;
    if is_whole && with(|vm| vm.is_initialised) {
        compare(event_type);
    }
}

/// Passes an event to the agent.
pub(super) fn notify(event: &mut Event) {
    // SAFETY: the agent has set the function, and the event is valid.
    unsafe {
        let notify = (*INTERFACE.get()).notify_event;
        notify.expect("the agent gets events")(event);
    }
}

/// Compares the agent's record with the true state.
fn compare(event_type: Int) {
    let profiler = PROFILER.visit().expect("the agent is loaded");
    let recorder = profiler.value().recorder().expect("objects are recorded");
    let (wanted, events) = with(|vm| (vm.state(), vm.sent.iter().sum::<u32>()));
    assert_eq!(
        inspection::state(recorder),
        wanted,
        "after event {event_type}, number {events}"
    );
}

/// Sends the definition of an object.
pub(super) fn send_object(number: usize, env: usize, flag: Int) {
    let object_alloc = with(|vm| {
        let object = &vm.objects[number];
        let (arena, id) = object.at.expect("the object is alive");
        abi::ObjectAlloc {
            arena,
            class: vm.class_id(object.class),
            is_array: object.kind,
            size: object.size,
            object: id as usize,
        }
    });
    send(event::OBJECT_ALLOC | flag, env, Data { object_alloc });
}

/// Sends the definition of a class.
pub(super) fn send_class(class: usize, flag: Int) {
    let (name, id, methods) = with(|vm| {
        let known = &vm.classes[class];
        let id = vm.class_id(Some(class));
        (known.name.clone(), id, known.methods.clone())
    });
    let method = |(id, name): &(usize, CString)| abi::Method {
        name: name.as_ptr(),
        signature: c"()V".as_ptr(),
        start_line: 1,
        end_line: -1,
        id: std::ptr::without_provenance_mut(*id),
    };
    let methods_of: Vec<abi::Method> = methods.iter().map(method).collect();
    let class_load = abi::ClassLoad {
        class_name: name.as_ptr(),
        source_name: null(),
        num_interfaces: 0,
        num_methods: methods_of.len() as Int,
        methods: methods_of.as_ptr(),
        num_statics: 0,
        statics: null(),
        num_instances: 0,
        instances: null(),
        class: id,
    };
    send(event::CLASS_LOAD | flag, 0, Data { class_load });
}

/// Sends `THREAD_START`.
pub(super) fn send_thread(number: usize, flag: Int) {
    let (name, env) = with(|vm| {
        let thread = &vm.threads[number];
        (thread.name.clone(), thread.env)
    });
    let thread_start = abi::ThreadStart {
        name: name.as_ptr(),
        group: null(),
        parent: null(),
        thread: THREAD_OBJECTS + number,
        env: std::ptr::without_provenance_mut(env),
    };
    send(event::THREAD_START | flag, env, Data { thread_start });
}

/// Allocates an object in a thread. Returns the number of the object.
pub(super) fn allocate(known: Known, env: usize) -> usize {
    let number = with(|vm| {
        let number = vm.objects.len();
        let at = vm
            .collector
            .as_mut()
            .expect("no collection")
            .allocate(number);
        vm.objects.push(Known {
            at: Some(at),
            ..known
        });
        vm.held.push(true);
        number
    });
    if with(|vm| vm.is_initialised) {
        send_object(number, env, 0);
    }
    number
}

/// Runs a garbage collection.
pub(super) fn collect(random: u64) {
    let taken = with(|vm| Some((vm.collector.take()?, vm.held.clone())));
    let Some((mut collector, held)) = taken else {
        return;
    };
    let none = Data { none: [0; 9] };
    send(event::GC_START, 0, none);
    with(|vm| vm.is_collecting = true);
    collector.collect(&mut Told, &held, random);
    send(event::GC_FINISH, 0, none);
    with(|vm| {
        vm.is_collecting = false;
        vm.collector = Some(collector);
    });
}

/// The heap on which the collector works. It sends the agent the events of the collection.
struct Told;

impl Heap for Told {
    fn new_arena(&mut self, arena: i32) {
        let new_arena = abi::NewArena {
            arena,
            name: c"space".as_ptr(),
        };
        send(event::ARENA_NEW, 0, Data { new_arena });
    }

    fn delete_arena(&mut self, arena: i32) {
        with(|vm| {
            for known in &mut vm.objects {
                known.at = known.at.filter(|(at, _)| *at != arena);
            }
        });
        send(event::ARENA_DELETE, 0, Data { arena });
    }

    fn free(&mut self, number: usize) {
        let at = with(|vm| vm.objects[number].at.take());
        let (_, id) = at.expect("the object is alive");
        let object = id as usize;
        send(event::OBJECT_FREE, 0, Data { object });
    }

    fn move_to(&mut self, number: usize, arena: i32, id: u64) {
        let from = with(|vm| vm.objects[number].at.replace((arena, id)));
        let (from, old) = from.expect("the object is alive");
        let object_move = abi::ObjectMove {
            arena: from,
            object: old as usize,
            new_arena: arena,
            new_object: id as usize,
        };
        send(event::OBJECT_MOVE, 0, Data { object_move });
    }

    fn is_at(&self, number: usize, arena: i32, id: u64) -> bool {
        with(|vm| vm.objects[number].at == Some((arena, id)))
    }
}

/// Sets up a VM.
pub(super) fn set_up(collector: Collector, interface: Interface) {
    VM.set(Some(Vm {
        objects: Vec::new(),
        held: Vec::new(),
        classes: Vec::new(),
        threads: Vec::new(),
        collector: Some(collector),
        is_initialised: false,
        enabled: [false; event::COUNT],
        is_collecting: false,
        sent: [0; event::COUNT],
    }));
    INTERFACE.set(Box::into_raw(Box::new(interface)));
}

/// Returns the interface of the VM.
pub(super) fn interface() -> *mut Interface {
    INTERFACE.get()
}

/// Sends the events of the arenas, which come before all other events.
pub(super) fn send_arenas() {
    let mut collector = with(|vm| vm.collector.take()).expect("no collection");
    collector.begin(&mut Told);
    with(|vm| vm.collector = Some(collector));
}

/// Removes the VM. No event may be sent afterwards.
pub(super) fn stop() {
    VM.set(None);
    // SAFETY: `set_up` has leaked the interface, and the agent is gone.
    drop(unsafe { Box::from_raw(INTERFACE.replace(null_mut())) });
}
