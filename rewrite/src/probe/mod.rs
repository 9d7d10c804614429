//! The injected instruction sequences. Each family of probes has a file.

pub(crate) mod allocation;
mod count;
pub(crate) mod object;
pub(crate) mod timing;
pub(crate) mod trace;
mod writer;

pub(crate) use writer::ProbeWriter;
