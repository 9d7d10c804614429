//! Paths in trees: nodes with the same path from a root become one when trees are merged.

use std::collections::HashMap;

/// Numbers the paths of a tree in order of their first use. A path is its caller's path and a
/// method.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    numbers: HashMap<(Option<u32>, u32), u32>,
}

impl Paths {
    /// Returns the number of a path. A new path gets the next free number, from 0 on.
    pub(crate) fn number(&mut self, parent: Option<u32>, method: u32) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry((parent, method)).or_insert(next)
    }
}
