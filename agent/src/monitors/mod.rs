//! Monitors for HPROF's tables: the time that threads waited to enter them, by trace and class (`recording.rs`), and
//! their owners and waiting threads at a moment (`dump.rs`).

mod dump;
mod frames;
mod recording;

pub(crate) use self::recording::Monitors;
