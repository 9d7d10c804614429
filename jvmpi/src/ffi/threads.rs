//! Threads by JNI environment. The address of the environment is the thread's id.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockWriteGuard};

use loadhook_jvm::jni::{Field, Jni};
use loadhook_jvm::reference::Local;

use super::announcing::{self, of_thread};
use super::calls::Calls;
use super::layer::{self, Receiver};
use super::thread_record::{Aside, Thread, Virtual, Waiting, Waits};
use super::{own, virtual_ids};
use crate::abi::EnvId;

/// The state that only the thread itself uses. While a carrier runs a virtual thread that profilers see, it is the state
/// of the virtual thread. The fields that every entry and exit of a method reads are next to each other.
#[repr(C)]
pub(super) struct Own {
    /// The receiver of methods' events for which `calls` is up to date.
    pub(super) receiver: Cell<Receiver>,
    /// The calls of methods that have begun and not ended.
    pub(super) calls: Calls,
    /// The id by which profilers know the thread.
    shown: Cell<EnvId>,
    /// JNI's environment of the thread; 0 while the thread has no record.
    env: Cell<usize>,
    record: RefCell<Option<Arc<Thread>>>,
    /// The state of the carrier, while it runs a virtual thread.
    carrier: RefCell<Option<Aside>>,
    /// The processor time that virtual threads had on this carrier.
    carried: Cell<i64>,
    /// The number of the last beginning of methods' events (`methods::begin`) when `calls` was used.
    pub(super) beginning: Cell<u32>,
    /// The waits to enter monitors. Borrowed only while no event is sent.
    pub(super) entering: RefCell<Waits>,
    /// The present `Object.wait`, while there is one.
    pub(super) waiting: Cell<Option<Waiting>>,
}

thread_local! {
    static OWN: Own = const {
        Own {
            receiver: Cell::new(Receiver::NONE),
            calls: Calls::new(),
            shown: Cell::new(null_mut()),
            env: Cell::new(0),
            record: RefCell::new(None),
            carrier: RefCell::new(None),
            carried: Cell::new(0),
            beginning: Cell::new(0),
            entering: RefCell::new(Waits::new()),
            waiting: Cell::new(None),
        }
    };
}

/// The state of a thread, by the thread's environment of JNI. A virtual thread has the place of its carrier. Threads
/// share no line of the processor's cache.
#[repr(align(64))]
struct Place {
    env: AtomicUsize,
    own: AtomicPtr<Own>,
}

/// Places of the threads' states, by a hash of the environment. Each event looks here, because that is faster than a
/// thread-local variable of a library. A thread that finds its place taken has only its thread-local variable.
static PLACES: [Place; 1 << PLACE_BITS] = [const {
    Place {
        env: AtomicUsize::new(0),
        own: AtomicPtr::new(null_mut()),
    }
}; 1 << PLACE_BITS];
const PLACE_BITS: u32 = 12;

/// Threads by environment. `None` stands for a thread that has ended while the JVM's list of threads was read.
static THREADS: RwLock<Option<HashMap<usize, Option<Arc<Thread>>>>> = RwLock::new(None);
/// `Thread.eetop`, the address of the JVM's thread.
static EETOP: OnceLock<Field> = OnceLock::new();
/// The distance in bytes from the address in `Thread.eetop` to the thread's JNI environment, which is the same for all
/// threads.
static DISTANCE: OnceLock<isize> = OnceLock::new();

fn changing() -> RwLockWriteGuard<'static, Option<HashMap<usize, Option<Arc<Thread>>>>> {
    THREADS.write().unwrap_or_else(PoisonError::into_inner)
}

fn known(env: EnvId) -> Option<Arc<Thread>> {
    let threads = THREADS.read().unwrap_or_else(PoisonError::into_inner);
    threads.as_ref()?.get(&env.addr()).cloned().flatten()
}

/// Runs `body` with the state of the calling thread. Returns `None` if the thread has not started, or has ended.
///
/// Must be called before the JVM has shut down. Afterwards the JVM reports no end of a thread, so a new thread that
/// gets the environment of an ended thread would find the state of the ended thread.
#[inline]
pub(super) fn on_own<T>(env: EnvId, body: impl FnOnce(&Own) -> T) -> Option<T> {
    let own = match placed(env) {
        Some(own) => own,
        None => find_own(env)?,
    };
    // SAFETY: the calling thread has this environment. A thread that had it before has left the place in its
    // `ThreadEnd`, which comes as long as the JVM has not shut down. The state stays where it is, and leaves its place
    // before it is dropped.
    Some(body(unsafe { &*own }))
}

