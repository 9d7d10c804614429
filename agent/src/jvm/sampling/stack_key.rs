//! Makes a key of the calling thread's stack, in a JVM TI event. Stacks with equal keys have equal frames.
//!
//! JVM TI decodes each frame, which takes a tenth of a microsecond or more. A key needs no decoding. It has for each
//! frame the code and the place in the code: for compiled code, the return address and the number of the compilation;
//! for the interpreter, the method and the address in its bytecode. So frames are decoded only once for each key.
//!
//! Only three kinds of memory are read: the thread's own stack, its `JavaThread`, and the part of the code cache that
//! is in use. So a stack with unexpected content does no harm: the walk ends, and there is no key.

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::code_cache::{CodeCache, Heap, MAX_STEPS};
use super::memory::SafeMemory;
use super::vm_structs::{KeyOffsets, VmStructs};
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::Local;

const WORD: usize = size_of::<usize>();

/// Positions in an interpreted frame, in words below the frame pointer.
const SENDER_SP: usize = 1;
const METHOD: usize = 3;
const BCP: usize = 8;

/// The JNI environment is searched for in this number of bytes from the start of the `JavaThread`.
const MAX_ENVIRONMENT: usize = 1 << 14;

/// The largest frame, in bytes.
const MAX_FRAME: usize = 1 << 20;

/// A key of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StackKey {
    words: Vec<u64>,
    has_interpreted: bool,
}

impl StackKey {
    /// Returns the words by which keys are compared.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns whether the key contains the address of an interpreted method. After the method's class was unloaded or
    /// redefined, the JVM may give this address to another method. So such a key is valid only as long as the class is
    /// loaded and no class is redefined. Keys of compiled code are always valid, because the number of a compilation is
    /// never used again.
    pub(crate) fn has_interpreted(&self) -> bool {
        self.has_interpreted
    }

    #[cfg(test)]
    pub(crate) fn of(words: &[u64], has_interpreted: bool) -> Self {
        StackKey {
            words: words.to_vec(),
            has_interpreted,
        }
    }
}

/// Makes keys of stacks.
pub(crate) struct StackKeys {
    structs: VmStructs,
    offsets: KeyOffsets,
    heaps: Vec<Heap>,
    /// Offset of the JNI environment in `JavaThread`.
    environment: usize,
    /// Addresses of the JVM's constant strings with the names in [`NAMES`]; 0 until the name is found.
    names: [AtomicUsize; NAMES.len()],
    /// Addresses of the JVM's constant strings with the names of other code, which adds nothing to a key.
    others: [AtomicUsize; OTHERS],
    memory: SafeMemory,
}

/// The names of the code that adds words to a key: compiled methods, wrappers of native methods, and the interpreter.
const NAMES: [&CStr; 3] = [c"nmethod", c"native nmethod", c"Interpreter"];

/// The number of names of other code that are remembered. A JVM has some hundred such names, but a program meets only a
/// few.
const OTHERS: usize = 64;

/// The index of the interpreter's name in [`NAMES`].
const INTERPRETER: usize = 2;

/// A place on the stack.
#[derive(Clone, Copy)]
struct Place {
    pc: usize,
    sp: usize,
    fp: usize,
}

/// The outcome of one step of the walk.
enum Step {
    To(Place),
    /// The stack has no further frames.
    End,
}

