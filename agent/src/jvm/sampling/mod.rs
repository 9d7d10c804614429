//! Samples of Java stacks, taken by a signal handler wherever a thread stands.
//!
//! The handler follows a stack by a map of the JVM's generated code, which JVM TI events build. It reads registers, the
//! thread's own stack, the thread's last Java frame and these tables, and nothing else.

// The sampler that uses it follows.
#![allow(dead_code, unused_imports)]

mod engine;
mod sample;

pub(crate) use engine::AsyncEngine;
pub(crate) use sample::MethodNumber;
pub(crate) use sample::{
    ClockSource, NotAsync, RawSample, SampleFrame, SampleSink, SamplingCounts, SamplingSettings,
    StackEnd, StubKind, ThreadMode, ThreadNumber, Trust, Unwalked,
};
