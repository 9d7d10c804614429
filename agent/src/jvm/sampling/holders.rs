//! Finds the name of the class that has a method, from the address of HotSpot's `Method`.
//!
//! A short program ends before its classes are noted (see `noting.rs`). Only the classes in its few samples are noted
//! then, and they are found by their names.

use super::memory::SafeMemory;

/// Offsets of fields that lead from a method to the name of its class, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct HolderOffsets {
    /// `Method::_constMethod`.
    pub(super) const_method: usize,
    /// `ConstMethod::_constants`.
    pub(super) constants: usize,
    /// `ConstantPool::_pool_holder`.
    pub(super) pool_holder: usize,
    /// `Klass::_name`.
    pub(super) name: usize,
    /// `Symbol::_length`, a number of 2 bytes.
    pub(super) length: usize,
    /// `Symbol::_body`.
    pub(super) body: usize,
}

impl HolderOffsets {
    /// Returns the name of the class that has the method at `address`; `None` if the memory cannot be read.
    pub(super) fn name(self, memory: &SafeMemory, address: usize) -> Option<ClassName> {
        let follow = |from: usize, offset: usize| memory.word(from.checked_add(offset)?);
        let const_method = follow(address, self.const_method)?;
        let pool = follow(const_method, self.constants)?;
        let class = follow(pool, self.pool_holder)?;
        let symbol = follow(class, self.name)?;
        let len = memory.short(symbol.checked_add(self.length)?)?;
        let mut name = vec![0; usize::from(len)];
        let is_read = memory.read(symbol.checked_add(self.body)?, &mut name);
        is_read.then(|| ClassName::new(name))
    }
}

/// The name of a class. Names of hidden classes are equal whether they come from HotSpot or from JVM TI: HotSpot writes
/// a `+` before the address at their ends, JVM TI a `.`. Other classes may have the same name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClassName(Vec<u8>);

impl ClassName {
    fn new(mut name: Vec<u8>) -> ClassName {
        for byte in &mut name {
            if *byte == b'+' {
                *byte = b'.';
            }
        }
        ClassName(name)
    }

    /// Returns the name in a descriptor; `None` if the descriptor is that of an array.
    pub(super) fn of_descriptor(descriptor: &[u8]) -> Option<ClassName> {
        let name = descriptor.strip_prefix(b"L")?.strip_suffix(b";")?;
        Some(ClassName::new(name.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hidden_classes_are_equal() {
        let of_jvmti = ClassName::of_descriptor(b"LMain$$Lambda.0x0001;");
        assert_eq!(
            of_jvmti,
            Some(ClassName::new(b"Main$$Lambda+0x0001".to_vec()))
        );
        assert_eq!(ClassName::of_descriptor(b"[LMain;"), None);
    }

    #[test]
    fn a_name_is_found_by_following_pointers() {
        let offsets = HolderOffsets {
            const_method: 0,
            constants: 8,
            pool_holder: 16,
            name: 24,
            length: 32,
            body: 40,
        };
        // All structures have the same address.
        let mut words = vec![0_usize; 6];
        let address = words.as_mut_ptr().expose_provenance();
        words[..4].fill(address);
        words[4] = 4;
        words[5] = usize::from_le_bytes(*b"MainElse");
        let memory = SafeMemory::open().unwrap();
        let name = offsets.name(&memory, address);
        assert_eq!(name, Some(ClassName::new(b"Main".to_vec())));
        assert_eq!(offsets.name(&memory, 0), None);
        drop(words);
    }
}
