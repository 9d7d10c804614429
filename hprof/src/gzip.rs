//! Unpacks dumps that are compressed by gzip.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;

/// The first bytes of a gzip member.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Unpacks `source` if it is compressed by gzip.
pub(crate) fn unpacked<'r>(mut source: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
    let mut first = Vec::new();
    source.by_ref().take(2).read_to_end(&mut first)?;
    let is_packed = first == MAGIC;
    let whole = io::Cursor::new(first).chain(source);
    if !is_packed {
        return Ok(Box::new(whole));
    }
    let whole = BufReader::with_capacity(1 << 17, whole);
    Ok(Box::new(Packed::Member(Box::new(GzDecoder::new(whole)))))
}

/// A gzip file. It may have several members, because several threads of HotSpot compress a dump.
enum Packed<R> {
    Member(Box<GzDecoder<R>>),
    End,
    TrailingBytes,
}

/// Returns whether only zeros follow. The last block of a tape or a disk may be filled with zeros.
fn ends_in_zeros(mut source: impl BufRead) -> io::Result<bool> {
    loop {
        let next = source.fill_buf()?;
        if next.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        let length = next.len();
        if length == 0 {
            return Ok(true);
        }
        source.consume(length);
    }
}

/// The error if other bytes follow the last gzip member.
#[derive(Debug, thiserror::Error)]
#[error("other bytes follow the gzip data")]
pub(crate) struct TrailingBytes;

impl<R: BufRead> Read for Packed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self {
                Packed::End => return Ok(0),
                Packed::TrailingBytes => return Err(io::Error::other(TrailingBytes)),
                Packed::Member(member) => {
                    let read = member.read(buffer)?;
                    if read > 0 || buffer.is_empty() {
                        return Ok(read);
                    }
                }
            }
            if let Packed::Member(member) = std::mem::replace(self, Packed::End) {
                let mut source = member.into_inner();
                let next = source.fill_buf()?;
                let begins = next.len().min(MAGIC.len());
                if begins > 0 && next[..begins] == MAGIC[..begins] {
                    *self = Packed::Member(Box::new(GzDecoder::new(source)));
                } else if !ends_in_zeros(source)? {
                    *self = Packed::TrailingBytes;
                }
            }
        }
    }
}
