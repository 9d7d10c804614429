//! Whether a heap dump is all there.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use anyhow::{Result, bail};

/// The record that ends a dump in segments.
const HEAP_DUMP_END: u8 = 0x2c;

/// The tags of top-level records.
const TAGS: &[u8] = &[
    0x01,
    0x02,
    0x03,
    0x04,
    0x05,
    0x06,
    0x07,
    0x0a,
    0x0b,
    0x0c,
    0x0d,
    0x0e,
    0x1c,
    HEAP_DUMP_END,
];

/// Refuses an HPROF dump that does not reach from its header, record by
/// record, to the record of its end and no further.
pub(super) fn check(file: impl Read + Seek) -> Result<()> {
    let mut file = BufReader::new(file);
    let size = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    let mut header = Vec::new();
    (&mut file).take(32).read_until(0, &mut header)?;
    if !header.starts_with(b"JAVA PROFILE 1.0.") || header.last() != Some(&0) {
        bail!("not a heap dump");
    }
    // The size of ids, and the date.
    let mut at = header.len() as u64 + 12;
    file.seek_relative(12)?;
    let mut last = 0;
    while at < size {
        let mut record = [0; 9];
        match file.read_exact(&mut record) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                bail!("the file ends inside a record, at byte {at}")
            }
            read => read?,
        }
        let [tag, _, _, _, _, length @ ..] = record;
        if !TAGS.contains(&tag) {
            bail!("no record at byte {at}");
        }
        let length = u32::from_be_bytes(length);
        at += record.len() as u64 + u64::from(length);
        if at > size {
            bail!("the file ends at byte {size}, inside a record that ends at {at}");
        }
        file.seek_relative(i64::from(length))?;
        last = tag;
    }
    match last {
        HEAP_DUMP_END => Ok(()),
        _ => bail!("the file ends at byte {size} without the record that ends a dump"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::check;

    fn record(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).expect("short").to_be_bytes();
        [&[tag, 0, 0, 0, 0], &length[..], body].concat()
    }

    fn dump() -> Vec<u8> {
        let header = b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0";
        let records = [record(1, b"12345678name"), record(0x1c, &[5; 40])];
        [&header[..], &records.concat(), &record(0x2c, &[])].concat()
    }

    #[test]
    fn only_the_whole_is_whole() {
        let dump = dump();
        check(Cursor::new(&dump)).expect("it is whole");
        for length in 0..dump.len() {
            assert!(check(Cursor::new(&dump[..length])).is_err(), "{length}");
        }
        for more in [&[0][..], &[0; 9], &record(1, b"x")] {
            let longer = [&dump, more].concat();
            assert!(check(Cursor::new(longer)).is_err(), "{more:?}");
        }
    }

    #[test]
    fn a_segment_whose_length_was_never_filled_in_is_found() {
        let mut dump = dump();
        let segment = dump.len() - 9 - 40 - 9;
        dump[segment + 5..segment + 9].fill(0);
        let error = check(Cursor::new(dump)).expect_err("it is broken");
        // A root, which is not at the top.
        dump_starts_at(&error.to_string(), segment + 9, 5);
    }

    /// The bytes of the body are taken for records: 5 is one, of 0x05050505 bytes.
    fn dump_starts_at(error: &str, at: usize, byte: u32) {
        let end = at as u64 + 9 + u64::from(byte * 0x0101_0101);
        assert!(error.ends_with(&format!("that ends at {end}")), "{error}");
    }
}
