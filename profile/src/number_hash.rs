//! A fast hash for keys that consist of numbers and addresses.
//!
//! The keys come from the JVM and from this profiler, so an attacker cannot choose keys that collide.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table whose keys consist of numbers.
pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Multiplies the numbers of a key one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct NumberHasher(u64);

/// An odd number whose bits look random.
const FACTOR: u64 = 0xf135_7aea_2e62_a9c5;

impl Hasher for NumberHasher {
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(FACTOR).rotate_left(23);
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn finish(&self) -> u64 {
        // The upper bits of a product depend on all bits of the number. Tables use the lower bits, too.
        self.0.wrapping_mul(FACTOR).rotate_left(32)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::Hash;

    use super::*;

    fn hash(key: impl Hash) -> u64 {
        let mut hasher = NumberHasher::default();
        key.hash(&mut hasher);
        hasher.finish()
    }

    /// Addresses of methods are multiples of 8, and ids count from 1. A table places a key by the lower bits of
    /// its hash, and compares keys by the upper bits.
    #[test]
    fn neighbouring_keys_have_different_bits() {
        let keys = (0..4096_u64).map(|n| hash((0x7f00_0000_0000 + 8 * n, Some(3_u32))));
        let ids = (0..4096_u64).map(hash);
        for hashes in [keys.collect::<Vec<_>>(), ids.collect()] {
            for bits in [
                hashes
                    .iter()
                    .map(|hash| hash & 0xfff)
                    .collect::<HashSet<_>>(),
                hashes.iter().map(|hash| hash >> 52).collect(),
            ] {
                // Random numbers would take 63 % of all values.
                assert!(bits.len() > 2200, "{}", bits.len());
            }
        }
        assert_ne!(hash([1_u32, 2]), hash([2_u32, 1]));
    }
}
