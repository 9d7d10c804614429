//! Waits of threads for each other: their number and time by trace and class (`recording.rs`, `sums.rs`), from the JVM's
//! events of monitors and from probes in `LockSupport` (`lock_support.rs`, `blockers.rs`); and the owners and waiting
//! threads of monitors at a moment (`dump.rs`).

mod blockers;
mod dump;
mod frames;
pub(crate) mod lock_support;
mod recording;
mod sums;

pub(crate) use self::recording::Monitors;
