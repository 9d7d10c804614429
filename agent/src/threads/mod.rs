//! Threads of the program, and those of the agent.

pub(crate) mod fields;
pub(crate) mod groups;
pub(crate) mod own;
