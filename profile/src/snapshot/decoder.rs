//! The tracker's snapshot: a stream of 64-bit words.
//!
//! | record | words |
//! |---|---|
//! | header | 1, version 2, timing (0 adaptive, 1 exact, 2 count, 3 sampled), clock (0 wall, 1 cpu), start in epoch ms, wall ns since, tracker bytes, overflowed calls, inside ps, outside ps, clock read ps |
//! | thread | 2, thread id or -1, kind (0 live platform thread, 1 live virtual threads merged, 2 ended group), bytes of name, name in UTF-8, eight bytes a word, first byte highest, padded with zeros |
//! | processor time | 5, processor time of the thread whose record precedes this one, in ns; absent if it is unknown |
//! | node | 3, parent's index in the thread or -1, method id or -1 for the overflow node, calls, timed calls, all ns, outermost ns, child ns, variance in ns² as the bits of a `double`, own ns by ticks, variance of the own ns by ticks in the same form |
//! | calls | 6, method id, its calls in all threads together, counted by probes that keep no tree |
//! | durations | 7, method id, a number of words, and as many words: 1024 · calls + number of the range, see [`LatencyRange`]; a method may have several such records, which add up |
//! | end | 4 |
//!
//! The header comes first and once, the end last and once, and a method has one calls record at
//! most; nodes belong to the thread before them and are numbered from 0 there, parents first. The
//! stream may be cut anywhere into pieces.

use thiserror::Error;

use crate::model::{
    Clock, Header, LatencyRange, MethodCalls, Node, ProbeCosts, ThreadKind, ThreadTree, Timing,
    Waiting,
};

/// The [`Node::method`] of an overflow node in a [`Snapshot`].
pub const OVERFLOW: u32 = u32::MAX;

/// The longest thread name accepted, in bytes. Java has no limit; this limit keeps a damaged word from causing a
/// large allocation.
const LONGEST_NAME: usize = 1 << 20;

const HEADER: i64 = 1;
const THREAD: i64 = 2;
const NODE: i64 = 3;
const END: i64 = 4;
const CPU: i64 = 5;
const CALLS: i64 = 6;
const LATENCIES: i64 = 7;

/// A decoded snapshot: a profile whose [`Node::method`] and [`MethodCalls::method`] still hold the
/// tracker's ids. [`crate::Symbols::profile`] gives them names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The header, without the fields that the tracker does not know.
    pub header: Header,
    /// The threads in the order of the stream.
    pub threads: Vec<ThreadTree>,
    /// Calls that were counted without their callers.
    pub method_calls: Vec<MethodCalls>,
    /// Timed calls by their durations, in no order; [`LatencyRange::method`] is still an id of the tracker.
    pub latencies: Vec<LatencyRange>,
}

/// The error for a word that is not valid at its position.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("bad snapshot: {what} at word {position} (value {value})")]
pub struct SnapshotError {
    /// The fault.
    pub what: &'static str,
    /// The word's position in the stream, from 0.
    pub position: u64,
    /// The word; 0 at the end of the stream.
    pub value: i64,
}

/// Decodes a snapshot piece by piece.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The words of a record that is not complete yet.
    rest: Vec<i64>,
    /// The number of words decoded so far, without those in `rest`.
    position: u64,
    started: bool,
    ended: bool,
    failed: Option<SnapshotError>,
    snapshot: Snapshot,
}

