//! HPROF's formats. HotSpot's `jcmd PID GC.heap_dump FILE` writes heap dumps in the binary format, of which there
//! are the versions 1.0.1 and 1.0.2. The agent that came with JDK 1.2 to 8 also wrote the [`text`] format.
//!
//! [`read`](fn@read) passes the records of a dump to a [`Visitor`] one after the other. It needs a megabyte of
//! memory, plus the memory of one class record, which may have 5 MB. [`Writer`] writes version 1.0.2.
//! [`validate`](fn@validate) checks that a file is one complete dump without reading its objects. Each kind of
//! record has a file in `record/`, with reading and writing side by side.
//!
//! The crate knows only the format: no JVM, no object sizes, no graph. It does not trust a length in a file
//! before the bytes are there. So no input makes the reader panic, or allocate more than its buffer and one class
//! record.
//!
//! ```
//! use loadhook_hprof::{ErrorKind, Header, Type, Visitor, Writer, read};
//!
//! #[derive(Default)]
//! struct Lengths(Vec<(Type, u32)>);
//!
//! impl Visitor for Lengths {
//!     fn primitive_array(&mut self, _: u64, element: Type, length: u32) -> Result<(), ErrorKind> {
//!         self.0.push((element, length));
//!         Ok(())
//!     }
//! }
//!
//! let mut dump = Vec::new();
//! let header = Header { id_size: 8, time_ms: 0 };
//! let mut writer = Writer::new(&mut dump, header)?;
//! writer.begin_primitive_array(0x10, Type::Long, 3)?;
//! writer.put(&[0; 24])?;
//! writer.end_array()?;
//! writer.finish()?;
//!
//! let mut lengths = Lengths::default();
//! assert_eq!(read(&dump[..], &mut lengths)?, dump.len() as u64);
//! assert_eq!(lengths.0, [(Type::Long, 3)]);
//! assert!(read(&dump[..40], &mut lengths).is_err_and(|error| error.is_truncated()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod command;
pub mod contents;
mod error;
mod gzip;
mod input;
mod reader;
mod record;
mod record_buffer;
mod record_input;
mod tag;
pub mod text;
mod trace_table;
mod types;
mod validate;
mod visitor;
mod writer;

pub use command::{COLLECT_FIRST, Command, Received};
pub use error::{Error, ErrorKind};
pub use input::number;
pub use reader::{read, read_available};
pub use record::alloc_sites::{AllocSite, AllocSites};
pub use record::class_dump::{ClassDump, Constant, InstanceField, StaticField};
pub use record::control_settings::ControlSettings;
pub use record::cpu_samples::CpuSample;
pub use record::header::Header;
pub use record::heap_summary::HeapSummary;
pub use record::load_class::LoadClass;
pub use record::monitor_dump::{DumpedMonitor, DumpedThread};
pub use record::root::{Root, RootKind};
pub use record::stack_frame::StackFrame;
pub use record::thread::StartThread;
pub use record::trace_times::{TimesOf, TraceTime};
pub use types::Type;
pub use validate::{Invalid, validate};
pub use visitor::{Both, Visitor};
pub use writer::{LONGEST_RECORD, NO_TRACE, Writer, records};
