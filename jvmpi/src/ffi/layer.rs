//! The old profilers of this JVM, their enabled events, and how events get to them.

use std::cell::Cell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use loadhook_jvm::jni::Jni;
use loadhook_jvm::jvmti::Jvmti;
use loadhook_jvm::sys::{self, JNI_VERSION_10};
use loadhook_jvm::vm;

use crate::abi::{Data, EnvId, Event, Int, Interface, MethodId, event};

/// Maximum number of profilers in a JVM. Functions of JVMPI are not told which profiler calls them, so each profiler
/// has functions of its own.
pub(super) const MOST_PROFILERS: usize = 4;

/// A set of profilers: a bit for each.
pub(super) type Profilers = u8;

/// `NotifyEvent` of a profiler.
type Notify = unsafe extern "C" fn(*mut Event);

/// The interface of each profiler.
static INTERFACES: [AtomicPtr<Interface>; MOST_PROFILERS] =
    [const { AtomicPtr::new(null_mut()) }; MOST_PROFILERS];
/// For each event, the profilers that have enabled it.
static ENABLED: [AtomicU8; event::COUNT] = [const { AtomicU8::new(0) }; event::COUNT];
/// For each event, the profilers that get it: none before the JVM is initialised and after it has shut down.
static WANTED: [AtomicU8; event::COUNT] = [const { AtomicU8::new(0) }; event::COUNT];
/// See [`Sole`].
static SOLE: AtomicU64 = AtomicU64::new(0);
static RUNNING: AtomicBool = AtomicBool::new(false);
static ENDING: AtomicBool = AtomicBool::new(false);
static JVMTI: OnceLock<Jvmti> = OnceLock::new();
static VM: AtomicPtr<sys::Table> = AtomicPtr::new(null_mut());

/// Remembers the JVM.
pub(super) fn set_jvm(vm: *mut sys::Table, jvmti: Jvmti) {
    VM.store(vm, Ordering::Release);
    let _ = JVMTI.set(jvmti);
}

/// Returns the real `JavaVM`; null before the first profiler is loaded.
pub(super) fn real_vm() -> *mut sys::Table {
    VM.load(Ordering::Acquire)
}

/// Returns the JVM TI environment of the layer.
pub(super) fn jvmti() -> Option<Jvmti> {
    JVMTI.get().copied()
}

/// Returns the JNI environment of this thread; `None` if the thread is not attached.
pub(super) fn current_jni<'e>() -> Option<Jni<'e>> {
    let vm = real_vm();
    if vm.is_null() {
        return None;
    }
    // SAFETY: the pointer is the JVM's, and the environment this thread's.
    unsafe { vm::interface(vm, JNI_VERSION_10).map(|env| Jni::new(env)) }
}

/// Adds the interface of a new profiler. Returns the profiler's number, which is its bit in [`Profilers`]; `None` if
/// there are too many.
pub(super) fn add(make: impl FnOnce(usize) -> *mut Interface) -> Option<usize> {
    let free = INTERFACES
        .iter()
        .position(|place| place.load(Ordering::Acquire).is_null())?;
    INTERFACES[free].store(make(free), Ordering::Release);
    Some(free)
}

/// Removes a profiler whose loading failed.
pub(super) fn remove(profiler: usize) {
    for number in 0..event::COUNT {
        set_enabled(number as Int, profiler, false);
    }
    INTERFACES[profiler].store(null_mut(), Ordering::Release);
}

/// Locks [`ENABLED`] and [`WANTED`], so that both change together.
fn changing() -> MutexGuard<'static, ()> {
    static CHANGING: Mutex<()> = Mutex::new(());
    CHANGING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Enables or disables an event for a profiler.
pub(super) fn set_enabled(event: Int, profiler: usize, enable: bool) {
    let Some(place) = ENABLED.get(event as usize) else {
        return;
    };
    let _held = changing();
    let bit = 1 << profiler;
    let who = if enable {
        place.fetch_or(bit, Ordering::SeqCst) | bit
    } else {
        place.fetch_and(!bit, Ordering::SeqCst) & !bit
    };
    if RUNNING.load(Ordering::SeqCst) {
        WANTED[event as usize].store(who, Ordering::SeqCst);
    }
    if (event::METHOD_ENTRY..=event::METHOD_EXIT).contains(&event) {
        note_sole();
    }
}

