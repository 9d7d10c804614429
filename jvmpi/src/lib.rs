//! The JVMPI layer: a JVM TI agent that loads a profiler written for JVMPI (1998 to 2004), and gives it that interface
//! on a JVM of today.
//!
//! [`ffi`] has the old interface and the JVM's callbacks. The other modules are safe.

mod bytecode;
pub mod ffi;
mod options;
mod probe_class;

pub use loadhook_jvm::jvmpi as abi;
