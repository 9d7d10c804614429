//! Laying trees over each other: nodes with the same path from a root are one.

use std::collections::HashMap;

/// Numbers the paths of a tree in the order in which they are met. A path is its caller's path
/// and a method.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    numbers: HashMap<(Option<u32>, u32), u32>,
}

impl Paths {
    /// The number of a path; the next free number, from 0 on, if the path is new.
    pub(crate) fn number(&mut self, parent: Option<u32>, method: u32) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry((parent, method)).or_insert(next)
    }
}
