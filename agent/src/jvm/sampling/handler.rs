//! The signal handler: takes a sample of the thread that it interrupts.
//!
//! The handler may run between any two instructions of the program, also inside the allocator or the JVM. So it takes
//! no lock, allocates no memory, calls no function that does, does not panic, and uses no thread-local variable except
//! `errno`.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::reclaim::Desk;
use super::ring::Record;
use super::sample::StackEnd;
use super::sample::Unwalked;
use super::shared::{Shared, ThreadRecord};
use super::thread_stack::{Anchor, Registers, ThreadMemory};
use super::timers;
use super::walker::{self, Tables};
use crate::jvm::visits::{Visited, Withdrawn};

/// The tables of the process's engine.
static SHARED: Visited<Shared> = Visited::none();

/// Gives the handler its tables. Returns `None` if it has tables already.
pub(super) fn set_tables(shared: Shared) -> Option<&'static Shared> {
    SHARED.put(Box::new(shared))
}

/// Takes the tables away from the handler. Returns `None` if a handler that uses them does not end within `longest`.
pub(super) fn withdraw_tables(longest: Duration) -> Option<Withdrawn<Shared>> {
    SHARED.withdraw(longest)
}

/// The estimated time, in nanoseconds, that a signal takes in addition to its sample: in the kernel, from the expiry of
/// the timer until the thread continues, and in the handler before and after the sample.
const SIGNAL_NS: u64 = 2500;

/// `JavaThreadState::_thread_in_Java` (HotSpot, `globalDefinitions.hpp`).
const IN_JAVA: u8 = 8;

/// The `siginfo_t` of a signal that a timer has sent.
#[repr(C)]
struct TimerInfo {
    signal: c_int,
    errno: c_int,
    code: c_int,
    padding: c_int,
    timer: c_int,
    overrun: c_int,
    value: usize,
}

/// The `siginfo_t` of a signal that a file descriptor has sent. A performance event has such a descriptor.
#[repr(C)]
struct FileInfo {
    signal: c_int,
    errno: c_int,
    code: c_int,
    padding: c_int,
    band: i64,
    file: c_int,
}

/// Handles the sampler's signal. Keeps the value of `errno`.
pub(super) extern "C" fn on_signal(
    _signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the location is this thread's, and valid as long as the thread runs.
    let errno = unsafe { *libc::__errno_location() };
    if let Some(shared) = SHARED.visit()
        && !info.is_null()
        && !context.is_null()
    {
        // SAFETY: the kernel passes `info` and `context` to a handler with `SA_SIGINFO`.
        unsafe { handle(shared.value(), info, context) };
    }
    // SAFETY: the location is this thread's, and valid as long as the thread runs.
    unsafe { *libc::__errno_location() = errno };
}

/// Takes a sample if the signal comes from one of our timers.
///
/// # Safety
/// `info` and `context` must be the arguments that the kernel passed to the handler.
unsafe fn handle(shared: &Shared, info: *const libc::siginfo_t, context: *const c_void) {
    // SAFETY: every `siginfo_t` begins with three numbers, and is as long as either of the structures.
    let timer = unsafe { &*info.cast::<TimerInfo>() };
    // SAFETY: every `siginfo_t` is as long as either of the structures, and begins with three numbers.
    let file = unsafe { &*info.cast::<FileInfo>() };
    let is_timer = timer.code == libc::SI_TIMER;
    // A signal that a file descriptor sends has a code from `POLL_IN` to `POLL_HUP`.
    let is_file = (1..=6).contains(&timer.code);
    let record = if is_timer {
        timers::record_index(timer.value).and_then(|index| shared.record(index))
    } else if is_file {
        shared.record_of_file(file.file)
    } else {
        None
    };
    let Some(record) = record else {
        return;
    };
    if !record.is_armed.load(Ordering::Acquire) {
        return;
    }
    let weight_ns = if is_timer {
        let ticks = u64::try_from(timer.overrun).unwrap_or(0).saturating_add(1);
        shared.interval_ns.saturating_mul(ticks)
    } else {
        // After its signal, a performance event does not count until it is refreshed, which may be after a long system
        // call. So the processor time is read from the thread's clock.
        let now = timers::own_clock_ns();
        let since = now.wrapping_sub(record.sampled_to.swap(now, Ordering::Relaxed));
        // The descriptor may have been closed, and its number given to the event of another thread. Then the two times
        // belong to two threads, and their difference has no meaning.
        if since > i64::MAX as u64 { 0 } else { since }
    };
    // SAFETY: the caller's promise.
    let registers = unsafe { registers(context) };
    let before = timers::own_clock_ns();
    match shared.desks.claim() {
        Some(desk) => sample(shared, record, &registers, &desk, weight_ns),
        None => shared.ring.count_lost(),
    }
    let spent_ns = timers::own_clock_ns().saturating_sub(before);
    let spent = &shared.spent_ns;
    spent.fetch_add(spent_ns + SIGNAL_NS, Ordering::Relaxed);
    if is_file {
        timers::set_period(file.file, shared.interval_ns);
        timers::refresh(file.file);
    }
}

