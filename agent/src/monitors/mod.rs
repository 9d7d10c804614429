//! Records waits of threads for each other: the number and time of waits by stack and class (`recording.rs`,
//! `sums.rs`). The JVM's monitor events and probes in `LockSupport` (`lock_support.rs`, `blockers.rs`) report the
//! waits. `holders.rs` finds the threads that hold a monitor or lock, and `dump.rs` reads the owners and waiting
//! threads of monitors at a moment. `events.rs` has the calls of `Object.wait` and `Thread.sleep`. `report.rs` adds
//! waits and owners to HPROF's tables and to profiles.

mod blockers;
mod dump;
mod events;
mod frames;
mod holders;
pub(crate) mod lock_support;
mod recording;
mod report;
mod sums;

pub(crate) use self::recording::{Monitors, Purpose, WaitsSoFar};
pub(crate) use self::report::LockSnapshot;
