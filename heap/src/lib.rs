//! Reads heap dumps: HPROF binary 1.0.1 and 1.0.2, as HotSpot's
//! `jcmd PID GC.heap_dump FILE` writes them, packed by gzip or not.
//!
//! [`read`](fn@read) gives a dump's records to a [`Visitor`] one after the other, in
//! memory of a megabyte. [`histogram`](fn@histogram) counts objects and keeps only what there is
//! once a class. [`Graph`] has the references, and the [`Dominators`] what each object keeps;
//! [`Duplicates`] are strings and arrays that hold the same, [`Threads`] have their stacks.
//! No length in a file is believed before its bytes are there.
//!
//! ```
//! use loadhook_heap::histogram;
//!
//! let mut dump = b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0".to_vec();
//! // A segment of 25 bytes: an array of 3 longs would take 24 more.
//! dump.extend([0x1c, 0, 0, 0, 0, 0, 0, 0, 18 + 24]);
//! dump.extend([0x23, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 3, 11]);
//! let cut = dump.clone();
//! dump.extend([0; 24]);
//! dump.extend([0x2c, 0, 0, 0, 0, 0, 0, 0, 0]);
//!
//! let (counts, outcome) = histogram(&dump[..]);
//! outcome?;
//! assert_eq!((&*counts.classes[0].name, counts.classes[0].bytes), ("long[]", 40));
//!
//! let (_, outcome) = histogram(&cut[..]);
//! assert!(outcome.is_err_and(|error| error.is_truncated()));
//! # Ok::<(), loadhook_heap::Error>(())
//! ```
#![forbid(unsafe_code)]

mod class_names;
mod contents;
mod details;
mod dominators;
mod duplicates;
mod edges;
mod graph;
mod histogram;
mod index;
mod kept;
mod layout;
mod links;
mod passes;
mod profiler;
mod sort;
mod stacks;
mod store;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;
mod survey;
mod suspects;
mod threads;
mod ways;

pub use contents::Contents;
pub use details::{Details, Field, FieldValue, Fields};
pub use dominators::Dominators;
pub use duplicates::{Duplicate, Duplicates, Waste};
pub use graph::Graph;
pub use histogram::{Count, Histogram, histogram, histogram_without_tracker};
pub use layout::Model;
pub use loadhook_hprof::{Error, ErrorKind, Header, Root, RootKind, Type};
pub use profiler::{LeftOut, Profiler};
pub use suspects::{Below, Suspect, THRESHOLD};
pub use threads::{Frame, Local, Thread, Threads};
pub use ways::Ways;
