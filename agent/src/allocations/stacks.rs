//! Stacks by number: a tree of places, callers before their callees.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use super::resolve::Found;
use crate::jvm::jvmti::StackFrame;

/// How much is kept; beyond that samples are told apart less.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Nodes of the tree of calls.
    pub(super) nodes: usize,
    /// Places in methods, types, sites of all threads: each.
    pub(super) others: usize,
}

impl Limits {
    /// Some 100 MB of native memory, all together.
    pub(super) const DEFAULT: Limits = Limits {
        nodes: 1 << 20,
        others: 1 << 19,
    };
}

/// A method as profiles name it. Those of copies of a class are one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Symbol {
    /// The number of the kind of its class's loader.
    pub(super) kind: u32,
    /// Differs where classes of one kind of loader and one name do.
    pub(super) code: u64,
    /// Whether the class is to be instrumented.
    pub(super) is_chosen: bool,
    pub(super) class: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) descriptor: Arc<str>,
    pub(super) file: Option<Arc<str>>,
    pub(super) line: Option<u32>,
}

impl Symbol {
    fn artificial(class: &str) -> Self {
        Symbol {
            kind: 0,
            code: 0,
            is_chosen: false,
            class: class.into(),
            name: "".into(),
            descriptor: "".into(),
            file: None,
            line: None,
        }
    }
}

/// The loaders of a method's copies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copies {
    /// The number of the first.
    pub(super) first: u32,
    pub(super) loaders: u32,
}

/// A line of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// Index into [`Stacks::symbols`].
    pub(super) symbol: u32,
    pub(super) line: Option<u32>,
}

/// Stands for the callers beyond the depth that is looked at.
const DEEPER: Place = Place {
    symbol: 0,
    line: None,
};
/// Stands for places there is no room for.
const OTHERS: Place = Place {
    symbol: 1,
    line: None,
};

/// A call, or the line that allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) parent: Option<u32>,
    pub(super) place: Place,
}

