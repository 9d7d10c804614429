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
        is_read.then(|| ClassName::new(&name))
    }
}

/// The name of a class, without the number at the end of a hidden class's name. HotSpot and JVM TI write the number in
/// different ways: `+0x…` and `.0x…`, and up to JDK 14 not at all and `/…`. So several classes may have the same name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClassName(Vec<u8>);

impl ClassName {
    fn new(name: &[u8]) -> ClassName {
        let is_mark = |byte: &u8| *byte == b'+' || *byte == b'.';
        let end = name.iter().position(is_mark).unwrap_or(name.len());
        let name = &name[..end];
        let last = name.iter().rposition(|byte| *byte == b'/');
        let number = last.filter(|at| name.get(at + 1).is_some_and(u8::is_ascii_digit));
        ClassName(name[..number.unwrap_or(name.len())].to_vec())
    }

    /// Returns the name in a descriptor; `None` if the descriptor is that of an array.
    pub(super) fn of_descriptor(descriptor: &[u8]) -> Option<ClassName> {
        let name = descriptor.strip_prefix(b"L")?.strip_suffix(b";")?;
        Some(ClassName::new(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hidden_classes_are_equal() {
        for (of_hotspot, of_jvmti) in [
            (&b"Main$$Lambda+0x0001"[..], &b"LMain$$Lambda.0x0001;"[..]),
            (b"a/Main$$Lambda$1", b"La/Main$$Lambda$1/803040000;"),
            (b"a/Main$1", b"La/Main$1;"),
        ] {
            let name = ClassName::of_descriptor(of_jvmti);
            assert_eq!(name, Some(ClassName::new(of_hotspot)));
        }
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
        assert_eq!(name, Some(ClassName::new(b"Main")));
        assert_eq!(offsets.name(&memory, 0), None);
        drop(words);
    }
}
