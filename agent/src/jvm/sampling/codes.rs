//! Keeps the code that the JVM has generated: enters it into the map for the signal handler, and keeps the inlined
//! methods for the reader of samples.

use std::ffi::c_int;

use super::code_cache::{CodeCache, PROLOGUE, prologue};
use super::code_map::{Code, CodeId, CodeKind, CodeMap};
use super::inlining::{InlineTable, InlineTableBuilder, InlinedFrame};
use super::shared::Shared;
use crate::jvm::jvmti::MethodKey;

/// A compiled method.
pub(super) struct Compiled {
    pub(super) method: MethodKey,
    pub(super) inlining: InlineTable,
    /// True if the JVM compiled the method before the engine's events were enabled. The JVM then knows inlined methods
    /// only at the safepoints of the code.
    pub(super) is_early: bool,
}

impl Compiled {
    /// Returns the frames at `offset`, innermost first. If no frames are known there, returns one frame of the compiled
    /// method.
    pub(super) fn frames_at(&self, offset: u32) -> impl Iterator<Item = InlinedFrame> + '_ {
        let mut inlined = self.inlining.at(offset).peekable();
        let own = inlined.peek().is_none().then_some(InlinedFrame {
            method: self.method,
            bci: None,
        });
        inlined.chain(own)
    }
}

/// Descriptions of code by number. The map in [`Shared`] has the same numbers.
#[derive(Default)]
pub(super) struct Codes {
    /// The compiled methods. The index is the number of the code minus 1; `None` for code that is not a compiled
    /// method.
    compiled: Vec<Option<Compiled>>,
    free: Vec<CodeId>,
}

/// `jvmtiCompiledMethodLoadRecordHeader`.
#[repr(C)]
pub(super) struct RecordHeader {
    kind: c_int,
    major_version: i32,
    minor_version: i32,
    next: *const RecordHeader,
}

/// `jvmtiCompiledMethodLoadInlineRecord`.
#[repr(C)]
struct InlineRecord {
    header: RecordHeader,
    count: i32,
    places: *const PlaceInfo,
}

/// `PCStackInfo`.
#[repr(C)]
struct PlaceInfo {
    pc: usize,
    count: i32,
    methods: *const crate::jvm::sys::MethodId,
    bcis: *const i32,
}

/// Reads the inlined methods of compiled code that begins at `low`.
///
/// # Safety
/// `record` must be null or the `compile_info` of a `CompiledMethodLoad` that is being handled.
pub(super) unsafe fn inlining(low: usize, record: *const RecordHeader) -> InlineTable {
    /// `JVMTI_CMLR_INLINE_INFO`.
    const INLINE_INFO: c_int = 2;
    /// `JVMTI_CMLR_MAJOR_VERSION_1`.
    const MAJOR_VERSION: i32 = 1;
    let mut record = record;
    // SAFETY: the caller's promise; records are linked, and the last has a null pointer.
    while let Some(header) = unsafe { record.as_ref() } {
        if header.kind == INLINE_INFO && header.major_version == MAJOR_VERSION {
            // SAFETY: a record of this kind has this type, and its arrays have the lengths that the record gives.
            return unsafe {
                let inlined = &*record.cast::<InlineRecord>();
                let places = slice(inlined.places, inlined.count);
                let mut table = InlineTableBuilder::default();
                for place in places {
                    let offset = place.pc.checked_sub(low).map(u32::try_from);
                    if let Some(Ok(offset)) = offset {
                        let methods = slice(place.methods, place.count).iter();
                        let bcis = slice(place.bcis, place.count).iter();
                        let frames = methods.zip(bcis).map(|(method, bci)| InlinedFrame {
                            method: MethodKey(*method),
                            bci: u16::try_from(*bci).ok(),
                        });
                        table.add(offset, frames.rev());
                    }
                }
                table.build()
            };
        }
        record = header.next;
    }
    InlineTable::default()
}

/// # Safety
/// `start` must be null or point to `count` elements.
unsafe fn slice<'s, T>(start: *const T, count: i32) -> &'s [T] {
    match usize::try_from(count) {
        // SAFETY: the caller's promise.
        Ok(count) if !start.is_null() => unsafe { std::slice::from_raw_parts(start, count) },
        _ => &[],
    }
}

