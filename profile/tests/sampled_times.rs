//! Profiles whose calls were counted alone and whose times come from samples: every format, comparisons
//! and sums.

mod common;
mod schema;

use std::io::Read;

use common::{MS, pair, small, text};
use loadhook_profile::analysis::diff::methods::compare;
use loadhook_profile::format::diff::methods::{write as write_diff, write_json};
use loadhook_profile::format::pprof::{ReadError, read, write};
use loadhook_profile::format::{Format, Options, Sort, difference_page, write_waiting};
use loadhook_profile::{
    Engine, Header, MergeError, Method, MethodCalls, Node, Profile, SampledNode, Sampling,
    ThreadKind, ThreadTree, Timing, Waiting, merge, sampled_tree,
};
use loadhook_testkit::browser::run;
use proptest::prelude::*;
use serde_json::Value;

/// Processor time between two samples.
const TICK: u64 = 4 * MS;

fn methods() -> Vec<Method> {
    let of_program = |class: &str, name: &str, descriptor: &str, line| Method {
        loader: "app".into(),
        file: Some(format!("{}.java", class.rsplit('.').next().expect("a name")).into()),
        line: Some(line),
        ..Method::new(class, name, descriptor)
    };
    vec![
        of_program(
            "com.example.shop.Server",
            "main",
            "([Ljava/lang/String;)V",
            12,
        ),
        of_program(
            "com.example.shop.Server",
            "handle",
            "(Lcom/example/Request;)V",
            40,
        ),
        of_program("com.example.shop.Cart", "add", "(Ljava/lang/String;)V", 7),
        of_program(
            "com.example.shop.json.Parser",
            "parseValue",
            "()Ljava/lang/Object;",
            70,
        ),
        of_program(
            "com.example.shop.json.Parser",
            "parseArray",
            "()Ljava/lang/Object;",
            99,
        ),
        of_program("com.example.shop.Config", "load", "()V", 5),
        Method::new(
            "java.util.HashMap",
            "getNode",
            "(Ljava/lang/Object;)Ljava/util/HashMap$Node;",
        ),
        Method::new("jdk.internal.misc.Unsafe", "park", "(ZJ)V"),
        Method::new("java.lang.Object", "wait0", "(J)V"),
        Method::native("libzip.so", "inflate"),
        Method::garbage_collector(),
        Method::unwalked(),
    ]
}

/// A stack that so many samples met.
fn met(parent: Option<u32>, method: u32, samples: u64) -> SampledNode {
    SampledNode {
        parent,
        method,
        self_ns: samples * TICK,
        self_squares: samples as f64 * (TICK as f64).powi(2),
        samples,
        waiting: Waiting::default(),
    }
}

/// A stack with which a thread waited.
fn waited(parent: u32, method: u32, waiting: Waiting) -> SampledNode {
    SampledNode {
        waiting,
        ..met(Some(parent), method, 0)
    }
}

fn thread(name: &str, id: Option<u64>, kind: ThreadKind, nodes: Vec<Node>) -> ThreadTree {
    ThreadTree {
        name: name.into(),
        id,
        kind,
        cpu_ns: None,
        nodes,
    }
}

