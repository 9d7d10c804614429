//! Tests of methods that lost probes while the program ran, and whose calls or times were measured. From some moment on
//! one method is only counted, and another one not even counted.

#[path = "../common/mod.rs"]
mod common;
mod differences;

use common::{MS, node};
use loadhook_profile::format::{Format, Options, difference_page, pprof};
use loadhook_profile::{Method, MethodCalls, Profile, Timing, merge, since};
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

const LOST: &str = "‡ lost its timing probes while the program ran, the first method after 500 ms: later calls are \
    counted but not timed, and their time is in their callers' self time";

const WITHOUT_LATER: &str = "≥ before ‡: without the calls that are only counted, because these are counted for all \
    threads and callers together";

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
    assert!(told.contains(LOST), "{table}");
    assert!(!told.contains(WITHOUT_LATER), "{table}");
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
        " ≥‡1,000  ├ X.counted (not timed after 500 ms, only counted)\n",
        "  ≥7,000  └ X.ended (not timed after 300 ms, not counted after 900 ms)\n",
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
    // A terminal of 80 columns has no room for the moments behind names.
    let mut long = profile();
    for method in &mut long.methods {
        method.class = "com.example.orders.Pricing".into();
    }
    let tree = common::text(Format::Tree, &long, &narrow());
    for (method, expected) in [
        (".counted", "30.0 % ≥600.00 ≥600.00 ≥‡1,000 ├ "),
        (".ended", "20.0 % ≥400.00 ≥400.00 ≥7,000 └ "),
    ] {
        assert!(line(&tree, method).starts_with(expected), "{tree}");
    }
    for legend in [LOST, WITHOUT_LATER, ENDED] {
        assert!(words(&tree).contains(legend), "{tree}");
    }
    let unmarked = common::text(Format::Tree, &unlimited(), &narrow());
    assert!(
        !unmarked.contains('≥') && !unmarked.contains('‡'),
        "{unmarked}"
    );
}

/// A thread has only the calls that were timed, and so have methods that the focus only passes through.
#[test]
fn calls_without_those_that_were_only_counted_are_marked() {
    let is_main = |name: &str| name == "main";
    let of_thread = Options {
        thread: Some(&is_main),
        ..narrow()
    };
    let is_ended = |method: &Method| &*method.name == "ended";
    let of_caller = |method: &Method| &*method.name == "main";
    let table = common::text(Format::Table, &profile(), &of_thread);
    assert!(table.contains(" · ≥8,001 calls in 1 thread"), "{table}");
    assert!(
        line(&table, "X.counted").contains(" ≥600.00 ≥‡1,000 600 µs "),
        "{table}"
    );
    assert!(
        line(&table, "X.ended").contains(" ≥400.00 ≥7,000 57.1 µs "),
        "{table}"
    );
    for legend in [LOST, WITHOUT_LATER, ENDED] {
        assert!(words(&table).contains(legend), "{table}");
    }
    let table = common::text(
        Format::Table,
        &profile(),
        &Options {
            focus: Some(&of_caller),
            ..narrow()
        },
    );
    assert!(line(&table, "X.counted").contains(" ≥‡1,000 "), "{table}");
    assert!(words(&table).contains(WITHOUT_LATER), "{table}");
    let table = common::text(
        Format::Table,
        &profile(),
        &Options {
            focus: Some(&is_ended),
            ..narrow()
        },
    );
    assert!(line(&table, "X.ended").contains(" ≥87,000 "), "{table}");
    assert!(!words(&table).contains(WITHOUT_LATER), "{table}");
}

/// A constructor whose superclass has lost its timing probes gets none when its class is instrumented later.
#[test]
fn methods_that_never_had_timing_probes_did_not_lose_them() {
    let mut never = profile();
    never.method_calls[0].since_ns = Some(0);
    let tree = common::text(Format::Tree, &never, &wide());
    let told = " X.counted (not timed in this profile, only counted)\n";
    assert!(tree.contains(told), "{tree}");
    let told = "‡ had no timing probes in this profile: calls are counted but not timed, ";
    assert!(words(&tree).contains(told), "{tree}");
    never.method_calls[1].until_ns = None;
    let table = words(&common::text(Format::Table, &never, &wide()));
    let told =
        "the first method after 300 ms, or had none in this profile: other calls are counted";
    assert!(table.contains(told), "{table}");
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
    let told = " X.ended (not timed in this profile, not counted after 500 ms)\n";
    assert!(tree.contains(told), "{tree}");
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
