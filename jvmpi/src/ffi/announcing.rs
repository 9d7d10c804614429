//! Definitions that are being sent. An object, class or thread counts as announced as soon as a thread begins to
//! send its definition. Another thread that meets the id waits until the profilers have received the definition.
//!
//! A number stands for each definition. Definitions of objects, classes and threads differ in the low bits of
//! their numbers: the id of an object is a multiple of 16, and [`of_class`] and [`of_thread`] set a bit.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::own;

/// The definitions that are being sent.
static SENDING: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
/// The length of [`SENDING`], which can be read without the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);
static SENT: Condvar = Condvar::new();
/// The low bits, by which the numbers of objects, classes and threads differ.
const KIND: usize = 15;
/// The longest wait during which no definition is sent. The sending thread may make no progress: a profiler may
/// have suspended it, or it may wait for a lock that the profiler holds in the thread that waits here. The time belongs
/// to the entry, not to the thread that waits: otherwise each of many threads would wait so long, one after another.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 60_000 } else { 100 });

#[derive(Clone, Copy)]
struct Entry {
    first: usize,
    last: usize,
    /// Token of the thread that sends the definitions.
    sender: usize,
    /// When the time of [`PATIENCE`] began; `None` if it begins with the first thread that waits.
    since: Option<Instant>,
}

impl Entry {
    /// Returns whether a value of [`Sending`] made this entry. A thread that waits may have set the time.
    fn is(&self, made: &Entry) -> bool {
        (self.first, self.last, self.sender) == (made.first, made.last, made.sender)
    }

    fn is_awaited(&self, id: usize, by: usize) -> bool {
        let is_of_kind = (self.first ^ id) & KIND == 0;
        is_of_kind && (self.first..=self.last).contains(&id) && self.sender != by
    }

    /// Returns how much longer threads wait.
    fn patience(&mut self, now: Instant) -> Duration {
        let since = *self.since.get_or_insert(now);
        PATIENCE.saturating_sub(now.saturating_duration_since(since))
    }
}

/// Marks definitions as being sent, until this value is dropped.
pub(super) struct Sending(Entry);

fn sending() -> MutexGuard<'static, Vec<Entry>> {
    SENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the number that stands for the `CLASS_LOAD` of a class. The id of the class stands for its
/// `OBJECT_ALLOC`.
pub(super) fn of_class(id: usize) -> usize {
    id | 1
}

/// Returns the number that stands for the `THREAD_START` of the thread with this environment.
pub(super) fn of_thread(env: usize) -> usize {
    env | 2
}

/// Returns the number for which the `THREAD_END` of the thread with this environment waits. A dump that names threads
/// marks this number.
pub(super) fn of_end(env: usize) -> usize {
    env | 4
}

/// Returns the number for which the `MONITOR_CONTENDED_ENTER` of the thread with this environment waits: that of an
/// earlier `MONITOR_CONTENDED_EXIT` of the thread.
pub(super) fn of_exit(env: usize) -> usize {
    env | 6
}

/// Marks the definition of `id` as being sent by the calling thread. Must be called before other threads can see
/// the id.
pub(super) fn begin(id: usize) -> Sending {
    begin_all(id, id)
}

/// Marks the `THREAD_START` of the thread with this environment as being sent by the calling thread. The patience of
/// other threads begins now: a dump asks for many threads, and must not wait for one after another if no `THREAD_START`
/// makes progress.
pub(super) fn begin_thread(env: usize) -> Sending {
    add(of_thread(env), of_thread(env), Some(Instant::now()))
}

/// Marks the definitions of the objects from `first` to `last` as being sent by the calling thread. The patience of other
/// threads begins with the first one that waits.
pub(super) fn begin_all(first: usize, last: usize) -> Sending {
    add(first, last, None)
}

fn add(first: usize, last: usize, since: Option<Instant>) -> Sending {
    let entry = Entry {
        first,
        last,
        sender: own::token(),
        since,
    };
    let mut sending = sending();
    sending.push(entry);
    COUNT.store(sending.len(), Ordering::SeqCst);
    Sending(entry)
}

impl Sending {
    /// Removes the mark from the objects before `id`, whose definitions have been sent. The patience of other threads
    /// begins anew.
    pub(super) fn sent_before(&mut self, id: usize) {
        if let Some(entry) = sending().iter_mut().find(|it| it.is(&self.0)) {
            entry.first = id;
            entry.since = None;
        }
        self.0.first = id;
        SENT.notify_all();
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let mut sending = sending();
        if let Some(place) = sending.iter().position(|it| it.is(&self.0)) {
            sending.swap_remove(place);
        }
        COUNT.store(sending.len(), Ordering::SeqCst);
        drop(sending);
        SENT.notify_all();
    }
}

/// Waits until no other thread is sending the definition of `id`. Returns false if one still is after [`PATIENCE`].
#[inline]
pub(super) fn wait_for(id: usize) -> bool {
    COUNT.load(Ordering::SeqCst) == 0 || wait(id)
}

#[cold]
fn wait(id: usize) -> bool {
    let me = own::token();
    let mut held = sending();
    loop {
        let now = Instant::now();
        let awaited = held.iter_mut().filter(|it| it.is_awaited(id, me));
        let Some(left) = awaited.map(|it| it.patience(now)).max() else {
            return true;
        };
        if left.is_zero() {
            return false;
        }
        let waited = SENT.wait_timeout(held, left);
        (held, _) = waited.unwrap_or_else(PoisonError::into_inner);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn another_thread_waits_for_a_definition() {
        let definition = begin(16);
        // The thread that sends does not wait for itself, and no thread waits for another id.
        wait_for(16);
        let (begun, begins) = mpsc::channel();
        let other = thread::spawn(move || {
            wait_for(32);
            begun.send(Instant::now()).expect("the first thread waits");
            wait_for(16);
            Instant::now()
        });
        let began = begins
            .recv()
            .expect("the other thread waits for no other id");
        thread::sleep(Duration::from_millis(20));
        let sent = Instant::now();
        drop(definition);
        let ended = other.join().expect("the other thread");
        assert!(ended >= sent && ended - began < PATIENCE);
    }

    #[test]
    fn nobody_waits_for_a_definition_of_a_walk_that_was_sent() {
        let mut walk = begin_all(0x100, usize::MAX);
        walk.sent_before(0x120);
        let other = thread::spawn(|| {
            let began = Instant::now();
            wait_for(0x110);
            wait_for(of_class(0x130));
            wait_for(of_thread(0x138));
            began.elapsed()
        });
        assert!(other.join().expect("the other thread") < PATIENCE);
    }

    #[test]
    fn an_entry_holds_up_all_threads_together_for_a_limited_time() {
        let mut entry = Entry {
            first: 16,
            last: 16,
            sender: 0,
            since: None,
        };
        let began = Instant::now();
        assert_eq!(entry.patience(began), PATIENCE);
        assert_eq!(entry.patience(began + PATIENCE / 4), PATIENCE * 3 / 4);
        assert_eq!(entry.patience(began + PATIENCE), Duration::ZERO);
        assert_eq!(entry.patience(began + PATIENCE * 2), Duration::ZERO);
    }
}
