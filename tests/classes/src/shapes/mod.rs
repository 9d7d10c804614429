//! Parts of generated classes, which the limit generator and the hand-made golden inputs share.

pub mod constructors;
mod driver;
mod filler;

pub use driver::{Arg, Driver, constructor, mark, trivial_constructor};
pub use filler::{Filler, SITE_STACK};
