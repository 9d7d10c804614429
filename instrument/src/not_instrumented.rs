//! Methods that get no probes, and the names of the reasons.

use loadhook_rewrite::{LeftAlone, Reason};

/// The word for trivial methods, see [`NotInstrumented::word`].
pub const TRIVIAL: &str = "trivial";

/// A method that was selected and is not instrumented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotInstrumented<'r> {
    /// The method's position among the class's methods.
    pub method: u16,
    /// The reason why the method is not instrumented.
    pub reason: SkipReason<'r>,
}

/// The reason why a method is not instrumented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason<'r> {
    /// The method is trivial. It has no timing probes, but may have allocation probes.
    Trivial,
    /// The rewriter did not instrument the method.
    LeftAlone(&'r Reason),
}

impl NotInstrumented<'_> {
    /// Returns a short, stable name of the reason, for profiles, scripts and summaries.
    pub fn word(&self) -> &'static str {
        match &self.reason {
            SkipReason::Trivial => TRIVIAL,
            SkipReason::LeftAlone(reason) => reason.word(),
        }
    }
}

impl<'r> From<&'r LeftAlone> for NotInstrumented<'r> {
    fn from(left: &'r LeftAlone) -> Self {
        NotInstrumented {
            method: left.method,
            reason: SkipReason::LeftAlone(&left.reason),
        }
    }
}
