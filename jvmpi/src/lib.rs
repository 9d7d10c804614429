//! The JVMPI layer: a JVM TI agent that loads a profiler written for JVMPI (1998 to 2004), and provides JVMPI to
//! it on a JVM of today.
//!
//! [`ffi`] has the functions of JVMPI and the JVM's callbacks. All other modules are safe code.

mod bytecode;
pub mod ffi;
mod options;
mod probe_class;

pub use loadhook_jvm::jvmpi as abi;
