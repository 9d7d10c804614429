//! Pseudorandom numbers that depend only on their seed.

/// The generator SplitMix64, which is small and good enough for mutations.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Makes a generator with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        match bound {
            0 => 0,
            _ => (self.bits() % bound as u64) as usize,
        }
    }

    /// Returns true with the probability 1 / `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Returns a byte.
    pub fn u1(&mut self) -> u8 {
        self.bits() as u8
    }

    /// Returns a 16-bit number, often 0, the greatest number or near them.
    pub fn u2(&mut self) -> u16 {
        const BORDERS: [u16; 12] = [
            0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xfffe, 0xffff, 8,
        ];
        match self.one_in(2) {
            true => BORDERS[self.below(BORDERS.len())],
            false => self.bits() as u16,
        }
    }

    /// Returns a random element of the slice `of`; `None` if the slice is empty.
    pub fn pick<'t, T>(&mut self, of: &'t [T]) -> Option<&'t T> {
        of.get(self.below(of.len()))
    }
}
