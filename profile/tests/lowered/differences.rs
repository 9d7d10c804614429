//! Tests of comparing runs in which methods lost probes.

use loadhook_profile::analysis::diff::Verdict;
use loadhook_profile::analysis::diff::methods::compare;
use loadhook_profile::format::diff::methods::{write, write_json};
use loadhook_profile::format::{Options, Sort};
use loadhook_profile::{MethodCalls, Profile, Timing};
use serde_json::Value;

use crate::common::{self, MS, node};
use crate::{ENDED, line, narrow, profile, unlimited, words};

fn differences(runs: [&[Profile]; 2], options: &Options<'_>) -> String {
    let compared = compare(runs, options).expect("the profiles have one clock");
    let mut out = Vec::new();
    write(&compared, options, &mut out).expect("writing to memory cannot fail");
    String::from_utf8(out).expect("the text is UTF-8")
}

/// Returns five runs of each side.
fn five_runs(sides: [Profile; 2]) -> [Vec<Profile>; 2] {
    sides.map(|side| {
        let runs = vec![side; 5];
        let named = runs.into_iter().enumerate().map(|(run, mut profile)| {
            profile.header.process = run.to_string();
            profile.header.start_epoch_millis = run as i64;
            profile
        });
        named.collect()
    })
}

/// Returns a profile whose method `ended` lost all its probes at once, at `until_ms`. Its calls had taken `self_ms`.
fn silenced(until_ms: u64, self_ms: u64) -> Profile {
    let whole = 1_000 * MS + self_ms * MS;
    let mut profile = common::tree_of(
        &["main", "ended"],
        vec![
            node(None, 0, 1, [whole, whole, self_ms * MS]),
            node(Some(0), 1, 400, [self_ms * MS, self_ms * MS, 0]),
        ],
    );
    profile.header.timing = Timing::Exact;
    profile.header.duration_ns = 6_000 * MS;
    profile.method_calls = vec![MethodCalls {
        method: 1,
        calls: 0,
        since_ns: Some(until_ms * MS),
        until_ns: Some(until_ms * MS),
    }];
    profile
}

const LEAST_TIMES: &str =
    "≥ before times: the method lost its timing probes, so the change of its time is unknown";

/// All calls that were counted were timed, but later calls were not.
#[test]
fn differences_of_least_times_are_unknown() {
    let sides = [silenced(100, 20), silenced(5_000, 900)];
    for sort in [Sort::SelfTime, Sort::Total] {
        let options = Options {
            sort,
            width: 200,
            ..Options::default()
        };
        let [before, after] = &sides;
        let single = differences(common::pair(before, after), &options);
        assert_eq!(
            line(&single, "X.ended"),
            "≥400 ≥400 – ≥20.00 ≥900.00 – X.ended",
            "{single}"
        );
        assert!(words(&single).contains(LEAST_TIMES), "{single}");
        assert!(!line(&single, "X.main").contains('≥'), "{single}");
        let runs = five_runs(sides.clone());
        let runs = [&runs[0][..], &runs[1][..]];
        let several = differences(runs, &options);
        assert_eq!(
            line(&several, "X.ended"),
            "≥20.00 ≥900.00 – – ≥400 ≥400 X.ended",
            "{several}"
        );
        assert!(words(&several).contains(LEAST_TIMES), "{several}");
        let compared = compare(runs, &options).expect("the profiles have one clock");
        let of = |name: &str| {
            let found = compared.changes.iter().find(|change| change.name == name);
            found.expect("the method is compared").judgement
        };
        let ended = of("X.ended");
        assert_eq!((ended.verdict, ended.is_bound), (Verdict::Untested, true));
        assert_eq!((ended.ratio, ended.p, ended.q), (None, None, None));
        // The method that kept its probes is tested.
        assert!(!of("X.main").is_bound && of("X.main").p.is_some());
        assert!(!compared.whole.is_bound && compared.whole.p.is_some());
        let mut json = Vec::new();
        write_json(&compared, &options, &mut json).expect("writing to memory cannot fail");
        let json: Value = serde_json::from_slice(&json).expect("the text is JSON");
        for method in json["methods"].as_array().expect("the field is a list") {
            let is_least = method["method"] == "ended";
            assert_eq!(method["before"][0]["times_are_least"], is_least, "{method}");
            assert_eq!(method["after"][4]["times_are_least"], is_least, "{method}");
        }
    }
    // Means are those of the timed calls. They are no bounds.
    let by_mean = Options {
        sort: Sort::Mean,
        width: 200,
        ..Options::default()
    };
    let [before, after] = &sides;
    let means = differences(common::pair(before, after), &by_mean);
    assert!(!words(&means).contains(LEAST_TIMES), "{means}");
}

