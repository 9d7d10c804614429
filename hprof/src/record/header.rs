//! The header of a dump.

use std::io::{self, Read, Write};

use crate::error::{Error, ErrorKind, Result};
use crate::input::Input;

/// The header of a dump, except for its version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Number of bytes of an identifier, 4 or 8.
    pub id_size: u32,
    /// Time of the dump, in milliseconds since 1970.
    pub time_ms: u64,
}

const VERSION_1_0_1: &[u8] = b"JAVA PROFILE 1.0.1\0";
const VERSION_1_0_2: &[u8] = b"JAVA PROFILE 1.0.2\0";

/// Number of bytes of a header: the version, the size of identifiers and the time.
pub(crate) const HEADER_LENGTH: usize = VERSION_1_0_2.len() + 4 + 8;

impl Header {
    pub(crate) fn read<R: Read>(input: &mut Input<R>) -> Result<Header> {
        let what = "the header";
        match input.take(VERSION_1_0_2.len(), what) {
            Ok(VERSION_1_0_1 | VERSION_1_0_2) => {}
            Err(error) if !error.is_truncated() => return Err(error),
            _ => {
                let kind = match input.at() {
                    0 => ErrorKind::Empty,
                    _ => ErrorKind::NotADump,
                };
                return Err(Error { kind, at: 0 });
            }
        }
        let id_size = input.u4(what)?;
        if !matches!(id_size, 4 | 8) {
            return input.error(ErrorKind::IdSize(id_size));
        }
        let time_ms = input.u8(what)?;
        Ok(Header { id_size, time_ms })
    }

    /// Returns the first bytes of a file of version 1.0.2: the version and the size of identifiers.
    pub(crate) fn magic(id_size: u32) -> Vec<u8> {
        [VERSION_1_0_2, &id_size.to_be_bytes()].concat()
    }

    /// Writes the header of version 1.0.2, the version with heap segments.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&Header::magic(self.id_size))?;
        out.write_all(&self.time_ms.to_be_bytes())
    }
}
