//! Compares the profiles of two sides. Each side has one run or several.

pub mod allocations;
pub(crate) mod judgement;
pub mod methods;
mod sides;

pub use judgement::{Judgement, Plan, Verdict};

pub use super::statistics::Ratio;
