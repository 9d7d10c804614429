//! Samples of Java stacks, taken by a signal handler wherever a thread stands.
//!
//! The handler follows a stack by a map of the JVM's generated code, which JVM TI events build. It reads registers, the
//! thread's own stack, the thread's last Java frame and these tables, and nothing else.

mod async_engine;
mod class_methods;
mod code_cache;
mod code_map;
mod codes;
mod drain;
mod engine;
mod events;
mod handler;
mod inlining;
mod memory;
mod method_table;
mod noted;
mod raw_frame;
mod reclaim;
mod ring;
mod sample;
mod self_check;
mod shared;
mod signals;
mod threads;
mod timers;
mod vm_structs;
mod walker;
#[cfg(test)]
mod walker_tests;

pub(crate) use async_engine::AsyncEngine;
pub(crate) use sample::{
    ClockSource, MethodNumber, NotAsync, RawSample, SampleFrame, SampleSink, SamplingSettings,
    StackEnd, StubKind, ThreadNumber, Trust,
};
