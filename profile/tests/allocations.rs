//! Tests of allocations in every format except pprof, and of merged allocations.
//!
//! `INSTA_UPDATE=always cargo test -p loadhook-profile` accepts changed output; look at the diff of
//! `snapshots/`.

mod common;

use common::{allocations, alone, sampled, small, text};
use loadhook_profile::format::{Format, Options, pprof};
use loadhook_profile::{Measure, MergeError, Method, Profile, Seen, merge};
use serde_json::Value;

fn showing(measure: Measure) -> Options<'static> {
    Options {
        measure: Some(measure),
        ..Options::default()
    }
}

#[test]
fn table_of_all_allocations() {
    let profile = alone(allocations());
    insta::assert_snapshot!(text(Format::Table, &profile, &Options::default()));
}

#[test]
fn table_of_samples_on_a_narrow_terminal() {
    let options = Options {
        width: 80,
        top: Some(3),
        ..Options::default()
    };
    insta::assert_snapshot!(text(Format::Table, &alone(sampled()), &options));
}

/// The legend explains the column of errors only if the table has that column.
#[test]
fn errors_have_a_legend() {
    let legend = "\n± standard error of the estimate, where above 5 %\n";
    let has_legend = |profile: &Profile, width| {
        let options = Options {
            width,
            ..Options::default()
        };
        text(Format::Table, profile, &options).contains(legend)
    };
    assert!(has_legend(&alone(sampled()), 120) && has_legend(&alone(sampled()), 100));
    assert!(!has_legend(&alone(allocations()), 120));
    let mut narrow = alone(sampled());
    narrow.methods[1].class = "a.ClassWithSuchANameThatThereIsNoRoomForColumns".into();
    assert!(!has_legend(&narrow, 40));
}

/// If a name is too long, its end is the last part to be cut, because it says most. Line numbers
/// are never cut.
#[test]
fn long_names_leave_room_for_each_other() {
    let mut profile = alone(sampled());
    for method in &mut profile.methods {
        method.class = format!("{}AndWhateverElseItIs", method.class).into();
    }
    let sites = &mut profile
        .allocations
        .as_mut()
        .expect("the profile has allocations")
        .sites;
    sites[0].type_name = "com.example.shop.web.TheLongestNameOfAnyType$ThatIsNested[]".into();
    let mut said = String::new();
    for (measure, width) in [
        (Measure::Live, 80),
        (Measure::Live, 100),
        (Measure::Allocated, 80),
    ] {
        let options = Options {
            width,
            ..showing(measure)
        };
        let table = text(Format::Table, &profile, &options);
        let rows = table.lines().skip_while(|line| !line.starts_with('#'));
        let rows: Vec<&str> = rows.take_while(|line| !line.is_empty()).collect();
        assert!(
            rows.iter().all(|row| row.chars().count() <= width),
            "{table}"
        );
        said += &format!("{}\n\n", rows.join("\n"));
    }
    insta::assert_snapshot!(said);
}

/// A profile with times and allocations has a table for each, unless options choose one.
#[test]
fn times_and_allocations_have_a_table_each() {
    let mut profile = small();
    let times = text(Format::Table, &profile, &Options::default());
    profile.allocations = Some(sampled());
    let both = text(Format::Table, &profile, &Options::default());
    assert!(both.starts_with(times.trim_end()), "{both}");
    assert!(both.contains("int[]  com"), "{both}");
    assert_eq!(
        text(Format::Table, &profile, &showing(Measure::Time)),
        times
    );
    let allocated = text(Format::Table, &profile, &showing(Measure::Allocated));
    assert!(!allocated.contains("self"), "{allocated}");
}

#[test]
fn types_are_callees() {
    let profile = alone(sampled());
    for (measure, weight) in [(Measure::Allocated, 160_000), (Measure::Live, 53_333)] {
        let lines = text(Format::Collapsed, &profile, &showing(measure));
        let line = lines.lines().find(|line| line.contains(";int[]"));
        let (_, bytes) = line
            .expect("a line ends with int[]")
            .rsplit_once(' ')
            .expect("the line has a weight");
        assert_eq!(bytes.parse(), Ok(weight), "{lines}");
    }
    insta::assert_snapshot!(text(Format::Tree, &profile, &showing(Measure::Live)));
    let speedscope: Value =
        serde_json::from_str(&text(Format::Speedscope, &profile, &Options::default()))
            .expect("the text is JSON");
    assert_eq!(speedscope["profiles"][0]["unit"], "bytes");
}

