use proptest::prelude::*;

use super::*;
use crate::model::{Method, MethodCalls, ProbeCosts, Profile, ThreadKind, ThreadTree};

fn node(parent: Option<u32>, calls: u64, [all, outermost, child]: [u64; 3]) -> Node {
    Node {
        parent,
        method: 0,
        calls,
        timed: calls,
        all_ns: all,
        outermost_ns: outermost,
        child_ns: child,
        ..Node::default()
    }
}

fn header(timing: Timing, [inside, outside, read]: [u64; 3]) -> Header {
    Header {
        timing,
        probe: ProbeCosts {
            inside_ps: inside * 1000,
            outside_ps: outside * 1000,
            clock_read_ps: read * 1000,
        },
        ..Header::default()
    }
}

/// The figures of a tree in which all methods kept their probes.
fn figures(nodes: &[Node], header: &Header) -> Vec<Figure> {
    super::figures(nodes, header, &CountingCosts::default())
}

fn selfs(nodes: &[Node], header: &Header) -> Vec<f64> {
    figures(nodes, header).iter().map(|f| f.self_ns).collect()
}

fn totals(nodes: &[Node], header: &Header) -> Vec<f64> {
    figures(nodes, header).iter().map(|f| f.total_ns).collect()
}

#[test]
fn exact_probes_are_taken_out() {
    // True times: a leaf of 10 ns, called 100 times by a middle method of 500 ns own time, which a
    // root of 50 ns calls once. Each probe adds 44 ns to its caller: 4 ns and two clock readings of
    // 20 ns. Half of each reading is inside the probe's own interval.
    let leaf = 100 * (10 + 20);
    let middle = 500 + 100 * (10 + 44) + 20;
    let root = 50 + (middle - 20 + 44) + 20;
    let nodes = [
        node(None, 1, [root, root, middle]),
        node(Some(0), 1, [middle, middle, leaf]),
        node(Some(1), 100, [leaf, leaf, 0]),
    ];
    // In exact mode `outside` was measured with the clock readings included.
    for (timing, costs) in [
        (Timing::Exact, [20, 24, 20]),
        (Timing::Adaptive, [20, 4, 20]),
    ] {
        let header = header(timing, costs);
        assert_eq!(selfs(&nodes, &header), [50.0, 500.0, 1000.0]);
        assert_eq!(totals(&nodes, &header), [1550.0, 1500.0, 1000.0]);
    }
}

#[test]
fn the_cost_of_the_processor_clock_has_an_error() {
    let nodes = [
        node(None, 1, [100_000, 100_000, 90_000]),
        node(Some(0), 1, [90_000, 90_000, 70_000]),
        node(Some(1), 100, [70_000, 70_000, 0]),
    ];
    let mut header = header(Timing::Exact, [20, 24, 20]);
    for figure in figures(&nodes, &header) {
        assert_eq!(figure.total_cost_error, 0.0);
        assert!(!figure.estimated);
    }
    header.clock = Clock::Cpu;
    let figures = figures(&nodes, &header);
    // A node pays `inside` for its own calls and `outside` for those that it makes.
    let own: Vec<f64> = figures.iter().map(|f| f.self_cost_error.round()).collect();
    assert_eq!(own, [4.0, 242.0, 200.0]);
    assert_eq!(figures[0].total_cost_error.round(), 446.0);
    assert!(figures.iter().all(|figure| figure.estimated));
}

#[test]
fn sampled_probes_are_taken_out() {
    // The same leaf, called 1,000 times. One call in ten is timed, with weight 10. So the leaf's
    // time contains `inside` 1,000 times, but the caller's time contains only the cost of the timed
    // calls.
    let leaf = 1000 * (10 + 20);
    let root = 500 + 1000 * (10 + 4) + 100 * 40 + 20;
    let mut nodes = [
        node(None, 1, [root, root, leaf]),
        node(Some(0), 1000, [leaf, leaf, 0]),
    ];
    nodes[1].timed = 100;
    nodes[1].variance = 9e6;
    let header = header(Timing::Adaptive, [20, 4, 20]);
    let figures = figures(&nodes, &header);
    assert_eq!(figures[0].self_ns, 500.0);
    assert_eq!(figures[1].self_ns, 10_000.0);
    // The root was timed, but its self time is the rest of an estimate, so it is an estimate too.
    assert!(figures.iter().all(|figure| figure.estimated));
    let variances = figures.iter().map(|f| (f.self_variance, f.total_variance));
    assert_eq!(variances.collect::<Vec<_>>(), [(9e6, 0.0), (9e6, 9e6)]);
}

