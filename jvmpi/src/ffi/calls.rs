//! The calls of methods that a thread has begun and not ended.

use std::cell::Cell;
use std::ptr::null_mut;

use super::layer::{Profilers, Sole};

/// A call of a method: the method's number in its probes, and above it the profilers that may get `METHOD_EXIT`. There
/// is at least one, so that a call is never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call(u64);

impl Call {
    #[inline]
    pub(super) fn new(number: u32, told: Profilers) -> Self {
        Call(u64::from(number) | u64::from(told) << u32::BITS)
    }

    /// Makes a call of which one profiler alone was told. It differs from others that tell the same, so that only
    /// [`Calls::leave`] compares calls.
    #[inline(always)]
    pub(super) fn of_sole(number: u32, sole: Sole) -> Self {
        Call(u64::from(number) | sole.0)
    }

    pub(super) fn number(self) -> u32 {
        self.0 as u32
    }

    pub(super) fn told(self) -> Profilers {
        (self.0 >> u32::BITS) as Profilers
    }
}

/// The word before the first call, and the word after the last place. It is no call.
const EDGE: u64 = u64::MAX;
/// Number of words of the first list.
const FIRST_WORDS: usize = 32;

/// The calls of a thread, the innermost last.
///
/// Each event adds or removes a call, so that few steps matter more here than elsewhere. The words of the list are
/// [`EDGE`], the calls, zeros, [`EDGE`]. The word after the calls is also the mark that keeps a profiler that calls Java
/// methods from being told of them: it is not 0 while the profiler is told of an entry or exit.
pub(super) struct Calls {
    /// Points to the word after the calls. That word is 0, except while a profiler is being told and if the list is full.
    top: Cell<*mut u64>,
    /// The first word; null before the first call.
    start: Cell<*mut u64>,
    /// The last word.
    end: Cell<*mut u64>,
}

// SAFETY: the words belong to the list alone, and a call names no memory. A virtual thread takes its calls to other
// carriers.
unsafe impl Send for Calls {}

impl Default for Calls {
    fn default() -> Self {
        Calls::new()
    }
}

impl Calls {
    pub(super) const fn new() -> Self {
        // A list without places. Nothing writes to it, because its word after the calls is not 0.
        const NONE: &[u64; 2] = &[EDGE; 2];
        let end = (&raw const NONE[1]).cast_mut();
        Calls {
            top: Cell::new(end),
            start: Cell::new(null_mut()),
            end: Cell::new(end),
        }
    }

    /// Adds a call and runs `tell`. Does nothing and returns false if a profiler is being told, or if the list is full.
    #[inline(always)]
    pub(super) fn enter(&self, call: Call, tell: impl FnOnce()) -> bool {
        let top = self.top.get();
        // SAFETY: `top` is a word of the list. One that is 0 is not the last one.
        unsafe {
            if *top != 0 {
                return false;
            }
            *top = call.0;
            tell();
            // It is the same place as before, since `Own::unmount` exchanges no calls in `tell`. Not to keep it meanwhile
            // saves a register, and so a step.
            self.top.set(self.top.get().add(1));
        }
        true
    }

    /// Removes this call and runs `tell`. Does nothing and returns false if the call is not the innermost one, if a
    /// profiler is being told, or if the list is full.
    #[inline(always)]
    pub(super) fn leave(&self, call: Call, tell: impl FnOnce()) -> bool {
        let top = self.top.get();
        // SAFETY: `top` is not the first word of the list.
        unsafe {
            let last = top.sub(1);
            if *top != 0 || *last != call.0 {
                return false;
            }
            self.top.set(last);
            tell();
            *last = 0;
        }
        true
    }

    /// Returns whether a profiler is being told of an entry or exit.
    pub(super) fn is_telling(&self) -> bool {
        let top = self.top.get();
        // SAFETY: `top` is a word of the list.
        top != self.end.get() && unsafe { *top } != 0
    }

    /// Makes the list longer if it is full.
    #[cold]
    pub(super) fn grow_if_full(&self) {
        if self.top.get() != self.end.get() {
            return;
        }
        let mut words = vec![EDGE];
        words.extend(self.iter().map(|call| call.0));
        let top = words.len();
        words.resize((2 * top).max(FIRST_WORDS), 0);
        let end = words.len() - 1;
        words[end] = EDGE;
        self.free();
        let start = Box::into_raw(words.into_boxed_slice()).cast::<u64>();
        self.start.set(start);
        // SAFETY: both places are in the list.
        unsafe {
            self.top.set(start.add(top));
            self.end.set(start.add(end));
        }
    }

    /// Returns the number of calls.
    fn len(&self) -> usize {
        if self.start.get().is_null() {
            return 0;
        }
        (self.top.get().addr() - self.start.get().addr()) / size_of::<u64>() - 1
    }

