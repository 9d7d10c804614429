//! Tests of the content of each format.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::common::{done, loadhook, read};
use crate::{ORDER, json, methods, profiles, text};

/// The name of a field, and the check of its value.
type Check<'a> = (&'a str, &'a dyn Fn(&Value) -> bool);

fn is_text(value: &Value) -> bool {
    value.is_string()
}

fn is_number(value: &Value) -> bool {
    value.is_u64()
}

fn is_flag(value: &Value) -> bool {
    value.is_boolean()
}

fn is_number_or_null(value: &Value) -> bool {
    value.is_u64() || value.is_null()
}

fn is_text_or_null(value: &Value) -> bool {
    value.is_string() || value.is_null()
}

fn is_list(value: &Value) -> bool {
    value.is_array()
}

fn is_object(value: &Value) -> bool {
    value.is_object()
}

/// Checks that an object has these fields and no others.
fn check(of: &Value, fields: &[Check<'_>]) {
    let found: BTreeSet<&str> = of
        .as_object()
        .expect("the JSON is an object")
        .keys()
        .map(|k| &**k)
        .collect();
    let known: BTreeSet<&str> = fields.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, known);
    for (name, is_right) in fields {
        assert!(is_right(&of[name]), "{name}: {}", of[name]);
    }
}

/// The fields that both a method and a node of the tree have.
const NAMED: [Check<'static>; 7] = [
    ("class", &|v| {
        v.as_str()
            .is_some_and(|class| class.starts_with("shop.Shop"))
    }),
    ("method", &is_text),
    ("descriptor", &|v| {
        v.as_str().is_some_and(|d| d.starts_with('('))
    }),
    ("calls", &is_number),
    ("self_ns", &is_number),
    ("total_ns", &is_number),
    ("estimated", &is_flag),
];

fn check_methods(json: &Value) {
    for method in json["methods"].as_array().expect("the value is an array") {
        let more: [Check<'_>; 10] = [
            ("loader", &|v| v == "app"),
            ("loaders", &|v| v == 1),
            ("file", &is_text_or_null),
            ("line", &is_number_or_null),
            ("timed_calls", &|v| *v == method["calls"]),
            ("mean_ns", &is_number),
            ("self_error_ns", &is_number),
            ("total_error_ns", &is_number),
            ("total_is_bound", &|v| v == false),
            ("latency", &|v| v["calls"] == method["calls"]),
        ];
        check(
            &method["latency"],
            &[
                ("calls", &is_number),
                ("p50_ns", &is_number),
                ("p90_ns", &is_number),
                ("p99_ns", &is_number),
                ("p999_ns", &is_number),
                ("max_ns", &is_number),
            ],
        );
        check(method, &[&NAMED[..], &more].concat());
        assert!(method["self_ns"].as_u64() <= method["total_ns"].as_u64());
    }
}

fn check_tree(tree: &[Value]) {
    for (at, node) in tree.iter().enumerate() {
        let more: [Check<'_>; 3] = [
            ("id", &|v| v == at),
            ("parent", &|v| {
                v.is_null() || v.as_u64().is_some_and(|parent| parent < at as u64)
            }),
            ("thread", &is_number),
        ];
        check(node, &[&NAMED[..], &more].concat());
    }
}

/// Checks each statement of `docs/user/formats.md` about the fields of the JSON.
#[test]
fn the_json_is_as_documented() {
    let json = json(&["a.pb.gz"]);
    check(
        &json,
        &[
            ("version", &|v| v == 2),
            ("header", &is_object),
            ("threads", &is_list),
            ("methods", &is_list),
            ("tree", &is_list),
            ("skipped", &|v| v["trivial"] == 1),
        ],
    );
    check(
        &json["header"],
        &[
            ("timing", &|v| v == "exact"),
            ("clock", &|v| v == "wall"),
            ("start_epoch_millis", &is_number),
            ("attaching_ns", &is_number),
            ("duration_ns", &is_number),
            ("explained", &is_list),
            ("tracker_bytes", &is_number),
            ("overflowed_calls", &|v| v == 0),
            ("probe", &is_object),
            ("command", &|v| v == "shop.Shop serve"),
            ("jvm", &is_text),
            ("version", &is_text),
            ("process", &|v| v == ""),
            ("left_alone", &|v| v["trivial"] == 1),
            ("not_ended", &|v| v == false),
            ("unmatched", &|v| v[0] == "shop.Gone"),
            ("notes", &is_list),
        ],
    );
    for thread in json["threads"].as_array().expect("the value is an array") {
        check(
            thread,
            &[
                ("name", &is_text),
                ("id", &is_number_or_null),
                ("kind", &is_text),
                ("cpu_ns", &is_number_or_null),
                ("only_waited", &is_flag),
            ],
        );
    }
    check_methods(&json);
    let tree = json["tree"].as_array().expect("the value is an array");
    check_tree(tree);
    // The calls of a method must be the sum of the calls of its nodes.
    let mut in_tree: BTreeMap<String, u64> = BTreeMap::new();
    for node in tree {
        let name = format!(
            "{}.{}",
            node["class"].as_str().unwrap(),
            node["method"].as_str().unwrap()
        );
        *in_tree.entry(name).or_default() += node["calls"].as_u64().expect("the text is a number");
    }
    assert_eq!(in_tree, methods(&json));
    assert_eq!(in_tree[&format!("{ORDER}.<init>")], 1500);
}