/// Returns the first bytes of generated code, in which the prologue is searched for.
///
/// # Safety
/// `len` bytes from `low` on must be code that the JVM reports in an event that
/// is being handled.
pub(super) unsafe fn first_bytes(low: usize, len: usize) -> Vec<u8> {
    let start = std::ptr::with_exposed_provenance::<u8>(low);
    // SAFETY: the caller's promise. The JVM may change the code meanwhile, hence the volatile reads.
    (0..len.min(PROLOGUE))
        .map(|offset| unsafe { start.add(offset).read_volatile() })
        .collect()
}

/// Describes a compiled method.
pub(super) fn describe_compiled(
    cache: &CodeCache,
    low: usize,
    len: usize,
    first_bytes: &[u8],
    inlining: &InlineTable,
) -> Code {
    let header = cache.header(low);
    let begin = prologue(first_bytes);
    let frame_size = header.map_or(begin.frame_size, |header| header.frame_size);
    // If the header gives another frame size, the instructions found are not the prologue.
    let is_begin = begin.frame_size == frame_size;
    Code {
        low,
        high: low.saturating_add(len),
        kind: CodeKind::Compiled,
        frame_size,
        push: begin.push,
        body: if is_begin { begin.body } else { 0 },
        last_site: inlining.last_site(),
        orig_pc: header.map_or(0, |header| header.orig_pc),
    }
}

/// Generated code that belongs to no method.
pub(super) struct Stub {
    low: usize,
    len: usize,
    kind: CodeKind,
}

impl Stub {
    pub(super) fn new(low: usize, len: usize, name: &[u8]) -> Stub {
        let kind = match name {
            b"Interpreter" => CodeKind::Interpreter,
            b"call_stub" => CodeKind::CallStub,
            b"vtable stub" | b"itable stub" => CodeKind::Dispatch,
            name if name.starts_with(b"cont_returnBarrier") => CodeKind::ReturnBarrier,
            _ => CodeKind::Runtime,
        };
        Stub { low, len, kind }
    }
}

/// Describes stubs.
pub(super) fn describe_stubs(cache: &CodeCache, stubs: &[Stub]) -> Vec<Code> {
    let starts: Vec<usize> = stubs.iter().map(|stub| stub.low).collect();
    let sizes = cache.frame_sizes(&starts);
    let code = |(stub, frame_size): (&Stub, u32)| Code {
        low: stub.low,
        high: stub.low.saturating_add(stub.len),
        kind: stub.kind,
        frame_size,
        ..Code::default()
    };
    stubs.iter().zip(sizes).map(code).collect()
}

impl Codes {
    /// Enters code into the map. Returns the numbers of older code at the same addresses, which was removed. The caller
    /// must pass these numbers to [`free`](Self::free) when nothing can use them any more.
    pub(super) fn add(
        &mut self,
        shared: &Shared,
        cache: &CodeCache,
        code: &Code,
        compiled: Option<Compiled>,
    ) -> Vec<CodeId> {
        let Some(map) = map(shared, cache) else {
            return Vec::new();
        };
        let id = match self.free.pop() {
            Some(id) => id,
            None => {
                self.compiled.push(None);
                CodeId(self.compiled.len() as u32)
            }
        };
        let Some(replaced) = map.add(id, code) else {
            self.free.push(id);
            return Vec::new();
        };
        self.compiled[id.0 as usize - 1] = compiled;
        replaced
    }

    /// Removes a compiled method from the map. Returns `None` if the code at `low` does not belong to `method`.
    pub(super) fn remove(&self, shared: &Shared, low: usize, method: MethodKey) -> Option<CodeId> {
        let id = self.find(shared, low, method)?;
        shared.code.get()?.remove(id);
        Some(id)
    }

    /// Returns the code of `method` that begins at `low`, if the map has it already.
    pub(super) fn reported(
        &self,
        shared: &Shared,
        low: usize,
        method: MethodKey,
    ) -> Option<&Compiled> {
        self.compiled(self.find(shared, low, method)?)
    }

