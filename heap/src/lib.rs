//! Analyses heap dumps in HPROF's binary format: histogram, dominators, paths to the roots,
//! duplicates, threads.
//!
//! [`histogram`](fn@histogram) counts objects; its memory grows with the classes, not with the
//! objects. A [`Graph`] has all references. Its methods compute the [`Dominators`], with the
//! retained size of each object, and the [`ShortestPaths`] to the roots. [`Duplicates`] finds
//! strings and arrays with equal contents, [`Threads`] finds threads and their stacks.
//! [`SharedPasses`] does all of this in four passes over a dump.
//!
//! The crate `loadhook-hprof` reads the format. This crate opens no file but
//! temporary ones: the caller gives a function that opens the dump.
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

mod array_hashes;
mod class_names;
mod details;
mod dominator_algorithm;
mod dominators;
mod duplicates;
mod external_sort;
mod graph;
mod histogram;
mod instance_fields;
mod java_names;
mod java_values;
mod layout;
mod memory_budget;
mod object_index;
mod object_kind;
mod object_records;
mod object_sizes;
mod passes;
mod previews;
mod profiler;
mod reference_names;
mod references;
mod shared_passes;
mod shortest_paths;
mod stack_chunks;
mod stack_tables;
mod store;
mod strings;
mod survey;
mod suspects;
mod thread_objects;
mod threads;
mod tracker_classes;

pub use array_hashes::BYTES_OF_HASHES;
pub use details::{Details, Field, FieldValue, Fields};
pub use dominators::Dominators;
pub use duplicates::{Duplicate, Duplicates, Waste};
pub use graph::Graph;
pub use histogram::{ClassCount, Histogram, histogram, histogram_without_tracker};
pub use layout::SizeModel;
pub use loadhook_hprof::{Error, ErrorKind, Header, Root, RootKind, Type};
pub use previews::Preview;
pub use profiler::ProfilerObjects;
pub use shared_passes::{SharedPasses, ViewRequest, Views};
pub use shortest_paths::ShortestPaths;
pub use suspects::{DominatedClass, Suspect, THRESHOLD};
pub use threads::{Frame, Local, Thread, Threads};
pub use tracker_classes::LeftOut;
