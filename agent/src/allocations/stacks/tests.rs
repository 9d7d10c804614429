//! Tests of [`Stacks`].

use super::*;
use crate::jvm::jvmti::MethodKey;

fn frame(method: usize) -> StackFrame {
    StackFrame {
        method: MethodKey::unknown(method),
        location: 0,
    }
}

fn stacks(nodes: usize, others: usize) -> Stacks {
    let mut stacks = Stacks::new(StackLimits { nodes, others });
    for method in 1..10 {
        let symbol = Symbol::artificial(&format!("m{method}"));
        stacks.define(frame(method), resolved(symbol, Some(method as u32)), 0);
    }
    stacks
}

fn resolved(symbol: Symbol, line: Option<u32>) -> ResolvedFrame {
    ResolvedFrame {
        symbol,
        line,
        loader: 0,
        class: None,
    }
}

/// Returns the class names on the path to a node, outermost first.
fn path(stacks: &Stacks, node: Option<u32>) -> Vec<String> {
    let mut path = Vec::new();
    let mut at = node;
    while let Some(node) = at.map(|at| stacks.nodes()[at as usize]) {
        path.push(stacks.symbols()[node.at.symbol as usize].class.to_string());
        at = node.parent;
    }
    path.reverse();
    path
}

#[test]
fn stacks_share_their_callers() {
    let mut stacks = stacks(100, 100);
    let one = stacks.node(&[frame(3), frame(2), frame(1)], false);
    let two = stacks.node(&[frame(4), frame(2), frame(1)], false);
    assert_eq!(path(&stacks, one), ["m1", "m2", "m3"]);
    assert_eq!(path(&stacks, two), ["m1", "m2", "m4"]);
    assert_eq!(stacks.nodes().len(), 4);
    assert_eq!(stacks.node(&[frame(3), frame(2), frame(1)], false), one);
    let cut = stacks.node(&[frame(3), frame(2)], true);
    assert_eq!(path(&stacks, cut), ["(deeper)", "m2", "m3"]);
    assert_eq!(stacks.cut, 1);
    assert_eq!(stacks.node(&[], false), None);
}

#[test]
fn without_room_a_site_has_no_callers() {
    let mut stacks = stacks(2, 100);
    let deep = stacks.node(&[frame(3), frame(2), frame(1)], false);
    assert_eq!(path(&stacks, deep), ["m3"]);
    assert_eq!(stacks.without_callers, 1);
    let known = stacks.node(&[frame(2), frame(1)], false);
    assert_eq!(path(&stacks, known), ["m1", "m2"]);
}

#[test]
fn callers_that_are_not_chosen_are_left_out() {
    let mut stacks = stacks(100, 100);
    for method in [11, 12, 13] {
        let symbol = Symbol {
            is_chosen: true,
            ..Symbol::artificial(&format!("c{method}"))
        };
        stacks.define(frame(method), resolved(symbol, Some(method as u32)), 0);
    }
    let frames = [1, 12, 2, 11, 3, 13, 12, 11, 4].map(frame);
    let deep = stacks.node_of_chosen(&frames, false, true);
    assert_eq!(path(&stacks, deep), ["c11", "c12"]);
    let lines = stacks.nodes().iter().map(|node| node.at.line);
    assert_eq!(lines.collect::<Vec<_>>(), [None, Some(12)]);
    let alone = stacks.node_of_chosen(&frames, false, false);
    assert_eq!(path(&stacks, alone), ["c12"]);
    let others = [frame(1), frame(4)];
    assert_eq!(stacks.node_of_chosen(&others, false, true), None);
    // There may be frames with chosen classes beyond the recorded frames.
    let deep = stacks.node_of_chosen(&others, true, false);
    assert_eq!(path(&stacks, deep), ["(deeper)"]);
    assert_eq!(stacks.node_of_chosen(&others, true, true), deep);
    let deep = stacks.node_of_chosen(&frames, true, true);
    assert_eq!(path(&stacks, deep), ["(deeper)", "c11", "c12"]);
    assert_eq!(stacks.cut, 3);
    assert_eq!(stacks.node_of_chosen(&frames, true, false), alone);
    assert_eq!(stacks.cut, 3, "callers that are not asked for are not cut");
}

#[test]
fn callers_without_room_may_be_chosen() {
    let mut stacks = stacks(100, 4);
    assert!(!stacks.has_chosen(&[frame(1)]));
    assert!(stacks.has_chosen(&[frame(1), frame(9)]));
    for (frames, is_deeper, with_callers, expected) in [
        (&[1, 9, 1][..], false, true, &["(other methods)"][..]),
        (&[9, 8], true, true, &["(deeper)", "(other methods)"]),
        (&[9, 8], true, false, &["(other methods)"]),
    ] {
        let frames: Vec<StackFrame> = frames.iter().copied().map(frame).collect();
        let node = stacks.node_of_chosen(&frames, is_deeper, with_callers);
        assert_eq!(path(&stacks, node), expected, "{frames:?}");
    }
    assert_eq!(stacks.unnamed, 3);
    assert_eq!(stacks.node_of_chosen(&[frame(1)], false, true), None);
    assert_eq!(stacks.unnamed, 3);
}

