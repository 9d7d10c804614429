//! Reads the offsets and addresses of fields in the JVM's structures, which HotSpot exports for debuggers
//! (`gHotSpotVMStructs`).

use std::ffi::{CStr, c_char, c_void};

use super::bytecode::BytecodeOffsets;
use super::holders::HolderOffsets;
use super::sample::NotAsync;

/// Offsets of fields in the JVM's structures, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct VmStructs {
    /// Offsets in `JavaThread` of the fields of its `_anchor`, a `JavaFrameAnchor`.
    pub(super) anchor: AnchorOffsets,
    /// Offsets in `JavaCallWrapper` of the fields of its `_anchor`, a `JavaFrameAnchor`.
    pub(super) wrapper_anchor: AnchorOffsets,
    /// `frame::entry_frame_call_wrapper_offset`, in bytes below the frame pointer of the call stub.
    pub(super) call_wrapper: usize,
    /// `JavaThread::_thread_state`.
    pub(super) thread_state: usize,
    /// `JavaThread::_stack_base`: the end of the stack, at its highest address.
    pub(super) stack_base: usize,
    /// `JavaThread::_stack_size`.
    pub(super) stack_size: usize,
    /// `JavaThread::_osthread`.
    pub(super) os_thread: usize,
    /// `OSThread::_thread_id`.
    pub(super) thread_id: usize,
    /// The code cache.
    pub(super) code: CodeOffsets,
    /// Offsets that lead to the bytecode of methods; `None` if this JVM does not export them.
    pub(super) bytecode: Option<BytecodeOffsets>,
    /// Offsets that lead to the class of a method; `None` if this JVM does not export them.
    pub(super) holders: Option<HolderOffsets>,
    /// Offsets for keys of stacks; `None` if this JVM does not export all of them.
    pub(super) keys: Option<KeyOffsets>,
}

/// Further offsets, which only keys of stacks need.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyOffsets {
    /// `CodeBlob::_name`.
    pub(super) name: usize,
    /// `nmethod::_compile_id` and `_entry_bci`. Compilations of whole methods and compilations that begin at a loop
    /// (`_entry_bci`) have separate numbers.
    pub(super) compile_id: usize,
    pub(super) entry_bci: usize,
    /// `nmethod::_stub_offset`: the end of the instructions, in bytes from the start of the blob.
    pub(super) stub: usize,
    /// The address of `StubRoutines::_call_stub_return_address`.
    pub(super) call_stub_return: usize,
}

/// Offsets of the words of a `JavaFrameAnchor`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AnchorOffsets {
    pub(super) sp: usize,
    pub(super) pc: usize,
    pub(super) fp: usize,
}

/// Addresses and offsets of the code cache, its heaps, and the code in them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CodeOffsets {
    /// The address of `CodeCache::_low_bound`.
    pub(super) low_bound: usize,
    /// The address of `CodeCache::_high_bound`.
    pub(super) high_bound: usize,
    /// The address of `CodeCache::_heaps`.
    pub(super) heaps: usize,
    /// `GrowableArray::_len` and `_data`.
    pub(super) array_len: usize,
    pub(super) array_data: usize,
    /// `CodeHeap::_memory._low`, `_memory._high_boundary` and `_segmap._low`.
    pub(super) heap_low: usize,
    pub(super) heap_high: usize,
    /// `CodeHeap::_memory._high`: the end of the part of the heap in use.
    pub(super) heap_committed: usize,
    pub(super) segment_map: usize,
    /// `CodeHeap::_log2_segment_size`.
    pub(super) log2_segment_size: usize,
    /// `HeapBlock::Header::_used`, the last field of the header.
    pub(super) block_used: usize,
    /// `CodeBlob::_frame_size`, in words.
    pub(super) frame_size: usize,
    /// `nmethod::_orig_pc_offset`. The field counts bytes from the stack pointer.
    pub(super) orig_pc: usize,
}

impl CodeOffsets {
    /// Returns the address of the code blob in a block. The blob begins after the block's header, at the next multiple
    /// of 8.
    pub(super) fn blob_of(&self, block: usize) -> usize {
        (block + self.block_used + 8) & !7
    }
}

