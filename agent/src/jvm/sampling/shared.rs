//! Data that the signal handler shares with the rest of the engine.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::blocks::Blocks;
use super::code_map::CodeMap;
use super::method_table::MethodTable;
use super::reclaim::{Desks, zeroed};
use super::ring::Ring;
use super::vm_structs::VmStructs;

/// Number of words of the ring: 4 MB, enough for about 8,000 samples.
const RING: usize = 1 << 19;

/// The number of records in a block, and the maximum number of blocks.
const BLOCK: usize = 64;
const BLOCKS: usize = 1024;

/// File descriptors from this number on cannot be used for performance events.
const FILES: usize = 1 << 16;

/// The tables of the engine. They live until the agent leaves, or until the process ends.
pub(super) struct Shared {
    pub(super) structs: VmStructs,
    /// The map of the code cache; empty before the first event about code.
    pub(super) code: OnceLock<CodeMap>,
    pub(super) methods: MethodTable,
    pub(super) desks: Desks,
    pub(super) ring: Ring,
    pub(super) interval_ns: u64,
    /// Nanoseconds of processor time that samples have taken from the threads of the program.
    pub(super) spent_ns: AtomicU64,
    records: Blocks<ThreadRecord, BLOCK>,
    /// Indexes of records plus 1, by the file descriptors of their performance events.
    files: Box<[AtomicU32]>,
}

/// The data of a sampled thread that the signal handler needs. After the thread has ended, the record is used for
/// another thread.
#[derive(Default)]
pub(super) struct ThreadRecord {
    /// The thread's number.
    pub(super) number: AtomicU32,
    /// The lowest address of the thread's stack, and the first address behind it.
    pub(super) stack_low: AtomicUsize,
    pub(super) stack_high: AtomicUsize,
    /// The address of the `JavaThread`.
    pub(super) java_thread: AtomicUsize,
    /// With performance events: samples stand for the thread's processor time up to this value, in nanoseconds.
    pub(super) sampled_to: AtomicU64,
    /// True while the thread is sampled. A signal that comes while this is false does nothing.
    pub(super) is_armed: AtomicBool,
}

impl Shared {
    pub(super) fn new(structs: VmStructs, interval_ns: u64) -> Self {
        Shared {
            structs,
            code: OnceLock::new(),
            methods: MethodTable::new(),
            desks: Desks::new(),
            ring: Ring::new(RING),
            interval_ns,
            spent_ns: AtomicU64::new(0),
            records: Blocks::new(BLOCKS),
            files: zeroed(FILES),
        }
    }

    /// Returns the record at an index; `None` if the record and its neighbours in the block were never in use.
    pub(super) fn record(&self, index: u32) -> Option<&ThreadRecord> {
        self.records.get(index as usize)
    }

    /// Returns the record at an index, and makes the record if it does not exist. `None` if the index is too large.
    pub(super) fn make_record(&self, index: u32) -> Option<&ThreadRecord> {
        self.records
            .get_or_make(index as usize, ThreadRecord::default)
    }

    /// Returns the record of the thread whose performance events have this file descriptor.
    pub(super) fn record_of_file(&self, file: i32) -> Option<&ThreadRecord> {
        let file = self.files.get(usize::try_from(file).ok()?)?;
        self.record(file.load(Ordering::Acquire).checked_sub(1)?)
    }

    /// Notes that a file descriptor belongs to a performance event of the thread whose record is `index`. If `index` is
    /// `None`, forgets the descriptor. Returns whether the descriptor is low enough to be noted.
    pub(super) fn set_file(&self, file: i32, index: Option<u32>) -> bool {
        let place = usize::try_from(file)
            .ok()
            .and_then(|file| self.files.get(file));
        let Some(place) = place else {
            return false;
        };
        place.store(index.map_or(0, |index| index + 1), Ordering::Release);
        true
    }
}
