//! Text tables of methods and of allocations.

pub(crate) mod allocations;
pub(crate) mod columns;
mod gc_pauses;
mod jit;
mod latencies;
mod locks;
pub(crate) mod methods;
pub(crate) mod not_instrumented;
mod report;
pub(crate) mod sampled;
mod waiting;

pub use latencies::write_latencies;
pub(super) use report::write;
pub use waiting::write_waiting;
