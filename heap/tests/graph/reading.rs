//! Tests of reading a graph: with little memory, and from dumps that are damaged or change meanwhile.

use loadhook_heap::Graph;
use proptest::prelude::*;

use super::{at, dump, graph};

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
        // 14 objects are reachable: 4999, 2499, 1249 and so on to 0, each with half the number of the object before.
        // Two classes are reachable, too.
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

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
