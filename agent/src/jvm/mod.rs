//! Access to the JVM: its binary interface, safe wrappers around JNI and JVM TI, and the functions that it calls.
//!
//! All `unsafe` code of the agent is in this folder.
#![allow(unsafe_code)]

pub mod callbacks;
pub(crate) mod class_definers;
pub(crate) mod heap_walk;
pub(crate) mod jni;
pub(crate) mod jvmti;
pub mod sys;
