//! Tests of `loadhook report`: every format and option, on profiles that real JVMs wrote.

mod allocations;
mod choices;
#[path = "../common/mod.rs"]
mod common;
mod formats;

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

use common::{Done, calls, done, folder, loadhook, mode, read, run};
use loadhook_profile::format::pprof;
use serde_json::Value;
use tempfile::TempDir;

const ORDER: &str = "shop.Shop$Order";

const CASH: &str = "shop.Shop$注文管理システムの会計処理";

/// Makes a folder of profiles, once. `a.pb.gz` (1,500 orders) and `b.pb.gz` (10 orders) have exact timing,
/// `counts.pb.gz` has only calls. Only allocations are in `made.pb.gz` (1,500 orders),
/// `fewer.pb.gz` (10 orders), `sampled.pb.gz` and `live.pb.gz`.
fn profiles() -> &'static TempDir {
    static PROFILES: OnceLock<TempDir> = OnceLock::new();
    PROFILES.get_or_init(|| {
        let folder = folder();
        let excluding = ["--exclude", "shop.Gone"];
        let alone = "--timing=none";
        for (file, options, program) in [
            ("a.pb.gz", &["--latencies", "--explain"][..], &["serve"][..]),
            ("b.pb.gz", &["--timing=exact"], &["exit", "0"]),
            ("counts.pb.gz", &["--timing=count"], &["serve"]),
            ("made.pb.gz", &["--alloc=exact", alone], &["serve"]),
            ("fewer.pb.gz", &["--alloc=exact", alone], &["exit", "0"]),
            ("sampled.pb.gz", &["--alloc=sampled=4k", alone], &["serve"]),
            ("live.pb.gz", &["--alloc=live=4k", alone], &["serve"]),
        ] {
            let is_rewritten = !file.starts_with(['s', 'l']);
            let excluding = if is_rewritten { &excluding[..] } else { &[] };
            let options = [&["-o", file], options, excluding].concat();
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

/// Runs a report that must cause no warning, and returns its standard output.
#[track_caller]
fn text(arguments: &[&str]) -> String {
    let result = report(arguments);
    assert_eq!((result.code, &*result.err), (Some(0), ""), "{arguments:?}");
    result.out
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let text = text(&[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&text).expect("the text is JSON")
}

/// Returns the number of calls of each method; overloads are summed up.
fn methods(json: &Value) -> BTreeMap<String, u64> {
    let mut methods = BTreeMap::new();
    for method in json["methods"].as_array().expect("the value is an array") {
        let [class, name] =
            ["class", "method"].map(|key| method[key].as_str().expect("the field is a text"));
        let calls = method["calls"].as_u64().expect("the text is a number");
        *methods.entry(format!("{class}.{name}")).or_default() += calls;
    }
    methods
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
        &["one profile only counts calls, another times them; profile both with the same --timing"],
    );
    report(&["a.pb.gz", "b.pb.gz"]).expect(
        1,
        "",
        &["error: several profiles: add --merge to sum them, or --diff to compare them\n"],
    );
}

#[test]
fn profiles_are_compared() {
    let lines = |arguments: &[&str]| {
        let text = text(&[&["--diff"], arguments].concat());
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let title = |lines: &[String]| {
        let is_title = |line: &&String| line.ends_with("  method");
        lines
            .iter()
            .find(is_title)
            .expect("the report has a table")
            .clone()
    };
    // The counts of calls are exact, so their column comes first.
    let table = lines(&["a.pb.gz", "b.pb.gz"]);
    assert!(title(&table).trim_start().starts_with("calls before"));
    let order = |table: &[String]| {
        let name = format!("{ORDER}.<init>");
        let row = table.iter().find(|line| line.ends_with(&name));
        row.expect("the method was called").clone()
    };
    assert!(order(&table).contains(" -1,490  -99.3 "), "{table:#?}");
    let told = "One run of each side cannot tell noise from change. ";
    assert!(
        table.iter().any(|line| line.starts_with(told)),
        "{table:#?}"
    );
    let one = lines(&["a.pb.gz", "b.pb.gz", "--sort", "calls", "--top", "1"]);
    let at = one
        .iter()
        .position(|line| *line == title(&one))
        .expect("the profile can be read");
    assert!(
        one[at + 1].contains(" 1,500 ") && one[at + 2].ends_with(" more methods"),
        "{one:#?}"
    );
    for sort in ["self", "total", "mean"] {
        let table = lines(&["a.pb.gz", "b.pb.gz", "--sort", sort]);
        assert!(title(&table).contains(&format!(" {sort}, ")), "{table:#?}");
    }
    let counted = lines(&["counts.pb.gz", "counts.pb.gz"]);
    assert!(!title(&counted).contains("self"), "{counted:#?}");

    let json = json(&["--diff", "a.pb.gz", "b.pb.gz"]);
    assert_eq!(
        (&json["version"], &json["compared"]),
        (&3.into(), &"calls".into())
    );
    assert_eq!(json["before"][0]["command"], "shop.Shop serve");
    assert_eq!(json["after"][0]["command"], "shop.Shop exit 0");
    let method = &json["methods"][0];
    assert_eq!(
        (&method["before"][0]["calls"], &method["after"][0]["calls"]),
        (&1500.into(), &10.into())
    );
    for key in ["self_ns", "total_ns", "self_error_ns", "total_error_ns"] {
        assert!(method["before"][0][key].is_u64(), "{key}: {method}");
    }

    let said = "--diff compares two profiles, or several of each side with -- between them";
    report(&["--diff", "a.pb.gz"]).expect(1, "", &[said]);
    report(&["--diff", "a.pb.gz", "a.pb.gz", "b.pb.gz"]).expect(1, "", &[said]);
    let tree = report(&["--diff", "a.pb.gz", "b.pb.gz", "--format", "tree"]);
    tree.expect(
        1,
        "",
        &["--diff works only with --format table, json or html"],
    );
}

#[test]
fn several_runs_of_two_sides_are_compared() {
    let [a, b] = ["a.pb.gz", "b.pb.gz"].map(|file| [file; 4]);
    let sides = [&["--diff"][..], &a, &["--"], &b].concat();
    let table = text(&[&sides[..1], &["--sort", "calls"], &sides[1..]].concat());
    assert!(
        table.starts_with("before 4 runs · after 4 runs · "),
        "{table}"
    );
    assert!(table.contains("\nchanged:\n"), "{table}");
    assert_eq!(
        text(&["--diff", "a.pb.gz", "--", "b.pb.gz"]),
        text(&["--diff", "a.pb.gz", "b.pb.gz"])
    );
    let options = ["--format", "json"];
    let written = text(&[&options[..], &sides].concat());
    let json: Value = serde_json::from_str(&written).expect("the text is JSON");
    assert_eq!(json["compared"], "self");
    assert_eq!(json["after"].as_array().map(Vec::len), Some(4));
    let late = report(&["--diff", "a.pb.gz", "--", "b.pb.gz", "--top", "1"]);
    late.expect(
        1,
        "",
        &["--top: give options before the --; only profiles can follow it"],
    );
    let without = report(&["a.pb.gz", "--", "b.pb.gz"]);
    without.expect(
        1,
        "",
        &["add --merge to sum them, or --diff to compare them"],
    );
}

/// The page of a comparison shows the later profile, coloured by its difference from the earlier
/// one.
#[test]
fn differences_have_a_page() {
    let page = text(&["--diff", "a.pb.gz", "b.pb.gz", "--format", "html"]);
    let script = "const order = methods.name.findIndex((name) => name.includes('Shop$Order.<init>')); \
        const { now, before } = rowOf(order); \
        return [text('command'), before.calls, now.calls, difference.runs].join(' ');";
    let script = format!("const text = (id) => document.getElementById(id).textContent; {script}");
    let told = loadhook_testkit::browser::run(&page, &script);
    assert_eq!(told, "shop.Shop exit 0 1500 10 1,1");
}

/// If a program was killed, its profile is the last snapshot, which covers only a part of the run.
#[test]
fn profiles_of_unfinished_runs_cause_a_warning() {
    let mut part = read(&profiles().path().join("a.pb.gz"));
    let note = "the program was still running when this profile was written";
    part.header.not_ended = true;
    let mut bytes = Vec::new();
    pprof::write(&part, &mut bytes).expect("writing to memory cannot fail");
    fs::write(profiles().path().join("part.pb.gz"), bytes).expect("the test file can be written");
    assert!(text(&["part.pb.gz"]).contains(&format!("\n{note}\n")));
    let compared = report(&["--diff", "part.pb.gz", "a.pb.gz"]);
    assert_eq!(compared.err, format!("warning: part.pb.gz: {note}\n"));
}

#[test]
fn reports_go_to_files() {
    let place = profiles().path();
    let file = place.join("new folder/x.json");
    let name = "new folder/x.json";
    for format in ["html", "json"] {
        report(&["a.pb.gz", "--format", format, "-o", name]).expect(0, "", &[]);
    }
    let text = fs::read_to_string(&file).expect("the file was written");
    serde_json::from_str::<Value>(&text).expect("the text is JSON");
    assert_eq!(mode(&file), 0o600);
    assert_eq!(
        fs::read_dir(place.join("new folder"))
            .expect("the test folder can be listed")
            .count(),
        1
    );
    report(&["a.pb.gz", "-o", "new folder"]).expect(1, "", &["error: new folder: "]);
}

#[test]
fn files_that_are_no_profiles_are_refused() {
    let place = profiles().path();
    let whole = fs::read(place.join("a.pb.gz")).expect("the file was written");
    fs::write(place.join("cut.gz"), &whole[..whole.len() / 2])
        .expect("the test file can be written");
    let mut damaged = whole.clone();
    // This damage gives the first compressed block an invalid type.
    damaged[10] |= 0b110;
    fs::write(place.join("damaged.gz"), damaged).expect("the test file can be written");
    for report in ["report.json", "report.html"] {
        let (_, format) = report.split_once('.').expect("the name has a suffix");
        text(&["a.pb.gz", "--format", format, "-o", report]);
    }
    fs::write(place.join("text"), "no profile\n").expect("the test file can be written");
    fs::write(place.join("empty"), "").expect("the test file can be written");
    for (file, said) in [
        ("none", "error: none: no such file in /"),
        (".", "error: .: this is a folder; give a profile in it\n"),
        (
            "cut.gz",
            "error: cut.gz: the file is cut off (its gzip data is not complete); copy it again, or profile again\n",
        ),
        (
            "damaged.gz",
            "error: damaged.gz: damaged gzip data; copy the file again, or profile again: ",
        ),
        (
            "text",
            "error: text: not a profile; loadhook report reads the .pb.gz files that loadhook run writes\n",
        ),
        (
            "empty",
            "error: empty: the file is empty; wait until the JVM has ended, or profile again\n",
        ),
        (
            "report.json",
            "error: report.json: JSON, not a profile; give the .pb.gz file that it was made from\n",
        ),
        (
            "report.html",
            "error: report.html: a page, not a profile; give the .pb.gz file that it was made from\n",
        ),
    ] {
        report(&[file]).expect(1, "", &[said]);
    }
    report(&["a.pb.gz", "--format", "pdf"]).expect(
        2,
        "",
        &["expected one of table, tree, collapsed"],
    );
    report(&[]).expect(2, "", &["<FILES>"]);
}

/// The report must not replace its profile, under whatever name or link the output is given.
#[test]
fn a_profile_is_not_replaced_by_its_report() {
    let place = folder();
    let path = |name: &str| place.path().join(name);
    let [a, b] = ["a.pb.gz", "b.pb.gz"].map(|name| {
        fs::copy(profiles().path().join(name), path(name)).expect("the test file can be copied");
        fs::read(path(name)).expect("the file was written")
    });
    std::os::unix::fs::symlink("b.pb.gz", path("link")).expect("the symbolic link can be created");
    fs::hard_link(path("a.pb.gz"), path("hard")).expect("the hard link can be created");
    let report = |arguments: &[&str]| {
        done(&mut loadhook(
            place.path(),
            &[&["report"], arguments].concat(),
        ))
    };
    for (arguments, output) in [
        (&["a.pb.gz"][..], "a.pb.gz"),
        (&["a.pb.gz"], "./hard"),
        (&["a.pb.gz", "--format", "html"], "a.pb.gz"),
        (
            &["--merge", "a.pb.gz", "b.pb.gz", "--format", "json"],
            "link",
        ),
        (&["--diff", "a.pb.gz", "link"], "b.pb.gz"),
    ] {
        let result = report(&[arguments, &["-o", output]].concat());
        let said = format!(
            "error: {output}: the report would replace the profile that it is made from; give -o another name\n"
        );
        assert_eq!(result.expect(1, "", &[]).err, said);
        assert!(
            fs::read(path("a.pb.gz")).expect("the profile can be read") == a,
            "{arguments:?}"
        );
        assert!(
            fs::read(path("b.pb.gz")).expect("the profile can be read") == b,
            "{arguments:?}"
        );
    }
    // A merged profile may replace one of its inputs, because it also has the calls of this input.
    let merge = [
        "--merge", "a.pb.gz", "b.pb.gz", "--format", "pprof", "-o", "a.pb.gz",
    ];
    report(&merge).expect(0, "", &[]);
    assert_eq!(calls(&read(&path("a.pb.gz")), ORDER, "<init>"), 1510);
}
