//! Profiles of two sides, one run or several of each, compared.

pub mod allocations;
pub(crate) mod judgement;
pub mod methods;

pub use judgement::{Judgement, Plan, Verdict};

pub use super::statistics::Ratio;
