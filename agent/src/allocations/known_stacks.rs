//! Finds the node of a whole stack that was seen before, by one look-up. Most samples have such a stack.

use loadhook_profile::NumberMap;

use crate::jvm::jvmti_stacks::StackFrame;

/// Limit of the memory of all known stacks, in frames of 16 bytes: about 32 MB.
const MOST: usize = 1 << 21;

/// The memory that a stack takes in addition to its frames, as a number of frames: an entry in the table, spare room of
/// the table, and the header of a block of memory.
const ENTRY: usize = 4;

/// Stacks, innermost frame first, and their nodes.
#[derive(Default)]
pub(super) struct KnownStacks {
    nodes: NumberMap<Box<[StackFrame]>, Option<u32>>,
    /// The memory of all stacks, in frames.
    size: usize,
}

impl KnownStacks {
    pub(super) fn contains(&self, frames: &[StackFrame]) -> bool {
        self.nodes.contains_key(frames)
    }

    /// Returns the node of a stack; `None` if the stack is not known. The inner `None` is for a stack without frames,
    /// which has no node.
    pub(super) fn node(&self, frames: &[StackFrame]) -> Option<Option<u32>> {
        self.nodes.get(frames).copied()
    }

    /// Adds a stack that is not known yet. If there is no room, all known stacks are forgotten first.
    pub(super) fn add(&mut self, frames: &[StackFrame], node: Option<u32>) {
        let size = frames.len() + ENTRY;
        if self.size + size > MOST {
            self.clear();
        }
        self.size += size;
        self.nodes.insert(frames.into(), node);
    }

    /// Forgets all stacks.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.size = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jvm::jvmti::MethodKey;

    #[test]
    fn known_stacks_have_a_limit() {
        let frames = [1, 2, 3].map(|method| StackFrame {
            method: MethodKey::unknown(method),
            location: 0,
        });
        let mut known = KnownStacks::default();
        known.add(&frames[..2], Some(7));
        known.add(&frames, Some(8));
        assert_eq!(known.size, 2 + 3 + 2 * ENTRY);
        known.size = MOST - ENTRY;
        known.add(&frames[..1], Some(9));
        assert!(!known.contains(&frames[..2]) && !known.contains(&frames));
        assert_eq!(known.node(&frames[..1]), Some(Some(9)));
        assert_eq!(known.size, 1 + ENTRY);
    }
}
