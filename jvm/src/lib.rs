//! The JVM's binary interface: types and tables of JNI, JVM TI and JVMPI, and safe wrappers around the functions of
//! the first two.
//!
//! The crate serves every library of Loadhook that the JVM loads. Its state is the pointer to the JVM of the process,
//! and the function that [`sleeps`] replaces. Each library has its own callbacks for events.
#![allow(unsafe_code)]

pub mod heap_walk;
pub mod jni;
pub mod jni_calls;
pub mod jni_natives;
pub mod jvmpi;
pub mod jvmti;
pub mod jvmti_classes;
pub mod jvmti_extensions;
pub mod jvmti_monitors;
pub mod jvmti_stacks;
pub mod jvmti_threads;
pub mod reference;
pub mod sleeps;
pub mod sys;
pub mod visits;
pub mod vm;
