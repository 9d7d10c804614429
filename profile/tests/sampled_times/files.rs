//! Tests of profiles in files: they are read as they were written, other tools can read them, and
//! no time is lost.

use std::io::Read;

use loadhook_profile::format::pprof::{ReadError, read, write};
use loadhook_profile::format::{Format, Options};
use loadhook_profile::{
    Engine, MethodCalls, Profile, SampledNode, Sampling, Timing, Waiting, sampled_tree,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::common::{MS, text};
use crate::schema;
use crate::shop::{TICK, counted, met, shop};

fn written(profile: &Profile) -> Vec<u8> {
    let mut file = Vec::new();
    write(profile, &mut file).expect("writing to a vector cannot fail");
    file
}

#[test]
fn written_samples_are_read_back() {
    for profile in [shop(), counted()] {
        assert_eq!(
            read(&written(&profile)).expect("the file is a profile"),
            profile
        );
    }
    let mut twice = shop();
    twice.method_calls.push(MethodCalls {
        since_ns: None,
        until_ns: None,
        method: 0,
        calls: 1,
    });
    assert!(matches!(read(&written(&twice)), Err(ReadError::Damaged(_))));
    let mut missing = shop();
    missing.method_calls.push(MethodCalls {
        since_ns: None,
        until_ns: None,
        method: 99,
        calls: 1,
    });
    assert!(matches!(
        read(&written(&missing)),
        Err(ReadError::Damaged(_))
    ));
}

#[test]
fn other_tools_see_samples_and_calls() {
    let profile = shop();
    let mut bytes = Vec::new();
    let file = written(&profile);
    flate2::read::GzDecoder::new(&file[..])
        .read_to_end(&mut bytes)
        .expect("the bytes are gzip data");
    let file = schema::Profile::decode(&bytes);
    let types = [
        ("samples", "count"),
        ("cpu", "nanoseconds"),
        ("waiting", "nanoseconds"),
        ("calls", "count"),
    ];
    assert_eq!(
        file.sample_types,
        types.map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
    assert_eq!(file.default_sample_type, "cpu");
    assert_eq!(
        file.period_type,
        ("cpu".to_owned(), "nanoseconds".to_owned())
    );
    let sum = |at: usize| {
        file.samples
            .iter()
            .map(|sample| sample.values[at])
            .sum::<i64>()
    };
    assert_eq!(sum(0), 363);
    assert_eq!(sum(1), (363 * TICK + 35 * MS) as i64);
    assert_eq!(sum(2), (2_700 + 2 * 130) * MS as i64);
    assert_eq!(sum(3), profile.calls() as i64);
    // In the file, a sample either has calls, with one frame and no thread, or times, with no
    // calls.
    for sample in file.samples.iter().filter(|sample| sample.values[3] > 0) {
        assert_eq!((sample.stack.len(), sample.labels.len()), (1, 0));
        assert_eq!(sample.values[..3], [0, 0, 0]);
    }
    insta::assert_snapshot!(file.comments.join("\n"), @"Loadhook 0.1.0: processor times from samples; 363 samples every 4.00 ms of processor time, async engine, 0.3 % of time with incomplete stacks ([unwalked]), 12.0 ms of counting left out, 2 lost");
}

#[test]
fn every_format_takes_samples() {
    for profile in [shop(), counted()] {
        for format in Format::ALL {
            let mut out = Vec::new();
            let written = format.write(&profile, &Options::default(), &mut out);
            // HPROF's text has no place for calls alone.
            if format == Format::Hprof && profile.header.timing == Timing::Count {
                written.expect_err("there is no table");
                continue;
            }
            written.expect("writing to a vector cannot fail");
            let is_flat = format == Format::Collapsed && profile.threads.is_empty();
            assert!(!out.is_empty() || is_flat, "{format:?}");
        }
    }
}

prop_compose! {
    fn any_waiting()(parts in prop::array::uniform5(0u64..1 << 50)) -> Waiting {
        Waiting::of_parts(parts)
    }
}

prop_compose! {
    fn any_stacks()(rows in prop::collection::vec((any::<prop::sample::Index>(), 0u32..12, 0u64..1_000, any_waiting()), 0..40)) -> Vec<SampledNode> {
        let rows = rows.into_iter().enumerate();
        let stack = |(at, (parent, method, samples, waiting)): (usize, (prop::sample::Index, u32, u64, Waiting))| SampledNode {
            waiting,
            ..met(parent.index(at + 1).checked_sub(1).map(|parent| parent as u32), method, samples)
        };
        rows.map(stack).collect()
    }
}

prop_compose! {
    fn any_sampling()(engine in prop::bool::ANY, numbers in prop::array::uniform13(any::<u64>())) -> Sampling {
        let [interval_ns, tick_ns, wall_interval_ns, samples, weight_ns, tracker_ns, tracker, unwalked_ns, unwalked, cut, lost, compared, equal] = numbers;
        Sampling {
            engine: if engine { Engine::Async } else { Engine::Safepoint },
            interval_ns, tick_ns, wall_interval_ns, samples, weight_ns, tracker_ns, tracker, unwalked_ns, unwalked, cut, lost,
            compared, equal,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_samples_are_read_as_written(
        stacks in any_stacks(),
        sampling in prop::option::of(any_sampling()),
        calls in prop::collection::btree_map(0u32..12, any::<u64>(), 0..12),
        moments in (prop::option::of(0u64..1 << 50), prop::option::of(0u64..1 << 50)),
    ) {
        let mut profile = shop();
        profile.threads[0].nodes = sampled_tree(&stacks);
        profile.sampling = sampling;
        profile.method_calls = calls.into_iter().map(|(method, calls)| MethodCalls { method, calls, since_ns: moments.0, until_ns: moments.1 }).collect();
        prop_assert_eq!(&read(&written(&profile)).expect("the file is a profile"), &profile);
        for format in Format::ALL {
            let mut out = std::io::sink();
            format.write(&profile, &Options::default(), &mut out).expect("writing to a sink cannot fail");
        }
    }

    /// The self times of all methods add up to the time of all samples. No method has more self
    /// time than total time.
    #[test]
    fn self_times_add_up(stacks in any_stacks()) {
        let mut profile = shop();
        profile.threads.truncate(1);
        profile.threads[0].nodes = sampled_tree(&stacks);
        let json: Value = serde_json::from_str(&text(Format::Json, &profile, &Options::default())).expect("the text is JSON");
        let sum: u64 = json["methods"].as_array().expect("the JSON has methods").iter().map(|m| m["self_ns"].as_u64().expect("the self time is known")).sum();
        prop_assert_eq!(sum, stacks.iter().map(|stack| stack.self_ns).sum::<u64>());
        for method in json["methods"].as_array().expect("the JSON has methods") {
            prop_assert!(method["total_ns"].as_u64() >= method["self_ns"].as_u64());
            let whole: u64 = stacks.iter().map(|stack| stack.self_ns).sum();
            prop_assert!(method["total_ns"].as_u64() <= Some(whole));
        }
    }
}
