//! The profile as measured: methods, threads with their calling-context trees, counts, allocations.
//!
//! Times are raw here: the probes' own cost is still in them, and times of sampled calls are
//! estimates. [`crate::analysis`] corrects them.

mod allocations;
mod call_tree;
mod gc_pauses;
mod header;
mod jit;
mod latency;
mod locks;
mod method;
mod profile;
mod sampled_tree;
mod sampling;

pub(crate) use allocations::Recording;
pub use allocations::{Allocations, Amount, Frame, Seen, Site};
pub use call_tree::{Node, ThreadKind, ThreadTree};
pub use gc_pauses::GcPauses;
pub use header::{Clock, Header, NOT_ENDED, ProbeCosts, Timing};
pub use jit::{InlinedMethod, JitCode, JitMethod};
pub use latency::LatencyRange;
pub(crate) use latency::LatencySums;
pub(crate) use locks::WaitKey;
pub use locks::{Holder, LockWait, Locks, LocksBuilder, WaitKind};
pub use method::Method;
pub use profile::Profile;
pub use sampled_tree::{SampledNode, sampled_tree};
pub use sampling::{Engine, MethodCalls, Sampling, Waiting};
