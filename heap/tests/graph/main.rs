//! Tests of graphs: retained sizes and paths where the dominators are known.

mod reading;

use std::collections::BTreeSet;

use loadhook_heap::{Graph, RootKind};
use loadhook_testkit::dump::{OBJECT, OBJECTS, Writer};
use proptest::prelude::*;

/// Returns the identifier of the object with this number. Objects have 32 bytes: two references and an int.
fn at(number: usize) -> u64 {
    0x1000 + 32 * number as u64
}

fn graph(dump: &[u8]) -> Graph {
    let (graph, outcome) = Graph::read(|| Ok(dump), u64::MAX).expect("the dump is readable");
    assert!(outcome.is_none(), "{outcome:?}");
    graph
}

/// Returns a dump of objects. `edges` has the references of each object, and `roots` the objects
/// that are roots.
fn dump(edges: &[Vec<usize>], roots: &[usize]) -> Vec<u8> {
    let mut writer = Writer::new();
    for root in roots {
        writer.root(0x03, at(*root), &[1, 0]);
    }
    // The objects are written in reverse, because the order must not matter.
    for (number, to) in edges.iter().enumerate().rev() {
        let to: Vec<u64> = to.iter().map(|to| at(*to)).collect();
        writer.object_array(at(number), &to);
    }
    writer.finish()
}

/// Returns the immediate dominator of each object: `None` if the object is unreachable,
/// `Some(None)` if no object dominates it, because only roots do.
fn dominators(edges: &[&[usize]], roots: &[usize]) -> Vec<Option<Option<usize>>> {
    let edges: Vec<Vec<usize>> = edges.iter().map(|to| to.to_vec()).collect();
    let graph = graph(&dump(&edges, roots));
    let found = graph.dominators().expect("dominators are computed");
    let number = |object: u32| (graph.id(object) - at(0)) as usize / 32;
    let of = |n: usize| {
        let object = graph.object(at(n)).expect("the object is in the dump");
        found.retained(object)?;
        Some(found.dominator(object).map(number))
    };
    (0..edges.len()).map(of).collect()
}

/// In a list, each object retains nearly all bytes that the object before it retains.
#[test]
fn the_accumulation_point_of_a_list_keeps_nearly_all_of_it() {
    let list: Vec<Vec<usize>> = (1..=100).map(|next| vec![next]).chain([vec![]]).collect();
    let graph = graph(&dump(&list, &[0]));
    let dominators = graph.dominators().expect("dominators are computed");
    let paths = graph.shortest_paths().expect("paths are computed");
    let suspects = dominators.suspects(&paths);
    let [suspect] = &suspects[..] else {
        panic!("one suspect expected: {suspects:?}");
    };
    let point = suspect
        .path_down
        .last()
        .expect("the path has its first object");
    let retained = dominators
        .retained(*point)
        .expect("the object is reachable");
    assert!(
        retained * 100 >= suspect.retained * 80,
        "at least 80 % of {} bytes expected, {retained} found",
        suspect.retained
    );
    assert!(suspect.path_down.len() > 1, "{suspect:?}");
}

#[test]
fn known_graphs_have_their_dominators() {
    let (root, gone) = (Some(None), None);
    let by = |n: usize| Some(Some(n));
    // A chain.
    assert_eq!(dominators(&[&[1], &[2], &[]], &[0]), [root, by(0), by(1)]);
    // A diamond.
    let diamond: &[&[usize]] = &[&[1, 2], &[3], &[3], &[4], &[]];
    assert_eq!(
        dominators(diamond, &[0]),
        [root, by(0), by(0), by(0), by(3)]
    );
    // A cycle that is entered at one object, and one that is entered at two.
    let cycle: &[&[usize]] = &[&[1], &[2], &[3], &[1]];
    assert_eq!(dominators(cycle, &[0]), [root, by(0), by(1), by(2)]);
    assert_eq!(dominators(cycle, &[0, 2]), [root, root, root, by(2)]);
    // Two roots that share an object.
    assert_eq!(
        dominators(&[&[2], &[2], &[3], &[]], &[0, 1]),
        [root, root, root, by(2)]
    );
    // An unreachable object that refers to a reachable one.
    assert_eq!(
        dominators(&[&[1], &[], &[1, 3], &[2]], &[0]),
        [root, by(0), gone, gone]
    );
    // The example in the paper of Lengauer and Tarjan: R A B C D E F G H I J K L.
    let paper: &[&[usize]] = &[
        &[1, 2, 3],
        &[4],
        &[1, 4, 5],
        &[6, 7],
        &[12],
        &[8],
        &[9],
        &[9, 10],
        &[5, 11],
        &[11],
        &[9],
        &[9, 0],
        &[8],
    ];
    let expected = [
        root,
        by(0),
        by(0),
        by(0),
        by(0),
        by(0),
        by(3),
        by(3),
        by(0),
        by(0),
        by(7),
        by(0),
        by(4),
    ];
    assert_eq!(dominators(paper, &[0]), expected);
}

