//! Tests of the pprof format: a written profile can be read back, and a reader that knows only the
//! public schema gets correct values.

mod common;
mod schema;

use std::io::Read;

use common::{allocations, large, measured, paused, sampled, small};
use loadhook_profile::format::pprof::{ReadError, read, write};
use loadhook_profile::format::{Format, Options};
use loadhook_profile::{Allocations, NOT_ENDED, Profile, ThreadKind, Timing};
use proptest::prelude::*;

fn written(profile: &Profile) -> Vec<u8> {
    let mut file = Vec::new();
    write(profile, &mut file).expect("writing to memory cannot fail");
    file
}

fn unpacked(file: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut gzip = flate2::read::GzDecoder::new(file);
    gzip.read_to_end(&mut bytes)
        .expect("the bytes are gzip data");
    bytes
}

#[test]
fn a_written_profile_is_read_back() {
    let mut odd = small();
    odd.threads[1].kind = ThreadKind::Virtual;
    odd.methods[3].file = Some("".into());
    odd.methods[4].line = Some(0);
    odd.methods[5].loaders = 227_380;
    odd.threads[0].nodes[1].all_ns = u64::MAX;
    odd.header.start_epoch_millis = -1;
    let mut counted = small();
    counted.header.timing = Timing::Count;
    let mut allocated = small();
    allocated.allocations = Some(allocations());
    let mut alive = alone();
    alive.allocations = Some(sampled());
    let empty = Profile {
        allocations: Some(Allocations::default()),
        ..Profile::default()
    };
    let plain = [
        small(),
        paused(),
        measured(),
        odd,
        counted,
        large(3_000),
        Profile::default(),
    ];
    for profile in plain.into_iter().chain([allocated, alone(), alive, empty]) {
        let file = written(&profile);
        assert_eq!(read(&file).expect("the profile can be read"), profile);
        // A tool may have unpacked the file, so unpacked files are read, too.
        assert_eq!(
            read(&unpacked(&file)).expect("the profile can be read"),
            profile
        );
    }
}

/// Returns a profile that has allocations but no calls.
fn alone() -> Profile {
    let mut profile = small();
    profile.header.timing = Timing::Count;
    profile.allocations = Some(allocations());
    for thread in &mut profile.threads {
        thread.nodes.clear();
    }
    profile
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect()
}

#[test]
fn allocations_have_lines_and_types() {
    let decode = |profile: &Profile| schema::Profile::decode(&unpacked(&written(profile)));
    let file = decode(&alone());
    assert_eq!(
        file.sample_types,
        pairs(&[("alloc_objects", "count"), ("alloc_space", "bytes")])
    );
    assert_eq!(file.default_sample_type, "alloc_space");
    assert_eq!(file.samples.len(), 5);
    let arrays = &file.samples[0];
    let lines: Vec<i64> = arrays.stack.iter().map(|(_, _, line)| *line).collect();
    assert_eq!(
        (lines, &arrays.values[..]),
        (vec![40, 12], &[1000, 160_000][..])
    );
    assert_eq!(
        arrays.labels["type"],
        schema::Label::Text("int[]".to_owned())
    );
    assert!(arrays.labels.contains_key("thread"));
    assert_eq!(file.samples[1].values, [7, 0]);
    assert_eq!(file.samples[2].stack, arrays.stack[..1]);
    assert!(file.samples[4].stack.is_empty());

    let mut both = small();
    both.allocations = Some(sampled());
    let file = decode(&both);
    assert_eq!(
        file.sample_types,
        pairs(&[
            ("calls", "count"),
            ("self", "nanoseconds"),
            ("alloc_objects", "count"),
            ("alloc_space", "bytes"),
            ("inuse_objects", "count"),
            ("inuse_space", "bytes"),
        ])
    );
    assert_eq!(file.default_sample_type, "self");
    assert!(file.samples.iter().all(|sample| sample.values.len() == 6));
    let sums = file.samples.iter().fold([0; 6], |mut sums, sample| {
        for (sum, value) in sums.iter_mut().zip(&sample.values) {
            *sum += value;
        }
        sums
    });
    assert_eq!(
        sums[0],
        i64::try_from(both.calls()).expect("the number of calls fits")
    );
    assert_eq!(sums[3], 164_408);
    assert_eq!(sums[4], 500 + 4 + 5 + 2 + 1);
}

