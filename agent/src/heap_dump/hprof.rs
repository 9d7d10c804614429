//! HPROF binary 1.0.2, as it is written: names, classes and stacks, then the
//! heap in segments.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::time::SystemTime;

use crate::jvm::heap_walk::size_of;

/// Bytes of a segment; one object more than that is a segment of its own.
const SEGMENT: usize = 1 << 20;

/// The longest record that a segment can hold.
pub(super) const LONGEST: u64 = u32::MAX as u64;

/// The stack trace that objects have: an empty one.
pub(super) const NO_TRACE: u32 = 1;

/// Bytes of an identifier: as many as [`size_of`] a reference.
pub(super) const ID: usize = 8;

/// The type of references.
pub(super) const OBJECT: u8 = 2;

/// The number of a type, by the first byte of its descriptor.
pub(super) fn type_of(descriptor: u8) -> u8 {
    match descriptor {
        b'Z' => 4,
        b'C' => 5,
        b'F' => 6,
        b'D' => 7,
        b'B' => 8,
        b'S' => 9,
        b'I' => 10,
        b'J' => 11,
        _ => OBJECT,
    }
}

/// A record of the heap's.
#[derive(Default)]
pub(super) struct Record(Vec<u8>);

impl Record {
    pub(super) fn new(tag: u8) -> Record {
        // As long as the heads of objects, at once.
        let mut bytes = Vec::with_capacity(32);
        bytes.push(tag);
        Record(bytes)
    }