#[test]
fn sizes_add_up_to_what_is_kept() {
    let diamond = vec![vec![1, 2], vec![3], vec![3], vec![4], vec![]];
    let graph = graph(&dump(&diamond, &[0]));
    let found = graph.dominators().expect("dominators are computed");
    let retained =
        |n: usize| found.retained(graph.object(at(n)).expect("the object is in the dump"));
    // The arrays have 2, 1, 1, 1 and 0 references of 4 bytes.
    let all: Vec<_> = (0..5).map(retained).collect();
    assert_eq!(all, [Some(112), Some(24), Some(24), Some(40), Some(16)]);
    let largest: Vec<u64> = found
        .largest(2)
        .into_iter()
        .map(|object| graph.id(object))
        .collect();
    assert_eq!(largest, [at(0), at(3)]);
    // By class, an object that another object of its class dominates is not counted again. Here all
    // objects have one class, so only the topmost counts.
    let by_class = found.by_class();
    assert_eq!(by_class[&OBJECTS], 112);
}

#[test]
fn paths_lead_to_the_nearest_root_that_is_no_variable_and_name_the_fields() {
    let mut writer = Writer::new();
    writer.text(30, "HOLDER");
    writer.text(31, "test/Holder");
    writer.load_class(3, 0x200, 31);
    writer.class(0x200, 0, &[], &[(30, 0x2000)]);
    writer.root(0x05, 0x200, &[]);
    writer.root(0x03, 0x5000, &[1, 0]);
    // The long path consists of the object 0x5000 and three more.
    writer.pair(0x5000, 0x5020, 0);
    writer.pair(0x5020, 0x5040, 0);
    writer.pair(0x5040, 0, 0x3000);
    writer.object_array(0x2000, &[0, 0, 0x3000]);
    writer.pair(0x3000, 0, 0x4000);
    writer.pair(0x4000, 0, 0);
    writer.pair(0x6000, 0, 0);
    // The path from a variable is shorter than the path from the class.
    writer.root(0x03, 0x7000, &[1, 0]);
    writer.pair(0x7000, 0, 0x4000);
    let dump = writer.finish();
    let graph = graph(&dump);
    let found = graph.dominators().expect("dominators are computed");
    let path = found.path(graph.object(0x4000).expect("the object is in the dump"));
    let names: Vec<String> = path.iter().map(|object| graph.name(*object)).collect();
    assert_eq!(
        names,
        [
            "test.Pair",
            "test.Pair",
            "java.lang.Object[]",
            "class test.Holder"
        ]
    );
    assert_eq!(
        graph
            .reference_names(&dump[..], &path)
            .expect("the dump is readable"),
        ["right", "[2]", "HOLDER"]
    );
    let root = graph.root(path[3]).map(|root| root.kind);
    assert_eq!(root, Some(RootKind::StickyClass));
    let variable = graph.object(0x7000).expect("the object is in the dump");
    assert_eq!(found.path(variable), [variable]);
    assert!(
        found
            .path(graph.object(0x6000).expect("the object is in the dump"))
            .is_empty()
    );
    assert_eq!(
        found.retained(graph.object(0x6000).expect("the object is in the dump")),
        None
    );
    assert_eq!(
        graph.objects_of_class("test.Pair").next(),
        graph.object(0x3000)
    );
}

#[test]
fn weak_references_keep_nothing() {
    let mut writer = Writer::new();
    writer.text(10, "java/lang/ref/FinalReference");
    for (serial, class, name) in [(3, 0x200, 7), (4, 0x210, 8), (5, 0x220, 10)] {
        writer.load_class(serial, class, name);
    }
    writer.class(0x200, 0, &[(6, OBJECT)], &[]);
    // The subclass declares its own field `referent`, which is an ordinary reference.
    writer.class(0x210, 0x200, &[(6, OBJECT)], &[]);
    writer.class(0x220, 0x200, &[], &[]);
    writer.root(0x03, 0x1000, &[1, 0]);
    writer.root(0x03, 0x1100, &[1, 0]);
    let [own, weak, last] = [0x2000_u64, 0x3000, 0x4000].map(u64::to_be_bytes);
    writer.instance(0x1000, 0x210, &[own, weak].concat());
    writer.instance(0x1100, 0x220, &last);
    for id in [0x2000, 0x3000, 0x4000] {
        writer.pair(id, 0, 0);
    }
    let graph = graph(&writer.finish());
    let found = graph.dominators().expect("dominators are computed");
    let is_kept = |id| {
        found
            .retained(graph.object(id).expect("the object is in the dump"))
            .is_some()
    };
    assert!(is_kept(0x2000) && !is_kept(0x3000) && is_kept(0x4000));
}

