//! The part of the protobuf wire format that pprof needs.
//! <https://protobuf.dev/programming-guides/encoding/>

use std::io::{self, BufRead, Read};

/// Appends fields to a buffer.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
}

impl Writer {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Writes a number. 0 is the default value and is not written.
    pub(super) fn number(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.varint(u64::from(field) << 3);
            self.varint(value);
        }
    }

    /// Writes text or bytes, also if empty.
    pub(super) fn text(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes a message, also if empty.
    pub(super) fn message(&mut self, field: u32, body: impl FnOnce(&mut Writer)) {
        self.varint(u64::from(field) << 3 | 2);
        // One byte is reserved for the length. If the length needs more, the body is moved.
        let at = self.bytes.len();
        self.bytes.push(0);
        body(self);
        let mut len = Writer::default();
        len.varint((self.bytes.len() - at - 1) as u64);
        self.bytes.splice(at..=at, len.bytes);
    }

    /// Writes several numbers in one field.
    pub(super) fn packed(&mut self, field: u32, values: impl IntoIterator<Item = u64>) {
        self.message(field, |writer| {
            for value in values {
                writer.varint(value);
            }
        });
    }
}

/// The error for bytes that are not protobuf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The value of a field, by wire type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    /// A fixed 32- or 64-bit number. pprof does not use them, so the value is dropped.
    Fixed,
    Bytes(&'a [u8]),
}

/// Iterates over the fields of a message, and ends after the first fault.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { rest: bytes }
    }

    fn field(&mut self) -> Result<(u32, Value<'a>), Malformed> {
        let tag = varint(&mut self.rest)?;
        let field = number_of_field(tag)?;
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut self.rest)?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let len = varint(&mut self.rest)?;
                Value::Bytes(self.take(usize::try_from(len).map_err(|_| Malformed)?)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            // Groups have been obsolete since 2008.
            _ => return Err(Malformed),
        };
        Ok((field, value))
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// Returns the field number in a tag. Field numbers begin at 1, so zero bytes are no field.
fn number_of_field(tag: u64) -> Result<u32, Malformed> {
    match u32::try_from(tag >> 3) {
        Ok(0) | Err(_) => Err(Malformed),
        Ok(field) => Ok(field),
    }
}

/// The beginning of a field in a stream. The bytes of its value follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    Number(u64),
    /// A fixed number of this many bytes. pprof does not use them.
    Fixed(u64),
    /// A value of this many bytes.
    Bytes(u64),
}

/// Reads the fields of a message one after the other, without the whole message in memory. After a
/// [`Head`], the caller must take or skip the value.
pub(super) struct Stream<R> {
    from: R,
}

/// The reason why a [`Stream`] ended early.
#[derive(Debug)]
pub(super) enum StreamError {
    /// The file cannot be read.
    Read(io::Error),
    Malformed,
}

impl From<io::Error> for StreamError {
    fn from(error: io::Error) -> StreamError {
        StreamError::Read(error)
    }
}

impl From<Malformed> for StreamError {
    fn from(_: Malformed) -> StreamError {
        StreamError::Malformed
    }
}

impl<R: BufRead> Stream<R> {
    pub(super) fn new(from: R) -> Stream<R> {
        Stream { from }
    }

    /// Reads the beginning of the next field; `None` at the end.
    pub(super) fn head(&mut self) -> Result<Option<(u32, Head)>, StreamError> {
        if self.from.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let field = number_of_field(tag)?;
        let head = match tag & 7 {
            0 => Head::Number(self.varint()?),
            1 => Head::Fixed(8),
            2 => Head::Bytes(self.varint()?),
            5 => Head::Fixed(4),
            _ => return Err(StreamError::Malformed),
        };
        Ok(Some((field, head)))
    }

    /// Takes the next `len` bytes.
    pub(super) fn take(&mut self, len: u64) -> Result<Vec<u8>, StreamError> {
        let mut bytes = Vec::new();
        let taken = (&mut self.from).take(len).read_to_end(&mut bytes)?;
        if taken as u64 == len {
            Ok(bytes)
        } else {
            Err(StreamError::Malformed)
        }
    }

    /// Skips the next `len` bytes.
    pub(super) fn skip(&mut self, len: u64) -> Result<(), StreamError> {
        let skipped = io::copy(&mut (&mut self.from).take(len), &mut io::sink())?;
        if skipped == len {
            Ok(())
        } else {
            Err(StreamError::Malformed)
        }
    }

