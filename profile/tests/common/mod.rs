//! Profiles for tests: a small one written by hand, and large generated ones.
#![allow(dead_code)]

use loadhook_profile::format::{Format, Options};
use loadhook_profile::{
    Allocations, Amount, Clock, Frame, GcPauses, Header, LatencyRange, Method, Node, ProbeCosts,
    Profile, Seen, Site, ThreadKind, ThreadTree, Timing,
};

/// Returns a profile written in a text format.
pub(crate) fn text(format: Format, profile: &Profile, options: &Options<'_>) -> String {
    let mut out = Vec::new();
    format
        .write(profile, options, &mut out)
        .expect("writing to memory cannot fail");
    String::from_utf8(out).expect("the text is UTF-8")
}

/// A millisecond in nanoseconds.
pub(crate) const MS: u64 = 1_000_000;

/// Returns [`small`] with each call timed. The durations of three methods are known; of the second one, only for
/// a part of the calls.
pub(crate) fn measured() -> Profile {
    let mut profile = small();
    profile.header.timing = Timing::Exact;
    for node in profile
        .threads
        .iter_mut()
        .flat_map(|thread| &mut thread.nodes)
    {
        node.timed = node.calls;
        node.variance = 0.0;
    }
    let numbers = || 0..LatencyRange::COUNT;
    let range = |(method, longest_ns, calls): (u32, u64, u64)| {
        let range = |range| LatencyRange {
            method,
            range,
            calls,
        };
        numbers()
            .map(range)
            .find(|range| range.longest_ns() >= longest_ns)
            .expect("there is a range for each duration")
    };
    let calls = [
        (1, MS, 900),
        (1, 8 * MS, 115),
        (1, 30 * MS, 5),
        (6, 10_000, 7_000),
        (6, 20_000, 1_000),
        (10, 50 * MS, 10),
    ];
    profile.latencies = calls.map(range).to_vec();
    profile
}

/// Returns the methods of [`small`]; nodes refer to them by index.
fn methods() -> Vec<Method> {
    let method = |class: &str, name: &str, descriptor: &str, line: u32| Method {
        loader: "app".into(),
        file: Some(format!("{}.java", class.rsplit('.').next().unwrap_or(class)).into()),
        line: Some(line),
        ..Method::new(class, name, descriptor)
    };
    let string = "Ljava/lang/String;";
    let mut methods = vec![
        /* 0 */
        method(
            "com.example.shop.Main",
            "main",
            &format!("([{string})V"),
            12,
        ),
        /* 1 */
        method(
            "com.example.shop.web.Server",
            "handle",
            "(Lcom/example/shop/web/Request;)V",
            40,
        ),
        /* 2 */
        method(
            "com.example.shop.web.Cart",
            "add",
            &format!("({string}I)V"),
            21,
        ),
        /* 3 */
        method(
            "com.example.shop.web.Cart",
            "add",
            &format!("({string})V"),
            17,
        ),
        /* 4 */ method("com.example.shop.price.Expression", "evaluate", "()D", 33),
        /* 5 */ method("com.example.shop.price.Sum", "evaluate", "()D", 9),
        /* 6 */
        method(
            "com.example.shop.price.internal.rules.very.deeply.nested.DiscountTableLookup",
            "find",
            "(I)D",
            101,
        ),
        /* 7 */
        Method::new(
            "java.util.HashMap",
            "get",
            "(Ljava/lang/Object;)Ljava/lang/Object;",
        ),
        /* 8 */ method("com.example.shop.Plugin", "<init>", "()V", 5),
        /* 9 */ method("com.example.shop.Plugin", "<init>", "()V", 5),
        /* 10 */ method("com.example.shop.Main", "lambda$main$0;odd", "()V", 14),
        /* 11 */ Method::overflow(),
    ];
    methods[9].loader = "plugins".into();
    methods
}

