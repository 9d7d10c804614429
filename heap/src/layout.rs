//! The layout of objects in memory, which a dump does not state.
//!
//! In HotSpot, the size of an object is a multiple of 8 bytes. Options of the JVM decide whether an object's
//! header has 8, 12 or 16 bytes, and its references 4 or 8. Both sizes can be inferred from the dump: identifiers
//! are addresses, and no object is larger than the distance to the next one.

use loadhook_hprof::Type;

use crate::stack_chunks::STACK_CHUNK;

/// The sizes that depend on options of the JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeModel {
    /// Number of bytes before an object's fields.
    pub header: u32,
    /// Number of bytes before an array's elements. Elements of 8 bytes may begin 4 bytes later, at a multiple of
    /// 8.
    pub array_base: u32,
    /// Number of bytes of a reference.
    pub reference: u32,
}

impl SizeModel {
    /// The default of 64-bit JVMs with heaps below 32 GB.
    const USUAL: SizeModel = SizeModel {
        header: 12,
        array_base: 16,
        reference: 4,
    };

    /// The model of 32-bit JVMs.
    const NARROW: SizeModel = SizeModel {
        header: 8,
        array_base: 12,
        reference: 4,
    };

    /// Returns the number of bytes of an array.
    #[must_use]
    pub fn array(&self, element: Type, length: u32) -> u64 {
        let size = element.size(self.reference);
        up(self.base(size) + u64::from(length) * u64::from(size), 8)
    }

    /// Returns the number of bytes before the first element, for elements of `size` bytes.
    pub(crate) fn base(&self, size: u32) -> u64 {
        up(self.array_base.into(), u64::from(size.max(1)))
    }
}

pub(crate) fn up(value: u64, to: u64) -> u64 {
    value.next_multiple_of(to)
}

/// Only arrays shorter than this are used to infer the size model.
const LENGTHS: usize = 64;

/// The smallest distances seen between a short array and the object after it, by
/// element type and length.
pub(crate) struct Distances(Box<[[u32; LENGTHS]; 9]>);

impl Distances {
    pub(crate) fn new() -> Distances {
        Distances(Box::new([[u32::MAX; LENGTHS]; 9]))
    }

    #[inline]
    pub(crate) fn see(&mut self, of: Type, length: u32, distance: u64) {
        if let Some(least) = self.0[of as usize].get_mut(length as usize)
            && distance < u64::from(*least)
        {
            *least = distance as u32;
        }
    }

    /// Returns the model that fits best: most distances equal the sizes that it computes, and no
    /// distance is smaller.
    pub(crate) fn model(&self, id_size: u32) -> SizeModel {
        if id_size == 4 {
            return SizeModel::NARROW;
        }
        let mut best = (0, SizeModel::USUAL);
        for (header, array_base) in [(12, 16), (16, 24), (16, 20), (8, 12)] {
            for reference in [4, 8] {
                let model = SizeModel {
                    header,
                    array_base,
                    reference,
                };
                let fit = self.fit(&model);
                if fit > best.0 {
                    best = (fit, model);
                }
            }
        }
        best.1
    }

    fn fit(&self, model: &SizeModel) -> i64 {
        use Type::{Boolean, Byte, Char, Double, Float, Int, Long, Object, Short};
        let mut fit = 0;
        for of in [Object, Boolean, Char, Float, Double, Byte, Short, Int, Long] {
            for (length, least) in self.0[of as usize].iter().enumerate() {
                let size = model.array(of, length as u32);
                fit += match u64::from(*least).cmp(&size) {
                    std::cmp::Ordering::Less => -100,
                    std::cmp::Ordering::Equal => 1,
                    std::cmp::Ordering::Greater => 0,
                };
            }
        }
        fit
    }
}

/// The places of the fields of a class and its superclasses. The order is
/// HotSpot's since JDK 15: large fields first, references last. Each field gets
/// the smallest gap that has room for it.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The gaps between fields, each with its offset and size, in the order of
    /// offsets.
    gaps: Vec<(u32, u32)>,
    end: u32,
}

impl Layout {
    pub(crate) fn after(header: u32) -> Layout {
        Layout {
            gaps: Vec::new(),
            end: header,
        }
    }

    /// Adds a class's fields.
    pub(crate) fn add(&mut self, types: impl Iterator<Item = Type>, reference: u32) {
        // The numbers of fields of 1, 2, 4 and 8 bytes, and of references.
        let mut counts = [0_u32; 5];
        for of in types {
            match of {
                Type::Object => counts[4] += 1,
                of => counts[of.size(0).ilog2() as usize] += 1,
            }
        }
        for (size, count) in [
            (8, counts[3]),
            (4, counts[2]),
            (2, counts[1]),
            (1, counts[0]),
            (reference, counts[4]),
        ] {
            for _ in 0..count {
                self.place(size);
            }
        }
    }

