//! Tests the walk on simulated stacks.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use super::code_map::{Code, CodeId, CodeKind, CodeMap};
use super::method_table::MethodTable;
use super::raw_frame::RawFrame;
use super::reclaim::{MAX_FRAMES, zeroed};
use super::sample::{StackEnd, Unwalked};
use super::thread_stack::{Anchor, Registers, ThreadMemory};
use super::vm_structs::{AnchorOffsets, VmStructs};
use super::walker::{Tables, walk};

const CODE: usize = 0x7f00_0000_0000;
const STACK: usize = 0x7ffe_0000_0000;
const WORDS: usize = 512;
const METHOD: usize = 0x7e00_0000_1000;
const NATIVE: usize = 0x7d00_0000_0000;

/// The numbers of the code that [`World::new`] enters.
const OUTER: u32 = 1;
const INNER: u32 = 2;
const INTERPRETER: u32 = 3;
const CALL_STUB: u32 = 4;
const STUB: u32 = 5;
const BARRIER: u32 = 6;
const ENTRY: u32 = 7;

/// Returns the address of the byte at `offset` in the code with the number `code`.
fn pc(code: u32, offset: usize) -> usize {
    CODE + code as usize * 0x1000 + offset
}

struct World {
    code: CodeMap,
    methods: MethodTable,
    structs: VmStructs,
    stack: Vec<usize>,
    anchor: Anchor,
    is_in_java: bool,
    sp: usize,
    reads: Cell<usize>,
}

impl World {
    fn new() -> Self {
        let code = CodeMap::new(CODE, CODE + (1 << 20)).unwrap();
        let kinds = [
            (OUTER, CodeKind::Compiled, 48),
            (INNER, CodeKind::Compiled, 32),
            (INTERPRETER, CodeKind::Interpreter, 0),
            (CALL_STUB, CodeKind::CallStub, 0),
            (STUB, CodeKind::Runtime, 0),
            (BARRIER, CodeKind::ReturnBarrier, 0),
            (ENTRY, CodeKind::ContinuationEntry, 48),
        ];
        for (id, kind, frame_size) in kinds {
            let described = Code {
                low: pc(id, 0),
                high: pc(id, 0x800),
                kind,
                frame_size,
                push: 8,
                body: 16,
                last_site: 0x700,
                orig_pc: 16,
            };
            code.add(CodeId(id), &described).unwrap();
        }
        let methods = MethodTable::new();
        assert!(methods.insert(METHOD, 77).is_none());
        let anchor = AnchorOffsets {
            sp: 32,
            pc: 40,
            fp: 48,
        };
        World {
            code,
            methods,
            structs: VmStructs {
                wrapper_anchor: anchor,
                call_wrapper: 48,
                ..VmStructs::default()
            },
            stack: vec![0; WORDS],
            anchor: Anchor::default(),
            is_in_java: true,
            sp: STACK,
            reads: Cell::new(0),
        }
    }

    fn put(&mut self, words_at: &[(usize, usize)]) {
        for (index, word) in words_at {
            self.stack[*index] = *word;
        }
    }

    fn walk(&mut self, registers: Registers) -> (Vec<RawFrame>, StackEnd) {
        self.sp = registers.sp;
        let frames = zeroed::<AtomicU64>(MAX_FRAMES);
        let tables = Tables {
            code: &self.code,
            methods: &self.methods,
            structs: &self.structs,
        };
        let (count, end) = walk(tables, self, &registers, &frames);
        let frames = frames.iter().take(count);
        let frames = frames.map(|frame| RawFrame::of(frame.load(Ordering::Relaxed)));
        (frames.collect(), end)
    }
}

impl ThreadMemory for World {
    fn stack_end(&self) -> usize {
        STACK + WORDS * 8
    }

    fn stack_word(&self, address: usize) -> usize {
        assert!(
            address >= self.sp && address + 8 <= self.stack_end(),
            "{address:x}"
        );
        assert!(address.is_multiple_of(8));
        self.reads.set(self.reads.get() + 1);
        self.stack[(address - STACK) / 8]
    }

