//! Text tables of methods and of allocations.

pub(crate) mod allocations;
pub(crate) mod columns;
pub(crate) mod methods;
pub(crate) mod not_instrumented;
mod report;

pub(super) use report::write;