fn calls_of_main() -> Vec<Node> {
    vec![
        node(None, 0, 1, [2000 * MS, 2000 * MS, 1900 * MS]),
        node(Some(0), 1, 1000, [1850 * MS, 1850 * MS, 1700 * MS]),
        Node {
            // Each call takes 1.2 µs, and one call in 100 is timed.
            variance: (5.0 * MS as f64).powi(2),
            timed: 5_000,
            ..node(Some(1), 2, 500_000, [600 * MS, 600 * MS, 300 * MS])
        },
        Node {
            variance: (30.0 * MS as f64).powi(2),
            timed: 2_000,
            ..node(Some(2), 7, 1_000_000, [300 * MS, 300 * MS, 0])
        },
        // `Expression` calls itself through `Sum`, three levels deep.
        node(Some(1), 4, 3_000, [1800 * MS, 1000 * MS, 1400 * MS]),
        node(Some(4), 5, 3_000, [1400 * MS, 900 * MS, 900 * MS]),
        node(Some(5), 6, 9_000, [100 * MS, 100 * MS, 0]),
        node(Some(1), 3, 1_000, [100 * MS, 100 * MS, 0]),
        node(Some(0), 8, 1, [30 * MS, 30 * MS, 0]),
        node(Some(0), 9, 1, [20 * MS, 20 * MS, 0]),
        Node {
            timed: 0,
            ..node(Some(0), 11, 77, [0, 0, 0])
        },
    ]
}

fn calls_of_pool() -> Vec<Node> {
    vec![
        node(None, 10, 10, [500 * MS, 500 * MS, 450 * MS]),
        node(Some(0), 1, 20, [450 * MS, 450 * MS, 40 * MS]),
        node(Some(1), 3, 20, [40 * MS, 40 * MS, 0]),
    ]
}

fn header() -> Header {
    Header {
        timing: Timing::Adaptive,
        clock: Clock::Wall,
        start_epoch_millis: 1_763_600_000_123,
        duration_ns: 2_345 * MS,
        attaching_ns: 0,
        tracker_bytes: 1_234_567,
        overflowed_calls: 77,
        probe: ProbeCosts {
            inside_ps: 19_000,
            outside_ps: 4_000,
            clock_read_ps: 19_500,
        },
        command: "java -jar shop.jar --greeting '</script><b>&amp;'".to_owned(),
        jvm: "OpenJDK 64-Bit Server VM 25.0.3".to_owned(),
        version: "0.1.0".to_owned(),
        process: "4711-1700000000000-5".into(),
        left_alone: [("code too large", 2), ("trivial", 1_345)]
            .map(|(reason, methods)| (reason.to_owned(), methods))
            .into(),
        unmatched: vec!["com.exmaple.**".to_owned()],
        not_ended: false,
        notes: vec!["virtual threads have no CPU time".to_owned()],
        explained: Vec::new(),
    }
}

/// Returns the profile of a shop that serves requests. It has overloads, a class of two loaders, direct and
/// mutual recursion, estimated times, a full tree, and names with characters that are special in
/// some format.
pub(crate) fn small() -> Profile {
    let thread = |name: &str, id, kind, nodes| ThreadTree {
        name: name.into(),
        id,
        kind,
        cpu_ns: None,
        nodes,
    };
    let (main, pool) = (calls_of_main(), calls_of_pool());
    Profile {
        header: header(),
        methods: methods(),
        threads: vec![
            thread("main", Some(1), ThreadKind::Platform, main),
            thread("pool-1 \"</script>\"; 木", None, ThreadKind::Ended, pool),
        ],
        ..Profile::default()
    }
}

/// Returns [`small`] with pauses of the garbage collector.
pub(crate) fn paused() -> Profile {
    let some = |cause: &str, collector: &str, pauses, total, longest| GcPauses {
        cause: cause.to_owned(),
        collector: collector.to_owned(),
        pauses,
        total_ns: total * MS,
        longest_ns: longest * MS,
    };
    Profile {
        gc_pauses: Some(vec![
            some(
                "G1 Evacuation Pause",
                "G1 young collection pauses",
                3,
                10,
                5,
            ),
            some("System.gc()", "G1 full collection pauses", 2, 50, 40),
        ]),
        ..small()
    }
}

