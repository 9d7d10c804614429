//! Tests of calls that were counted but not timed, while others were timed. Under the CPU clock, the calls in virtual
//! threads are not timed. The times of untimed calls are unknown in every format, not 0.

mod common;

use common::node;
use loadhook_profile::analysis::diff::methods::compare;
use loadhook_profile::format::diff::methods::{write, write_json};
use loadhook_profile::format::{Format, Options, Sort};
use loadhook_profile::{Clock, Method, Node, Profile, ThreadKind, ThreadTree, Timing};
use serde_json::Value;

/// Returns a profile with a method that platform threads and virtual threads call, and a method that only
/// virtual threads call.
fn profile() -> Profile {
    let untimed = |parent, method, calls| Node {
        timed: 0,
        ..node(parent, method, calls, [0, 0, 0])
    };
    let mut profile = common::tree_of(
        &["main", "step", "serve"],
        vec![
            node(None, 0, 1, [10_000, 10_000, 8_000]),
            node(Some(0), 1, 100, [8_000, 8_000, 0]),
        ],
    );
    profile.header.timing = Timing::Exact;
    profile.header.clock = Clock::Cpu;
    profile.threads.push(ThreadTree {
        name: "(virtual threads)".into(),
        id: None,
        kind: ThreadKind::Virtual,
        cpu_ns: None,
        nodes: vec![untimed(None, 2, 7), untimed(Some(0), 1, 700)],
    });
    profile
}

fn text(format: Format) -> String {
    text_of(&profile(), format)
}

fn text_of(profile: &Profile, format: Format) -> String {
    common::text(format, profile, &Options::default())
}

fn cells(text: &str, method: &str) -> Vec<String> {
    let line = text.lines().find(|line| line.ends_with(method));
    let line = line.unwrap_or_else(|| panic!("the line of {method} is missing in {text}"));
    line.split("  ")
        .map(|cell| cell.trim().to_owned())
        .filter(|cell| !cell.is_empty())
        .collect()
}

#[test]
fn tables_have_dashes() {
    let table = text(Format::Table);
    assert_eq!(
        cells(&table, "X.serve"),
        ["3", "–", "–", "–", "7", "–", "X.serve"]
    );
    // A hundred calls were timed, and took 8,000 ns together.
    assert_eq!(
        cells(&table, "X.step"),
        ["1", "80.0 %", "≥8,000", "≥8.0", "800", "80 ns", "X.step"]
    );
    assert!(table.contains("≥ lower bound: "), "{table}");
    // A dash shows an unknown time.
    let mut unknown = profile();
    unknown.threads.truncate(1);
    unknown.threads[0].nodes[1].timed = 0;
    let table = text_of(&unknown, Format::Table);
    assert!(table.contains(" –  ") && !table.contains('≥'), "{table}");
}

#[test]
fn trees_have_dashes() {
    // A tree does not leave out nodes whose time is unknown.
    let tree = text(Format::Tree);
    assert_eq!(cells(&tree, "X.serve"), ["–", "–", "–", "7", "X.serve"]);
    let below = tree.lines().last().expect("the tree has lines");
    assert!(
        below.contains(" –  ") && below.ends_with("700  └ X.step"),
        "{tree}"
    );
}

#[test]
fn json_has_null() {
    let json: Value = serde_json::from_str(&text(Format::Json)).expect("the text is JSON");
    let find = |list: &str, method: &str, calls: u64| {
        let mut all = json[list].as_array().expect("the field is a list").iter();
        let found = all.find(|one| one["method"] == method && one["calls"] == calls);
        found
            .unwrap_or_else(|| panic!("{method} is missing in {json}"))
            .clone()
    };
    let serve = find("methods", "serve", 7);
    for field in ["self_ns", "total_ns", "self_error_ns", "total_error_ns"] {
        assert_eq!(serve[field], Value::Null, "{serve}");
    }
    assert_eq!(find("methods", "step", 800)["self_ns"], 8_000);
    for (method, calls) in [("serve", 7), ("step", 700)] {
        let node = find("tree", method, calls);
        assert_eq!(node["self_ns"], Value::Null, "{node}");
        assert_eq!(node["total_ns"], Value::Null, "{node}");
    }
    assert_eq!(find("tree", "step", 100)["total_ns"], 8_000);
}

/// If a caller is not timed, its total time is at least the known time of its callees.
#[test]
fn callees_times_are_known() {
    let mut half = profile();
    half.threads[1].nodes[1] = node(Some(0), 1, 700, [5_000, 5_000, 0]);
    let table = text_of(&half, Format::Table);
    assert_eq!(
        cells(&table, "X.serve"),
        ["3", "–", "–", "≥5.0", "7", "–", "X.serve"]
    );
}

/// Returns a thread that was still in method 1 when the program ended. It had called method 2, which took
/// `ns`.
fn thread_under_way(ns: u64) -> ThreadTree {
    let under_way = Node {
        timed: 0,
        ..node(None, 1, 1, [0, 0, 0])
    };
    ThreadTree {
        name: "daemon".into(),
        id: Some(2),
        kind: ThreadKind::Platform,
        cpu_ns: None,
        nodes: vec![under_way, node(Some(0), 2, 1, [ns, ns, 0])],
    }
}

