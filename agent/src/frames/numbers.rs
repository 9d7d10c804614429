//! Values that are numbered in the order in which they first occur.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, RandomState};

use loadhook_profile::NumberHasher;

/// Different values, numbered from 0.
#[derive(Clone, Debug)]
pub(crate) struct Numbers<T, S = RandomState> {
    numbers: HashMap<T, u32, S>,
    all: Vec<T>,
}

/// Numbers of values that themselves consist of numbers, with a faster hash.
pub(crate) type NumbersOfNumbers<T> = Numbers<T, BuildHasherDefault<NumberHasher>>;

impl<T, S: Default> Default for Numbers<T, S> {
    fn default() -> Self {
        Numbers {
            numbers: HashMap::default(),
            all: Vec::new(),
        }
    }
}

impl<T: Clone + Eq + Hash, S: BuildHasher> Numbers<T, S> {
    /// Returns the number of a value. A new value gets the next number; if there are `most` values already, returns
    /// `None` for it.
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

    /// Returns whether a value has a number.
    pub(crate) fn has(&self, value: &T) -> bool {
        self.numbers.contains_key(value)
    }

    pub(crate) fn all(&self) -> &[T] {
        &self.all
    }
}