impl VmStructs {
    /// Reads the exported tables.
    pub(super) fn read() -> Result<VmStructs, NotAsync> {
        let library = Library::jvm();
        let exported = Exported::read(&library).ok_or(NotAsync::NoStructure("structure table"))?;
        let sp = exported.offset("JavaFrameAnchor", "_last_Java_sp")?;
        let pc = exported.offset("JavaFrameAnchor", "_last_Java_pc")?;
        let fp = exported.offset("JavaFrameAnchor", "_last_Java_fp")?;
        let anchor_at = |start: usize| AnchorOffsets {
            sp: start + sp,
            pc: start + pc,
            fp: start + fp,
        };
        let os_thread = exported
            .offset("JavaThread", "_osthread")
            .or_else(|_| exported.offset("Thread", "_osthread"))?;
        let array_len = exported
            .offset("GrowableArrayBase", "_len")
            .or_else(|_| exported.offset("GenericGrowableArray", "_len"))?;
        let low = exported.offset("VirtualSpace", "_low")?;
        let memory = exported.offset("CodeHeap", "_memory")?;
        let call_wrapper = int_constant(&library, "frame::entry_frame_call_wrapper_offset")
            .and_then(|words| usize::try_from(-i64::from(words)).ok())
            .ok_or(NotAsync::NoStructure("call stub"))?;
        Ok(VmStructs {
            anchor: anchor_at(exported.offset("JavaThread", "_anchor")?),
            wrapper_anchor: anchor_at(exported.offset("JavaCallWrapper", "_anchor")?),
            call_wrapper: call_wrapper * size_of::<usize>(),
            thread_state: exported.offset("JavaThread", "_thread_state")?,
            stack_base: exported.offset("JavaThread", "_stack_base")?,
            stack_size: exported.offset("JavaThread", "_stack_size")?,
            os_thread,
            thread_id: exported.offset("OSThread", "_thread_id")?,
            code: CodeOffsets {
                low_bound: exported.address("CodeCache", "_low_bound")?,
                high_bound: exported.address("CodeCache", "_high_bound")?,
                heaps: exported.address("CodeCache", "_heaps")?,
                array_len,
                array_data: exported.offset("GrowableArray<int>", "_data")?,
                heap_low: memory + low,
                heap_high: memory + exported.offset("VirtualSpace", "_high_boundary")?,
                heap_committed: memory + exported.offset("VirtualSpace", "_high")?,
                segment_map: exported.offset("CodeHeap", "_segmap")? + low,
                log2_segment_size: exported.offset("CodeHeap", "_log2_segment_size")?,
                block_used: exported.offset("HeapBlock::Header", "_used")?,
                frame_size: exported.offset("CodeBlob", "_frame_size")?,
                orig_pc: exported.offset("nmethod", "_orig_pc_offset")?,
            },
            bytecode: bytecode(&library, &exported),
            holders: holders(&exported),
            keys: keys(&exported),
        })
    }
}

/// Returns the offsets for keys of stacks; `None` if the JVM does not export all of them.
fn keys(exported: &Exported) -> Option<KeyOffsets> {
    Some(KeyOffsets {
        name: exported.offset("CodeBlob", "_name").ok()?,
        compile_id: exported.offset("nmethod", "_compile_id").ok()?,
        entry_bci: exported.offset("nmethod", "_entry_bci").ok()?,
        stub: exported.offset("nmethod", "_stub_offset").ok()?,
        call_stub_return: exported
            .address("StubRoutines", "_call_stub_return_address")
            .ok()?,
    })
}

/// Returns the offsets that lead to the bytecode of methods; `None` if the JVM does not export them.
fn bytecode(library: &Library, exported: &Exported) -> Option<BytecodeOffsets> {
    Some(BytecodeOffsets {
        const_method: exported.offset("Method", "_constMethod").ok()?,
        const_method_size: type_size(library, "ConstMethod")?,
        code_size: exported.offset("ConstMethod", "_code_size").ok()?,
    })
}

/// Returns the offsets that lead to the class of a method; `None` if the JVM does not export them.
fn holders(exported: &Exported) -> Option<HolderOffsets> {
    Some(HolderOffsets {
        const_method: exported.offset("Method", "_constMethod").ok()?,
        constants: exported.offset("ConstMethod", "_constants").ok()?,
        pool_holder: exported.offset("ConstantPool", "_pool_holder").ok()?,
        name: exported.offset("Klass", "_name").ok()?,
        length: exported.offset("Symbol", "_length").ok()?,
        body: exported.offset("Symbol", "_body").ok()?,
    })
}

/// Returns the address of a static field; `None` if HotSpot does not export the field.
pub(crate) fn static_field(type_name: &'static str, field: &str) -> Option<usize> {
    let exported = Exported::read(&Library::jvm())?;
    exported.address(type_name, field).ok()
}

/// The JVM's library, for finding its symbols.
struct Library(*mut c_void);

