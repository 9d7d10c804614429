//! Tests of comparing the allocations of two profiles.

mod common;

use common::{allocations, alone, pair, sampled};
use loadhook_profile::analysis::diff::allocations::{Change, compare};
use loadhook_profile::format::diff::allocations::{write, write_json};
use loadhook_profile::format::{Options, Sort};
use loadhook_profile::{Measure, MergeError, Profile, Seen, Site};
use loadhook_text::width::folded;
use serde_json::Value;

fn table(before: &Profile, after: &Profile, options: &Options<'_>) -> String {
    let compared = compare(pair(before, after), options).expect("the profiles can be compared");
    let mut out = Vec::new();
    write(&compared, options, &mut out).expect("writing to memory cannot fail");
    String::from_utf8(out).expect("the text is UTF-8")
}

fn json(before: &Profile, after: &Profile, options: &Options<'_>) -> Value {
    let compared = compare(pair(before, after), options).expect("the profiles can be compared");
    let mut out = Vec::new();
    write_json(&compared, options, &mut out).expect("writing to memory cannot fail");
    serde_json::from_slice(&out).expect("the text is JSON")
}

fn find<'c>(changes: &'c [Change], place: &str, type_name: &str) -> &'c Change {
    let is_it = |c: &&Change| c.place().ends_with(place) && &*c.type_name == type_name;
    changes.iter().find(is_it).expect("the place is compared")
}

/// Returns a later profile: one line makes more arrays, strings are made at another line, and the JVM
/// itself makes no objects any more.
fn later() -> Profile {
    let mut later = allocations();
    later.sites[0].allocated.objects = 1500.0;
    later.sites[0].allocated.bytes = Some(240_000.0);
    later.sites[3].frame = Some(0);
    later.sites.truncate(4);
    alone(later)
}

fn sites(profile: &mut Profile) -> &mut Vec<Site> {
    let allocations = profile.allocations.as_mut();
    &mut allocations.expect("the profile has allocations").sites
}

#[test]
fn places_and_types_are_compared() {
    let (before, after) = (alone(allocations()), later());
    let changes = compare(pair(&before, &after), &Options::default())
        .expect("the profiles can be compared")
        .changes;
    let arrays = find(&changes, "Server.handle:40", "int[]");
    // The comparison adds up the allocations of both threads.
    let objects = (arrays.before[0].objects, arrays.after[0].objects);
    let bytes = (arrays.before[0].bytes, arrays.after[0].bytes);
    assert_eq!(objects, (1010.0, 1510.0));
    assert_eq!(bytes, (Some(160_240.0), Some(240_240.0)));
    let new = find(&changes, "Main.main:12", "java.lang.String");
    assert_eq!(
        (new.before[0].objects, new.before[0].bytes),
        (0.0, Some(0.0))
    );
    let gone = find(&changes, "the virtual machine", "byte[]");
    assert_eq!((gone.method.as_ref(), gone.after[0].objects), (None, 0.0));
    assert_eq!(find(&changes, "handle:41", "a.Gone").after[0].bytes, None);
    insta::assert_snapshot!(table(&before, &after, &Options::default()));
    let options = Options {
        width: 80,
        top: Some(2),
        sort: Sort::Calls,
        ..Options::default()
    };
    insta::assert_snapshot!(table(&before, &after, &options));
}

/// Several methods have the same name if the bytes of their class have changed during the run.
/// Their allocations are added.
#[test]
fn methods_of_one_name_are_added() {
    let one = alone(allocations());
    let mut two = one.clone();
    two.methods.push(two.methods[1].clone());
    let other = two.methods.len() as u32 - 1;
    two.allocations
        .as_mut()
        .expect("the profile has allocations")
        .frames[3]
        .method = other;
    let mut unknown = two.clone();
    unknown
        .allocations
        .as_mut()
        .expect("the profile has allocations")
        .sites[0]
        .allocated
        .bytes = None;
    for (before, after, bytes) in [
        (&one, &two, [Some(160_240.0); 2]),
        (&two, &one, [Some(160_240.0); 2]),
        (&unknown, &two, [None, Some(160_240.0)]),
        (&two, &unknown, [Some(160_240.0), None]),
    ] {
        let changes = compare(pair(before, after), &Options::default())
            .expect("the profiles can be compared")
            .changes;
        let arrays = find(&changes, "Server.handle:40", "int[]");
        let objects = [arrays.before[0].objects, arrays.after[0].objects];
        assert_eq!(objects, [1010.0; 2]);
        assert_eq!([arrays.before[0].bytes, arrays.after[0].bytes], bytes);
    }
}

/// Lines are sorted as numbers, and the JVM's own allocations come first, as in the table of one
/// profile.
#[test]
fn names_sort_by_method_line_and_type() {
    let before = alone(allocations());
    let mut after = before.clone();
    after
        .allocations
        .as_mut()
        .expect("the profile has allocations")
        .frames[3]
        .line = Some(9);
    let options = Options {
        sort: Sort::Name,
        ..Options::default()
    };
    let changes = compare(pair(&before, &after), &options)
        .expect("the profiles can be compared")
        .changes;
    let places: Vec<String> = changes.iter().map(Change::place).collect();
    let ends = [
        "the virtual machine",
        "Cart.add",
        "handle:9",
        "handle:40",
        "handle:41",
    ];
    assert_eq!(places.len(), ends.len(), "{places:?}");
    let mut pairs = places.iter().zip(ends);
    assert!(pairs.all(|(place, end)| place.ends_with(end)), "{places:?}");
}

