//! The constant pool (JVMS §4.4): entries without duplicates, and padding.

use std::collections::HashMap;

use super::bytes::Put;

/// Maximum number of entries: `constant_pool_count` is a `u2`, and one more than the number of
/// entries (JVMS §4.1).
pub const MAX_ENTRIES: u16 = 65_534;

/// A `reference_kind` of a `CONSTANT_MethodHandle` (JVMS §4.4.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ReferenceKind {
    /// `REF_getStatic`.
    GetStatic = 2,
    /// `REF_invokeVirtual`.
    InvokeVirtual = 5,
    /// `REF_invokeStatic`.
    InvokeStatic = 6,
    /// `REF_newInvokeSpecial`.
    NewInvokeSpecial = 8,
}

/// A constant pool under construction.
///
/// Each method returns the index of its entry. If the entry is missing, the method adds it, and the
/// entries that it refers to. If the pool overflows, the methods return 0, and
/// [`ConstantPool::is_overfull`] returns true.
#[derive(Debug, Clone, Default)]
pub struct ConstantPool {
    bytes: Vec<u8>,
    entries: u16,
    known: HashMap<Vec<u8>, u16>,
    junk: u32,
    full: bool,
}

impl ConstantPool {
    /// Returns the number of entries. A `long` or `double` counts twice (JVMS §4.4.5).
    pub fn entries(&self) -> u16 {
        self.entries
    }

    /// Returns whether an entry did not fit into the pool.
    pub fn is_overfull(&self) -> bool {
        self.full
    }

    /// Returns the index of the next new entry.
    pub fn next_index(&self) -> u16 {
        self.entries.saturating_add(1)
    }

    fn append(&mut self, entry: &[u8], slots: u16) -> u16 {
        if self.entries > MAX_ENTRIES - slots {
            self.full = true;
            return 0;
        }
        let index = self.entries + 1;
        self.entries += slots;
        self.bytes.extend_from_slice(entry);
        index
    }

    fn add(&mut self, entry: Vec<u8>, slots: u16) -> u16 {
        if let Some(&index) = self.known.get(&entry) {
            return index;
        }
        let index = self.append(&entry, slots);
        if index != 0 {
            self.known.insert(entry, index);
        }
        index
    }

    fn refer(&mut self, tag: u8, index: u16) -> u16 {
        let mut entry = vec![tag];
        entry.u2(index);
        self.add(entry, 1)
    }

    fn refer_two(&mut self, tag: u8, first: u16, second: u16) -> u16 {
        let mut entry = vec![tag];
        entry.u2(first);
        entry.u2(second);
        self.add(entry, 1)
    }

    /// Adds `CONSTANT_Utf8` in modified UTF-8 (JVMS §4.4.7).
    pub fn utf8(&mut self, text: &str) -> u16 {
        self.utf8_bytes(&modified_utf8(text))
    }

    /// Adds `CONSTANT_Utf8` of bytes that are already encoded.
    pub fn utf8_bytes(&mut self, bytes: &[u8]) -> u16 {
        let Ok(length) = u16::try_from(bytes.len()) else {
            self.full = true;
            return 0;
        };
        let mut entry = vec![1];
        entry.u2(length);
        entry.extend_from_slice(bytes);
        self.add(entry, 1)
    }

    /// Adds `CONSTANT_Integer`.
    pub fn integer(&mut self, value: i32) -> u16 {
        let mut entry = vec![3];
        entry.u4(value.cast_unsigned());
        self.add(entry, 1)
    }

    /// Adds `CONSTANT_Float`.
    pub fn float(&mut self, value: f32) -> u16 {
        let mut entry = vec![4];
        entry.u4(value.to_bits());
        self.add(entry, 1)
    }

    /// Adds `CONSTANT_Long`.
    pub fn long(&mut self, value: i64) -> u16 {
        let mut entry = vec![5];
        entry.extend_from_slice(&value.to_be_bytes());
        self.add(entry, 2)
    }

    /// Adds `CONSTANT_Double`.
    pub fn double(&mut self, value: f64) -> u16 {
        let mut entry = vec![6];
        entry.extend_from_slice(&value.to_bits().to_be_bytes());
        self.add(entry, 2)
    }