    fn code_byte(&self, address: usize) -> u8 {
        assert!(self.code.find(address).is_some(), "{address:x}");
        0x90
    }

    fn anchor(&self) -> Anchor {
        self.anchor
    }

    fn is_in_java(&self) -> bool {
        self.is_in_java
    }
}

fn at(index: usize) -> usize {
    STACK + index * 8
}

fn compiled(code: u32, offset: u32) -> RawFrame {
    RawFrame::Compiled {
        code: CodeId(code),
        offset,
    }
}

/// Returns the words of a call stub's frame, with its frame pointer at word `fp`, and without a Java frame further out.
fn first_call(fp: usize) -> Vec<(usize, usize)> {
    vec![(fp - 6, at(fp + 4)), (fp + 8, 0), (fp + 9, 0), (fp + 10, 0)]
}

#[test]
fn compiled_frames_are_left_by_their_sizes() {
    let mut world = World::new();
    // INNER: 4 words; OUTER: 6 words.
    world.put(&[
        (2, 0xf00),
        (3, pc(OUTER, 0x50)),
        (8, at(30)),
        (9, pc(CALL_STUB, 9)),
    ]);
    world.put(&first_call(30));
    let registers = Registers {
        pc: pc(INNER, 0x40),
        sp: at(0),
        ..Registers::default()
    };
    let (frames, end) = world.walk(registers);
    // The interrupted place belongs to the next site. A return address is itself a site.
    assert_eq!(frames, [compiled(INNER, 0x40), compiled(OUTER, 0x50)]);
    assert_eq!(end, StackEnd::Complete);
}

#[test]
fn a_method_without_its_frame_has_only_a_return_address() {
    for (offset, words) in [(4, 1), (10, 2)] {
        let mut world = World::new();
        world.put(&[(words - 1, pc(OUTER, 0x50))]);
        world.put(&[(words + 4, at(30)), (words + 5, pc(CALL_STUB, 9))]);
        world.put(&first_call(30));
        let registers = Registers {
            pc: pc(INNER, offset),
            sp: at(0),
            ..Registers::default()
        };
        let (frames, end) = world.walk(registers);
        let expected = [compiled(INNER, offset as u32), compiled(OUTER, 0x50)];
        assert_eq!(frames, expected, "{offset}");
        assert_eq!(end, StackEnd::Complete);
    }
}

#[test]
fn interpreted_frames_are_left_by_their_frame_pointers() {
    let mut world = World::new();
    // The interpreter's frame pointer at 10, its caller OUTER at 14.
    world.put(&[(7, METHOD), (9, at(14)), (10, 0xf00), (11, pc(OUTER, 0x60))]);
    world.put(&[(18, at(40)), (19, pc(CALL_STUB, 9))]);
    world.put(&first_call(40));
    let registers = Registers {
        pc: pc(INTERPRETER, 0x40),
        sp: at(0),
        fp: at(10),
        r13: 0x1234,
        ..Registers::default()
    };
    let (frames, end) = world.walk(registers);
    let interpreted = RawFrame::Interpreted {
        method: 77,
        bcp: 0x1234,
    };
    assert_eq!(frames, [interpreted, compiled(OUTER, 0x60)]);
    assert_eq!(end, StackEnd::Complete);
    // The walk ends if the sender's stack pointer leads inwards.
    world.put(&[(9, at(0))]);
    let (frames, end) = world.walk(registers);
    assert_eq!(frames, [interpreted]);
    assert_eq!(end, StackEnd::Unwalked(Unwalked::BadPointer));
    // The walk also ends at a method that is not known.
    world.put(&[(7, METHOD + 8)]);
    let (frames, end) = world.walk(registers);
    assert_eq!(frames, [RawFrame::Stub(CodeKind::Interpreter)]);
    assert_eq!(end, StackEnd::Unwalked(Unwalked::UnknownMethod));
}