/// A shop, whose parser of JSON calls itself.
fn shop() -> Profile {
    let parked = Waiting {
        parked_ns: 2_100 * MS,
        ..Waiting::default()
    };
    let locked = Waiting {
        monitor_ns: 130 * MS,
        ..Waiting::default()
    };
    let main = sampled_tree(&[
        met(None, 0, 1),
        met(Some(0), 1, 3),
        met(Some(1), 3, 40),
        met(Some(2), 4, 21),
        met(Some(3), 3, 17),
        met(Some(4), 4, 6),
        met(Some(1), 2, 130),
        met(Some(6), 6, 75),
        met(Some(1), 9, 9),
        met(Some(1), 11, 1),
        waited(0, 7, parked),
        waited(6, 8, locked),
    ]);
    let workers = sampled_tree(&[
        met(None, 1, 0),
        met(Some(0), 2, 60),
        waited(
            0,
            7,
            Waiting {
                parked_ns: 600 * MS,
                ..Waiting::default()
            },
        ),
        waited(1, 8, locked),
    ]);
    // Read from the thread's clock.
    let collector = Node {
        method: 10,
        all_ns: 35 * MS,
        outermost_ns: 35 * MS,
        ..Node::default()
    };
    let calls = [1, 12_345, 98_765_432, 4_321, 2_000, 3];
    let counted = calls.into_iter().zip(0..);
    Profile {
        header: Header {
            timing: Timing::Sampled,
            start_epoch_millis: 1_763_600_000_123,
            duration_ns: 2_345 * MS,
            tracker_bytes: 123_456,
            command: "java -jar shop.jar".to_owned(),
            jvm: "OpenJDK 64-Bit Server VM 25.0.3".to_owned(),
            version: "0.1.0".to_owned(),
            ..Header::default()
        },
        methods: methods(),
        threads: vec![
            thread("main", Some(1), ThreadKind::Platform, main),
            thread("worker-#", None, ThreadKind::Ended, workers),
            thread("[GC]", None, ThreadKind::Platform, vec![collector]),
        ],
        method_calls: counted
            .map(|(calls, method)| MethodCalls {
                method,
                calls,
                since_ns: None,
            })
            .collect(),
        sampling: Some(Sampling {
            engine: Engine::Async,
            interval_ns: MS,
            tick_ns: TICK,
            wall_interval_ns: 10 * MS,
            samples: 363,
            weight_ns: 363 * TICK,
            tracker_ns: 3 * TICK,
            tracker: 2,
            unwalked_ns: TICK,
            unwalked: 1,
            cut: 0,
            lost: 2,
        }),
        allocations: None,
    }
}

/// Calls that were counted without an agent, and nothing else.
fn counted() -> Profile {
    let mut profile = shop();
    profile.header.timing = Timing::Count;
    profile.sampling = None;
    profile.threads.clear();
    profile
}

fn wide(width: usize) -> Options<'static> {
    Options {
        width,
        ..Options::default()
    }
}

#[test]
fn table_of_samples() {
    insta::assert_snapshot!(text(Format::Table, &shop(), &wide(120)));
}

#[test]
fn table_of_samples_on_a_narrow_terminal() {
    insta::assert_snapshot!(text(Format::Table, &shop(), &wide(80)));
}

/// Calls, self, total and the method are left.
#[test]
fn table_of_samples_on_a_very_narrow_terminal() {
    insta::assert_snapshot!(text(Format::Table, &shop(), &wide(60)));
}

/// Calls are of all threads together.
#[test]
fn one_thread_has_no_calls() {
    let is_main = |name: &str| name == "main";
    let options = Options {
        thread: Some(&is_main),
        ..wide(120)
    };
    insta::assert_snapshot!(text(Format::Table, &shop(), &options));
}

/// All time of a focused method is kept, so that its calls go with it. Others' calls do not.
#[test]
fn focused_methods_keep_their_calls() {
    let is_cart = |method: &Method| &*method.class == "com.example.shop.Cart";
    let options = Options {
        focus: Some(&is_cart),
        ..wide(120)
    };
    insta::assert_snapshot!(text(Format::Table, &shop(), &options));
}

#[test]
fn table_of_counts_alone() {
    insta::assert_snapshot!(text(Format::Table, &counted(), &wide(100)));
}

#[test]
fn tree_of_samples() {
    insta::assert_snapshot!(text(Format::Tree, &shop(), &wide(100)));
}

#[test]
fn places_of_waiting() {
    let mut out = Vec::new();
    write_waiting(&shop(), &wide(100), &mut out).expect("a vector takes all");
    insta::assert_snapshot!(String::from_utf8(out).expect("UTF-8"));
}

/// Without counts, the program's classes are known by their names.
#[test]
fn places_of_waiting_without_counts() {
    let table = |profile: &Profile| {
        let mut out = Vec::new();
        write_waiting(profile, &wide(100), &mut out).expect("a vector takes all");
        String::from_utf8(out).expect("UTF-8")
    };
    let mut uncounted = shop();
    uncounted.method_calls.clear();
    assert_eq!(table(&uncounted), table(&shop()));
    for node in uncounted.threads.iter_mut().flat_map(|t| &mut t.nodes) {
        node.waiting = Waiting::default();
    }
    assert!(table(&uncounted).ends_with("No sample met a waiting thread\n"));
    uncounted
        .sampling
        .as_mut()
        .expect("sampled")
        .wall_interval_ns = 0;
    assert!(table(&uncounted).ends_with("run again with --clock wall\n"));
}

