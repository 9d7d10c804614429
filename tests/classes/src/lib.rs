//! Class files for tests, made without the code under test.
//!
//! - [`assembler`] writes a class file instruction by instruction.
//! - [`shapes`] uses [`assembler`] to write methods and constructors of common shapes, and a
//!   `run()` that calls them.
//! - [`limits`] generates classes at the limits of the format.
//! - [`mutate`] changes existing classes at random, reproducibly.
//!
//! The crate depends on no other crate: it shares neither tables nor types with the rewriter, so that a mistake about
//! the format shows as a disagreement between the two.

#![forbid(unsafe_code)]

pub mod assembler;
pub mod limits;
pub mod mutate;
pub mod shapes;
