//! Durations of calls in the table and in JSON, and the choice of the durations that are shown.

mod common;

use common::{measured, small, text};
use loadhook_profile::Timing;
use loadhook_profile::analysis::diff::methods::compare;
use loadhook_profile::analysis::picture::Picture;
use loadhook_profile::format::diff::methods::write;
use loadhook_profile::format::{Format, Options, Sort, page_data, write_latencies};
use loadhook_profile::{LatencyRange, Method, MethodCalls, Profile, merge, since};
use serde_json::{Value, json};

fn table(profile: &Profile, options: &Options<'_>) -> String {
    let mut out = Vec::new();
    write_latencies(profile, options, &mut out).expect("writing to memory cannot fail");
    String::from_utf8(out).expect("the text is UTF-8")
}

fn json_of(profile: &Profile, options: &Options<'_>) -> Value {
    serde_json::from_str(&text(Format::Json, profile, options)).expect("the text is JSON")
}

/// Returns the `latency` of a method.
fn latency<'v>(json: &'v Value, name: &str) -> &'v Value {
    let methods = json["methods"].as_array().expect("methods are a list");
    let method = methods.iter().find(|method| method["method"] == name);
    &method.expect("the method is in the list")["latency"]
}

/// Returns the cells of the row of a method.
fn cells<'t>(table: &'t str, name: &str) -> Vec<&'t str> {
    let row = table.lines().find(|line| line.ends_with(name));
    row.unwrap_or_default()
        .split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect()
}

#[test]
fn tables_have_a_row_for_each_method() {
    let text = table(&measured(), &Options::default());
    let handle = cells(&text, "Server.handle");
    assert_eq!(
        handle[..6],
        [
            "1,020", "1.02 ms", "8.13 ms", "8.13 ms", "30.4 ms", "30.4 ms"
        ],
        "{text}"
    );
    assert_eq!(
        cells(&text, "DiscountTableLookup.find")[0],
        "†8,000",
        "{text}"
    );
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = words.join(" ");
    assert!(
        words.contains(
            "† percentiles of a part of the calls (8,000 of 9,000 for the first such method):"
        ),
        "{text}"
    );
    let narrow = Options {
        width: 80,
        top: Some(2),
        ..Options::default()
    };
    let text = table(&measured(), &narrow);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(text.contains("1 more method\n"), "{text}");
    let one = |name: &str| name.starts_with("main");
    let thread = Options {
        thread: Some(&one),
        ..Options::default()
    };
    let text = table(&measured(), &thread);
    assert!(text.ends_with("leave out --thread\n"), "{text}");
}

#[test]
fn json_has_percentiles() {
    let json = json_of(&measured(), &Options::default());
    let expected = json!({
        "calls": 1020, "p50_ns": 1_015_788, "p90_ns": 8_126_444, "p99_ns": 8_126_444, "p999_ns": 30_408_684, "max_ns": 30_408_684
    });
    assert_eq!(latency(&json, "handle"), &expected);
    assert_eq!(latency(&json, "find")["calls"], 8_000);
    assert_eq!(latency(&json, "get"), &Value::Null);
    assert_eq!(
        latency(&json_of(&small(), &Options::default()), "handle"),
        &Value::Null
    );
}

/// The first calls of a method are timed in any case. Their durations are not shown if too many later calls are
/// not timed.
#[test]
fn methods_that_are_partly_timed_have_none() {
    for timing in [Timing::Exact, Timing::Adaptive] {
        let mut profile = measured();
        profile.header.timing = timing;
        // 11 of 1,020 calls are more than 1 %.
        profile.threads[1].nodes[1].timed -= 11;
        let find = profile.latencies[3].method;
        profile.method_calls = vec![MethodCalls {
            method: 10,
            calls: 9,
            since_ns: Some(5),
            until_ns: None,
        }];
        let json = json_of(&profile, &Options::default());
        for (name, is_shown) in [
            ("handle", false),
            ("find", true),
            ("lambda$main$0;odd", false),
        ] {
            assert_eq!(latency(&json, name).is_object(), is_shown, "{name}");
        }
        let data = page_data(&profile, &Options::default());
        assert_eq!(data[0]["latencies"][0][0], find);
    }
}

