//! The allocation sites of a snapshot: leaves of its trees.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem;
use std::sync::Arc;

use crate::model::{Allocations, Amount, Frame, Site};
use crate::model::{Node, ThreadTree};

/// An instruction that allocates. Its id is not the id of a method.
///
/// In a snapshot, each node with the site's id is a leaf. Its number of calls is the number of objects that the
/// site allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocationSite {
    /// The id of the method that contains the instruction.
    pub method: u32,
    /// The line in the method's source file.
    pub line: Option<u32>,
    /// The offset in the method's original code, as in the class file.
    pub bci: u16,
    /// The type as Java writes it: `java.lang.String`, `int[][]`.
    pub type_name: Arc<str>,
    /// The way to compute the bytes of the site's objects.
    pub bytes: SiteBytes,
}

/// The way to compute the bytes of a site's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteBytes {
    /// All objects have this size.
    Each(u64),
    /// The bytes are in the node's [`Node::all_ns`].
    Summed,
    /// The size of the objects is unknown.
    Unknown,
}

/// Moves the allocation sites out of the trees, thread by thread.
#[derive(Default)]
pub(crate) struct SiteTaker {
    pub(crate) allocations: Allocations,
    frames: HashMap<Frame, u32>,
}

impl SiteTaker {
    /// Moves the sites out of one tree, whose nodes still hold ids. `index` maps ids to indexes of
    /// methods.
    pub(crate) fn take(
        &mut self,
        thread: u32,
        tree: &mut ThreadTree,
        sites: &HashMap<u32, AllocationSite>,
        mut index: impl FnMut(u32) -> u32,
    ) {
        let all = mem::take(&mut tree.nodes);
        // The new index of each remaining node.
        let mut places: Vec<Option<u32>> = Vec::with_capacity(all.len());
        let mut leaves = Vec::new();
        for node in all {
            let parent = node.parent.and_then(|parent| places[parent as usize]);
            let node = Node { parent, ..node };
            if let Some(site) = sites.get(&node.method) {
                places.push(None);
                leaves.push((node, site));
            } else {
                places.push(Some(tree.nodes.len() as u32));
                tree.nodes.push(node);
            }
        }
        let mut known = vec![None; tree.nodes.len()];
        for (leaf, site) in leaves.into_iter().filter(|(leaf, _)| leaf.calls > 0) {
            // If calls are recorded, the leaf's parent is usually the node of the site's own method.
            let caller = match leaf.parent.map(|parent| tree.nodes[parent as usize]) {
                Some(node) if node.method == site.method => node.parent,
                _ => leaf.parent,
            };
            let parent = self.context(&tree.nodes, caller, &mut known, &mut index);
            let frame = self.frame(Frame {
                parent,
                method: index(site.method),
                line: site.line,
                bci: Some(site.bci),
            });
            let objects = leaf.calls as f64;
            self.allocations.sites.push(Site {
                thread,
                frame: Some(frame),
                type_name: site.type_name.clone(),
                allocated: Amount {
                    objects,
                    bytes: match site.bytes {
                        SiteBytes::Each(bytes) => Some(objects * bytes as f64),
                        SiteBytes::Summed => Some(leaf.all_ns as f64),
                        SiteBytes::Unknown => None,
                    },
                    ..Amount::default()
                },
                live: Amount::default(),
                live_age: 0.0,
            });
        }
    }

    /// Finds or makes the frame of a node; `known` holds the frames that were made before.
    fn context(
        &mut self,
        nodes: &[Node],
        node: Option<u32>,
        known: &mut [Option<u32>],
        mut index: impl FnMut(u32) -> u32,
    ) -> Option<u32> {
        let mut new = Vec::new();
        let mut above = node;
        while let Some(node) = above.filter(|node| known[*node as usize].is_none()) {
            new.push(node);
            above = nodes[node as usize].parent;
        }
        let mut frame = above.and_then(|node| known[node as usize]);
        for node in new.into_iter().rev() {
            frame = Some(self.frame(Frame {
                parent: frame,
                method: index(nodes[node as usize].method),
                line: None,
                bci: None,
            }));
            known[node as usize] = frame;
        }
        frame
    }

    fn frame(&mut self, frame: Frame) -> u32 {
        match self.frames.entry(frame) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                self.allocations.frames.push(frame);
                *place.insert(self.allocations.frames.len() as u32 - 1)
            }
        }
    }
}
