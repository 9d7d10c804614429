//! A hash for addresses and small numbers that come from the JVM.
//!
//! The hash of the standard library takes several times as long, because it withstands keys that somebody has chosen to
//! collide. Nobody chooses the keys here: the JVM gives methods their addresses.

use std::hash::{BuildHasherDefault, Hasher};

/// Makes hashers for tables whose keys are addresses and small numbers.
pub(super) type Spread = BuildHasherDefault<SpreadHasher>;

/// Multiplies by an odd number without pattern, which spreads the lower bits to the upper ones.
#[derive(Default)]
pub(super) struct SpreadHasher(u64);

impl Hasher for SpreadHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(29) ^ number).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        // A table takes the place of an entry from the lower bits. Without this step, the lower bits of the hash would
        // depend on few bits of the key.
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn neighbouring_addresses_have_different_lower_bits() {
        let spread = Spread::default();
        let hashes: HashSet<u64> = (0..4096_usize)
            .map(|n| spread.hash_one(0x7f12_3400_0000 + 8 * n) & 0xffff)
            .collect();
        // Random numbers would take about as many of the 65,536 places.
        assert!(hashes.len() > 3800, "{}", hashes.len());
    }
}
