//! Distinguishes kinds of arrays by the size of their elements.

use loadhook_rewrite::Allocation;

/// The number of low bits that hold the kind of an array, in the id that the tracker gets for an allocation site.
pub(crate) const KIND_BITS: u32 = 3;

/// The kind of arrays of references. The kinds 0 to 3 are arrays of primitive values of 1, 2, 4 and 8 bytes.
pub(crate) const REFERENCES: u32 = 4;

/// Returns the kind of the innermost arrays that an instruction allocates; `None` if the instruction allocates an
/// object that is no array.
pub(crate) fn array_kind(allocation: &Allocation<'_>) -> Option<u32> {
    let of = |descriptor: Option<&u8>| match descriptor {
        Some(b'Z' | b'B') => 0,
        Some(b'C' | b'S') => 1,
        Some(b'I' | b'F') => 2,
        Some(b'J' | b'D') => 3,
        _ => REFERENCES,
    };
    match allocation {
        Allocation::Object(_) => None,
        // JVMS table 6.5.newarray-A.
        Allocation::PrimitiveArray(code) => {
            let descriptor = b"ZCFDBSIJ".get(usize::from(*code).wrapping_sub(4));
            Some(of(descriptor))
        }
        Allocation::ReferenceArray(_) => Some(REFERENCES),
        Allocation::MultiArray(array, dimensions) => Some(of(array.get(usize::from(*dimensions)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_that_of_the_innermost_arrays() {
        for (allocation, kind) in [
            (Allocation::Object(b"[I"), None),
            (Allocation::PrimitiveArray(4), Some(0)),
            (Allocation::PrimitiveArray(5), Some(1)),
            (Allocation::PrimitiveArray(6), Some(2)),
            (Allocation::PrimitiveArray(7), Some(3)),
            (Allocation::PrimitiveArray(8), Some(0)),
            (Allocation::PrimitiveArray(9), Some(1)),
            (Allocation::PrimitiveArray(10), Some(2)),
            (Allocation::PrimitiveArray(11), Some(3)),
            (Allocation::ReferenceArray(b"[J"), Some(4)),
            (Allocation::MultiArray(b"[[J", 1), Some(4)),
            (Allocation::MultiArray(b"[[J", 2), Some(3)),
            (Allocation::MultiArray(b"[[[LB;", 3), Some(4)),
            (Allocation::MultiArray(b"[[[Z", 3), Some(0)),
        ] {
            assert_eq!(array_kind(&allocation), kind, "{allocation:?}");
        }
    }
}
