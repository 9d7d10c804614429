//! The tree of stacks. It has one node for each path of methods from an outermost method.
//!
//! Recursion is folded in the same way as in the tracker: if a method is on the path already, the path goes back to the
//! node of this method. So even a recursive program has only as many nodes as there are paths without repeated methods.

use std::collections::HashSet;

use crate::frames::numbers::Numbers;

/// The number of a method's name in [`Names`](super::names::Names).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NameNumber(pub(super) u32);

/// The name of nodes that stand for methods for which the tree has no room: further callees of a node, or a whole
/// stack.
pub(super) const TREE_FULL: NameNumber = NameNumber(0);

/// A method on one path of callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    /// Index of the caller's node, lower than this node's.
    pub(super) parent: Option<u32>,
    pub(super) name: NameNumber,
}

/// The nodes of a stack in the tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// The frames, outermost first: the node of each frame, and true for the first frame at this node.
    pub(super) frames: Vec<(u32, bool)>,
    /// The folded path in the tree to the last frame of `frames`: the name and the node of each step.
    open: Vec<(NameNumber, u32)>,
    /// The nodes of all frames.
    met: HashSet<u32>,
}

/// The nodes of all stacks. Their number is limited.
#[derive(Clone, Debug)]
pub(super) struct StackTree {
    nodes: Numbers<Node>,
    most: usize,
    /// Number of stacks for which there was no room, so that they end at [`TREE_FULL`].
    overflowed: u64,
}

impl StackTree {
    pub(super) fn new(most: usize) -> Self {
        StackTree {
            nodes: Numbers::default(),
            most,
            overflowed: 0,
        }
    }

    pub(super) fn nodes(&self) -> &[Node] {
        self.nodes.all()
    }

    pub(super) fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// Finds or makes the node for whole stacks for which the tree has no room.
    pub(super) fn full_root(&mut self) -> u32 {
        let root = Node {
            parent: None,
            name: TREE_FULL,
        };
        // This node is made even if the limit is exceeded.
        self.nodes.number(root, usize::MAX).unwrap_or(0)
    }

    /// Finds or makes the nodes of a stack (innermost frame first), and writes them to `path`.
    pub(super) fn find(&mut self, stack: &[NameNumber], path: &mut Path) {
        path.frames.clear();
        path.open.clear();
        path.met.clear();
        for name in stack.iter().rev() {
            let known = path.open.iter().rposition(|(open, _)| open == name);
            if let Some(at) = known {
                path.open.truncate(at + 1);
                path.frames.push((path.open[at].1, false));
                continue;
            }
            let parent = path.open.last().map(|(_, node)| *node);
            let node = Node {
                parent,
                name: *name,
            };
            if let Some(number) = self.nodes.number(node, self.most) {
                path.open.push((*name, number));
                // A stack can have a node several times, because recursion goes back to an outer node.
                let is_first = path.met.insert(number);
                path.frames.push((number, is_first));
                continue;
            }
            self.overflowed += 1;
            let full = Node {
                parent,
                name: TREE_FULL,
            };
            // This node is made even if the limit is exceeded, because there is at most one such node below each node.
            if let Some(number) = self.nodes.number(full, usize::MAX) {
                path.frames.push((number, true));
            }
            return;
        }
    }
}
