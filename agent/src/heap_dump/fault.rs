//! Reasons why there is no dump.

use std::io;

use thiserror::Error;

use crate::jvm::jvmti;

/// The maximum number of walks. A walk is repeated if a class was loaded or unloaded just before it.
pub(super) const ATTEMPTS: u32 = 10;

/// The reason why there is no dump.
#[derive(Debug, Error)]
pub(crate) enum Fault {
    /// A class was loaded or unloaded after the classes were listed, and before the walk.
    #[error("the program loaded or unloaded classes during each of {ATTEMPTS} attempts; try again")]
    ClassesChanged,
    /// The JVM does not offer version 11 of JVM TI.
    #[error("this JVM has no JVM TI version 11; use JDK 11 or later")]
    NoJvmti,
    /// The JVM has no memory for local references.
    #[error("the JVM has no memory left for the dump; try again later")]
    NoReferences,
    /// The JVM did something that the specification of JVM TI rules out.
    #[error("the JVM broke a rule of JVM TI ({0}); try again, or report this")]
    Unspecified(&'static str),
    /// A function of JVM TI failed.
    #[error("{0}")]
    Jvmti(#[from] jvmti::Error),
    /// The dump cannot be written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The agent panicked. The panic hook has logged it.
    #[error("internal error; see the standard error of the program")]
    Panicked,
}
