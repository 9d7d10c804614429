//! Tests of every text format, on a small profile and on a generated one.
//!
//! `INSTA_UPDATE=always cargo test -p loadhook-profile` accepts changed output; look at the diff of
//! `snapshots/`.

mod common;

use common::{counted, large, node, pair, paused, small, text, tree_of};
use loadhook_profile::analysis::diff::methods::compare;
use loadhook_profile::format::diff::methods::write;
use loadhook_profile::format::{Format, Options, Sort, pprof};
use loadhook_profile::{Header, Method, NOT_ENDED, Node, Profile};

#[test]
fn table() {
    insta::assert_snapshot!(text(Format::Table, &small(), &Options::default()));
}

#[test]
fn table_of_a_narrow_terminal() {
    let options = Options {
        width: 80,
        top: Some(4),
        sort: Sort::Calls,
        ..Options::default()
    };
    insta::assert_snapshot!(text(Format::Table, &small(), &options));
}

/// Pauses of the garbage collector come below the table of methods.
#[test]
fn table_of_pauses() {
    let shown = |width| {
        let options = Options {
            width,
            ..Options::default()
        };
        let table = text(Format::Table, &paused(), &options);
        let begin = table.find("5 pauses").expect("the table has pauses");
        table[begin..].to_owned()
    };
    insta::assert_snapshot!(format!("{}\n{}", shown(100), shown(60)));
    let json = text(Format::Json, &paused(), &Options::default());
    let json: serde_json::Value = serde_json::from_str(&json).expect("the text is JSON");
    let gc = &json["gc"];
    assert_eq!([&gc["pauses"], &gc["longest_ns"]], [5, 40_000_000]);
    assert_eq!(gc["causes"][0]["cause"], "System.gc()");
}

#[test]
fn table_of_counts() {
    insta::assert_snapshot!(text(Format::Table, &counted(), &Options::default()));
}

#[test]
fn table_of_a_generated_profile() {
    let options = Options {
        top: Some(12),
        ..Options::default()
    };
    insta::assert_snapshot!(text(Format::Table, &large(2_000), &options));
}

#[test]
fn table_of_nothing() {
    insta::assert_snapshot!(text(
        Format::Table,
        &Profile::default(),
        &Options::default()
    ));
}

#[test]
fn tree() {
    insta::assert_snapshot!(text(Format::Tree, &small(), &Options::default()));
}

#[test]
fn tree_of_counts() {
    insta::assert_snapshot!(text(Format::Tree, &counted(), &Options::default()));
}

#[test]
fn tree_of_a_generated_profile() {
    let options = Options {
        min_percent: 4.0,
        ..Options::default()
    };
    insta::assert_snapshot!(text(Format::Tree, &large(2_000), &options));
}

/// Times that are mostly error are listed below all others, grey on a terminal. A line says how to
/// reduce the error.
#[test]
fn values_that_are_mostly_error_are_ranked_last() {
    let uncertain = Node {
        timed: 10_000,
        variance: 4e16,
        ..node(Some(0), 1, 1_000_000, [250_000_000, 250_000_000, 0])
    };
    let profile = tree_of(
        &["main", "noisy", "sure"],
        vec![
            node(None, 0, 1, [2_000_000_000, 2_000_000_000, 450_000_000]),
            uncertain,
            node(Some(0), 2, 10, [200_000_000, 200_000_000, 0]),
        ],
    );
    let plain = text(Format::Table, &profile, &Options::default());
    let at = |name: &str| plain.find(name).expect("the table has the method");
    assert!(at("X.sure") < at("X.noisy"), "{plain}");
    assert!(!plain.contains('\x1b'), "{plain}");
    assert!(plain.contains("--timing exact --include"), "{plain}");
    let order = "ordered by self time minus two standard errors";
    assert!(plain.contains(order), "{plain}");
    let by_total = Options {
        sort: Sort::Total,
        ..Options::default()
    };
    assert!(!text(Format::Table, &profile, &by_total).contains(order));
    let options = Options {
        grey: true,
        ..Options::default()
    };
    let grey = text(Format::Table, &profile, &options);
    let lines: Vec<&str> = grey.lines().filter(|line| line.contains('\x1b')).collect();
    let [line] = lines[..] else {
        panic!("{grey}");
    };
    assert!(
        line.starts_with("\x1b[2m") && line.ends_with("X.noisy\x1b[0m"),
        "{line:?}"
    );
}

/// b has almost no time of its own, but almost all time is spent in calls that b makes through a.
#[test]
fn branches_with_heavy_totals_are_shown() {
    let profile = tree_of(
        &["a", "b", "c"],
        vec![
            node(None, 0, 1_000, [900_000_000, 1_000_000, 899_001_000]),
            node(Some(0), 1, 999, [899_000_000, 999_000, 898_999_001]),
            node(Some(0), 2, 1, [1_000, 1_000, 0]),
        ],
    );
    let tree = text(Format::Tree, &profile, &Options::default());
    let line = |name: &str| tree.lines().find(|line| line.ends_with(name));
    let b = line("X.b").expect("the tree shows the method");
    assert!(b.trim_start().starts_with("99.8 %"), "{tree}");
    assert_eq!(line("X.c"), None, "{tree}");
    assert!(
        tree.ends_with("1 node below 0.5 % omitted (--top N shows the N heaviest)\n"),
        "{tree}"
    );
    let options = Options {
        top: Some(0),
        ..Options::default()
    };
    assert_eq!(
        text(Format::Tree, &profile, &options),
        "3 lighter nodes omitted (--top 0)\n"
    );
}