/// Returns a node all of whose calls were timed.
pub(crate) fn node(
    parent: Option<u32>,
    method: u32,
    calls: u64,
    [all_ns, outermost_ns, child_ns]: [u64; 3],
) -> Node {
    Node {
        parent,
        method,
        calls,
        timed: calls,
        all_ns,
        outermost_ns,
        child_ns,
        ..Node::default()
    }
}

/// Returns allocations by the methods of [`small`]: two callers of one line, several types, and a site without a
/// frame.
pub(crate) fn allocations() -> Allocations {
    let frame = |parent, method, line, bci| Frame {
        parent,
        method,
        line,
        bci,
    };
    let amount = |objects: f64, bytes| Amount {
        objects,
        bytes,
        ..Amount::default()
    };
    let site = |thread, frame, type_name: &str, allocated, live| Site {
        thread,
        frame,
        type_name: type_name.into(),
        allocated,
        live,
        live_age: 0.0,
    };
    Allocations {
        seen: Seen::Exact,
        live: false,
        frames: vec![
            frame(None, 0, Some(12), None),
            frame(Some(0), 1, Some(40), Some(17)),
            frame(Some(0), 1, Some(41), Some(65_535)),
            frame(None, 1, Some(40), Some(17)),
            frame(Some(1), 2, None, None),
        ],
        sites: vec![
            site(
                0,
                Some(1),
                "int[]",
                amount(1000.0, Some(160_000.0)),
                Amount::default(),
            ),
            site(0, Some(2), "a.Gone", amount(7.0, None), Amount::default()),
            site(
                1,
                Some(3),
                "int[]",
                amount(10.0, Some(240.0)),
                Amount::default(),
            ),
            site(
                0,
                Some(4),
                "java.lang.String",
                amount(3.0, Some(72.0)),
                Amount::default(),
            ),
            site(
                1,
                None,
                "byte[]",
                amount(1.0, Some(4096.0)),
                Amount::default(),
            ),
        ],
    }
}

/// Returns the allocations of [`allocations`] as samples, some of whose objects are alive.
pub(crate) fn sampled() -> Allocations {
    let mut sampled = allocations();
    sampled.seen = Seen::Sampled { interval: 524_288 };
    sampled.live = true;
    for site in &mut sampled.sites {
        site.allocated.objects *= 1.5;
        site.allocated.objects_variance = 2.25;
        site.allocated.bytes_variance = 1e9;
        site.live = Amount {
            objects: site.allocated.objects / 3.0,
            bytes: site.allocated.bytes.map(|bytes| bytes / 3.0),
            objects_variance: 0.5,
            bytes_variance: 1e7,
        };
        site.live_age = 2.5;
    }
    sampled
}

/// Returns the profile [`small`] with these allocations instead of its calls.
pub(crate) fn alone(allocations: Allocations) -> Profile {
    let mut profile = small();
    profile.header.timing = Timing::Count;
    profile.header.overflowed_calls = 0;
    profile.allocations = Some(allocations);
    for thread in &mut profile.threads {
        thread.nodes.clear();
    }
    profile
}

/// Returns one thread's calls of methods of the class X, with probes that cost nothing.
pub(crate) fn tree_of(methods: &[&str], nodes: Vec<Node>) -> Profile {
    let method = |name: &&str| Method::new("X", name, "()V");
    Profile {
        methods: methods.iter().map(method).collect(),
        threads: vec![ThreadTree {
            name: "main".into(),
            id: None,
            kind: Default::default(),
            cpu_ns: None,
            nodes,
        }],
        ..Profile::default()
    }
}

/// Returns the recursion a(1000) → b(900) → a(800) → c(700) → b(600). The numbers are the total times of the
/// calls in nanoseconds. Each call has 100 ns of its own; only the last has 600.
pub(crate) fn recursion_by_two_ways() -> Profile {
    tree_of(
        &["a", "b", "c"],
        vec![
            node(None, 0, 2, [1_800, 1_000, 1_600]),
            node(Some(0), 1, 1, [900, 900, 800]),
            node(Some(0), 2, 1, [700, 700, 600]),
            node(Some(2), 1, 1, [600, 600, 0]),
        ],
    )
}

