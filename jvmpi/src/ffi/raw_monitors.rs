//! Raw monitors. They are the layer's own, because those of JVM TI cannot be made before the JVM is initialised.

use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::layer;
use super::own;
use crate::abi::{self, Data, EnvId, Int, event};

/// A raw monitor.
pub(super) struct RawMonitor {
    pub(super) name: CString,
    /// False if the name begins with an underscore. Such a monitor has no events.
    is_told: bool,
    state: Mutex<State>,
    free: Condvar,
    notified: Condvar,
}

/// The threads that use a monitor.
#[derive(Default)]
pub(super) struct State {
    /// Token of the thread that owns the monitor; 0 if no thread does.
    owner: usize,
    /// Environment of the owner.
    pub(super) owner_env: usize,
    pub(super) entries: u32,
    /// Environments of the threads that wait to enter.
    pub(super) entering: Vec<usize>,
    /// Environments of the threads that wait to be notified.
    pub(super) waiting: Vec<usize>,
    /// Number of notifications so far. A waiting thread goes on when this number changes.
    generation: u64,
}

/// All monitors by address. A destroyed monitor stays in memory, because another thread may be in a call of it.
static MONITORS: RwLock<BTreeMap<usize, &'static RawMonitor>> = RwLock::new(BTreeMap::new());

fn env() -> EnvId {
    layer::current_jni().map_or(null_mut(), layer::id)
}

/// Returns a number by which the calling thread is known: no other living thread has the same number. A virtual thread
/// has a number of its own, because another carrier may run it before it leaves a monitor.
fn token() -> usize {
    match layer::mounted().addr() {
        0 => own::token(),
        id => id,
    }
}

/// Returns all monitors.
pub(super) fn all() -> Vec<&'static RawMonitor> {
    let monitors = MONITORS.read().unwrap_or_else(PoisonError::into_inner);
    monitors.values().copied().collect()
}

/// Finds the monitor with this id.
pub(super) fn find(id: *const c_void) -> Option<&'static RawMonitor> {
    let monitors = MONITORS.read().unwrap_or_else(PoisonError::into_inner);
    monitors.get(&id.addr()).copied()
}

/// Makes a monitor.
pub(super) fn create(name: CString) -> *const c_void {
    let monitor: &'static RawMonitor = Box::leak(Box::new(RawMonitor {
        is_told: !name.as_bytes().starts_with(b"_"),
        name,
        state: Mutex::default(),
        free: Condvar::new(),
        notified: Condvar::new(),
    }));
    let id = monitor.id();
    let mut monitors = MONITORS.write().unwrap_or_else(PoisonError::into_inner);
    monitors.insert(id.addr(), monitor);
    id
}

/// Destroys a monitor. If the calling thread owns it, the thread leaves it first.
pub(super) fn destroy(id: *const c_void) {
    if let Some(monitor) = find(id) {
        monitor.leave_wholly();
        let mut monitors = MONITORS.write().unwrap_or_else(PoisonError::into_inner);
        monitors.remove(&id.addr());
    }
}

impl RawMonitor {
    pub(super) fn id(&self) -> *const c_void {
        std::ptr::from_ref(self).cast()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event_type: Int, env: EnvId) {
        let wanted = layer::wanted(event_type);
        if self.is_told && wanted != 0 && !env.is_null() {
            let raw_monitor = abi::RawMonitor {
                name: self.name.as_ptr(),
                id: self.id(),
            };
            layer::send(wanted, event_type, env, Data { raw_monitor });
        }
    }

    pub(super) fn enter(&self) {
        let me = token();
        let env = env();
        {
            let mut state = self.state();
            if state.owner == me || state.owner == 0 {
                state.own(me, env);
                return;
            }
            state.entering.push(env.addr());
        }
        self.tell(event::RAW_MONITOR_CONTENDED_ENTER, env);
        {
            let mut state = self.acquired(self.state());
            state.own(me, env);
            State::leave_list(&mut state.entering, env.addr());
        }
        self.tell(event::RAW_MONITOR_CONTENDED_ENTERED, env);
    }

