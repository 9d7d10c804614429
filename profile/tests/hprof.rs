//! Tests of HPROF's formats, on profiles whose numbers are known.

use loadhook_hprof::contents::{Contents, ReadContents, Section, Trace};
use loadhook_hprof::text::{Cost, CostKind};
use loadhook_profile::format::hprof::{
    Contention, Detail, MonitorDump, MonitorState, MonitorTables, ThreadState, WaitEvent, Waiting,
    begin_binary, begin_text, write,
};
use loadhook_profile::format::{Format, Options};
use loadhook_profile::{Header, Method, Node, Profile, ThreadTree, Timing, WaitKind, since};
use loadhook_testkit::hprof_walk::walk;

/// Returns a node with this many calls or samples, and with these times in milliseconds.
fn node(parent: Option<u32>, method: u32, calls: u64, all_ms: u64, child_ms: u64) -> Node {
    let ns = |ms: u64| ms * 1_000_000;
    Node {
        parent,
        method,
        calls,
        timed: calls,
        all_ns: ns(all_ms),
        outermost_ns: ns(all_ms),
        child_ns: ns(child_ms),
        ..Node::default()
    }
}

/// Returns two threads: `main` calls `left` and `right`, which both call `leaf`.
fn profile(timing: Timing) -> Profile {
    let methods =
        ["main", "left", "right", "leaf"].map(|name| Method::new("shop.Shop", name, "()V"));
    let nodes = vec![
        node(None, 0, 1, 100, 90),
        node(Some(0), 1, 2, 60, 50),
        node(Some(0), 2, 3, 30, 30),
        node(Some(1), 3, 10, 50, 0),
        node(Some(2), 3, 20, 30, 0),
    ];
    let thread = |name: &str, id| ThreadTree {
        name: name.into(),
        id: Some(id),
        kind: loadhook_profile::ThreadKind::Platform,
        cpu_ns: None,
        nodes: nodes.clone(),
    };
    Profile {
        header: Header {
            timing,
            ..Header::default()
        },
        methods: methods.to_vec(),
        threads: vec![thread("one", 1), thread("two", 2)],
        ..Profile::default()
    }
}

fn read(profile: &Profile, detail: &Detail, options: &Options<'_>) -> Contents {
    let mut text = Vec::new();
    write(profile, detail, options, &mut text).expect("memory can be written");
    let ReadContents { contents, error } = Contents::read(&text[..]);
    assert!(
        error.is_none(),
        "{error:?}: {}",
        String::from_utf8_lossy(&text)
    );
    assert_eq!(contents.warnings, []);
    assert_same_in_binary(&contents, profile, detail, options);
    contents
}

