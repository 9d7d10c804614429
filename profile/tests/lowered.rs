//! Tests of methods that lost probes while the program ran, and whose calls or times were measured. From some moment on
//! one method is only counted, and another one not even counted.

mod common;

use common::{MS, node};
use loadhook_profile::analysis::diff::Verdict;
use loadhook_profile::analysis::diff::methods::compare;
use loadhook_profile::format::diff::methods::{write, write_json};
use loadhook_profile::format::{Format, Options, Sort, difference_page, pprof};
use loadhook_profile::{MethodCalls, Profile, Timing, merge, since};
use loadhook_testkit::browser::run;
use serde_json::Value;

/// Returns a profile with a method that kept its probes, one that was only counted after 500 ms, and one that was not
/// counted after 900 ms.
fn profile() -> Profile {
    let mut profile = common::tree_of(
        &["main", "counted", "ended"],
        vec![
            node(None, 0, 1, [2_000 * MS, 2_000 * MS, 1_000 * MS]),
            node(Some(0), 1, 1_000, [600 * MS, 600 * MS, 0]),
            node(Some(0), 2, 7_000, [400 * MS, 400 * MS, 0]),
        ],
    );
    profile.header.timing = Timing::Exact;
    profile.header.duration_ns = 2_000 * MS;
    profile.method_calls = vec![
        MethodCalls {
            method: 1,
            calls: 5_000,
            since_ns: Some(500 * MS),
            until_ns: None,
        },
        MethodCalls {
            method: 2,
            calls: 80_000,
            since_ns: Some(300 * MS),
            until_ns: Some(900 * MS),
        },
    ];
    profile
}

/// Returns the profile without the loss of probes.
fn unlimited() -> Profile {
    let mut profile = profile();
    profile.method_calls.clear();
    profile
}

/// A tree leaves out the moments where a terminal has no room for them.
fn wide() -> Options<'static> {
    Options {
        width: 140,
        ..Options::default()
    }
}

fn narrow() -> Options<'static> {
    Options {
        width: 80,
        ..Options::default()
    }
}

/// Returns the text with single spaces, so that the ends of lines do not matter.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the words of the line of a method.
fn line(text: &str, method: &str) -> String {
    let found = text.lines().find(|line| line.ends_with(method));
    words(found.unwrap_or_else(|| panic!("the line of {method} is missing in {text}")))
}

const ENDED: &str = "≥ before calls: lost its last probe while the program ran, the first method after 900 ms: later \
    calls are not counted; their time is in their callers' self time";

#[test]
fn a_table_marks_lower_bounds() {
    let table = common::text(Format::Table, &profile(), &narrow());
    assert!(table.contains(" · ≥93,001 calls in "), "{table}");
    assert!(line(&table, "X.main").contains(" 1 2.00 s "), "{table}");
    assert!(
        line(&table, "X.counted").contains(" ≥600.00 ‡6,000 600 µs "),
        "{table}"
    );
    assert!(
        line(&table, "X.ended").contains(" ≥400.00 ≥87,000 57.1 µs "),
        "{table}"
    );
    let told = words(&table);
    assert!(told.contains(ENDED), "{table}");
    let counted = "‡ lost its timing probes while the program ran, the first method after 500 ms: ";
    assert!(told.contains(counted), "{table}");
    let unmarked = common::text(Format::Table, &unlimited(), &narrow());
    assert!(
        !unmarked.contains('≥') && !unmarked.contains('‡'),
        "{unmarked}"
    );
}

#[test]
fn a_tree_tells_when_probes_were_lost() {
    let text = |profile: &Profile| common::text(Format::Tree, profile, &wide());
    let tree = text(&profile());
    for line in [
        " X.counted (not timed after 500 ms, only counted)\n",
        " X.ended (not timed after 300 ms, not counted after 900 ms)\n",
    ] {
        assert!(tree.contains(line), "{tree}");
    }
    let mut at_once = profile();
    at_once.method_calls[1].since_ns = at_once.method_calls[1].until_ns;
    let tree = text(&at_once);
    assert!(
        tree.contains(" X.ended (not timed or counted after 900 ms)\n"),
        "{tree}"
    );
}

#[test]
fn json_has_both_moments() {
    let json: Value =
        serde_json::from_str(&common::text(Format::Json, &profile(), &Options::default()))
            .expect("the text is JSON");
    assert_eq!(json["version"], 2);
    let methods = json["methods"].as_array().expect("the field is a list");
    let of = |name: &str| {
        methods
            .iter()
            .find(|method| method["method"] == name)
            .expect("the method is called")
    };
    assert_eq!(of("main").get("counted_until_ns"), None);
    assert_eq!(of("counted").get("counted_until_ns"), None);
    assert_eq!(of("ended")["counted_since_ns"], 300 * MS);
    assert_eq!(of("ended")["counted_until_ns"], 900 * MS);
    assert_eq!(of("ended")["calls"], 87_000);
}

