//! Writes comparisons as tables and JSON.

pub mod allocations;
mod cells;
mod groups;
pub mod methods;
mod sentences;
mod shared_json;