#[test]
fn collapsed_stacks_of_samples() {
    insta::assert_snapshot!(text(Format::Collapsed, &shop(), &Options::default()));
}

#[test]
fn json_of_samples() {
    let json: Value =
        serde_json::from_str(&text(Format::Json, &shop(), &Options::default())).expect("JSON");
    assert_eq!(json["version"], 2);
    assert_eq!(json["sampling"]["engine"], "async");
    assert_eq!(json["sampling"]["samples"], 363);
    let methods = json["methods"].as_array().expect("methods");
    let of = |name: &str| {
        let found = methods.iter().find(|method| method["method"] == name);
        found.unwrap_or_else(|| panic!("{name} is missing"))
    };
    let add = of("add");
    assert_eq!(add["calls"], 98_765_432u64);
    assert_eq!(add["self_ns"], 190 * TICK);
    assert_eq!(add["total_ns"], 265 * TICK);
    assert_eq!(add["samples"], 265);
    assert_eq!(add["waiting_ns"], 260 * MS);
    assert_eq!(add["mean_ns"], (265.0 * TICK as f64 / 98_765_432.0).round());
    assert_eq!(of("getNode")["calls"], Value::Null);
    assert_eq!(of("getNode")["mean_ns"], Value::Null);
    // It was called, but no sample met it.
    assert_eq!(of("load")["calls"], 3);
    assert_eq!(of("load")["mean_ns"], Value::Null);
    // It only waited.
    assert!(methods.iter().all(|method| method["method"] != "park"));
    let nodes = json["tree"].as_array().expect("nodes");
    let waiting = nodes.iter().filter_map(|node| node["waiting"].as_object());
    assert_eq!(waiting.clone().count(), 4);
    let parked: u64 = waiting
        .map(|waiting| waiting["parked_ns"].as_u64().expect("a number"))
        .sum();
    assert_eq!(parked, 2_700 * MS);
    assert!(nodes.iter().all(|node| node["calls"] == Value::Null));
    // Profiles of probes have none of these fields.
    let probed: Value =
        serde_json::from_str(&text(Format::Json, &small(), &Options::default())).expect("JSON");
    assert_eq!(probed.get("sampling"), None);
    assert_eq!(probed["methods"][0].get("samples"), None);
    assert_eq!(probed["tree"][0].get("waiting"), None);
}

/// One sample in ten takes the square root of ten, and of one more.
#[test]
fn errors_are_honest_where_samples_are_few() {
    let json: Value =
        serde_json::from_str(&text(Format::Json, &shop(), &Options::default())).expect("JSON");
    let error = |name: &str| {
        let methods = json["methods"].as_array().expect("methods");
        let method = methods.iter().find(|m| m["method"] == name).expect("met");
        method["self_error_ns"].as_f64().expect("a number") / TICK as f64
    };
    for (name, samples) in [
        ("main", 1.0f64),
        ("handle", 3.0),
        ("inflate", 9.0),
        ("add", 190.0),
    ] {
        let expected = (samples + 1.0).sqrt();
        assert!(
            (error(name) - expected).abs() < 1e-3,
            "{name}: {}",
            error(name)
        );
    }
    // It was not sampled.
    let collector = json["methods"]
        .as_array()
        .expect("methods")
        .iter()
        .find(|m| m["class"] == "[GC]");
    assert_eq!(collector.expect("it ran")["self_error_ns"], 0);
}

fn written(profile: &Profile) -> Vec<u8> {
    let mut file = Vec::new();
    write(profile, &mut file).expect("a vector takes all");
    file
}

#[test]
fn written_samples_are_read_back() {
    for profile in [shop(), counted()] {
        assert_eq!(read(&written(&profile)).expect("ours"), profile);
    }
    let mut twice = shop();
    twice.method_calls.push(MethodCalls {
        since_ns: None,
        method: 0,
        calls: 1,
    });
    assert!(matches!(read(&written(&twice)), Err(ReadError::Damaged(_))));
    let mut missing = shop();
    missing.method_calls.push(MethodCalls {
        since_ns: None,
        method: 99,
        calls: 1,
    });
    assert!(matches!(
        read(&written(&missing)),
        Err(ReadError::Damaged(_))
    ));
}

