//! A bound on what one class may cost.

use crate::error::ErrorKind;

/// The time and memory that a class made to hurt can take to follow types:
/// about a tenth of a second and 30 megabytes. Real classes take a thousandth
/// of it.
#[derive(Debug)]
pub(crate) struct Work {
    left: usize,
}

/// What keeping an expanded value costs, against looking at one.
pub(crate) const KEPT: usize = 32;

impl Default for Work {
    fn default() -> Self {
        Work { left: 1 << 25 }
    }
}

impl Work {
    /// Takes the cost of looking at so many values.
    pub(crate) fn spend(&mut self, values: usize) -> Result<(), ErrorKind> {
        self.left = self
            .left
            .checked_sub(values + 1)
            .ok_or(ErrorKind::TooComplex)?;
        Ok(())
    }
}