/// With every allocation of the program recorded, the figures are counts, not estimates.
#[test]
fn everything_is_counted() {
    let mut everything = allocations();
    everything.seen = Seen::All;
    everything.live = true;
    let profile = alone(everything);
    let table = text(Format::Table, &profile, &Options::default());
    assert!(table.contains("every allocation\n"), "{table}");
    assert!(!table.contains('~') && !table.contains('±'), "{table}");
    let json: Value = serde_json::from_str(&text(Format::Json, &profile, &Options::default()))
        .expect("the text is JSON");
    let told = &json["allocations"];
    assert_eq!(
        (&told["mode"], &told["sampled"], &told["interval"]),
        (&"live=exact".into(), &Value::Bool(false), &Value::Null)
    );
    let first = &told["sites"][0];
    assert!(first["allocated"]["bytes_error"].is_null() && first["live"].is_object());
    let hprof = text(Format::Hprof, &profile, &Options::default());
    assert!(
        hprof.contains("\nSITES has all allocations since the JVM's start was complete.\n"),
        "{hprof}"
    );
    let mut on_11 = profile.clone();
    on_11.header.jvm = "OpenJDK 64-Bit Server VM 11.0.13+8".to_owned();
    let hprof = text(Format::Hprof, &on_11, &Options::default());
    assert!(
        hprof.contains("\nSITES has the allocations that JDK 11 reports: "),
        "{hprof}"
    );
    let mut bytes = Vec::new();
    Format::Pprof
        .write(&profile, &Options::default(), &mut bytes)
        .expect("writing to memory cannot fail");
    let read = pprof::read(&bytes[..]).expect("the profile can be read");
    assert_eq!(read.allocations, profile.allocations);
    merge(&[profile.clone(), profile.clone()]).expect("the profiles can be merged");
    merge(&[profile, alone(allocations())]).expect_err("the profiles are of different kinds");
}

/// Every format that shows bytes marks the totals and rows whose objects have partly unknown sizes.
/// A merged site is marked if its sizes are unknown in one of the profiles.
#[test]
fn objects_of_unknown_size_are_in_no_total() {
    let few = "\n7 objects have unknown sizes: their classes were unloaded, or the heap was full\n\
        ≥ lower bound: without the bytes of these objects; % is of the known bytes\n";
    let profile = alone(allocations());
    let table = text(Format::Table, &profile, &Options::default());
    assert!(
        table.contains("allocated ≥161 KB in 1,021 objects"),
        "{table}"
    );
    assert!(table.contains(few), "{table}");
    let tree = text(Format::Tree, &profile, &Options::default());
    assert!(tree.contains(few), "{tree}");
    let handle = tree.lines().find(|line| line.ends_with("Server.handle"));
    let handle = handle.expect("the method is the first row");
    assert!(handle.contains(" ≥156.3 "), "{tree}");
    let array = tree.lines().find(|line| line.ends_with("int[]"));
    assert!(array.is_some_and(|line| !line.contains('≥')), "{tree}");

    let mut gone = profile.clone();
    gone.allocations
        .as_mut()
        .expect("the profile has allocations")
        .sites[0]
        .allocated
        .bytes = None;
    for pair in [[&profile, &gone], [&gone, &profile]] {
        let both = merge(&pair.map(Clone::clone)).expect("the profiles can be merged");
        let table = text(Format::Table, &both, &Options::default());
        let row = table.lines().find(|line| line.contains("  int[]  "));
        assert!(row.is_some_and(|row| row.contains(" ≥156.7 ")), "{table}");
        assert!(
            table.contains("\n1,014 objects have unknown sizes"),
            "{table}"
        );
        let again = merge(&[both.clone(), both]).expect("the profiles can be merged");
        assert_eq!(
            again
                .allocations
                .expect("the profile has allocations")
                .sites
                .len(),
            6
        );
    }

    // If all sizes are known, there is no mark.
    let known = |method: &Method| &*method.name == "add";
    let options = Options {
        focus: Some(&known),
        ..Options::default()
    };
    for format in [Format::Table, Format::Tree] {
        let told = text(format, &profile, &options);
        assert!(!told.contains("unknown size"), "{told}");
    }
}

/// Events of the trace format have only times. Bytes could be shown only as seconds, so they are
/// refused.
#[test]
fn trace_events_of_allocations_are_refused() {
    let both = Profile {
        allocations: Some(sampled()),
        ..small()
    };
    let alone = alone(sampled());
    for (profile, options) in [
        (&both, showing(Measure::Allocated)),
        (&both, showing(Measure::Live)),
        (&alone, Options::default()),
    ] {
        let mut out = Vec::new();
        let written = Format::Chrome.write(profile, &options, &mut out);
        let error = written.expect_err("trace events cannot show bytes");
        assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
        assert!(error.to_string().contains("times of calls only"));
        assert!(out.is_empty());
    }
    assert!(text(Format::Chrome, &both, &Options::default()).contains("traceEvents"));
}

/// In a sampled stack, each call of a recursion has a frame. In a call tree, a path contains each
/// method once.
#[test]
fn recursion_is_folded() {
    let mut allocations = allocations();
    let again = allocations.frames[0];
    allocations.frames[1].parent = Some(0);
    allocations.frames.push(loadhook_profile::Frame {
        parent: Some(1),
        ..again
    });
    allocations.sites[0].frame = Some(allocations.frames.len() as u32 - 1);
    let lines = text(Format::Collapsed, &alone(allocations), &Options::default());
    let line = lines.lines().find(|line| line.ends_with(" 160000"));
    let path = line.and_then(|line| line.split_once(" 160000"));
    assert_eq!(
        path.expect("a line ends with int[]").0.matches(';').count(),
        1,
        "{lines}"
    );
}

