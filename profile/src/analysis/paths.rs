//! Finding the node of a path, for trees that are laid over each other.

use std::collections::HashMap;

/// Numbers the paths of a tree as they come: a path is its caller's path and
/// a method.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    numbers: HashMap<(Option<u32>, u32), u32>,
}

impl Paths {
    /// The number of a path; numbers count from 0 in the order of first use.
    pub(crate) fn number(&mut self, parent: Option<u32>, method: u32) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry((parent, method)).or_insert(next)
    }
}