#[test]
fn lines_have_a_limit() {
    let mut stacks = stacks(100, 4);
    assert!(stacks.unknown(&[frame(9)], 0).len() <= 1);
    let node = stacks.node(&[frame(9), frame(1)], false);
    assert_eq!(path(&stacks, node), ["m1", "(other methods)"]);
    assert_eq!(stacks.unnamed, 1);
    let mut stacks = Stacks::new(StackLimits::DEFAULT);
    assert_eq!(
        stacks.unknown(&[frame(1), frame(2), frame(1)], 0),
        [frame(1), frame(2)]
    );
    stacks.define(frame(1), resolved(Symbol::artificial("m1"), None), 0);
    assert_eq!(stacks.unknown(&[frame(1), frame(2)], 0), [frame(2)]);
}

/// After a class is redefined, its methods have other lines at the same places.
#[test]
fn lines_are_renewed_after_redefinitions() {
    let mut stacks = stacks(100, 9);
    let line = |stacks: &Stacks, node: Option<u32>| {
        node.and_then(|node| stacks.nodes()[node as usize].at.line)
    };
    let frames = [frame(2), frame(1)];
    let old = stacks.node(&frames, false);
    assert_eq!(line(&stacks, old), Some(2));
    assert!(stacks.unknown(&frames, 0).is_empty());
    assert_eq!(stacks.unknown(&frames, 7), frames);
    let symbols = stacks.symbols().len();
    let other = Symbol::artificial("a class with other lines");
    stacks.define(frame(2), resolved(other, Some(20)), 7);
    let new = stacks.node(&frames, false);
    assert_eq!(line(&stacks, new), Some(20));
    assert_eq!(path(&stacks, new), path(&stacks, old));
    assert_eq!(stacks.symbols().len(), symbols);
    assert!(!stacks.known.contains(&frames), "a line is old");
    assert_eq!(stacks.unknown(&frames, 7), [frame(1)]);
    stacks.define(frame(1), resolved(Symbol::artificial("m1"), Some(10)), 7);
    let new = stacks.node(&frames, false);
    assert_eq!(line(&stacks, new), Some(20));
    assert!(stacks.known.contains(&frames));
    // A slower thread does not bring back the lines of an older version.
    assert!(stacks.unknown(&frames, 6).is_empty());
    stacks.define(frame(2), resolved(Symbol::artificial("m2"), Some(2)), 6);
    assert_eq!(stacks.node(&frames, false), new);
}

/// After a class is unloaded, only the symbols of its methods are kept. Copies of a class share
/// these symbols.
#[test]
fn copies_of_a_method_share_a_symbol() {
    let mut stacks = Stacks::new(StackLimits::DEFAULT);
    for class in 0..1000 {
        for at in 0..3 {
            let method = 10 + 2 * class as usize + at / 2;
            let frame = StackFrame {
                location: at as i64,
                ..frame(method)
            };
            let symbol = Symbol::artificial(["run", "run", "step"][at]);
            let resolved = ResolvedFrame {
                loader: 7 + class,
                class: Some(class),
                ..resolved(symbol, Some(1))
            };
            stacks.define(frame, resolved, 0);
        }
        if class >= 10 {
            stacks.forget(class);
        }
    }
    assert_eq!((stacks.lines.len(), stacks.unloadable.len()), (30, 10));
    let copies: Vec<_> = stacks.copies[2..]
        .iter()
        .map(|c| (c.first, c.loaders))
        .collect();
    assert_eq!(copies, [(7, 1000), (7, 1000)]);
}

#[test]
fn a_key_holds_as_long_as_its_methods() {
    let mut stacks = stacks(100, 100);
    let resolved = ResolvedFrame {
        class: Some(1),
        ..resolved(Symbol::artificial("unloadable"), None)
    };
    stacks.define(frame(20), resolved, 0);
    let key = |method: usize| StackKey::of(&[method as u64], true);
    let collections = |are_all_known| Collections {
        ended: 3,
        are_all_known,
    };
    for (method, are_all_known, lasts) in [(1, false, true), (20, true, false)] {
        let frames = [frame(method)];
        let node = stacks.node(&frames, false);
        for _ in 0..2 {
            stacks.note_key(&key(method), &frames, collections(are_all_known));
        }
        assert_eq!(stacks.node_of_key(&key(method), 0, 3), Some(node));
        let later = stacks.node_of_key(&key(method), 0, 4);
        assert_eq!(later, lasts.then_some(node), "{method}");
    }
    // A class may be unloaded in a collection that the JVM does not report.
    let other = StackKey::of(&[20, 20], true);
    for _ in 0..2 {
        stacks.note_key(&other, &[frame(20)], collections(false));
    }
    assert_eq!(stacks.node_of_key(&other, 0, 3), None);
    assert_eq!(
        stacks.node_of_key(&key(1), 1, 3),
        None,
        "the lines may have changed"
    );
}