/// Like [`on_own`], for a thread that has a place; `None` for others.
#[inline(always)]
pub(super) fn on_placed<T>(env: EnvId, body: impl FnOnce(&Own) -> T) -> Option<T> {
    // SAFETY: as in `on_own`.
    placed(env).map(|own| body(unsafe { &*own }))
}

#[inline(always)]
fn placed(env: EnvId) -> Option<*const Own> {
    let place = place(env.addr());
    let is_own = place.env.load(Ordering::Relaxed) == env.addr();
    is_own.then(|| place.own.load(Ordering::Relaxed).cast_const())
}

/// Finds the state of the calling thread without its place.
#[cold]
fn find_own(env: EnvId) -> Option<*const Own> {
    let find = |own: &Own| {
        (own.env.get() == env.addr() || own.adopt(env)).then_some(std::ptr::from_ref(own))
    };
    OWN.try_with(find).ok().flatten()
}

#[inline]
fn place(env: usize) -> &'static Place {
    // Environments are 1,024 bytes or more apart, on JDK 11 multiples of 2,048. Those of threads that native code attaches
    // are often 64 MB apart, in arenas of the C library: for these is the last term. A product would take longer.
    let hash = env ^ env >> PLACE_BITS ^ env >> (PLACE_BITS + 10);
    let offset = hash & ((PLACES.len() - 1) * size_of::<Place>());
    // SAFETY: it is the offset of a place.
    unsafe { &*PLACES.as_ptr().byte_add(offset) }
}

/// Returns whether the calling thread has started and has not ended.
pub(super) fn is_started(env: EnvId) -> bool {
    on_own(env, |_| ()).is_some()
}

impl Own {
    /// Takes the record of the calling thread. Returns whether there is one.
    #[cold]
    fn adopt(&self, env: EnvId) -> bool {
        let Some(thread) = known(env) else {
            return false;
        };
        // Another thread may still be sending the `THREAD_START` of this thread.
        announcing::wait_for(of_thread(env.addr()));
        self.leave_place();
        self.env.set(env.addr());
        self.shown.set(env);
        self.record.replace(Some(thread));
        let place = place(env.addr());
        let taken = place
            .env
            .compare_exchange(0, env.addr(), Ordering::Acquire, Ordering::Relaxed);
        if taken.is_ok() {
            // Only this thread reads the address.
            let own = std::ptr::from_ref(self).cast_mut();
            place.own.store(own, Ordering::Relaxed);
        }
        true
    }

    /// Leaves the place of the state.
    fn leave_place(&self) {
        let env = self.env.replace(0);
        let place = place(env);
        if env != 0 && place.env.load(Ordering::Relaxed) == env {
            place.env.store(0, Ordering::Release);
        }
    }

    /// Returns the id by which profilers know the thread.
    #[inline]
    pub(super) fn shown(&self) -> EnvId {
        self.shown.get()
    }

    fn forget(&self) {
        self.leave_place();
        self.shown.set(null_mut());
        self.carried.set(0);
        self.record.replace(None);
        self.calls.clear();
        self.entering.replace(Waits::new());
        self.waiting.set(None);
    }
}

impl Own {
    /// Mounts a virtual thread: replaces the state of the carrier, whose environment is `env`, by that of a virtual thread.
    /// Does nothing while a profiler is told of an entry or exit, see [`Own::unmount`].
    pub(super) fn mount(&self, thread: &Arc<Thread>, env: EnvId) {
        let Some(part) = thread.virtual_part.as_ref() else {
            return;
        };
        if self.shown.get().addr() == thread.env || self.calls.is_telling() {
            return;
        }
        self.put_back();
        part.env.set_carrier(env);
        let mut aside = std::mem::take(&mut *part.aside());
        aside.record = Some(thread.clone());
        self.exchange(&mut aside);
        self.carrier.replace(Some(aside));
        self.show(std::ptr::with_exposed_provenance_mut(thread.env));
        part.meter.start();
    }

    /// Unmounts the virtual thread, if there is one. Does nothing while a profiler is told of an entry or exit: then a
    /// native method is on the stack, which keeps the virtual thread on the carrier. If it tries to leave, the JVM
    /// reports an unmount and a mount. The calls must stay, since their mark keeps the profiler from being told of more.
    pub(super) fn unmount(&self) {
        if !self.calls.is_telling() {
            self.put_back();
        }
    }

