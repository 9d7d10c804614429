//! Checks that a file is one complete dump, record by record.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use crate::tag::top;

/// The reason why a file is not a complete dump.
#[derive(Debug, thiserror::Error)]
pub enum Invalid {
    /// The file could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file has no header of a heap dump.
    #[error("not a heap dump")]
    NoHeader,
    /// The file ends inside the head of a record.
    #[error("the file ends inside a record, at byte {at}")]
    EndsInHead {
        /// Position of the record.
        at: u64,
    },
    /// No known record begins at this position.
    #[error("no known record begins at byte {at}")]
    UnknownRecord {
        /// The position.
        at: u64,
    },
    /// The last record is longer than the rest of the file.
    #[error("the file ends at byte {size}, inside a record that ends at {end}")]
    EndsInRecord {
        /// Size of the file.
        size: u64,
        /// End of the record.
        end: u64,
    },
    /// The last record is not the end of a dump.
    #[error("the file ends at byte {size} without the record that ends a dump")]
    NoEnd {
        /// Size of the file.
        size: u64,
    },
}

/// Checks that a dump consists of a header and records, that the last one is the record that ends a dump, and
/// that nothing follows. Does not read heap records.
///
/// # Errors
///
/// Fails at the first fault.
pub fn validate(file: impl Read + Seek) -> Result<(), Invalid> {
    let mut file = BufReader::new(file);
    let size = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    let mut header = Vec::new();
    (&mut file).take(32).read_until(0, &mut header)?;
    if !header.starts_with(b"JAVA PROFILE 1.0.") || header.last() != Some(&0) {
        return Err(Invalid::NoHeader);
    }
    // The size of identifiers, and the time.
    let mut at = header.len() as u64 + 12;
    file.seek_relative(12)?;
    let mut last = 0;
    while at < size {
        let mut record = [0; 9];
        match file.read_exact(&mut record) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(Invalid::EndsInHead { at });
            }
            read => read?,
        }
        let [tag, _, _, _, _, length @ ..] = record;
        if !top::ALL.contains(&tag) {
            return Err(Invalid::UnknownRecord { at });
        }
        let length = u32::from_be_bytes(length);
        at += record.len() as u64 + u64::from(length);
        if at > size {
            return Err(Invalid::EndsInRecord { size, end: at });
        }
        file.seek_relative(i64::from(length))?;
        last = tag;
    }
    if last != top::HEAP_DUMP_END {
        return Err(Invalid::NoEnd { size });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::validate;

    fn record(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len())
            .expect("the body is short")
            .to_be_bytes();
        [&[tag, 0, 0, 0, 0], &length[..], body].concat()
    }

    fn dump() -> Vec<u8> {
        let header = b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0";
        let records = [record(1, b"12345678name"), record(0x1c, &[5; 40])];
        [&header[..], &records.concat(), &record(0x2c, &[])].concat()
    }

    #[test]
    fn only_a_complete_dump_is_valid() {
        let dump = dump();
        validate(Cursor::new(&dump)).expect("the dump is complete");
        for length in 0..dump.len() {
            assert!(validate(Cursor::new(&dump[..length])).is_err(), "{length}");
        }
        for more in [&[0][..], &[0; 9], &record(1, b"x")] {
            let longer = [&dump, more].concat();
            assert!(validate(Cursor::new(longer)).is_err(), "{more:?}");
        }
    }

    #[test]
    fn a_segment_whose_length_was_never_filled_in_is_found() {
        let mut dump = dump();
        let segment = dump.len() - 9 - 40 - 9;
        dump[segment + 5..segment + 9].fill(0);
        let error = validate(Cursor::new(dump)).expect_err("the dump is broken");
        // The bytes of the segment are read as top-level records. Each byte is 5, so the tag is 5
        // and the length 0x05050505.
        let end = segment as u64 + 9 + 9 + 0x0505_0505;
        let expected = format!("that ends at {end}");
        assert!(error.to_string().ends_with(&expected), "{error}");
    }
}