    pub(super) fn u1(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub(super) fn u2(mut self, value: u16) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(super) fn u4(mut self, value: u32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(super) fn id(mut self, value: u64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    /// A value, whose bits are the lower ones.
    pub(super) fn value(mut self, descriptor: u8, bits: u64) -> Self {
        let bytes = bits.to_be_bytes();
        self.0.extend(&bytes[bytes.len() - size_of(descriptor)..]);
        self
    }
}

/// A frame of a stack.
pub(super) struct FrameRecord {
    pub(super) id: u64,
    pub(super) name: u64,
    pub(super) descriptor: u64,
    pub(super) file: u64,
    pub(super) class_serial: u32,
    /// −1 where it is not known, −3 in a native method.
    pub(super) line: i32,
}

/// Writes a dump.
pub(super) struct Writer<W: Write> {
    out: BufWriter<W>,
    names: HashMap<Box<[u8]>, u64>,
    segment: Vec<u8>,
    /// Whether the segment's head is written: it is one object's.
    is_open: bool,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(out: W) -> io::Result<Self> {
        let mut out = BufWriter::new(out);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let millis = now.map_or(0, |time| time.as_millis() as u64);
        out.write_all(b"JAVA PROFILE 1.0.2\0")?;
        out.write_all(&(ID as u32).to_be_bytes())?;
        out.write_all(&millis.to_be_bytes())?;
        let mut writer = Writer {
            out,
            names: HashMap::new(),
            segment: Vec::with_capacity(SEGMENT),
            is_open: false,
        };
        writer.stack_trace(NO_TRACE, 0, &[])?;
        Ok(writer)
    }

    fn record(&mut self, tag: u8, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        self.out.write_all(&[tag, 0, 0, 0, 0])?;
        self.out.write_all(&length.to_be_bytes())?;
        self.out.write_all(body)
    }

    /// The number of a name, which is written the first time.
    pub(super) fn name(&mut self, text: &[u8]) -> io::Result<u64> {
        if let Some(id) = self.names.get(text) {
            return Ok(*id);
        }
        let id = self.names.len() as u64 + 1;
        self.names.insert(text.into(), id);
        self.record(0x01, &[&id.to_be_bytes(), text].concat())?;
        Ok(id)
    }

    pub(super) fn load_class(&mut self, serial: u32, id: u64, name: &[u8]) -> io::Result<()> {
        let name = self.name(name)?;
        let body = Record::default().u4(serial).id(id).u4(NO_TRACE).id(name);
        self.record(0x02, &body.0)
    }

    pub(super) fn stack_frame(&mut self, frame: &FrameRecord) -> io::Result<()> {
        let body = Record::default()
            .id(frame.id)
            .id(frame.name)
            .id(frame.descriptor)
            .id(frame.file)
            .u4(frame.class_serial)
            .u4(frame.line.cast_unsigned());
        self.record(0x04, &body.0)
    }

    pub(super) fn stack_trace(
        &mut self,
        serial: u32,
        thread: u32,
        frames: &[u64],
    ) -> io::Result<()> {
        let head = Record::default().u4(serial).u4(thread);
        let body = head.u4(frames.len() as u32);
        let body = frames.iter().fold(body, |body, frame| body.id(*frame));
        self.record(0x05, &body.0)
    }

    /// A whole record of the heap's.
    pub(super) fn heap(&mut self, record: &Record) -> io::Result<()> {
        self.begin(record, 0)?;
        self.end()
    }

    /// A record of the heap's of which `more` bytes follow, by [`Writer::put`],
    /// and then [`Writer::end`].
    pub(super) fn begin(&mut self, head: &Record, more: u64) -> io::Result<()> {
        let length = head.0.len() as u64 + more;
        if self.segment.len() as u64 + length > SEGMENT as u64 {
            self.flush()?;
        }
        if length > SEGMENT as u64 {
            let length = u32::try_from(length).map_err(io::Error::other)?;
            self.out.write_all(&[0x1c, 0, 0, 0, 0])?;
            self.out.write_all(&length.to_be_bytes())?;
            self.is_open = true;
        }
        self.put(&head.0)
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_open && self.segment.len() + bytes.len() > SEGMENT {
            self.out.write_all(&self.segment)?;
            self.segment.clear();
            if bytes.len() >= SEGMENT {
                return self.out.write_all(bytes);
            }
        }
        self.segment.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn end(&mut self) -> io::Result<()> {
        if self.is_open {
            self.out.write_all(&self.segment)?;
            self.segment.clear();
            self.is_open = false;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.segment.is_empty() {
            let segment = std::mem::take(&mut self.segment);
            let written = self.record(0x1c, &segment);
            self.segment = segment;
            self.segment.clear();
            written?;
        }
        Ok(())
    }

    /// Ends the dump.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.record(0x2c, &[])?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bodies of a dump's segments.
    fn segments(dump: &[u8]) -> Vec<Vec<u8>> {
        let mut rest = &dump[31..];
        let mut segments = Vec::new();
        while let [tag, _, _, _, _, a, b, c, d, body @ ..] = rest {
            let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
            if *tag == 0x1c {
                segments.push(body[..length].to_vec());
            }
            rest = &body[length..];
        }
        assert!(rest.is_empty());
        segments
    }

    #[test]
    fn large_objects_have_segments_of_their_own() {
        let mut dump = Vec::new();
        let mut writer = Writer::new(&mut dump).expect("memory");
        let small = Record::new(0x05).id(7);
        writer.heap(&small).expect("memory");
        for more in [SEGMENT - 1, SEGMENT, 3 * SEGMENT + 5] {
            writer
                .begin(&Record::new(0x23), more as u64)
                .expect("memory");
            for byte in 0..more {
                writer.put(&[byte as u8]).expect("memory");
            }
            writer.end().expect("memory");
        }
        writer
            .begin(&Record::new(0x23), 2 * SEGMENT as u64)
            .expect("memory");
        writer.put(&vec![9; 2 * SEGMENT]).expect("memory");
        writer.end().expect("memory");
        writer.heap(&small).expect("memory");
        writer.finish().expect("memory");
        let segments = segments(&dump);
        let lengths: Vec<usize> = segments.iter().map(Vec::len).collect();
        let large = [SEGMENT, SEGMENT + 1, 3 * SEGMENT + 6, 2 * SEGMENT + 1];
        assert_eq!(lengths, [&[9], &large[..], &[9]].concat());
        assert_eq!(segments[3][1..300].last(), Some(&42));
        assert!(segments[4][1..].iter().all(|byte| *byte == 9));
    }

    /// Counts the calls.
    struct Calls<'c>(&'c mut usize);

    impl Write for Calls<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            *self.0 += 1;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn many_names_are_written_at_once() {
        let mut calls = 0;
        let mut writer = Writer::new(Calls(&mut calls)).expect("memory");
        for number in 0..10_000_u32 {
            writer.name(&number.to_be_bytes()).expect("memory");
        }
        writer.finish().expect("memory");
        assert!(calls < 100, "{calls}");
    }

    #[test]
    fn names_are_written_once() {
        let mut dump = Vec::new();
        let mut writer = Writer::new(&mut dump).expect("memory");
        let ids = [b"one", b"two", b"one"].map(|name| writer.name(name).expect("memory"));
        assert_eq!(ids, [1, 2, 1]);
        writer.finish().expect("memory");
        let found = dump.windows(3).filter(|bytes| *bytes == b"one").count();
        assert_eq!(found, 1);
    }
}
