//! Samples Java stacks in a signal handler, which interrupts a thread at any instruction.
//!
//! The handler follows a stack with the help of two tables: one of the JVM's generated code, and one of methods. JVM TI
//! events fill these tables. The handler reads only the tables, the registers, generated code, and the interrupted
//! thread's stack, state and last Java frame.

mod async_engine;
mod blocks;
mod bytecode;
mod checked_stack;
mod class_methods;
mod code_cache;
mod code_map;
mod codes;
mod drain;
mod engine;
mod events;
mod handler;
mod holders;
mod inlining;
mod jit;
mod memory;
mod method_table;
mod noted;
mod noting;
mod raw_frame;
mod reclaim;
mod ring;
mod sample;
mod self_check;
mod shared;
mod signals;
mod spread;
mod stack_key;
mod thread_stack;
mod threads;
mod timers;
mod versions;
mod vm_structs;
mod walker;
#[cfg(test)]
mod walker_tests;

pub(crate) use async_engine::AsyncEngine;
pub(crate) use engine::own_tid;
pub(crate) use jit::{Inlined, JitEvent};
pub(crate) use memory::SafeMemory;
pub(crate) use sample::{
    ClockSource, MethodNumber, NotAsync, RawSample, SampleFrame, SampleSink, SampledThread,
    SamplingSettings, StackEnd, StubKind, ThreadNumber, Trust,
};
pub(crate) use stack_key::{StackKey, StackKeys};
pub(crate) use timers::thread_clock_ns;
pub(crate) use vm_structs::static_field;