/// Numbers that cannot occur in a profile are refused.
#[test]
fn damaged_allocations_are_refused() {
    let damage = |change: &dyn Fn(&mut Allocations)| {
        let mut profile = alone();
        change(
            profile
                .allocations
                .as_mut()
                .expect("the profile has allocations"),
        );
        read(&written(&profile))
            .map(|_| ())
            .expect_err("the file is damaged")
    };
    let is_damaged = |error| matches!(error, ReadError::Damaged(_));
    assert!(is_damaged(damage(&|a| a.sites[1].allocated.objects = -1.0)));
    assert!(is_damaged(damage(&|a| a.sites[1].live_age = f64::NAN)));
    assert!(is_damaged(damage(
        &|a| a.sites[1].live.bytes = Some(f64::INFINITY)
    )));
}

#[test]
fn a_reader_of_the_public_schema_gets_the_same_values() {
    let profile = small();
    let file = schema::Profile::decode(&unpacked(&written(&profile)));
    assert_eq!(
        file.sample_types,
        [("calls", "count"), ("self", "nanoseconds")].map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
    assert_eq!(
        file.period_type,
        ("wall".to_owned(), "nanoseconds".to_owned())
    );
    assert_eq!(file.default_sample_type, "self");
    // The mapping has the program's name without its arguments: tools show the text after the last
    // slash.
    assert_eq!(file.program, "java");
    assert_eq!(file.duration_nanos, profile.header.duration_ns as i64);
    assert_eq!(
        file.time_nanos,
        profile.header.start_epoch_millis * 1_000_000
    );
    insta::assert_snapshot!(file.comments.join("\n"));
    assert_eq!(file.names.len(), profile.methods.len());
    for (name, method) in file.names.iter().zip(&profile.methods) {
        let plain = format!("{}.{}", method.class, method.name);
        assert!(name.starts_with(plain.trim_end_matches('.')), "{name}");
    }

    let nodes = profile
        .threads
        .iter()
        .flat_map(|t| t.nodes.iter().map(move |n| (t, n)));
    assert_eq!(file.samples.len(), nodes.clone().count());
    for (sample, (thread, node)) in file.samples.iter().zip(nodes) {
        assert_eq!(sample.values[0], node.calls as i64);
        assert_eq!(
            sample.labels["thread"],
            schema::Label::Text(thread.name.to_string())
        );
        let mut path = Vec::new();
        let mut next = Some(node);
        while let Some(node) = next {
            let method = &profile.methods[node.method as usize];
            path.push((
                format!("{}.{}{}", method.class, method.name, method.descriptor),
                method.file.as_deref().unwrap_or("").to_owned(),
                i64::from(method.line.unwrap_or(0)),
            ));
            next = node.parent.map(|parent| &thread.nodes[parent as usize]);
        }
        assert_eq!(sample.stack, path);
    }
    // The self times of all samples add up to the time of the program.
    let sum: i64 = file.samples.iter().map(|sample| sample.values[1]).sum();
    let roots = 2_500 * common::MS as i64;
    assert!((sum - roots).abs() < roots / 100, "{sum}");
    // If a total time is not the sum of self times, a label holds it. Here an Expression called
    // Sum, which ran inside another call of Sum.
    let labelled: Vec<usize> = (0..file.samples.len())
        .filter(|at| file.samples[*at].labels.contains_key("total"))
        .collect();
    assert_eq!(labelled, [5]);
}

/// Other tools print all comments of a profile first, so there must be few.
#[test]
fn comments_are_few() {
    let mut profile = small();
    profile.header.not_ended = true;
    profile.header.notes = (0..5_000).map(|at| format!("note {at}")).collect();
    let file = written(&profile);
    let comments = schema::Profile::decode(&unpacked(&file)).comments;
    assert_eq!(comments.len(), 13, "{comments:?}");
    assert_eq!(comments[2], NOT_ENDED);
    assert_eq!(comments[3], "note 0");
    assert_eq!(
        comments[12],
        "4991 more notes: loadhook report PROFILE --explain"
    );
    assert_eq!(
        read(&file).expect("the profile can be read").header,
        profile.header
    );
}

#[test]
fn counts_have_no_time() {
    let mut profile = small();
    profile.header.timing = Timing::Count;
    let file = schema::Profile::decode(&unpacked(&written(&profile)));
    assert_eq!(
        file.sample_types,
        [("calls".to_owned(), "count".to_owned())]
    );
    assert_eq!(file.default_sample_type, "calls");
    assert!(file.samples.iter().all(|sample| sample.values.len() == 1));
}

/// A pprof file as Go programs write it: it has the sample type samples/count, and no fields of
/// Loadhook.
const FOREIGN: &[u8] = &[
    0x0a, 4, 0x08, 1, 0x10, 2, // sample_type { type: 1, unit: 2 }
    0x32, 0, // ""
    0x32, 7, b's', b'a', b'm', b'p', b'l', b'e', b's', // "samples"
    0x32, 5, b'c', b'o', b'u', b'n', b't', // "count"
];

#[test]
fn other_files_are_refused_with_a_reason() {
    let reason = |bytes: &[u8]| read(bytes).expect_err("the file is refused").to_string();
    insta::assert_snapshot!(reason(FOREIGN), @"a pprof file, but not Loadhook's (it holds samples); `go tool pprof` can show it");
    insta::assert_snapshot!(reason(b"plain text, no profile\n"), @"not a profile; loadhook report reads the .pb.gz files that loadhook run writes");
    insta::assert_snapshot!(reason(b""), @"the file is empty; wait until the JVM has ended, or profile again");
    insta::assert_snapshot!(reason(&written(&small())[..500]), @"the file is cut off (its gzip data is not complete); copy it again, or profile again");
    // The file as a tool would write it that knows only the public schema: without Loadhook's
    // fields.
    let mut bytes = unpacked(&written(&small()));
    schema::drop_unknown(&mut bytes);
    assert!(matches!(read(&bytes), Err(ReadError::Rewritten)));
}

/// pprof allows files to be appended to each other. Their counts would be added, but not the times between which they
/// were counted.
#[test]
fn several_profiles_in_one_file_are_refused() {
    let one = written(&small());
    let two = [&one[..], &one[..]].concat();
    assert!(matches!(read(&two), Err(ReadError::Several)));
}

#[test]
fn a_million_nodes() {
    let profile = large(1_000_000);
    let file = written(&profile);
    assert!(read(&file).expect("the profile can be read") == profile);
}

#[test]
fn every_format_writes_many_nodes() {
    let profile = large(100_000);
    for format in Format::ALL {
        let mut out = std::io::sink();
        let written = format.write(&profile, &Options::default(), &mut out);
        written.expect("writing to a sink cannot fail");
    }
}

proptest! {
    #[test]
    fn hostile_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }

    #[test]
    fn changed_bytes_never_panic(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = unpacked(&written(&measured()));
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        // If a damaged file is accepted, the profile that was read can be written again.
        if let Ok(profile) = read(&bytes) {
            prop_assert_eq!(&read(&written(&profile)).expect("the profile can be read"), &profile);
            for format in Format::ALL {
                let mut out = std::io::sink();
                let written = format.write(&profile, &Options::default(), &mut out);
                written.expect("writing to a sink cannot fail");
            }
        }
    }

    #[test]
    fn cut_files_never_panic(len: prop::sample::Index) {
        let bytes = unpacked(&written(&measured()));
        let _ = read(&bytes[..len.index(bytes.len())]);
    }
}