#[test]
fn loaders_keep_their_classes() {
    let mut writer = Writer::new();
    writer.text(30, "test/Loaded");
    writer.load_class(3, 0x200, 30);
    writer.class_of(0x1000, 0x200, 0, &[], &[(1, 0x1020)]);
    writer.root(0x03, 0x1000, &[1, 0]);
    writer.root(0x03, 0x1040, &[1, 0]);
    writer.pair(0x1000, 0, 0);
    writer.pair(0x1020, 0, 0);
    writer.instance(0x1040, 0x200, &[]);
    let dump = writer.finish();
    let graph = graph(&dump);
    let found = graph.dominators().expect("dominators are computed");
    let object = |id| graph.object(id).expect("the object is in the dump");
    // The loader and the object both keep the class alive, so neither dominates it.
    assert_eq!(found.dominator(object(0x200)), None);
    assert_eq!(found.dominator(object(0x1020)), Some(object(0x200)));
    let way = [object(0x200), object(0x1000)];
    assert_eq!(
        graph
            .reference_names(&dump[..], &way)
            .expect("the dump is readable"),
        ["<loaded>"]
    );
}

/// Returns the objects that are reachable from the roots if the object `without` is removed.
fn reached(edges: &[Vec<usize>], roots: &[usize], without: Option<usize>) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut left = roots.to_vec();
    while let Some(n) = left.pop() {
        if Some(n) != without && reached.insert(n) {
            left.extend(&edges[n]);
        }
    }
    reached
}

const NODES: usize = 12;

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// An object retains the objects that become unreachable without it, and paths are as short as
    /// possible.
    #[test]
    fn retained_is_what_goes_without_the_object(
        edges in prop::collection::vec(prop::collection::vec(0..NODES, 0..4), NODES),
        roots in prop::collection::vec(0..NODES, 0..3),
        memory in prop::sample::select(vec![0, u64::MAX]),
    ) {
        let dump = dump(&edges, &roots);
        let (graph, _) = Graph::read(|| Ok(&dump[..]), memory).expect("the dump is readable");
        let found = graph.dominators().expect("dominators are computed");
        let all = reached(&edges, &roots, None);
        let object = |n: usize| graph.object(at(n)).expect("the object is in the dump");
        for n in 0..NODES {
            let gone = reached(&edges, &roots, Some(n));
            let gone = all.difference(&gone);
            let bytes: u64 = gone.map(|n| graph.size(object(*n))).sum();
            prop_assert_eq!(found.retained(object(n)), all.contains(&n).then_some(bytes), "{}", n);
            // The true distance of each object from the roots, found by breadth-first search.
            let mut near: BTreeSet<usize> = roots.iter().copied().collect();
            let mut steps = 1;
            while all.contains(&n) && !near.contains(&n) {
                let further: Vec<usize> = near.iter().flat_map(|n| &edges[*n]).copied().collect();
                near.extend(further);
                steps += 1;
            }
            let path = found.path(object(n));
            prop_assert_eq!(path.len(), if all.contains(&n) { steps } else { 0 });
            for pair in path.windows(2) {
                prop_assert!(graph.references(pair[1]).contains(&pair[0]));
            }
        }
    }
}

/// A chain of classes, each of which extends the previous one. It is as long as a dump of 20 MB can
/// hold.
#[test]
fn a_distant_subclass_of_a_weak_reference_is_weak() {
    const CLASSES: u64 = 200_000;
    let class = |at: u64| 0x10_0000 + 16 * at;
    let mut writer = Writer::new();
    for (at, name) in [(0, 7), (1, 8)] {
        writer.load_class(10 + at as u32, class(at), name);
    }
    writer.class(class(0), 0, &[(6, OBJECT), (1, OBJECT)], &[]);
    for at in 1..CLASSES {
        writer.load_class(10 + at as u32, class(at), if at == 1 { 8 } else { 4 });
        writer.class(class(at), class(at - 1), &[], &[]);
        writer.instance(0x1000_0000 + 32 * at, class(at), &[0; 16]);
    }
    let last = 0x1000_0000 + 32 * (CLASSES - 1);
    for id in [0x2000, 0x2020] {
        writer.pair(id, 0, 0);
    }
    let fields = [0x2000_u64, 0x2020].map(u64::to_be_bytes).concat();
    writer.instance(last + 32, class(CLASSES - 1), &fields);
    writer.root(0x03, last + 32, &[1, 0]);
    let dump = writer.finish();
    let (graph, _) = Graph::read(|| Ok(&dump[..]), u64::MAX).expect("the dump is readable");
    let found = graph.dominators().expect("dominators are computed");
    let kept = |id: u64| {
        let object = graph.object(id).expect("the object is in the dump");
        found.retained(object).is_some()
    };
    assert_eq!(
        [kept(last + 32), kept(0x2020), kept(0x2000)],
        [true, true, false]
    );
}