impl StackKeys {
    /// Finds where the JVM's structures are. Called at `VMInit` or later, in a Java thread. Returns `None` if this JVM
    /// does not have the structures where they are expected.
    pub(crate) fn find(jvmti: Jvmti, jni: Jni<'_>) -> Option<StackKeys> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return None;
        }
        let structs = VmStructs::read().ok()?;
        let cache = CodeCache::new(SafeMemory::open()?, structs.code);
        let heaps = cache.heaps().to_vec();
        Some(StackKeys {
            structs,
            offsets: structs.keys?,
            heaps,
            environment: environment_offset(jvmti, jni)?,
            names: [const { AtomicUsize::new(0) }; NAMES.len()],
            others: [const { AtomicUsize::new(0) }; OTHERS],
            memory: SafeMemory::open()?,
        })
    }

    /// Returns the key of the calling thread's stack, made from at least `most` Java frames, or from all if there are
    /// fewer. `None` if the stack cannot be followed so far, or if a frame on the way is interpreted and
    /// `with_interpreted` is false. The thread must be in a JVM TI event or in a native method.
    pub(crate) fn key(
        &self,
        jni: Jni<'_>,
        most: usize,
        with_interpreted: bool,
    ) -> Option<StackKey> {
        let thread = jni.env.expose_provenance().checked_sub(self.environment)?;
        let here = 0_usize;
        // SAFETY: `thread` is the `JavaThread` of the calling thread, because `find` has found the offset of the JNI
        // environment in a `JavaThread`. The other offsets are those of fields of `JavaThread`.
        let field = |offset: usize| unsafe { word_at(thread.wrapping_add(offset)) };
        let stack = OwnStack {
            low: std::ptr::from_ref(&here).expose_provenance(),
            high: field(self.structs.stack_base),
        };
        if stack.high.wrapping_sub(stack.low) > field(self.structs.stack_size) {
            return None;
        }
        let anchor = self.structs.anchor;
        let mut at = stack.anchor(field(anchor.sp), field(anchor.pc), field(anchor.fp))?;
        let mut key = StackKey {
            words: Vec::with_capacity(2 * most.min(16)),
            has_interpreted: false,
        };
        // Between two Java frames there is at most one frame of a stub.
        for _ in 0..2 * most + 2 {
            match self.step(&stack, at, &mut key)? {
                Step::To(next) if next.sp > at.sp => at = next,
                Step::To(_) => return None,
                Step::End => return Some(key),
            }
            if key.has_interpreted && !with_interpreted {
                return None;
            }
            if key.words.len() >= 2 * most {
                return Some(key);
            }
        }
        None
    }

    /// Adds the frame at a place to the key. Returns the place of the caller's frame.
    fn step(&self, stack: &OwnStack, at: Place, key: &mut StackKey) -> Option<Step> {
        if at.pc == self.call_stub_return() {
            return self.leave_call_stub(stack, at.fp);
        }
        let blob = self.blob(at.pc)?;
        // SAFETY: the blob is in use, because the calling thread's stack leads into it.
        let name = unsafe { word_at(blob.wrapping_add(self.offsets.name)) };
        let kind = self.kind(name)?;
        if kind == Some(INTERPRETER) {
            let method = stack.word(at.fp.checked_sub(METHOD * WORD)?)?;
            let bcp = stack.word(at.fp.checked_sub(BCP * WORD)?)?;
            key.words.extend([method as u64, bcp as u64]);
            key.has_interpreted = true;
            return Some(Step::To(Place {
                pc: stack.word(at.fp.checked_add(WORD)?)?,
                sp: stack.word(at.fp.checked_sub(SENDER_SP * WORD)?)?,
                fp: stack.word(at.fp)?,
            }));
        }
        // SAFETY: as for `name`; the fields are numbers of 4 bytes in the header of the blob.
        let int = |offset: usize| unsafe { int_at(blob.wrapping_add(offset)) };
        if kind.is_some() {
            // After the instructions come the handlers to which every deoptimised frame returns. Such an address does
            // not show the place in the method.
            let instructions_end =
                blob.checked_add(usize::try_from(int(self.offsets.stub)).ok()?)?;
            if at.pc >= instructions_end {
                return None;
            }
            let number = u64::from(int(self.offsets.compile_id).cast_unsigned());
            let entry = u64::from(int(self.offsets.entry_bci).cast_unsigned());
            key.words.extend([at.pc as u64, entry << 32 | number]);
        }
        let size = usize::try_from(int(self.structs.code.frame_size)).ok()?;
        let size = size.checked_mul(WORD).filter(|size| *size < MAX_FRAME)?;
        let caller_sp = at.sp.checked_add(size)?;
        Some(Step::To(Place {
            pc: stack.word(caller_sp.checked_sub(WORD)?)?,
            sp: caller_sp,
            fp: stack.word(caller_sp.checked_sub(2 * WORD)?)?,
        }))
    }

    /// Goes from the call stub, by which the JVM called Java, to the Java frame that had called the JVM. Returns the
    /// place of this frame.
    fn leave_call_stub(&self, stack: &OwnStack, fp: usize) -> Option<Step> {
        let wrapper = stack.word(fp.checked_sub(self.structs.call_wrapper)?)?;
        let anchor = self.structs.wrapper_anchor;
        let word = |offset: usize| stack.word(wrapper.checked_add(offset)?);
        let (sp, pc, fp) = (word(anchor.sp)?, word(anchor.pc)?, word(anchor.fp)?);
        if sp == 0 {
            return Some(Step::End);
        }
        Some(Step::To(stack.anchor(sp, pc, fp)?))
    }

    /// Returns the address in the call stub to which a method that the JVM has called returns.
    fn call_stub_return(&self) -> usize {
        // SAFETY: HotSpot exports the address of this static field.
        unsafe { word_at(self.offsets.call_stub_return) }
    }

    /// Returns the code blob that contains an address; `None` if the address is not in the used part of the code cache.
    fn blob(&self, pc: usize) -> Option<usize> {
        let heap = self.heaps.iter().find(|heap| heap.contains(pc))?;
        // SAFETY: the descriptors of the heaps live as long as the JVM.
        let committed = unsafe { word_at(heap.committed) };
        if pc >= committed {
            return None;
        }
        let block = heap.block(pc, MAX_STEPS, |address| {
            // SAFETY: the map has a byte for each segment of the heap that is committed.
            Some(unsafe { std::ptr::with_exposed_provenance::<u8>(address).read_volatile() })
        })?;
        Some(self.structs.code.blob_of(block))
    }

    /// Returns the index in [`NAMES`] of the name at address `name`. The inner `None` is for other code, the outer
    /// `None` for a name that cannot be read.
    fn kind(&self, name: usize) -> Option<Option<usize>> {
        if name == 0 {
            return None;
        }
        let other = &self.others[name / WORD % OTHERS];
        if other.load(Ordering::Relaxed) == name {
            return Some(None);
        }
        let known = |index: &usize| self.names[*index].load(Ordering::Relaxed) == name;
        if let Some(index) = (0..NAMES.len()).find(known) {
            return Some(Some(index));
        }
        // A name is a constant of the JVM, so it is read only once.
        let mut is_readable = true;
        for (index, expected) in NAMES.iter().enumerate() {
            let expected = expected.to_bytes_with_nul();
            let mut text = vec![0; expected.len()];
            if !self.memory.read(name, &mut text) {
                is_readable = false;
            } else if text == expected {
                self.names[index].store(name, Ordering::Relaxed);
                return Some(Some(index));
            }
        }
        if !is_readable {
            return None;
        }
        other.store(name, Ordering::Relaxed);
        Some(None)
    }
}

