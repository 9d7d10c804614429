//! Access to the JVM: its binary interface, safe wrappers around JNI and JVM TI, and the functions that the JVM calls.
//!
//! All `unsafe` code of the agent is in this folder.
#![allow(unsafe_code)]

pub mod callbacks;
pub(crate) mod class_definers;
pub(crate) mod entry;
pub mod jvmpi;
pub(crate) mod peer;
pub(crate) mod sampling;
pub mod tracker_natives;

pub(crate) use loadhook_jvm::{
    heap_walk, jni, jni_calls, jvmti, jvmti_classes, jvmti_stacks, reference, sleeps, sys, visits,
    vm,
};
