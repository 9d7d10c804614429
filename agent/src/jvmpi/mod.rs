//! The agent as a profiler in a JVM with JVMPI. It does not use JVM TI, only JVMPI's events and JNI.
//!
//! Calls are recorded in the same way as with JVM TI: `CLASS_LOAD_HOOK` passes the bytes of classes to the
//! [hook](crate::instrument::hook), and the tracker counts and times calls. Objects are recorded by JVMPI's events of allocations
//! and collections.

mod calls;
mod classes;
mod collection_log;
pub(crate) mod events;
#[cfg(test)]
pub(crate) mod inspection;
pub(crate) mod profiler;
mod recorder;
mod report;
mod settings;
mod sites;
mod tables;
