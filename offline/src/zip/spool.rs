//! Content that may be large: in memory while it is small, then in a temporary file
//! without a name.

use std::fs::File;
use std::io::{self, Seek, Write};

use libdeflater::Crc;
use tempfile::{SpooledData, SpooledTempFile};

use super::copy::copy;

/// Maximum number of bytes of one content in memory.
pub(super) const IN_MEMORY: usize = 8 << 20;

/// Content that is being written.
#[derive(Debug)]
pub struct Spool {
    data: SpooledTempFile,
    crc: u32,
    len: u64,
}

/// The storage of the content.
#[derive(Debug)]
pub(super) enum Data {
    Memory(Vec<u8>),
    File(File),
}

impl Spool {
    /// Makes an empty spool.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Spool {
        Spool {
            data: SpooledTempFile::new(IN_MEMORY),
            crc: 0,
            len: 0,
        }
    }

    /// Returns whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes the whole content to `out`.
    ///
    /// # Errors
    /// Fails if reading or writing fails.
    pub fn copy_to(self, out: &mut impl Write) -> io::Result<()> {
        self.into_data().copy_to(out)
    }

    /// Returns the checksum and the length of the content.
    pub(super) fn sums(&self) -> (u32, u64) {
        (self.crc, self.len)
    }

    pub(super) fn into_data(self) -> Data {
        match self.data.into_inner() {
            SpooledData::InMemory(bytes) => Data::Memory(bytes.into_inner()),
            SpooledData::OnDisk(file) => Data::File(file),
        }
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.data.write(bytes)?;
        let mut crc = Crc::with_initial(self.crc);
        crc.update(&bytes[..written]);
        self.crc = crc.sum();
        self.len += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.data.flush()
    }
}

impl Data {
    /// Writes the whole content to `out`.
    pub(super) fn copy_to(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Data::Memory(bytes) => out.write_all(bytes),
            Data::File(file) => {
                let mut file = file;
                file.rewind()?;
                copy(file, out)
            }
        }
    }
}