#[test]
fn callees_share_what_their_caller_has() {
    // Callees seem to take 150, but their caller took only 100. So each callee loses a third of its
    // time.
    let nodes = [
        node(None, 1, [100, 100, 150]),
        node(Some(0), 1, [90, 90, 30]),
        node(Some(1), 1, [30, 30, 0]),
        node(Some(0), 1, [60, 60, 0]),
    ];
    let header = header(Timing::Adaptive, [0, 0, 0]);
    assert_eq!(selfs(&nodes, &header), [0.0, 40.0, 20.0, 40.0]);
    assert_eq!(totals(&nodes, &header), [100.0, 60.0, 20.0, 40.0]);
}

/// One call of a node has returned and another one is running. The CPU clock of a running call
/// cannot be read from outside.
#[test]
fn callees_of_a_running_call_keep_their_times() {
    let under_way = |parent, timed, times| Node {
        timed,
        ..node(parent, 2, times)
    };
    let nodes = [
        under_way(None, 0, [0, 0, 20]),
        // One call of 20 has ended, with 15 in its callee; a running call has spent 800 in its
        // callee.
        under_way(Some(0), 1, [20, 20, 815]),
        node(Some(1), 2, [815, 815, 0]),
        // A call that was entered and has not returned.
        under_way(Some(1), 0, [0, 0, 7]),
        node(Some(3), 1, [7, 7, 0]),
    ];
    let mut header = header(Timing::Adaptive, [0, 0, 0]);
    header.clock = Clock::Cpu;
    assert_eq!(selfs(&nodes, &header), [0.0, 0.0, 815.0, 0.0, 7.0]);
    assert_eq!(totals(&nodes, &header), [822.0, 822.0, 815.0, 7.0, 7.0]);
    let figures = figures(&nodes, &header);
    let timed = figures
        .iter()
        .map(|figure| (figure.timed_calls, figure.timed_ns));
    let expected = [(0, 0.0), (1, 20.0), (2, 815.0), (0, 0.0), (1, 7.0)];
    assert_eq!(timed.collect::<Vec<_>>(), expected);
    assert!(figures.iter().all(|figure| !figure.estimated));
    // An estimate covers all calls.
    let mut sampled = nodes;
    sampled[1].variance = 1.0;
    let figures = super::figures(&sampled, &header, &CountingCosts::default());
    assert_eq!(figures[1].timed_calls, 2);
    assert!(figures[1].estimated && figures[2].self_ns < 100.0);
}

#[test]
fn a_time_shorter_than_its_probes_cost_is_zero() {
    // A leaf whose time is shorter than the calibrated cost of its probe.
    let nodes = [
        node(None, 1, [10_000, 10_000, 1_000]),
        node(Some(0), 100, [1_000, 1_000, 0]),
    ];
    let figures = figures(&nodes, &header(Timing::Adaptive, [20, 4, 20]));
    assert_eq!(figures[1].self_ns, 0.0);
    let sum: f64 = figures.iter().map(|f| f.self_ns).sum();
    assert!((sum - figures[0].total_ns).abs() < 1e-6);
}

#[test]
fn direct_recursion_is_counted_once() {
    // 10 levels of 100 ns own time each; the outermost call takes 1,000.
    let all = (1..=10).map(|levels| levels * 100).sum();
    let nodes = [
        node(None, 1, [1_100, 1_100, 1_000]),
        node(Some(0), 10, [all, 1_000, all - 1_000]),
    ];
    let header = header(Timing::Adaptive, [0, 0, 0]);
    assert_eq!(selfs(&nodes, &header), [100.0, 1_000.0]);
    assert_eq!(totals(&nodes, &header), [1_100.0, 1_000.0]);
}

