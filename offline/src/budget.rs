//! Limit of the bytes that an archive may unpack to: a small archive could
//! otherwise take all time, memory or disk.

use crate::Error;

/// Maximum ratio of unpacked to packed bytes. Useful archives stay far below: classes are packed to
/// a half or a third.
const MOST_RATIO: u64 = 100;
/// Number of bytes that even a small archive may unpack to.
const LEAST: u64 = 1 << 30;
/// Number of bytes that count for each nested archive and for each root with a rewritten class,
/// because the tracker is added to the root.
pub(crate) const ROOT: u64 = 256 << 10;

/// Number of bytes that an archive may still unpack to.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    most: u64,
    left: u64,
}

impl Budget {
    /// Returns the budget of files that are not in an archive.
    pub(crate) fn unlimited() -> Budget {
        Budget::new(u64::MAX)
    }

    /// Returns the default budget of an archive of `len` bytes.
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