#[test]
fn focus_keeps_the_path_to_a_method() {
    let sum = |method: &Method| &*method.class == "com.example.shop.price.Sum";
    let options = Options {
        focus: Some(&sum),
        ..Options::default()
    };
    let tree = text(Format::Tree, &small(), &options);
    let table = text(Format::Table, &small(), &options);
    insta::assert_snapshot!(format!("{tree}\n{table}"));
}

#[test]
fn one_thread() {
    let main = |name: &str| name == "main";
    let options = Options {
        thread: Some(&main),
        ..Options::default()
    };
    insta::assert_snapshot!(text(Format::Collapsed, &small(), &options));
}

#[test]
fn collapsed() {
    insta::assert_snapshot!(text(Format::Collapsed, &small(), &Options::default()));
}

#[test]
fn json() {
    let json = text(Format::Json, &small(), &Options::default());
    let value: serde_json::Value = serde_json::from_str(&json).expect("the text is JSON");
    insta::assert_snapshot!(format!("{value:#}"));
}

/// If the program was still running when the profile was written, every format shows a note. A header without the
/// field is read as the header of a program that had ended.
#[test]
fn a_program_that_still_runs_has_a_note() {
    let mut profile = small();
    profile.header.not_ended = true;
    for format in [Format::Table, Format::Tree, Format::Html] {
        let text = text(format, &profile, &Options::default());
        assert_eq!(text.matches(NOT_ENDED).count(), 1, "{format:?}: {text}");
    }
    let json = text(Format::Json, &profile, &Options::default());
    let json: serde_json::Value = serde_json::from_str(&json).expect("the text is JSON");
    assert_eq!(json["header"]["not_ended"], true);
    let mut file = Vec::new();
    pprof::write(&profile, &mut file).expect("writing to memory cannot fail");
    assert_eq!(
        pprof::read(&file).expect("the profile can be read").header,
        profile.header
    );
    let mut header = json["header"].clone();
    let fields = header.as_object_mut().expect("the header is a JSON object");
    fields.remove("not_ended");
    let old: Header = serde_json::from_value(header).expect("the JSON is a header");
    assert_eq!(old, small().header);
}

/// Names of methods and the command line are not trusted: they may contain escape sequences of a
/// terminal.
#[test]
fn no_text_contains_escape_sequences() {
    let mut profile = small();
    profile.header.command = "java Main \u{1b}[2J\nself, ms".to_owned();
    profile.header.notes = vec!["a note\r\u{9b}2J".to_owned()];
    profile.header.unmatched = vec!["com\u{7}.**".to_owned()];
    profile.header.left_alone = [("rea\u{8}son".to_owned(), 1)].into();
    for method in &mut profile.methods {
        method.name = format!("{}\u{1b}[31m\nx\t", method.name).into();
        method.class = format!("{}\u{1b}]0;title\u{7}", method.class).into();
        method.loader = format!("{}\u{1b}c", method.loader).into();
    }
    let changes = compare(pair(&profile, &profile), &Options::default())
        .expect("the profiles have the same clock");
    let mut differences = Vec::new();
    write(&changes, &Options::default(), &mut differences).expect("writing to memory cannot fail");
    let mut texts = vec![String::from_utf8(differences).expect("the text is UTF-8")];
    for format in [Format::Table, Format::Tree, Format::Collapsed] {
        let lines = text(format, &small(), &Options::default()).lines().count();
        let text = text(format, &profile, &Options::default());
        assert_eq!(text.lines().count(), lines, "{text}");
        texts.push(text);
    }
    for text in texts {
        let control = text.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(control, None, "{text:?}");
        assert!(text.contains(r"\u{1b}"), "{text}");
    }
}

#[test]
fn speedscope() {
    let json = text(Format::Speedscope, &small(), &Options::default());
    let value: serde_json::Value = serde_json::from_str(&json).expect("the text is JSON");
    insta::assert_snapshot!(format!("{value:#}"));
}

#[test]
fn chrome() {
    let json = text(Format::Chrome, &small(), &Options::default());
    let _: serde_json::Value = serde_json::from_str(&json).expect("the text is JSON");
    insta::assert_snapshot!(json);
}

