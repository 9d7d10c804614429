//! Tests of comparing several runs of each side, and of threads that only waited.

mod common;

use common::{MS, allocations, alone, pair, server, small, text};
use loadhook_profile::analysis::diff::methods::{Comparison, compare};
use loadhook_profile::analysis::diff::{self, Verdict};
use loadhook_profile::format::diff::methods::{write, write_json};
use loadhook_profile::format::{Format, Options, Sort, pprof};
use loadhook_profile::{MergeError, Profile, Timing};
use serde_json::Value;

/// Returns a run in which all times are scaled by `per_mille`, and `handle` takes `more` nanoseconds in
/// addition.
fn run(start: i64, per_mille: u64, more: u64) -> Profile {
    let mut run = small();
    run.header.timing = Timing::Exact;
    run.header.start_epoch_millis = start;
    run.header.process = String::new();
    run.header.probe = Default::default();
    for node in run.threads.iter_mut().flat_map(|thread| &mut thread.nodes) {
        for time in [&mut node.all_ns, &mut node.outermost_ns, &mut node.child_ns] {
            *time = *time * per_mille / 1000;
        }
        node.variance = 0.0;
    }
    let nodes = &mut run.threads[0].nodes;
    for at in [0, 1] {
        nodes[at].all_ns += more;
        nodes[at].outermost_ns += more;
    }
    nodes[0].child_ns += more;
    run
}

/// Returns two sides with `runs` runs each. As users should do, the runs of both sides were taken
/// alternately.
fn sides(runs: u64, more: u64) -> [Vec<Profile>; 2] {
    let side = |which: u64| {
        let of = move |at: u64| {
            let start = 1_763_600_000_000 + 10 * (2 * at + which) as i64;
            let per_mille = 1_000 + (7 * (2 * at + which)) % 11;
            run(start, per_mille, which * more)
        };
        (0..runs).map(of).collect()
    };
    [side(0), side(1)]
}

fn compared([before, after]: &[Vec<Profile>; 2], options: &Options<'_>) -> Comparison {
    compare([before, after], options).expect("the profiles can be compared")
}

fn table(sides: &[Vec<Profile>; 2], options: &Options<'_>) -> String {
    let mut out = Vec::new();
    write(&compared(sides, options), options, &mut out).expect("writing to memory cannot fail");
    String::from_utf8(out).expect("the text is UTF-8")
}

#[test]
fn a_change_is_distinguished_from_noise() {
    let mut sides = sides(5, 400 * MS);
    for run in &mut sides[1] {
        run.methods[10].name = "renamed".into();
    }
    insta::assert_snapshot!(table(&sides, &Options::default()));
    let changes = compared(&sides, &Options::default()).changes;
    let of = |verdict| {
        let names = changes.iter().filter(|c| c.judgement.verdict == verdict);
        names.map(|c| &*c.method.name).collect::<Vec<_>>()
    };
    assert_eq!(of(Verdict::Changed), ["handle"]);
    assert_eq!(of(Verdict::New), ["renamed"]);
    assert_eq!(of(Verdict::Gone), ["lambda$main$0;odd"]);
}

#[test]
fn runs_of_one_program_have_no_change() {
    let table = table(&sides(5, 0), &Options::default());
    assert!(!table.contains("\nchanged:\n"), "{table}");
    assert!(
        table.contains("\nnot distinguishable from noise:\n"),
        "{table}"
    );
}

#[test]
fn too_few_runs_are_reported() {
    let wide = Options {
        width: 200,
        ..Options::default()
    };
    let three = table(&sides(3, 400 * MS), &wide);
    let sentence = "\n3 + 3 runs cannot tell any change from noise: their smallest p-value is 0.100. \
        Run each side at least 4 times; ";
    assert!(three.contains(sentence), "{three}");
    assert!(three.contains("90 % interval"), "{three}");
    let mut uneven = sides(4, 0);
    uneven[1].truncate(1);
    let sentence = "Noise cannot be distinguished from change without several runs of both sides";
    let uneven = table(&uneven, &Options::default());
    assert!(
        uneven.contains(sentence) && uneven.contains("medians"),
        "{uneven}"
    );
}

#[test]
fn sides_run_one_after_the_other_cause_a_warning() {
    let mut sides = sides(4, 0);
    let warning = "warning: all runs of one side were made before those of the other";
    assert!(!table(&sides, &Options::default()).contains(warning));
    for run in &mut sides[1] {
        run.header.start_epoch_millis += 1_000_000;
    }
    assert!(table(&sides, &Options::default()).contains(warning));
}

#[test]
fn json_has_every_run() {
    let options = Options {
        top: Some(1),
        ..Options::default()
    };
    let mut out = Vec::new();
    let compared = compared(&sides(5, 400 * MS), &options);
    write_json(&compared, &options, &mut out).expect("writing to memory cannot fail");
    let json: Value = serde_json::from_slice(&out).expect("the text is JSON");
    assert_eq!(
        (&json["version"], &json["compared"]),
        (&3.into(), &"self".into())
    );
    assert_eq!(json["before"].as_array().map(Vec::len), Some(5));
    assert_eq!(json["test"]["tested"], 6);
    assert_eq!(json["all"]["verdict"], "changed");
    let [first] = &json["methods"].as_array().expect("the JSON has methods")[..] else {
        panic!("{json}");
    };
    assert_eq!(
        (&first["method"], &first["verdict"]),
        (&"handle".into(), &"changed".into())
    );
    assert_eq!(first["after"].as_array().map(Vec::len), Some(5));
    let ratio = |key: &str| first[key].as_f64().expect("the text is a number");
    assert!(
        1.6 < ratio("ratio_low") && ratio("ratio_low") <= ratio("ratio"),
        "{first}"
    );
    assert!(ratio("ratio_high") < 1.9 && ratio("q") <= 0.05, "{first}");
}