#[test]
fn an_interpreted_method_without_its_frame_is_in_a_register() {
    let mut world = World::new();
    // The caller has pushed a return address and one argument.
    world.put(&[(0, pc(OUTER, 0x60)), (6, at(40)), (7, pc(CALL_STUB, 9))]);
    world.put(&first_call(40));
    let mut registers = Registers {
        pc: pc(INTERPRETER, 0x40),
        sp: at(0),
        rbx: METHOD,
        r13: at(2),
        ..Registers::default()
    };
    let (frames, end) = world.walk(registers);
    let interpreted = RawFrame::Interpreted { method: 77, bcp: 0 };
    assert_eq!(frames, [interpreted, compiled(OUTER, 0x60)]);
    assert_eq!(end, StackEnd::Complete);
    // The caller is found even if the method is not known.
    registers.rbx = METHOD + 8;
    let (frames, end) = world.walk(registers);
    let stub = RawFrame::Stub(CodeKind::Interpreter);
    assert_eq!(frames, [stub, compiled(OUTER, 0x60)]);
    assert_eq!(end, StackEnd::Complete);
    // While the table is being filled, the reader of the sample finds out whether there is a method at the address.
    world.methods.begin_filling();
    let (frames, end) = world.walk(registers);
    let entry = RawFrame::Entry(METHOD + 8);
    assert_eq!(frames, [entry, compiled(OUTER, 0x60)]);
    assert_eq!(end, StackEnd::Complete);
    // The reader also finds out whether there is another method at the address of an old version.
    registers.rbx = METHOD;
    let (frames, _) = world.walk(registers);
    assert_eq!(frames, [interpreted, compiled(OUTER, 0x60)]);
    world.methods.mark_old(METHOD, 77);
    let (frames, _) = world.walk(registers);
    assert_eq!(frames, [RawFrame::Entry(METHOD), compiled(OUTER, 0x60)]);
    world.methods.end_filling();
    let (frames, _) = world.walk(registers);
    assert_eq!(frames, [interpreted, compiled(OUTER, 0x60)]);
}

#[test]
fn native_code_is_left_by_the_anchor() {
    let mut world = World::new();
    world.is_in_java = false;
    world.anchor = Anchor {
        sp: at(20),
        pc: pc(OUTER, 0x33),
        fp: 0,
    };
    world.put(&[(24, at(60)), (25, pc(CALL_STUB, 9))]);
    world.put(&first_call(60));
    let registers = Registers {
        pc: NATIVE,
        sp: at(0),
        ..Registers::default()
    };
    let (frames, end) = world.walk(registers);
    assert_eq!(frames, [RawFrame::Address(NATIVE), compiled(OUTER, 0x33)]);
    assert_eq!(end, StackEnd::Complete);
    // If an anchor has no return address, the address is the word below the anchor's stack pointer.
    world.anchor.pc = 0;
    world.put(&[(19, pc(OUTER, 0x44))]);
    let (frames, _) = world.walk(registers);
    assert_eq!(frames[1], compiled(OUTER, 0x44));
    // An anchor outside the stack is not followed.
    for sp in [at(0) - 8, at(WORDS), at(3) + 1, usize::MAX - 7] {
        world.anchor.sp = sp;
        let (frames, end) = world.walk(registers);
        assert_eq!(frames, [RawFrame::Address(NATIVE)]);
        assert_eq!(end, StackEnd::Unwalked(Unwalked::BadPointer), "{sp:x}");
    }
    world.anchor.sp = 0;
    let (frames, end) = world.walk(registers);
    assert_eq!(frames, [RawFrame::Address(NATIVE)]);
    assert_eq!(end, StackEnd::Complete, "a thread without Java");
}

#[test]
fn native_code_that_java_calls_without_leaving_java_is_searched() {
    let mut world = World::new();
    world.put(&[
        (3, 0x1234),
        (17, pc(OUTER, 0x50)),
        (22, at(60)),
        (23, pc(CALL_STUB, 9)),
    ]);
    world.put(&first_call(60));
    let registers = Registers {
        pc: NATIVE,
        sp: at(0),
        ..Registers::default()
    };
    let (frames, end) = world.walk(registers);
    assert_eq!(frames, [RawFrame::Address(NATIVE), compiled(OUTER, 0x50)]);
    assert_eq!(end, StackEnd::Complete);
    world.put(&[(17, 0)]);
    world.stack[23] = 0;
    let (_, end) = world.walk(registers);
    assert_eq!(end, StackEnd::Unwalked(Unwalked::UnknownCode));
}

