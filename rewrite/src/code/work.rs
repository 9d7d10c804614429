//! A limit on the work that one class may cause.

use crate::error::ErrorKind;

/// The work that may still be spent on following types in one class. One unit is the work of reading one
/// verification type.
///
/// The whole budget corresponds to about a tenth of a second and 30 megabytes. Real classes use a
/// thousandth of it. Only a class that was made to be slow uses it up.
#[derive(Debug)]
pub(crate) struct WorkBudget {
    left: usize,
}

/// The cost of storing one verification type, in units of reading one.
pub(crate) const STORED_TYPE: usize = 32;

impl Default for WorkBudget {
    fn default() -> Self {
        WorkBudget { left: 1 << 25 }
    }
}

impl WorkBudget {
    /// Subtracts the cost of reading `types` verification types.
    ///
    /// # Errors
    /// When the budget is used up.
    pub(crate) fn spend(&mut self, types: usize) -> Result<(), ErrorKind> {
        self.left = self
            .left
            .checked_sub(types + 1)
            .ok_or(ErrorKind::TooComplex)?;
        Ok(())
    }
}
