//! Reads the JVM's performance counters about garbage collections: the cause of a collection, and the number of each
//! collector's pauses.
//!
//! Tools such as `jstat` read the counters from a file that the JVM writes. Here they are read from the JVM's memory,
//! because the file can be switched off (`-XX:+PerfDisableSharedMem`).

use std::collections::HashMap;
use std::ops::Range;

use crate::jvm::sampling::{SafeMemory, static_field};

/// The maximum size of the counters' memory that is read, in bytes. By default the JVM uses 32 KB.
const MOST_BYTES: usize = 1 << 20;

/// The prefix of the names of the counters that are used.
const PREFIX: &str = "sun.gc.";

/// Collectors with numbers below this are looked for.
const MOST_COLLECTORS: usize = 8;

/// The text of the cause while no collection is under way.
const NO_CAUSE: &str = "No GC";

/// The JVM's name for the pauses of G1's concurrent cycle.
const G1_CONCURRENT: &str = "G1 concurrent cycle pauses";

/// The cause that profiles show for the pauses of [`G1_CONCURRENT`].
const CONCURRENT_CYCLE: &str = "concurrent cycle";

/// The counters of the garbage collector.
pub(super) struct Counters {
    memory: SafeMemory,
    cause: Range<usize>,
    last_cause: Range<usize>,
    collectors: Vec<Collector>,
}

/// A collector, or a part of a collector's work whose pauses the JVM counts separately.
struct Collector {
    name: String,
    /// The address of the counter of the collector's pauses.
    invocations: usize,
}

impl Counters {
    /// Finds the counters; `None` if the JVM has none (`-XX:-UsePerfData`).
    pub(super) fn find() -> Option<Counters> {
        let memory = SafeMemory::open()?;
        let word = |field| memory.word(static_field("PerfMemory", field)?);
        let (start, end) = (word("_start")?, word("_end")?);
        let len = end.checked_sub(start).filter(|len| *len <= MOST_BYTES)?;
        Counters::at(memory, start, len)
    }

    /// Finds the counters of collectors in the memory that holds all performance counters.
    pub(super) fn at(memory: SafeMemory, start: usize, len: usize) -> Option<Counters> {
        let mut bytes = vec![0; len];
        if !memory.read(start, &mut bytes) {
            return None;
        }
        let values = values(&bytes)?;
        let place = |name: &str| {
            let value = values.get(name)?;
            Some(start + value.start..start + value.end)
        };
        // The numbers of the collectors of a JVM may have gaps.
        let mut collectors = Vec::new();
        for number in 0..MOST_COLLECTORS {
            let name = values.get(&*format!("{PREFIX}collector.{number}.name"));
            let invocations = place(&format!("{PREFIX}collector.{number}.invocations"));
            if let (Some(name), Some(invocations)) = (name, invocations) {
                collectors.push(Collector {
                    name: text(bytes.get(name.clone())?),
                    invocations: invocations.start,
                });
            }
        }
        Some(Counters {
            cause: place("sun.gc.cause")?,
            last_cause: place("sun.gc.lastCause")?,
            collectors,
            memory,
        })
    }

    /// Returns for each collector how many pauses it has had so far.
    pub(super) fn invocations(&self) -> Vec<usize> {
        let number = |collector: &Collector| self.memory.word(collector.invocations);
        self.collectors
            .iter()
            .map(|collector| number(collector).unwrap_or(0))
            .collect()
    }

    /// Returns the name of the collector whose number of pauses has grown from `before` to `after`. If several
    /// collectors ran in one pause, returns the last one, which collects the whole heap.
    pub(super) fn ran(&self, before: &[usize], after: &[usize]) -> &str {
        let numbers = self.collectors.iter().zip(before.iter().zip(after));
        let mut ran = numbers.filter(|(_, (before, after))| before != after);
        ran.next_back().map_or("", |(collector, _)| &collector.name)
    }

    /// Returns the cause of the collection that is under way or has just ended. `collector` is the name of its
    /// collector.
    pub(super) fn cause(&self, collector: &str) -> String {
        let read = |place: &Range<usize>| {
            let mut bytes = vec![0; place.len()];
            if self.memory.read(place.start, &mut bytes) {
                text(&bytes)
            } else {
                String::new()
            }
        };
        let cause = read(&self.cause);
        if cause != NO_CAUSE {
            return cause;
        }
        // G1 notes no cause for the pauses of its concurrent cycle. The counter `sun.gc.lastCause` then still has the
        // cause of another collection.
        if collector == G1_CONCURRENT {
            return CONCURRENT_CYCLE.to_owned();
        }
        read(&self.last_cause)
    }
}

/// Returns, for the name of each counter, the range of bytes that its value takes in the memory of all counters.
///
/// The memory begins with a header of 32 bytes; its entries follow one after the other (HotSpot, `perfMemory.hpp`).
fn values(bytes: &[u8]) -> Option<HashMap<&str, Range<usize>>> {
    let number = |entry: usize, offset: usize| {
        let at = entry.checked_add(offset)?;
        let number = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        usize::try_from(i32::from_ne_bytes(number)).ok()
    };
    let mut values = HashMap::new();
    let count = number(0, 28)?;
    let mut at = number(0, 24)?;
    for _ in 0..count {
        let len = number(at, 0)?;
        let entry = bytes.get(at..at.checked_add(len)?)?;
        let name = entry.get(number(at, 4)?..)?;
        let name = name.split(|byte| *byte == 0).next()?;
        let begin = number(at, 16)?;
        if let Ok(name) = std::str::from_utf8(name)
            && name.starts_with(PREFIX)
            && begin <= len
        {
            // The length of a vector is 0 for a number. A number takes the last 8 bytes of its entry.
            let elements = number(at, 8)?.min(len - begin);
            let size = if elements == 0 { len - begin } else { elements };
            values.insert(name, at + begin..at + begin + size);
        }
        // An entry without length would be read again and again.
        at = at.checked_add(len.max(1))?;
    }
    Some(values)
}

/// Returns the text before the first zero byte.
fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Makes the memory of counters with these values. A value of 8 bytes is a number, and a value of another length is
    /// a text.
    pub(in super::super) fn memory(counters: &[(&str, &[u8])]) -> Vec<u8> {
        let mut memory = vec![0; 24];
        let put = |memory: &mut Vec<u8>, numbers: &[usize]| {
            for number in numbers {
                memory.extend((*number as i32).to_ne_bytes());
            }
        };
        put(&mut memory, &[32, counters.len()]);
        for (name, value) in counters {
            let elements = if value.len() == 8 { 0 } else { value.len() };
            let begin = 20 + name.len() + 1;
            // Length, place of the name, elements, types, place of the value.
            let entry = [begin + value.len(), 20, elements, 0, begin];
            put(&mut memory, &entry);
            memory.extend(name.bytes().chain([0]));
            memory.extend(*value);
        }
        memory
    }

    #[test]
    fn values_are_found_by_their_names() {
        let memory = memory(&[
            ("sun.gc.cause", b"No GC\0"),
            ("sun.gc.full", &7_u64.to_ne_bytes()),
        ]);
        let found = values(&memory).expect("the memory is sound");
        assert_eq!(text(&memory[found["sun.gc.cause"].clone()]), "No GC");
        let number = memory[found["sun.gc.full"].clone()].try_into();
        assert_eq!(number.map(u64::from_ne_bytes).ok(), Some(7));
        for len in 0..memory.len() {
            assert!(values(&memory[..len]).is_none(), "{len}");
        }
    }
}
