//! `loadhook report` as a user runs it, on profiles of a real JVM.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::OnceLock;

use common::{Done, calls, done, folder, loadhook, mode, read, run};
use loadhook_profile::ThreadKind;
use loadhook_profile::format::pprof;
use serde_json::Value;
use tempfile::TempDir;

const ORDER: &str = "shop.Shop$Order";
const CASH: &str = "shop.Shop$注文管理システムの会計処理";

/// A folder with `a.pb.gz` of 1,500 orders, `b.pb.gz` of 10, both timed call
/// by call, and `counts.pb.gz`.
fn profiles() -> &'static TempDir {
    static PROFILES: OnceLock<TempDir> = OnceLock::new();
    PROFILES.get_or_init(|| {
        let folder = folder();
        for (file, timing, program) in [
            ("a.pb.gz", "exact", &["serve"][..]),
            ("b.pb.gz", "exact", &["exit", "0"]),
            ("counts.pb.gz", "count", &["serve"]),
        ] {
            let options = ["-o", file, "--timing", timing, "--exclude", "shop.Gone"];
            let result = done(&mut run(folder.path(), &options, program));
            assert_eq!(result.code, Some(0), "{}", result.err);
        }
        folder
    })
}

fn report(arguments: &[&str]) -> Done {
    done(&mut loadhook(
        profiles().path(),
        &[&["report"], arguments].concat(),
    ))
}