/// Objects of unknown size are in no sum of bytes. They are counted, and a note mentions them.
#[test]
fn objects_of_unknown_size_are_mentioned() {
    let before = alone(allocations());
    let mut after = before.clone();
    let sites = sites(&mut after);
    sites[1].allocated.objects = 5_000.0;
    sites[4].allocated.bytes = Some(5_096.0);
    // The sizes of the arrays at one line are known only in part.
    sites[2].allocated.bytes = None;
    for width in [80, 120] {
        let options = Options {
            top: Some(1),
            width,
            ..Options::default()
        };
        let table = table(&before, &after, &options);
        let first = table.lines().find(|line| line.contains(" Gone "));
        assert!(first.is_some_and(|row| row.contains(" +4,993 ")), "{table}");
        assert!(table.contains("after ≥161 KB in 6,014 objects"), "{table}");
        let note = "7 objects before and 5,010 after have unknown sizes: \
            their classes were unloaded, or the heap was full";
        let note = format!(
            "\n{}\n≥ lower bound: without the bytes of these objects\n",
            folded(note, width)
        );
        assert!(table.contains(&note), "{table}");
    }
    let changes = compare(pair(&before, &after), &Options::default())
        .expect("the profiles can be compared")
        .changes;
    assert_eq!(find(&changes, "handle:40", "int[]").after[0].bytes, None);
    // Places whose allocations did not change come last.
    let changes = compare(pair(&before, &later()), &Options::default())
        .expect("the profiles can be compared")
        .changes;
    assert_eq!(&*changes[4].type_name, "a.Gone");
}

/// The classes of the two profiles are in different orders, as may happen in two runs.
#[test]
fn methods_match_by_name_and_not_by_number() {
    let before = alone(allocations());
    let mut after = before.clone();
    after.methods.reverse();
    let last = after.methods.len() as u32 - 1;
    let allocations = after
        .allocations
        .as_mut()
        .expect("the profile has allocations");
    for frame in &mut allocations.frames {
        frame.method = last - frame.method;
    }
    let changes = compare(pair(&before, &after), &Options::default())
        .expect("the profiles can be compared")
        .changes;
    assert_eq!(changes.len(), 4);
    assert!(changes.iter().all(|c| c.before == c.after), "{changes:#?}");
}

#[test]
fn estimates_are_marked_within_their_error() {
    let before = alone(sampled());
    let mut after = before.clone();
    let sites = sites(&mut after);
    sites[0].live.bytes = Some(54_000.0);
    sites[4].live.bytes = Some(90_000.0);
    let options = Options {
        measure: Some(Measure::Live),
        ..Options::default()
    };
    let table = table(&before, &after, &options);
    let row = |place: &str| table.lines().find(|line| line.ends_with(place));
    let [arrays, vm] = ["handle:40", "the virtual machine"].map(row);
    assert!(arrays.is_some_and(|row| row.contains(" ~+0.7 ")), "{table}");
    assert!(vm.is_some_and(|row| row.contains(" +86.6 ")), "{table}");
    assert!(table.starts_with("alive before ≥~53.5 KB in ~510 objects"));
    assert!(table.contains("estimated: one sample in 512 KB"), "{table}");
    let json = json(&before, &after, &options);
    assert_eq!(json["measure"], "live");
    let mode = serde_json::json!(
        {"mode": "live", "sampled": true, "interval": 524_288, "live": true}
    );
    assert_eq!(
        json["allocations"],
        serde_json::json!({"before": [mode], "after": [mode]})
    );
    let first = &json["sites"][0];
    assert_eq!(
        (&first["class"], &first["type"]),
        (&Value::Null, &"byte[]".into())
    );
    assert_eq!(first["before"][0]["bytes_error"], 3162);
    assert_eq!(first["after"][0]["bytes"], 90_000);
}

#[test]
fn json_has_all_known_values() {
    let options = Options {
        top: Some(1),
        ..Options::default()
    };
    let json = json(&alone(allocations()), &later(), &options);
    assert_eq!(
        (&json["version"], &json["measure"]),
        (&3.into(), &"allocated".into())
    );
    let [only] = &json["sites"].as_array().expect("the JSON has sites")[..] else {
        panic!("{json}");
    };
    assert_eq!(only["class"], "com.example.shop.web.Server");
    assert_eq!(
        (&only["method"], &only["line"]),
        (&"handle".into(), &40.into())
    );
    assert_eq!(
        only["before"],
        serde_json::json!([{"objects": 1010, "bytes": 160_240}])
    );
    assert_eq!(
        only["after"],
        serde_json::json!([{"objects": 1510, "bytes": 240_240}])
    );
}

#[test]
fn different_allocations_are_not_compared() {
    let mut all = alone(allocations());
    all.allocations
        .as_mut()
        .expect("the profile has allocations")
        .seen = Seen::All;
    let [exact, samples] = [alone(allocations()), alone(sampled())];
    for (a, b) in [(&exact, &samples), (&exact, &all), (&all, &samples)] {
        let compared = compare(pair(a, b), &Options::default());
        assert_eq!(compared.map(|_| ()), Err(MergeError::Allocations));
    }
    let mut finer = samples.clone();
    finer
        .allocations
        .as_mut()
        .expect("the profile has allocations")
        .seen = Seen::Sampled { interval: 4096 };
    let told = table(&samples, &finer, &Options::default());
    assert!(
        told.contains("after estimated: one sample in 4.0 KB"),
        "{told}"
    );
    let nothing = table(
        &exact,
        &exact,
        &Options {
            measure: Some(Measure::Live),
            ..Options::default()
        },
    );
    assert_eq!(nothing, "Nothing is alive on either side\n");
}
