//! The tree of stacks: one node for each path of methods.
//!
//! Recursion is folded as the tracker folds it: a method that is on the path already goes back to its node. So a
//! recursive program makes no more nodes than it has paths without repetition.

use std::collections::HashSet;

use crate::frames::numbers::Numbers;

/// The number of a method's name in [`Names`](super::names::Names).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NameNumber(pub(super) u32);

/// The name of a node that stands for methods without room in the tree: those below a node, or a whole stack.
pub(super) const TREE_FULL: NameNumber = NameNumber(0);

/// A method that was called from its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    /// Index of the caller's node, lower than this node's.
    pub(super) parent: Option<u32>,
    pub(super) name: NameNumber,
}

/// A stack in the tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// The frames from the outermost one on: the node of each, and whether it is the first frame of the node.
    pub(super) frames: Vec<(u32, bool)>,
    /// The path in the tree to the last frame of `frames`, with recursion folded: the name and the node of each step.
    open: Vec<(NameNumber, u32)>,
    /// The nodes of all frames.
    met: HashSet<u32>,
}

/// The nodes of all stacks, of which there is a limited number.
#[derive(Clone, Debug)]
pub(super) struct StackTree {
    nodes: Numbers<Node>,
    most: usize,
    /// Number of stacks that had no room, and ended at [`TREE_FULL`].
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

    /// Finds or makes the node for stacks without room in the tree.
    pub(super) fn full_root(&mut self) -> u32 {
        let root = Node {
            parent: None,
            name: TREE_FULL,
        };
        // This node is made even beyond the limit.
        self.nodes.number(root, usize::MAX).unwrap_or(0)
    }

    /// Finds the nodes of a stack, whose innermost frame is first, and writes them to `path`.
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
                // A node can come a second time on a stack, because recursion goes back to an outer node.
                let is_first = path.met.insert(number);
                path.frames.push((number, is_first));
                continue;
            }
            self.overflowed += 1;
            let full = Node {
                parent,
                name: TREE_FULL,
            };
            // This node is made even beyond the limit, because there is at most one below each node.
            if let Some(number) = self.nodes.number(full, usize::MAX) {
                path.frames.push((number, true));
            }
            return;
        }
    }
}