/// Compares the text with the binary file of the same profile. The file is walked to its last byte.
fn assert_same_in_binary(
    text: &Contents,
    profile: &Profile,
    detail: &Detail,
    options: &Options<'_>,
) {
    let mut file = Vec::new();
    let begun = begin_binary(profile, None, detail, options, &mut file);
    let finished = begun.and_then(|writer| writer.finish());
    finished.expect("memory can be written");
    let counts = walk(&file);
    assert_eq!((counts[&0x0e], counts[&0x2c]), (1, 1));
    let ReadContents { contents, error } = Contents::read(&file[..]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(contents.warnings, []);
    assert_eq!(contents.threads, text.threads);
    let mut traces = contents.traces.clone();
    // The empty trace that classes refer to.
    traces.remove(&loadhook_hprof::NO_TRACE);
    assert_eq!(traces, text.traces);
    let (kind, total, rows) = costs(text);
    let binary = costs(&contents);
    assert_eq!((binary.0, binary.1), (kind, total));
    assert_eq!(binary.2.len(), rows.len());
    for (row, binary) in rows.iter().zip(binary.2) {
        let parts = |row: &Cost| (row.rank, row.count, row.trace, row.name.clone());
        assert_eq!(parts(row), parts(binary));
        // The text has two digits.
        assert!((row.own - binary.own).abs() < 0.006, "{row:?} {binary:?}");
    }
}

fn costs(contents: &Contents) -> (CostKind, i64, &[Cost]) {
    match &contents.sections[..] {
        [Section::Costs { begin, rows }] => (begin.kind, begin.total, rows),
        other => panic!("{other:?}"),
    }
}

/// Returns name, count, share and depth of each row.
fn rows(contents: &Contents) -> Vec<(&str, i64, f64, usize)> {
    let (_, _, rows) = costs(contents);
    let depth = |trace: u32| contents.traces[&trace].frames.len();
    let row = |row: &Cost| (row.count, row.own, depth(row.trace));
    let named = rows.iter().map(|cost| (cost.name.as_str(), row(cost)));
    named
        .map(|(name, (count, own, depth))| (name, count, own, depth))
        .collect()
}

#[test]
fn times_are_by_trace_and_the_depth_merges_traces() {
    let profile = profile(Timing::Exact);
    let options = Options::default();
    let whole = Detail {
        by_thread: false,
        ..Detail::default()
    };
    let contents = read(&profile, &whole, &options);
    let (kind, total, _) = costs(&contents);
    assert_eq!((kind, total), (CostKind::Times, 200));
    let expected = [
        ("shop.Shop.leaf", 20, 50.0, 3),
        ("shop.Shop.leaf", 40, 30.0, 3),
        ("shop.Shop.main", 2, 10.0, 1),
        ("shop.Shop.left", 4, 10.0, 2),
        ("shop.Shop.right", 6, 0.0, 2),
    ];
    assert_eq!(rows(&contents), expected);
    let flat = Detail { depth: 1, ..whole };
    let expected = [
        ("shop.Shop.leaf", 60, 80.0, 1),
        ("shop.Shop.main", 2, 10.0, 1),
        ("shop.Shop.left", 4, 10.0, 1),
        ("shop.Shop.right", 6, 0.0, 1),
    ];
    assert_eq!(rows(&read(&profile, &flat, &options)), expected);
    let none = Detail { depth: 0, ..whole };
    assert_eq!(
        rows(&read(&profile, &none, &options)),
        [("<empty trace>", 72, 100.0, 0)]
    );
    let cut = Detail {
        cutoff: 0.2,
        ..flat
    };
    let contents = read(&profile, &cut, &options);
    assert_eq!(rows(&contents), [("shop.Shop.leaf", 60, 80.0, 1)]);
    assert_eq!(contents.traces.len(), 1);
}

#[test]
fn threads_and_methods_can_be_chosen() {
    let profile = profile(Timing::Exact);
    let by_thread = Detail::default();
    let contents = read(&profile, &by_thread, &Options::default());
    assert_eq!(rows(&contents).len(), 10);
    let is_two = |name: &str| name == "two";
    let is_left = |method: &Method| &*method.name == "left";
    let options = Options {
        thread: Some(&is_two),
        focus: Some(&is_left),
        ..Options::default()
    };
    let contents = read(&profile, &by_thread, &options);
    let expected = [
        ("shop.Shop.leaf", 10, 50.0 / 0.6, 3),
        ("shop.Shop.left", 2, 10.0 / 0.6, 2),
    ];
    for ((name, count, own, depth), expected) in rows(&contents).into_iter().zip(expected) {
        assert_eq!((name, count, depth), (expected.0, expected.1, expected.3));
        assert!((own - expected.2).abs() < 0.01, "{own}");
    }
    let names: Vec<&str> = contents
        .threads
        .values()
        .map(|thread| thread.name.as_str())
        .collect();
    assert_eq!(names, ["two"]);
    assert!(
        contents
            .traces
            .values()
            .all(|trace| trace.thread == Some(200_002))
    );
}

#[test]
fn samples_are_counted_by_trace() {
    let mut sampled = profile(Timing::Sampled);
    for thread in &mut sampled.threads {
        for node in &mut thread.nodes {
            (node.calls, node.timed) = (0, node.calls);
        }
    }
    let detail = Detail {
        by_thread: false,
        depth: 1,
        ..Detail::default()
    };
    let contents = read(&sampled, &detail, &Options::default());
    let (kind, total, rows) = costs(&contents);
    assert_eq!((kind, total), (CostKind::Samples, 72));
    let counts: Vec<i64> = rows.iter().map(|row| row.count).collect();
    assert_eq!(counts, [60, 6, 4, 2]);
}

/// Samples know the line that they met; calls have the line at which the method's code begins.
#[test]
fn traces_have_lines_unless_they_are_turned_off() {
    for (timing, expected) in [(Timing::Sampled, [71, -1]), (Timing::Exact, [70, 10])] {
        let mut profile = profile(timing);
        for (method, line) in profile.methods.iter_mut().zip([10, 30, 50, 70]) {
            method.line = Some(line);
        }
        for thread in &mut profile.threads {
            thread.nodes[4].line = Some(71);
        }
        for (lines, expected) in [(true, expected), (false, [-1, -1])] {
            let detail = Detail {
                lines,
                by_thread: false,
                ..Detail::default()
            };
            let contents = read(&profile, &detail, &Options::default());
            let of = |callee: &str, caller: &str| {
                let is_it = |trace: &&Trace| {
                    let methods = trace.frames.iter().map(|frame| frame.method.as_str());
                    methods.take(2).eq([callee, caller])
                };
                contents
                    .traces
                    .values()
                    .find(is_it)
                    .expect("the trace is written")
            };
            let frames = &of("leaf", "right").frames;
            assert_eq!([frames[0].line, frames[2].line], expected, "{timing:?}");
        }
    }
}

/// Code outside of Java methods, for example the JVM's own, counts for the method that called it.
#[test]
fn traces_have_methods_of_java_alone() {
    let mut sampled = profile(Timing::Sampled);
    sampled.methods[3] = Method::virtual_machine();
    let detail = Detail {
        by_thread: false,
        ..Detail::default()
    };
    let contents = read(&sampled, &detail, &Options::default());
    let counts: Vec<(&str, i64, usize)> = rows(&contents)
        .into_iter()
        .map(|(name, count, _, depth)| (name, count, depth))
        .collect();
    let expected = [
        ("shop.Shop.right", 46, 2),
        ("shop.Shop.left", 24, 2),
        ("shop.Shop.main", 2, 1),
    ];
    assert_eq!(counts, expected);
}

/// Returns the waits of two threads at one place, and two threads that wait for each other.
fn monitors() -> MonitorTables {
    let contention = |kind, thread, ns| Contention {
        kind,
        thread,
        frames: vec![(3, Some(7)), (1, None)],
        class: "shop.Lock".to_owned(),
        count: 2,
        ns,
    };
    let state = |thread| ThreadState {
        thread,
        frames: vec![(0, None)],
        status: "MW".to_owned(),
    };
    let monitor = |owner, waits| MonitorState {
        class: "Lshop/Lock;".to_owned(),
        owner: Some((owner, 1)),
        to_enter: vec![waits],
        to_be_notified: Vec::new(),
    };
    MonitorTables {
        contentions: vec![
            contention(WaitKind::Monitor, 0, 3_000_000),
            contention(WaitKind::Monitor, 1, 1_000_000),
            contention(WaitKind::Lock, 1, 2_000_000),
        ],
        waits: vec![
            Waiting {
                thread: 1,
                event: WaitEvent::Ends {
                    class: "Lshop/Lock;".to_owned(),
                    waited_ms: 5,
                },
            },
            Waiting {
                thread: 0,
                event: WaitEvent::Sleeps { timeout_ms: 6 },
            },
        ],
        lost_waits: 8,
        lost_sleeps: 9,
        dump: MonitorDump {
            threads: vec![state(0), state(1)],
            monitors: vec![monitor(0, 1), monitor(1, 0)],
        },
    }
}

#[test]
fn monitors_are_written_beside_a_profile() {
    let profile = profile(Timing::Count);
    let (monitors, options) = (monitors(), Options::default());
    let detail = Detail {
        by_thread: false,
        ..Detail::default()
    };
    let mut text = Vec::new();
    let begun = begin_text(&profile, Some(&monitors), &detail, &options, &mut text);
    begun
        .and_then(|writer| writer.finish())
        .expect("memory can be written");
    let written = String::from_utf8_lossy(&text);
    for part in [
        "\n8 further events of Object.wait are left out.\n9 further events of Thread.sleep are left out.\n",
        "\nDeadlock: each of these threads waits for the next one: one, two.\n",
        "\nWAITED: MONITOR Lshop/Lock;, time_waited=5, thread 200002\nSLEEP: timeout=6, thread 200001\n",
        "\nMONITOR TIME BEGIN (total = 4 ms) ",
        "\nPARK TIME BEGIN (total = 2 ms) ",
    ] {
        assert!(written.contains(part), "{part}: {written}");
    }
    let whole = Contents::read(&text[..]);
    assert!(whole.error.is_none(), "{:?}", whole.error);
    assert_eq!(whole.contents.warnings, []);
    let mut binary = Vec::new();
    let begun = begin_binary(&profile, Some(&monitors), &detail, &options, &mut binary);
    begun
        .and_then(|writer| writer.finish())
        .expect("memory can be written");
    assert_eq!((walk(&binary)[&0x41], walk(&binary)[&0x44]), (1, 1));
    for file in [&text, &binary] {
        let contents = Contents::read(&file[..]).contents;
        let Some(Section::Monitors(dump)) = contents.sections.last() else {
            panic!("{contents:?}");
        };
        let Some(Section::Monitors(expected)) = whole.contents.sections.last() else {
            panic!("{whole:?}");
        };
        assert_eq!((dump, dump.deadlocks().len()), (expected, 1));
        let Some(Section::Costs { begin, rows }) = contents.sections.first() else {
            panic!("{contents:?}");
        };
        assert_eq!((begin.kind, begin.total), (CostKind::Monitors, 4));
        let [row] = &rows[..] else {
            panic!("{rows:?}");
        };
        assert_eq!(
            (row.count, row.own, row.name.as_str()),
            (4, 100.0, "shop.Lock")
        );
        let frames = &contents.traces[&row.trace].frames;
        assert_eq!((frames[0].method.as_str(), frames[0].line), ("leaf", 7));
    }
}

#[test]
fn a_profile_with_calls_alone_is_refused() {
    let counted = profile(Timing::Count);
    let written = Format::Hprof.write(&counted, &Options::default(), &mut Vec::new());
    let error = written.expect_err("there is no table").to_string();
    assert!(
        error.starts_with("HPROF's text has times or allocations"),
        "{error}"
    );
}

/// Counting begins anew after a file that a signal asks for. Samples of one method at two lines are two nodes then, too.
#[test]
fn lines_are_told_apart_in_the_time_between_two_profiles() {
    let at = |samples: [u64; 2]| {
        let nodes = [3, 4].into_iter().zip(samples);
        let nodes = nodes.map(|(line, samples)| Node {
            line: Some(line),
            ..node(None, 0, samples, 0, 0)
        });
        let mut profile = profile(Timing::Sampled);
        profile.threads.truncate(1);
        profile.threads[0].nodes = nodes.collect();
        profile
    };
    let between = since(&at([5, 7]), &at([6, 7]));
    let nodes = between.threads[0].nodes.iter();
    let nodes: Vec<_> = nodes.map(|node| (node.line, node.timed)).collect();
    assert_eq!(nodes, [(Some(3), 1)]);
}
