//! The tables on the screen, a file for each.

mod allocations;
mod methods;
mod neighbours;
mod table;
mod threads;
mod tree;

pub(super) use allocations::Allocations;
pub(super) use methods::{Methods, SELF};
pub(super) use neighbours::Neighbours;
pub(super) use table::{Rows, order};
pub(super) use threads::Threads;
pub(super) use tree::Tree;
