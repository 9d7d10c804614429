//! Runs random programs on the [simulated VM](super::simulated_vm), with each kind of collector.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::fs;
use std::ptr::null;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use loadhook_jvm::jvmpi::{self as abi, Data, Int, event};
use loadhook_profile::Profile;
use loadhook_profile::format::pprof;
use loadhook_testkit::collectors::Collector;
use proptest::collection::vec;
use proptest::prelude::*;

use super::notify::PROFILER;
use super::simulated_functions::start;
use super::simulated_vm::{self as vm, Class, Known, Thread, send, with};
use crate::jvmpi::inspection::{self, Count, NEEDED, OPTIONAL};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The allocator of the tests, which counts the allocations of each thread.
struct Counting;

// SAFETY: all calls are passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no counter any more.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns how often this thread has allocated or freed memory.
pub(super) fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// A step of a program. A number picks one of the existing threads, classes or objects.
#[derive(Clone, Copy, Debug)]
enum Step {
    Allocate { size: u8, pick: usize },
    Drop(usize),
    Collect(u64),
    LoadClass(usize),
    UnloadClass(usize),
    StartThread,
    EndThread(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (any::<u8>(), any::<usize>()).prop_map(|(size, pick)| Step::Allocate { size, pick }),
        4 => any::<usize>().prop_map(Step::Drop),
        2 => any::<u64>().prop_map(Step::Collect),
        1 => any::<usize>().prop_map(Step::LoadClass),
        1 => any::<usize>().prop_map(Step::UnloadClass),
        1 => Just(Step::StartThread),
        1 => any::<usize>().prop_map(Step::EndThread),
    ];
    vec(step, 0..60)
}

/// The ids of methods, or of threads, that are free again.
#[derive(Default)]
struct FreeIds(Vec<usize>);

impl FreeIds {
    /// Returns an id that was freed, or a new one.
    fn take(&mut self, new: usize) -> usize {
        self.0.pop().unwrap_or(new)
    }
}

/// A program, with the ids that its next methods and threads may get.
#[derive(Default)]
struct Program {
    methods: FreeIds,
    threads: FreeIds,
    counts_references: bool,
}

impl Program {
    /// Adds a class whose class object exists already. The caller must send the event about the class.
    fn add_class(&mut self, name: String, object: usize) {
        let methods = with(|vm| {
            let count: usize = vm.classes.iter().map(|class| class.methods.len()).sum();
            let method = |number: usize| {
                let id = self.methods.take(0x9000_0000 + 16 * (count + number));
                (id, CString::new(format!("m{number}")).unwrap())
            };
            (0..2).map(method).collect()
        });
        let name = CString::new(name).unwrap();
        let class = Class {
            name,
            object,
            methods,
            is_loaded: true,
        };
        with(|vm| vm.classes.push(class));
    }

    fn start_thread(&mut self) {
        let number = with(|vm| {
            let number = vm.threads.len();
            vm.threads.push(Thread {
                env: self.threads.take(0x7000_0000 + 64 * number),
                name: CString::new(format!("thread-{}", number % 3)).unwrap(),
                is_alive: true,
                stack: Vec::new(),
            });
            number
        });
        // The first thread is reported when the agent requests it.
        if number > 0 {
            vm::send_thread(number, 0);
        }
    }

    /// Starts the VM. If `is_early` is true, the VM reports objects before their classes.
    fn begin(&mut self, is_early: bool) {
        vm::send_arenas();
        let object = |class, size| Known {
            class,
            kind: 0,
            size,
            place: String::new(),
            at: None,
        };
        for (number, name) in ["java.lang.Class", "a.Program"].into_iter().enumerate() {
            let mirror = vm::allocate(object((number > 0).then_some(0), 100), 0);
            self.add_class(name.to_owned(), mirror);
            vm::allocate(object(Some(number), 24), 0);
        }
        self.start_thread();
        let objects = || {
            (0..4)
                .rev()
                .for_each(|number| vm::send_object(number, 0, 0))
        };
        let classes = || (0..2).for_each(|class| vm::send_class(class, 0));
        if is_early {
            objects();
            classes();
        } else {
            classes();
            objects();
        }
        with(|vm| vm.is_initialised = true);
        send(event::JVM_INIT_DONE, 0, Data { none: [0; 9] });
    }

