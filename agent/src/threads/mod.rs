//! Threads of the program (fields, groups), the agent's own threads, and native threads.

pub(crate) mod fields;
pub(crate) mod groups;
pub(crate) mod own;
pub(crate) mod tasks;
