//! The binary interface to both sides: the old profiler, and the JVM.
#![allow(unsafe_code)]

mod allocations;
mod announcing;
mod arrivals;
mod callbacks;
mod calls;
mod class_load;
mod code_facts;
mod collections;
mod compiled;
mod definitions;
mod dump;
mod dump_records;
pub mod entry;
mod events;
mod heap_copy;
mod hook;
mod instructions;
mod interface;
mod jni_references;
mod layer;
mod lines;
mod method_ids;
pub mod methods;
mod monitor_dump;
mod own;
mod probes;
mod raw_monitors;
mod requests;
mod sleeps;
mod sources;
mod stacks;
mod suspension;
mod tags;
mod thread_control;
mod threads;
mod versions;