/// The frame pointer is still that of an interpreted caller. By it alone, the walk would lose this caller.
#[test]
fn compiled_code_that_is_not_reported_has_saved_the_frame_pointer() {
    let mut world = World::new();
    let unreported = CODE + 0x5_0000;
    world.anchor = Anchor {
        sp: at(2),
        pc: unreported,
        fp: at(20),
    };
    world.put(&[(3, at(20)), (8, at(20)), (9, pc(INTERPRETER, 0x40))]);
    world.put(&[(12, 0x1234), (17, METHOD), (19, at(24))]);
    world.put(&[(20, at(40)), (21, pc(CALL_STUB, 9))]);
    world.put(&first_call(40));
    let registers = Registers {
        sp: at(0),
        ..Registers::default()
    };
    let interpreted = RawFrame::Interpreted {
        method: 77,
        bcp: 0x1234,
    };
    let (frames, end) = world.walk(registers);
    assert_eq!(frames, [RawFrame::Address(unreported), interpreted]);
    assert_eq!(end, StackEnd::Complete);
    // If the frame pointer is not saved, nothing says where the frame ends.
    world.put(&[(8, 0)]);
    let (frames, end) = world.walk(registers);
    assert_eq!(frames, [RawFrame::Address(unreported)]);
    assert_eq!(end, StackEnd::Unwalked(Unwalked::UnknownCode));
}

/// Both methods have left the frame pointer as it was in their interpreted caller. The second return address may as well
/// be that of an earlier call.
#[test]
fn the_caller_of_code_that_is_not_reported_must_be_reported() {
    let mut world = World::new();
    let unreported = [CODE + 0x5_0000, CODE + 0x6_0000];
    world.anchor = Anchor {
        sp: at(2),
        pc: unreported[0],
        fp: at(30),
    };
    world.put(&[(6, at(30)), (7, unreported[1])]);
    world.put(&[(12, at(30)), (13, pc(INTERPRETER, 0x40))]);
    world.put(&[(22, 0x1234), (27, METHOD), (29, at(34))]);
    world.put(&[(30, at(50)), (31, pc(CALL_STUB, 9))]);
    world.put(&first_call(50));
    let registers = Registers {
        sp: at(0),
        ..Registers::default()
    };
    let (frames, end) = world.walk(registers);
    assert_eq!(frames, [RawFrame::Address(unreported[0])]);
    assert_eq!(end, StackEnd::Unwalked(Unwalked::UnknownCode));
}

/// The wrapper of a native method has noted its own frame in the anchor. Its caller is not reported.
#[test]
fn an_anchor_of_frames_that_were_followed_ends_the_walk() {
    let mut world = World::new();
    let unreported = CODE + 0x5_0000;
    world.anchor = Anchor {
        sp: at(0),
        pc: pc(INNER, 0x40),
        fp: 0,
    };
    world.put(&[(2, at(20)), (3, unreported)]);
    let registers = Registers {
        pc: pc(INNER, 0x40),
        sp: at(0),
        ..Registers::default()
    };
    let (frames, end) = world.walk(registers);
    let once = [compiled(INNER, 0x40), RawFrame::Address(unreported)];
    assert_eq!(frames, once);
    assert_eq!(end, StackEnd::Unwalked(Unwalked::BadPointer));
}

#[test]
fn a_call_stub_leads_to_the_java_that_called_the_jvm() {
    let mut world = World::new();
    // INNER at 0 to 3; the call stub's frame pointer at 20; OUTER further out at 100.
    world.put(&[(2, at(20)), (3, pc(CALL_STUB, 9)), (14, at(30))]);
    world.put(&[(34, at(100)), (35, pc(OUTER, 0x21)), (36, at(200))]);
    world.put(&[(104, at(200)), (105, pc(CALL_STUB, 9))]);
    world.put(&first_call(200));
    let registers = Registers {
        pc: pc(INNER, 0x40),
        sp: at(0),
        ..Registers::default()
    };
    let (frames, end) = world.walk(registers);
    assert_eq!(frames, [compiled(INNER, 0x40), compiled(OUTER, 0x21)]);
    assert_eq!(end, StackEnd::Complete);
    // An anchor that leads inwards ends the walk.
    world.put(&[(34, at(1))]);
    let (_, end) = world.walk(registers);
    assert_eq!(end, StackEnd::Unwalked(Unwalked::BadPointer));
}

