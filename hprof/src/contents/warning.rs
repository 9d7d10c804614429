//! Statements of a file that contradict each other.

use std::fmt::{self, Display, Formatter};

/// A statement of a file that contradicts another statement of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Warning {
    /// A section names a trace that the file does not have.
    NoTrace { section: &'static str, trace: u32 },
    /// A trace or a dump names a thread that the file does not have.
    NoThread { thread: u32 },
    /// The rows of `CPU SAMPLES` have more samples than the total.
    TooManySamples { sum: i64, total: i64 },
}

impl Display for Warning {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Warning::NoTrace { section, trace } => {
                write!(
                    f,
                    "{section} names trace {trace}, which the file does not have"
                )
            }
            Warning::NoThread { thread } => {
                write!(
                    f,
                    "a trace or dump names thread {thread}, which the file does not have"
                )
            }
            Warning::TooManySamples { sum, total } => {
                write!(
                    f,
                    "the rows of CPU SAMPLES have {sum} samples, but the total is {total}"
                )
            }
        }
    }
}
