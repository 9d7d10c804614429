//! Serial numbers and identifiers, which begin in HPROF's ranges.

/// The next free numbers of a file or stream. In a stream, each part begins with the numbers that
/// the part before has left free, so that no number has two meanings.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    pub(super) threads: u32,
    pub(super) traces: u32,
    pub(super) classes: u32,
    /// Identifiers of frames.
    pub(super) frames: u64,
    /// Identifiers of names.
    pub(super) names: u64,
}

impl Default for Numbers {
    /// Returns the first numbers of HPROF's files.
    fn default() -> Numbers {
        Numbers {
            classes: 100_001,
            threads: 200_001,
            traces: 300_001,
            frames: 500_001,
            names: 1,
        }
    }
}

impl Numbers {
    /// Returns the serial number of the profile's thread at this index.
    pub(super) fn thread(&self, index: usize) -> u32 {
        self.threads
            .saturating_add(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// Returns the index of the profile's thread with this serial number.
    pub(super) fn thread_index(&self, serial: u32) -> Option<usize> {
        Some(serial.checked_sub(self.threads)? as usize)
    }
}
