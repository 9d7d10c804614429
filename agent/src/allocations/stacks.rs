//! Stacks as nodes of a tree: each node is a call, and its parent is the caller.

use std::collections::HashMap;

use loadhook_profile::NumberMap;

use super::known_keys::KnownKeys;
use super::known_stacks::KnownStacks;
use crate::frames::numbers::{Numbers, NumbersOfNumbers};
use crate::frames::symbol::{CopyLoaders, ResolvedFrame, Symbol};
use crate::jvm::jvmti_stacks::StackFrame;
use crate::jvm::sampling::StackKey;

/// Limits of the tables. Samples for which a table has no room lose their callers or their methods.
#[derive(Clone, Copy, Debug)]
pub(super) struct StackLimits {
    /// Number of nodes.
    pub(super) nodes: usize,
    /// The limit of each of three tables: frames with a known method, types, and
    /// sites of all threads.
    pub(super) others: usize,
}

impl StackLimits {
    /// The default limits. Full tables take about 100 MB of native memory together.
    pub(super) const DEFAULT: StackLimits = StackLimits {
        nodes: 1 << 20,
        others: 1 << 19,
    };
}

/// A line of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SourceLine {
    /// Index into [`Stacks::symbols`].
    pub(super) symbol: u32,
    pub(super) line: Option<u32>,
}

/// The line of a known frame.
#[derive(Clone, Copy, Debug)]
struct FrameLine {
    at: SourceLine,
    /// The version of the methods' line numbers from which the line was read.
    version: u32,
    /// True if the class of the method is never unloaded.
    is_lasting: bool,
}

/// The collections so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collections {
    /// Number of collections that have ended.
    pub(super) ended: u32,
    /// True if the JVM reports the end of every collection that may unload classes.
    pub(super) are_all_known: bool,
}

/// Stands for callers beyond the recorded depth.
const DEEPER: SourceLine = SourceLine {
    symbol: 0,
    line: None,
};
/// Stands for methods for which the table has no room.
const OTHERS: SourceLine = SourceLine {
    symbol: 1,
    line: None,
};

/// A call or, for a leaf, an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    /// Index of the caller's node.
    pub(super) parent: Option<u32>,
    /// The line that calls or allocates.
    pub(super) at: SourceLine,
}

/// The loaders of a symbol that stands for several methods.
const ARTIFICIAL: CopyLoaders = CopyLoaders {
    first: 0,
    loaders: 1,
};

/// The stacks seen so far.
pub(super) struct Stacks {
    limits: StackLimits,
    symbols: Numbers<Symbol>,
    /// The loaders of each symbol's class, by the number of the symbol.
    copies: Vec<CopyLoaders>,
    lines: NumberMap<StackFrame, FrameLine>,
    /// The newest version of the methods' line numbers. It grows when classes are redefined.
    version: u32,
    /// For each class that may be unloaded, by its number: its frames in
    /// [`Stacks::lines`].
    unloadable: HashMap<u32, Vec<StackFrame>>,
    nodes: NumbersOfNumbers<Node>,
    /// The nodes of whole stacks. Only stacks are kept whose methods are all known, and for whose nodes the tree had
    /// room.
    known: KnownStacks,
    /// The nodes of the stacks of [`Stacks::known`], by the keys of the stacks.
    pub(super) keys: KnownKeys,
    /// Number of samples whose stacks were deeper than the recorded frames.
    pub(super) cut: u64,
    /// Number of samples without callers, because the tree had no room.
    pub(super) without_callers: u64,
    /// Number of samples with frames whose methods did not fit into the table.
    pub(super) unnamed: u64,
}

impl Stacks {
    pub(super) fn new(limits: StackLimits) -> Self {
        let mut symbols = Numbers::default();
        for name in ["(deeper)", "(other methods)"] {
            symbols.number(Symbol::artificial(name), 2);
        }
        Stacks {
            limits,
            copies: vec![ARTIFICIAL; symbols.all().len()],
            symbols,
            lines: NumberMap::default(),
            version: 0,
            unloadable: HashMap::new(),
            nodes: NumbersOfNumbers::default(),
            known: KnownStacks::default(),
            keys: KnownKeys::default(),
            cut: 0,
            without_callers: 0,
            unnamed: 0,
        }
    }

