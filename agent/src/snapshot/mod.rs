//! Snapshots: when a profile is taken, how it is assembled, and where it is written.

pub(crate) mod assembly;
pub(crate) mod file;
pub(crate) mod gate;
mod hprof_parts;
pub(crate) mod manifest;
pub(crate) mod periodic;
pub(crate) mod requests;
pub(crate) mod stream;
pub(crate) mod symbols;
pub(crate) mod writer;
