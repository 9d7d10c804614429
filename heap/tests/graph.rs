//! Tests of retained sizes, in graphs whose dominators are known.

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

/// Returns a generator of pseudorandom numbers below its argument. It gives the same numbers in
/// each run.
fn numbers(mut random: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    }
}

#[test]
fn what_memory_has_no_room_for_changes_nothing() {
    // The graph takes some megabytes, and only a few of its pages are in memory at a time.
    let mut next = numbers(0x9e37_79b9_7f4a_7c15);
    let objects = 60_000;
    let edges: Vec<Vec<usize>> = (0..objects)
        .map(|n| {
            (0..next(5))
                .map(|_| next(n + 40).min(objects - 1))
                .collect()
        })
        .collect();
    let roots: Vec<usize> = (0..20).map(|_| next(objects)).collect();
    let dump = dump(&edges, &roots);
    let large = graph(&dump);
    let (small, _) = Graph::read(|| Ok(&dump[..]), 0).expect("the dump is readable");
    let [in_memory, on_disk] =
        [&large, &small].map(|graph| graph.dominators().expect("dominators are computed"));
    assert!(on_disk.reachable() > 1000 && on_disk.reachable() == in_memory.reachable());
    for object in 0..large.len() {
        assert_eq!(small.id(object), large.id(object));
        assert_eq!(small.name(object), large.name(object));
        assert_eq!(small.references(object), large.references(object));
        assert_eq!(on_disk.dominator(object), in_memory.dominator(object));
        assert_eq!(on_disk.retained(object), in_memory.retained(object));
    }
    for object in on_disk.largest(50) {
        assert_eq!(on_disk.path(object), in_memory.path(object));
    }
    assert_eq!(on_disk.largest(999), in_memory.largest(999));
    assert_eq!(on_disk.by_class(), in_memory.by_class());
    small.check().expect("the temporary file is readable");
}

#[test]
fn any_memory_will_do() {
    let edges: Vec<Vec<usize>> = (0..5000).map(|n| vec![n / 2]).collect();
    let dump = dump(&edges, &[4999]);
    for memory in (0..=400_000).step_by(25_000) {
        let (graph, _) = Graph::read(|| Ok(&dump[..]), memory).expect("the dump is readable");
        // The path consists of the objects 4999, half of it, half of that and so on, and of two
        // classes.
        assert_eq!(
            graph
                .dominators()
                .expect("dominators are computed")
                .reachable(),
            14 + 2
        );
    }
}

#[test]
fn another_dump_is_found_out() {
    let [one, other] =
        [vec![vec![1], vec![]], vec![vec![1], vec![0]]].map(|edges| dump(&edges, &[0]));
    let opened = std::cell::Cell::new(0);
    let changing = || {
        opened.set(opened.get() + 1);
        Ok(if opened.get() == 1 { &one[..] } else { &other })
    };
    let changed = |error: loadhook_heap::Error| error.to_string();
    let read = Graph::read(changing, 0).err().map(changed);
    let expected = format!("the dump changed while it was read at byte {}", one.len());
    assert_eq!(read, Some(expected));
    let graph = graph(&one);
    let way = [1, 0].map(|n| graph.object(at(n)).expect("the object is in the dump"));
    assert!(graph.reference_names(&one[..], &way).is_ok());
    assert!(graph.reference_names(&other[..], &way).is_err());
    // A dump of the same length that was written at another time.
    let mut later = one.clone();
    later[30] += 1;
    assert!(graph.reference_names(&later[..], &way).is_err());
    // A dump of the same length with other objects.
    let [before, after] = [0x1000_u64, 0x2000].map(u64::to_be_bytes);
    let place = one
        .windows(8)
        .rposition(|bytes| bytes == before)
        .expect("the object is in the dump");
    later = one.clone();
    later[place..place + 8].copy_from_slice(&after);
    opened.set(0);
    let changing = || {
        opened.set(opened.get() + 1);
        Ok(if opened.get() == 1 { &one[..] } else { &later })
    };
    let read = Graph::read(changing, 0).err().map(changed);
    assert!(read.is_some_and(|text| text.starts_with("the dump changed")));
}

#[test]
fn a_dump_cut_off_in_an_array_has_what_is_before() {
    let whole = dump(&[vec![1, 2], vec![2], vec![]], &[1, 2]);
    // The first object is written last, so the cut removes its second reference.
    let cut = &whole[..whole.len() - 9 - 4];
    let (graph, outcome) = Graph::read(|| Ok(cut), 0).expect("the dump is readable up to the cut");
    assert!(outcome.is_some_and(|error| error.is_truncated()));
    assert!(graph.object(at(0)).is_none());
    let object = graph.object(at(1)).expect("the object is in the dump");
    assert_eq!(
        graph.references(object),
        [graph.object(at(2)).expect("the object is in the dump")]
    );
    assert_eq!(
        graph
            .dominators()
            .expect("dominators are computed")
            .reachable(),
        4
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

    /// Whatever the input is, the reader returns, and does not panic.
    #[test]
    fn mutated_dumps_do_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let edges: Vec<Vec<usize>> = (0..8).map(|n| vec![n / 2, (n * 5 + 1) % 8]).collect();
        let mut dump = dump(&edges, &[0, 3]);
        for (at, byte) in changes {
            let at = at.index(dump.len());
            dump[at] = byte;
        }
        if let Ok((graph, _)) = Graph::read(|| Ok(&dump[..]), 0) {
            let found = graph.dominators().expect("dominators are computed");
            for object in 0..graph.len() {
                let path = found.path(object);
                prop_assert_eq!(path.is_empty(), found.retained(object).is_none());
                prop_assert!(graph.reference_names(&dump[..], &path).is_ok());
            }
            let largest = found.largest(1).first().and_then(|object| found.retained(*object));
            let most = found.by_class().into_values().max();
            prop_assert!(most.unwrap_or(0) >= largest.unwrap_or(0));
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