#[test]
fn direct_recursion_adds_no_error_to_the_self_time() {
    let all = (1..=10).map(|levels| levels * 100).sum();
    let sampled = |node| Node {
        variance: 1e6,
        ..node
    };
    let nodes = [
        node(None, 1, [1_100, 1_100, 1_000]),
        sampled(node(Some(0), 10, [all, 1_000, all - 1_000])),
    ];
    let figures = figures(&nodes, &header(Timing::Adaptive, [0, 0, 0]));
    let outermost = 1_000.0 / all as f64;
    let expected = 1e6 * outermost * outermost;
    for variance in [
        figures[0].self_variance,
        figures[1].self_variance,
        figures[1].total_variance,
    ] {
        assert!((variance - expected).abs() < 1e-6, "{variance} {expected}");
    }
    // If another method makes the recursive call, that method's time is uncertain, too.
    let nodes = [
        sampled(node(None, 2, [400 + 200, 400, 300 + 100])),
        node(Some(0), 2, [300 + 100, 300, 200]),
    ];
    let header = header(Timing::Adaptive, [0, 0, 0]);
    let figures = super::figures(&nodes, &header, &CountingCosts::default());
    assert_eq!(figures[0].self_variance, 1e6);
}

/// A caller that does nothing itself, and is timed at every call. The sample of its callees' calls
/// missed much of their time; ticks found the callees on top of the stack.
#[test]
fn errors_of_callees_are_not_their_callers_own_time() {
    let ms = 1_000_000;
    let mut nodes = [
        node(None, 1, [100 * ms, 100 * ms, 100 * ms]),
        node(Some(0), 24, [100 * ms, 100 * ms, 70 * ms]),
        node(Some(1), 1_000_000, [40 * ms, 40 * ms, 0]),
        node(Some(1), 1_000_000, [30 * ms, 30 * ms, 0]),
    ];
    for callee in &mut nodes[2..] {
        callee.timed = 10_000;
        callee.variance = (30.0 * ms as f64).powi(2);
    }
    let header = header(Timing::Adaptive, [0, 0, 0]);
    let rest = figures(&nodes, &header);
    assert_eq!(rest[1].self_ns, 30.0 * ms as f64);
    for (node, ticks) in nodes.iter_mut().zip([0, 0, 60, 40]) {
        node.ticked_ns = ticks * ms;
        node.ticked_variance = ticks as f64 * (ms as f64).powi(2);
    }
    let settled = figures(&nodes, &header);
    assert!(settled[1].self_ns < 0.1 * ms as f64, "{:?}", settled[1]);
    assert!(
        (settled[2].self_ns / ms as f64 - 60.0).abs() < 2.0,
        "{:?}",
        settled[2]
    );
    assert!(settled[2].self_variance < rest[2].self_variance / 10.0);
    let sum: f64 = settled.iter().map(|figure| figure.self_ns).sum();
    assert!((sum - 100.0 * ms as f64).abs() < 1.0, "{sum}");
    // If the rest is exact, it stays, whatever the ticks are.
    for node in &mut nodes {
        node.timed = node.calls;
        node.variance = 0.0;
    }
    assert_eq!(
        selfs(&nodes, &header),
        rest.iter().map(|f| f.self_ns).collect::<Vec<_>>()
    );
}

#[test]
fn mutual_recursion_has_totals_beyond_its_subtree() {
    // a → b → a → b, 100 ns each; a is folded into one node, with b below it.
    let nodes = [
        node(None, 2, [400 + 200, 400, 300 + 100]),
        node(Some(0), 2, [300 + 100, 300, 200]),
    ];
    let figures = figures(&nodes, &header(Timing::Adaptive, [0, 0, 0]));
    assert_eq!(figures[0].self_ns, 200.0);
    assert_eq!(figures[1].self_ns, 200.0);
    assert_eq!(figures[0].total_ns, 400.0);
    // Only 200 ns lie below b's node, but the inner call of a ran inside b too.
    assert_eq!(figures[1].total_ns, 300.0);
    assert!(figures.iter().all(|figure| figure.recursion == Some(0)));
    assert!(!figures[0].goes_back && figures[1].goes_back);
}

