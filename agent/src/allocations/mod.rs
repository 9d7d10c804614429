//! Samples of allocations, and the liveness of the sampled objects.
//!
//! By the event `SampledObjectAlloc`, the JVM reports one object per interval of bytes, or every object if the interval
//! is 0. By `VMObjectAlloc`, the JVM reports objects that no bytecode instruction allocates. The JVM sends both events
//! in the thread that allocates.
//!
//! One lock protects stacks, sites and objects. It is held for a short time only, and never during a call of the JVM.

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
