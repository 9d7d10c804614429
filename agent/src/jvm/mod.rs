//! Access to the JVM: its binary interface, safe wrappers around JNI and JVM TI, and the functions that the JVM calls.
//!
//! All `unsafe` code of the agent is in this folder.
#![allow(unsafe_code)]

pub mod callbacks;
pub(crate) mod class_definers;
pub(crate) mod entry;
pub(crate) mod heap_walk;
pub(crate) mod jni;
pub(crate) mod jni_calls;
pub(crate) mod jvmti;
pub(crate) mod jvmti_classes;
pub(crate) mod jvmti_monitors;
pub(crate) mod jvmti_stacks;
pub(crate) mod peer;
pub(crate) mod reference;
pub(crate) mod sampling;
pub mod sys;
pub mod tracker_natives;
mod visits;
pub(crate) mod vm;
