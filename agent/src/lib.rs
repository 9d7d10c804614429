//! The JVM TI agent: instruments classes as they are loaded, and writes the profile when the JVM ends.
//!
//! Only the module [`jvm`] uses the JVM's binary interface. All other code is safe Rust. The agent must never stop the
//! program or change what it does. If an error occurs while a class is instrumented, the class stays as it was, and the
//! error is reported once.

mod agent;
mod allocations;
mod attach;
mod budget;
mod class_load;
mod control;
mod diagnostics;
mod end;
mod events;
mod frames;
mod gc_pauses;
mod heap_dump;
mod instrument;
pub mod jvm;
mod jvmpi;
mod load;
mod locks;
mod monitor_events;
mod monitors;
mod net;
mod options;
mod sampler;
mod snapshot;
mod threads;
mod tracker;