/// If calls are not timed, the time of their callees is part of the total time, but not of the
/// mean.
#[test]
fn means_are_of_timed_calls() {
    let mut profile = common::tree_of(
        &["main", "serve", "busy"],
        vec![
            node(None, 0, 1, [1_000, 1_000, 20]),
            node(Some(0), 1, 1, [20, 20, 15]),
            node(Some(1), 2, 1, [15, 15, 0]),
        ],
    );
    profile.header.timing = Timing::Exact;
    profile.header.clock = Clock::Cpu;
    profile.threads.push(thread_under_way(800));
    let table = text_of(&profile, Format::Table);
    let serve = cells(&table, "X.serve");
    assert_eq!(serve[2..], ["≥5", "≥820", "2", "20 ns", "X.serve"]);
    let busy = cells(&table, "X.busy");
    assert_eq!(busy[2..], ["815", "815", "2", "408 ns", "X.busy"]);
    let json: Value =
        serde_json::from_str(&text_of(&profile, Format::Json)).expect("the text is JSON");
    let methods = json["methods"].as_array().expect("the field is a list");
    let serve = methods.iter().find(|method| method["method"] == "serve");
    let serve = serve.expect("the method is compared");
    for (field, value) in [
        ("calls", 2),
        ("timed_calls", 1),
        ("mean_ns", 20),
        ("total_ns", 820),
    ] {
        assert_eq!(serve[field], value, "{field}: {serve}");
    }
    let options = Options {
        sort: Sort::Mean,
        ..Options::default()
    };
    let changes = compare(common::pair(&profile, &profile), &options)
        .expect("the profiles have the same clock")
        .changes;
    let change = changes.iter().find(|change| change.name == "X.serve");
    assert_eq!(
        change.expect("the method is compared").after[0].mean_ns,
        Some(20.0)
    );
    // The result must be the same if the threads are merged into one tree.
    profile.threads[1].nodes[0].parent = None;
    profile.threads[0].nodes.rotate_left(1);
    profile.threads[0].nodes.pop();
    profile.threads[0].nodes[0].parent = None;
    profile.threads[0].nodes[1].parent = Some(0);
    let tree = text_of(&profile, Format::Tree);
    assert_eq!(cells(&tree, "X.serve")[1..], ["≥820", "≥5", "2", "X.serve"]);
}

/// Tests the mean times in recursions, where total times are upper bounds.
#[test]
fn means_in_recursions_are_of_timed_calls() {
    let mut profile = common::recursion_by_two_ways();
    profile.header.timing = Timing::Exact;
    profile.threads.push(thread_under_way(700));
    let table = text_of(&profile, Format::Table);
    assert_eq!(
        cells(&table, "X.b")[2..],
        ["≥700", "≤1,700", "3", "≤500 ns", "X.b"],
        "{table}"
    );
}

#[test]
fn differences_have_dashes() {
    let [mut before, after] = [profile(), profile()];
    // The call is timed only on the first side, so the difference of the times is unknown.
    before.threads[1].nodes[0] = node(None, 2, 7, [600, 600, 0]);
    let options = Options {
        sort: Sort::SelfTime,
        ..Options::default()
    };
    let changes =
        compare(common::pair(&before, &after), &options).expect("the profiles have the same clock");
    let mut table = Vec::new();
    write(&changes, &options, &mut table).expect("writing to memory cannot fail");
    let table = String::from_utf8(table).expect("the text is UTF-8");
    assert_eq!(
        cells(&table, "X.serve"),
        ["7", "7", "0", "600", "–", "–", "X.serve"]
    );
    let mut json = Vec::new();
    write_json(&changes, &options, &mut json).expect("writing to memory cannot fail");
    let json: Value = serde_json::from_slice(&json).expect("the text is JSON");
    let serve = json["methods"]
        .as_array()
        .expect("the field is a list")
        .iter();
    let serve = serve.clone().find(|one| one["method"] == "serve");
    let serve = serve.expect("the method is compared");
    assert_eq!(serve["before"][0]["self_ns"], 600);
    assert_eq!(serve["after"][0]["self_ns"], Value::Null);
    // A method that was not called has a known time, which is 0.
    let gone = Method::new("X", "serve", "()V");
    let mut without = profile();
    without.threads.pop();
    let changes = compare(common::pair(&without, &profile()), &options)
        .expect("the profiles have the same clock")
        .changes;
    let serve = changes.iter().find(|c| c.method.name == gone.name);
    assert_eq!(
        serve.expect("the method is compared").before[0].self_ns,
        Some(0.0)
    );
}

/// With `--timing count`, a profile has no times at all. Its header says so.
#[test]
fn counts_are_shown_without_dashes() {
    let mut counted = profile();
    counted.header.timing = Timing::Count;
    let mut json = Vec::new();
    let written = Format::Json.write(&counted, &Options::default(), &mut json);
    written.expect("writing to memory cannot fail");
    let json: Value = serde_json::from_slice(&json).expect("the text is JSON");
    assert_eq!(json["methods"][0]["self_ns"], 0, "{json}");
}
