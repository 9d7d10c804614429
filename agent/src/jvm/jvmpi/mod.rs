//! The agent as a JVMPI profiler: entry point, events and functions.

pub(crate) mod interface;
pub mod notify;
pub(crate) mod own_library;
#[cfg(test)]
mod simulated_functions;
#[cfg(test)]
mod simulated_vm;
#[cfg(test)]
mod tests;