#[test]
fn probes_of_recursive_calls_are_the_recursions_own() {
    // 1,000 levels of 100 ns below a root of 50 ns. Each level adds 44 ns to the level above.
    let mut all = 0;
    let mut inner = 0;
    for _ in 0..1000 {
        let callee = if inner == 0 { 0 } else { inner - 20 + 44 };
        inner = 100 + callee + 20;
        all += inner;
    }
    let root = 50 + inner - 20 + 44 + 20;
    let nodes = [
        node(None, 1, [root, root, inner]),
        node(Some(0), 1000, [all, inner, all - inner]),
    ];
    for (timing, costs) in [
        (Timing::Exact, [20, 24, 20]),
        (Timing::Adaptive, [20, 4, 20]),
    ] {
        let [root, recursive] = figures(&nodes, &header(timing, costs))[..] else {
            panic!("two nodes expected");
        };
        // The number of recursive calls is an estimate: 1 in 500 instead of 1,000.
        assert!(
            (recursive.self_ns - 100_000.0).abs() < 100.0,
            "{recursive:?}"
        );
        assert!(root.self_ns < 50.0 + 44.0, "{root:?}");
        assert!((root.total_ns - 100_050.0).abs() < 1e-6, "{root:?}");
    }
}

#[test]
fn the_callees_of_an_untimed_node_take_their_time_from_its_caller() {
    let mut nodes = [
        node(None, 1, [1_000, 1_000, 0]),
        node(Some(0), 1, [0, 0, 300]),
        node(Some(1), 1, [300, 300, 0]),
    ];
    nodes[1].timed = 0;
    let header = header(Timing::Adaptive, [0, 0, 0]);
    assert_eq!(selfs(&nodes, &header), [700.0, 0.0, 300.0]);
    assert_eq!(totals(&nodes, &header), [1_000.0, 300.0, 300.0]);
    // A root that has not returned yet keeps its times.
    let mut root = [nodes[1], nodes[2]];
    root[0].parent = None;
    root[1].parent = Some(0);
    assert_eq!(totals(&root, &header), [300.0, 300.0]);
}

#[test]
fn counted_calls_have_no_times() {
    let nodes = [node(None, 5, [0, 0, 0])];
    let header = Header {
        timing: Timing::Count,
        ..Header::default()
    };
    let counted = Figure {
        timed_calls: 5,
        ..Figure::default()
    };
    assert_eq!(figures(&nodes, &header), [counted]);
}

/// A reader calls a scanner of characters that has lost its probes after 10 of 1,010 calls, by way of a method that has
/// lost them, too. A second caller made 30 of the first 40 calls of the scanner.
#[test]
fn counting_is_taken_out_of_the_callers_that_kept_their_probes() {
    let with_method = |node: Node, method| Node { method, ..node };
    let nodes = [
        with_method(node(None, 1, [20_000, 20_000, 19_000]), 0),
        with_method(node(Some(0), 10, [9000, 9000, 500]), 1),
        with_method(node(Some(1), 10, [500, 500, 100]), 2),
        with_method(node(Some(2), 10, [100, 100, 0]), 3),
        with_method(node(Some(0), 10, [10_000, 10_000, 300]), 4),
        with_method(node(Some(4), 30, [300, 300, 0]), 3),
    ];
    let lowered = |method, calls| MethodCalls {
        method,
        calls,
        since_ns: Some(5),
        until_ns: None,
    };
    let only_counted = MethodCalls {
        method: 1,
        calls: 1_000_000,
        ..MethodCalls::default()
    };
    let names = ["main", "read", "name", "scan", "write"];
    let profile = Profile {
        methods: names.map(|name| Method::new("C", name, "()V")).into(),
        threads: vec![ThreadTree {
            name: "main".into(),
            id: None,
            kind: ThreadKind::Platform,
            cpu_ns: None,
            nodes: nodes.to_vec(),
        }],
        method_calls: vec![only_counted, lowered(2, 1000), lowered(3, 4000)],
        ..Profile::default()
    };
    let header = header(Timing::Exact, [0, 0, 0]);
    let plain = selfs(&nodes, &header);
    let counting = CountingCosts::of(&profile);
    let figures = super::figures(&nodes, &header, &counting);
    // 0.3 ns for each of 1,000 calls of `name` and of 1,000 of those of `scan` from `read`, and 3,000 from `write`.
    let less: Vec<f64> = figures
        .iter()
        .zip(&plain)
        .map(|(f, plain)| plain - f.self_ns)
        .collect();
    assert_eq!(
        less.iter().map(|ns| ns.round()).collect::<Vec<_>>(),
        [0.0, 600.0, 0.0, 0.0, 900.0, 0.0]
    );
    assert_eq!(figures[0].total_ns.round(), 18_500.0);
}

