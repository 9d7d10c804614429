//! The ring into which signal handlers write samples, and from which one thread reads them.
//!
//! A writer reserves words by moving `head`, and then writes them, the record's header last. The reader stops at a
//! header that is not written yet. It clears all words that it has read. A sample for which there is no room is counted
//! as lost.

use std::sync::atomic::{AtomicU64, Ordering};

use super::reclaim::zeroed;

/// The number of words of a record before its frames.
const FIXED: usize = 3;

/// How often a writer tries to reserve words. An attempt fails if another writer reserves words at the same moment.
const ATTEMPTS: usize = 128;

/// A sample as the handler writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) thread: u32,
    pub(super) weight_ns: u64,
    /// The code of the stack's end. `handler::end_of` decodes it.
    pub(super) end: u8,
}

/// The ring.
pub(super) struct Ring {
    words: Box<[AtomicU64]>,
    /// Position of the next word to reserve. Positions grow for ever. The index of a word is its position modulo the
    /// length of the ring.
    head: AtomicU64,
    /// Position of the next word to read.
    tail: AtomicU64,
    lost: AtomicU64,
}

impl Ring {
    /// Makes a ring of at least `words` words.
    pub(super) fn new(words: usize) -> Self {
        Ring {
            words: zeroed(words.next_power_of_two()),
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }

    /// Returns the word at a position.
    fn word(&self, position: u64) -> Option<&AtomicU64> {
        let mask = (self.words.len() as u64).wrapping_sub(1);
        self.words.get((position & mask) as usize)
    }

    fn reserve(&self, len: u64) -> Option<u64> {
        let mut head = self.head.load(Ordering::Relaxed);
        for _ in 0..ATTEMPTS {
            let end = head.wrapping_add(len);
            let tail = self.tail.load(Ordering::Acquire);
            if end.wrapping_sub(tail) > self.words.len() as u64 {
                return None;
            }
            match self
                .head
                .compare_exchange_weak(head, end, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return Some(head),
                Err(now) => head = now,
            }
        }
        None
    }

    /// Writes a sample with the first `count` of `frames`. If there is no room, counts the sample as lost. The signal
    /// handler calls this.
    pub(super) fn write(&self, record: Record, frames: &[AtomicU64], count: usize) {
        let frames = frames.get(..count).unwrap_or(frames);
        let len = (FIXED as u64).wrapping_add(frames.len() as u64);
        let Some(start) = self.reserve(len) else {
            self.count_lost();
            return;
        };
        let put = |index: u64, word: u64, ordering| {
            if let Some(place) = self.word(start.wrapping_add(index)) {
                place.store(word, ordering);
            }
        };
        put(1, u64::from(record.thread), Ordering::Relaxed);
        put(2, record.weight_ns, Ordering::Relaxed);
        let mut index = FIXED as u64;
        for frame in frames {
            put(index, frame.load(Ordering::Relaxed), Ordering::Relaxed);
            index = index.wrapping_add(1);
        }
        // The header is never 0, because it contains the length, which is at least three words.
        let header = len | u64::from(record.end) << 32;
        put(0, header, Ordering::Release);
    }

    /// Counts a sample that could not be written.
    pub(super) fn count_lost(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of samples that could not be written.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Returns the position after the last sample for which words were reserved.
    pub(super) fn head(&self) -> u64 {
        self.head.load(Ordering::SeqCst)
    }

    /// Returns the position of the next sample to read.
    pub(super) fn tail(&self) -> u64 {
        self.tail.load(Ordering::Relaxed)
    }

    /// Takes the oldest sample. Its frames replace the content of `frames`. Only one thread at a time may call this.
    pub(super) fn take(&self, frames: &mut Vec<u64>) -> Option<Record> {
        let start = self.tail.load(Ordering::Relaxed);
        let header = self.word(start)?.load(Ordering::Acquire);
        if header == 0 {
            return None;
        }
        let len = header & 0xffff_ffff;
        let take = |index: u64| {
            self.word(start + index)
                .map_or(0, |word| word.swap(0, Ordering::Relaxed))
        };
        take(0);
        let record = Record {
            thread: take(1) as u32,
            weight_ns: take(2),
            end: (header >> 32) as u8,
        };
        frames.clear();
        frames.extend((FIXED as u64..len).map(take));
        // `Release` makes sure that writers see the cleared words before they reserve them.
        self.tail.store(start + len, Ordering::Release);
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn words(of: &[u64]) -> Vec<AtomicU64> {
        of.iter().map(|word| AtomicU64::new(*word)).collect()
    }

    fn record(thread: u32) -> Record {
        Record {
            thread,
            weight_ns: 1_000_000,
            end: 3,
        }
    }

    #[test]
    fn samples_are_read_in_the_order_of_writing() {
        let ring = Ring::new(64);
        let mut frames = Vec::new();
        // The samples together are many times as long as the ring.
        for round in 0..100_u64 {
            ring.write(record(1), &words(&[round, 0, 7]), 3);
            ring.write(record(2), &words(&[5, 6, round]), 1);
            assert_eq!(ring.take(&mut frames), Some(record(1)));
            assert_eq!(frames, [round, 0, 7]);
            assert_eq!(ring.take(&mut frames), Some(record(2)));
            assert_eq!(frames, [5]);
            assert_eq!(ring.take(&mut frames), None);
        }
        assert_eq!(ring.lost(), 0);
        assert_eq!(ring.head(), ring.tail());
    }

    #[test]
    fn samples_without_room_are_counted() {
        let ring = Ring::new(16);
        for _ in 0..5 {
            ring.write(record(1), &words(&[1, 2]), 2);
        }
        assert_eq!(ring.lost(), 2);
        let mut frames = Vec::new();
        let taken = std::iter::from_fn(|| ring.take(&mut frames)).count();
        assert_eq!(taken, 3);
        ring.write(record(9), &words(&[1; 14]), 14);
        assert_eq!(ring.lost(), 3, "longer than the ring");
        ring.write(record(9), &words(&[1; 13]), 13);
        assert_eq!(ring.take(&mut frames), Some(record(9)));
    }

    #[test]
    fn writers_do_not_disturb_each_other() {
        const WRITERS: u64 = 4;
        const EACH: u64 = 20_000;
        let ring = Ring::new(1 << 12);
        let done = AtomicBool::new(false);
        let (mut read, mut frames) = (0, Vec::new());
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let ring = &ring;
                    scope.spawn(move || {
                        for n in 0..EACH {
                            let len = (n % 9) as usize;
                            ring.write(record(writer as u32), &words(&vec![writer + 1; len]), len);
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                writers
                    .into_iter()
                    .for_each(|writer| writer.join().unwrap());
                done.store(true, Ordering::Release);
            });
            loop {
                let at_end = done.load(Ordering::Acquire);
                while let Some(record) = ring.take(&mut frames) {
                    read += 1;
                    assert!(
                        frames
                            .iter()
                            .all(|frame| *frame == u64::from(record.thread) + 1)
                    );
                }
                if at_end {
                    break;
                }
                std::thread::yield_now();
            }
        });
        assert_eq!(read + ring.lost(), WRITERS * EACH);
        assert!(read > 0);
    }
}