#[test]
fn parts_of_a_process_are_one_run_of_a_side() {
    let mut sides = sides(4, 0);
    for side in &mut sides {
        side[0].header.process = "7-1".to_owned();
        side[1].header.process = "7-1".to_owned();
    }
    assert_eq!(compared(&sides, &Options::default()).plan.runs, [3, 3]);
    sides[0][2].header.timing = Timing::Adaptive;
    let [before, after] = &sides;
    assert_eq!(
        compare([before, after], &Options::default()),
        Err(MergeError::Modes)
    );
}

#[test]
fn allocations_have_ratios() {
    let with = |objects: f64| {
        let mut made = allocations();
        made.sites[0].allocated.objects = objects;
        made.sites[0].allocated.bytes = Some(160.0 * objects);
        let mut run = alone(made);
        run.header.process = String::new();
        run
    };
    let side = |objects: f64| [0.0, 3.0, 5.0, 8.0].map(|more| with(objects + more));
    let [before, after] = [side(1_000.0), side(1_500.0)];
    let compared = diff::allocations::compare([&before, &after], &Options::default())
        .expect("the profiles can be compared");
    let mut out = Vec::new();
    loadhook_profile::format::diff::allocations::write(&compared, &Options::default(), &mut out)
        .expect("writing to memory cannot fail");
    insta::assert_snapshot!(String::from_utf8(out).expect("the text is UTF-8"));
    let mut out = Vec::new();
    let written = loadhook_profile::format::diff::allocations::write_json(
        &compared,
        &Options::default(),
        &mut out,
    );
    written.expect("writing to memory cannot fail");
    let json: Value = serde_json::from_slice(&out).expect("the text is JSON");
    assert_eq!(json["sites"][0]["verdict"], "changed", "{json}");
    assert_eq!(json["sites"][0]["before"][3]["objects"], 1018);
}

#[test]
fn threads_that_only_waited_are_one_line() {
    let server = server();
    insta::assert_snapshot!(text(Format::Table, &server, &Options::default()));
    let tree = text(Format::Tree, &server, &Options::default());
    let line = "2 threads only waited (4.00 s), not counted above: idle-1, idle-2 ";
    assert!(tree.contains(line), "{tree}");
    // Idle threads are shown if an option names them.
    let named = |name: &str| name == "idle-1";
    let options = Options {
        thread: Some(&named),
        ..Options::default()
    };
    let shown = text(Format::Table, &server, &options);
    assert!(
        shown.contains(" 2.00 s") && !shown.contains("only waited"),
        "{shown}"
    );
    // Formats for programs contain all threads.
    let json = text(Format::Json, &server, &Options::default());
    let json: Value = serde_json::from_str(&json).expect("the text is JSON");
    let waited = json["threads"]
        .as_array()
        .expect("the JSON has threads")
        .iter();
    let waited: Vec<bool> = waited.map(|thread| thread["only_waited"] == true).collect();
    assert_eq!(waited, [false, false, true, true, false]);
    assert_eq!(json["threads"][2]["cpu_ns"], 1_000_000);
    let mut file = Vec::new();
    pprof::write(&server, &mut file).expect("writing to memory cannot fail");
    assert_eq!(
        pprof::read(&file[..]).expect("the profile can be read"),
        server
    );
}

#[test]
fn waiting_is_not_compared() {
    let server = server();
    let mut out = Vec::new();
    let compared =
        compare(pair(&server, &server), &Options::default()).expect("the profiles can be compared");
    write(&compared, &Options::default(), &mut out).expect("writing to memory cannot fail");
    let table = String::from_utf8(out).expect("the text is UTF-8");
    let line = "\nthreads that only waited in all runs are not compared: idle-1, idle-2\n";
    assert!(table.contains(line), "{table}");
    // A thread that worked on one of the two sides is part of the comparison.
    let mut other = server.clone();
    other.threads[2].cpu_ns = Some(900 * MS);
    let calls = Options {
        sort: Sort::Calls,
        ..Options::default()
    };
    let compared = compare(pair(&server, &other), &calls).expect("the profiles can be compared");
    assert_eq!(compared.whole.before, compared.whole.after);
    let mut out = Vec::new();
    write(&compared, &calls, &mut out).expect("writing to memory cannot fail");
    let table = String::from_utf8(out).expect("the text is UTF-8");
    assert!(table.contains("not compared: idle-2\n"), "{table}");
    // A report of the first run leaves this thread out of its sum.
    let told = "\nthe sums include threads that only waited in some of the runs: idle-1\n\n";
    assert!(table.contains(told), "{table}");
}
