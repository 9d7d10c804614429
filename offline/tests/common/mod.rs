//! Archives made by hand, with what other tools leave out.

use std::collections::HashSet;
use std::io::Read;

use flate2::Compression;
use flate2::read::DeflateEncoder;
use proptest::prelude::*;

/// What stands behind an entry's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Descriptor {
    No,
    Bare,
    Signed,
}

/// An entry.
#[derive(Clone, Debug)]
pub(crate) struct EntrySpec {
    pub(crate) name: Vec<u8>,
    pub(crate) content: Vec<u8>,
    pub(crate) deflated: bool,
    pub(crate) descriptor: Descriptor,
    /// Whether its sizes are in a zip64 field, needed or not.
    pub(crate) zip64: bool,
    pub(crate) extra: Vec<u8>,
    pub(crate) comment: Vec<u8>,
    pub(crate) time: u32,
    pub(crate) attributes: u32,
    /// Bytes behind it that belong to nothing.
    pub(crate) gap: Vec<u8>,
}

impl EntrySpec {
    pub(crate) fn is_class(&self) -> bool {
        self.name.ends_with(b".class")
    }
}

/// An archive.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) prefix: Vec<u8>,
    /// Whether offsets count from behind the prefix.
    pub(crate) shifted: bool,
    pub(crate) entries: Vec<EntrySpec>,
    /// Whether the directory has another order than the entries.
    pub(crate) reversed: bool,
    pub(crate) comment: Vec<u8>,
}

impl Spec {
    pub(crate) fn has_duplicates(&self) -> bool {
        let mut names = HashSet::new();
        self.entries.iter().any(|entry| !names.insert(&entry.name))
    }
}

/// An archive's bytes, and those of its local records.
pub(crate) struct Made {
    pub(crate) bytes: Vec<u8>,
    pub(crate) locals: Vec<Vec<u8>>,
}

pub(crate) fn made(spec: &Spec) -> Made {
    let mut bytes = spec.prefix.clone();
    let base = if spec.shifted { bytes.len() } else { 0 };
    let mut locals = Vec::new();
    let mut records = Vec::new();
    for entry in &spec.entries {
        let offset = (bytes.len() - base) as u32;
        let (local, record) = entry.records(offset);
        bytes.extend(&local);
        bytes.extend(&entry.gap);
        locals.push(local);
        records.push(record);
    }
    if spec.reversed {
        records.reverse();
    }
    let start = bytes.len();
    bytes.extend(records.concat());
    let len = (bytes.len() - start) as u32;
    let count = (records.len() as u16).to_le_bytes();
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count);
    bytes.extend(count);
    bytes.extend(len.to_le_bytes());
    bytes.extend(((start - base) as u32).to_le_bytes());
    bytes.extend((spec.comment.len() as u16).to_le_bytes());
    bytes.extend(&spec.comment);
    Made { bytes, locals }
}

