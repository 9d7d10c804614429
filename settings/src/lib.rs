//! The settings of Loadhook, below the command line, the agent and the offline
//! rewriter: patterns, lists and units, and how they are written as text.
#![forbid(unsafe_code)]

mod allocation_mode;
mod filter;
mod interval;
pub mod list;
mod pattern;

pub use allocation_mode::{ALLOCATION_MODES, AllocationMode};
pub use filter::{Filter, pattern_lines};
pub use interval::{INTERVAL, interval};
pub use pattern::{Pattern, PatternError};
