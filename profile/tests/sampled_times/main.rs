//! Tests of profiles whose calls were only counted and whose times come from samples: in every
//! format, compared, and merged.

#[path = "../common/mod.rs"]
mod common;
mod comparisons;
mod files;
mod json;
mod lowered;
mod page;
#[path = "../schema/mod.rs"]
mod schema;
mod shop;
mod tables;
