//! One self-contained page: flame graph, method table, call tree.
//!
//! The page holds no name of a server and loads nothing; its own files are in
//! `format/page/`. Data goes in as JSON, once for each measure that the profile tells: trees and
//! tables in the compact form of `encode.rs`, all else as it is.

mod allocations;
mod difference;
mod encode;
mod lanes;
mod page;
mod profile;

pub use difference::difference_page;
pub use page::fill_page;
pub(in crate::format) use profile::write;
