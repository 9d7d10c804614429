//! Measures where the time of threads goes, by samples of running threads and visits to waiting threads.
//!
//! Running time is sampled by one of two engines. The [asynchronous](crate::jvm::sampling) engine interrupts threads by
//! signals. The other engine reads the stacks of threads at their safepoints. Waiting time comes from visits to threads
//! whose processor clock stands still. Apart from signal handlers, one thread of the agent does all this work. The
//! threads of the program only report their start and end.

mod arrivals;
mod elf;
mod forest;
mod jit;
mod names;
mod native_code;
mod owner;
mod parts;
mod report;
mod running;
mod settings;
mod stack_tree;
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
pub(crate) use vm_threads::VmThreads;
