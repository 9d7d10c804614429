//! Follows the stack of the interrupted thread, in the signal handler.
//!
//! The walk cannot do harm if the stack has unexpected content. It reads only the thread's own stack, between the stack
//! pointer and the stack's end. Every return address must lie in known code, or in code that the JVM may report later,
//! and each step moves outwards. Otherwise the walk ends. Arithmetic wraps or is checked, because the signal handler
//! must not panic.

use std::sync::atomic::{AtomicU64, Ordering};

use super::code_map::{Code, CodeId, CodeKind, CodeMap};
use super::method_table::{MethodTable, Version};
use super::raw_frame::RawFrame;
use super::sample::{StackEnd, Unwalked};
use super::thread_stack::{Anchor, Registers, ThreadMemory, ThreadStack, WORD};
use super::vm_structs::{AnchorOffsets, VmStructs};

/// The number of words of the stack that are searched for a return address if the frame of native code does not lead to
/// one.
const SCAN: usize = 128;

/// Positions in an interpreted frame, in words below the frame pointer. HotSpot exports only the first of them.
const SENDER_SP: usize = 1;
const METHOD: usize = 3;
const BCP: usize = 8;

/// The largest interpreted frame, in bytes.
const MAX_INTERPRETED: usize = 1 << 20;

/// The tables that the walk reads.
#[derive(Clone, Copy)]
pub(super) struct Tables<'t> {
    pub(super) code: &'t CodeMap,
    pub(super) methods: &'t MethodTable,
    pub(super) structs: &'t VmStructs,
}

/// Follows the stack from `registers` on and writes its frames into `frames`, innermost first. Returns the number of
/// frames and how the stack ended.
pub(super) fn walk<M: ThreadMemory>(
    tables: Tables<'_>,
    memory: &M,
    registers: &Registers,
    frames: &[AtomicU64],
) -> (usize, StackEnd) {
    let mut walk = Walk {
        tables,
        stack: ThreadStack::new(memory, registers.sp),
        memory,
        registers,
        frames,
        count: 0,
        at: Place {
            pc: registers.pc,
            sp: registers.sp,
            fp: registers.fp,
        },
        low: registers.sp,
        is_top: true,
        is_anchored: false,
    };
    let end = walk.run();
    (walk.count, end)
}

/// Follows the stack of a thread that has left Java, from its anchor on.
pub(super) fn walk_from_anchor<M: ThreadMemory>(
    tables: Tables<'_>,
    memory: &M,
    sp: usize,
    frames: &[AtomicU64],
) -> (usize, StackEnd) {
    let registers = Registers {
        sp,
        ..Registers::default()
    };
    walk(tables, memory, &registers, frames)
}

/// A place on the stack.
#[derive(Clone, Copy)]
struct Place {
    pc: usize,
    sp: usize,
    fp: usize,
}

struct Walk<'w, M> {
    tables: Tables<'w>,
    stack: ThreadStack<'w, M>,
    memory: &'w M,
    registers: &'w Registers,
    frames: &'w [AtomicU64],
    count: usize,
    at: Place,
    /// The lowest address that belongs to frames not yet followed.
    low: usize,
    /// True while the walk is at the interrupted frame.
    is_top: bool,
    /// True after the walk has used the anchor.
    is_anchored: bool,
}

/// Outcome of one step of the walk: continue at the caller's frame, or end.
enum Step {
    On,
    End(StackEnd),
}

const fn unwalked(reason: Unwalked) -> Step {
    Step::End(StackEnd::Unwalked(reason))
}

