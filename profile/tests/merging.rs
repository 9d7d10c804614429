//! Tests of merging profiles.

mod common;

use common::{counted, pair, small};
use loadhook_profile::analysis::diff::methods::compare;
use loadhook_profile::format::Options;
use loadhook_profile::{Profile, Timing, merge};

#[test]
fn merging_a_profile_with_itself_doubles_it() {
    let mut one = small();
    // If both profiles had the same process, they would count as parts of one run.
    one.header.process.clear();
    let two = merge(&[one.clone(), one.clone()]).expect("the profiles have the same clock");
    assert_eq!(two.methods, one.methods);
    assert_eq!(two.calls(), 2 * one.calls());
    assert_eq!(two.threads.len(), one.threads.len());
    for (two, one) in two.threads.iter().zip(&one.threads) {
        assert_eq!(two.nodes.len(), one.nodes.len());
        for (two, one) in two.nodes.iter().zip(&one.nodes) {
            assert_eq!((two.parent, two.method), (one.parent, one.method));
            assert_eq!(two.calls, 2 * one.calls);
            assert_eq!(two.all_ns, 2 * one.all_ns);
            assert_eq!(two.variance, 2.0 * one.variance);
        }
    }
    assert_eq!(two.header.duration_ns, 2 * one.header.duration_ns);
    assert_eq!(two.header.probe, one.header.probe);
    assert_eq!(two.header.command, one.header.command);
    assert_eq!(two.header.unmatched, one.header.unmatched);
}

#[test]
fn merging_goes_by_names_not_ids() {
    let one = small();
    let mut other = small();
    other.methods.swap(1, 2);
    for node in other
        .threads
        .iter_mut()
        .flat_map(|thread| &mut thread.nodes)
    {
        node.method = match node.method {
            1 => 2,
            2 => 1,
            same => same,
        };
    }
    other.header.unmatched.clear();
    other.threads[0].id = Some(2);
    let two = merge(&[one.clone(), other]).expect("the profiles have the same clock");
    let twice = merge(&[one.clone(), one]).expect("the profiles have the same clock");
    assert_eq!(two.methods, twice.methods);
    assert_eq!(two.threads[0].nodes, twice.threads[0].nodes);
    // Two threads named main with different ids are merged into one, which has no id.
    assert_eq!((two.threads[0].id, twice.threads[0].id), (None, Some(1)));
    // A pattern counts as matched if it matched in one of the profiles.
    assert_eq!(two.header.unmatched, [""; 0]);
}

#[test]
fn clocks_do_not_mix() {
    let mut cpu = small();
    cpu.header.clock = loadhook_profile::Clock::Cpu;
    assert_eq!(
        merge(&[small(), cpu]),
        Err(loadhook_profile::MergeError::Clocks)
    );
    assert_eq!(
        merge(&[small(), counted()]),
        Err(loadhook_profile::MergeError::Timings)
    );
    let mut exact = small();
    exact.header.timing = Timing::Exact;
    for mixed in [[small(), exact.clone()], [exact.clone(), small()]] {
        assert_eq!(merge(&mixed), Err(loadhook_profile::MergeError::Modes));
    }
    assert!(merge(&[exact.clone(), exact.clone()]).is_ok_and(|m| m.header.timing == Timing::Exact));
    // Each profile is corrected by the cost of its own probes, so profiles of different timings can
    // be compared.
    assert!(compare(pair(&small(), &exact), &Options::default()).is_ok());
    assert_eq!(merge(&[]), Ok(Profile::default()));
}
