//! pprof: gzipped protobuf, readable by `go tool pprof`, speedscope, Pyroscope,
//! Parca and Grafana.
//!
//! What the public schema (`profile.proto`) can say is said in it: one sample a
//! tree node with its stack; values `calls` and, where times were taken, `self`
//! in nanoseconds, corrected as in [`crate::figures`]; labels `thread` and
//! `thread_id`, and `total` where it is not the sum of the self times below,
//! which recursion alone causes; functions with file and first line; time,
//! duration and clock (`period_type`); comments, which tools print above their
//! reports, say how the times came about.
//!
//! What it cannot say, raw times and their variance, loaders, descriptors apart
//! from names, stands in three fields of our own, which other readers skip, as
//! protobuf demands of them. Columns are packed numbers, one a method or node;
//! strings are indexes of the string table.
//!
//! | field of `Profile` | it holds |
//! |---|---|
//! | 1000, once | the header as JSON, with the names of [`crate::Header`] |
//! | 1001, once | 1 loader, 2 class, 3 name, 4 descriptor, 5 file + 1, 6 line + 1 |
//! | 1002, one a thread | 1 name, 2 thread id + 1, 3 kind (0 platform, 1 virtual, 2 ended); 4 distance to the parent, 0 for roots, 5 method, 6 calls, 7 timed, 8 all ns, 9 outermost ns, 10 child ns, 11 bits of the variance |
//!
//! So a file read back is the profile that was written. A file that another
//! tool has rewritten may have lost these fields; it is refused.

mod read;
mod write;

pub use read::{ReadError, read};
pub use write::write;

/// What the first comment of ours starts with.
const COMMENT: &str = "Loadhook";

/// Field numbers of messages in `profile.proto`, and our own.
mod field {
    pub(super) mod profile {
        pub(in super::super) const SAMPLE_TYPE: u32 = 1;
        pub(in super::super) const SAMPLE: u32 = 2;
        pub(in super::super) const MAPPING: u32 = 3;
        pub(in super::super) const LOCATION: u32 = 4;
        pub(in super::super) const FUNCTION: u32 = 5;
        pub(in super::super) const STRING_TABLE: u32 = 6;
        pub(in super::super) const TIME_NANOS: u32 = 9;
        pub(in super::super) const DURATION_NANOS: u32 = 10;
        pub(in super::super) const PERIOD_TYPE: u32 = 11;
        pub(in super::super) const PERIOD: u32 = 12;
        pub(in super::super) const COMMENT: u32 = 13;
        pub(in super::super) const DEFAULT_SAMPLE_TYPE: u32 = 14;
        pub(in super::super) const LOADHOOK_HEADER: u32 = 1000;
        pub(in super::super) const LOADHOOK_METHODS: u32 = 1001;
        pub(in super::super) const LOADHOOK_THREAD: u32 = 1002;
    }
}
