//! Methods of stack frames: their names, and how a profile shows them.

pub(crate) mod numbers;
pub(crate) mod profile_parts;
pub(crate) mod resolve;
pub(crate) mod symbol;
