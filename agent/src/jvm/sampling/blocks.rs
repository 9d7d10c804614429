//! An array in blocks. A block is allocated when it is first needed. Signal handlers may read the array at any time.
//!
//! The pointers to the blocks are in zeroed memory. The kernel provides a page of this memory only when the page is
//! first written. So even an array that can become large costs nothing at the start of the JVM.

use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::reclaim::zeroed;

/// Blocks of `LEN` elements each. A block stays where it is as long as the array lives.
pub(super) struct Blocks<T, const LEN: usize> {
    blocks: Box<[AtomicPtr<T>]>,
    /// Marks the array as the owner of its elements, so that threads may share it only if they may share an element.
    owned: PhantomData<Box<T>>,
}

impl<T, const LEN: usize> Blocks<T, LEN> {
    /// Makes an array with room for `blocks` blocks. A block is allocated when it is first needed.
    pub(super) fn new(blocks: usize) -> Self {
        Blocks {
            blocks: zeroed(blocks),
            owned: PhantomData,
        }
    }

    /// Returns the element at an index; `None` if the element's block does not exist.
    pub(super) fn get(&self, index: usize) -> Option<&T> {
        let block = self.blocks.get(index / LEN)?;
        let elements = self.elements(block.load(Ordering::Acquire))?;
        elements.get(index % LEN)
    }

    /// Returns the element at an index. If the element's block does not exist, allocates the block, with elements that
    /// `make` makes. `None` if the index is beyond the array.
    pub(super) fn get_or_make(&self, index: usize, make: impl FnMut() -> T) -> Option<&T> {
        let block = self.blocks.get(index / LEN)?;
        if block.load(Ordering::Acquire).is_null() {
            let elements: Box<[T]> = std::iter::repeat_with(make).take(LEN).collect();
            let made = Box::into_raw(elements).cast::<T>();
            let kept =
                block.compare_exchange(null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
            if kept.is_err() {
                // SAFETY: `made` points to the box from above, which nothing uses: another thread's block was kept.
                drop(unsafe { Self::boxed(made) });
            }
        }
        self.get(index)
    }

    fn elements(&self, block: *mut T) -> Option<&[T]> {
        // SAFETY: a pointer that is not null comes from a box of `LEN` elements. The box lives as
        // long as the array.
        (!block.is_null()).then(|| unsafe { std::slice::from_raw_parts(block, LEN) })
    }

    /// # Safety
    /// `block` must be the pointer of a box of `LEN` elements that nothing uses any more.
    unsafe fn boxed(block: *mut T) -> Box<[T]> {
        let elements = std::ptr::slice_from_raw_parts_mut(block, LEN);
        // SAFETY: the caller's promise.
        unsafe { Box::from_raw(elements) }
    }
}

impl<T, const LEN: usize> Drop for Blocks<T, LEN> {
    fn drop(&mut self) {
        for block in &self.blocks {
            let block = block.load(Ordering::Acquire);
            if !block.is_null() {
                // SAFETY: the pointer is that of a box, and there is no reader any more.
                drop(unsafe { Self::boxed(block) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn blocks_are_made_when_needed_and_stay() {
        let one = Arc::new(());
        let blocks: Blocks<(Arc<()>, usize), 4> = Blocks::new(3);
        assert!(blocks.get(5).is_none());
        let mut next = 0;
        let mut make = || {
            next += 1;
            (Arc::clone(&one), next)
        };
        assert_eq!(blocks.get_or_make(5, &mut make).unwrap().1, 2);
        assert_eq!(
            blocks.get_or_make(4, &mut make).unwrap().1,
            1,
            "the same block"
        );
        assert_eq!(blocks.get(7).unwrap().1, 4);
        assert!(blocks.get(3).is_none(), "another block");
        assert!(blocks.get_or_make(12, &mut make).is_none());
        assert_eq!(Arc::strong_count(&one), 5);
        drop(blocks);
        assert_eq!(Arc::strong_count(&one), 1);
    }

    #[test]
    fn threads_that_make_a_block_at_once_get_the_same() {
        let blocks: Blocks<usize, 8> = Blocks::new(64);
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let element =
                            |index| std::ptr::from_ref(blocks.get_or_make(index, || 7).unwrap());
                        (0..512)
                            .map(|index| element(index).addr())
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            let found: Vec<_> = all
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect();
            assert!(found.iter().all(|other| *other == found[0]));
        });
    }
}
