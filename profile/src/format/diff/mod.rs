//! Writes comparisons as tables and JSON.

pub mod allocations;
mod cells;
mod groups;
mod judgement_json;
pub mod methods;
mod sentences;
