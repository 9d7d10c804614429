//! Follows the stack of the interrupted thread, in the signal handler.
//!
//! Every address that is read lies in the thread's own stack between the stack pointer and the stack's end; every
//! return address must lie in known code; and each step moves outwards. So an unexpected stack only ends the walk.
//! Arithmetic wraps or is checked, since a panic is not allowed here.

use std::sync::atomic::{AtomicU64, Ordering};

use super::code_map::{Code, CodeId, CodeKind, CodeMap};
use super::method_table::MethodTable;
use super::raw_frame::RawFrame;
use super::sample::{StackEnd, Unwalked};
use super::thread_stack::{Anchor, Registers, ThreadMemory, ThreadStack, WORD};
use super::vm_structs::{AnchorOffsets, VmStructs};

/// Words of the stack that are searched for a return address, if the frame of native code does not lead to one.
const SCAN: usize = 128;

/// The interpreter's frame, in words from the frame pointer. HotSpot exports the first of them only.
const SENDER_SP: usize = 1;
const METHOD: usize = 3;
const BCP: usize = 8;

/// The largest interpreted frame.
const MAX_INTERPRETED: usize = 1 << 20;

/// The tables that the walk reads.
#[derive(Clone, Copy)]
pub(super) struct Tables<'t> {
    pub(super) code: &'t CodeMap,
    pub(super) methods: &'t MethodTable,
    pub(super) structs: &'t VmStructs,
}

/// Follows the stack from `registers` and writes its frames, innermost first. Returns their number.
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
    /// True for the frame that was interrupted.
    is_top: bool,
    /// True after the anchor was used.
    is_anchored: bool,
}

/// Outcome of one step of the walk: go on to the caller's frame, or end.
enum Step {
    On,
    End(StackEnd),
}

const fn unwalked(reason: Unwalked) -> Step {
    Step::End(StackEnd::Unwalked(reason))
}

impl<M: ThreadMemory> Walk<'_, M> {
    fn run(&mut self) -> StackEnd {
        // Each frame that is written takes a step, and code between two of them may take a step that writes none.
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

    /// Returns whether `address` and the three words behind it can be read as part of frames not yet followed.
    fn is_in_stack(&self, address: usize) -> bool {
        self.stack.is_frame(address, self.low)
    }

    fn is_code(&self, pc: usize) -> bool {
        self.tables.code.find(pc).is_some()
    }

    /// The word that lies `words` words above `address`, if it is an address of
    /// known code.
    fn return_address(&self, address: usize, words: usize) -> Option<usize> {
        self.stack
            .word(address, words)
            .filter(|pc| self.is_code(*pc))
    }

    /// Goes to the caller's frame, at which the next step begins.
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

    /// Goes to the frame that an anchor names, at which the next step begins. That frame must lie
    /// further out.
    fn go_to_anchor(&mut self, anchor: Anchor) -> Step {
        if anchor.sp < self.low || !self.is_in_stack(anchor.sp) {
            return unwalked(Unwalked::BadPointer);
        }
        // The return address lies below the stack pointer if the JVM did not note it.
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

    /// Leaves code that is not a method's: a stub, or code outside the map.
    fn step_native(&mut self, stub: Option<&Code>) -> Step {
        let Place { pc, sp, fp } = self.at;
        if self.is_top && pc != 0 {
            self.emit(stub.map_or(RawFrame::Address(pc), |stub| RawFrame::Stub(stub.kind)));
        } else if stub.is_none() && self.tables.code.covers(pc) {
            // The address may be in a method that was compiled a moment ago. The event of its code may come before the
            // sample is read.
            self.emit(RawFrame::Address(pc));
        }
        if !self.is_anchored {
            self.is_anchored = true;
            let anchor = self.memory.anchor();
            if anchor.sp != 0 {
                return self.go_to_anchor(anchor);
            }
            if stub.is_none() && !self.memory.is_in_java() {
                // Native code without an anchor has no Java frame below it.
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
        if let Some(step) = self.by_frame_pointer(sp, fp) {
            return step;
        }
        self.by_scan()
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

    /// Leaves a frame of a known size. With `checked`, the return address must lie in known code.
    fn by_frame_size(&mut self, size: usize, checked: bool) -> Option<Step> {
        let words = (size / WORD).checked_sub(2)?;
        let pc = self.stack.word(self.at.sp, words.wrapping_add(1))?;
        let fp = self.stack.word(self.at.sp, words)?;
        let known = self.is_code(pc);
        // An unknown address inside the code cache belongs to a method that was
        // compiled a moment ago.
        if !known && (checked || !self.tables.code.covers(pc)) {
            return None;
        }
        Some(self.go(pc, self.at.sp.wrapping_add(size), fp))
    }

    /// Searches the stack for the next return address to a method. It finds the caller of native code that Java calls
    /// without leaving Java, such as the barriers of collectors.
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

    /// Leaves the stub by which the JVM called Java. Goes on at the Java frame that had called the JVM.
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

    /// The frame of the interpreted method at `address`; `None` if there is no method. While the table is being filled,
    /// the reader of the sample finds out whether there is one.
    fn interpreted_frame(&self, address: usize, bcp: usize) -> Option<RawFrame> {
        // Read before the table, which may be complete by the time that it is searched.
        let is_filling = self.tables.methods.is_filling();
        if let Some(method) = self.tables.methods.find(address) {
            let bcp = bcp as u32;
            return Some(RawFrame::Interpreted { method, bcp });
        }
        // The user half of the address space. HotSpot keeps methods outside the stack.
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
        // The interpreter keeps the address of its bytecode in a register, and saves it when it leaves the method.
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
            // The interpreter has not made the method's frame yet, or has removed
            // it already.
            let entered = self.interpreted_frame(self.registers.rbx, 0);
            let caller = self.return_address(sp, 0);
            let frame = match (entered, caller) {
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

    /// The frame at the place, with the offset at which its methods are looked up.
    fn compiled_frame(&self, id: CodeId, code: &Code) -> RawFrame {
        let offset_of = |pc: usize| pc.wrapping_sub(code.low) as u32;
        let offset = offset_of(self.at.pc);
        if self.is_top {
            // A thread is interrupted behind the instruction that took the time, and a site's offset is the end of an
            // instruction. So an equal offset is the site's, like that of a return address.
            return RawFrame::Compiled { code: id, offset };
        }
        // If the return address lies behind all sites, deoptimisation has replaced the original one.
        let is_replaced = code.orig_pc != 0 && offset > code.last_site;
        let original = if is_replaced {
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

    /// Leaves an interrupted method whose frame is not complete, in its prologue or epilogue. `None` in its body.
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
