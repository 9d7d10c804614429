//! Durations of calls in the formats: table, JSON, and what of them is shown.

mod common;

use common::{measured, small, text};
use loadhook_profile::Timing;
use loadhook_profile::analysis::picture::Picture;
use loadhook_profile::format::{Format, Options, page_data, write_latencies};
use loadhook_profile::{MethodCalls, Profile};
use serde_json::{Value, json};

fn table(profile: &Profile, options: &Options<'_>) -> String {
    let mut out = Vec::new();
    write_latencies(profile, options, &mut out).expect("writing to memory cannot fail");
    String::from_utf8(out).expect("the text is UTF-8")
}

fn json_of(profile: &Profile, options: &Options<'_>) -> Value {
    serde_json::from_str(&text(Format::Json, profile, options)).expect("the text is JSON")
}

/// The `latency` of a method.
fn latency<'v>(json: &'v Value, name: &str) -> &'v Value {
    let methods = json["methods"].as_array().expect("methods are a list");
    let method = methods.iter().find(|method| method["method"] == name);
    &method.expect("the method is in the list")["latency"]
}

#[test]
fn tables() {
    insta::assert_snapshot!(table(&measured(), &Options::default()));
    let narrow = Options {
        width: 80,
        top: Some(2),
        ..Options::default()
    };
    insta::assert_snapshot!(table(&measured(), &narrow));
    let one = |name: &str| name.starts_with("main");
    let thread = Options {
        thread: Some(&one),
        ..Options::default()
    };
    insta::assert_snapshot!(table(&measured(), &thread));
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

/// The first calls of a method are timed in any case. They are not shown if a later call is not.
#[test]
fn methods_that_are_partly_timed_have_none() {
    let mut profile = measured();
    profile.header.timing = Timing::Adaptive;
    profile.threads[1].nodes[1].timed -= 1;
    let find = profile.latencies[3].method;
    profile.method_calls = vec![MethodCalls {
        method: 10,
        calls: 1,
        since_ns: Some(5),
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

#[test]
fn the_live_view_shows_percentiles_of_all_calls_only() {
    let picture = Picture::of(&measured());
    let p99 = |name: &str| {
        let mut methods = picture.methods.iter();
        let found = methods.find(|figures| picture.names[figures.method as usize].ends_with(name));
        found.expect("the method is shown").p99_ns
    };
    assert!(picture.has_latencies);
    assert_eq!(p99("Server.handle"), Some(8_126_444.0));
    assert_eq!(p99("DiscountTableLookup.find"), None);
}