    /// Waits until nobody owns the monitor.
    fn acquired<'m>(&'m self, state: MutexGuard<'m, State>) -> MutexGuard<'m, State> {
        self.free
            .wait_while(state, |state| state.owner != 0)
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn exit(&self) {
        let env = env();
        let is_contended = {
            let mut state = self.state();
            if state.owner != token() {
                return;
            }
            state.entries -= 1;
            if state.entries > 0 {
                return;
            }
            state.owner = 0;
            state.owner_env = 0;
            self.free.notify_one();
            !state.entering.is_empty()
        };
        if is_contended {
            self.tell(event::RAW_MONITOR_CONTENDED_EXIT, env);
        }
    }

    fn leave_wholly(&self) {
        let mut state = self.state();
        if state.owner == token() {
            state.owner = 0;
            state.entries = 0;
            self.free.notify_all();
        }
    }

    /// Waits to be notified, at most for `milliseconds`; without limit if this is 0. Returns at once if the calling
    /// thread does not own the monitor, or if the time is negative.
    pub(super) fn wait(&self, milliseconds: i64) {
        let me = token();
        let env = env();
        let mut state = self.state();
        if state.owner != me || milliseconds < 0 {
            return;
        }
        let entries = state.entries;
        state.owner = 0;
        state.owner_env = 0;
        state.entries = 0;
        state.waiting.push(env.addr());
        self.free.notify_one();
        let generation = state.generation;
        let end = u64::try_from(milliseconds).ok().filter(|ms| *ms > 0);
        let end = end.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
        while state.generation == generation {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            state = match left {
                Some(left) if left.is_zero() => break,
                Some(left) => {
                    let waited = self.notified.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self
                    .notified
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
        State::leave_list(&mut state.waiting, env.addr());
        let mut state = self.acquired(state);
        state.own(me, env);
        state.entries = entries;
    }

    pub(super) fn notify_all(&self) {
        let mut state = self.state();
        if state.owner == token() {
            state.generation += 1;
            self.notified.notify_all();
        }
    }
}

impl State {
    fn own(&mut self, token: usize, env: EnvId) {
        self.owner = token;
        self.owner_env = env.addr();
        self.entries += 1;
    }

    fn leave_list(list: &mut Vec<usize>, env: usize) {
        if let Some(place) = list.iter().position(|it| *it == env) {
            list.swap_remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_monitor_is_owned_by_one_thread_at_a_time() {
        static COUNT: Mutex<u64> = Mutex::new(0);
        let id = create(c"_count".to_owned()).expose_provenance();
        let add = move || {
            let monitor = find(std::ptr::with_exposed_provenance(id)).expect("the monitor");
            for _ in 0..1_000 {
                monitor.enter();
                monitor.enter();
                let before = *COUNT.lock().unwrap();
                thread::yield_now();
                *COUNT.lock().unwrap() = before + 1;
                monitor.exit();
                monitor.exit();
            }
        };
        let threads: Vec<_> = (0..3).map(|_| thread::spawn(add)).collect();
        threads.into_iter().for_each(|it| it.join().unwrap());
        assert_eq!(*COUNT.lock().unwrap(), 3_000);
        destroy(std::ptr::with_exposed_provenance(id));
        assert!(find(std::ptr::with_exposed_provenance(id)).is_none());
    }

    #[test]
    fn waiting_leaves_the_monitor_and_comes_back() {
        let id = create(c"_wait".to_owned());
        let monitor = find(id).expect("the monitor");
        monitor.wait(0);
        monitor.exit();
        monitor.notify_all();
        monitor.enter();
        monitor.enter();
        let notifier = thread::spawn(move || {
            monitor.enter();
            monitor.notify_all();
            monitor.exit();
        });
        monitor.wait(0);
        notifier.join().unwrap();
        assert_eq!(monitor.state().entries, 2);
        monitor.wait(1);
        assert_eq!(monitor.state().entries, 2);
    }
}
