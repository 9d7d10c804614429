//! Tests of allocations in reports: comparing and merging them, and combinations of options that
//! are refused.

use serde_json::Value;

use crate::{ORDER, json, profiles, report, text};

#[test]
fn allocations_are_compared() {
    let table = text(&["--diff", "made.pb.gz", "fewer.pb.gz"]);
    let orders = table.lines().find(|line| line.contains(" Shop$Order "));
    assert!(orders.is_some_and(|line| line.contains("-1,")), "{table}");
    let compared = json(&["--diff", "made.pb.gz", "fewer.pb.gz"]);
    assert_eq!(compared["measure"], "allocated");
    let sites = compared["sites"].as_array().expect("the value is an array");
    let objects = |type_name: &str, when: &str| -> u64 {
        let of = sites.iter().filter(|site| site["type"] == type_name);
        of.map(|site| {
            site[when][0]["objects"]
                .as_u64()
                .expect("the text is a number")
        })
        .sum()
    };
    for type_name in [ORDER, "int[]"] {
        let both = ["before", "after"].map(|when| objects(type_name, when));
        assert_eq!(both, [1500, 10], "{type_name}");
    }
    let arrays = sites.iter().find(|site| site["type"] == "int[]");
    let arrays = arrays.expect("a constructor allocates the arrays");
    let place = (&arrays["class"], &arrays["method"], &arrays["line"]);
    assert_eq!(place, (&ORDER.into(), &"<init>".into(), &17.into()));
    assert_eq!(arrays["before"][0]["bytes_error"], Value::Null);

    let alive = json(&["--diff", "live.pb.gz", "live.pb.gz"]);
    assert_eq!(alive["measure"], "live");
    let shown = [
        "--diff",
        "live.pb.gz",
        "sampled.pb.gz",
        "--show",
        "allocated",
    ];
    let default = json(&shown[..3]);
    assert_eq!(default["measure"], "allocated");
    assert_eq!(json(&shown), default);
    assert!(default["sites"][0]["before"][0]["bytes_error"].is_u64());
    assert_eq!(json(&["--diff", "a.pb.gz", "b.pb.gz"])["measure"], "time");
}

#[test]
fn measures_that_one_profile_lacks_are_not_compared() {
    for (arguments, said) in [
        (
            &["live.pb.gz", "sampled.pb.gz", "--show=live"][..],
            "error: sampled.pb.gz: --show live: this profile does not say which objects are still alive; run again with --alloc live\n",
        ),
        (
            &["made.pb.gz", "fewer.pb.gz", "--show=time"],
            "error: made.pb.gz: --show time: this profile has no calls; run again with --timing sampled\n",
        ),
        (
            &["live.pb.gz", "a.pb.gz"],
            "error: nothing to compare: live.pb.gz has allocations only, a.pb.gz has times only; profile both with the same --timing and --alloc\n",
        ),
        (
            &["made.pb.gz", "sampled.pb.gz"],
            "error: the profiles are of different allocations: ",
        ),
    ] {
        report(&[&["--diff"], arguments].concat()).expect(1, "", &[said]);
    }
}

#[test]
fn allocations_sort_by_their_own_columns() {
    let sites = |arguments: &[&str]| {
        let json = json(&[&["made.pb.gz"], arguments].concat());
        json["allocations"]["sites"]
            .as_array()
            .expect("the value is an array")
            .clone()
    };
    let amounts = |arguments: &[&str], key: &str| -> Vec<u64> {
        let sites = sites(arguments);
        let amounts = sites.iter().map(|site| site["allocated"][key].as_u64());
        amounts
            .map(|amount| amount.expect("the text is a number"))
            .collect()
    };
    let falls = |values: &[u64]| values.is_sorted_by(|a, b| a >= b);
    assert!(falls(&amounts(&[], "bytes")));
    for word in ["calls", "objects"] {
        assert!(falls(&amounts(&["--sort", word], "objects")), "{word}");
    }
    let places = |sort: &[&str]| -> Vec<String> {
        let table = text(&[&["made.pb.gz"], sort].concat());
        let rows = table.lines().skip_while(|line| !line.ends_with("place"));
        let rows = rows.skip(1).take_while(|line| !line.is_empty());
        rows.filter_map(|row| row.split_whitespace().last().map(str::to_owned))
            .collect()
    };
    let named = places(&["--sort=name"]);
    assert!(named.len() > 3 && named.is_sorted(), "{named:?}");
    assert_ne!(places(&[]), named);
    assert_eq!(places(&["--sort=bytes"]), places(&[]));
    for sort in ["total", "mean"] {
        let said = format!(
            "error: --sort {sort}: allocations can be sorted by bytes, objects or name, locks by calls\n"
        );
        for arguments in [
            &["made.pb.gz"][..],
            &["made.pb.gz", "--format=json"],
            &["--diff", "made.pb.gz", "fewer.pb.gz"],
        ] {
            report(&[arguments, &["--sort", sort]].concat()).expect(1, "", &[&said]);
        }
        text(&["made.pb.gz", "--format=html", "--sort", sort]);
    }
}

/// The JSON says how allocations were recorded: all of some classes (`exact`), all of every class,
/// or samples.
#[test]
fn json_names_the_mode() {
    for (file, mode) in [("made", "exact"), ("sampled", "sampled"), ("live", "live")] {
        let json = json(&[&format!("{file}.pb.gz")]);
        assert_eq!(json["allocations"]["mode"], mode);
    }
}

/// Events of the trace format have only times. Bytes could be shown only as seconds, so they are
/// refused.
#[test]
fn bytes_are_no_times() {
    for arguments in [
        &["made.pb.gz"][..],
        &["live.pb.gz", "--show=live"],
        &["made.pb.gz", "--show=allocated"],
    ] {
        let chrome = report(&[arguments, &["--format=chrome", "-o", "chrome.json"]].concat());
        let said = "error: --format chrome: trace events have times of calls only; use --format speedscope or html for allocations and locks";
        chrome.expect(1, "", &[said]);
        assert!(!profiles().path().join("chrome.json").exists());
        let other = text(&[arguments, &["--format=speedscope"]].concat());
        assert!(other.contains("\"bytes\""));
    }
}
