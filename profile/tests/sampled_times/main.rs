//! Profiles whose calls were counted alone and whose times come from samples: every format, comparisons
//! and sums.

#[path = "../common/mod.rs"]
mod common;
mod comparisons;
mod files;
mod json;
mod page;
#[path = "../schema/mod.rs"]
mod schema;
mod shop;
mod tables;
