//! The table of the threads that are sampled.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use super::arrivals::{Arrival, Departure, Serial};
use super::forest::Forest;
use super::owner::OwnerNumber;
use super::stack_tree::NameNumber;
use super::visit::Visit;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::Global;
use crate::jvm::sampling::{SampledThread, ThreadNumber, thread_clock_ns};

/// A thread of the program.
pub(super) struct Record {
    pub(super) serial: Serial,
    pub(super) thread: Global,
    pub(super) id: Option<u64>,
    pub(super) name: String,
    pub(super) tid: Option<u32>,
    pub(super) sampled: Option<SampledThread>,
    /// The owner of the thread's times; `None` before it has times.
    pub(super) owner: Option<OwnerNumber>,
    /// The last visit to the thread.
    pub(super) visit: Visit,
    /// The thread's processor time at the moment when the thread was noted.
    pub(super) begun_cpu_ns: u64,
    /// The times of all samples of the thread together.
    pub(super) sampled_ns: u64,
    /// The thread's processor time at its last sample at a safepoint.
    pub(super) sampled_cpu_ns: u64,
    /// The time of the thread's last sample at a safepoint.
    pub(super) sampled_at: Instant,
    /// The stack of the thread's last sample at a safepoint.
    pub(super) last_stack: Vec<NameNumber>,
    /// The thread's processor time at the beginning of the present pause. `None` outside of pauses, and for a thread
    /// that has started during the pause.
    pub(super) paused_cpu_ns: Option<u64>,
    /// Set when the thread has ended.
    pub(super) departure: Option<Departure>,
}

impl Record {
    /// Returns the processor time of an ended thread minus the times of its samples, in nanoseconds. `cpu_ns` is the
    /// whole processor time of the thread; if it is `None`, returns 0.
    pub(super) fn unsampled_ns(&self, cpu_ns: Option<u64>) -> i64 {
        let Some(cpu_ns) = cpu_ns else {
            return 0;
        };
        let ran = cpu_ns.saturating_sub(self.begun_cpu_ns);
        ran.cast_signed()
            .saturating_sub(self.sampled_ns.cast_signed())
    }

    /// Returns the processor time up to which the thread's times count, when a pause is under way.
    pub(super) fn counted_cpu_ns(&self) -> u64 {
        self.paused_cpu_ns.unwrap_or(self.begun_cpu_ns)
    }

    /// Leaves out all time since the pause has begun. `cpu_ns` is the thread's present processor time.
    pub(super) fn resume(&mut self, now: Instant, cpu_ns: u64, delay_ns: Option<u64>) {
        let paused_ns = cpu_ns.saturating_sub(self.counted_cpu_ns());
        self.begun_cpu_ns += paused_ns;
        self.sampled_cpu_ns = cpu_ns;
        self.sampled_at = now;
        self.last_stack.clear();
        self.visit = Visit::first(now, cpu_ns, delay_ns);
        self.paused_cpu_ns = None;
    }

    /// Returns the thread's processor time; `None` if the thread has ended. If the thread's system id is known, this
    /// asks the system: the JVM would ask the system, too, and take several times as long.
    pub(super) fn cpu_ns(&self, jvmti: Jvmti) -> Option<u64> {
        match self.sampled {
            Some(sampled) => thread_clock_ns(sampled.tid),
            None => u64::try_from(jvmti.thread_cpu_time(self.thread.local())).ok(),
        }
    }

    /// Returns the owner of the thread's times. Adds an owner if the thread has none.
    pub(super) fn owner(&mut self, forest: &mut Forest) -> OwnerNumber {
        *self
            .owner
            .get_or_insert_with(|| forest.begin(self.name.as_str().into(), self.id))
    }
}

/// The sampled threads, including ended threads whose last samples were not read yet.
#[derive(Default)]
pub(super) struct Table {
    records: Vec<Record>,
    by_serial: HashMap<Serial, usize>,
    by_number: HashMap<ThreadNumber, Serial>,
    /// Index of the record that was visited last. The next visit goes to the following record.
    next: usize,
    /// Index of the record whose name is read next.
    next_name: usize,
    /// System ids of the threads that have ended since the last call of [`take_tids`](Self::take_tids).
    ended_tids: Vec<u32>,
}

