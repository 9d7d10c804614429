//! Samples of allocations, and the liveness of the sampled objects.
//!
//! With `SampledObjectAlloc`, the JVM reports one object per interval of bytes, or every object if
//! the interval is 0, in the thread that allocates it. With `VMObjectAlloc`, it reports objects
//! that no bytecode instruction allocates.
//!
//! Stacks, sites and objects are behind one lock. It is held for a moment, and never while the JVM is called.

mod estimate;
mod exact_objects;
mod followed;
mod gc_sentinels;
mod growth;
mod known_keys;
mod known_stacks;
mod liveness_scan;
mod owners;
mod profile_builder;
mod recording;
mod report;
mod sample_snapshot;
mod sample_tables;
mod samples;
mod scan_schedule;
mod stacks;
mod start;
mod weak_records;

pub(crate) use self::recording::AllocationEvent;
pub(crate) use self::samples::Samples;
