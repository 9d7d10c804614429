//! The formats in which a profile is written, one file or folder for each.

mod allocation_text;
mod bounds;
mod chrome;
mod collapsed;
pub mod diff;
mod frames_json;
mod gc_text;
pub mod hprof;
mod html;
mod json;
mod locks_json;
mod notes;
mod output;
pub mod pprof;
mod speedscope;
mod table;
mod tree;
mod words;

pub use html::{difference_page, fill_page, live_page, page_data};
pub use output::Format;
pub use table::{write_latencies, write_waiting};
pub use words::UnknownWord;

pub use crate::analysis::options::{Explain, Options, Sort};
