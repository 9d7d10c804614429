//! The injected instruction sequences, one file for each family of probes.

pub(crate) mod allocation;
mod count;
pub(crate) mod object;
pub(crate) mod timing;
mod writer;

pub(crate) use writer::ProbeWriter;