/// Standard output of a report that has nothing to complain about.
#[track_caller]
fn text(arguments: &[&str]) -> String {
    let result = report(arguments);
    assert_eq!((result.code, &*result.err), (Some(0), ""), "{arguments:?}");
    result.out
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let text = text(&[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&text).expect("JSON")
}

/// Calls by method; the two overloads are added up.
fn methods(json: &Value) -> BTreeMap<String, u64> {
    let mut methods = BTreeMap::new();
    for method in json["methods"].as_array().expect("an array") {
        let [class, name] = ["class", "method"].map(|key| method[key].as_str().expect("text"));
        let calls = method["calls"].as_u64().expect("a number");
        *methods.entry(format!("{class}.{name}")).or_default() += calls;
    }
    methods
}

/// What `docs/profile.md` promises, field by field.
#[test]
fn the_json_is_as_documented() {
    let json = json(&["a.pb.gz"]);
    let is_text = |value: &Value| value.is_string();
    let is_number = |value: &Value| value.is_u64();
    let is_flag = |value: &Value| value.is_boolean();
    let is_number_or_null = |value: &Value| value.is_u64() || value.is_null();
    let is_text_or_null = |value: &Value| value.is_string() || value.is_null();
    let is_list = |value: &Value| value.is_array();
    let is_object = |value: &Value| value.is_object();
    type Check<'a> = (&'a str, &'a dyn Fn(&Value) -> bool);
    let check = |of: &Value, fields: &[Check<'_>]| {
        let found: BTreeSet<&str> = of
            .as_object()
            .expect("an object")
            .keys()
            .map(|k| &**k)
            .collect();
        let known: BTreeSet<&str> = fields.iter().map(|(name, _)| *name).collect();
        assert_eq!(found, known);
        for (name, is_right) in fields {
            assert!(is_right(&of[name]), "{name}: {}", of[name]);
        }
    };
    check(
        &json,
        &[
            ("version", &|v| v == 1),
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
            ("duration_ns", &is_number),
            ("tracker_bytes", &is_number),
            ("overflowed_calls", &|v| v == 0),
            ("probe", &is_object),
            ("command", &|v| v == "shop.Shop serve"),
            ("jvm", &is_text),
            ("version", &is_text),
            ("left_alone", &|v| v["trivial"] == 1),
            ("unmatched", &|v| v[0] == "shop.Gone"),
            ("notes", &is_list),
        ],
    );
    for thread in json["threads"].as_array().expect("an array") {
        check(
            thread,
            &[
                ("name", &is_text),
                ("id", &is_number_or_null),
                ("kind", &is_text),
            ],
        );
    }
    let named: [Check<'_>; 7] = [
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
    for method in json["methods"].as_array().expect("an array") {
        let more: [Check<'_>; 6] = [
            ("loader", &|v| v == "app"),
            ("file", &is_text_or_null),
            ("line", &is_number_or_null),
            ("self_error_ns", &is_number),
            ("total_error_ns", &is_number),
            ("total_is_bound", &|v| v == false),
        ];
        check(method, &[&named[..], &more].concat());
        assert!(method["self_ns"].as_u64() <= method["total_ns"].as_u64());
    }
    let tree = json["tree"].as_array().expect("an array");
    for (at, node) in tree.iter().enumerate() {
        let more: [Check<'_>; 3] = [
            ("id", &|v| v == at),
            ("parent", &|v| {
                v.is_null() || v.as_u64().is_some_and(|parent| parent < at as u64)
            }),
            ("thread", &is_number),
        ];
        check(node, &[&named[..], &more].concat());
    }
    // Each method's calls are those of its nodes.
    let mut in_tree: BTreeMap<String, u64> = BTreeMap::new();
    for node in tree {
        let name = format!(
            "{}.{}",
            node["class"].as_str().unwrap(),
            node["method"].as_str().unwrap()
        );
        *in_tree.entry(name).or_default() += node["calls"].as_u64().expect("a number");
    }
    assert_eq!(in_tree, methods(&json));
    assert_eq!(in_tree[&format!("{ORDER}.<init>")], 1500);
}

#[test]
fn tables_sort_by_every_key() {
    let sorted = |sort: &str| {
        let json = json(&["a.pb.gz", "--sort", sort]);
        let rows = json["methods"].as_array().expect("an array").clone();
        let all = rows.len();
        assert_eq!(all, 6);
        let top = text(&["a.pb.gz", "--sort", sort, "--top", "2"]);
        assert!(top.contains("   4 more methods\n"), "{top}");
        rows
    };
    let number = |row: &Value, key: &str| row[key].as_u64().expect("a number");
    for (sort, key) in [
        ("self", "self_ns"),
        ("total", "total_ns"),
        ("calls", "calls"),
    ] {
        let rows = sorted(sort);
        assert!(
            rows.is_sorted_by_key(|row| std::cmp::Reverse(number(row, key))),
            "{sort}"
        );
    }
    let means = sorted("mean");
    let mean = |row: &Value| number(row, "total_ns") as f64 / number(row, "calls") as f64;
    // Whole nanoseconds are what is known here.
    assert!(means.is_sorted_by(|a, b| mean(a) + 1.0 >= mean(b)));
    let names = sorted("name");
    let name = |row: &Value| format!("{}.{}", row["class"].as_str().unwrap(), row["method"]);
    assert!(names.is_sorted_by_key(name));
    let wrong = report(&["a.pb.gz", "--sort", "cost"]);
    wrong.expect(2, "", &["choose one of self, total, calls, mean, name"]);
}

#[test]
fn focus_takes_patterns() {
    let focused = |patterns: &str| methods(&json(&["a.pb.gz", "--focus", patterns]));
    let cash = focused(&format!("{CASH}::合計する(Lshop/Shop$Order;)*"));
    // The method, its callee, and the way there; not the callers' other callees.
    assert_eq!(cash.get(&format!("{CASH}.合計する")), Some(&3000));
    assert_eq!(cash.get("shop.Shop.serve"), Some(&2));
    assert!(!cash.contains_key(&format!("{ORDER}.<init>")), "{cash:?}");
    assert_eq!(
        focused("*Order").get(&format!("{ORDER}.<init>")),
        Some(&1500)
    );
    assert_eq!(focused("shop.*::serve").len(), 5);
    assert!(!focused("Gone,**::<init>").contains_key(&format!("{CASH}.合計する")));

    let annotation = report(&["a.pb.gz", "--focus", "Gone,@shop.Timed"]);
    let fault =
        "error: --focus: bad pattern: a profile holds no annotations\n    @shop.Timed\n    ^\n";
    assert_eq!(annotation.expect(1, "", &[]).err, fault);
    let nothing = report(&["a.pb.gz", "--focus", "Order"]);
    assert_eq!(
        nothing.err,
        "warning: --focus names no method that was called\n"
    );
    assert!(
        nothing
            .out
            .contains("no method is left by --focus and --thread")
    );
}

#[test]
fn threads_are_chosen_by_name() {
    let night = json(&["a.pb.gz", "--thread", "night"]);
    assert_eq!(methods(&night)[&format!("{ORDER}.<init>")], 500);
    assert_eq!(night["threads"].as_array().map(Vec::len), Some(1));
    // One of a group that has ended.
    let mut grouped = read(&profiles().path().join("a.pb.gz"));
    for thread in &mut grouped.threads {
        if &*thread.name == "night-shift" {
            (thread.name, thread.id, thread.kind) = ("night-#-#".into(), None, ThreadKind::Ended);
        }
    }
    let mut bytes = Vec::new();
    pprof::write(&grouped, &mut bytes).expect("a vector takes all");
    fs::write(profiles().path().join("grouped.pb.gz"), bytes).expect("ours");
    let night = json(&["grouped.pb.gz", "--thread", "night-17-4"]);
    assert_eq!(methods(&night)[&format!("{ORDER}.<init>")], 500);
    assert_eq!(night["threads"][0]["name"], "night-#-#");

    let nobody = report(&["a.pb.gz", "--thread", "day"]);
    assert_eq!(
        nobody.err,
        "warning: --thread names none of the threads, as main, night-shift\n"
    );
}

#[test]
fn profiles_are_merged() {
    for arguments in [
        ["--merge", "a.pb.gz", "b.pb.gz"],
        ["a.pb.gz", "b.pb.gz", "--merge"],
    ] {
        assert_eq!(methods(&json(&arguments))[&format!("{ORDER}.<init>")], 1510);
    }
    let table = text(&[
        "--merge", "a.pb.gz", "a.pb.gz", "b.pb.gz", "--sort", "calls", "--top", "1",
    ]);
    assert!(table.contains(" 3,010 "), "{table}");
    assert!(
        table.contains("shop.Shop serve + shop.Shop exit 0\n"),
        "{table}"
    );
    text(&[
        "--merge", "a.pb.gz", "b.pb.gz", "--format", "pprof", "-o", "ab.pb.gz",
    ]);
    assert_eq!(
        calls(&read(&profiles().path().join("ab.pb.gz")), ORDER, "<init>"),
        1510
    );
    let mixed = report(&["--merge", "a.pb.gz", "counts.pb.gz"]);
    mixed.expect(
        1,
        "",
        &["one profile counts calls only, another times them"],
    );
    report(&["a.pb.gz", "b.pb.gz"]).expect(1, "", &["--merge adds them up, --diff compares two"]);
}

#[test]
fn profiles_are_compared() {
    let lines = |arguments: &[&str]| {
        let text = text(&[&["--diff"], arguments].concat());
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let table = lines(&["a.pb.gz", "b.pb.gz"]);
    assert!(table[0].contains("self before, ") && table[0].ends_with("change of calls  method"));
    let order = table
        .iter()
        .find(|line| line.ends_with(&format!("{ORDER}.<init>")));
    assert!(
        order.is_some_and(|line| line.contains(" -1,490 ")),
        "{table:#?}"
    );
    let counts = lines(&["a.pb.gz", "b.pb.gz", "--sort", "calls", "--top", "1"]);
    assert_eq!(counts.len(), 2);
    assert!(
        counts[1].contains(" 1,500 ") && counts[1].contains(" -99.3 "),
        "{counts:#?}"
    );
    for sort in ["total", "mean"] {
        assert!(
            lines(&["a.pb.gz", "b.pb.gz", "--sort", sort])[0].contains(&format!("{sort} after, "))
        );
    }
    let counted = lines(&["counts.pb.gz", "counts.pb.gz"]);
    assert!(counted[0].contains("calls before"), "{counted:#?}");

    let json = json(&["--diff", "a.pb.gz", "b.pb.gz", "--sort", "calls"]);
    assert_eq!(json["version"], 1);
    assert_eq!(json["before"]["command"], "shop.Shop serve");
    assert_eq!(json["after"]["command"], "shop.Shop exit 0");
    let method = &json["methods"][0];
    assert_eq!(
        (&method["before"]["calls"], &method["after"]["calls"]),
        (&1500.into(), &10.into())
    );
    for key in ["self_ns", "total_ns", "self_error_ns", "total_error_ns"] {
        assert!(method["before"][key].is_u64(), "{key}: {method}");
    }

    report(&["--diff", "a.pb.gz"]).expect(1, "", &["--diff compares two profiles"]);
    let page = report(&["--diff", "a.pb.gz", "b.pb.gz", "--format", "html"]);
    page.expect(1, "", &["--diff writes a table or json"]);
}

/// What the readers of each format rely on.
#[test]
fn other_tools_formats_hold_together() {
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

    // `frames of a stack;…, a blank, a number`.
    let collapsed = text(&["a.pb.gz", "--format", "collapsed"]);
    let mut sum = 0;
    for line in collapsed.lines() {
        let (stack, number) = line.rsplit_once(' ').expect("a number");
        assert!(
            stack.split(';').all(|frame| frame.starts_with("shop.")),
            "{line}"
        );
        sum += number.parse::<u64>().expect("a number");
    }
    let selfs: u64 = json(&["a.pb.gz"])["tree"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|node| node["self_ns"].as_u64().expect("a number"))
        .sum();
    assert!(sum.abs_diff(selfs) < 100, "{sum} and {selfs}");

    let speedscope: Value =
        serde_json::from_str(&text(&["a.pb.gz", "--format", "speedscope"])).expect("JSON");
    let schema = "https://www.speedscope.app/file-format-schema.json";
    assert_eq!(speedscope["$schema"], schema);
    let frames = speedscope["shared"]["frames"]
        .as_array()
        .expect("an array")
        .len();
    let threads = speedscope["profiles"].as_array().expect("an array");
    assert_eq!(threads.len(), 2);
    for thread in threads {
        assert_eq!(
            (&thread["type"], &thread["unit"]),
            (&"evented".into(), &"nanoseconds".into())
        );
        // Opened and closed in pairs, never going back in time.
        let (mut open, mut now) = (Vec::new(), 0);
        for event in thread["events"].as_array().expect("an array") {
            let frame = event["frame"].as_u64().expect("a number");
            let at = event["at"].as_u64().expect("a number");
            assert!(at >= now && frame < frames as u64, "{event}");
            now = at;
            match event["type"].as_str() {
                Some("O") => open.push(frame),
                Some("C") => assert_eq!(open.pop(), Some(frame)),
                _ => panic!("{event}"),
            }
        }
        assert!(open.is_empty() && now <= thread["endValue"].as_u64().expect("a number"));
    }

    let chrome: Value =
        serde_json::from_str(&text(&["a.pb.gz", "--format", "chrome"])).expect("JSON");
    let events = chrome["traceEvents"].as_array().expect("an array");
    let complete = events.iter().filter(|event| event["ph"] == "X").count();
    assert_eq!(
        complete,
        a.threads
            .iter()
            .map(|thread| thread.nodes.len())
            .sum::<usize>()
    );

    assert!(text(&["a.pb.gz", "--format", "html"]).starts_with("<!DOCTYPE html>"));
    let tree = text(&["a.pb.gz", "--format", "tree"]);
    assert!(
        tree.contains("└ shop.Shop.serve") || tree.contains("├ shop.Shop.serve"),
        "{tree}"
    );
}

#[test]
fn options_without_effect_are_refused() {
    let options: [(&[&str], &[&str]); 5] = [
        (&["--focus", "shop.**"], &["pprof"]),
        (&["--thread", "main"], &["pprof"]),
        (
            &["--sort", "self"],
            &["tree", "collapsed", "pprof", "speedscope", "chrome"],
        ),
        (
            &["--top", "3"],
            &["tree", "collapsed", "pprof", "html", "speedscope", "chrome"],
        ),
        (
            &["--explain"],
            &[
                "tree",
                "collapsed",
                "pprof",
                "json",
                "html",
                "speedscope",
                "chrome",
            ],
        ),
    ];
    let formats = [
        "table",
        "tree",
        "collapsed",
        "pprof",
        "json",
        "html",
        "speedscope",
        "chrome",
    ];
    for (option, refused) in options {
        for format in formats {
            let arguments = [&["a.pb.gz", "--format", format, "-o", "shown"], option].concat();
            let result = report(&arguments);
            match refused.contains(&format) {
                false => assert_eq!((result.code, &*result.err), (Some(0), ""), "{arguments:?}"),
                true => {
                    let said = format!(
                        "error: {} has no effect on --format {format}, only on table",
                        option[0]
                    );
                    result.expect(1, "", &[&said]);
                    assert_eq!(result.err.lines().count(), 1, "{}", result.err);
                }
            }
        }
    }
    report(&["--diff", "a.pb.gz", "b.pb.gz", "--explain"]).expect(
        1,
        "",
        &["--explain has no effect on --diff"],
    );
}

#[test]
fn reports_go_to_files() {
    let place = profiles().path();
    let file = place.join("new folder/x.json");
    fs::create_dir(place.join("new folder")).expect("ours");
    let name = "new folder/x.json";
    for format in ["html", "json"] {
        report(&["a.pb.gz", "--format", format, "-o", name]).expect(0, "", &[]);
    }
    let text = fs::read_to_string(&file).expect("written");
    serde_json::from_str::<Value>(&text).expect("JSON");
    assert_eq!(mode(&file), 0o600);
    assert_eq!(
        fs::read_dir(place.join("new folder"))
            .expect("ours")
            .count(),
        1
    );
    report(&["a.pb.gz", "-o", "new folder"]).expect(1, "", &["error: new folder: "]);
}

#[test]
fn files_that_are_no_profiles_are_told() {
    let place = profiles().path();
    let whole = fs::read(place.join("a.pb.gz")).expect("written");
    fs::write(place.join("cut.gz"), &whole[..whole.len() / 2]).expect("ours");
    fs::write(place.join("text"), "no profile\n").expect("ours");
    fs::write(place.join("empty"), "").expect("ours");
    for (file, said) in [
        ("none", "error: none: No such file"),
        (".", "error: .: Is a directory"),
        ("cut.gz", "error: cut.gz: damaged gzip data"),
        ("text", "error: text: not a pprof file"),
        ("empty", "error: empty: "),
    ] {
        report(&[file]).expect(1, "", &[said]);
    }
    report(&["a.pb.gz", "--format", "pdf"]).expect(
        2,
        "",
        &["choose one of table, tree, collapsed"],
    );
    report(&[]).expect(2, "", &["<FILES>"]);
}
