//! Waits of threads for each other: their number and time by trace and class (`recording.rs`, `sums.rs`), from the JVM's
//! events of monitors and from probes in `LockSupport` (`lock_support.rs`, `blockers.rs`), with the threads that others
//! wait for (`holders.rs`); and the owners and waiting threads of monitors at a moment (`dump.rs`). `report.rs` puts them
//! into HPROF's tables and into profiles.

mod blockers;
mod dump;
mod frames;
mod holders;
pub(crate) mod lock_support;
mod recording;
mod report;
mod sums;

pub(crate) use self::recording::{Monitors, Purpose};
pub(crate) use self::report::LockSnapshot;