impl Library {
    /// Finds the JVM's library, which is loaded already. In every JDK it is `libjvm.so`. If the JVM was linked into the
    /// launcher, the symbols of the process are used.
    fn jvm() -> Library {
        // SAFETY: the name ends in a zero byte, and the flags load nothing.
        let handle =
            unsafe { libc::dlopen(c"libjvm.so".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            Library(libc::RTLD_DEFAULT)
        } else {
            Library(handle)
        }
    }

    /// Returns the value of an exported variable. All variables that are read are pointers or 64-bit integers.
    fn word(&self, name: &CStr) -> Option<usize> {
        // SAFETY: the handle is of a loaded library, and the name ends in a zero byte.
        let variable = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if variable.is_null() {
            return None;
        }
        // SAFETY: HotSpot exports these variables as 64-bit words.
        Some(unsafe { variable.cast::<usize>().read_unaligned() })
    }
}

/// The exported table of fields: an array of `VMStructEntry`. HotSpot also exports the layout of `VMStructEntry`.
struct Exported {
    first: usize,
    stride: usize,
    type_name: usize,
    field_name: usize,
    offset: usize,
    address: usize,
}

impl Exported {
    fn read(library: &Library) -> Option<Exported> {
        Some(Exported {
            first: library.word(c"gHotSpotVMStructs")?,
            stride: library.word(c"gHotSpotVMStructEntryArrayStride")?,
            type_name: library.word(c"gHotSpotVMStructEntryTypeNameOffset")?,
            field_name: library.word(c"gHotSpotVMStructEntryFieldNameOffset")?,
            offset: library.word(c"gHotSpotVMStructEntryOffsetOffset")?,
            address: library.word(c"gHotSpotVMStructEntryAddressOffset")?,
        })
    }

    /// Returns the address of the table's entry for a field.
    fn entry(&self, type_name: &'static str, field: &str) -> Result<usize, NotAsync> {
        let mut entry = self.first;
        if entry == 0 || self.stride == 0 {
            return Err(NotAsync::NoStructure(type_name));
        }
        loop {
            // SAFETY: the table ends with an entry without names; names are constants of the library.
            let found = unsafe {
                let name = c_string(entry + self.type_name);
                let Some(name) = name else {
                    return Err(NotAsync::NoStructure(type_name));
                };
                name.to_bytes() == type_name.as_bytes()
                    && c_string(entry + self.field_name)
                        .is_some_and(|name| name.to_bytes() == field.as_bytes())
            };
            if found {
                return Ok(entry);
            }
            entry += self.stride;
        }
    }

    /// Returns the offset of a field in its structure.
    fn offset(&self, type_name: &'static str, field: &str) -> Result<usize, NotAsync> {
        let entry = self.entry(type_name, field)?;
        // SAFETY: the entry has this word.
        Ok(unsafe { word_at(entry + self.offset) })
    }

    /// Returns the address of a static field.
    fn address(&self, type_name: &'static str, field: &str) -> Result<usize, NotAsync> {
        let entry = self.entry(type_name, field)?;
        // SAFETY: the entry has this word.
        match unsafe { word_at(entry + self.address) } {
            0 => Err(NotAsync::NoStructure(type_name)),
            address => Ok(address),
        }
    }
}

/// Returns the size of a type in bytes; `None` if HotSpot does not export it.
fn type_size(library: &Library, name: &str) -> Option<usize> {
    let mut entry = library.word(c"gHotSpotVMTypes")?;
    let stride = library.word(c"gHotSpotVMTypeEntryArrayStride")?;
    let name_offset = library.word(c"gHotSpotVMTypeEntryTypeNameOffset")?;
    let size_offset = library.word(c"gHotSpotVMTypeEntrySizeOffset")?;
    if entry == 0 || stride == 0 {
        return None;
    }
    loop {
        // SAFETY: the table ends with an entry without a name.
        let found = unsafe { c_string(entry + name_offset)? };
        if found.to_bytes() == name.as_bytes() {
            // SAFETY: the entry has this word.
            return Some(unsafe { word_at(entry + size_offset) });
        }
        entry += stride;
    }
}

/// Returns the value of an `int` constant; `None` if HotSpot does not export it.
fn int_constant(library: &Library, name: &str) -> Option<i32> {
    let mut entry = library.word(c"gHotSpotVMIntConstants")?;
    let stride = library.word(c"gHotSpotVMIntConstantEntryArrayStride")?;
    let name_offset = library.word(c"gHotSpotVMIntConstantEntryNameOffset")?;
    let value_offset = library.word(c"gHotSpotVMIntConstantEntryValueOffset")?;
    if entry == 0 || stride == 0 {
        return None;
    }
    loop {
        // SAFETY: the table ends with an entry without a name.
        let found = unsafe { c_string(entry + name_offset)? };
        if found.to_bytes() == name.as_bytes() {
            let value = std::ptr::with_exposed_provenance::<i32>(entry + value_offset);
            // SAFETY: the entry has this value.
            return Some(unsafe { value.read_unaligned() });
        }
        entry += stride;
    }
}

/// Returns the string to which the pointer at `address` points; `None` for null.
///
/// # Safety
/// `address` must hold null or a pointer to a constant string.
unsafe fn c_string(address: usize) -> Option<&'static CStr> {
    // SAFETY: the caller's promise.
    unsafe {
        let string = word_at(address);
        (string != 0).then(|| CStr::from_ptr(std::ptr::with_exposed_provenance::<c_char>(string)))
    }
}

/// Returns the word at `address`.
///
/// # Safety
/// The word must be readable.
unsafe fn word_at(address: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::with_exposed_provenance::<usize>(address).read_unaligned() }
}
