//! HPROF's text format: the file `java.hprof.txt`.
//!
//! A text has a header, an introduction for people who read it, and then lines. [`Reader`] returns the lines one
//! by one as [`Line`]; [`Writer`] writes them. Each kind of line is a type, with reading and writing side by
//! side. The writer writes the form of JDK 5 to 8; the reader also accepts the forms of older versions.
//!
//! ```
//! use loadhook_hprof::text::{Line, NoFrames, Reader, TraceHead, Writer};
//!
//! let lines = [
//!     Line::Trace(TraceHead { serial: 300_001, thread: None, phase: None }),
//!     Line::NoFrames(NoFrames),
//! ];
//! let mut text = Vec::new();
//! let mut writer = Writer::new(&mut text, "Wed Oct  7 11:38:10 1998", "One trace.")?;
//! for line in &lines {
//!     writer.line(line)?;
//! }
//! writer.finish()?;
//!
//! let mut reader = Reader::new(&text[..])?;
//! let mut read = Vec::new();
//! while let Some(line) = reader.next_line()? {
//!     read.push(line);
//! }
//! assert_eq!(read, lines);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod costs;
mod error;
mod from_binary;
mod heap;
mod line;
mod monitors;
mod name;
mod old;
mod reader;
mod scan;
mod sites;
mod thread;
mod trace;
mod writer;

pub use costs::{Cost, CostKind, CostsBegin};
pub use error::{TextError, TextErrorKind};
pub use from_binary::heap_lines;
pub use heap::{Array, Class, HeapBegin, Holder, Object, Reference, Root, RootReason};
pub use line::Line;
pub use monitors::{Monitor, MonitorEvent, Owner, ThreadState, Waiters};
pub use old::{OLD_HEADER, OldCall, UNKNOWN_CALLER};
pub use reader::Reader;
pub use sites::{Amount, Site, SitesBegin};
pub use thread::{ThreadEnd, ThreadStart};
pub use trace::{Frame, NoFrames, TraceHead};
pub use writer::Writer;
