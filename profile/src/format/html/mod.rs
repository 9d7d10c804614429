//! One self-contained page: flame graph, method table, call tree.
//!
//! The page names no server and loads nothing; its own files are in `format/page/`. Only a page that follows a program
//! asks its server for newer data. The data is embedded as JSON, once for each measure of the profile. Trees and tables
//! have the compact form of `encode.rs`.

mod allocations;
mod difference;
mod encode;
mod lanes;
mod locks;
mod page;
mod profile;

pub use difference::difference_page;
pub use page::{fill_page, live_page};
pub use profile::page_data;
pub(in crate::format) use profile::write;