#[test]
fn files_keep_both_moments() {
    let mut all = profile();
    all.method_calls[0].since_ns = Some(u64::MAX - 1);
    all.method_calls[1].until_ns = Some(0);
    let mut file = Vec::new();
    pprof::write(&all, &mut file).expect("writing to memory cannot fail");
    assert_eq!(pprof::read(&file).expect("the file is a profile"), all);
    // Without such methods the columns are left out, as in older files.
    let mut without = all.clone();
    for counted in &mut without.method_calls {
        (counted.since_ns, counted.until_ns) = (None, None);
    }
    let mut shorter = Vec::new();
    pprof::write(&without, &mut shorter).expect("writing to memory cannot fail");
    assert_eq!(
        pprof::read(&shorter).expect("the file is a profile"),
        without
    );
}

#[test]
fn hprof_tells_how_many_methods_lost_probes() {
    let text = |profile: &Profile| common::text(Format::Hprof, profile, &Options::default());
    let told = "CPU TIME has the calls of 2 methods only until these lost probes (--budget).\n";
    assert!(text(&profile()).contains(told));
    assert!(!text(&unlimited()).contains("--budget"));
}

/// A sum ends with the first count that ends. The part between two profiles has moments since its own start.
#[test]
fn sums_and_parts_keep_the_moments() {
    let mut other = profile();
    other.header.process = "other".to_owned();
    other.method_calls[1].until_ns = Some(700 * MS);
    let moments = |profiles: &[Profile]| {
        let sum = merge(profiles).expect("the profiles have one clock");
        sum.method_calls
            .iter()
            .map(|of| (of.since_ns, of.until_ns))
            .collect::<Vec<_>>()
    };
    let expected = [(Some(500 * MS), None), (Some(300 * MS), Some(700 * MS))];
    assert_eq!(moments(&[profile(), other.clone()]), expected);
    other.method_calls[1].until_ns = None;
    let expected = [(Some(500 * MS), None), (Some(300 * MS), Some(900 * MS))];
    assert_eq!(moments(&[other, profile()]), expected);
    let mut earlier = unlimited();
    earlier.header.duration_ns = 400 * MS;
    let part = since(&earlier, &profile()).method_calls;
    let moments: Vec<_> = part.iter().map(|of| (of.since_ns, of.until_ns)).collect();
    assert_eq!(moments, [(Some(100 * MS), None), (Some(0), Some(500 * MS))]);
    let mut part = since(&earlier, &profile());
    part.threads[0].nodes = profile().threads[0].nodes.clone();
    let tree = common::text(Format::Tree, &part, &wide());
    let told = " X.ended (not timed before this profile began, not counted after 500 ms)\n";
    assert!(tree.contains(told), "{tree}");
}

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
        "1,000 1,000 0 600.00 ≥600.00 – X.counted",
        "{text}"
    );
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
    assert_eq!(order, ["counted", "ended", "main"], "{single}");
    assert!(
        single.contains("all calls: ≥8,001 before, ≥93,001 after\n"),
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

#[test]
fn the_page_marks_lower_bounds() {
    let script = r#"
        const cells = (id) => [...document.querySelectorAll(`#${id} tr`)].map((row) => [...row.children].map((cell) => cell.textContent).join(' | ')).join('\n');
        const text = (id) => document.getElementById(id).textContent;
        show('methods');
        details(methods.name.indexOf('X.ended'));
        return [cells('rows'), text('facts'), text('details-facts'), cells('details-figures'), ...[...document.querySelectorAll('#remarks li')].map((item) => item.textContent)].join('\n');
    "#;
    let seen = run(
        &common::text(Format::Html, &profile(), &Options::default()),
        script,
    );
    for part in [
        "‡6,000 | 600 µs | X.counted",
        "≥87,000 | 57.1 µs | X.ended",
        "≥93,001 calls",
        "not timed after 300 ms · not counted after 900 ms",
        "calls | ≥87,000",
        ENDED,
    ] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    let page = difference_page(&[unlimited()], &[profile()], &Options::default());
    let mut out = Vec::new();
    page.expect("the profiles have one clock")
        .write(&mut out)
        .expect("writing to memory cannot fail");
    let seen = run(&String::from_utf8(out).expect("the text is UTF-8"), script);
    // This page has only the calls in trees.
    for part in [
        "| – | ≥1,000 | X.counted",
        "| – | ≥7,000 | X.ended",
        "| 0 | 1 | X.main",
        "– |  | 400 ms | ≥400 ms | ≥400 ms | – | – | ≥7,000 | X.ended",
        "total | 400 ms | ≥400 ms | –",
        "self | 400 ms | ≥400 ms | –",
        "calls | ≥7,000 | ≥7,000 | –",
        "≥ lower bound: the time of some calls is unknown; means are of the other calls; a change of such times is not \
            known",
        "≥ before calls: lost probes while the program ran; ",
    ] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
}
