//! Archives that are made byte by byte, with features that other tools never write.
#![allow(dead_code)]

use std::collections::HashSet;
use std::io::{Cursor, Read};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::read::DeflateEncoder;
use loadhook_offline::{Detail, Error, Offline, Plan, Progress, Tally, Tracker};
use loadhook_settings::Filter;
use proptest::prelude::*;

pub(crate) const GREETER: &[u8] = include_bytes!("../../../rewrite/doc/Greeter.class");

/// The kind of data descriptor after an entry's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Descriptor {
    No,
    Bare,
    Signed,
}

/// An entry of an archive to be made.
#[derive(Clone, Debug)]
pub(crate) struct EntrySpec {
    pub(crate) name: Vec<u8>,
    pub(crate) content: Vec<u8>,
    pub(crate) deflated: bool,
    pub(crate) descriptor: Descriptor,
    /// True if the sizes are in a zip64 field, even if they fit into 32 bits.
    pub(crate) zip64: bool,
    pub(crate) extra: Vec<u8>,
    pub(crate) comment: Vec<u8>,
    pub(crate) time: u32,
    pub(crate) attributes: u32,
    /// Bytes between this entry and the next one. They belong to no entry.
    pub(crate) gap: Vec<u8>,
}

impl EntrySpec {
    pub(crate) fn is_class(&self) -> bool {
        self.name.ends_with(b".class")
    }
}

/// An archive to be made.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) prefix: Vec<u8>,
    /// True if offsets in the archive count from the end of the prefix.
    pub(crate) shifted: bool,
    pub(crate) entries: Vec<EntrySpec>,
    /// True if the directory has another order than the entries.
    pub(crate) reversed: bool,
    pub(crate) ending: EndingSpec,
    pub(crate) comment: Vec<u8>,
}

/// The bytes that follow the directory, except the usual end record and the comment.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndingSpec {
    /// Additional data in the zip64 end record; `None` if there is no such record.
    pub(crate) zip64: Option<Vec<u8>>,
    /// True if the plain end record refers to the zip64 end record.
    pub(crate) refers: bool,
    /// Bytes after the comment. The JVM accepts them only if it finds the directory and the first
    /// entry without the help of a zip64 end record.
    pub(crate) trailer: Vec<u8>,
}

impl Spec {
    pub(crate) fn has_duplicates(&self) -> bool {
        let mut names = HashSet::new();
        self.entries.iter().any(|entry| !names.insert(&entry.name))
    }
}

/// The bytes of an archive, and the bytes of each of its local records.
pub(crate) struct Made {
    pub(crate) bytes: Vec<u8>,
    pub(crate) locals: Vec<Vec<u8>>,
    /// Offset of the end of the directory's records.
    pub(crate) directory: usize,
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
    let directory = bytes.len();
    bytes.extend(end_of(spec, records.len(), start, base, directory));
    Made {
        bytes,
        locals,
        directory,
    }
}

/// Makes the end records, which begin at the offset `at`, and the bytes that follow them.
fn end_of(spec: &Spec, count: usize, start: usize, base: usize, at: usize) -> Vec<u8> {
    let mut end = Vec::new();
    let (mut count, mut len) = (count as u16, (at - start) as u32);
    let mut offset = (start - base) as u32;
    // Positions in a zip64 end record count from the first byte of the file. If there is a prefix,
    // other readers disagree about that, so no such record is made.
    if let Some(more) = spec.ending.zip64.as_ref().filter(|_| base == 0) {
        end.extend(b"PK\x06\x06");
        end.extend((44 + more.len() as u64).to_le_bytes());
        end.extend([62, 3, 45, 0]);
        end.extend([0; 8]);
        let values = [
            u64::from(count),
            u64::from(count),
            len.into(),
            offset.into(),
        ];
        end.extend(values.into_iter().flat_map(u64::to_le_bytes));
        end.extend(more);
        end.extend(b"PK\x06\x07\0\0\0\0");
        end.extend((at as u64).to_le_bytes());
        end.extend(1_u32.to_le_bytes());
        if spec.ending.refers {
            (count, len, offset) = (u16::MAX, u32::MAX, u32::MAX);
        }
    }
    end.extend(b"PK\x05\x06\0\0\0\0");
    end.extend(count.to_le_bytes());
    end.extend(count.to_le_bytes());
    end.extend(len.to_le_bytes());
    end.extend(offset.to_le_bytes());
    end.extend((spec.comment.len() as u16).to_le_bytes());
    end.extend(&spec.comment);
    end.extend(&spec.ending.trailer);
    end
}

