//! Stacks of parked virtual threads.
//!
//! In memory, a `StackChunk` (JDK 21 and later) has frames after its fields, and after the frames a bitmap of the
//! words that can be references. A dump contains neither, only the number of words that the frames take.

use loadhook_hprof::{ClassDump, Type};

/// The class whose objects contain stacks of virtual threads.
pub(crate) const STACK_CHUNK: &[u8] = b"jdk/internal/vm/StackChunk";

/// The instances of `StackChunk`.
pub(crate) struct StackChunks {
    /// Identifier of the class object of `StackChunk`.
    pub(crate) class: u64,
    /// Offset of the field `size` in an instance's field values. `size` is the number of words of the stack.
    at: usize,
    /// Sum over all instances of the bytes that follow the fields: `[0]` for references of 4 bytes, `[1]` for
    /// references of 8.
    bytes: [u64; 2],
}

impl StackChunks {
    /// Finds the field `size` of the class. `is_size` tests the identifier of a field's name.
    pub(crate) fn of(
        dump: &ClassDump,
        id_size: u32,
        is_size: impl Fn(u64) -> bool,
    ) -> Option<StackChunks> {
        let mut at = 0;
        for field in &dump.fields {
            if field.value_type == Type::Int && is_size(field.name) {
                return Some(StackChunks {
                    class: dump.id,
                    at,
                    bytes: [0; 2],
                });
            }
            at += field.value_type.size(id_size) as usize;
        }
        None
    }

    /// Returns the number of words of an instance's stack.
    pub(crate) fn words(&self, fields: &[u8]) -> u32 {
        let size = fields.get(self.at..).and_then(<[u8]>::first_chunk);
        let size = size.map_or(0, |bytes| i32::from_be_bytes(*bytes));
        u32::try_from(size).unwrap_or(0)
    }

    /// Adds an instance with a stack of this many words.
    pub(crate) fn add(&mut self, words: u32) {
        for (sum, reference) in self.bytes.iter_mut().zip([4, 8]) {
            *sum = sum.saturating_add(stack_bytes(words, reference));
        }
    }

    /// Returns the sum over all instances of the bytes that follow the fields, for references of `reference` bytes.
    pub(crate) fn bytes(&self, reference: u32) -> u64 {
        self.bytes[usize::from(reference == 8)]
    }
}

/// Returns the number of bytes after the fields, as HotSpot's `InstanceStackChunkKlass::instance_size` counts
/// them: the stack, and a bitmap in whole words with a bit for each reference that fits into the
/// stack.
pub(crate) fn stack_bytes(words: u32, reference: u32) -> u64 {
    let words = u64::from(words);
    let places = words * 8 / u64::from(reference);
    8 * (words + places.div_ceil(64))
}

#[cfg(test)]
mod tests {
    use loadhook_hprof::InstanceField;

    use super::*;

    #[test]
    fn stacks_have_a_bit_for_each_reference() {
        for (words, narrow, wide) in [(0, 0, 0), (1, 16, 16), (32, 264, 264), (33, 280, 272)] {
            assert_eq!([4, 8].map(|r| stack_bytes(words, r)), [narrow, wide]);
        }
    }

    #[test]
    fn a_missing_or_negative_number_of_words_is_zero() {
        let fields = [(1, Type::Object), (2, Type::Int), (3, Type::Int)];
        let field = |(name, value_type)| InstanceField { name, value_type };
        let dump = ClassDump {
            fields: fields.map(field).to_vec(),
            ..ClassDump::default()
        };
        let mut chunks =
            StackChunks::of(&dump, 8, |name| name == 3).expect("the class has the field");
        let fields = [[0; 12], [7; 12]].concat();
        assert_eq!(
            chunks.words(&[fields.clone(), vec![0, 0, 1, 0]].concat()),
            0x0707_0707
        );
        assert_eq!(chunks.words(&fields[..12]), 0);
        assert_eq!(chunks.words(&[0xFF; 16]), 0);
        chunks.add(33);
        chunks.add(1);
        assert_eq!([4, 8].map(|r| chunks.bytes(r)), [296, 288]);
        assert!(StackChunks::of(&dump, 8, |name| name == 1).is_none());
    }
}