#[test]
fn differences() {
    let before = small();
    let mut after = small();
    // Differences of the later profile: method ids, one faster method, one that is gone, and one
    // that is new.
    after.methods.reverse();
    let last = after.methods.len() as u32 - 1;
    for node in after
        .threads
        .iter_mut()
        .flat_map(|thread| &mut thread.nodes)
    {
        node.method = last - node.method;
    }
    after.methods[(last - 10) as usize].name = "renamed".into();
    let nodes = &mut after.threads[0].nodes;
    for at in [0, 1] {
        nodes[at].all_ns -= 80 * common::MS;
        nodes[at].outermost_ns -= 80 * common::MS;
    }
    nodes[0].child_ns -= 80 * common::MS;
    nodes[1].child_ns -= 80 * common::MS;
    nodes[7].all_ns -= 80 * common::MS;
    nodes[7].outermost_ns -= 80 * common::MS;
    nodes[7].calls = 400;
    nodes[7].timed = 400;
    nodes[3].all_ns += 40 * common::MS;
    nodes[2].child_ns += 40 * common::MS;
    let calls_first = Options {
        sort: Sort::Calls,
        width: 110,
        ..Options::default()
    };
    let compared = |options: &Options<'_>| {
        let changes =
            compare(pair(&before, &after), options).expect("the profiles have the same clock");
        let mut out = Vec::new();
        write(&changes, options, &mut out).expect("writing to memory cannot fail");
        String::from_utf8(out).expect("the text is UTF-8")
    };
    insta::assert_snapshot!(compared(&calls_first));
    let by_time = Options {
        sort: Sort::SelfTime,
        ..calls_first
    };
    insta::assert_snapshot!(compared(&by_time));

    let counted = compare(pair(&before, &counted()), &Options::default());
    assert_eq!(counted, Err(loadhook_profile::MergeError::Timings));
}

#[test]
fn words_name_formats_and_orders() {
    for format in Format::ALL {
        assert_eq!(format.as_str().parse(), Ok(format));
    }
    for sort in Sort::ALL {
        assert_eq!(sort.as_str().parse(), Ok(sort));
    }
    let error = "xml"
        .parse::<Format>()
        .expect_err("the word names no format");
    insta::assert_snapshot!(error, @"unknown word `xml`; expected one of table, tree, collapsed, pprof, json, html, speedscope, chrome, hprof");
}

#[test]
fn graphs_of_a_generated_profile_are_complete() {
    let profile = large(5_000);
    let all = profile.threads[0]
        .nodes
        .iter()
        .filter(|node| node.parent.is_none());
    let all = all.map(|node| node.all_ns).sum::<u64>() as f64;
    let near = |sum: f64| assert!((sum - all).abs() <= 5_000.0, "{sum} {all}");

    let folded = text(Format::Collapsed, &profile, &Options::default());
    let weights = folded.lines().filter_map(|line| line.rsplit(' ').next());
    near(
        weights
            .map(|weight| weight.parse::<f64>().expect("the text is a number"))
            .sum(),
    );

    let speedscope = text(Format::Speedscope, &profile, &Options::default());
    let speedscope: serde_json::Value =
        serde_json::from_str(&speedscope).expect("the text is JSON");
    let events = speedscope["profiles"][0]["events"]
        .as_array()
        .expect("the value is an array");
    let mut open = Vec::new();
    let mut now = 0.0;
    for event in events {
        let at = event["at"].as_f64().expect("the text is a number");
        assert!(at >= now, "an event is earlier than the one before it");
        now = at;
        match event["type"].as_str() {
            Some("O") => open.push(&event["frame"]),
            _ => assert_eq!(
                open.pop(),
                Some(&event["frame"]),
                "the frame that was opened last must be closed first"
            ),
        }
    }
    assert!(open.is_empty());
    near(now);
    assert!(speedscope["profiles"][0]["endValue"].as_f64() >= Some(now));

    let chrome = text(Format::Chrome, &profile, &Options::default());
    let chrome: serde_json::Value = serde_json::from_str(&chrome).expect("the text is JSON");
    let events = chrome["traceEvents"]
        .as_array()
        .expect("the value is an array");
    assert_eq!(events.len(), 2 + profile.threads[0].nodes.len());
    let ends = events
        .iter()
        .filter_map(|event| Some(event["ts"].as_f64()? + event["dur"].as_f64()?));
    near(1e3 * ends.fold(0.0, f64::max));
}

/// Events do not overlap, not even by a nanosecond, and are written in the order of their times.
#[test]
fn chrome_events_nest() {
    let mut profile = large(5_000);
    // With this cost of a probe, corrected times are fractions of nanoseconds.
    profile.header.probe.inside_ps = 7;
    let chrome = text(Format::Chrome, &profile, &Options::default());
    let chrome: serde_json::Value = serde_json::from_str(&chrome).expect("the text is JSON");
    let events = chrome["traceEvents"]
        .as_array()
        .expect("the value is an array");
    let nanoseconds = |value: &serde_json::Value| {
        (value.as_f64().expect("the text is a number") * 1e3).round() as u64
    };
    let mut open: Vec<u64> = Vec::new();
    let mut last = 0;
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let start = nanoseconds(&event["ts"]);
        let end = start + nanoseconds(&event["dur"]);
        open.retain(|other| *other > start || end == start && *other == start);
        assert!(
            start >= last,
            "an event is earlier than the one before it: {event}"
        );
        last = start;
        if let Some(caller) = open.last() {
            assert!(
                end <= *caller,
                "{event} ends after its caller, which ends at {caller}"
            );
        }
        open.push(end);
    }
}
