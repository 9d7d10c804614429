//! An independent class-file assembler.
//!
//! The assembler builds the inputs of the tests and shares no code with the rewriter: if the two
//! disagree about the class file format, one of them is wrong, and a test fails. It checks only
//! what it needs for writing a class: label distances, counts and frame forms. It does not check
//! the code, since tests need odd classes; a JVM decides whether a class is valid.
//!
//! ```
//! use loadhook_testclasses::assembler::{ClassBuilder, access, op};
//!
//! let mut class = ClassBuilder::new(52, "demo/Answer");
//! class.method(access::PUBLIC | access::STATIC, "answer", "()I", |code| {
//!     code.limits(1, 0);
//!     code.iconst(42).op(op::IRETURN);
//! });
//! let bytes = class.finish().unwrap();
//! assert_eq!(bytes[..4], [0xca, 0xfe, 0xba, 0xbe]);
//! ```

mod bytes;
mod class;
mod code;
mod error;
mod frame_form;
mod frames;
mod instructions;
mod label;
pub mod op;
mod pool;
mod tables;
#[cfg(test)]
mod unit_tests;

pub use class::{ClassBuilder, access};
pub use code::CodeBuilder;
pub use error::{AssembleError, Result};
pub use frame_form::FrameForm;
pub use frames::{FrameTable, VerificationTypeInfo};
pub use label::Label;
pub use pool::{ConstantPool, MAX_ENTRIES, ReferenceKind};
pub use tables::{LocalTable, TypeAnnotation, TypePathStep, TypeTarget};