impl EntrySpec {
    fn records(&self, offset: u32) -> (Vec<u8>, Vec<u8>) {
        let mut data = self.content.clone();
        if self.deflated {
            data.clear();
            DeflateEncoder::new(&self.content[..], Compression::new(1))
                .read_to_end(&mut data)
                .expect("reading from memory cannot fail");
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
                if self.zip64 {
                    local.extend(value.to_le_bytes());
                } else {
                    local.extend((value as u32).to_le_bytes());
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

/// Returns an extra field of an unknown kind.
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
        // The date has a valid month and day.
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
                (true, _) => GREETER.to_vec(),
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

fn endings() -> impl Strategy<Value = EndingSpec> {
    let bytes = || {
        prop_oneof![
            3 => Just(Vec::new()),
            1 => prop::collection::vec(1..40_u8, 1..30),
        ]
    };
    let zip64 = prop::option::weighted(0.3, bytes());
    (zip64, any::<bool>(), bytes()).prop_map(|(zip64, refers, trailer)| EndingSpec {
        zip64,
        refers,
        trailer,
    })
}

pub(crate) fn specs() -> impl Strategy<Value = Spec> {
    let prefixes =
        prop_oneof![3 => Just(Vec::new()), 1 => Just(b"#!/bin/sh\nexec java -jar $0\n".to_vec())];
    let comments = prop_oneof![
        3 => Just(Vec::new()),
        1 => Just(b"a comment".to_vec()),
        1 => Just(b"one that has PK\x05\x06 and some more behind it".to_vec()),
    ];
    (
        prefixes,
        any::<bool>(),
        prop::collection::vec(entries(), 0..9),
        any::<bool>(),
        endings(),
        comments,
    )
        .prop_map(
            |(prefix, shifted, entries, reversed, mut ending, comment)| {
                let is_behind_its_offsets = prefix.is_empty() || shifted;
                if ending.zip64.is_some() || entries.is_empty() || !is_behind_its_offsets {
                    ending.trailer.clear();
                }
                Spec {
                    prefix,
                    shifted,
                    entries,
                    reversed,
                    ending,
                    comment,
                }
            },
        )
}

impl EntrySpec {
    /// Returns an ordinary entry.
    pub(crate) fn plain(name: &[u8], content: &[u8], deflated: bool) -> EntrySpec {
        EntrySpec {
            name: name.to_vec(),
            content: content.to_vec(),
            deflated,
            descriptor: Descriptor::No,
            zip64: false,
            extra: Vec::new(),
            comment: Vec::new(),
            time: 0x58a3_6c00,
            attributes: 0,
            gap: Vec::new(),
        }
    }
}

/// Returns an ordinary archive.
pub(crate) fn plain(entries: Vec<EntrySpec>) -> Vec<u8> {
    made(&Spec {
        prefix: Vec::new(),
        shifted: false,
        entries,
        reversed: false,
        ending: EndingSpec::default(),
        comment: Vec::new(),
    })
    .bytes
}

/// Returns an ordinary archive whose entries are all deflated.
pub(crate) fn deflated(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let entries = entries.iter();
    let entry = |(name, content): &(&str, &[u8])| EntrySpec::plain(name.as_bytes(), content, true);
    plain(entries.map(entry).collect())
}

/// Returns names and contents of all entries, in the order in which another zip reader finds them.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes))?;
    let mut all = Vec::new();
    for at in 0..archive.len() {
        let mut entry = archive.by_index(at)?;
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        all.push((entry.name_raw().to_vec(), content));
    }
    Ok(all)
}

/// Returns the content of an entry, as another zip reader finds it.
pub(crate) fn content(bytes: &[u8], name: &str) -> Result<Vec<u8>> {
    let all = read(bytes)?;
    let found = all.into_iter().find(|(found, _)| found == name.as_bytes());
    Ok(found.with_context(|| format!("{name} is missing"))?.1)
}

/// Returns a plan for timing probes in all methods.
pub(crate) fn plan(tracker: Tracker) -> Plan {
    let mut plan = Plan::new(Filter::new());
    plan.selection.all = true;
    plan.tracker = tracker;
    plan
}

/// Rewrites an archive; returns the output and its tally.
pub(crate) fn rewrite(plan: &Plan, bytes: &[u8]) -> std::result::Result<(Vec<u8>, Tally), Error> {
    let progress = Progress::default();
    let mut offline = Offline::new(plan, Detail::default(), &progress);
    let mut out = Vec::new();
    offline.archive("a.jar", bytes.to_vec(), bytes.len() as u64, &mut out)?;
    Ok((out, offline.tally().clone()))
}