fn sample(
    shared: &Shared,
    record: &ThreadRecord,
    registers: &Registers,
    desk: &Desk<'_>,
    weight_ns: u64,
) {
    let stack_low = record.stack_low.load(Ordering::Relaxed);
    let stack_high = record.stack_high.load(Ordering::Relaxed);
    let number = record.number.load(Ordering::Relaxed);
    if registers.sp < stack_low || registers.sp >= stack_high {
        let sample = Record {
            thread: number,
            weight_ns,
            end: end_code(StackEnd::Unwalked(Unwalked::ForeignStack)),
        };
        shared.ring.write(sample, &[], 0);
        return;
    }
    // From here on, the interrupted thread is known to be the thread of the record, because no other thread runs on
    // this stack.
    let java_thread = record.java_thread.load(Ordering::Relaxed);
    // SAFETY: a thread that is sampled is disarmed before its `JavaThread` is freed.
    let memory = unsafe { OwnThread::new(shared, java_thread, stack_high) };
    let Some(code) = shared.code.get() else {
        return;
    };
    let tables = Tables {
        code,
        methods: &shared.methods,
        structs: &shared.structs,
    };
    let frames = desk.frames();
    let (count, end) = walker::walk(tables, &memory, registers, frames);
    let sample = Record {
        thread: number,
        weight_ns,
        end: end_code(end),
    };
    shared.ring.write(sample, frames, count);
}

/// Reads the memory of the thread that runs this code.
pub(super) struct OwnThread<'s> {
    shared: &'s Shared,
    java_thread: usize,
    stack_high: usize,
    state: u8,
}

impl<'s> OwnThread<'s> {
    /// Makes the reader of the calling thread's memory.
    ///
    /// # Safety
    /// `java_thread` must be the address of the calling thread's `JavaThread`, and `stack_high` the end of its stack.
    pub(super) unsafe fn new(shared: &'s Shared, java_thread: usize, stack_high: usize) -> Self {
        let mut thread = OwnThread {
            shared,
            java_thread,
            stack_high,
            state: 0,
        };
        thread.state = thread.int(shared.structs.thread_state) as u8;
        thread
    }

    /// Returns the word at an offset in the `JavaThread`.
    fn field(&self, offset: usize) -> usize {
        let address = self.java_thread.wrapping_add(offset);
        // SAFETY: the offset is that of a field of `JavaThread`, and the caller of `new` has promised that the thread's
        // `JavaThread` is at this address.
        unsafe { std::ptr::with_exposed_provenance::<usize>(address).read_volatile() }
    }

    fn int(&self, offset: usize) -> u32 {
        let address = self.java_thread.wrapping_add(offset);
        // SAFETY: as in `field`.
        unsafe { std::ptr::with_exposed_provenance::<u32>(address).read_volatile() }
    }
}

impl ThreadMemory for OwnThread<'_> {
    fn stack_end(&self) -> usize {
        self.stack_high
    }

    fn stack_word(&self, address: usize) -> usize {
        // SAFETY: the walker asks only for aligned words between the stack pointer and the end of this thread's stack.
        // All of them are mapped.
        unsafe { std::ptr::with_exposed_provenance::<usize>(address).read_volatile() }
    }

    fn code_byte(&self, address: usize) -> u8 {
        let is_code = self
            .shared
            .code
            .get()
            .is_some_and(|map| map.find(address).is_some());
        if !is_code {
            return 0;
        }
        // SAFETY: the JVM never unmaps a part of its code cache that has contained code.
        unsafe { std::ptr::with_exposed_provenance::<u8>(address).read_volatile() }
    }

    fn anchor(&self) -> Anchor {
        let offsets = self.shared.structs.anchor;
        Anchor {
            sp: self.field(offsets.sp),
            pc: self.field(offsets.pc),
            fp: self.field(offsets.fp),
        }
    }

    fn is_in_java(&self) -> bool {
        self.state == IN_JAVA
    }
}

/// Reads the registers of the interrupted thread from the context of a signal.
///
/// # Safety
/// `context` must be the `ucontext_t` of a signal.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
unsafe fn registers(context: *const c_void) -> Registers {
    // SAFETY: the caller's promise.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    let register = |number: c_int| {
        let value = context.uc_mcontext.gregs.get(number as usize);
        value.map_or(0, |value| *value as usize)
    };
    Registers {
        pc: register(libc::REG_RIP),
        sp: register(libc::REG_RSP),
        fp: register(libc::REG_RBP),
        rbx: register(libc::REG_RBX),
        r13: register(libc::REG_R13),
    }
}

/// Returns no registers. Never called, because the engine is used only on x86-64.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
unsafe fn registers(_context: *const c_void) -> Registers {
    Registers::default()
}

/// The possible ends of stacks. The code of an end in a record of the ring is its index here.
const ENDS: [StackEnd; 6] = [
    StackEnd::Complete,
    StackEnd::Cut,
    StackEnd::Unwalked(Unwalked::ForeignStack),
    StackEnd::Unwalked(Unwalked::BadPointer),
    StackEnd::Unwalked(Unwalked::UnknownCode),
    StackEnd::Unwalked(Unwalked::UnknownMethod),
];

fn end_code(end: StackEnd) -> u8 {
    let mut code = 0;
    for other in ENDS {
        if other == end {
            return code;
        }
        code = code.wrapping_add(1);
    }
    0
}

/// Returns the end of a stack that a code in a record stands for.
pub(super) fn end_of(code: u8) -> StackEnd {
    let end = ENDS.get(usize::from(code));
    end.copied().unwrap_or(StackEnd::Complete)
}
