//! The agent in a JVM that speaks JVMPI: it has no JVM TI, and everything comes through JVMPI's events and JNI.
//!
//! Calls are recorded as with JVM TI: `CLASS_LOAD_HOOK` passes the bytes of classes to the same
//! [hook](crate::instrument::hook), and the tracker counts. Objects are recorded by their own events.

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
