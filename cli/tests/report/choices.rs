//! Tests of sorting, `--focus` and `--thread` in reports.

use std::fs;

use loadhook_profile::ThreadKind;
use loadhook_profile::format::pprof;
use serde_json::Value;

use crate::common::{done, loadhook, read};
use crate::{CASH, ORDER, json, methods, profiles, report, text};

#[test]
fn tables_sort_by_every_key() {
    let sorted = |sort: &str| {
        let json = json(&["a.pb.gz", "--sort", sort]);
        let rows = json["methods"]
            .as_array()
            .expect("the value is an array")
            .clone();
        let all = rows.len();
        assert_eq!(all, 6);
        let top = text(&["a.pb.gz", "--sort", sort, "--top", "2"]);
        assert!(top.contains("   4 more methods"), "{top}");
        rows
    };
    let number = |row: &Value, key: &str| row[key].as_u64().expect("the text is a number");
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
    // JSON rounds times to whole nanoseconds, so means may differ by one.
    assert!(means.is_sorted_by(|a, b| mean(a) + 1.0 >= mean(b)));
    let names = sorted("name");
    let name = |row: &Value| format!("{}.{}", row["class"].as_str().unwrap(), row["method"]);
    assert!(names.is_sorted_by_key(name));
    let wrong = report(&["a.pb.gz", "--sort", "cost"]);
    wrong.expect(
        2,
        "",
        &["expected one of self, total, calls, mean, p99, name"],
    );
}

#[test]
fn focus_takes_patterns() {
    let focused = |patterns: &str| methods(&json(&["a.pb.gz", "--focus", patterns]));
    let cash = focused(&format!("{CASH}::合計する(Lshop/Shop$Order;)*"));
    // The report has the method, its callees, and its callers up to the root, but no other callees of
    // these callers.
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
    let fault = "error: --focus: bad pattern: a profile has no annotations; give the names of classes or methods\n    @shop.Timed\n    ^\n";
    assert_eq!(annotation.expect(1, "", &[]).err, fault);
    let nothing = report(&["a.pb.gz", "--focus", "Order"]);
    assert_eq!(
        nothing.err,
        "warning: --focus matches no method that was called; classes are named as in com.example.Service, nested classes as in Map$Entry\n"
    );
    assert!(nothing.out.contains("No methods match these filters"));
}

#[test]
fn threads_are_chosen_by_name() {
    let night = json(&["a.pb.gz", "--thread", "night"]);
    assert_eq!(methods(&night)[&format!("{ORDER}.<init>")], 500);
    assert_eq!(night["threads"].as_array().map(Vec::len), Some(1));
    // This profile has a group that stands for several ended threads.
    let mut grouped = read(&profiles().path().join("a.pb.gz"));
    for thread in &mut grouped.threads {
        if &*thread.name == "night-shift" {
            (thread.name, thread.id, thread.kind) = ("night-#-#".into(), None, ThreadKind::Ended);
        }
    }
    let mut bytes = Vec::new();
    pprof::write(&grouped, &mut bytes).expect("writing to memory cannot fail");
    fs::write(profiles().path().join("grouped.pb.gz"), bytes)
        .expect("the test file can be written");
    let night = json(&["grouped.pb.gz", "--thread", "night-17-4"]);
    assert_eq!(methods(&night)[&format!("{ORDER}.<init>")], 500);
    assert_eq!(night["threads"][0]["name"], "night-#-#");

    for format in ["table", "html", "json"] {
        let nobody = report(&["a.pb.gz", "--thread", "day", "--format", format]);
        let said = "error: --thread day: no such thread. Threads: main, night-shift\n";
        assert_eq!(nobody.expect(1, "", &[]).err, said);
    }
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
            &["collapsed", "pprof", "speedscope", "chrome"],
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
            if refused.contains(&format) {
                let said = format!(
                    "error: {} has no effect on --format {format}; it works with table",
                    option[0]
                );
                result.expect(1, "", &[&said]);
                assert_eq!(result.err.lines().count(), 1, "{}", result.err);
            } else {
                assert_eq!((result.code, &*result.err), (Some(0), ""), "{arguments:?}")
            }
        }
    }
}

