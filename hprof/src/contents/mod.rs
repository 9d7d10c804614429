//! The contents of an HPROF file in either format: threads, traces and tables. The objects of a heap dump are
//! only counted.

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