/// Before it lost its probes, most calls of a method came from the program's start; later calls came from elsewhere.
#[test]
fn counting_of_other_callers_takes_no_time_from_callees() {
    let nodes = [
        node(None, 1, [3000, 3000, 2550]),
        Node {
            method: 1,
            ..node(Some(0), 1, [550, 550, 500])
        },
        Node {
            method: 2,
            ..node(Some(1), 1, [500, 500, 0])
        },
        Node {
            method: 3,
            ..node(Some(1), 1000, [0, 0, 0])
        },
        Node {
            method: 4,
            ..node(Some(0), 1, [2000, 2000, 0])
        },
    ];
    let header = header(Timing::Exact, [0, 0, 0]);
    let counting = CountingCosts(vec![0.0, 0.0, 0.0, 0.3, 0.0]);
    let figures = super::figures(&nodes, &header, &counting);
    let own: Vec<f64> = figures.iter().map(|figure| figure.self_ns).collect();
    assert_eq!(own, [450.0, 25.0, 500.0, 0.0, 2000.0]);
}

prop_compose! {
    /// Generates any tree, consistent or not.
    fn any_nodes()(rows in proptest::collection::vec(
        (any::<u32>(), 1u64..1_000, 0u64..1_000, [0u64..1_000_000, 0..1_000_000, 0..1_000_000],
            [0u64..1_000_000, 0..1_000_000]),
        1..60,
    )) -> Vec<Node> {
        let rows = rows.into_iter().enumerate();
        rows.map(|(at, (parent, calls, timed, times, [variance, ticked]))| Node {
            timed: timed.min(calls),
            variance: variance.saturating_sub(500_000) as f64 * 1e4,
            ticked_ns: ticked.saturating_sub(500_000),
            ticked_variance: ticked.saturating_sub(500_000) as f64 * 1e5,
            method: parent % 3,
            ..node((at as u32).checked_sub(1 + parent % 7), calls, times)
        }).collect()
    }
}

proptest! {
    #[test]
    fn self_times_add_up_to_the_roots_totals(
        nodes in any_nodes(),
        exact: bool,
        cpu: bool,
        costs in [0u64..50, 0..50, 0..50],
        counting in [0.0..1e4, 0.0..1e4],
    ) {
        let timing = if exact { Timing::Exact } else { Timing::Adaptive };
        let mut header = header(timing, costs);
        header.clock = if cpu { Clock::Cpu } else { Clock::Wall };
        // Methods 0 and 1 have lost their probes.
        let counting = CountingCosts(vec![counting[0], counting[1], 0.0]);
        let figures = super::figures(&nodes, &header, &counting);
        let mut below: Vec<f64> = figures.iter().map(|f| f.self_ns).collect();
        let mut roots = 0.0;
        for (at, node) in nodes.iter().enumerate().rev() {
            let figure = &figures[at];
            prop_assert!(figure.self_ns >= 0.0);
            prop_assert!(figure.total_ns >= figure.self_ns - 1e-6);
            prop_assert!(figure.total_ns >= below[at] - 1e-3, "{} < {}", figure.total_ns, below[at]);
            match node.parent {
                Some(parent) => {
                    below[parent as usize] += below[at];
                    prop_assert!(figure.total_ns <= figures[parent as usize].total_ns + 1e-6);
                }
                None => roots += figure.total_ns,
            }
        }
        let sum: f64 = figures.iter().map(|f| f.self_ns).sum();
        prop_assert!((sum - roots).abs() <= 1e-6 * roots.max(1.0), "{sum} {roots}");
    }
}