/// Begins or ends the delivery of events.
pub(super) fn set_running(running: bool) {
    let _held = changing();
    RUNNING.store(running, Ordering::SeqCst);
    for (wanted, enabled) in WANTED.iter().zip(&ENABLED) {
        let who = if running {
            enabled.load(Ordering::SeqCst)
        } else {
            0
        };
        wanted.store(who, Ordering::SeqCst);
    }
    note_sole();
}

/// The profiler that alone gets `METHOD_ENTRY` and `METHOD_EXIT`, while nobody gets `METHOD_ENTRY2`. One comparison with
/// the value that a thread has noted shows that the thread needs no steps for other cases.
///
/// From the lowest bit: 32 zeros for the number of a method, the profiler's bit (see [`Profilers`]), the number of
/// changes of these events, and a bit that is set if there is such a profiler.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Sole(pub(super) u64);

impl Sole {
    const NONE: Sole = Sole(0);
    const EXISTS: u64 = 1 << 63;
    const CHANGE: u64 = 1 << (u32::BITS + Profilers::BITS);

    #[inline(always)]
    pub(super) fn exists(self) -> bool {
        self.0 & Sole::EXISTS != 0
    }

    /// Returns the value after a change, for the present events.
    fn next(self) -> Sole {
        let change = (self.0 & !Sole::EXISTS | (Sole::CHANGE - 1)) + 1;
        let entries = wanted(event::METHOD_ENTRY);
        let exists = entries.is_power_of_two()
            && wanted(event::METHOD_EXIT) == entries
            && wanted(event::METHOD_ENTRY2) == 0;
        let bits = u64::from(entries) << u32::BITS | Sole::EXISTS;
        Sole(change & !Sole::EXISTS | if exists { bits } else { 0 })
    }
}

/// Returns the profiler that alone gets events of methods now.
#[inline(always)]
pub(super) fn sole() -> Sole {
    Sole(SOLE.load(Ordering::Acquire))
}

/// Brings [`SOLE`] up to date. To be called with the lock of [`changing`].
fn note_sole() {
    SOLE.store(sole().next().0, Ordering::Release);
}

/// The profiler to which a thread sends events of methods while this [`Sole`] is the present one.
#[derive(Clone, Copy)]
pub(super) struct Receiver {
    pub(super) sole: Sole,
    /// The function in the profiler's interface. A profiler may change it.
    notify: *const Option<Notify>,
}

impl Receiver {
    /// No profiler.
    pub(super) const NONE: Receiver = Receiver {
        sole: Sole::NONE,
        notify: &raw const NO_NOTIFY,
    };

    pub(super) fn of(sole: Sole) -> Receiver {
        let profiler = ((sole.0 >> u32::BITS) as Profilers).trailing_zeros() as usize;
        let place = INTERFACES.get(profiler);
        let interface = place.map_or(null_mut(), |place| place.load(Ordering::Acquire));
        if !sole.exists() || interface.is_null() {
            return Receiver::NONE;
        }
        // SAFETY: it is an interface, and interfaces are never freed.
        let notify = unsafe { &raw const (*interface).notify_event };
        Receiver { sole, notify }
    }

    /// Sends an event of a method to the profiler.
    #[inline(always)]
    pub(super) fn tell(&self, event_type: Int, env: EnvId, method: MethodId) {
        let data = method_data(method);
        let mut event = Event {
            event_type,
            env,
            data,
        };
        // SAFETY: interfaces are never freed.
        if let Some(notify) = unsafe { *self.notify } {
            // SAFETY: it is the profiler's function.
            unsafe { notify(&mut event) };
        }
    }
}

/// The function of a thread that sends to no profiler.
static NO_NOTIFY: Option<Notify> = None;

/// Returns whether events are delivered: from the JVM's initialisation until it has shut down.
pub(super) fn is_running() -> bool {
    RUNNING.load(Ordering::SeqCst)
}

/// Notes that the JVM is ending, so that `DisableEvent` does not change probes in loaded classes any more.
pub(super) fn set_ending() {
    ENDING.store(true, Ordering::SeqCst);
}