    /// Allocates an object on a stack that `pick` chooses.
    fn allocate(&self, class: Option<usize>, kind: Int, size: Int, mut pick: usize) -> usize {
        let mut choose = |count: usize| {
            let chosen = pick % count;
            pick /= count;
            chosen
        };
        let (env, place) = with(|vm| {
            let alive: Vec<usize> = (0..vm.threads.len())
                .filter(|at| vm.threads[*at].is_alive)
                .collect();
            let thread = alive[choose(alive.len())];
            let loaded: Vec<usize> = (1..vm.classes.len())
                .filter(|at| vm.classes[*at].is_loaded)
                .collect();
            let mut stack = Vec::new();
            let mut names = Vec::new();
            for _ in 0..choose(4) {
                let (class, method) = (loaded[choose(loaded.len())], choose(2));
                let line = choose(3) as Int;
                stack.push((class, method, line));
                let class = &vm.classes[class];
                let (class, method) = (&class.name, &class.methods[method].1);
                names.push(format!(
                    "{}.{}:{line}",
                    class.to_string_lossy(),
                    method.to_string_lossy()
                ));
            }
            names.reverse();
            let thread = &mut vm.threads[thread];
            thread.stack = stack;
            let name = thread.name.to_string_lossy();
            (thread.env, format!("{name}: {}", names.join(" > ")))
        });
        let known = Known {
            class,
            kind,
            size,
            place,
            at: None,
        };
        vm::allocate(known, env)
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Allocate { size, pick } => {
                let (class, kind) = with(|vm| {
                    let loaded: Vec<usize> = (1..vm.classes.len())
                        .filter(|at| vm.classes[*at].is_loaded)
                        .collect();
                    let class = loaded[pick % loaded.len()];
                    [(Some(class), 0), (Some(class), 2), (None, 10)][pick / 7 % 3]
                });
                self.allocate(class, kind, size.into(), pick);
            }
            Step::Drop(pick) => {
                let is_mirror = with(|vm| {
                    let number = pick % vm.objects.len();
                    let mut classes = vm.classes.iter();
                    let is_mirror = classes.any(|class| class.is_loaded && class.object == number);
                    vm.held[number] &= is_mirror;
                    is_mirror
                });
                if self.counts_references && !is_mirror {
                    vm::collect(0);
                }
            }
            Step::Collect(random) => vm::collect(random),
            Step::LoadClass(pick) => {
                let mirror = self.allocate(Some(0), 0, 96, pick);
                let number = with(|vm| vm.classes.len());
                self.add_class(format!("a.C{number}"), mirror);
                vm::send_class(number, 0);
            }
            Step::UnloadClass(pick) => self.unload_class(pick),
            Step::StartThread => self.start_thread(),
            Step::EndThread(pick) => {
                let env = with(|vm| {
                    let number = pick % vm.threads.len();
                    let thread = &mut vm.threads[number];
                    let ends = number > 0 && std::mem::take(&mut thread.is_alive);
                    ends.then_some(thread.env)
                });
                if let Some(env) = env {
                    send(event::THREAD_END, env, Data { none: [0; 9] });
                    self.threads.0.push(env);
                }
            }
        }
    }

    /// Unloads a class, unless there are objects of this class.
    fn unload_class(&mut self, pick: usize) {
        let unloaded = with(|vm| {
            let number = pick % vm.classes.len();
            let is_used = |known: &Known| known.at.is_some() && known.class == Some(number);
            let class = &mut vm.classes[number];
            if number < 2 || !class.is_loaded || vm.objects.iter().any(is_used) {
                return None;
            }
            class.is_loaded = false;
            self.methods
                .0
                .extend(class.methods.iter().map(|(id, _)| *id));
            vm.held[class.object] = false;
            let (_, id) = vm.objects[class.object].at.expect("the object is alive");
            Some(id as usize)
        });
        if let Some(object) = unloaded {
            send(event::CLASS_UNLOAD, 0, Data { object });
        }
    }
}

/// Returns the allocated and the live objects of a profile, by type and place.
fn sites(profile: &Profile) -> BTreeMap<(String, String), (Count, Count)> {
    let allocations = profile.allocations.as_ref().expect("allocations");
    let count =
        |amount: loadhook_profile::Amount| (amount.objects as u64, amount.bytes.unwrap() as u64);
    let mut sites = BTreeMap::new();
    for site in &allocations.sites {
        let mut names = Vec::new();
        let mut frame = site.frame;
        while let Some(at) = frame {
            let it = allocations.frames[at as usize];
            let method = &profile.methods[it.method as usize];
            names.push(format!(
                "{}.{}:{}",
                method.class,
                method.name,
                it.line.unwrap_or(0)
            ));
            frame = it.parent;
        }
        names.reverse();
        let thread = &profile.threads[site.thread as usize].name;
        let key = (
            site.type_name.to_string(),
            format!("{thread}: {}", names.join(" > ")),
        );
        let sum: &mut (Count, Count) = sites.entry(key).or_default();
        let (allocated, live) = (count(site.allocated), count(site.live));
        sum.0 = (sum.0.0 + allocated.0, sum.0.1 + allocated.1);
        sum.1 = (sum.1.0 + live.0, sum.1.1 + live.1);
    }
    sites
}

/// Runs `body` in a VM, and returns the profile that the agent writes at the end of the VM. Only one VM runs at a time,
/// because a process has one agent.
fn in_vm(collector: Collector, body: impl FnOnce()) -> Profile {
    static ONE: Mutex<()> = Mutex::new(());
    let _held = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("profile.pb.gz");
    let options = format!(
        "timing=none,alloc=live=exact,quiet=true,file={}",
        file.display()
    );
    start(collector, &CString::new(options).unwrap());
    body();
    send(event::JVM_SHUT_DOWN, 0, Data { none: [0; 9] });
    let withdrawn = PROFILER
        .withdraw(Duration::ZERO)
        .expect("the agent is idle");
    withdrawn.free();
    pprof::read(&fs::read(file).expect("a profile")[..]).expect("a profile")
}