/// Values by number, each once.
#[derive(Clone, Debug)]
pub(super) struct Numbers<T> {
    numbers: HashMap<T, u32>,
    all: Vec<T>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Numbers {
            numbers: HashMap::new(),
            all: Vec::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Numbers<T> {
    /// The number of a value, a new one if there are fewer than `most`.
    pub(super) fn number(&mut self, value: T, most: usize) -> Option<u32> {
        if let Some(number) = self.numbers.get(&value) {
            return Some(*number);
        }
        if self.all.len() >= most {
            return None;
        }
        let number = self.all.len() as u32;
        self.all.push(value.clone());
        self.numbers.insert(value, number);
        Some(number)
    }

    pub(super) fn all(&self) -> &[T] {
        &self.all
    }
}

/// The entry of a symbol that is no method.
const ARTIFICIAL: Copies = Copies {
    first: 0,
    loaders: 1,
};

/// The stacks seen so far.
pub(super) struct Stacks {
    limits: Limits,
    symbols: Numbers<Symbol>,
    /// By symbol.
    copies: Vec<Copies>,
    places: HashMap<StackFrame, Place>,
    /// The frames in [`Stacks::places`] of classes that may be unloaded, by the
    /// number of the class.
    unloadable: HashMap<u32, Vec<StackFrame>>,
    nodes: Numbers<Node>,
    /// Samples whose outermost callers were not looked at.
    pub(super) cut: u64,
    /// Samples that lack their callers, since there is no room for these.
    pub(super) without_callers: u64,
    /// Samples with frames that stand for places there is no room for.
    pub(super) unnamed: u64,
}

impl Stacks {
    pub(super) fn new(limits: Limits) -> Self {
        let mut symbols = Numbers::default();
        for name in ["(deeper)", "(other methods)"] {
            symbols.number(Symbol::artificial(name), 2);
        }
        Stacks {
            limits,
            copies: vec![ARTIFICIAL; symbols.all().len()],
            symbols,
            places: HashMap::new(),
            unloadable: HashMap::new(),
            nodes: Numbers::default(),
            cut: 0,
            without_callers: 0,
            unnamed: 0,
        }
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    pub(super) fn symbols(&self) -> &[Symbol] {
        self.symbols.all()
    }

    /// By symbol.
    pub(super) fn copies(&self) -> &[Copies] {
        &self.copies
    }

    pub(super) fn nodes(&self) -> &[Node] {
        self.nodes.all()
    }

    /// The frames that are not known yet, each once.
    pub(super) fn unknown(&self, frames: &[StackFrame]) -> Vec<StackFrame> {
        let mut unknown = Vec::new();
        if self.places.len() < self.limits.others {
            for frame in frames {
                if !self.places.contains_key(frame) && !unknown.contains(frame) {
                    unknown.push(*frame);
                }
            }
        }
        unknown
    }

    /// Names a frame.
    pub(super) fn define(&mut self, frame: StackFrame, found: Found) {
        let most = self.limits.others;
        if self.places.len() >= most || self.places.contains_key(&frame) {
            return;
        }
        let Some(symbol) = self.symbols.number(found.symbol, most) else {
            return;
        };
        if symbol as usize == self.copies.len() {
            self.copies.push(Copies {
                first: found.loader,
                loaders: u32::from(found.class.is_none()),
            });
        }
        if let Some(class) = found.class {
            let frames = self.unloadable.entry(class).or_default();
            let is_it =
                |known: &StackFrame| self.places.get(known).is_some_and(|p| p.symbol == symbol);
            let is_new = !frames.iter().any(is_it);
            frames.push(frame);
            if let Some(copies) = self.copies.get_mut(symbol as usize) {
                copies.loaders += u32::from(is_new);
            }
        }
        let line = found.line;
        self.places.insert(frame, Place { symbol, line });
    }

    /// A class is unloaded: nobody meets its frames any more.
    pub(super) fn forget(&mut self, class: u32) {
        for frame in self.unloadable.remove(&class).unwrap_or_default() {
            self.places.remove(&frame);
        }
    }

    /// The node of a stack, innermost frame first; `deeper` if it has further
    /// callers. None without frames.
    pub(super) fn node(&mut self, frames: &[StackFrame], deeper: bool) -> Option<u32> {
        self.cut += u64::from(deeper);
        let leaf = self.place(frames.first()?);
        let top = deeper.then_some(DEEPER);
        let callers = frames.iter().rev().map(|frame| self.place(frame));
        let path: Vec<Place> = top.into_iter().chain(callers).collect();
        self.node_at(&path, leaf)
    }

    /// Whether the class of one of these frames is chosen, or may be.
    pub(super) fn has_chosen(&self, frames: &[StackFrame]) -> bool {
        self.chosen(frames).next().is_some()
    }

    /// Those of these frames whose class is chosen. Of one there is no room for
    /// nobody knows: it may be.
    fn chosen(&self, frames: &[StackFrame]) -> impl Iterator<Item = Place> {
        let places = frames.iter().map(|frame| self.place(frame));
        let symbols = self.symbols.all();
        places.filter(|place| *place == OTHERS || symbols[place.symbol as usize].is_chosen)
    }

    fn place(&self, frame: &StackFrame) -> Place {
        self.places.get(frame).copied().unwrap_or(OTHERS)
    }

    /// The node of the innermost of these frames whose class is chosen, and of
    /// its `callers` that are so too: the methods, each once. `deeper` if there
    /// are further callers, of whom nobody knows. None without such a frame.
    pub(super) fn node_of_chosen(
        &mut self,
        frames: &[StackFrame],
        deeper: bool,
        callers: bool,
    ) -> Option<u32> {
        let chosen: Vec<Place> = self.chosen(frames).collect();
        let (leaf, outer) = match chosen.split_first() {
            Some((leaf, outer)) => (*leaf, outer),
            None if deeper => (DEEPER, &[][..]),
            None => return None,
        };
        let is_cut = deeper && (callers || leaf == DEEPER);
        self.cut += u64::from(is_cut);
        let top = is_cut.then_some(DEEPER);
        let outer = outer.iter().rev().filter(|_| callers);
        let outer = outer.map(|place| Place {
            line: None,
            ..*place
        });
        let mut path: Vec<Place> = Vec::new();
        for place in top.into_iter().chain(outer).chain([leaf]) {
            // As the tracker folds recursion.
            if let Some(at) = path.iter().position(|known| known.symbol == place.symbol) {
                path.truncate(at);
            }
            path.push(place);
        }
        self.node_at(&path, leaf)
    }

    /// The node at the end of a path, that of the leaf alone if there is no
    /// room.
    fn node_at(&mut self, path: &[Place], leaf: Place) -> Option<u32> {
        self.unnamed += u64::from(path.contains(&OTHERS));
        let mut parent = None;
        for &place in path {
            parent = self.nodes.number(Node { parent, place }, self.limits.nodes);
            if parent.is_none() {
                self.without_callers += 1;
                // There are no more of these than places.
                let alone = Node {
                    parent: None,
                    place: leaf,
                };
                return self.nodes.number(alone, usize::MAX);
            }
        }
        parent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jvm::jvmti::MethodKey;

    fn frame(method: usize) -> StackFrame {
        StackFrame {
            method: MethodKey::unknown(method),
            location: 0,
        }
    }

    fn stacks(nodes: usize, others: usize) -> Stacks {
        let mut stacks = Stacks::new(Limits { nodes, others });
        for method in 1..10 {
            let symbol = Symbol::artificial(&format!("m{method}"));
            stacks.define(frame(method), found(symbol, Some(method as u32)));
        }
        stacks
    }

    fn found(symbol: Symbol, line: Option<u32>) -> Found {
        Found {
            symbol,
            line,
            loader: 0,
            class: None,
        }
    }

    /// Outermost first.
    fn path(stacks: &Stacks, node: Option<u32>) -> Vec<String> {
        let mut path = Vec::new();
        let mut at = node;
        while let Some(node) = at.map(|at| stacks.nodes()[at as usize]) {
            path.push(
                stacks.symbols()[node.place.symbol as usize]
                    .class
                    .to_string(),
            );
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
            stacks.define(frame(method), found(symbol, Some(method as u32)));
        }
        let frames = [1, 12, 2, 11, 3, 13, 12, 11, 4].map(frame);
        let deep = stacks.node_of_chosen(&frames, false, true);
        assert_eq!(path(&stacks, deep), ["c11", "c12"]);
        let lines = stacks.nodes().iter().map(|node| node.place.line);
        assert_eq!(lines.collect::<Vec<_>>(), [None, Some(12)]);
        let alone = stacks.node_of_chosen(&frames, false, false);
        assert_eq!(path(&stacks, alone), ["c12"]);
        let others = [frame(1), frame(4)];
        assert_eq!(stacks.node_of_chosen(&others, false, true), None);
        // Beyond what is looked at there may be some.
        let deep = stacks.node_of_chosen(&others, true, false);
        assert_eq!(path(&stacks, deep), ["(deeper)"]);
        assert_eq!(stacks.node_of_chosen(&others, true, true), deep);
        let deep = stacks.node_of_chosen(&frames, true, true);
        assert_eq!(path(&stacks, deep), ["(deeper)", "c11", "c12"]);
        assert_eq!(stacks.cut, 3);
        assert_eq!(stacks.node_of_chosen(&frames, true, false), alone);
        assert_eq!(stacks.cut, 3, "its callers are not asked for");
    }

    /// Who may be chosen is not left out.
    #[test]
    fn callers_without_room_may_be_chosen() {
        let mut stacks = stacks(100, 4);
        assert!(!stacks.has_chosen(&[frame(1)]));
        assert!(stacks.has_chosen(&[frame(1), frame(9)]));
        for (frames, deeper, callers, expected) in [
            (&[1, 9, 1][..], false, true, &["(other methods)"][..]),
            (&[9, 8], true, true, &["(deeper)", "(other methods)"]),
            (&[9, 8], true, false, &["(other methods)"]),
        ] {
            let frames: Vec<StackFrame> = frames.iter().copied().map(frame).collect();
            let node = stacks.node_of_chosen(&frames, deeper, callers);
            assert_eq!(path(&stacks, node), expected, "{frames:?}");
        }
        assert_eq!(stacks.unnamed, 3);
        assert_eq!(stacks.node_of_chosen(&[frame(1)], false, true), None);
        assert_eq!(stacks.unnamed, 3);
    }

    #[test]
    fn places_have_a_limit() {
        let mut stacks = stacks(100, 4);
        assert!(stacks.unknown(&[frame(9)]).len() <= 1);
        let node = stacks.node(&[frame(9), frame(1)], false);
        assert_eq!(path(&stacks, node), ["m1", "(other methods)"]);
        assert_eq!(stacks.unnamed, 1);
        let mut stacks = Stacks::new(Limits::DEFAULT);
        assert_eq!(
            stacks.unknown(&[frame(1), frame(2), frame(1)]),
            [frame(1), frame(2)]
        );
        stacks.define(frame(1), found(Symbol::artificial("m1"), None));
        assert_eq!(stacks.unknown(&[frame(1), frame(2)]), [frame(2)]);
    }

    /// A class that was unloaded leaves nothing but its names.
    #[test]
    fn copies_of_a_method_are_one() {
        let mut stacks = Stacks::new(Limits::DEFAULT);
        for class in 0..1000 {
            for at in 0..3 {
                let method = 10 + 2 * class as usize + at / 2;
                let frame = StackFrame {
                    location: at as i64,
                    ..frame(method)
                };
                let symbol = Symbol::artificial(["run", "run", "step"][at]);
                let found = Found {
                    loader: 7 + class,
                    class: Some(class),
                    ..found(symbol, Some(1))
                };
                stacks.define(frame, found);
            }
            if class >= 10 {
                stacks.forget(class);
            }
        }
        assert_eq!((stacks.places.len(), stacks.unloadable.len()), (30, 10));
        let copies: Vec<_> = stacks.copies[2..]
            .iter()
            .map(|c| (c.first, c.loaders))
            .collect();
        assert_eq!(copies, [(7, 1000), (7, 1000)]);
    }
}
