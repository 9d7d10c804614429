//! Snapshots: when a profile is taken, how it is assembled, and where it is written.

pub(crate) mod assembly;
pub(crate) mod file;
pub(crate) mod gate;
pub(crate) mod manifest;
pub(crate) mod periodic;
pub(crate) mod requests;
mod symbols;
pub(crate) mod writer;
