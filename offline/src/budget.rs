//! Limits the bytes to which an archive may unpack. A small archive could otherwise take all time, memory or
//! disk.

use crate::Error;

/// Maximum ratio of unpacked to packed bytes. Useful archives stay far below this ratio: packed classes have a
/// half or a third of their size.
const MOST_RATIO: u64 = 100;
/// Number of bytes to which even a small archive may unpack.
const LEAST: u64 = 1 << 30;
/// Number of bytes taken from the budget for each nested archive, and for each class path root with a rewritten
/// class. They stand for the tracker, which is added to such a root.
pub(crate) const ROOT: u64 = 256 << 10;

/// Number of bytes to which an archive may still unpack.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    most: u64,
    left: u64,
}

impl Budget {
    /// Returns the budget for files that are not in an archive.
    pub(crate) fn unlimited() -> Budget {
        Budget::new(u64::MAX)
    }

    /// Returns the default budget for an archive of `len` bytes.
    pub(crate) fn usual(len: u64) -> Budget {
        Budget::new(len.saturating_mul(MOST_RATIO).max(LEAST))
    }

    pub(crate) fn new(most: u64) -> Budget {
        Budget { most, left: most }
    }

    /// Takes `bytes` from the budget; `name` names the archive in errors.
    pub(crate) fn take(&mut self, bytes: u64, name: &str) -> Result<(), Error> {
        self.left = self.left.checked_sub(bytes).ok_or(Error::TooMuch {
            name: name.to_owned(),
            most: self.most,
        })?;
        Ok(())
    }
}
