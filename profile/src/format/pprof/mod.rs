//! pprof: gzipped protobuf, readable by `go tool pprof`, speedscope, Pyroscope, Parca and Grafana.
//!
//! The fields of the public schema (`profile.proto`) hold everything for which they have a place.
//!
//! Where threads were sampled, the values are `samples`, `cpu` and `waiting` in nanoseconds, and
//! `calls`. Calls that were counted without their callers are samples of one frame, without a
//! thread.
//!
//! The schema has no place for raw times and their variance, loaders, and descriptors apart from names. These values
//! are in fields of Loadhook's own, which other readers skip, as protobuf demands. A column has packed numbers, one
//! for each method or node; strings are indexes into the string table.
//!
//! | field of `Profile` | it holds |
//! |---|---|
//! | 1000, once | the header as JSON, with the names of [`crate::Header`] |
//! | 1001, once | 1 loader, 2 class, 3 name, 4 descriptor, 5 file + 1, 6 line + 1, 7 loaders that had a copy of the class, absent if every class was in one loader |
//! | 1002, one a thread | 1 name, 2 thread id + 1, 3 kind (0 platform, 1 virtual, 2 ended); 4 distance to the parent, 0 for roots, 5 method, 6 calls, 7 timed, 8 all ns, 9 outermost ns, 10 child ns, 11 bits of the variance; 12 own ns by ticks, 13 bits of their variance, both missing in older files; 14 processor time in ns + 1; 15 to 19 ns of waiting for monitors, parked, sleeping, for input and output, and other, left out where no thread waited |
//! | 1003, once if allocations were recorded | 1 mean bytes between samples, 0 if exact, 2 flags (1: live objects were followed, 2: all allocations were recorded); of calling contexts 3 distance to the parent, 0 for roots, 4 method, 5 line + 1, 6 bci + 1 |
//! | 1004, with it | of sites 1 thread, 2 calling context + 1, 3 type, 4 bits of objects, 5 of bytes (all ones: unknown), 6 of the objects' variance, 7 of the bytes', 8 to 11 the same of the live objects, 12 bits of their mean age |
//! | 1005, once if threads were sampled | the circumstances of samples as JSON, with the names of [`crate::Sampling`] |
//! | 1006, once if calls were counted without callers | 1 method, 2 calls, 3 the time + 1 from which on the method was only counted, absent if no method lost its timing probes, 4 the time + 1 until which its calls were counted, absent if no method lost its last probe |
//! | 1007, once if waits for locks were recorded | calling contexts, 3 to 6 as in field 1003 |
//! | 1008, with it | of waits 1 kind (0 monitor, 1 lock, 2 `Object.wait`, 3 other parks), 2 thread, 3 class, 4 calling context + 1, 5 name of the holder + 1, 6 its calling context + 1, 7 number, 8 ns |
//! | 1010, once if pauses of the garbage collector were recorded | a list as JSON, with the names of [`crate::GcPauses`] |
//! | 1011, once if the JIT compiler was observed | of compiled methods 1 method, 2 compilations, 3 discarded, 4 bytes of code, 5 bytes of the newest code |
//! | 1012, with it | of inlined methods 1 compiled method, 2 inlined method, 3 depth, 4 calls |
//! | 1013, once if calls were timed | of ranges of durations 1 method, 2 number of the range, 3 calls, see [`crate::LatencyRange`] |
//!
//! So a written profile can be read back without loss. A file that another tool has rewritten may
//! have lost these fields; it is refused.

mod allocations;
mod columns;
mod error;
mod fields;
mod file;
mod frames;
mod locks;
mod protobuf;
mod read;
mod write;

pub use error::ReadError;
pub use read::{can_begin, read};
pub use write::write;
