//! The fuzz targets of Loadhook: functions that take arbitrary bytes and panic when the rewriter or
//! the reader of heap dumps violates an invariant.
//!
//! libFuzzer calls them from `fuzz/fuzz_targets`. Tests call them with mutants
//! (`tests/tests/fuzz_mutants.rs`) and with the files in `fuzz/corpus`
//! (`fuzz/targets/tests/replay.rs`).
//!
//! ```
//! let statistics = loadhook_fuzz::all(b"no class");
//! assert!(!statistics.parsed);
//! ```
#![forbid(unsafe_code)]

mod code;
mod contents;
mod dump;
mod identity;
mod made;
mod options;
mod read;
mod rewrite;
mod shared_passes;

pub use dump::dump;
pub use identity::identity;
pub use made::made;
pub use options::OptionSet;
pub use read::read;
pub use rewrite::{Rewritten, Targets, rewrite, rewrite_with};

/// Statistics of the targets on one input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputStatistics {
    /// True if the input could be read as a class file.
    pub parsed: bool,
    /// The totals of rewriting the input under all option sets.
    pub rewritten: Rewritten,
}

/// Runs every target for classes on one input.
///
/// # Panics
/// When a target finds a fault.
pub fn all(data: &[u8]) -> InputStatistics {
    let parsed = read(data);
    identity(data);
    InputStatistics {
        parsed,
        rewritten: rewrite(data),
    }
}