impl Decoder {
    /// Decodes the next words.
    ///
    /// # Errors
    ///
    /// Fails if a word is not valid at its position. Every later call returns the same error.
    pub fn push(&mut self, words: &[i64]) -> Result<(), SnapshotError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let mut words = words;
        // The incomplete record of the last piece is completed word by word, because only its first
        // words tell its length.
        while !self.rest.is_empty() && !words.is_empty() {
            self.rest.push(words[0]);
            words = &words[1..];
            let rest = std::mem::take(&mut self.rest);
            let used = self.record(&rest)?;
            if used == 0 {
                self.rest = rest;
            }
        }
        while !words.is_empty() {
            let used = self.record(words)?;
            if used == 0 {
                self.rest.extend_from_slice(words);
                break;
            }
            words = &words[used..];
        }
        Ok(())
    }

    /// Returns the snapshot, after its end record.
    ///
    /// # Errors
    ///
    /// Fails with an earlier error, or if the stream stops too soon.
    pub fn finish(self) -> Result<Snapshot, SnapshotError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if !self.ended {
            return Err(SnapshotError {
                what: "the stream stops before its end record",
                position: self.position + self.rest.len() as u64,
                value: 0,
            });
        }
        Ok(self.snapshot)
    }

    /// Decodes the record at the beginning of `words`. Returns its length, or 0 if it is not
    /// complete.
    fn record(&mut self, words: &[i64]) -> Result<usize, SnapshotError> {
        let mut record = Record { words, at: 0 };
        let decoded = self.decode(&mut record);
        match decoded {
            Ok(()) => {
                self.position += record.at as u64;
                Ok(record.at)
            }
            Err(Stop::Incomplete) => Ok(0),
            Err(Stop::Bad(what)) => {
                // The cursor is one word after the wrong word.
                let at = record.at.saturating_sub(1);
                let error = SnapshotError {
                    what,
                    position: self.position + at as u64,
                    value: words.get(at).copied().unwrap_or(0),
                };
                self.failed = Some(error.clone());
                Err(error)
            }
        }
    }

    fn decode(&mut self, record: &mut Record<'_>) -> Result<(), Stop> {
        let tag = record.word()?;
        if self.ended {
            return Err(Stop::Bad("a word after the end record"));
        }
        if (tag == HEADER) == self.started {
            return Err(Stop::Bad("a missing or repeated header"));
        }
        match tag {
            HEADER => {
                self.snapshot.header = header(record)?;
                self.started = true;
            }
            THREAD => self.snapshot.threads.push(thread(record)?),
            NODE => {
                let Some(thread) = self.snapshot.threads.last_mut() else {
                    return Err(Stop::Bad("a node before any thread"));
                };
                let node = node(record, thread.nodes.len())?;
                thread.nodes.push(node);
            }
            CPU => {
                let Some(thread) = self.snapshot.threads.last_mut() else {
                    return Err(Stop::Bad("a processor time before any thread"));
                };
                thread.cpu_ns = Some(record.natural("a negative processor time")?);
            }
            CALLS => self.snapshot.method_calls.push(MethodCalls {
                method: u32::try_from(record.word()?).map_err(|_| Stop::Bad("a bad method id"))?,
                calls: record.natural("a negative count")?,
                since_ns: None,
                until_ns: None,
            }),
            LATENCIES => latencies(record, &mut self.snapshot.latencies)?,
            END => self.ended = true,
            _ => return Err(Stop::Bad("an unknown record tag")),
        }
        Ok(())
    }
}

enum Stop {
    Incomplete,
    Bad(&'static str),
}

/// A cursor over the words of one record.
struct Record<'a> {
    words: &'a [i64],
    at: usize,
}

impl Record<'_> {
    fn word(&mut self) -> Result<i64, Stop> {
        let word = self.words.get(self.at).ok_or(Stop::Incomplete)?;
        self.at += 1;
        Ok(*word)
    }

    fn natural(&mut self, what: &'static str) -> Result<u64, Stop> {
        u64::try_from(self.word()?).map_err(|_| Stop::Bad(what))
    }
}