    pub(super) fn limits(&self) -> StackLimits {
        self.limits
    }

    pub(super) fn symbols(&self) -> &[Symbol] {
        self.symbols.all()
    }

    /// Returns the loaders of each symbol's class, by the number of the symbol.
    pub(super) fn copies(&self) -> &[CopyLoaders] {
        &self.copies
    }

    pub(super) fn nodes(&self) -> &[Node] {
        self.nodes.all()
    }

    /// Returns, without repetition, the frames that are not known yet, or whose lines are of an older version.
    pub(super) fn unknown(&mut self, frames: &[StackFrame], version: u32) -> Vec<StackFrame> {
        self.renew(version);
        let mut unknown = Vec::new();
        if self.known.contains(frames) {
            return unknown;
        }
        let has_room = self.lines.len() < self.limits.others;
        for frame in frames {
            let is_wanted = match self.lines.get(frame) {
                Some(line) => line.version < version,
                None => has_room,
            };
            if is_wanted && !unknown.contains(frame) {
                unknown.push(*frame);
            }
        }
        unknown
    }

    /// Forgets all whole stacks if `version` of the line numbers is new.
    fn renew(&mut self, version: u32) {
        if version > self.version {
            self.version = version;
            self.known.clear();
            self.keys.clear();
        }
    }

    /// Returns the node of the stacks with a key, or `None` if the key is not known and the caller must get the frames.
    pub(super) fn node_of_key(
        &mut self,
        key: &StackKey,
        version: u32,
        collections: u32,
    ) -> Option<Option<u32>> {
        self.renew(version);
        self.keys.node(key, collections)
    }

    /// Notes the key of a stack, if the whole stack is known. A key that contains an interpreted method is valid until
    /// a collection that may unload the class of this method. After a redefinition of classes, callers must neither
    /// note nor look up such a key.
    pub(super) fn note_key(
        &mut self,
        key: &StackKey,
        frames: &[StackFrame],
        collections: Collections,
    ) {
        let Some(node) = self.known.node(frames) else {
            return;
        };
        let is_lasting =
            |frame: &StackFrame| self.lines.get(frame).is_some_and(|line| line.is_lasting);
        let is_lasting = !key.has_interpreted() || frames.iter().all(is_lasting);
        let Collections {
            ended,
            are_all_known,
        } = collections;
        if is_lasting || are_all_known {
            let holds_at = (!is_lasting).then_some(ended);
            self.keys.add(key, node, holds_at, ended);
        }
    }

    /// Defines the method of a frame. A known frame keeps its method, and gets the line of the new version.
    pub(super) fn define(&mut self, frame: StackFrame, resolved: ResolvedFrame, version: u32) {
        if let Some(known) = self.lines.get_mut(&frame) {
            if version > known.version {
                known.at.line = resolved.line;
                known.version = version;
            }
            return;
        }
        let most = self.limits.others;
        if self.lines.len() >= most {
            return;
        }
        let Some(symbol) = self.symbols.number(resolved.symbol, most) else {
            return;
        };
        if symbol as usize == self.copies.len() {
            self.copies.push(CopyLoaders {
                first: resolved.loader,
                loaders: u32::from(resolved.class.is_none()),
            });
        }
        if let Some(class) = resolved.class {
            let frames = self.unloadable.entry(class).or_default();
            let is_it =
                |known: &StackFrame| self.lines.get(known).is_some_and(|p| p.at.symbol == symbol);
            let is_new = !frames.iter().any(is_it);
            frames.push(frame);
            if let Some(copies) = self.copies.get_mut(symbol as usize) {
                copies.loaders += u32::from(is_new);
            }
        }
        let line = resolved.line;
        let line = FrameLine {
            at: SourceLine { symbol, line },
            version,
            is_lasting: resolved.class.is_none(),
        };
        self.lines.insert(frame, line);
    }

    /// Forgets the frames of an unloaded class.
    pub(super) fn forget(&mut self, class: u32) {
        for frame in self.unloadable.remove(&class).unwrap_or_default() {
            self.lines.remove(&frame);
        }
        self.known.clear();
    }

