//! Keeps the sampled threads and their timers.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::sample::{SamplingSettings, ThreadNumber};
use super::shared::{Shared, ThreadRecord};
use super::timers::{Timer, thread_clock_ns};

/// The data of a thread in the JVM and in the operating system.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadWords {
    pub(super) tid: i32,
    pub(super) java_thread: usize,
    pub(super) stack_low: usize,
    pub(super) stack_high: usize,
}

/// A sampled thread.
struct Live {
    index: u32,
    number: ThreadNumber,
    /// `None` during a pause.
    timer: Option<Timer>,
}

impl Live {
    /// Returns the file descriptor of the thread's performance event, if it has one.
    fn file(&self) -> Option<i32> {
        self.timer.as_ref()?.file()
    }
}

/// All sampled threads.
pub(super) struct Threads {
    live: HashMap<i32, Live>,
    /// Indexes of records that are free.
    free: Vec<u32>,
    next_index: u32,
    next_number: u32,
    /// System ids of the threads that ended before all threads of `VMInit` were armed; `None` after that.
    ended: Option<HashSet<i32>>,
    /// Number of threads that could not be sampled, because they got no timer.
    untimed: u64,
    is_stopped: bool,
    /// True while no thread has a timer.
    is_paused: bool,
    random: u64,
}

impl Default for Threads {
    fn default() -> Self {
        Threads {
            live: HashMap::new(),
            free: Vec::new(),
            next_index: 0,
            next_number: 0,
            ended: Some(HashSet::new()),
            untimed: 0,
            is_stopped: false,
            is_paused: false,
            random: 0x9E37_79B9_7F4A_7C15 ^ u64::from(std::process::id()),
        }
    }
}

impl Threads {
    /// Starts to sample a thread. Returns `None` if the thread cannot be sampled, or has already ended.
    pub(super) fn arm(
        &mut self,
        shared: &Shared,
        settings: &SamplingSettings,
        signal: i32,
        thread: ThreadWords,
        is_own: bool,
    ) -> Option<ThreadNumber> {
        // The calling thread has not ended, even if `ended` has its id: the system may give it the id of an ended
        // thread.
        let has_ended = match &mut self.ended {
            Some(ended) => ended.remove(&thread.tid) && !is_own,
            None => false,
        };
        if self.is_stopped || has_ended {
            return None;
        }
        self.disarm(shared, thread.tid);
        let index = self.free.pop().unwrap_or_else(|| {
            self.next_index += 1;
            self.next_index - 1
        });
        let number = ThreadNumber(self.next_number);
        self.next_number += 1;
        let armed = shared.make_record(index).is_some_and(|record| {
            record.number.store(number.0, Ordering::Relaxed);
            record.stack_low.store(thread.stack_low, Ordering::Relaxed);
            record
                .stack_high
                .store(thread.stack_high, Ordering::Relaxed);
            record
                .java_thread
                .store(thread.java_thread, Ordering::Relaxed);
            let timer = if self.is_paused {
                None
            } else {
                record.is_armed.store(true, Ordering::Release);
                let timer = self.timer(shared, settings, signal, thread.tid, index);
                if timer.is_none() {
                    record.is_armed.store(false, Ordering::Release);
                    return false;
                }
                timer
            };
            let live = Live {
                index,
                number,
                timer,
            };
            self.live.insert(thread.tid, live);
            true
        });
        if !armed {
            self.untimed += 1;
            self.free.push(index);
        }
        armed.then_some(number)
    }

