//! pprof: gzipped protobuf, readable by `go tool pprof`, speedscope, Pyroscope,
//! Parca and Grafana.
//!
//! The fields of the public schema (`profile.proto`) hold everything for which they have a place:
//!
//! - One sample for each tree node, with its stack. Its values are `calls` and, if calls were timed, `self` in
//!   nanoseconds, corrected as in [`figures`](mod@crate::analysis::figures). Its labels are `thread` and `thread_id`,
//!   and `total` if recursion makes the total differ from the sum of the self times below.
//! - One sample for each allocation site, with its line. Its values are `alloc_objects` and `alloc_space` (bytes) and,
//!   if objects were followed, `inuse_objects` and `inuse_space`. Its label is `type`.
//! - Functions with file and first line; time, duration and clock (`period_type`).
//! - Comments, which tools print above their reports. They say how the values were measured.
//!
//! The schema has no place for raw times and their variance, for loaders, and for descriptors. Loadhook's own fields hold
//! these; protobuf demands of other readers that they skip unknown fields. Columns are packed numbers, one for each method
//! or node; strings are indexes of the string table.
//!
//! | field of `Profile` | it holds |
//! |---|---|
//! | 1000, once | the header as JSON, with the names of [`crate::Header`] |
//! | 1001, once | 1 loader, 2 class, 3 name, 4 descriptor, 5 file + 1, 6 line + 1, 7 number of loaders that had the class, left out if it is 1 for all |
//! | 1002, one for each thread | 1 name, 2 thread id + 1, 3 kind (0 platform, 1 virtual, 2 ended); 4 distance to the parent, 0 for roots, 5 method, 6 calls, 7 timed, 8 all ns, 9 outermost ns, 10 child ns, 11 bits of the variance; 12 own ns by ticks, 13 bits of their variance, both missing in older files; 14 processor time in ns + 1 |
//! | 1003, once if allocations were recorded | 1 mean bytes between samples, 0 if exact, 2 whether objects were followed; of calling contexts 3 distance to the parent, 0 for roots, 4 method, 5 line + 1, 6 bci + 1 |
//! | 1004, with it | of sites 1 thread, 2 calling context + 1, 3 type, 4 bits of objects, 5 of bytes (all ones: unknown), 6 of the objects' variance, 7 of the bytes', 8 to 11 the same of live objects, 12 bits of their mean age |
//!
//! So a written profile can be read back without loss. A file that another tool has rewritten may have lost
//! these fields; it is refused.

mod allocations;
mod columns;
mod error;
mod fields;
mod file;
mod protobuf;
mod read;
mod write;

pub use error::ReadError;
pub use read::{can_begin, read};
pub use write::write;
