//! Paths in trees: nodes with the same path from a root become one when trees are merged.

use std::collections::HashMap;

/// Numbers the paths of a tree in order of their first use. A path is its caller's path, a method, and its line where
/// lines are told apart.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    numbers: HashMap<(Option<u32>, u32, Option<u32>), u32>,
}

impl Paths {
    /// Returns the number of a path. A new path gets the next free number, from 0 on.
    pub(crate) fn number(&mut self, parent: Option<u32>, method: u32) -> u32 {
        self.number_at(parent, method, None)
    }

    /// Returns the number of a path that ends at a line.
    pub(crate) fn number_at(&mut self, parent: Option<u32>, method: u32, line: Option<u32>) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry((parent, method, line)).or_insert(next)
    }
}
