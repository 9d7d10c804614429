//! Comparisons as tables and JSON.

pub mod allocations;
mod groups;
pub mod methods;
mod sentences;