impl<M: ThreadMemory> Walk<'_, M> {
    fn run(&mut self) -> StackEnd {
        // Each frame that is written takes one step. Code between two frames may take a further step, which writes no
        // frame.
        for _ in 0..self.frames.len().saturating_mul(2) {
            if !self.is_in_stack(self.at.sp) {
                return StackEnd::Unwalked(Unwalked::BadPointer);
            }
            let step = match self.tables.code.find(self.at.pc) {
                None => self.step_native(None),
                Some((id, code)) => match code.kind {
                    CodeKind::Compiled => self.step_compiled(id, &code),
                    CodeKind::Interpreter => self.step_interpreted(),
                    CodeKind::CallStub => self.step_call_stub(),
                    CodeKind::ReturnBarrier => Step::End(StackEnd::Cut),
                    CodeKind::ContinuationEntry => Step::End(StackEnd::Complete),
                    CodeKind::Runtime | CodeKind::Dispatch => self.step_native(Some(&code)),
                },
            };
            match step {
                Step::On => self.is_top = false,
                Step::End(end) => return end,
            }
        }
        StackEnd::Cut
    }

    /// Returns whether the word at `address` and the next three words can be part of frames that were not followed yet.
    fn is_in_stack(&self, address: usize) -> bool {
        self.stack.is_frame(address, self.low)
    }

    fn is_code(&self, pc: usize) -> bool {
        self.tables.code.find(pc).is_some()
    }

    /// Returns the word that lies `words` words above `address`, if this word is an address in known code.
    fn return_address(&self, address: usize, words: usize) -> Option<usize> {
        self.stack
            .word(address, words)
            .filter(|pc| self.is_code(*pc))
    }

    /// Sets the place at which the next step begins: the caller's frame.
    fn go(&mut self, pc: usize, sp: usize, fp: usize) -> Step {
        self.at = Place { pc, sp, fp };
        Step::On
    }

    fn emit(&mut self, frame: RawFrame) -> bool {
        let Some(place) = self.frames.get(self.count) else {
            return false;
        };
        place.store(frame.word(), Ordering::Relaxed);
        self.count = self.count.wrapping_add(1);
        true
    }

    /// Sets the place at which the next step begins: the frame that an anchor gives. Ends the walk if this frame does
    /// not lie further out.
    fn go_to_anchor(&mut self, anchor: Anchor) -> Step {
        if anchor.sp < self.at.sp || !self.is_in_stack(anchor.sp) {
            return unwalked(Unwalked::BadPointer);
        }
        // If the JVM has not noted the return address in the anchor, it is the word below the stack pointer.
        let pc = if anchor.pc == 0 {
            self.stack.word_below(anchor.sp, 1)
        } else {
            Some(anchor.pc)
        };
        let Some(pc) = pc else {
            return unwalked(Unwalked::BadPointer);
        };
        self.low = anchor.sp;
        self.go(pc, anchor.sp, anchor.fp)
    }

    /// Leaves a frame that belongs to no method: of a stub, or of code outside the map.
    fn step_native(&mut self, stub: Option<&Code>) -> Step {
        let Place { pc, sp, fp } = self.at;
        let is_unreported = stub.is_none() && self.tables.code.covers(pc);
        if self.is_top && pc != 0 {
            self.emit(stub.map_or(RawFrame::Address(pc), |stub| RawFrame::Stub(stub.kind)));
        } else if is_unreported {
            // The address may be in a method that was compiled a moment ago. By the time that the sample is read, the
            // JVM may have reported the method's code.
            self.emit(RawFrame::Address(pc));
        }
        if !self.is_anchored {
            self.is_anchored = true;
            let anchor = self.memory.anchor();
            if anchor.sp != 0 {
                return self.go_to_anchor(anchor);
            }
            if stub.is_none() && !self.memory.is_in_java() {
                // If there is no anchor, no Java frame has called the native code.
                return Step::End(StackEnd::Complete);
            }
        }
        if let Some(stub) = stub {
            if self.is_top {
                let makes_frame = self.begins_with_frame(stub);
                if makes_frame
                    && pc > stub.low.wrapping_add(1)
                    && let Some(step) = self.by_frame_pointer(sp, fp)
                {
                    return step;
                }
                if let Some(pc) = self.return_address(sp, 0) {
                    return self.go(pc, sp.wrapping_add(WORD), fp);
                }
            }
            if let Some(step) = self.by_frame_size(stub.frame_size as usize, true) {
                return step;
            }
        }
        if is_unreported {
            // The frame pointer alone may lead past further frames, and so may a search.
            let step = self.by_kept_frame_pointer(sp, fp);
            return step.unwrap_or(unwalked(Unwalked::UnknownCode));
        }
        if let Some(step) = self.by_frame_pointer(sp, fp) {
            return step;
        }
        self.by_scan()
    }

    /// Leaves a compiled method that the JVM has not reported. Compiled code saves the caller's frame pointer below the
    /// return address, and mostly leaves the register as it is. The register then leads to the caller's frame, or to one
    /// further out, but not to the method's own. If the return address lies in code that was not reported either,
    /// nothing tells whether it is one: earlier calls leave such words, too.
    fn by_kept_frame_pointer(&mut self, sp: usize, fp: usize) -> Option<Step> {
        let (words, pc) = (0..SCAN).find_map(|words| {
            let saved = self.stack.word(sp, words);
            saved.filter(|saved| *saved == fp && fp >= sp)?;
            let pc = self.stack.word(sp, words.wrapping_add(1));
            let pc = pc.filter(|pc| self.tables.code.covers(*pc))?;
            Some((words, pc))
        })?;
        let skipped = words.wrapping_add(2).wrapping_mul(WORD);
        self.is_code(pc)
            .then(|| self.go(pc, sp.wrapping_add(skipped), fp))
    }

    /// Returns whether a stub begins with `push rbp; mov rbp, rsp`.
    fn begins_with_frame(&self, stub: &Code) -> bool {
        if stub.high.wrapping_sub(stub.low) <= 4 {
            return false;
        }
        let byte = |offset: usize| self.memory.code_byte(stub.low.wrapping_add(offset));
        byte(0) == 0x55 && byte(1) == 0x48 && (byte(2) == 0x8b || byte(2) == 0x89)
    }

    /// Leaves the frame to which `fp` points.
    fn by_frame_pointer(&mut self, sp: usize, fp: usize) -> Option<Step> {
        if fp < sp || !fp.is_multiple_of(WORD) {
            return None;
        }
        let pc = self.return_address(fp, 1)?;
        let caller_fp = self.stack.word(fp, 0)?;
        Some(self.go(pc, fp.wrapping_add(2 * WORD), caller_fp))
    }

    /// Leaves a frame of a known size in bytes. If `checked` is true, the return address must lie in known code.
    fn by_frame_size(&mut self, size: usize, checked: bool) -> Option<Step> {
        let words = (size / WORD).checked_sub(2)?;
        let pc = self.stack.word(self.at.sp, words.wrapping_add(1))?;
        let fp = self.stack.word(self.at.sp, words)?;
        let known = self.is_code(pc);
        // An unknown address inside the code cache may belong to a method that was compiled a moment ago.
        if !known && (checked || !self.tables.code.covers(pc)) {
            return None;
        }
        Some(self.go(pc, self.at.sp.wrapping_add(size), fp))
    }

    /// Leaves native code that Java code calls without leaving Java, such as barriers of garbage collectors. Searches
    /// the stack for the next return address in a method.
    fn by_scan(&mut self) -> Step {
        let sp = self.at.sp;
        for words in 0..SCAN {
            let Some(word) = self.stack.word(sp, words) else {
                break;
            };
            if !self.tables.code.covers(word) {
                continue;
            }
            let is_method = self.tables.code.find(word).is_some_and(|(_, code)| {
                matches!(code.kind, CodeKind::Compiled | CodeKind::Interpreter)
            });
            if is_method {
                let below = words
                    .checked_sub(1)
                    .and_then(|words| self.stack.word(sp, words));
                let fp = below.unwrap_or(self.at.fp);
                let skipped = words.wrapping_add(1).wrapping_mul(WORD);
                return self.go(word, sp.wrapping_add(skipped), fp);
            }
        }
        unwalked(Unwalked::UnknownCode)
    }

    /// Leaves the call stub, by which the JVM called Java. The next step begins at the Java frame that had called the
    /// JVM.
    fn step_call_stub(&mut self) -> Step {
        let structs = self.tables.structs;
        let wrapper = self.at.fp.checked_sub(structs.call_wrapper);
        let Some(wrapper) = wrapper.and_then(|address| self.stack.word(address, 0)) else {
            return unwalked(Unwalked::BadPointer);
        };
        if wrapper < self.at.fp || !self.is_in_stack(wrapper) {
            return unwalked(Unwalked::BadPointer);
        }
        let AnchorOffsets { sp, pc, fp } = structs.wrapper_anchor;
        let word = |offset: usize| self.stack.word(wrapper.checked_add(offset)?, 0);
        let (Some(sp), Some(pc), Some(fp)) = (word(sp), word(pc), word(fp)) else {
            return unwalked(Unwalked::BadPointer);
        };
        if sp == 0 {
            return Step::End(StackEnd::Complete);
        }
        if sp <= self.at.sp {
            return unwalked(Unwalked::BadPointer);
        }
        self.go_to_anchor(Anchor { sp, pc, fp })
    }

    /// Makes the frame of the interpreted method whose `Method` is at `address`; `None` if no method is there. While
    /// the table of methods is being filled, makes a frame with any plausible address, and the reader of the sample
    /// checks whether it is a method. Then the present method may be another one than an old version in the table.
    fn interpreted_frame(&self, address: usize, bcp: usize) -> Option<RawFrame> {
        // The flag is read before the table is searched, because the table may be completed in between.
        let is_filling = self.tables.methods.is_filling();
        let version = self.tables.methods.find_version(address);
        if let Some(Version { method, .. }) = version.filter(|it| !(it.is_old && is_filling)) {
            let bcp = bcp as u32;
            return Some(RawFrame::Interpreted { method, bcp });
        }
        // A method lies in the user half of the address space and outside the stack.
        let is_plausible = (1 << 16..1 << 47).contains(&address)
            && address.is_multiple_of(WORD)
            && !self.stack.contains(address);
        (is_plausible && is_filling).then_some(RawFrame::Method(address))
    }

    fn step_interpreted(&mut self) -> Step {
        let Place { pc: _, sp, fp } = self.at;
        let frame_method = if fp >= sp && fp.wrapping_sub(sp) < MAX_INTERPRETED {
            self.stack.word_below(fp, METHOD)
        } else {
            None
        };
        // The interpreter keeps the address of the present instruction in a register, and saves it in the frame when it
        // leaves the method.
        let bcp = if self.is_top {
            self.registers.r13
        } else {
            self.stack.word_below(fp, BCP).unwrap_or(0)
        };
        if let Some(frame) = frame_method.and_then(|address| self.interpreted_frame(address, bcp)) {
            let caller = self.stack.word_below(fp, SENDER_SP);
            let (Some(caller_sp), Some(pc), Some(caller_fp)) =
                (caller, self.stack.word(fp, 1), self.stack.word(fp, 0))
            else {
                return unwalked(Unwalked::BadPointer);
            };
            if !self.emit(frame) {
                return Step::End(StackEnd::Cut);
            }
            if caller_sp <= sp {
                return unwalked(Unwalked::BadPointer);
            }
            return self.go(pc, caller_sp, caller_fp);
        }
        if self.is_top {
            // The interpreter has not made the frame of the method yet, or has already removed it.
            let entered = self.interpreted_frame(self.registers.rbx, 0);
            let caller = self.return_address(sp, 0);
            let frame = match (entered, caller) {
                // The register may have something else than the method's address.
                (Some(RawFrame::Method(address)), Some(_)) => RawFrame::Entry(address),
                (Some(frame), Some(_)) => frame,
                _ => RawFrame::Stub(CodeKind::Interpreter),
            };
            self.emit(frame);
            if let Some(pc) = caller {
                let caller_sp = self.registers.r13;
                let is_near = caller_sp > sp && caller_sp.wrapping_sub(sp) < 4096;
                let next = if is_near {
                    caller_sp
                } else {
                    sp.wrapping_add(WORD)
                };
                return self.go(pc, next, fp);
            }
        }
        unwalked(Unwalked::UnknownMethod)
    }

    fn step_compiled(&mut self, id: CodeId, code: &Code) -> Step {
        let Place { pc, sp, fp } = self.at;
        if !self.emit(self.compiled_frame(id, code)) {
            return Step::End(StackEnd::Cut);
        }
        if self.is_top
            && let Some(step) = self.at_edge(code, pc, sp, fp)
        {
            return step;
        }
        if let Some(step) = self.by_frame_size(code.frame_size as usize, false) {
            return step;
        }
        if let Some(pc) = self.return_address(sp, 0) {
            return self.go(pc, sp.wrapping_add(WORD), fp);
        }
        if let (Some(pc), Some(caller_fp)) = (self.return_address(sp, 1), self.stack.word(sp, 0)) {
            return self.go(pc, sp.wrapping_add(2 * WORD), caller_fp);
        }
        unwalked(Unwalked::UnknownCode)
    }

    /// Makes the frame of compiled code at the present place, with the offset at which its methods are to be looked up.
    fn compiled_frame(&self, id: CodeId, code: &Code) -> RawFrame {
        let offset_of = |pc: usize| pc.wrapping_sub(code.low) as u32;
        let offset = offset_of(self.at.pc);
        if self.is_top {
            // A thread is interrupted after the instruction that took the time, and the offset of a site is the end of
            // an instruction. So the address of an interrupted thread is looked up in the same way as a return address.
            return RawFrame::Compiled { code: id, offset };
        }
        let original = if code.is_replaced(offset) {
            self.stack.word(self.at.sp, code.orig_pc as usize / WORD)
        } else {
            None
        };
        let original = original.filter(|pc| code.contains(*pc));
        RawFrame::Compiled {
            code: id,
            offset: original.map_or(offset, offset_of),
        }
    }

    /// Leaves an interrupted method whose frame is incomplete, because the thread is in the method's prologue or
    /// epilogue. Returns `None` in the method's body.
    fn at_edge(&mut self, code: &Code, pc: usize, sp: usize, fp: usize) -> Option<Step> {
        let offset = pc.wrapping_sub(code.low);
        let is_known = code.body != 0;
        if is_known && offset <= code.push as usize {
            let pc = self.return_address(sp, 0)?;
            return Some(self.go(pc, sp.wrapping_add(WORD), fp));
        }
        if is_known && offset < code.body as usize {
            if code.frame_size as usize <= 2 * WORD {
                return None;
            }
            let pc = self.return_address(sp, 1)?;
            let caller_fp = self.stack.word(sp, 0)?;
            return Some(self.go(pc, sp.wrapping_add(2 * WORD), caller_fp));
        }
        if pc <= code.low || pc.checked_add(8)? >= code.high {
            return None;
        }
        let byte = |offset: usize| self.memory.code_byte(pc.wrapping_add(offset));
        const POP_RBP: u8 = 0x5d;
        const RET: u8 = 0xc3;
        let after_pop = self.memory.code_byte(pc.wrapping_sub(1)) == POP_RBP;
        let has_no_frame = match (byte(0), byte(1)) {
            (RET, _) => true,
            // cmp rsp, [r15 + poll]
            (0x49, 0x3b) => after_pop && matches!(byte(2), 0x67 | 0xa7),
            // ja slow path; ret
            (0x0f, 0x87) => byte(6) == RET,
            // mov r10, [r15 + poll]
            (0x4d, 0x8b) => after_pop && byte(2) == 0x97,
            // test [r10], eax; ret
            (0x41, 0x85) => byte(2) == 0x02 && byte(3) == RET,
            // test [rip + poll], eax; ret
            (0x85, 0x05) => byte(6) == RET,
            _ => false,
        };
        if has_no_frame {
            let pc = self.return_address(sp, 0)?;
            return Some(self.go(pc, sp.wrapping_add(WORD), fp));
        }
        if byte(0) == POP_RBP {
            let pc = self.return_address(sp, 1)?;
            let caller_fp = self.stack.word(sp, 0)?;
            return Some(self.go(pc, sp.wrapping_add(2 * WORD), caller_fp));
        }
        None
    }
}