#[test]
fn tables_without_rows_say_why() {
    let mut profile = measured();
    for node in profile.threads.iter_mut().flat_map(|t| &mut t.nodes) {
        node.timed = 0;
    }
    for (timing, remedy) in [
        (Timing::Adaptive, "--timing exact"),
        (Timing::Exact, "--budget none"),
    ] {
        profile.header.timing = timing;
        let text = table(&profile, &Options::default());
        let line = format!("No method had all its calls timed; run again with {remedy}\n");
        assert!(text.ends_with(&line), "{text}");
    }
    profile.threads.clear();
    let text = table(&profile, &Options::default());
    assert!(
        text.ends_with("No instrumented method was called\n"),
        "{text}"
    );
}

/// Calls under way when the profile is written are not timed.
#[test]
fn a_few_calls_may_be_untimed() {
    let mut profile = measured();
    profile.header.timing = Timing::Adaptive;
    profile.threads[1].nodes[1].timed -= 10;
    profile.method_calls = vec![MethodCalls {
        method: 10,
        calls: 8,
        since_ns: Some(5),
        until_ns: None,
    }];
    let json = json_of(&profile, &Options::default());
    assert!(latency(&json, "handle").is_object());
    assert!(latency(&json, "lambda$main$0;odd").is_object());
    let text = table(&profile, &Options::default());
    assert_eq!(cells(&text, "Server.handle")[0], "1,020", "{text}");
    // 10 of 18 calls are timed.
    assert_eq!(cells(&text, "lambda$main$0;odd")[0], "†10", "{text}");
    // Nobody knows how many calls came after the counting ended.
    profile.method_calls[0].until_ns = Some(5);
    let json = json_of(&profile, &Options::default());
    assert_eq!(latency(&json, "lambda$main$0;odd"), &Value::Null);
    assert!(latency(&json, "handle").is_object());
}

#[test]
fn the_live_view_marks_percentiles_of_a_part() {
    let picture = Picture::of(&measured());
    let p99 = |name: &str| {
        let mut methods = picture.methods.iter();
        let found = methods.find(|figures| picture.names[figures.method as usize].ends_with(name));
        let found = found.expect("the method is shown");
        (found.p99_ns, found.p99_is_partial)
    };
    assert!(picture.has_latencies);
    assert_eq!(p99("Server.handle"), (Some(8_126_444.0), false));
    let (find, is_partial) = p99("DiscountTableLookup.find");
    assert!(find.is_some_and(|ns| ns > 0.0) && is_partial);
    assert_eq!(p99("Main.main"), (None, false));
}

#[test]
fn differences_explain_their_marks() {
    let profiles = [measured()];
    let text = |sort| {
        let options = Options {
            sort,
            ..Options::default()
        };
        let compared =
            compare([&profiles, &profiles], &options).expect("the profile has one clock");
        let mut out = Vec::new();
        write(&compared, &options, &mut out).expect("writing to memory cannot fail");
        String::from_utf8(out).expect("the text is UTF-8")
    };
    let by_p99 = text(Sort::P99);
    let words: Vec<&str> = by_p99.split_whitespace().collect();
    let line = "† percentiles of a part of the calls (8,000 of 9,000 for the first such method):";
    assert!(words.join(" ").contains(line), "{by_p99}");
    let by_total = text(Sort::Total);
    assert!(!by_total.contains('†'), "{by_total}");
}

fn ranges(method: u32, counts: &[(u16, u64)]) -> Vec<LatencyRange> {
    let range = |(range, calls): &(u16, u64)| LatencyRange {
        method,
        range: *range,
        calls: *calls,
    };
    counts.iter().map(range).collect()
}

#[test]
fn profiles_are_added_and_subtracted() {
    let profile = |names: &[&str], latencies: Vec<LatencyRange>| Profile {
        methods: names
            .iter()
            .map(|name| Method::new("a.A", name, "()V"))
            .collect(),
        latencies,
        ..Profile::default()
    };
    let one = profile(
        &["a", "b"],
        [ranges(0, &[(3, 1), (9, 2)]), ranges(1, &[(4, 1)])].concat(),
    );
    let other = profile(
        &["b", "a"],
        [ranges(0, &[(4, 5)]), ranges(1, &[(2, 1), (3, 1)])].concat(),
    );
    let sum = merge(&[one.clone(), other.clone()]).expect("the profiles can be merged");
    let a = ranges(0, &[(2, 1), (3, 2), (9, 2)]);
    assert_eq!(sum.latencies, [a, ranges(1, &[(4, 6)])].concat());
    assert_eq!(since(&other, &sum).latencies, one.latencies);
    assert_eq!(since(&sum, &sum).latencies, []);
}