    /// Puts the state of the carrier back. Returns `None` if the thread runs no virtual thread.
    fn put_back(&self) -> Option<()> {
        let mut aside = self.carrier.take()?;
        self.exchange(&mut aside);
        let env: EnvId = std::ptr::with_exposed_provenance_mut(self.env.get());
        self.show(env);
        let thread = aside.record.take()?;
        let part = thread.virtual_part.as_ref()?;
        self.carried.set(self.carried.get() + part.meter.stop());
        *part.aside() = aside;
        Some(())
    }

    /// Sets the id by which profilers know the thread.
    fn show(&self, id: EnvId) {
        self.shown.set(id);
        let is_carrier = id.addr() == self.env.get();
        layer::set_mounted(if is_carrier { null_mut() } else { id });
    }

    fn exchange(&self, aside: &mut Aside) {
        aside.record = self.record.replace(aside.record.take());
        self.calls.swap(&aside.calls);
        aside.beginning = self.beginning.replace(aside.beginning);
        self.receiver.set(Receiver::NONE);
        std::mem::swap(&mut *self.entering.borrow_mut(), &mut aside.entering);
        aside.waiting = self.waiting.replace(aside.waiting);
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.leave_place();
    }
}

/// Finds the thread with this environment; `None` if it has ended or never was.
pub(super) fn find(env: EnvId) -> Option<Arc<Thread>> {
    with(env, Arc::clone)
}

/// Runs `body`, which sends no event, with the thread of this environment.
pub(super) fn with<T>(env: EnvId, body: impl FnOnce(&Arc<Thread>) -> T) -> Option<T> {
    let mut body = Some(body);
    let found = OWN.try_with(|own| {
        let record = own.record.borrow();
        let thread = record.as_ref().filter(|it| it.env == env.addr())?;
        body.take().map(|body| body(thread))
    });
    match found.ok().flatten() {
        Some(result) => Some(result),
        None => known(env).and_then(|thread| body.map(|body| body(&thread))),
    }
}

/// Returns all threads.
pub(super) fn all() -> Vec<Arc<Thread>> {
    let threads = THREADS.read().unwrap_or_else(PoisonError::into_inner);
    let threads = threads.iter().flat_map(HashMap::values);
    threads.flatten().cloned().collect()
}

/// Returns a profiler's storage for the thread with this environment.
pub(super) fn storage(env: EnvId, profiler: usize) -> *mut c_void {
    let load = |thread: &Arc<Thread>| thread.storage[profiler].load(Ordering::Acquire);
    with(env, load).unwrap_or(null_mut())
}

/// Sets a profiler's storage for the thread of this environment.
pub(super) fn set_storage(env: EnvId, profiler: usize, value: *mut c_void) {
    with(env, |thread| {
        thread.storage[profiler].store(value, Ordering::Release);
    });
}

/// Returns whether `thread`, which waits or has waited, is a virtual thread that has left its carrier in order to wait.
pub(super) fn has_left_carrier(jni: Jni<'_>, thread: Local<'_>) -> bool {
    /// The version from which on monitors do not hold up carriers.
    const WITHOUT_PINNING: u32 = 24;
    own::java_version() >= WITHOUT_PINNING
        && with(layer::id(jni), |carrier| {
            !jni.is_same(carrier.object(), thread)
        }) == Some(true)
}

/// Learns the fields of `Thread`, and the distance between `Thread.eetop` and the environment, from the calling thread
/// `thread`.
pub(super) fn learn(jni: Jni<'_>, thread: Local<'_>) {
    let Ok(class) = jni.find_class(c"java/lang/Thread") else {
        return;
    };
    virtual_ids::learn(jni, class);
    let Ok(eetop) = jni.field(class, c"eetop", c"J") else {
        return;
    };
    if let Ok(address) = jni.long_field(thread, eetop) {
        let _ = DISTANCE.set((jni.env.addr() as isize).wrapping_sub(address as isize));
        let _ = EETOP.set(eetop);
    }
}

/// Returns the environment of a thread; null if the thread has none, or is a virtual thread that profilers do not see.
pub(super) fn env_of(jni: Jni<'_>, thread: Local<'_>) -> EnvId {
    let (Some(eetop), Some(distance)) = (EETOP.get(), DISTANCE.get()) else {
        return null_mut();
    };
    if thread.is_null() {
        return null_mut();
    }
    match jni.long_field(thread, *eetop) {
        Ok(address) if address != 0 => {
            std::ptr::with_exposed_provenance_mut((address as usize).wrapping_add_signed(*distance))
        }
        Ok(_) => virtual_ids::find(jni, thread),
        Err(_) => null_mut(),
    }
}

