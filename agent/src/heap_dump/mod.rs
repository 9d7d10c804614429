//! Heap dumps by JVM TI, for JVMs whose own dumper cannot be used, and for HPROF's files.
//!
//! To dump the heap of a running JVM, the agent is attached to the JVM. The agent counts the objects, refuses the dump
//! if the objects' tags would take too much memory, and follows all references from the roots. The agent uses a
//! separate JVM TI environment, which is disposed with all its tags at the end. The agent's answer is a file beside the
//! dump, in the format of [`loadhook_settings::heap_dump`].

mod cancellable;
mod class_record;
mod classes;
mod dump;
mod fault;
mod heap_file;
mod memory;
mod run;
mod tags;
mod threads;

pub(crate) use self::heap_file::HeapFile;
pub(crate) use self::run::run;
