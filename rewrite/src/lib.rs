//! Rewrites Java class files.
#![forbid(unsafe_code)]

mod annotations;
pub mod class;
pub mod code;
pub mod constant_pool;
pub mod descriptor;
pub mod error;
mod filter;
mod method;
mod never;
pub mod opcode;
mod options;
mod outcome;
mod probe;
pub mod reader;
mod rewriter;
mod selector;
pub mod text;

pub use class::ClassFile;
pub use error::{Error, ErrorKind, Place, Result};
pub use filter::{Filter, Pattern, PatternError};
pub use options::{CallShape, MethodNames, Options, UnknownCodeAttributes};
pub use outcome::{LeftAlone, Outcome, Reason, Report, Uncovered};
pub use rewriter::Rewriter;
pub use selector::{Allocation, Everything, Probes, Selector, Site};
