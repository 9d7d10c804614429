//! Identifiers of objects, and the tags that hold them.

use crate::jvm::sys::Long;

/// Identifiers are multiples of this.
const STEP: u64 = 8;

/// Size of an identifier in bytes, which is also the [size](crate::jvm::heap_walk::size_of) of a reference in the dump.
pub(super) const ID_SIZE: usize = 8;

/// Flag in the tag of an object whose record is written.
pub(super) const WRITTEN: Long = 1 << 62;
/// Flag in the tag of an object that got its tag before the walk reached it.
pub(super) const ANNOUNCED: Long = 1 << 61;
/// Width of the lower part of a tag, which holds the identifier divided by [`STEP`].
const ID_BITS: u32 = 43;
/// Width of the tag's upper part, which holds the length of an array of references. JVM TI reports
/// this length with a reference to the array, but not with the array's elements.
const LENGTH_BITS: u32 = ANNOUNCED.ilog2() - ID_BITS;
/// The largest length in a tag. It stands for this length and for all greater lengths.
pub(super) const LONG: u32 = (1 << LENGTH_BITS) - 1;

/// Makes the tag of an object that is not an array of references.
pub(super) fn tag_of(id: u64) -> Long {
    (id / STEP).cast_signed()
}

/// Makes the tag of an array of references. A length of [`LONG`] or more does not fit: the tag then contains `LONG`.
pub(super) fn tag_of_array(id: u64, length: u32) -> Long {
    tag_of(id) | Long::from(length.min(LONG)) << ID_BITS
}

/// Returns the identifier that a tag contains.
pub(super) fn id_in(tag: Long) -> u64 {
    (tag.cast_unsigned() & ((1 << ID_BITS) - 1)) * STEP
}

/// Returns the array length that a tag contains.
pub(super) fn length_in(tag: Long) -> u32 {
    (tag >> ID_BITS) as u32 & LONG
}

/// Returns the identifier of the class with this number.
pub(super) fn id_of_class(number: usize) -> u64 {
    (number as u64 + 1) * STEP
}

/// Returns the number of the class that has this identifier; `None` for 0. The number is meaningless for the identifier
/// of an object that is no class.
pub(super) fn class_number(id: u64) -> Option<usize> {
    usize::try_from((id / STEP).checked_sub(1)?).ok()
}

/// Returns the serial number that the class with this number has in HPROF's records. Classes of a profile in the same
/// file have lower serial numbers.
pub(super) fn class_serial(number: usize) -> u32 {
    (1 << 30) + number as u32
}

/// The dump's frames have identifiers above this one. Frames of a profile in the same file have lower identifiers.
pub(super) const FRAMES: u64 = 1 << 40;
/// The identifier of the first name. Names of a profile in the same file have lower identifiers.
pub(super) const NAMES: u64 = 1 << 40;
/// All objects have identifiers below this one.
pub(super) const END_OF_OBJECTS: u64 = STEP << ID_BITS;

/// Makes the identifiers of objects that are no classes.
///
/// The identifiers are like the addresses of objects in a heap without gaps, because readers of dumps compute the sizes
/// of objects from the distances of identifiers. They are assigned downwards, because the walk continues with the
/// object that it reported last.
pub(super) struct Ids(u64);

impl Ids {
    pub(super) fn new() -> Ids {
        Ids(END_OF_OBJECTS)
    }

    /// Makes the identifier of a further object of `size` bytes.
    pub(super) fn next(&mut self, size: Long) -> u64 {
        self.0 -= size.max(1).cast_unsigned().next_multiple_of(STEP);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_hold_identifiers_and_lengths() {
        let largest = Ids::new().next(1);
        for id in [id_of_class(0), id_of_class(100_000), largest] {
            for flags in [0, WRITTEN, ANNOUNCED] {
                for length in [0, 1, LONG] {
                    let tag = tag_of_array(id, length) | flags;
                    assert_eq!((id_in(tag), length_in(tag)), (id, length));
                }
                assert_eq!(length_in(tag_of_array(id, u32::MAX) | flags), LONG);
            }
        }
        assert_eq!(class_number(id_of_class(7)), Some(7));
        assert_eq!(class_number(0), None);
    }
}