    /// Finds or makes the node of a stack. `frames` begins with the innermost frame; if it is
    /// empty, returns `None`. `is_deeper` means that the stack has further callers.
    pub(super) fn node(&mut self, frames: &[StackFrame], is_deeper: bool) -> Option<u32> {
        if !is_deeper && let Some(node) = self.known.node(frames) {
            return node;
        }
        self.cut += u64::from(is_deeper);
        let leaf = self.line(frames.first()?);
        let top = is_deeper.then_some(DEEPER);
        let callers = frames.iter().rev().map(|frame| self.line(frame));
        let path: Vec<SourceLine> = top.into_iter().chain(callers).collect();
        let incomplete = self.without_callers + self.unnamed;
        let node = self.node_at(&path, leaf);
        // A stack that is deeper, or has frames without room in the table, is not kept, because each sample of it must
        // be counted. A line may be out of date if another thread has noted a new version meanwhile.
        let is_new = |frame: &StackFrame| {
            self.lines
                .get(frame)
                .is_some_and(|line| line.version == self.version)
        };
        let is_complete = !is_deeper
            && self.without_callers + self.unnamed == incomplete
            && frames.iter().all(is_new);
        if is_complete {
            self.known.add(frames, node);
        }
        node
    }

    /// Returns whether one of these frames has a class that is, or may be, chosen for instrumentation.
    pub(super) fn has_chosen(&self, frames: &[StackFrame]) -> bool {
        self.chosen(frames).next().is_some()
    }

    /// Returns the lines of the frames whose class is chosen. A frame whose method had no room in the table is
    /// included, because its class may be chosen.
    fn chosen(&self, frames: &[StackFrame]) -> impl Iterator<Item = SourceLine> {
        let lines = frames.iter().map(|frame| self.line(frame));
        let symbols = self.symbols.all();
        lines.filter(|line| *line == OTHERS || symbols[line.symbol as usize].is_chosen)
    }

    fn line(&self, frame: &StackFrame) -> SourceLine {
        self.lines.get(frame).map_or(OTHERS, |line| line.at)
    }

    /// Returns the node of the innermost frame whose class is chosen. If `with_callers` is true, the node's callers in
    /// the tree are the methods of the further frames with chosen classes; recursive calls of a method are folded.
    ///
    /// Returns `None` if no frame has a chosen class. If `is_deeper` is true, the result is never `None`, because the
    /// class of a deeper frame may be chosen.
    pub(super) fn node_of_chosen(
        &mut self,
        frames: &[StackFrame],
        is_deeper: bool,
        with_callers: bool,
    ) -> Option<u32> {
        let chosen: Vec<SourceLine> = self.chosen(frames).collect();
        let (leaf, outer) = match chosen.split_first() {
            Some((leaf, outer)) => (*leaf, outer),
            None if is_deeper => (DEEPER, &[][..]),
            None => return None,
        };
        let is_cut = is_deeper && (with_callers || leaf == DEEPER);
        self.cut += u64::from(is_cut);
        let top = is_cut.then_some(DEEPER);
        let outer = outer.iter().rev().filter(|_| with_callers);
        let callers = outer.map(|line| SourceLine {
            line: None,
            ..*line
        });
        let mut path: Vec<SourceLine> = Vec::new();
        for line in top.into_iter().chain(callers).chain([leaf]) {
            // The tracker folds recursion in the same way.
            if let Some(at) = path.iter().position(|known| known.symbol == line.symbol) {
                path.truncate(at);
            }
            path.push(line);
        }
        self.node_at(&path, leaf)
    }

    /// Finds or makes the node at the end of a path. If the tree has no room, finds or makes a node of the leaf without
    /// callers.
    fn node_at(&mut self, path: &[SourceLine], leaf: SourceLine) -> Option<u32> {
        self.unnamed += u64::from(path.contains(&OTHERS));
        let mut parent = None;
        for &at in path {
            parent = self.nodes.number(Node { parent, at }, self.limits.nodes);
            if parent.is_none() {
                self.without_callers += 1;
                // Such nodes need no limit, because there is at most one for each line.
                let alone = Node {
                    parent: None,
                    at: leaf,
                };
                return self.nodes.number(alone, usize::MAX);
            }
        }
        parent
    }
}

#[cfg(test)]
mod tests;