    /// Makes and starts a timer.
    fn timer(
        &mut self,
        shared: &Shared,
        settings: &SamplingSettings,
        signal: i32,
        tid: i32,
        index: u32,
    ) -> Option<Timer> {
        let interval = settings.interval;
        let timer = Timer::new(settings.clock_source, tid, index, signal, interval).ok()?;
        // The first interval is random. Otherwise threads that do the same would be sampled at the same moments, and
        // short-lived threads would have no samples.
        let interval_ns = interval.as_nanos().max(1) as u64;
        let first_ns = self.random() % interval_ns;
        if let Some(record) = shared.record(index)
            && timer.file().is_some()
        {
            // As with a POSIX timer, the first sample stands for a whole interval, and in addition for the time by
            // which it is late.
            let now = thread_clock_ns(tid)?;
            let to = now.wrapping_add(first_ns).wrapping_sub(interval_ns);
            record.sampled_to.store(to, Ordering::Relaxed);
        }
        if let Some(file) = timer.file()
            && !shared.set_file(file, Some(index))
        {
            return None;
        }
        let first = Duration::from_nanos(first_ns);
        if timer.start(first, interval).is_err() {
            if let Some(file) = timer.file() {
                shared.set_file(file, None);
            }
            return None;
        }
        Some(timer)
    }

    /// Returns the next number of a xorshift generator.
    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// Stops sampling a thread that ends.
    pub(super) fn end(&mut self, shared: &Shared, tid: i32) -> Option<ThreadNumber> {
        if let Some(ended) = &mut self.ended {
            ended.insert(tid);
        }
        self.disarm(shared, tid)
    }

    fn disarm(&mut self, shared: &Shared, tid: i32) -> Option<ThreadNumber> {
        let live = self.live.remove(&tid)?;
        if let Some(record) = shared.record(live.index) {
            record.is_armed.store(false, Ordering::SeqCst);
        }
        if let Some(file) = live.file() {
            shared.set_file(file, None);
        }
        drop(live.timer);
        self.free.push(live.index);
        Some(live.number)
    }

    /// Stops all timers for ever.
    pub(super) fn stop(&mut self, shared: &Shared) {
        self.is_stopped = true;
        let all: Vec<i32> = self.live.keys().copied().collect();
        for tid in all {
            self.disarm(shared, tid);
        }
    }

    /// Stops all timers until [`resume`](Self::resume) is called.
    pub(super) fn pause(&mut self, shared: &Shared) {
        self.is_paused = true;
        for live in self.live.values_mut() {
            if let Some(record) = shared.record(live.index) {
                record.is_armed.store(false, Ordering::SeqCst);
            }
            if let Some(file) = live.file() {
                shared.set_file(file, None);
            }
            live.timer = None;
        }
    }

    /// Gives all threads timers again, after [`pause`](Self::pause).
    pub(super) fn resume(&mut self, shared: &Shared, settings: &SamplingSettings, signal: i32) {
        self.is_paused = false;
        for live in self.live.values() {
            if let Some(record) = shared.record(live.index) {
                record.is_armed.store(true, Ordering::Release);
            }
        }
        self.change_signal(shared, settings, signal);
    }

    /// Gives all threads new timers, which send another signal.
    pub(super) fn change_signal(
        &mut self,
        shared: &Shared,
        settings: &SamplingSettings,
        signal: i32,
    ) {
        if self.is_paused {
            return;
        }
        let all: Vec<(i32, u32)> = self
            .live
            .iter()
            .map(|(tid, live)| (*tid, live.index))
            .collect();
        for (tid, index) in all {
            let old = self.live.get(&tid).and_then(Live::file);
            if let Some(file) = old {
                shared.set_file(file, None);
            }
            match self.timer(shared, settings, signal, tid, index) {
                Some(timer) => {
                    if let Some(live) = self.live.get_mut(&tid) {
                        live.timer = Some(timer);
                    }
                }
                None => {
                    self.untimed += 1;
                    self.disarm(shared, tid);
                }
            }
        }
    }

    /// Returns the record of the sampled thread with this system id.
    pub(super) fn record<'s>(&self, shared: &'s Shared, tid: i32) -> Option<&'s ThreadRecord> {
        shared.record(self.live.get(&tid)?.index)
    }

    /// Notes that all threads that existed at `VMInit` are armed. From now on, each thread arms itself when it starts.
    pub(super) fn all_are_armed(&mut self) {
        self.ended = None;
    }

    /// Returns the number of threads that could not be sampled, because they got no timer.
    pub(super) fn untimed(&self) -> u64 {
        self.untimed
    }
}