#[test]
fn pprof_is_a_copy_of_the_profile() {
    let pprof = done(
        loadhook(
            profiles().path(),
            &["report", "a.pb.gz", "--format", "pprof"],
        )
        .args(["-o", "copy.pb.gz"]),
    );
    pprof.expect(0, "", &[]);
    let [a, copy] = ["a.pb.gz", "copy.pb.gz"].map(|file| read(&profiles().path().join(file)));
    assert!(a == copy);
}

#[test]
fn collapsed_stacks_sum_up_to_the_self_times() {
    // A line of this format is `frames of a stack;…`, a space, and a number.
    let collapsed = text(&["a.pb.gz", "--format", "collapsed"]);
    let mut sum = 0;
    for line in collapsed.lines() {
        let (stack, number) = line.rsplit_once(' ').expect("the text is a number");
        assert!(
            stack.split(';').all(|frame| frame.starts_with("shop.")),
            "{line}"
        );
        sum += number.parse::<u64>().expect("the text is a number");
    }
    let selfs: u64 = json(&["a.pb.gz"])["tree"]
        .as_array()
        .expect("the value is an array")
        .iter()
        .map(|node| node["self_ns"].as_u64().expect("the text is a number"))
        .sum();
    assert!(
        sum.abs_diff(selfs) < 100,
        "the samples sum up to {sum}, but the self times to {selfs}"
    );
}

/// Checks the properties of the format that the page of speedscope relies on.
#[test]
fn speedscope_has_nested_events() {
    let speedscope: Value = serde_json::from_str(&text(&["a.pb.gz", "--format", "speedscope"]))
        .expect("the text is JSON");
    let schema = "https://www.speedscope.app/file-format-schema.json";
    assert_eq!(speedscope["$schema"], schema);
    let frames = speedscope["shared"]["frames"]
        .as_array()
        .expect("the value is an array")
        .len();
    let threads = speedscope["profiles"]
        .as_array()
        .expect("the value is an array");
    assert_eq!(threads.len(), 2);
    for thread in threads {
        assert_eq!(
            (&thread["type"], &thread["unit"]),
            (&"evented".into(), &"nanoseconds".into())
        );
        // Events open and close in pairs, and their times never go back.
        let (mut open, mut now) = (Vec::new(), 0);
        for event in thread["events"].as_array().expect("the value is an array") {
            let frame = event["frame"].as_u64().expect("the text is a number");
            let at = event["at"].as_u64().expect("the text is a number");
            assert!(at >= now && frame < frames as u64, "{event}");
            now = at;
            match event["type"].as_str() {
                Some("O") => open.push(frame),
                Some("C") => assert_eq!(open.pop(), Some(frame)),
                _ => panic!("{event}"),
            }
        }
        assert!(
            open.is_empty() && now <= thread["endValue"].as_u64().expect("the text is a number")
        );
    }
}

#[test]
fn chrome_has_an_event_for_each_node() {
    let a = read(&profiles().path().join("a.pb.gz"));
    let chrome: Value =
        serde_json::from_str(&text(&["a.pb.gz", "--format", "chrome"])).expect("the text is JSON");
    let events = chrome["traceEvents"]
        .as_array()
        .expect("the value is an array");
    let complete = events.iter().filter(|event| event["ph"] == "X").count();
    assert_eq!(
        complete,
        a.threads
            .iter()
            .map(|thread| thread.nodes.len())
            .sum::<usize>()
    );
}

#[test]
fn html_and_tree_begin_as_such() {
    assert!(text(&["a.pb.gz", "--format", "html"]).starts_with("<!DOCTYPE html>"));
    let tree = text(&["a.pb.gz", "--format", "tree"]);
    assert!(
        tree.contains("└ shop.Shop.serve") || tree.contains("├ shop.Shop.serve"),
        "{tree}"
    );
}

/// Names of files may contain control characters. Messages print them safely, because the user who
/// reads a message may not be the one who named the file.
#[test]
fn messages_move_no_cursor() {
    for command in [
        &["report"][..],
        &["heap"],
        &["inspect"],
        &["rewrite", "-o", "x"],
    ] {
        let folder = crate::common::folder();
        let name = "\u{1b}[2J\u{202e}\nerror.class";
        let mut command = crate::common::loadhook(folder.path(), command);
        let told = crate::common::done(command.arg(name));
        assert_ne!(told.code, Some(0));
        let escaped = told.err.contains("\\u{1b}[2J\\u{202e}");
        assert!(
            escaped && !told.err.contains(['\u{1b}', '\u{202e}']),
            "{}",
            told.err
        );
    }
}