#[test]
fn other_tools_see_samples_and_calls() {
    let profile = shop();
    let mut bytes = Vec::new();
    let file = written(&profile);
    flate2::read::GzDecoder::new(&file[..])
        .read_to_end(&mut bytes)
        .expect("gzip");
    let file = schema::Profile::decode(&bytes);
    let types = [
        ("samples", "count"),
        ("cpu", "nanoseconds"),
        ("waiting", "nanoseconds"),
        ("calls", "count"),
    ];
    assert_eq!(
        file.sample_types,
        types.map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
    assert_eq!(file.default_sample_type, "cpu");
    assert_eq!(
        file.period_type,
        ("cpu".to_owned(), "nanoseconds".to_owned())
    );
    let sum = |at: usize| {
        file.samples
            .iter()
            .map(|sample| sample.values[at])
            .sum::<i64>()
    };
    assert_eq!(sum(0), 363);
    assert_eq!(sum(1), (363 * TICK + 35 * MS) as i64);
    assert_eq!(sum(2), (2_700 + 2 * 130) * MS as i64);
    assert_eq!(sum(3), profile.calls() as i64);
    // Calls have one frame and no thread; samples have no calls.
    for sample in file.samples.iter().filter(|sample| sample.values[3] > 0) {
        assert_eq!((sample.stack.len(), sample.labels.len()), (1, 0));
        assert_eq!(sample.values[..3], [0, 0, 0]);
    }
    insta::assert_snapshot!(file.comments.join("\n"), @"Loadhook 0.1.0: processor times from samples; 363 samples every 4.00 ms of processor time, async engine, 0.3 % of time in [unwalked], 12.0 ms of counting left out, 2 lost");
}

#[test]
fn sums_have_both_kinds() {
    let mut second = shop();
    second.header.process = "2".to_owned();
    // The same methods in another order.
    second.methods.swap(0, 9);
    for node in second.threads.iter_mut().flat_map(|t| &mut t.nodes) {
        node.method = match node.method {
            0 => 9,
            9 => 0,
            other => other,
        };
    }
    for counted in &mut second.method_calls {
        if counted.method == 0 {
            counted.method = 9
        }
    }
    let both = merge(&[shop(), second]).expect("alike");
    assert_eq!(both.calls(), 2 * shop().calls());
    assert_eq!(both.method_calls.len(), 6);
    assert_eq!(both.sampling.expect("sampled").samples, 2 * 363);
    assert_eq!(both.sampling.expect("sampled").tick_ns, TICK);
    let waited = |profile: &Profile| {
        let nodes = profile.threads.iter().flat_map(|t| &t.nodes);
        nodes.map(|node| node.waiting.total_ns()).sum::<u64>()
    };
    assert_eq!(waited(&both), 2 * waited(&shop()));
    assert_eq!(both.threads.len(), 3);
}

#[test]
fn samples_and_probes_do_not_mix() {
    let mut probed = small();
    probed.header.clock = shop().header.clock;
    let refused = [
        merge(&[shop(), probed.clone()]).map(|_| ()),
        compare(pair(&shop(), &probed), &Options::default()).map(|_| ()),
        difference_page(&[shop()], &[probed], &Options::default()).map(|_| ()),
    ];
    for result in refused {
        let error = result.expect_err("they do not mix");
        assert_eq!(error, MergeError::Samples);
        assert!(
            error
                .to_string()
                .ends_with("profile both with the same --timing")
        );
    }
    let mut biased = shop();
    biased.sampling.as_mut().expect("sampled").engine = Engine::Safepoint;
    let refused = [
        merge(&[shop(), biased.clone()]).map(|_| ()),
        compare(pair(&shop(), &biased), &Options::default()).map(|_| ()),
    ];
    for result in refused {
        assert_eq!(result, Err(MergeError::Engines));
    }
    assert_eq!(
        merge(&[shop(), counted()]).map(|_| ()),
        Err(MergeError::Timings)
    );
}

/// The second side called `add` less, and met the hash map twice as often.
fn later() -> Profile {
    let mut later = shop();
    later.method_calls[2].calls = 90_000_000;
    for thread in &mut later.threads {
        for at in 0..thread.nodes.len() {
            if thread.nodes[at].method != 6 {
                continue;
            }
            let more = thread.nodes[at].all_ns;
            thread.nodes[at].timed *= 2;
            thread.nodes[at].ticked_ns *= 2;
            thread.nodes[at].ticked_variance *= 2.0;
            let mut place = Some(at as u32);
            let mut is_callee = false;
            while let Some(here) = place {
                let node = &mut thread.nodes[here as usize];
                node.all_ns += more;
                node.outermost_ns += more;
                node.variance += more as f64 * TICK as f64;
                if is_callee {
                    node.child_ns += more
                }
                is_callee = true;
                place = node.parent;
            }
        }
    }
    later
}

#[test]
fn samples_are_compared() {
    let [before, after] = [shop(), later()];
    for sort in [Sort::Calls, Sort::SelfTime] {
        let options = Options { sort, ..wide(110) };
        let compared = compare(pair(&before, &after), &options).expect("alike");
        let mut out = Vec::new();
        write_diff(&compared, &options, &mut out).expect("a vector takes all");
        insta::assert_snapshot!(String::from_utf8(out).expect("UTF-8"));
    }
    let options = Options::default();
    let compared = compare(pair(&before, &after), &options).expect("alike");
    let mut out = Vec::new();
    write_json(&compared, &options, &mut out).expect("a vector takes all");
    let json: Value = serde_json::from_slice(&out).expect("JSON");
    assert_eq!(json["version"], 3);
    let methods = json["methods"].as_array().expect("methods");
    let of = |name: &str| methods.iter().find(|m| m["method"] == name).expect("met");
    assert_eq!(of("getNode")["after"][0]["calls"], Value::Null);
    assert_eq!(of("getNode")["after"][0]["self_ns"], 150 * TICK);
    assert_eq!(of("add")["before"][0]["calls"], 98_765_432u64);
}

/// A method that samples met in one run only was not therefore new.
#[test]
fn methods_that_samples_missed_are_not_gone() {
    let mut later = shop();
    later.threads.retain(|thread| &*thread.name != "[GC]");
    let compared = compare(pair(&shop(), &later), &Options::default()).expect("alike");
    let collector = compared.changes.iter().find(|change| change.name == "[GC]");
    let verdict = collector.expect("it ran before").judgement.verdict;
    assert_eq!(verdict, loadhook_profile::analysis::diff::Verdict::Untested);
}

#[test]
fn every_format_takes_samples() {
    for profile in [shop(), counted()] {
        for format in Format::ALL {
            // It is for allocations only.
            if format != Format::Hprof {
                let mut out = Vec::new();
                let written = format.write(&profile, &Options::default(), &mut out);
                written.expect("a vector takes all");
                let is_flat = format == Format::Collapsed && profile.threads.is_empty();
                assert!(!out.is_empty() || is_flat, "{format:?}");
            }
        }
    }
}

fn page(profile: &Profile) -> String {
    text(Format::Html, profile, &Options::default())
}

#[test]
fn the_page_has_calls_and_waiting() {
    let script = r#"
        const cells = (id) => [...document.querySelectorAll(`#${id} tr`)].map((row) =>
            [...row.children].map((cell) => cell.textContent).join(' | ')).join('\n');
        const text = (id) => document.getElementById(id).textContent;
        const flame = boxes.flat().map(({ node }) => describe(node).replaceAll('\n', ' / ')).slice(0, 4).join('\n');
        show('methods');
        const table = [cells('columns'), cells('rows')].join('\n');
        details(methods.name.findIndex((name) => name.includes('Cart.add')));
        const facts = [text('details-facts'), cells('details-figures'), cells('callers'), cells('callees')].join('\n');
        chooseThread(0);
        const alone = [cells('columns'), cells('rows')].join('\n');
        chooseThread(LAID_OVER);
        show('tree');
        return [text('facts'), text('remarks'), flame, table, facts, alone, cells('tree-columns'), cells('tree-rows')].join('\n\n');
    "#;
    insta::assert_snapshot!(run(&page(&shop()), script));
}

#[test]
fn the_page_of_counts_alone_has_a_table() {
    let script = r#"
        show('methods');
        const rows = [...document.querySelectorAll('#rows tr')].map((row) => [...row.children].map((cell) => cell.textContent).join(' | '));
        return [document.getElementById('facts').textContent, ...rows].join('\n');
    "#;
    insta::assert_snapshot!(run(&page(&counted()), script));
}

#[test]
fn pages_compare_samples() {
    let mut out = Vec::new();
    let page = difference_page(&[shop()], &[later()], &Options::default()).expect("alike");
    page.write(&mut out).expect("a vector takes all");
    let script = r#"
        show('methods');
        const row = [...document.querySelectorAll('#rows tr')].find((row) => row.textContent.includes('getNode'));
        return [...row.children].map((cell) => cell.textContent).join(' | ');
    "#;
    insta::assert_snapshot!(run(&String::from_utf8(out).expect("UTF-8"), script), @"+300 ms | +100.0 % | 300 ms | 600 ms | 600 ms | +300 ms | +75 | 150 | java.util.HashMap.getNode");
}

prop_compose! {
    fn any_waiting()(parts in prop::array::uniform5(0u64..1 << 50)) -> Waiting {
        Waiting::of_parts(parts)
    }
}

prop_compose! {
    fn any_stacks()(rows in prop::collection::vec((any::<prop::sample::Index>(), 0u32..12, 0u64..1_000, any_waiting()), 0..40)) -> Vec<SampledNode> {
        let rows = rows.into_iter().enumerate();
        let stack = |(at, (parent, method, samples, waiting)): (usize, (prop::sample::Index, u32, u64, Waiting))| SampledNode {
            waiting,
            ..met(parent.index(at + 1).checked_sub(1).map(|parent| parent as u32), method, samples)
        };
        rows.map(stack).collect()
    }
}

prop_compose! {
    fn any_sampling()(engine in prop::bool::ANY, numbers in prop::array::uniform11(any::<u64>())) -> Sampling {
        let [interval_ns, tick_ns, wall_interval_ns, samples, weight_ns, tracker_ns, tracker, unwalked_ns, unwalked, cut, lost] = numbers;
        Sampling {
            engine: if engine { Engine::Async } else { Engine::Safepoint },
            interval_ns, tick_ns, wall_interval_ns, samples, weight_ns, tracker_ns, tracker, unwalked_ns, unwalked, cut, lost,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_samples_are_read_as_written(
        stacks in any_stacks(),
        sampling in prop::option::of(any_sampling()),
        calls in prop::collection::btree_map(0u32..12, any::<u64>(), 0..12),
    ) {
        let mut profile = shop();
        profile.threads[0].nodes = sampled_tree(&stacks);
        profile.sampling = sampling;
        profile.method_calls = calls.into_iter().map(|(method, calls)| MethodCalls { method, calls, since_ns: None }).collect();
        prop_assert_eq!(&read(&written(&profile)).expect("ours"), &profile);
        for format in Format::ALL {
            let mut out = std::io::sink();
            format.write(&profile, &Options::default(), &mut out).expect("a sink takes all");
        }
    }

    /// What the rows of a table add up to is the time of the samples.
    #[test]
    fn self_times_add_up(stacks in any_stacks()) {
        let mut profile = shop();
        profile.threads.truncate(1);
        profile.threads[0].nodes = sampled_tree(&stacks);
        let json: Value = serde_json::from_str(&text(Format::Json, &profile, &Options::default())).expect("JSON");
        let sum: u64 = json["methods"].as_array().expect("methods").iter().map(|m| m["self_ns"].as_u64().expect("known")).sum();
        prop_assert_eq!(sum, stacks.iter().map(|stack| stack.self_ns).sum::<u64>());
        for method in json["methods"].as_array().expect("methods") {
            prop_assert!(method["total_ns"].as_u64() >= method["self_ns"].as_u64());
            let whole: u64 = stacks.iter().map(|stack| stack.self_ns).sum();
            prop_assert!(method["total_ns"].as_u64() <= Some(whole));
        }
    }
}
