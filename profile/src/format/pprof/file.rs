//! A pprof file while it is written: messages are collected, then compressed.

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::fields;
use super::protobuf::Writer;
use crate::model::ThreadTree;

/// The number of bytes that are collected before they are compressed.
pub(super) const PIECE: usize = 1 << 16;

pub(super) struct File<W: Write> {
    pub(super) writer: Writer,
    gzip: GzEncoder<W>,
    pub(super) strings: Strings,
    /// The ids of the locations that were written so far, by method and line.
    pub(super) places: HashMap<(u32, u32), u64>,
}

/// The string table; entry 0 is the empty string.
#[derive(Default)]
pub(super) struct Strings {
    indexes: HashMap<String, u64>,
    all: Vec<String>,
}

impl Strings {
    pub(super) fn index(&mut self, text: &str) -> u64 {
        if let Some(index) = self.indexes.get(text) {
            return *index;
        }
        let index = self.all.len() as u64;
        self.indexes.insert(text.to_owned(), index);
        self.all.push(text.to_owned());
        index
    }
}

impl<W: Write> File<W> {
    pub(super) fn new(out: W) -> File<W> {
        let mut file = File {
            writer: Writer::default(),
            // Fast compression suffices: stacks repeat so much that a higher level takes more time
            // for little gain.
            gzip: GzEncoder::new(out, Compression::fast()),
            strings: Strings::default(),
            places: HashMap::new(),
        };
        file.strings.index("");
        file
    }

    /// Compresses the collected bytes if there are more than `limit` bytes.
    pub(super) fn flush(&mut self, limit: usize) -> io::Result<()> {
        if self.writer.bytes.len() > limit {
            self.gzip.write_all(&self.writer.bytes)?;
            self.writer.bytes.clear();
        }
        Ok(())
    }

    pub(super) fn value_type(&mut self, field: u32, name: &str, unit: &str) {
        let [name, unit] = [name, unit].map(|text| self.strings.index(text));
        self.writer.message(field, |value_type| {
            value_type.number(1, name);
            value_type.number(2, unit);
        });
    }

    pub(super) fn thread_labels(&mut self, thread: &ThreadTree) -> ThreadLabels {
        ThreadLabels {
            name: ["thread", &thread.name].map(|text| self.strings.index(text)),
            id: thread.id.map(|id| (self.strings.index("thread_id"), id)),
        }
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        for text in std::mem::take(&mut self.strings.all) {
            self.writer.text(fields::STRING_TABLE, text.as_bytes());
            self.flush(PIECE)?;
        }
        self.flush(0)?;
        self.gzip.finish()?.flush()
    }
}

/// The labels of a sample that name its thread.
pub(super) struct ThreadLabels {
    /// The string indexes of the label's key and text.
    name: [u64; 2],
    /// The label's key and number.
    id: Option<(u64, u64)>,
}

impl ThreadLabels {
    pub(super) fn write(&self, sample: &mut Writer) {
        sample.message(3, |label| {
            label.number(1, self.name[0]);
            label.number(2, self.name[1]);
        });
        if let Some((key, id)) = self.id {
            sample.message(3, |label| {
                label.number(1, key);
                label.number(3, id);
            });
        }
    }
}

/// Returns the distance of each node to its parent, which comes before the node; 0 for roots.
pub(super) fn distances(parents: impl Iterator<Item = Option<u32>>) -> impl Iterator<Item = u64> {
    let distance =
        |(at, parent): (u64, Option<u32>)| parent.map_or(0, |parent| at - u64::from(parent));
    (0..).zip(parents).map(distance)
}
