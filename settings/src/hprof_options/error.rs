//! Faults in the text of HPROF's options.

use thiserror::Error;

/// A fault in the text of HPROF's options.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HprofOptionsError {
    /// The text is a request for [`HPROF_HELP`](super::HPROF_HELP). This is an error, since the text then has no options.
    #[error("help")]
    Help,
    /// There is no option of this name.
    #[error("hprof: unknown option {0} (hprof:help lists the options)")]
    Unknown(String),
    /// An option has no value.
    #[error("hprof: the option {0} has no value (hprof:help lists the options)")]
    NoValue(String),
    /// The value of an option cannot be read.
    #[error("hprof: {option}={value}: {expected}")]
    Value {
        /// Name of the option.
        option: String,
        /// The value as written.
        value: String,
        /// A text that begins with "expected".
        expected: &'static str,
    },
    /// HPROF has removed the option.
    #[error("hprof: {0} was removed from HPROF long ago; leave it out")]
    Removed(String),
    /// Two options exclude each other, as they did in HPROF.
    #[error("hprof: {0} cannot be combined with {1}; leave out one of them")]
    Conflict(&'static str, &'static str),
}
