//! How much an archive may unpack to, lest a small one takes all day, memory
//! or disk.

use crate::Error;

/// What no archive of use comes near: classes are packed to a half or a third.
const MOST_RATIO: u64 = 100;
/// What even a small archive may unpack to, in bytes.
const LEAST: u64 = 1 << 30;
/// What an archive inside, or a root with a rewritten class, costs besides: the
/// tracker is put there.
pub(crate) const ROOT: u64 = 256 << 10;

/// What is left of the bytes that an archive may unpack to.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    most: u64,
    left: u64,
}

impl Budget {
    /// For what is not in an archive.
    pub(crate) fn unlimited() -> Budget {
        Budget::new(u64::MAX)
    }

    /// For an archive of `len` bytes, where nothing else is said.
    pub(crate) fn usual(len: u64) -> Budget {
        Budget::new(len.saturating_mul(MOST_RATIO).max(LEAST))
    }

    pub(crate) fn new(most: u64) -> Budget {
        Budget { most, left: most }
    }

    /// Takes so many bytes for something in the archive of this name.
    pub(crate) fn take(&mut self, bytes: u64, name: &str) -> Result<(), Error> {
        self.left = self.left.checked_sub(bytes).ok_or(Error::TooMuch {
            name: name.to_owned(),
            most: self.most,
        })?;
        Ok(())
    }
}
