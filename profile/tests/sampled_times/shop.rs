//! The profile that these tests share: a shop whose calls were counted and whose time was sampled.

use loadhook_profile::format::Options;
use loadhook_profile::{
    Engine, Header, Method, MethodCalls, Node, Profile, SampledNode, Sampling, ThreadKind,
    ThreadTree, Timing, Waiting, sampled_tree,
};

use crate::common::MS;

/// Processor time between two samples.
pub(crate) const TICK: u64 = 4 * MS;

fn methods() -> Vec<Method> {
    let of_program = |class: &str, name: &str, descriptor: &str, line| Method {
        loader: "app".into(),
        file: Some(
            format!(
                "{}.java",
                class.rsplit('.').next().expect("the class has a name")
            )
            .into(),
        ),
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

/// Returns a node for a stack in which `samples` samples were taken.
pub(crate) fn met(parent: Option<u32>, method: u32, samples: u64) -> SampledNode {
    SampledNode {
        parent,
        method,
        self_ns: samples * TICK,
        self_squares: samples as f64 * (TICK as f64).powi(2),
        samples,
        waiting: Waiting::default(),
    }
}

/// Returns a node for a stack in which a thread waited.
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

/// Returns the time that a thread waited for a monitor.
fn locked() -> Waiting {
    Waiting {
        monitor_ns: 130 * MS,
        ..Waiting::default()
    }
}

fn samples_of_main() -> Vec<Node> {
    let parked = Waiting {
        parked_ns: 2_100 * MS,
        ..Waiting::default()
    };
    sampled_tree(&[
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
        waited(6, 8, locked()),
    ])
}

fn samples_of_workers() -> Vec<Node> {
    sampled_tree(&[
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
        waited(1, 8, locked()),
    ])
}

fn sampling() -> Sampling {
    Sampling {
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
        compared: 40,
        equal: 39,
    }
}

/// Returns the profile of a shop that reads JSON with a recursive parser.
pub(crate) fn shop() -> Profile {
    // The collector's time was read from the clocks of its threads, not sampled.
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
            thread("main", Some(1), ThreadKind::Platform, samples_of_main()),
            thread("worker-#", None, ThreadKind::Ended, samples_of_workers()),
            thread("[GC]", None, ThreadKind::Platform, vec![collector]),
        ],
        method_calls: counted
            .map(|(calls, method)| MethodCalls {
                method,
                calls,
                since_ns: None,
                until_ns: None,
            })
            .collect(),
        sampling: Some(sampling()),
        allocations: None,
        gc_pauses: None,
        latencies: Vec::new(),
        jit: None,
        locks: None,
    }
}

/// Returns a profile that has only calls. A program without an agent writes such a profile if its probes only
/// count.
pub(crate) fn counted() -> Profile {
    let mut profile = shop();
    profile.header.timing = Timing::Count;
    profile.sampling = None;
    profile.threads.clear();
    profile
}

pub(crate) fn wide(width: usize) -> Options<'static> {
    Options {
        width,
        ..Options::default()
    }
}
