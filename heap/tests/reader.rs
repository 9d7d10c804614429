//! Tests of complete, cut-off and hostile dumps.

use std::io::Write;

use loadhook_heap::{Error, ErrorKind, Histogram, histogram};
use loadhook_hprof::{Visitor, read};
use loadhook_testkit::dump::Writer;
use proptest::prelude::*;

/// A visitor that takes all records with their contents, and stores nothing.
struct All;

impl Visitor for All {
    fn wants_contents(&self) -> bool {
        true
    }
}

fn small() -> Vec<u8> {
    let mut writer = Writer::new();
    writer.text(20, "name");
    writer.record(4, &[0; 40]);
    writer.record(5, &[[0; 11].as_slice(), &[1], &[0; 8]].concat());
    writer.root(0x01, 0x1000, &[0, 7]);
    writer.root(0x08, 0x1000, &[1, 1]);
    writer.root(0x03, 0x1020, &[1, 0]);
    for n in 0..4_u64 {
        writer.pair(0x1000 + 32 * n, 0x1000, 0x1000 + 32 * (n + 1));
    }
    writer.segment();
    writer.object_array(0x2000, &[0x1000, 0, 0x1020]);
    writer.primitive_array(0x2020, 8, 5, b"bytes");
    writer.finish()
}

fn counts(dump: &[u8]) -> (Histogram, Result<(), Error>) {
    histogram(dump)
}

#[test]
fn counts_objects_and_bytes() {
    let (histogram, outcome) = counts(&small());
    outcome.expect("the dump is complete");
    let classes = histogram.classes.iter();
    let classes: Vec<_> = classes
        .map(|class| (&*class.name, class.instances, class.bytes))
        .collect();
    let expected = [
        ("test.Pair", 4, 96),
        ("java.lang.Object[]", 1, 32),
        ("byte[]", 1, 24),
    ];
    assert_eq!(classes, expected);
    assert_eq!(histogram.header.time_ms, 1_000_000_000_000);
}

#[test]
fn wherever_a_dump_is_cut_off_the_rest_is_shown() {
    let whole = small();
    let mut most = 0;
    for length in 31..whole.len() {
        let (histogram, outcome) = counts(&whole[..length]);
        let error = outcome.expect_err("the dump is cut off");
        assert!(error.is_truncated(), "{length}: {error}");
        assert!(error.at <= length as u64, "{length}: {error}");
        assert!(histogram.instances() >= most, "{length}");
        most = histogram.instances();
        assert!(read(&whole[..length], &mut All).is_err());
    }
    assert_eq!(most, 6);
    for length in 1..19 {
        let error = counts(&whole[..length]).1.expect_err("the file is no dump");
        assert!(matches!(error.kind, ErrorKind::NotADump));
    }
    let error = counts(&[]).1.expect_err("the file is empty").to_string();
    assert_eq!(error, "not a heap dump: the file is empty at byte 0");
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer
        .write_all(bytes)
        .expect("writing to memory cannot fail");
    packer.finish().expect("writing to memory cannot fail")
}

#[test]
fn what_is_packed_is_read_to_its_last_byte() {
    // A gzip file with one member, and one with several members, as HotSpot writes with several
    // threads.
    let whole = small();
    let members: Vec<Vec<u8>> = whole.chunks(100).map(packed).collect();
    assert!(members.len() > 3);
    for packed in [packed(&whole), members.concat()] {
        let (all, outcome) = counts(&packed);
        outcome.expect("the dump is complete");
        assert!(!all.has_trailing_bytes);
        for length in 20..packed.len() {
            let error = counts(&packed[..length])
                .1
                .expect_err("the dump is cut off");
            // So little of the file is left that not a single byte can be unpacked.
            let is_told = error.is_truncated()
                || length < 60 && matches!(error.kind, ErrorKind::NotADump | ErrorKind::Empty);
            assert!(is_told, "{length}: {error}");
        }
        for (more, has_trailing_bytes) in [
            // Zeros may follow, because tapes pad their last block with zeros.
            (&b"\0"[..], false),
            (&[0; 512], false),
            (b"\n", true),
            (b"\0\0\n", true),
            (b"more bytes than a member's head", true),
        ] {
            // Bytes after the gzip data are ignored. `has_trailing_bytes` says that there were any
            // other than zeros.
            let (counts, outcome) = counts(&[&packed, more].concat());
            outcome.expect("the dump is complete");
            assert_eq!(counts.has_trailing_bytes, has_trailing_bytes, "{more:?}");
            assert_eq!(counts.dump_bytes, whole.len() as u64);
        }
        // The checksum of the last member is wrong.
        let mut wrong = packed.clone();
        let sum = wrong.len() - 8;
        wrong[sum] ^= 1;
        let error = counts(&wrong)
            .1
            .expect_err("the checksum is wrong")
            .to_string();
        assert!(error.contains("checksum"), "{error}");
    }
}

#[test]
fn faults_have_their_place() {
    let whole = small();
    let text = |at: usize, with: &[u8]| {
        let mut dump = whole.clone();
        dump[at..at + with.len()].copy_from_slice(with);
        counts(&dump).1.expect_err("the dump is broken").to_string()
    };
    assert_eq!(
        text(19, &[0, 0, 0, 5]),
        "identifiers have 5 bytes, not 4 or 8 at byte 23"
    );
    let segment = whole
        .windows(5)
        .position(|bytes| bytes == [0x1c, 0, 0, 0, 0])
        .expect("the dump has a segment");
    let first = segment + 9;
    assert_eq!(
        text(first, &[0x77]),
        format!("unknown heap record 0x77 at byte {first}")
    );
    // The record says that an array has four billion longs, but the segment has only a few bytes.
    let mut writer = Writer::new();
    writer.primitive_array(0x3000, 11, u32::MAX, &[]);
    let error = counts(&writer.finish())
        .1
        .expect_err("the array is too long")
        .to_string();
    assert!(
        error.starts_with("an array is longer than the rest of its heap segment at byte"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the input is, the reader returns, and does not panic.
    #[test]
    fn mutated_dumps_do_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut dump = small();
        for (at, byte) in changes {
            let at = at.index(dump.len());
            dump[at] = byte;
        }
        let _ = counts(&dump);
        let _ = read(&dump[..], &mut All);
    }
}