    fn place(&mut self, size: u32) {
        let fits = |&(at, gap): &(u32, u32)| at.next_multiple_of(size) + size <= at + gap;
        let gaps = self.gaps.iter().enumerate().rev();
        let best = gaps
            .filter(|(_, gap)| fits(gap))
            .min_by_key(|(_, gap)| gap.1);
        let Some((index, &(at, gap))) = best else {
            let place = self.end.next_multiple_of(size);
            if place > self.end {
                self.gaps.push((self.end, place - self.end));
            }
            self.end = place + size;
            return;
        };
        let place = at.next_multiple_of(size);
        let left = [(at, place - at), (place + size, at + gap - place - size)];
        let left = left.into_iter().filter(|(_, gap)| *gap > 0);
        self.gaps.splice(index..=index, left);
    }

    /// Returns the number of bytes of an instance.
    pub(crate) fn size(&self) -> u32 {
        self.end.next_multiple_of(8)
    }
}

/// Returns the types of the fields that HotSpot adds to some classes, and that a dump does not
/// contain. `has` returns whether the class has a field of a given name.
pub(crate) fn hidden_fields(class: &[u8], has: impl Fn(&[u8]) -> bool) -> &'static [Type] {
    use Type::{Boolean, Byte, Int, Long, Object, Short};
    match class {
        // JDK 25 and later show some fields of a class that earlier JDKs hid, among them `signers`.
        b"java/lang/Class" if has(b"signers") => &[Long, Long, Int, Int, Object, Object],
        // Since JDK 19 threads have more hidden fields, because of virtual threads.
        b"java/lang/Thread" if has(b"holder") => &[Long, Int, Boolean, Short],
        b"java/lang/Class" => &[Long, Long, Int, Int, Object, Object, Object],
        // Since JDK 24 a virtual thread that waits for a monitor leaves its
        // carrier thread, and has another hidden field.
        b"java/lang/VirtualThread" if has(b"notified") => &[Long],
        STACK_CHUNK => &[Long, Int, Byte, Object],
        b"java/lang/InternalError" => &[Boolean],
        b"java/lang/ClassLoader" | b"java/lang/Module" => &[Long],
        // JDK 21 and earlier have this hidden field.
        b"java/lang/invoke/ResolvedMethodName" if !has(b"vmholder") => &[Long, Object],
        b"java/lang/invoke/MemberName" | b"java/lang/invoke/ResolvedMethodName" => &[Long],
        b"java/lang/invoke/MethodHandleNatives$CallSiteContext" => &[Long, Long],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Type::{Boolean, Byte, Int, Long, Object};

    fn size(model: SizeModel, classes: &[&[Type]]) -> u32 {
        let mut layout = Layout::after(model.header);
        for fields in classes {
            layout.add(fields.iter().copied(), model.reference);
        }
        layout.size()
    }

    #[test]
    fn fields_fill_the_gaps_of_superclasses() {
        let node: &[Type] = &[Int, Byte, Object];
        let below: &[Type] = &[Boolean, Long];
        assert_eq!(size(SizeModel::USUAL, &[node]), 24);
        assert_eq!(size(SizeModel::USUAL, &[node, below]), 32);
        // A long leaves a gap of four bytes after the header, which a smaller field fills.
        assert_eq!(size(SizeModel::USUAL, &[&[Long]]), 24);
        assert_eq!(size(SizeModel::USUAL, &[&[Long], &[Object]]), 24);
        assert_eq!(size(SizeModel::NARROW, &[node]), 24);
        let wide = SizeModel {
            header: 16,
            array_base: 24,
            reference: 8,
        };
        assert_eq!(size(wide, &[node]), 32);
    }

    #[test]
    fn the_model_is_seen_in_the_distances() {
        for header in [8, 12, 16] {
            for reference in [4, 8] {
                let model = SizeModel {
                    header,
                    array_base: header + 4,
                    reference,
                };
                let mut distances = Distances::new();
                for length in 0..9 {
                    for of in [Object, Byte, Int, Long] {
                        let size = model.array(of, length);
                        // In this dump, other objects lay between some of the arrays.
                        distances.see(of, length, size + 24);
                        distances.see(of, length, size);
                    }
                }
                assert_eq!(distances.model(8), model);
            }
        }
        assert_eq!(Distances::new().model(8), SizeModel::USUAL);
        assert_eq!(Distances::new().model(4), SizeModel::NARROW);
    }
}