fn header(record: &mut Record<'_>) -> Result<Header, Stop> {
    if record.word()? != 2 {
        return Err(Stop::Bad("an unknown version"));
    }
    Ok(Header {
        timing: match record.word()? {
            0 => Timing::Adaptive,
            1 => Timing::Exact,
            2 => Timing::Count,
            3 => Timing::Sampled,
            _ => return Err(Stop::Bad("an unknown timing mode")),
        },
        clock: match record.word()? {
            0 => Clock::Wall,
            1 => Clock::Cpu,
            _ => return Err(Stop::Bad("an unknown clock")),
        },
        start_epoch_millis: record.word()?,
        duration_ns: record.natural("a negative duration")?,
        tracker_bytes: record.natural("a negative size")?,
        overflowed_calls: record.natural("a negative count")?,
        probe: ProbeCosts {
            inside_ps: record.natural("a negative probe cost")?,
            outside_ps: record.natural("a negative probe cost")?,
            clock_read_ps: record.natural("a negative probe cost")?,
        },
        ..Header::default()
    })
}

fn thread(record: &mut Record<'_>) -> Result<ThreadTree, Stop> {
    let id = match record.word()? {
        -1 => None,
        id => Some(u64::try_from(id).map_err(|_| Stop::Bad("a negative thread id"))?),
    };
    let kind = match record.word()? {
        0 => ThreadKind::Platform,
        1 => ThreadKind::Virtual,
        2 => ThreadKind::Ended,
        _ => return Err(Stop::Bad("an unknown kind of thread")),
    };
    let len = record.natural("a negative length")?;
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    if len > LONGEST_NAME {
        return Err(Stop::Bad("a thread name of more than 1 MiB"));
    }
    let end = record.at + len.div_ceil(8);
    let packed = record.words.get(record.at..end).ok_or(Stop::Incomplete)?;
    record.at = end;
    let bytes: Vec<u8> = packed.iter().flat_map(|word| word.to_be_bytes()).collect();
    Ok(ThreadTree {
        // Java strings can hold lone surrogates, which UTF-8 cannot.
        name: String::from_utf8_lossy(&bytes[..len]).into(),
        id,
        kind,
        cpu_ns: None,
        nodes: Vec::new(),
    })
}

fn node(record: &mut Record<'_>, index: usize) -> Result<Node, Stop> {
    let parent = match record.word()? {
        -1 => None,
        parent => match u32::try_from(parent) {
            Ok(parent) if (parent as usize) < index => Some(parent),
            _ => return Err(Stop::Bad("a parent that does not come before its node")),
        },
    };
    Ok(Node {
        parent,
        method: match record.word()? {
            -1 => OVERFLOW,
            id => u32::try_from(id).map_err(|_| Stop::Bad("a bad method id"))?,
        },
        line: None,
        calls: record.natural("a negative count")?,
        timed: record.natural("a negative count")?,
        all_ns: record.natural("a negative time")?,
        outermost_ns: record.natural("a negative time")?,
        child_ns: record.natural("a negative time")?,
        variance: variance(record)?,
        ticked_ns: record.natural("a negative time")?,
        ticked_variance: variance(record)?,
        waiting: Waiting::default(),
    })
}

fn latencies(record: &mut Record<'_>, into: &mut Vec<LatencyRange>) -> Result<(), Stop> {
    let method = u32::try_from(record.word()?).map_err(|_| Stop::Bad("a bad method id"))?;
    let count = record.natural("a negative length")?;
    if count > u64::from(LatencyRange::COUNT) {
        return Err(Stop::Bad("too many ranges"));
    }
    let before = into.len();
    for _ in 0..count {
        let range = record.natural("a negative count").and_then(|word| {
            let range = (word % 1024) as u16;
            let calls = word / 1024;
            if range >= LatencyRange::COUNT {
                return Err(Stop::Bad("an unknown range"));
            }
            Ok(LatencyRange {
                method,
                range,
                calls,
            })
        });
        match range {
            Ok(range) => into.push(range),
            Err(stop) => {
                // The record is read again when the rest has arrived.
                into.truncate(before);
                return Err(stop);
            }
        }
    }
    Ok(())
}

fn variance(record: &mut Record<'_>) -> Result<f64, Stop> {
    match f64::from_bits(record.word()?.cast_unsigned()) {
        variance if variance.is_finite() && variance >= 0.0 => Ok(variance),
        _ => Err(Stop::Bad("an invalid variance")),
    }
}

#[cfg(test)]
mod tests;
