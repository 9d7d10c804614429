//! Values that are numbered in the order in which they first occur.

use std::collections::HashMap;
use std::hash::Hash;

/// Different values, numbered from 0.
#[derive(Clone, Debug)]
pub(crate) struct Numbers<T> {
    numbers: HashMap<T, u32>,
    all: Vec<T>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Numbers {
            numbers: HashMap::new(),
            all: Vec::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Numbers<T> {
    /// The number of a value. A new value gets a number if there are fewer than `most`.
    pub(crate) fn number(&mut self, value: T, most: usize) -> Option<u32> {
        if let Some(number) = self.numbers.get(&value) {
            return Some(*number);
        }
        if self.all.len() >= most {
            return None;
        }
        let number = self.all.len() as u32;
        self.all.push(value.clone());
        self.numbers.insert(value, number);
        Some(number)
    }

    pub(crate) fn all(&self) -> &[T] {
        &self.all
    }
}