impl EntrySpec {
    fn records(&self, offset: u32) -> (Vec<u8>, Vec<u8>) {
        let mut data = self.content.clone();
        if self.deflated {
            data.clear();
            DeflateEncoder::new(&self.content[..], Compression::new(1))
                .read_to_end(&mut data)
                .expect("memory is read");
        }
        let mut crc = flate2::Crc::new();
        crc.update(&self.content);
        let (crc, packed, size) = (crc.sum(), data.len() as u64, self.content.len() as u64);
        let flags = u16::from(self.descriptor != Descriptor::No) << 3 | 1 << 11;
        let common = |crc: u32, packed: u32, size: u32| {
            let mut out = flags.to_le_bytes().to_vec();
            out.extend((if self.deflated { 8_u16 } else { 0 }).to_le_bytes());
            out.extend(self.time.to_le_bytes());
            out.extend([crc, packed, size].into_iter().flat_map(u32::to_le_bytes));
            out.extend((self.name.len() as u16).to_le_bytes());
            out
        };
        let zip64 = |sizes: &[u64]| {
            let mut out = 1_u16.to_le_bytes().to_vec();
            out.extend((8 * sizes.len() as u16).to_le_bytes());
            out.extend(sizes.iter().flat_map(|size| size.to_le_bytes()));
            out
        };

        let mut local = b"PK\x03\x04\x2d\0".to_vec();
        let mut extra = self.extra.clone();
        let is_streamed = self.descriptor != Descriptor::No;
        if self.zip64 {
            extra.extend(zip64(&if is_streamed { [0, 0] } else { [size, packed] }));
            let crc = if is_streamed { 0 } else { crc };
            local.extend(common(crc, u32::MAX, u32::MAX));
        } else if is_streamed {
            local.extend(common(0, 0, 0));
        } else {
            local.extend(common(crc, packed as u32, size as u32));
        }
        local.extend((extra.len() as u16).to_le_bytes());
        local.extend(&self.name);
        local.extend(&extra);
        local.extend(&data);
        if self.descriptor == Descriptor::Signed {
            local.extend(b"PK\x07\x08");
        }
        if is_streamed {
            local.extend(crc.to_le_bytes());
            for value in [packed, size] {
                match self.zip64 {
                    true => local.extend(value.to_le_bytes()),
                    false => local.extend((value as u32).to_le_bytes()),
                }
            }
        }

        let mut record = b"PK\x01\x02\x2d\x03\x2d\0".to_vec();
        let mut extra = self.extra.clone();
        if self.zip64 {
            extra.extend(zip64(&[size, packed]));
            record.extend(common(crc, u32::MAX, u32::MAX));
        } else {
            record.extend(common(crc, packed as u32, size as u32));
        }
        record.extend((extra.len() as u16).to_le_bytes());
        record.extend((self.comment.len() as u16).to_le_bytes());
        record.extend([0; 4]);
        record.extend(self.attributes.to_le_bytes());
        record.extend(offset.to_le_bytes());
        record.extend(&self.name);
        record.extend(&extra);
        record.extend(&self.comment);
        (local, record)
    }
}

/// A field of an unknown kind.
fn extras() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(|data| {
            let mut field = vec![0xfe, 0xca];
            field.extend((data.len() as u16).to_le_bytes());
            field.extend(data);
            field
        }),
    ]
}

fn entries() -> impl Strategy<Value = EntrySpec> {
    let names = prop_oneof![
        Just("Greeter.class".to_owned()),
        Just("META-INF/versions/11/Greeter.class".to_owned()),
        Just("META-INF/MANIFEST.MF".to_owned()),
        Just("a/".to_owned()),
        "[a-zé漢 ]{1,12}(\\.txt|/x|)".prop_map(|name| name),
    ];
    let facts = (
        names,
        prop::collection::vec(any::<u8>(), 0..300),
        any::<bool>(),
    );
    let descriptors = prop_oneof![
        3 => Just(Descriptor::No),
        1 => Just(Descriptor::Bare),
        1 => Just(Descriptor::Signed),
    ];
    let rest = (
        descriptors,
        prop::bool::weighted(0.2),
        extras(),
        prop::collection::vec(0x20..0x7f_u8, 0..9),
        // Days and months that there are.
        Just(0x58a3_6c00_u32),
        any::<u32>(),
        prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(1..40_u8, 1..9)],
    );
    (facts, rest).prop_map(
        |(
            (name, content, deflated),
            (descriptor, zip64, extra, comment, time, attributes, gap),
        )| {
            let is_class = name.ends_with(".class");
            let is_folder = name.ends_with('/');
            let content = match (is_class, is_folder) {
                (true, _) => super::GREETER.to_vec(),
                (_, true) => Vec::new(),
                _ => content,
            };
            EntrySpec {
                name: name.into_bytes(),
                content,
                deflated: deflated && !is_folder,
                descriptor: if is_folder {
                    Descriptor::No
                } else {
                    descriptor
                },
                zip64,
                extra,
                comment,
                time,
                attributes: attributes & 0x0fff_ffff,
                gap,
            }
        },
    )
}

pub(crate) fn specs() -> impl Strategy<Value = Spec> {
    let prefixes =
        prop_oneof![3 => Just(Vec::new()), 1 => Just(b"#!/bin/sh\nexec java -jar $0\n".to_vec())];
    let comments = prop_oneof![2 => Just(Vec::new()), 1 => Just(b"a comment".to_vec())];
    (
        prefixes,
        any::<bool>(),
        prop::collection::vec(entries(), 0..9),
        any::<bool>(),
        comments,
    )
        .prop_map(|(prefix, shifted, entries, reversed, comment)| Spec {
            prefix,
            shifted,
            entries,
            reversed,
            comment,
        })
}
