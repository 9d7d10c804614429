//! Threads of the program (fields, groups), and the agent's own threads.

pub(crate) mod fields;
pub(crate) mod groups;
pub(crate) mod own;
