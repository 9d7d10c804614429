//! Pieces that generated classes are made of, shared by the limit generator
//! and the hand-made golden inputs.

pub mod constructors;
mod driver;
mod filler;

pub use driver::{Arg, Driver, constructor, mark, trivial_constructor};
pub use filler::{Filler, SITE_STACK};