#[test]
fn json_holds_sites_and_stacks() {
    let profile = alone(sampled());
    let json: Value = serde_json::from_str(&text(Format::Json, &profile, &Options::default()))
        .expect("the text is JSON");
    let told = &json["allocations"];
    assert_eq!(
        (&told["sampled"], &told["interval"]),
        (&Value::Bool(true), &524_288.into())
    );
    let first = &told["sites"][0];
    assert_eq!(
        (&first["type"], &first["allocated"]["bytes"]),
        (&"int[]".into(), &160_000.into())
    );
    let lines: Vec<_> = first["stack"]
        .as_array()
        .expect("the stack is in the output")
        .iter()
        .map(|f| &f["line"])
        .collect();
    assert_eq!(lines, [&Value::from(40), &Value::from(12)]);
    assert!(
        first["live"]["bytes_error"]
            .as_u64()
            .is_some_and(|error| error > 0)
    );
    assert!(
        told["sites"]
            .as_array()
            .expect("the JSON has sites")
            .iter()
            .any(|site| site["allocated"]["bytes"].is_null())
    );
    let plain: Value = serde_json::from_str(&text(Format::Json, &small(), &Options::default()))
        .expect("the text is JSON");
    assert!(plain.get("allocations").is_none());
}

#[test]
fn a_part_can_be_chosen() {
    let profile = alone(allocations());
    let first = profile.methods[0].name.clone();
    let focus = move |method: &Method| method.name == first;
    let options = Options {
        focus: Some(&focus),
        ..Options::default()
    };
    let table = text(Format::Table, &profile, &options);
    assert!(
        table.contains(" Gone ") && !table.contains("byte[]"),
        "{table}"
    );
    let name = profile.threads[1].name.clone();
    let thread = move |other: &str| other == &*name;
    let options = Options {
        thread: Some(&thread),
        ..Options::default()
    };
    let table = text(Format::Table, &profile, &options);
    assert!(
        !table.contains(" Gone ") && table.contains("byte[]"),
        "{table}"
    );
}

#[test]
fn allocations_add_up() {
    let sums = |profile: &Profile| {
        let sites = &profile
            .allocations
            .as_ref()
            .expect("the profile has allocations")
            .sites;
        let objects: f64 = sites.iter().map(|site| site.allocated.objects).sum();
        let bytes: f64 = sites.iter().filter_map(|site| site.allocated.bytes).sum();
        (sites.len(), objects, bytes)
    };
    let one = alone(allocations());
    let two = merge(&[one.clone(), one.clone()]).expect("the profiles can be merged");
    let (sites, objects, bytes) = sums(&one);
    assert_eq!(sums(&two), (sites, 2.0 * objects, 2.0 * bytes));
    let samples = alone(sampled());
    assert_eq!(
        merge(&[one, samples.clone()]).map(|_| ()),
        Err(MergeError::Allocations)
    );
    let two = merge(&[samples.clone(), samples]).expect("the profiles can be merged");
    let site = &two.allocations.expect("the profile has allocations").sites[0];
    assert_eq!((site.live_age, site.live.objects_variance), (2.5, 1.0));
}

#[test]
fn a_merge_mentions_the_live_objects_that_it_leaves_out() {
    let live = alone(sampled());
    let mut without = live.clone();
    let allocations = without
        .allocations
        .as_mut()
        .expect("the profile has allocations");
    allocations.live = false;
    let both = merge(&[live.clone(), without.clone()]).expect("the samples can be merged");
    let note = "objects that are still alive are not shown, because 1 of 2 profiles did not record them; profile all runs with --alloc live";
    assert_eq!(both.header.notes[0], note);
    let wide = Options {
        width: 200,
        ..Options::default()
    };
    let table = text(Format::Table, &both, &wide);
    assert!(
        table.contains(note) && !table.contains("live KB"),
        "{table}"
    );
    for alike in [live, without] {
        let both = merge(&[alike.clone(), alike]).expect("the profiles can be merged");
        assert!(!both.header.notes.iter().any(|other| other == note));
    }
}

#[test]
fn hprof_has_the_columns_of_its_manual() {
    let mut profile = alone(sampled());
    profile.header.start_epoch_millis = 907_760_290_000;
    profile.header.duration_ns = 0;
    profile.threads[1].name = "a \"pool\"\n".into();
    profile.methods[2].file = None;
    insta::assert_snapshot!(text(Format::Hprof, &profile, &Options::default()));
    let options = Options {
        top: Some(1),
        ..Options::default()
    };
    let profile = alone(allocations());
    let shown = text(Format::Hprof, &profile, &options);
    // A site that is filtered out has no trace in the hprof format.
    assert_eq!(shown.matches("TRACE ").count(), 1, "{shown}");
    let row = "    1 97.32% 97.32%         -    -    160000  1000 300001 int[]\nSITES END\n";
    assert!(
        shown.contains("SITES BEGIN (ordered by allocated bytes) "),
        "{shown}"
    );
    assert!(shown.ends_with(row), "{shown}");
}