impl Table {
    pub(super) fn add(&mut self, arrival: Arrival) {
        let serial = arrival.serial;
        self.by_serial.insert(serial, self.records.len());
        if let Some(sampled) = arrival.sampled {
            self.by_number.insert(sampled.number, serial);
        }
        self.records.push(Record {
            serial,
            thread: arrival.thread,
            id: arrival.id,
            name: arrival.name,
            tid: arrival.tid,
            sampled: arrival.sampled,
            owner: None,
            visit: Visit::first(arrival.at, arrival.cpu_ns, arrival.delay_ns),
            begun_cpu_ns: arrival.cpu_ns,
            sampled_ns: 0,
            sampled_cpu_ns: arrival.cpu_ns,
            sampled_at: arrival.at,
            last_stack: Vec::new(),
            paused_cpu_ns: None,
            departure: None,
        });
    }

    /// Notes that a thread has ended.
    pub(super) fn depart(&mut self, departure: Departure) {
        if let Some(at) = self.by_serial.get(&departure.serial) {
            let record = &mut self.records[*at];
            self.ended_tids.extend(record.tid);
            record.departure = Some(departure);
        }
    }

    /// Removes the ended threads, and returns their records.
    pub(super) fn take_departed(&mut self) -> Vec<Record> {
        let mut departed = Vec::new();
        let mut at = 0;
        while at < self.records.len() {
            if self.records[at].departure.is_none() {
                at += 1;
                continue;
            }
            let record = self.records.swap_remove(at);
            self.by_serial.remove(&record.serial);
            if let Some(sampled) = record.sampled {
                self.by_number.remove(&sampled.number);
            }
            if let Some(moved) = self.records.get(at) {
                self.by_serial.insert(moved.serial, at);
            }
            departed.push(record);
        }
        departed
    }

    /// Finds the thread with this number of the asynchronous engine.
    pub(super) fn of_number(&mut self, number: ThreadNumber) -> Option<&mut Record> {
        let serial = self.by_number.get(&number)?;
        self.records.get_mut(*self.by_serial.get(serial)?)
    }

    /// Returns the next thread in turn that has not ended.
    pub(super) fn next(&mut self) -> Option<&mut Record> {
        for _ in 0..self.records.len() {
            self.next = (self.next + 1) % self.records.len();
            if self.records[self.next].departure.is_none() {
                return self.records.get_mut(self.next);
            }
        }
        None
    }

    /// Returns the next threads in turn whose names are to be read again, at most `most`.
    pub(super) fn next_to_rename(&mut self, most: usize) -> impl Iterator<Item = &mut Record> {
        let len = self.records.len();
        let first = if self.next_name < len {
            self.next_name
        } else {
            0
        };
        let behind = len.min(first + most);
        self.next_name = behind;
        self.records[first..behind].iter_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns the records of all threads.
    pub(super) fn all(&mut self) -> &mut [Record] {
        &mut self.records
    }

    /// Returns the system ids of all live threads, and of the threads that have ended since the last call.
    pub(super) fn take_tids(&mut self) -> HashSet<u32> {
        let ended = std::mem::take(&mut self.ended_tids);
        let alive = self.records.iter().filter_map(|record| record.tid);
        alive.chain(ended).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_left_out() {
        let mut table = Table::default();
        table.add(Arrival::of_test(1));
        let record = table.next().expect("a thread");
        record.sampled_ns = 70;
        record.paused_cpu_ns = Some(100);
        record.resume(Instant::now(), 5000, None);
        assert_eq!(record.unsampled_ns(Some(5010)), 40);
        assert_eq!((record.sampled_cpu_ns, record.visit.cpu_ns), (5000, 5000));
    }

    #[test]
    fn all_threads_have_their_names_read_in_turn() {
        let mut table = Table::default();
        for number in 0..5 {
            table.add(Arrival::of_test(number));
        }
        let mut read = |most| -> Vec<u64> {
            let records = table.next_to_rename(most);
            records.filter_map(|record| record.id).collect()
        };
        assert_eq!(read(2), [0, 1]);
        assert_eq!(read(2), [2, 3]);
        assert_eq!(read(2), [4]);
        assert_eq!(read(1000), [0, 1, 2, 3, 4]);
        assert_eq!(read(1000), [0, 1, 2, 3, 4]);
        assert_eq!(Table::default().next_to_rename(2).count(), 0);
    }
}