    /// Adds `CONSTANT_Class` of an internal name or an array descriptor.
    pub fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name);
        self.refer(7, name)
    }

    /// Adds `CONSTANT_String`.
    pub fn string(&mut self, text: &str) -> u16 {
        let text = self.utf8(text);
        self.refer(8, text)
    }

    /// Adds `CONSTANT_NameAndType`.
    pub fn name_and_type(&mut self, name: &str, descriptor: &str) -> u16 {
        let name = self.utf8(name);
        let descriptor = self.utf8(descriptor);
        self.refer_two(12, name, descriptor)
    }

    fn member(&mut self, tag: u8, owner: &str, name: &str, descriptor: &str) -> u16 {
        let owner = self.class(owner);
        let name_and_type = self.name_and_type(name, descriptor);
        self.refer_two(tag, owner, name_and_type)
    }

    /// Adds `CONSTANT_Fieldref`.
    pub fn field(&mut self, owner: &str, name: &str, descriptor: &str) -> u16 {
        self.member(9, owner, name, descriptor)
    }

    /// Adds `CONSTANT_Methodref`.
    pub fn method(&mut self, owner: &str, name: &str, descriptor: &str) -> u16 {
        self.member(10, owner, name, descriptor)
    }

    /// Adds `CONSTANT_InterfaceMethodref`.
    pub fn interface_method(&mut self, owner: &str, name: &str, descriptor: &str) -> u16 {
        self.member(11, owner, name, descriptor)
    }

    /// Adds `CONSTANT_MethodHandle` of the member with this index.
    pub fn method_handle(&mut self, kind: ReferenceKind, member: u16) -> u16 {
        let mut entry = vec![15, kind as u8];
        entry.u2(member);
        self.add(entry, 1)
    }

    /// Adds `CONSTANT_MethodType`.
    pub fn method_type(&mut self, descriptor: &str) -> u16 {
        let descriptor = self.utf8(descriptor);
        self.refer(16, descriptor)
    }

    /// Adds `CONSTANT_Dynamic` with an entry of `BootstrapMethods`.
    pub fn dynamic(&mut self, bootstrap: u16, name: &str, descriptor: &str) -> u16 {
        let name_and_type = self.name_and_type(name, descriptor);
        self.refer_two(17, bootstrap, name_and_type)
    }

    /// Adds `CONSTANT_InvokeDynamic` with an entry of `BootstrapMethods`.
    pub fn invoke_dynamic(&mut self, bootstrap: u16, name: &str, descriptor: &str) -> u16 {
        let name_and_type = self.name_and_type(name, descriptor);
        self.refer_two(18, bootstrap, name_and_type)
    }

    /// Adds unused entries until there are `entries`. Every 64th is a `CONSTANT_Utf8`, the others
    /// are `CONSTANT_Integer`. The methods above never return these entries, so that the number of
    /// entries stays exact.
    pub fn pad_to(&mut self, entries: u16) {
        while self.entries < entries && !self.full {
            let entry = self.junk_entry();
            self.append(&entry, 1);
        }
    }

    fn junk_entry(&mut self) -> Vec<u8> {
        self.junk += 1;
        let mut entry = Vec::with_capacity(16);
        if self.junk.is_multiple_of(64) {
            let text = format!("junk{}", self.junk);
            entry.u1(1);
            // The text is at most 14 bytes long.
            entry.u2(text.len() as u16);
            entry.extend_from_slice(text.as_bytes());
        } else {
            entry.u1(3);
            entry.u4(0x4a00_0000 + self.junk);
        }
        entry
    }

    /// Returns the bytes from `constant_pool_count` to the pool's end.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u2(self.entries + 1);
        out.extend_from_slice(&self.bytes);
    }
}

/// Encodes text as JVMS §4.4.7 requires: without zero bytes, and with each surrogate on its own.
fn modified_utf8(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for unit in text.encode_utf16() {
        match unit {
            0x01..=0x7f => bytes.push(unit as u8),
            0 | 0x80..=0x7ff => {
                bytes.push(0xc0 | (unit >> 6) as u8);
                bytes.push(0x80 | (unit & 0x3f) as u8);
            }
            _ => {
                bytes.push(0xe0 | (unit >> 12) as u8);
                bytes.push(0x80 | (unit >> 6 & 0x3f) as u8);
                bytes.push(0x80 | (unit & 0x3f) as u8);
            }
        }
    }
    bytes
}