/// Runs a program, and compares its profile with the true state of the VM. Returns how often the VM sent each event.
fn run(collector: Collector, steps: &[Step], is_early: bool) -> [u32; event::COUNT] {
    let mut program = Program {
        counts_references: collector.counts_references(),
        ..Program::default()
    };
    let profile = in_vm(collector, || {
        program.begin(is_early);
        steps.iter().for_each(|step| program.run(*step));
    });
    let state = with(|vm| vm.state());
    let mut wanted = BTreeMap::new();
    for (key, allocated) in state.allocated {
        wanted.insert(key, (allocated, (0, 0)));
    }
    for ((_, type_name, place), live) in state.live {
        if !place.is_empty() {
            let (_, sum) = wanted
                .get_mut(&(type_name, place))
                .expect("it was allocated");
            *sum = (sum.0 + live.0, sum.1 + live.1);
        }
    }
    assert_eq!(sites(&profile), wanted);
    assert_eq!(profile.header.notes.len(), 1, "{:?}", profile.header.notes);
    let sent = with(|vm| vm.sent);
    vm::stop();
    sent
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_heap_is_that_of_the_vm_after_every_event(steps in steps(), is_early in any::<bool>()) {
        for collector in Collector::all() {
            run(collector, &steps, is_early);
        }
    }
}

/// The simulated VM sends each event of the heap. Otherwise the comparisons above would prove nothing.
#[test]
fn every_event_of_the_heap_comes() {
    let mut steps = vec![Step::LoadClass(1), Step::StartThread, Step::EndThread(1)];
    steps.extend((0..20).map(|pick| Step::Allocate { size: 24, pick }));
    steps.extend((4..12).map(Step::Drop));
    steps.extend([Step::Collect(1), Step::Collect(2)]);
    steps.extend((4..60).map(Step::Drop));
    steps.extend([Step::Collect(3), Step::Collect(4), Step::UnloadClass(2)]);
    let sent = Collector::all().map(|collector| run(collector, &steps, true));
    for event in NEEDED.into_iter().chain(OPTIONAL) {
        let all = sent.iter().map(|sent| sent[event as usize]);
        assert!(all.sum::<u32>() > 0, "event {event}");
    }
}

/// Makes events that no VM should send: about objects, arenas or methods that do not exist, or at a wrong moment.
fn nonsense() -> [(Int, Data); 9] {
    let null_class = abi::ClassLoad {
        class_name: null(),
        source_name: null(),
        num_interfaces: -1,
        num_methods: -1,
        methods: null(),
        num_statics: -1,
        statics: null(),
        num_instances: -1,
        instances: null(),
        class: 0,
    };
    let object_move = abi::ObjectMove {
        arena: 1,
        object: 7,
        new_arena: -5,
        new_object: 9,
    };
    let hook = abi::ClassLoadHook {
        data: b"no class".as_ptr(),
        len: 8,
        new_data: null(),
        new_len: 0,
        malloc: None,
    };
    [
        (
            event::CLASS_LOAD,
            Data {
                class_load: null_class,
            },
        ),
        (event::CLASS_UNLOAD, Data { object: 12345 }),
        (event::OBJECT_FREE, Data { object: 0 }),
        (event::OBJECT_MOVE, Data { object_move }),
        (event::ARENA_DELETE, Data { arena: 99 }),
        (event::GC_FINISH, Data { none: [0; 9] }),
        (event::THREAD_END, Data { none: [0; 9] }),
        (
            event::CLASS_LOAD_HOOK,
            Data {
                class_load_hook: hook,
            },
        ),
        (
            !abi::REQUESTED,
            Data {
                none: [u64::MAX; 9],
            },
        ),
    ]
}

/// Events that no VM should send change nothing but a note in the profile.
#[test]
fn nonsense_is_noted() {
    let profile = in_vm(
        Collector::all().into_iter().next().expect("a collector"),
        || {
            Program::default().begin(false);
            let before = with(|vm| vm.state());
            with(|vm| vm.is_initialised = false);
            for (event, data) in nonsense() {
                let env: *mut c_void = std::ptr::without_provenance_mut(64);
                let mut event = abi::Event {
                    event_type: event,
                    env,
                    data,
                };
                vm::notify(&mut event);
            }
            let after = {
                let profiler = PROFILER.visit().expect("the agent is loaded");
                inspection::state(profiler.value().recorder().expect("objects are recorded"))
            };
            assert_eq!(after.live, before.live);
            assert_eq!(
                after.faults, 2,
                "the unknown arena, and the end of no collection"
            );
        },
    );
    vm::stop();
    let notes = profile.header.notes.join("\n");
    assert!(
        notes.contains("2 events of collections were lost or contradict"),
        "{notes}"
    );
}