    fn varint(&mut self) -> Result<u64, StreamError> {
        number(|| {
            let byte = *self.from.fill_buf()?.first().ok_or(Malformed)?;
            self.from.consume(1);
            Ok(byte)
        })
    }
}

/// Returns the numbers of a packed field.
pub(super) fn unpack(mut bytes: &[u8]) -> Result<Vec<u64>, Malformed> {
    let mut values = Vec::new();
    while !bytes.is_empty() {
        values.push(varint(&mut bytes)?);
    }
    Ok(values)
}

/// Takes a number from the front of `bytes`.
pub(super) fn varint(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    number(|| {
        let (byte, rest) = bytes.split_first().ok_or(Malformed)?;
        *bytes = rest;
        Ok(*byte)
    })
}

/// Reads a number of up to ten bytes.
fn number<E: From<Malformed>>(mut next: impl FnMut() -> Result<u8, E>) -> Result<u64, E> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = next()?;
        let low = u64::from(byte & 0x7f);
        if shift == 63 && low > 1 {
            return Err(Malformed.into());
        }
        value |= low << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Malformed.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_fields_are_read_back() {
        let mut writer = Writer::default();
        writer.number(1, 0);
        writer.number(2, 300);
        writer.text(1000, b"ab");
        writer.packed(3, [0, 1, 127, 128, u64::MAX]);
        writer.message(4, |inner| inner.text(5, &[7; 200]));
        // The specification's own example: 300 is AC 02.
        assert_eq!(writer.bytes[..3], [0x10, 0xac, 0x02]);

        let fields: Result<Vec<_>, _> = Fields::new(&writer.bytes).collect();
        let fields = fields.expect("the message is well formed");
        assert_eq!(fields[0], (2, Value::Number(300)));
        assert_eq!(fields[1], (1000, Value::Bytes(b"ab")));
        let (3, Value::Bytes(packed)) = fields[2] else {
            panic!("{:?}", fields[2]);
        };
        assert_eq!(unpack(packed), Ok(vec![0, 1, 127, 128, u64::MAX]));
        let (4, Value::Bytes(message)) = fields[3] else {
            panic!("{:?}", fields[3]);
        };
        let inner: Vec<_> = Fields::new(message).collect();
        assert_eq!(inner, [Ok((5, Value::Bytes(&[7; 200])))]);
    }

    #[test]
    fn bad_bytes_are_errors() {
        let bad: [&[u8]; 7] = [
            &[0, 0],                                                 // field 0
            &[0x80],                                                 // cut varint
            &[0x08],                                                 // no value
            &[0x0a, 5, 1],                                           // fewer bytes than the length
            &[0x0b],                                                 // a group
            &[0x09, 1, 2, 3],                                        // cut fixed64
            &[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2], // 65 bits
        ];
        for bytes in bad {
            assert_eq!(Fields::new(bytes).last(), Some(Err(Malformed)), "{bytes:?}");
            let streamed = streamed(bytes);
            assert!(matches!(streamed, Err(StreamError::Malformed)), "{bytes:?}");
        }
    }

    /// A field's number, and its value unless it was skipped.
    type Streamed = (u32, Option<Vec<u8>>);

    /// Reads the fields of a message as a stream, and skips those with odd numbers.
    fn streamed(bytes: &[u8]) -> Result<Vec<Streamed>, StreamError> {
        let mut stream = Stream::new(io::BufReader::with_capacity(3, bytes));
        let mut fields = Vec::new();
        while let Some((field, head)) = stream.head()? {
            fields.push(match head {
                Head::Number(number) => (field, Some(number.to_le_bytes().to_vec())),
                Head::Bytes(len) if field % 2 == 0 => (field, Some(stream.take(len)?)),
                Head::Bytes(len) | Head::Fixed(len) => {
                    stream.skip(len)?;
                    (field, None)
                }
            });
        }
        Ok(fields)
    }

    #[test]
    fn streams_have_the_same_fields() {
        let mut writer = Writer::default();
        writer.number(1, 300);
        writer.text(2, &[7; 200]);
        writer.text(3, &[8; 200]);
        writer.text(4, b"");
        writer.bytes.extend([0x29, 1, 2, 3, 4, 5, 6, 7, 8]); // fixed64
        writer.bytes.extend([0x35, 1, 2, 3, 4]); // fixed32
        let expected = [
            (1, Some(300u64.to_le_bytes().to_vec())),
            (2, Some(vec![7; 200])),
            (3, None),
            (4, Some(Vec::new())),
            (5, None),
            (6, None),
        ];
        let fields = streamed(&writer.bytes).expect("the message is well formed");
        assert_eq!(fields, expected);
    }
}