/// Returns a tree of `size` nodes with a tenth as many methods, without recursion. Callees never take
/// longer than their caller.
pub(crate) fn large(size: u32) -> Profile {
    let mut random = Random(u64::from(size) + 1);
    let methods = (size / 10).clamp(30, 20_000);
    let packages = [
        "com.example.core",
        "com.example.io.codec",
        "org.library.internal.util",
        "net.tool",
    ];
    let method = |at: u32| {
        let package = packages[at as usize % packages.len()];
        let class = format!("{package}.Class{}", at / 8);
        Method {
            loader: "app".into(),
            file: Some(format!("Class{}.java", at / 8).into()),
            line: Some(at * 7 % 900 + 1),
            ..Method::new(&class, &format!("method{at}"), "()V")
        }
    };
    let mut nodes: Vec<Node> = Vec::with_capacity(size as usize);
    for at in 0..size {
        // The parent is one of the last half of the nodes so far, so a tree of a million nodes is
        // about 50 levels deep.
        let back = 1 + random.below(at / 2 + 1);
        let parent = at.checked_sub(back).filter(|_| at > 2);
        // The method's number is higher than that of its caller, so there is no recursion.
        let lowest = parent.map_or(0, |p| nodes[p as usize].method + 1);
        let (parent, lowest) = match parent {
            Some(_) if lowest >= methods => (Some(at % 3), methods - 1 - random.below(8)),
            parent => (parent, lowest),
        };
        let method = (lowest + random.below(3)).min(methods - 1);
        let size = random.below(24);
        let own = u64::from(random.below(1 << size));
        nodes.push(Node {
            parent,
            method,
            calls: 1 + u64::from(random.below(5_000)),
            all_ns: own,
            ..Node::default()
        });
    }
    for at in (0..nodes.len()).rev() {
        let node = &mut nodes[at];
        node.timed = node.calls;
        node.outermost_ns = node.all_ns;
        let (all, parent) = (node.all_ns, node.parent);
        if let Some(parent) = parent {
            nodes[parent as usize].all_ns += all;
            nodes[parent as usize].child_ns += all;
        }
    }
    Profile {
        header: Header {
            timing: Timing::Exact,
            duration_ns: 60_000 * MS,
            command: format!("java -jar generated-{size}.jar"),
            ..Header::default()
        },
        methods: (0..methods).map(method).collect(),
        threads: vec![ThreadTree {
            name: "main".into(),
            id: Some(1),
            kind: ThreadKind::Platform,
            cpu_ns: None,
            nodes,
        }],
        ..Profile::default()
    }
}

/// Pseudo-random numbers, the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Draws a number below `limit`, which is at least 1.
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

/// Returns two sides of a comparison, with one run each.
pub(crate) fn pair<'p>(before: &'p Profile, after: &'p Profile) -> [&'p [Profile]; 2] {
    [before, after].map(std::slice::from_ref)
}

/// Returns [`small`] without times.
pub(crate) fn counted() -> Profile {
    let mut profile = small();
    profile.header.timing = Timing::Count;
    profile
}

/// Returns the profile of a server: a worker, two idle threads of a pool, and a thread that waits between
/// its requests.
pub(crate) fn server() -> Profile {
    let mut server = small();
    server.threads[0].cpu_ns = Some(1_500 * MS);
    server.threads[1].cpu_ns = Some(450 * MS);
    for (name, cpu_ms, wall_ms) in [
        ("idle-1", 1, 2_000),
        ("idle-2", 0, 2_000),
        ("rare", 90, 2_000),
    ] {
        server.threads.push(ThreadTree {
            name: name.into(),
            id: Some(20),
            kind: ThreadKind::Platform,
            cpu_ns: Some(cpu_ms * MS),
            nodes: vec![node(None, 9, 1, [wall_ms * MS, wall_ms * MS, 0])],
        });
    }
    server
}
