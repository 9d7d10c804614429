//! Faults of a text.

use std::io;

/// The fault that stopped the reading of a text, and its place.
#[derive(Debug, thiserror::Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct TextError {
    /// The fault.
    pub kind: TextErrorKind,
    /// Number of the line, from 1.
    pub line: u64,
    /// The column, in bytes from 1.
    pub column: usize,
}

/// A fault of a text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextErrorKind {
    /// The file could not be read.
    #[error("{0}")]
    Io(io::Error),
    /// The first line is not the one with which HPROF's text begins.
    #[error("not HPROF's text: it does not begin with `JAVA PROFILE 1.0.1, created`")]
    NoHeader,
    /// A line is longer than a line of this format can be.
    #[error("the line is longer than {0} bytes")]
    LongLine(usize),
    /// A line is not allowed here, or its text differs from the format.
    #[error("this is not a valid {0}")]
    NotA(&'static str),
    /// The file ends in the middle of a line that cannot be read.
    #[error("the file is cut off: the rest of the line is missing")]
    CutLine,
    /// The file ends too soon, because the JVM ended or the disk was full while the file was written.
    #[error("the file is cut off: {0} is missing")]
    Truncated(String),
}
