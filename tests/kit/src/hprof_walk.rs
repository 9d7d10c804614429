//! A second reader of HPROF's binary format, which shares no code with the crate `loadhook-hprof`.
//! It walks over a file record by record up to its last byte. The sizes of the records come from
//! the manual.

use std::collections::BTreeMap;

/// The number of records of each tag. The key of a heap record is its tag plus 256.
pub type Counts = BTreeMap<u32, u32>;

struct Walk<'b> {
    rest: &'b [u8],
    id: usize,
    counts: Counts,
}

/// Walks over a whole file. Panics if a record does not end where it should, or if bytes are left.
#[must_use]
pub fn walk(file: &[u8]) -> Counts {
    let end = file
        .iter()
        .position(|byte| *byte == 0)
        .expect("a header ends in a zero");
    let version = std::str::from_utf8(&file[..end]).expect("a header is text");
    assert!(
        matches!(version, "JAVA PROFILE 1.0.1" | "JAVA PROFILE 1.0.2"),
        "{version}"
    );
    let mut walk = Walk {
        rest: &file[end + 1..],
        id: 0,
        counts: Counts::new(),
    };
    walk.id = walk.u4();
    walk.skip(8);
    while !walk.rest.is_empty() {
        walk.record();
    }
    walk.counts
}

impl Walk<'_> {
    fn skip(&mut self, bytes: usize) {
        assert!(
            bytes <= self.rest.len(),
            "{bytes} bytes, but {} are left",
            self.rest.len()
        );
        self.rest = &self.rest[bytes..];
    }

    fn number(&mut self, bytes: usize) -> usize {
        let value = self.rest[..bytes]
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        self.skip(bytes);
        value
    }

    fn u4(&mut self) -> usize {
        self.number(4)
    }

    fn count(&mut self, tag: usize) {
        *self.counts.entry(tag as u32).or_default() += 1;
    }

    fn record(&mut self) {
        let tag = self.number(1);
        self.skip(4);
        let length = self.u4();
        self.count(tag);
        let end = self
            .rest
            .len()
            .checked_sub(length)
            .expect("a record ends in the file");
        let id = self.id;
        match tag {
            0x01 => self.skip(length),
            0x02 => self.skip(4 + id + 4 + id),
            0x03 | 0x0b => self.skip(4),
            0x04 => self.skip(4 * id + 8),
            0x05 => {
                self.skip(8);
                let frames = self.u4();
                self.skip(frames * id);
            }
            0x06 => {
                self.skip(2 + 4 + 4 + 4 + 8 + 8);
                let sites = self.u4();
                self.skip(sites * 25);
            }
            0x07 => self.skip(24),
            0x0a => self.skip(4 + id + 4 + 3 * id),
            0x0d => {
                self.skip(4);
                let traces = self.u4();
                self.skip(traces * 8);
            }
            0x0e => self.skip(6),
            0x40 | 0x41 | 0x44 => {
                self.skip(8);
                let traces = self.u4();
                self.skip(traces * 24);
            }
            0x42 => self.skip(8 + id),
            0x43 => {
                self.skip(id + 8);
                let waiters = self.u4() + self.u4();
                self.skip(4 * waiters);
            }
            0x0c | 0x1c => {
                while self.rest.len() > end {
                    self.heap_record();
                }
            }
            0x2c => {}
            _ => panic!("unknown record {tag:#x}"),
        }
        assert_eq!(
            self.rest.len(),
            end,
            "record {tag:#x} has another length than it says"
        );
    }

    fn heap_record(&mut self) {
        let tag = self.number(1);
        self.count(256 + tag);
        let id = self.id;
        match tag {
            0xff | 0x05 | 0x07 => self.skip(id),
            0x01 => self.skip(2 * id),
            0x02 | 0x03 | 0x08 => self.skip(id + 8),
            0x04 | 0x06 => self.skip(id + 4),
            0x20 => {
                self.skip(id + 4 + 6 * id + 4);
                for _ in 0..self.number(2) {
                    self.skip(2);
                    self.value();
                }
                for _ in 0..self.number(2) {
                    self.skip(id);
                    self.value();
                }
                let fields = self.number(2);
                self.skip(fields * (id + 1));
            }
            0x21 => {
                self.skip(id + 4 + id);
                let bytes = self.u4();
                self.skip(bytes);
            }
            0x22 => {
                self.skip(id + 4);
                let length = self.u4();
                self.skip(id + length * id);
            }
            0x23 => {
                self.skip(id + 4);
                let length = self.u4();
                let of = self.number(1);
                self.skip(length * self.size(of));
            }
            _ => panic!("unknown heap record {tag:#x}"),
        }
    }

    fn value(&mut self) {
        let of = self.number(1);
        self.skip(self.size(of));
    }

    fn size(&self, of: usize) -> usize {
        match of {
            2 => self.id,
            4 | 8 => 1,
            5 | 9 => 2,
            6 | 10 => 4,
            7 | 11 => 8,
            _ => panic!("unknown type {of}"),
        }
    }
}