/// Returns whether the JVM is ending.
pub(super) fn is_ending() -> bool {
    ENDING.load(Ordering::SeqCst)
}

/// Returns the profilers that have enabled an event, even if it is not delivered yet.
pub(super) fn enabled(event: Int) -> Profilers {
    ENABLED[event as usize].load(Ordering::Relaxed)
}

/// Returns the profilers that get an event now.
#[inline]
pub(super) fn wanted(event: Int) -> Profilers {
    WANTED[event as usize].load(Ordering::Relaxed)
}

/// Returns the profilers that get the second event of a pair now. The first event was sent to `told`. A profiler that
/// has enabled both events since gets neither.
#[inline]
pub(super) fn wanted_after(second: Int, first: Int, told: Profilers) -> Profilers {
    wanted(second) & (told | !wanted(first))
}

/// Sends an event.
#[inline]
pub(super) fn send(profilers: Profilers, event_type: Int, env: EnvId, data: Data) {
    let mut event = Event {
        event_type,
        env,
        data,
    };
    let more = profilers & profilers.wrapping_sub(1);
    if more == 0 {
        send_one(profilers.trailing_zeros() as usize, &mut event);
    } else {
        send_each(profilers, &event);
    }
}

/// Sends an event to several profilers. Each gets a copy of its own, because a profiler may change the event.
#[cold]
fn send_each(profilers: Profilers, event: &Event) {
    for profiler in 0..MOST_PROFILERS {
        if profilers & (1 << profiler) != 0 {
            send_one(profiler, &mut event.clone());
        }
    }
}

/// Sends an event to one profiler, which may write into it.
#[inline]
pub(super) fn send_one(profiler: usize, event: &mut Event) {
    let interface = INTERFACES.get(profiler);
    let interface = interface.map_or(null_mut(), |it| it.load(Ordering::Acquire));
    if interface.is_null() {
        return;
    }
    // To look for an exception would take longer than the event. The method that the event is about throws it.
    let of_method = (event::METHOD_ENTRY..=event::METHOD_EXIT).contains(&event.event_type);
    // SAFETY: interfaces are never freed. The profiler has set the function before events begin.
    let Some(notify) = (unsafe { (*interface).notify_event }) else {
        return;
    };
    // SAFETY: as above.
    let mut tell = || unsafe { notify(event) };
    if of_method {
        tell();
    } else {
        without_exceptions(tell);
    }
}

/// Runs `tell`, in which a profiler may leave an exception pending. The exception is cleared: the JVM stops if it finds
/// one after some events. One that was pending before is pending afterwards, but not meanwhile.
pub(super) fn without_exceptions(tell: impl FnOnce()) {
    match current_jni() {
        None => tell(),
        Some(jni) => jni.without_exception(|| {
            tell();
            let _ = jni.unless_thrown(());
        }),
    }
}

/// Runs `body` and keeps a panic from the JVM and from the profiler.
#[inline(always)]
pub(super) fn guarded<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

thread_local! {
    static MOUNTED: Cell<EnvId> = const { Cell::new(null_mut()) };
}

/// Returns the environment of the virtual thread that the calling thread runs and that profilers see; null if there is
/// none.
pub(super) fn mounted() -> EnvId {
    MOUNTED.get()
}

/// Sets the environment of the virtual thread that the calling thread runs.
pub(super) fn set_mounted(env: EnvId) {
    MOUNTED.set(env);
}

/// Returns the id of the calling thread, whose JNI environment is `env`: this environment, or the environment of the
/// virtual thread that the calling thread runs.
pub(super) fn shown(env: *mut c_void) -> EnvId {
    let mounted = mounted();
    if mounted.is_null() { env } else { mounted }
}

/// Returns the id of the calling thread.
pub(super) fn id(jni: Jni<'_>) -> EnvId {
    shown(jni.env.cast())
}

/// Data of an event that has none.
pub(super) const NO_DATA: Data = Data { none: [0; 9] };

/// Makes the data of an event that has only an object.
pub(super) fn object_data(object: usize) -> Data {
    Data { object }
}

/// Makes the data of an event that has only a method.
pub(super) fn method_data(method: *mut c_void) -> Data {
    Data { method }
}
