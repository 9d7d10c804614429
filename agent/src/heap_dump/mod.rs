//! Heap dumps by JVM TI, for JVMs whose own dumper cannot be asked, and for files of HPROF.
//!
//! For a JVM's dump, the agent is attached to it. It counts the objects, refuses if their tags would take too much
//! memory, and follows all references from the roots. It uses a JVM TI environment of its own, which is disposed with
//! its tags at the end. Its answer is a file beside the dump, in the format of [`loadhook_settings::heap_dump`].

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