    /// Iterates over the calls, the outermost first. No call may be added or removed meanwhile.
    fn iter(&self) -> impl DoubleEndedIterator<Item = Call> + ExactSizeIterator {
        let start = self.start.get();
        // SAFETY: the calls follow the first word.
        (0..self.len()).map(move |place| Call(unsafe { *start.add(1 + place) }))
    }

    /// Returns the innermost call if there are more than `keep`.
    pub(super) fn last_above(&self, keep: usize) -> Option<Call> {
        if self.len() > keep {
            self.iter().next_back()
        } else {
            None
        }
    }

    /// Returns the number of calls outside of the innermost call of a method; `None` if it has no call.
    pub(super) fn outside_of(&self, number: u32) -> Option<usize> {
        self.iter().rposition(|call| call.number() == number)
    }

    /// Keeps only these profilers, and forgets the calls of which no profiler was told then. To be called while no
    /// profiler is being told.
    pub(super) fn retain(&self, profilers: Profilers) {
        let mut kept = self.start.get();
        for call in self.iter() {
            let told = call.told() & profilers;
            if told != 0 {
                // SAFETY: at most as many calls are kept as there were.
                unsafe {
                    kept = kept.add(1);
                    *kept = Call::new(call.number(), told).0;
                }
            }
        }
        if self.len() != 0 {
            // SAFETY: the words after the first one up to `top` are those of the calls.
            unsafe {
                let top = kept.add(1);
                let mut word = top;
                while word != self.top.get() {
                    *word = 0;
                    word = word.add(1);
                }
                self.top.set(top);
            }
        }
    }

    /// Exchanges the calls for others.
    pub(super) fn swap(&self, other: &Calls) {
        self.top.swap(&other.top);
        self.start.swap(&other.start);
        self.end.swap(&other.end);
    }

    /// Forgets all calls.
    pub(super) fn clear(&self) {
        self.swap(&Calls::new());
    }

    fn free(&self) {
        let start = self.start.get();
        if !start.is_null() {
            let words = (self.end.get().addr() - start.addr()) / size_of::<u64>() + 1;
            // SAFETY: the list was made as a box of so many words.
            drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, words)) });
        }
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.free();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(calls: &Calls, number: u32, told: Profilers) {
        calls.grow_if_full();
        assert!(calls.enter(Call::new(number, told), || ()));
    }

    fn numbers(calls: &Calls) -> Vec<u32> {
        calls.iter().map(Call::number).collect()
    }

    #[test]
    fn calls_are_left_in_the_opposite_order() {
        let calls = Calls::new();
        assert!(
            !calls.enter(Call::new(0, 1), || ()),
            "the list has no place yet"
        );
        for number in 0..1000 {
            enter(&calls, number, 1);
        }
        assert_eq!(calls.outside_of(7), Some(7));
        assert!(!calls.leave(Call::new(7, 1), || ()));
        for number in (0..1000).rev() {
            calls.grow_if_full();
            assert!(calls.leave(Call::new(number, 1), || ()));
        }
        assert!(!calls.leave(Call::new(0, 1), || ()));
        assert_eq!((calls.len(), calls.last_above(0)), (0, None));
        enter(&calls, 5, 1);
        assert_eq!(calls.last_above(0), Some(Call::new(5, 1)));
        calls.clear();
        assert_eq!(calls.outside_of(5), None);
    }

    #[test]
    fn nobody_is_told_while_a_profiler_is_told() {
        let calls = Calls::new();
        enter(&calls, 1, 1);
        let call = Call::new(2, 1);
        let check = || {
            assert!(calls.is_telling());
            assert!(!calls.enter(Call::new(3, 1), || ()));
            assert!(!calls.leave(call, || ()) && !calls.leave(Call::new(1, 1), || ()));
        };
        assert!(calls.enter(call, check));
        assert!(!calls.is_telling());
        assert!(calls.leave(call, check));
        assert!(!calls.is_telling());
        assert_eq!(numbers(&calls), [1]);
    }

    #[test]
    fn calls_of_other_profilers_are_forgotten() {
        let calls = Calls::new();
        calls.retain(1);
        for (number, told) in [(1, 1), (2, 2), (3, 3), (4, 2)] {
            enter(&calls, number, told);
        }
        calls.retain(1);
        assert_eq!(numbers(&calls), [1, 3]);
        // The places of the others are free.
        enter(&calls, 5, 1);
        assert!(!calls.is_telling());
        assert!(calls.leave(Call::new(5, 1), || ()) && calls.leave(Call::new(3, 1), || ()));
        let other = Calls::new();
        calls.swap(&other);
        assert_eq!((numbers(&calls), numbers(&other)), (vec![], vec![1]));
    }
}
