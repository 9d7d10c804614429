//! Finds the node of a stack by the stack's [key](StackKey), so that the JVM need not decode the frames.
//!
//! A key is used after two decoded stacks with this key have had the same node. Now and then a stack is decoded
//! although its key is known. If two stacks with the same key have different nodes, keys do not identify stacks on this
//! JVM. From then on no key is used.

use loadhook_profile::NumberMap;

use crate::jvm::sampling::StackKey;

/// Now and then a stack is decoded although its key may be known. This is the smallest number of stacks from one such
/// stack to the next.
const LEAST_STEP: u32 = 64;

/// The number of different steps, one of which is chosen at random. On average, one in about 128 stacks is decoded.
const STEPS: u32 = 128;

/// The note that different stacks had the same key. A number of stacks precedes it.
pub(super) const DIFFERED: &str =
    "stack was taken for another stack; some objects may be shown at the wrong place";

/// Limit of the memory of the keys, in words of 8 bytes: about 32 MB.
const MOST: usize = 1 << 22;

/// The memory that an entry takes in addition to the words of its key, in words of 8 bytes.
const ENTRY: usize = 8;

/// The node of the stacks that have a key, and the conditions under which the key may be used.
#[derive(Clone, Copy, Debug)]
struct Known {
    node: Option<u32>,
    /// The number of collections that had ended when the key was added, if a later collection may give the words of the
    /// key another meaning; otherwise `None`.
    holds_at: Option<u32>,
    /// True after two decoded stacks with this key have had this node.
    is_confirmed: bool,
}

impl Known {
    fn holds(&self, collections: u32) -> bool {
        self.holds_at.is_none_or(|at| at == collections)
    }
}

/// Chooses the stacks that are decoded although their keys may be known. The steps from one of these stacks to the next
/// are random. With equal steps, some stacks of a program with a regular pattern would never be chosen.
struct Checks {
    /// The state of a xorshift generator.
    random: u32,
    /// The number of stacks up to and including the next chosen stack.
    left: u32,
}

impl Default for Checks {
    fn default() -> Self {
        Checks {
            random: 0x9e37_79b9,
            left: LEAST_STEP,
        }
    }
}

impl Checks {
    /// Returns whether the next stack is chosen.
    fn is_next_chosen(&mut self) -> bool {
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.left = LEAST_STEP + self.random % STEPS;
        true
    }
}

/// The known keys with their nodes.
#[derive(Default)]
pub(super) struct KnownKeys {
    nodes: NumberMap<Box<[u64]>, Known>,
    /// The memory of all keys, in words.
    size: usize,
    checks: Checks,
    /// True after the nodes of two stacks with the same key differed.
    pub(super) are_wrong: bool,
}

impl KnownKeys {
    /// Returns the node of the stacks with this key, or `None` if the caller must decode the stack. `collections` is
    /// the number of collections that have ended. The inner `None` is the node of a stack without frames.
    pub(super) fn node(&mut self, key: &StackKey, collections: u32) -> Option<Option<u32>> {
        if self.checks.is_next_chosen() {
            return None;
        }
        let known = self.nodes.get(key.words())?;
        (known.is_confirmed && known.holds(collections)).then_some(known.node)
    }

    /// Notes the node of a stack that was decoded. `holds_at` is the number of collections that have ended, if a later
    /// collection may give the words of the key another meaning.
    pub(super) fn add(
        &mut self,
        key: &StackKey,
        node: Option<u32>,
        holds_at: Option<u32>,
        collections: u32,
    ) {
        if self.are_wrong {
            return;
        }
        if let Some(known) = self.nodes.get_mut(key.words()) {
            let is_same = known.node == node;
            if !is_same && known.holds(collections) {
                self.clear();
                self.are_wrong = true;
            } else {
                *known = Known {
                    node,
                    holds_at,
                    is_confirmed: is_same,
                };
            }
            return;
        }
        let size = key.words().len() + ENTRY;
        if self.size + size > MOST {
            self.clear();
        }
        self.size += size;
        let known = Known {
            node,
            holds_at,
            is_confirmed: false,
        };
        self.nodes.insert(key.words().into(), known);
    }

    /// Forgets all keys.
    pub(super) fn clear(&mut self) {
        self.nodes = NumberMap::default();
        self.size = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_believed_after_two_equal_stacks() {
        let mut keys = KnownKeys::default();
        let key = StackKey::of(&[1, 2], false);
        assert_eq!(keys.node(&key, 5), None);
        keys.add(&key, Some(7), None, 5);
        assert_eq!(keys.node(&key, 5), None);
        keys.add(&key, Some(7), None, 5);
        assert_eq!(keys.node(&key, 6), Some(Some(7)));
        keys.add(&key, Some(8), None, 5);
        assert!(keys.are_wrong);
        keys.add(&key, Some(8), None, 5);
        assert!(keys.nodes.is_empty(), "no key is used any more");
    }

    /// Even if a program repeats its stacks with some period, each of the stacks is decoded now and then.
    #[test]
    fn stacks_are_decoded_at_random() {
        for period in [1, 2, 100, 127, 128, 256] {
            let mut keys = KnownKeys::default();
            let known: Vec<StackKey> = (0..period)
                .map(|word| StackKey::of(&[word], false))
                .collect();
            for key in known.iter().chain(&known) {
                keys.add(key, Some(7), None, 5);
            }
            let mut decoded = vec![0_u32; known.len()];
            let asked = 1_usize << 20;
            for number in 0..asked {
                let at = number % known.len();
                decoded[at] += u32::from(keys.node(&known[at], 5).is_none());
            }
            assert!(
                decoded.iter().all(|count| *count > 0),
                "{period} {decoded:?}"
            );
            let all: u32 = decoded.iter().sum();
            assert!((8_000..8_400).contains(&all), "{period} {all}");
        }
    }

    #[test]
    fn after_a_collection_a_key_may_mean_another_stack() {
        let mut keys = KnownKeys::default();
        let key = StackKey::of(&[1, 2], true);
        for _ in 0..2 {
            keys.add(&key, Some(7), Some(5), 5);
        }
        assert_eq!(keys.node(&key, 5), Some(Some(7)));
        assert_eq!(keys.node(&key, 6), None);
        keys.add(&key, Some(8), Some(6), 6);
        assert!(!keys.are_wrong);
        assert_eq!(keys.node(&key, 6), None);
        keys.add(&key, Some(8), Some(6), 6);
        assert_eq!(keys.node(&key, 6), Some(Some(8)));
    }

    #[test]
    fn keys_have_a_limit() {
        let mut keys = KnownKeys::default();
        keys.add(&StackKey::of(&[1], false), Some(7), None, 0);
        keys.size = MOST - ENTRY;
        keys.add(&StackKey::of(&[2], false), Some(7), None, 0);
        assert_eq!((keys.nodes.len(), keys.size), (1, 1 + ENTRY));
    }
}