#[test]
fn virtual_threads_end_at_the_barrier_or_at_their_entry() {
    for (code, expected) in [(BARRIER, StackEnd::Cut), (ENTRY, StackEnd::Complete)] {
        let mut world = World::new();
        world.put(&[(3, pc(code, 0))]);
        let registers = Registers {
            pc: pc(INNER, 0x40),
            sp: at(0),
            ..Registers::default()
        };
        let (frames, end) = world.walk(registers);
        assert_eq!(frames, [compiled(INNER, 0x40)]);
        assert_eq!(end, expected);
    }
}

#[test]
fn a_deoptimised_frame_has_its_return_address_elsewhere() {
    let mut world = World::new();
    // The return address lies after all sites. The original return address is in the frame, 16 bytes from the stack
    // pointer.
    world.put(&[
        (3, pc(OUTER, 0x780)),
        (6, pc(OUTER, 0x123)),
        (9, pc(ENTRY, 0)),
    ]);
    let registers = Registers {
        pc: pc(INNER, 0x40),
        sp: at(0),
        ..Registers::default()
    };
    let (frames, _) = world.walk(registers);
    assert_eq!(frames[1], compiled(OUTER, 0x123));
    world.put(&[(6, pc(INNER, 0x123))]);
    let (frames, _) = world.walk(registers);
    assert_eq!(
        frames[1],
        compiled(OUTER, 0x780),
        "an address in other code is not the original one"
    );
}

#[test]
fn a_stack_that_is_too_deep_is_cut() {
    let mut world = World::new();
    world.stack = vec![pc(INNER, 0x40); WORDS];
    let registers = Registers {
        pc: pc(INNER, 0x40),
        sp: at(0),
        ..Registers::default()
    };
    let (frames, end) = world.walk(registers);
    assert!(frames.len() > WORDS / 8, "{}", frames.len());
    assert!(
        matches!(end, StackEnd::Unwalked(_)),
        "the walk ends at the end of the stack"
    );
    let frames = zeroed::<AtomicU64>(10);
    let tables = Tables {
        code: &world.code,
        methods: &world.methods,
        structs: &world.structs,
    };
    world.sp = registers.sp;
    let (count, end) = walk(tables, &world, &registers, &frames);
    assert_eq!((count, end), (10, StackEnd::Cut));
}

/// `World` checks that each read lies in the stack or in code.
#[test]
fn no_garbage_leads_outside_the_stack() {
    let mut random = 88_172_645_463_325_252_u64;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 16) as usize % below
    };
    let mut world = World::new();
    for _ in 0..20_000 {
        let mut word = || match next(10) {
            0..4 => pc(1 + next(7) as u32, next(0x900)),
            4..7 => at(next(WORDS + 8)),
            7 => METHOD,
            8 => usize::MAX - next(64),
            _ => next(usize::MAX),
        };
        let stack: Vec<usize> = (0..WORDS).map(|_| word()).collect();
        let mut register = || word();
        let registers = Registers {
            pc: register(),
            fp: register(),
            rbx: register(),
            r13: register(),
            sp: 0,
        };
        world.anchor = Anchor {
            sp: register(),
            pc: register(),
            fp: register(),
        };
        world.stack = stack;
        world.is_in_java = next(2) == 0;
        // The handler has checked that the stack pointer lies in the stack.
        let exact = STACK + next(WORDS * 8);
        let sp = if next(8) == 0 { exact } else { exact & !7 };
        world.reads.set(0);
        let (frames, _) = world.walk(Registers { sp, ..registers });
        assert!(frames.len() <= WORDS + 3);
        assert!(world.reads.get() < WORDS * 200, "{}", world.reads.get());
    }
}
