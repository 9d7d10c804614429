//! Tests with several profiles: merging them, refusing to merge them, and comparing them.

use loadhook_profile::analysis::diff::methods::compare;
use loadhook_profile::format::diff::methods::{write as write_diff, write_json};
use loadhook_profile::format::{Options, Sort, difference_page};
use loadhook_profile::{Engine, MergeError, Profile, merge};
use serde_json::Value;

use crate::common::{pair, small};
use crate::shop::{TICK, counted, shop, wide};

#[test]
fn sums_have_both_kinds() {
    let mut second = shop();
    second.header.process = "2".to_owned();
    // The second profile has the same methods in another order.
    second.methods.swap(0, 9);
    for node in second.threads.iter_mut().flat_map(|t| &mut t.nodes) {
        node.method = match node.method {
            0 => 9,
            9 => 0,
            other => other,
        };
    }
    for counted in &mut second.method_calls {
        if counted.method == 0 {
            counted.method = 9
        }
    }
    let both = merge(&[shop(), second]).expect("the profiles can be compared or merged");
    assert_eq!(both.calls(), 2 * shop().calls());
    assert_eq!(both.method_calls.len(), 6);
    assert_eq!(
        both.sampling.expect("the profile has samples").samples,
        2 * 363
    );
    assert_eq!(
        both.sampling.expect("the profile has samples").tick_ns,
        TICK
    );
    let waited = |profile: &Profile| {
        let nodes = profile.threads.iter().flat_map(|t| &t.nodes);
        nodes.map(|node| node.waiting.total_ns()).sum::<u64>()
    };
    assert_eq!(waited(&both), 2 * waited(&shop()));
    assert_eq!(both.threads.len(), 3);
}

#[test]
fn samples_and_probes_do_not_mix() {
    let mut probed = small();
    probed.header.clock = shop().header.clock;
    let refused = [
        merge(&[shop(), probed.clone()]).map(|_| ()),
        compare(pair(&shop(), &probed), &Options::default()).map(|_| ()),
        difference_page(&[shop()], &[probed], &Options::default()).map(|_| ()),
    ];
    for result in refused {
        let error = result.expect_err("the profiles cannot be merged");
        assert_eq!(error, MergeError::Samples);
        assert!(
            error
                .to_string()
                .ends_with("profile both with the same --timing")
        );
    }
    let mut biased = shop();
    biased
        .sampling
        .as_mut()
        .expect("the profile has samples")
        .engine = Engine::Safepoint;
    let refused = [
        merge(&[shop(), biased.clone()]).map(|_| ()),
        compare(pair(&shop(), &biased), &Options::default()).map(|_| ()),
    ];
    for result in refused {
        assert_eq!(result, Err(MergeError::Engines));
    }
    assert_eq!(
        merge(&[shop(), counted()]).map(|_| ()),
        Err(MergeError::Timings)
    );
}

/// Returns a later profile, in which `add` was called less often, and twice as many samples were taken in
/// the hash map.
pub(crate) fn later() -> Profile {
    let mut later = shop();
    later.method_calls[2].calls = 90_000_000;
    for thread in &mut later.threads {
        for at in 0..thread.nodes.len() {
            if thread.nodes[at].method != 6 {
                continue;
            }
            let more = thread.nodes[at].all_ns;
            thread.nodes[at].timed *= 2;
            thread.nodes[at].ticked_ns *= 2;
            thread.nodes[at].ticked_variance *= 2.0;
            let mut place = Some(at as u32);
            let mut is_callee = false;
            while let Some(here) = place {
                let node = &mut thread.nodes[here as usize];
                node.all_ns += more;
                node.outermost_ns += more;
                node.variance += more as f64 * TICK as f64;
                if is_callee {
                    node.child_ns += more
                }
                is_callee = true;
                place = node.parent;
            }
        }
    }
    later
}

#[test]
fn samples_are_compared() {
    let [before, after] = [shop(), later()];
    for sort in [Sort::Calls, Sort::SelfTime] {
        let options = Options { sort, ..wide(110) };
        let compared = compare(pair(&before, &after), &options)
            .expect("the profiles can be compared or merged");
        let mut out = Vec::new();
        write_diff(&compared, &options, &mut out).expect("writing to a vector cannot fail");
        insta::assert_snapshot!(String::from_utf8(out).expect("the text is UTF-8"));
    }
    let options = Options::default();
    let compared =
        compare(pair(&before, &after), &options).expect("the profiles can be compared or merged");
    let mut out = Vec::new();
    write_json(&compared, &options, &mut out).expect("writing to a vector cannot fail");
    let json: Value = serde_json::from_slice(&out).expect("the text is JSON");
    assert_eq!(json["version"], 3);
    let methods = json["methods"].as_array().expect("the JSON has methods");
    let of = |name: &str| {
        methods
            .iter()
            .find(|m| m["method"] == name)
            .expect("samples met the method")
    };
    assert_eq!(of("getNode")["after"][0]["calls"], Value::Null);
    assert_eq!(of("getNode")["after"][0]["self_ns"], 150 * TICK);
    assert_eq!(of("add")["before"][0]["calls"], 98_765_432u64);
}

/// If samples met a method in one run only, it need not be new: samples may have missed it in the
/// other run.
#[test]
fn methods_that_samples_missed_are_not_gone() {
    let mut later = shop();
    later.threads.retain(|thread| &*thread.name != "[GC]");
    let compared = compare(pair(&shop(), &later), &Options::default())
        .expect("the profiles can be compared or merged");
    let collector = compared.changes.iter().find(|change| change.name == "[GC]");
    let verdict = collector
        .expect("the collector ran in both runs")
        .judgement
        .verdict;
    assert_eq!(verdict, loadhook_profile::analysis::diff::Verdict::Untested);
}