#[test]
fn options_need_their_formats_and_their_data() {
    for (option, said) in [
        (
            "--sort=self",
            "error: --sort has no effect on --format hprof; it works with table",
        ),
        (
            "--show=allocated",
            "error: --show has no effect on --format hprof; it works with table",
        ),
    ] {
        report(&["a.pb.gz", "--format", "hprof", option]).expect(1, "", &[said]);
    }
    report(&["a.pb.gz", "--waiting"]).expect(
        1,
        "",
        &["error: a.pb.gz: --waiting: this profile has no samples; run again with --timing sampled\n"],
    );
    report(&["a.pb.gz", "--waiting", "--format", "tree"]).expect(
        1,
        "",
        &["error: --waiting has no effect on --format tree; it works with table"],
    );
    report(&["a.pb.gz", "--latencies", "--format", "json"]).expect(
        1,
        "",
        &["error: --latencies has no effect on --format json; it works with table"],
    );
    report(&[
        "--diff", "a.pb.gz", "b.pb.gz", "--sort", "p99", "--format", "html",
    ])
    .expect(
        1,
        "",
        &["error: --sort p99: a page of differences has no such column; it works with --format table or json"],
    );
    report(&["--diff", "a.pb.gz", "b.pb.gz", "--explain"]).expect(
        1,
        "",
        &["--explain has no effect on --diff"],
    );
}

/// `--sort bytes` sorts allocations, which this profile does not have.
#[test]
fn orders_by_missing_values_are_refused() {
    let no_data = "this profile has no allocation data; run again with --alloc exact or sampled\n";
    for word in ["bytes", "objects"] {
        for format in ["table", "json", "html"] {
            let arguments = ["a.pb.gz", "--sort", word, "--format", format];
            let said = format!("error: --sort {word}: {no_data}");
            assert_eq!(report(&arguments).expect(1, "", &[]).err, said);
        }
        text(&["made.pb.gz", "--sort", word]);
    }
    report(&["--diff", "a.pb.gz", "b.pb.gz", "--sort", "bytes"]).expect(1, "", &[no_data]);
}

#[test]
fn trees_are_cut_to_their_heaviest_nodes() {
    let tree = |options: &[&str]| text(&[&["a.pb.gz", "--format", "tree"], options].concat());
    let all = tree(&["--top", "1000"]);
    let nodes = all.lines().count() - 1;
    assert!(nodes > 6, "{all}");
    let cut = tree(&["--top", "3"]);
    let said = format!("{} lighter nodes omitted (--top 3)", nodes - 3);
    assert_eq!(cut.lines().count(), 5, "{cut}");
    assert_eq!(cut.lines().last(), Some(&*said));
    // The roots of the tree have the greatest weight, so they are kept if the tree is cut.
    assert!(cut.contains("  shop.Shop.main"), "{cut}");

    let page = text(&["a.pb.gz", "--format", "html", "--top", "3"]);
    assert!(page.contains(&format!("\"leftOut\":{}", nodes - 3)));
}

/// If the terminal is too narrow, a tree drops the packages of class names, as tables do.
#[test]
fn trees_fit_the_terminal() {
    for columns in ["60", "80", "120"] {
        for options in [&["a.pb.gz"][..], &["counts.pb.gz"], &["made.pb.gz"]] {
            let arguments = [&["report", "--format", "tree"], options].concat();
            let mut command = loadhook(profiles().path(), &arguments);
            let result = done(command.env("COLUMNS", columns));
            assert_eq!((result.code, &*result.err), (Some(0), ""));
            // Chinese and Japanese characters are two columns wide.
            let width = |line: &str| line.chars().map(|c| 1 + usize::from(c > '\u{2fff}')).sum();
            let is_row = |line: &&str| !line.contains("omitted (--top N");
            let rows = result.out.lines().take_while(is_row);
            let widest: usize = rows.map(width).max().unwrap_or(0);
            let columns = columns.parse().expect("the text is a number");
            assert!(
                widest <= columns,
                "lines of at most {columns} columns expected, one has {widest}: {}",
                result.out
            );
        }
    }
}