fn record(
    jni: Jni<'_>,
    env: usize,
    object: Local<'_>,
    virtual_part: Option<Box<Virtual>>,
) -> Option<Arc<Thread>> {
    let object = own::global(jni, object)?;
    Some(Arc::new(Thread::new(env, object, virtual_part)))
}

/// Returns the record of a virtual thread, and makes it if there is none. To be called by the carrier that runs the
/// thread.
pub(super) fn of_virtual(jni: Jni<'_>, object: Local<'_>) -> Option<Arc<Thread>> {
    if let Some(thread) = known(virtual_ids::find(jni, object)) {
        return Some(thread);
    }
    let part = Box::new(Virtual::new());
    // A profiler may use the environment as soon as other threads see the record.
    part.env.set_carrier(jni.env.cast());
    let env = part.env();
    let thread = record(jni, env, object, Some(part))?;
    changing()
        .get_or_insert_default()
        .insert(env, Some(thread.clone()));
    virtual_ids::add(jni, object, env);
    Some(thread)
}

/// Returns a processor time in nanoseconds: that of the virtual thread that the calling thread runs; if it runs none,
/// that of the calling thread, without the virtual threads that it has run.
pub(super) fn own_cpu_time() -> i64 {
    let time = OWN.try_with(|own| {
        let record = own.record.borrow();
        match record.as_ref().and_then(|it| it.virtual_part.as_ref()) {
            Some(part) => part.meter.read(),
            None => own::cpu_time() - own.carried.get(),
        }
    });
    time.unwrap_or_else(|_| own::cpu_time())
}

/// Adds the threads that run already. This is called once, because the JVM reports the start of every later thread.
pub(super) fn add_listed(jni: Jni<'_>) {
    let Some(jvmti) = layer::jvmti() else {
        return;
    };
    for object in jvmti.threads(jni).unwrap_or_default() {
        let env = env_of(jni, object);
        if let Some(thread) = record(jni, env.addr(), object, None).filter(|_| !env.is_null()) {
            let mut threads = changing();
            if let Entry::Vacant(place) = threads.get_or_insert_default().entry(env.addr()) {
                place.insert(Some(thread));
            }
        }
    }
    if let Some(threads) = changing().as_mut() {
        threads.retain(|_, thread| thread.is_some());
    }
}

/// Adds the calling thread, which has started. A record of an older thread with the same environment is replaced.
pub(super) fn started(jni: Jni<'_>, object: Local<'_>) -> Option<Arc<Thread>> {
    let env = layer::id(jni);
    let mut new = None;
    loop {
        let before = known(env);
        if let Some(thread) = before
            .as_ref()
            .filter(|it| jni.is_same(it.object(), object))
        {
            return Some(thread.clone());
        }
        let thread = match new.take() {
            Some(thread) => thread,
            None => record(jni, env.addr(), object, None)?,
        };
        let mut threads = changing();
        let place = threads
            .get_or_insert_default()
            .entry(env.addr())
            .or_default();
        if place.as_ref().map(Arc::as_ptr) == before.as_ref().map(Arc::as_ptr) {
            *place = Some(thread.clone());
            return Some(thread);
        }
        new = Some(thread);
    }
}

/// Removes the calling thread, which ends. Waits until no profiler holds the thread suspended.
pub(super) fn ended(jni: Jni<'_>) {
    let env = layer::id(jni);
    // Held until the lock below is free again, because the last owner deletes a reference.
    let thread = find(env);
    if let Some(thread) = &thread {
        thread.suspension.end();
    }
    let _ = OWN.try_with(|own| {
        if own.put_back().is_none() {
            own.forget();
        }
    });
    let mut threads = changing();
    if let Some(threads) = threads.as_mut() {
        if layer::is_running() {
            threads.remove(&env.addr());
        } else {
            threads.insert(env.addr(), None);
        }
    }
}

/// Returns the environment of the thread of `object`; null if `object` is no thread or has no environment.
pub(super) fn env_of_object(jni: Jni<'_>, object: Local<'_>) -> EnvId {
    let is_thread = jni
        .find_class(c"java/lang/Thread")
        .is_ok_and(|class| jni.is_instance(object, class));
    if is_thread {
        env_of(jni, object)
    } else {
        null_mut()
    }
}
