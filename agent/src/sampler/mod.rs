//! Samples of running threads and visits to waiting ones: where time goes.
//!
//! Running time comes from one of two engines. The [asynchronous](crate::jvm::sampling) one interrupts threads by
//! signals; the other one looks at threads at their safepoints. Waiting comes from visits to threads whose processor
//! clock stands still. A thread of the agent's does all this work. The threads of the program only tell that they start
//! and end.

mod arrivals;
mod elf;
mod forest;
mod names;
mod native_code;
mod parts;
mod report;
mod running;
mod settings;
mod stacks;
mod table;
mod time_sampler;
mod turns;
mod visit;
mod visits;
mod vm_threads;

pub(crate) use report::TimeSnapshot;
pub(crate) use settings::SamplerSettings;
pub(crate) use time_sampler::Sampler;
