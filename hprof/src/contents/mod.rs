//! The contents of a file of HPROF in either format: threads, traces and tables. Objects of its heap are only counted.

mod binary;
mod check;
mod deadlocks;
mod error;
mod model;
mod read;
mod text;
mod warning;

pub use self::error::ContentsError;
pub use self::model::{Contents, Format, Heap, MonitorDump, MonitorState, Section, Thread, Trace};
pub use self::read::ReadContents;
pub use self::warning::Warning;
