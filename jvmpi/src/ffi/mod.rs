//! The binary interface to both sides: the old profiler, and the JVM.
#![allow(unsafe_code)]

mod arrivals;
mod callbacks;
mod class_load;
mod collections;
mod compiled;
mod definitions;
mod dump;
mod dump_records;
pub mod entry;
mod events;
mod hook;
mod interface;
mod jni_references;
mod layer;
mod lines;
pub mod methods;
mod monitor_dump;
mod own;
mod raw_monitors;
mod requests;
mod sleeps;
mod sources;
mod stacks;
mod tags;
mod thread_control;
mod threads;
mod versions;
