//! Calculations on profiles: corrected times, trees and tables of methods, sums and comparisons.
//!
//! [`figures()`] corrects the times of a calling-context tree. All formats show these corrected
//! times, so they agree.

pub(crate) mod allocation_places;
pub(crate) mod allocation_tree;
pub(crate) mod call_edges;
pub mod diff;
pub mod figures;
mod focus;
pub(crate) mod gc_pauses;
pub(crate) mod jit;
pub(crate) mod latencies;
pub(crate) mod lock_places;
pub(crate) mod measure;
pub(crate) mod merge;
mod merged_allocations;
mod merged_notes;
mod merged_sampling;
pub(crate) mod method_matching;
pub(crate) mod method_names;
pub(crate) mod method_rows;
pub(crate) mod options;
pub(crate) mod paths;
pub mod picture;
mod recursion;
mod since;
mod since_allocations;
mod since_locks;
pub(crate) mod statistics;
pub(crate) mod tree;
pub(crate) mod view;
mod waiting;
pub(crate) mod waiting_methods;
pub(crate) mod waiting_places;
pub(crate) mod weight;

pub use figures::{CountingCosts, figures};
pub use latencies::Latency;
pub use measure::Measure;
pub use merge::{MergeError, merge};
pub use since::since;