    fn find(&self, shared: &Shared, low: usize, method: MethodKey) -> Option<CodeId> {
        let (id, code) = shared.code.get()?.find(low)?;
        let is_same = code.low == low && self.compiled(id).is_some_and(|of| of.method == method);
        is_same.then_some(id)
    }

    /// Returns the compiled method to which code with this number belongs.
    pub(super) fn compiled(&self, id: CodeId) -> Option<&Compiled> {
        let index = (id.0 as usize).checked_sub(1)?;
        self.compiled.get(index)?.as_ref()
    }

    /// Returns the frames at a return address, innermost first; `None` if the JVM has not reported the code there. There
    /// are no frames if the code belongs to no method. If deoptimisation has replaced the return address, the frames are
    /// unknown, and none are returned, too.
    pub(super) fn reported_frames(&self, map: &CodeMap, pc: usize) -> Option<Vec<InlinedFrame>> {
        let (id, code) = map.find(pc)?;
        let offset = pc.wrapping_sub(code.low) as u32;
        let is_known = code.kind == CodeKind::Compiled && !code.is_replaced(offset);
        let compiled = self.compiled(id).filter(|_| is_known);
        Some(compiled.map_or_else(Vec::new, |compiled| compiled.frames_at(offset).collect()))
    }

    /// Frees a number that no handler and no sample can refer to any more.
    pub(super) fn free(&mut self, id: CodeId) {
        if let Some(index) = (id.0 as usize).checked_sub(1)
            && let Some(compiled) = self.compiled.get_mut(index)
        {
            *compiled = None;
            self.free.push(id);
        }
    }
}

/// Returns the map of the code cache. Makes the map at the first event about code.
fn map<'s>(shared: &'s Shared, cache: &CodeCache) -> Option<&'s CodeMap> {
    if let Some(map) = shared.code.get() {
        return Some(map);
    }
    let (low, high) = cache.bounds()?;
    let _ = shared.code.set(CodeMap::new(low, high)?);
    shared.code.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_known_frames_belongs_to_the_compiled_method() {
        let frame = |method: usize, bci: Option<u16>| InlinedFrame {
            method: MethodKey::unknown(method),
            bci,
        };
        let (outer, inner) = (frame(1, Some(4)), frame(2, Some(0)));
        let mut inlining = InlineTableBuilder::default();
        inlining.add(10, [outer, inner].into_iter());
        let compiled = Compiled {
            method: MethodKey::unknown(1),
            inlining: inlining.build(),
            is_early: false,
        };
        let at = |offset: u32| compiled.frames_at(offset).collect::<Vec<_>>();
        assert_eq!(at(10), [inner, outer]);
        assert_eq!(at(11), [frame(1, None)]);
    }

    #[test]
    fn reported_code_has_frames_at_return_addresses_in_methods_only() {
        const LOW: usize = 0x7f00_0000_0000;
        let map = CodeMap::new(LOW, LOW + (1 << 20)).unwrap();
        let kinds = [CodeKind::Compiled, CodeKind::Runtime];
        for (id, kind) in (1_u32..).zip(kinds) {
            let low = LOW + id as usize * 0x100;
            let code = Code {
                low,
                high: low + 0x80,
                kind,
                last_site: 0x40,
                orig_pc: 16,
                ..Code::default()
            };
            assert_eq!(map.add(CodeId(id), &code), Some(Vec::new()));
        }
        let frame = InlinedFrame {
            method: MethodKey::unknown(1),
            bci: Some(4),
        };
        let mut inlining = InlineTableBuilder::default();
        inlining.add(0x40, [frame].into_iter());
        let compiled = Compiled {
            method: frame.method,
            inlining: inlining.build(),
            is_early: false,
        };
        let codes = Codes {
            compiled: vec![Some(compiled), None],
            free: Vec::new(),
        };
        let at = |offset: usize| codes.reported_frames(&map, LOW + offset);
        assert_eq!(at(0x120), Some(vec![frame]));
        assert_eq!(at(0x160), Some(Vec::new()), "a replaced return address");
        assert_eq!(at(0x220), Some(Vec::new()), "a stub");
        assert_eq!(at(0x320), None);
    }
}