/// Returns the offset of the JNI environment in `JavaThread`. To find it, looks for the thread whose `JavaThread`
/// begins most closely before the calling thread's environment: that is the calling thread.
fn environment_offset(jvmti: Jvmti, jni: Jni<'_>) -> Option<usize> {
    let class = jni.find_class(c"java/lang/Thread").ok()?;
    let eetop = jni.field(class, c"eetop", c"J").ok()?;
    let environment = jni.env.expose_provenance();
    let offset = |thread: Local<'_>| {
        let java_thread = jni.long_field(thread, eetop).ok()? as usize;
        environment.checked_sub(java_thread)
    };
    jni.ensure_local_capacity();
    let threads = jvmti.threads(jni).ok()?;
    let nearest = threads.into_iter().filter_map(offset).min()?;
    (nearest < MAX_ENVIRONMENT).then_some(nearest)
}

/// The calling thread's stack, from an address below all Java frames to the end of the stack.
struct OwnStack {
    low: usize,
    high: usize,
}

impl OwnStack {
    /// Returns the word at an address; `None` outside of the stack.
    fn word(&self, address: usize) -> Option<usize> {
        let is_inside = address >= self.low
            && address.checked_add(WORD)? <= self.high
            && address.is_multiple_of(WORD);
        // SAFETY: the calling thread's stack is mapped from here to its end.
        is_inside.then(|| unsafe { word_at(address) })
    }

    /// Returns the place that an anchor gives. If the JVM has noted no code address (`pc` is 0), the address is the
    /// word below the stack pointer.
    fn anchor(&self, sp: usize, pc: usize, fp: usize) -> Option<Place> {
        let noted = (pc != 0).then_some(pc);
        let pc = noted.or_else(|| self.word(sp.checked_sub(WORD)?))?;
        Some(Place { pc, sp, fp })
    }
}

/// Returns the word at an address.
///
/// # Safety
/// The word must be readable.
unsafe fn word_at(address: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::with_exposed_provenance::<usize>(address).read_volatile() }
}

/// Returns the `int` at an address.
///
/// # Safety
/// The `int` must be readable.
unsafe fn int_at(address: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::with_exposed_provenance::<i32>(address).read_volatile() }
}