/// A thread has only the calls of its tree, which were all timed. Its later calls are nowhere.
#[test]
fn times_in_a_thread_are_lower_bounds() {
    let chosen = |name: &str| name == "main";
    let options = Options {
        thread: Some(&chosen),
        width: 200,
        ..Options::default()
    };
    let [before, after] = [unlimited(), profile()];
    let text = differences(common::pair(&before, &after), &options);
    assert_eq!(
        line(&text, "X.counted"),
        "1,000 ≥1,000 – 600.00 ≥600.00 – X.counted",
        "{text}"
    );
    let told = "≥ before calls: without the calls that are only counted, because ";
    assert!(words(&text).contains(told), "{text}");
}

#[test]
fn differences_of_bounds_are_unknown() {
    let [before, after] = [unlimited(), profile()];
    let options = Options {
        sort: Sort::Calls,
        width: 200,
        ..Options::default()
    };
    let single = differences(common::pair(&before, &after), &options);
    assert!(
        line(&single, "X.counted").starts_with("1,000 6,000 +5,000 +500.0 "),
        "{single}"
    );
    assert!(
        line(&single, "X.ended").starts_with("7,000 ≥87,000 – 400.00 "),
        "{single}"
    );
    let order: Vec<&str> = single
        .lines()
        .filter_map(|line| line.split_once("X."))
        .map(|(_, name)| name)
        .collect();
    assert_eq!(order, ["counted", "main", "ended"], "{single}");
    assert!(
        single.contains("all calls: 8,001 before, ≥93,001 after\n"),
        "{single}"
    );
    assert!(single.contains("Calls are exact but for ≥. "), "{single}");
    assert!(words(&single).contains(ENDED), "{single}");
    let whole = differences(common::pair(&before, &before), &options);
    assert!(
        whole.contains("Calls are exact. ") && !whole.contains('≥'),
        "{whole}"
    );
    // Lower bounds of many runs are no change either.
    let runs = five_runs([before, after]);
    let several = differences([&runs[0], &runs[1]], &options);
    assert!(
        line(&several, "X.counted").starts_with("1,000 6,000 6.00 "),
        "{several}"
    );
    assert!(
        line(&several, "X.ended").starts_with("7,000 ≥87,000 – – "),
        "{several}"
    );
    assert!(words(&several).contains(ENDED), "{several}");
    let compared = compare([&runs[0], &runs[1]], &options).expect("the profiles have one clock");
    let ended = compared
        .changes
        .iter()
        .find(|change| change.name == "X.ended")
        .expect("the method is compared");
    assert_eq!(ended.judgement.verdict, Verdict::Untested);
    assert!(compared.whole.is_bound && compared.whole.p.is_none());
    let mut json = Vec::new();
    write_json(&compared, &options, &mut json).expect("writing to memory cannot fail");
    let json: Value = serde_json::from_slice(&json).expect("the text is JSON");
    assert_eq!(json["version"], 3);
    let methods = json["methods"].as_array().expect("the field is a list");
    let ended = methods
        .iter()
        .find(|method| method["method"] == "ended")
        .expect("the method is compared");
    assert_eq!(ended["before"][0]["counted_until_ns"], Value::Null);
    assert_eq!(ended["after"][4]["counted_until_ns"], 900 * MS);
}

/// The columns of times have no room, so their marks are not explained. The change of times has a title of its own.
#[test]
fn a_narrow_table_of_differences_explains_only_its_marks() {
    let sides = [unlimited(), profile()].map(|mut side| {
        for method in &mut side.methods {
            method.class = "com.example.orders.Pricing".into();
        }
        side
    });
    let [before, after] = &sides;
    let text = differences(common::pair(before, after), &narrow());
    let head = text.lines().find(|line| line.ends_with("method"));
    assert_eq!(
        words(head.expect("the table has a head")),
        "calls before after change change, ms method",
        "{text}"
    );
    assert!(!text.contains(" before times"), "{text}");
    assert!(words(&text).contains(ENDED), "{text}");
    assert!(
        words(&text).contains("than their sampling error. "),
        "{text}"
    );
}
