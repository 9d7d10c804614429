//! The engine behind [`AsyncEngine`](super::AsyncEngine): its tables, and the handlers of its events.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Instant;

use super::checked_stack::CheckedStack;
use super::code_cache::CodeCache;
use super::code_map::{Code, CodeId, CodeKind};
use super::codes::{Codes, Compiled, Stub, describe_stubs};
use super::handler::OwnThread;
use super::jit::{JitEvent, JitEvents};
use super::method_table::OldTable;
use super::noted::{NotedMethods, Redefined, ToNote};
use super::raw_frame::RawFrame;
use super::reclaim::{Epoch, zeroed};
use super::sample::{NotAsync, SampledThread, SamplingSettings, StackEnd, Unwalked};
use super::self_check::{MAX_CHECKED, SelfCheck};
use super::shared::Shared;
use super::signals::Signal;
use super::threads::{ThreadWords, Threads};
use super::walker::{Tables, walk_from_anchor};
use crate::jvm::jni::{Field, Jni};
use crate::jvm::jvmti::{Jvmti, MethodKey};
use crate::jvm::reference::{Global, Local};
use crate::locks::lock;

/// Something that was removed from a table, but to which signal handlers or unread samples may still refer.
pub(super) enum Thing {
    Table(OldTable),
    Code(CodeId),
    Methods(Vec<u32>),
    /// References to listed classes that were noted. They keep the classes loaded, so that the JVM gives the addresses
    /// of their methods to no other methods.
    Classes(Vec<Global>),
}

/// A [`Thing`], with the time from which on it can be freed.
struct Retired {
    thing: Thing,
    epoch: Epoch,
    /// The position of the ring's head after the epoch was over. Samples before this position may refer to the thing.
    until: Option<u64>,
}

/// Compiled code and methods by their numbers. JVM TI events change these tables, and the reader of samples looks
/// frames up in them.
#[derive(Default)]
pub(super) struct Known {
    pub(super) codes: Codes,
    /// Stubs that are not in `codes` yet.
    stubs: Vec<Stub>,
    pub(super) methods: NotedMethods,
    retired: Vec<Retired>,
    /// `Continuation.enterSpecial`.
    pub(super) continuation_entry: Option<MethodKey>,
    /// The time at which all classes were last noted again.
    pub(super) noted_again: Option<Instant>,
}

/// The parts of the engine.
pub(super) struct Engine {
    /// The engine's own JVM TI environment, separate from the agent's.
    pub(super) jvmti: Jvmti,
    pub(super) settings: SamplingSettings,
    pub(super) shared: &'static Shared,
    cache: CodeCache,
    known: Mutex<Known>,
    pub(super) to_note: Mutex<ToNote>,
    /// Classes that are being redefined.
    pub(super) redefined: Mutex<Vec<Redefined>>,
    threads: Mutex<Threads>,
    pub(super) signal: Signal,
    /// `Thread.eetop`, which holds the address of the `JavaThread`.
    eetop: OnceLock<Field>,
    pub(super) check: SelfCheck,
    /// Events of the JIT compiler, if the settings ask for them.
    jit: Option<JitEvents>,
    /// True if stubs are entered into the tables at once. Before `VMInit` they wait, because the JVM generates hundreds
    /// of them, which are looked up faster together.
    enters_stubs: AtomicBool,
    /// True if the agent was attached to a running program. Its classes may have been redefined before.
    pub(super) is_late: AtomicBool,
    /// True while the JVM reports code that it compiled before the engine was loaded.
    pub(super) is_replaying: AtomicBool,
    /// Number of samples whose innermost frame is in code that was compiled before the engine was loaded.
    pub(super) early_samples: AtomicU64,
}

impl Engine {
    pub(super) fn new(
        jvmti: Jvmti,
        settings: SamplingSettings,
        shared: &'static Shared,
        cache: CodeCache,
    ) -> Self {
        Engine {
            jvmti,
            settings,
            shared,
            cache,
            known: Mutex::default(),
            to_note: Mutex::default(),
            redefined: Mutex::default(),
            threads: Mutex::default(),
            signal: Signal::new(settings.clock_source),
            eetop: OnceLock::new(),
            check: SelfCheck::default(),
            jit: settings.jit.then(JitEvents::default),
            enters_stubs: AtomicBool::new(false),
            is_late: AtomicBool::new(false),
            is_replaying: AtomicBool::new(false),
            early_samples: AtomicU64::new(0),
        }
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }

    pub(super) fn threads(&self) -> MutexGuard<'_, Threads> {
        lock(&self.threads)
    }

    /// Finds the field that leads from a thread to its `JavaThread`.
    pub(super) fn find_thread_field(&self, jni: Jni<'_>) -> Result<(), NotAsync> {
        let missing = NotAsync::NoStructure("Thread.eetop");
        let class = jni
            .find_class(c"java/lang/Thread")
            .map_err(|_| missing.clone())?;
        let field = jni.field(class, c"eetop", c"J").map_err(|_| missing)?;
        let _ = self.eetop.set(field);
        Ok(())
    }

    /// Handles `CompiledMethodLoad`.
    pub(super) fn compiled(&self, mut code: Code, mut compiled: Compiled) {
        let mut known = self.known();
        let before = known.codes.reported(self.shared, code.low, compiled.method);
        // Code that the JVM reports again stays early.
        compiled.is_early |= before.is_some_and(|before| before.is_early);
        if let Some(jit) = &self.jit
            && before.is_none()
        {
            jit.add(JitEvent::Compiled {
                method: compiled.method,
                size: code.high.saturating_sub(code.low) as u32,
                inlined: compiled.inlining.inlined(),
            });
        }
        if known.continuation_entry == Some(compiled.method) {
            code.kind = CodeKind::ContinuationEntry;
        }
        // Stubs that were generated before come first, because they may have been at the same address.
        self.enter_stubs(&mut known);
        self.add_code(&mut known, &code, Some(compiled));
    }

    /// Handles `CompiledMethodUnload`.
    pub(super) fn unloaded(&self, low: usize, method: MethodKey) {
        if let Some(jit) = &self.jit {
            jit.add(JitEvent::Discarded { method });
        }
        let mut known = self.known();
        if let Some(id) = known.codes.remove(self.shared, low, method) {
            self.retire(&mut known, Thing::Code(id));
        }
    }

    /// Takes the events of the JIT compiler since the last call.
    pub(super) fn take_jit(&self) -> Vec<JitEvent<MethodKey>> {
        self.jit.as_ref().map(JitEvents::take).unwrap_or_default()
    }

    /// Returns the note about events of the JIT compiler for which there was no room.
    pub(super) fn jit_note(&self) -> Option<String> {
        self.jit.as_ref().and_then(JitEvents::note)
    }

    /// Handles `DynamicCodeGenerated`.
    pub(super) fn generated(&self, stub: Stub) {
        let mut known = self.known();
        known.stubs.push(stub);
        if self.enters_stubs.load(Ordering::Relaxed) {
            self.enter_stubs(&mut known);
        }
    }

    /// Enters the stubs that wait into the tables. Later stubs do not wait.
    pub(super) fn begin_to_enter_stubs(&self) {
        let mut known = self.known();
        self.enters_stubs.store(true, Ordering::Relaxed);
        self.enter_stubs(&mut known);
    }

    fn enter_stubs(&self, known: &mut Known) {
        let stubs = std::mem::take(&mut known.stubs);
        if stubs.is_empty() {
            return;
        }
        for code in describe_stubs(&self.cache, &stubs) {
            self.add_code(known, &code, None);
        }
    }

    fn add_code(&self, known: &mut Known, code: &Code, compiled: Option<Compiled>) {
        let replaced = known.codes.add(self.shared, &self.cache, code, compiled);
        for id in replaced {
            self.retire(known, Thing::Code(id));
        }
    }

    /// Returns the code cache, in which frame sizes of generated code are found.
    pub(super) fn cache(&self) -> &CodeCache {
        &self.cache
    }

    pub(super) fn retire(&self, known: &mut Known, thing: Thing) {
        known.retired.push(Retired {
            thing,
            epoch: self.shared.desks.retire(),
            until: None,
        });
    }

    /// Frees retired things to which neither a handler nor an unread sample can refer any more. Returns references,
    /// which the caller must delete.
    pub(super) fn free_retired(&self) -> Vec<Global> {
        let mut references = Vec::new();
        let mut known = self.known();
        let tail = self.shared.ring.tail();
        let retired = std::mem::take(&mut known.retired);
        for mut retired in retired {
            if retired.until.is_some_and(|until| until <= tail) {
                match retired.thing {
                    Thing::Table(table) => drop(table),
                    Thing::Code(id) => known.codes.free(id),
                    Thing::Methods(methods) => known.methods.free(methods),
                    Thing::Classes(classes) => references.extend(classes),
                }
                continue;
            }
            if retired.until.is_none() && self.shared.desks.is_over(retired.epoch) {
                // The head is read after the epoch is over. By then, the last handler that saw the thing has written
                // its sample.
                retired.until = Some(self.shared.ring.head());
            }
            known.retired.push(retired);
        }
        references
    }

    /// Takes the retired references to classes. Called when no samples are read any more.
    pub(super) fn take_retired_classes(&self) -> Vec<Global> {
        let mut references = Vec::new();
        let mut known = self.known();
        for retired in &mut known.retired {
            if let Thing::Classes(classes) = &mut retired.thing {
                references.append(classes);
            }
        }
        references
    }

    /// Starts to sample a platform thread.
    pub(super) fn arm(&self, jni: Jni<'_>, thread: Local<'_>) -> Option<SampledThread> {
        let java_thread = jni.long_field(thread, *self.eetop.get()?).ok()? as usize;
        let words = self.thread_words(java_thread)?;
        let tid = words.tid;
        let is_own = tid == own_tid();
        let mut threads = self.threads();
        // The signal's number is read under the same lock under which `keep_signal` changes it. Otherwise a timer with
        // the old signal could call the program's handler.
        let signal = self.signal.number();
        if signal == 0 {
            return None;
        }
        let number = threads.arm(self.shared, &self.settings, signal, words, is_own)?;
        Some(SampledThread { number, tid })
    }

    /// Chooses another signal if the program has meanwhile installed a handler for the signal in use. Called when all
    /// threads of `VMInit` have been armed, and then regularly.
    pub(super) fn keep_signal(&self) {
        let mut threads = self.threads();
        threads.all_are_armed();
        if self.signal.number() != 0 && !self.signal.is_ours() {
            if self.signal.install() {
                threads.change_signal(self.shared, &self.settings, self.signal.number());
            } else {
                threads.stop(self.shared);
            }
        }
    }

    /// Reads the JVM's structures of a thread by a system call. Another thread than the calling one may end at any
    /// moment, and then a direct read would fault.
    fn thread_words(&self, java_thread: usize) -> Option<ThreadWords> {
        if java_thread == 0 {
            return None;
        }
        let structs = &self.shared.structs;
        let memory = self.cache.memory();
        let words = memory.words(&[
            java_thread + structs.stack_base,
            java_thread + structs.stack_size,
            java_thread + structs.os_thread,
        ])?;
        let [stack_high, stack_size, os_thread] = words[..] else {
            return None;
        };
        let tid = memory.int(os_thread.checked_add(structs.thread_id)?)?;
        let stack_low = stack_high.checked_sub(stack_size)?;
        let is_sound = tid > 0 && stack_size > 0 && stack_high.is_multiple_of(8);
        is_sound.then_some(ThreadWords {
            tid,
            java_thread,
            stack_low,
            stack_high,
        })
    }

    /// If a comparison is due, compares the stack that the walker finds for the calling thread with the stack that JVM
    /// TI returns. The thread is in the callback of an event, so it has left Java code.
    pub(super) fn check_own_stack(&self, jni: Jni<'_>) {
        let here = 0_usize;
        let sp = std::ptr::from_ref(&here).expose_provenance() & !7;
        let record = self.threads().record(self.shared, own_tid());
        let (Some(record), Some(code)) = (record, self.shared.code.get()) else {
            return;
        };
        if !lock(&self.to_note).is_done || self.known().methods.is_full() {
            return;
        }
        let stack_high = record.stack_high.load(Ordering::Relaxed);
        if sp < record.stack_low.load(Ordering::Relaxed) || sp >= stack_high || !self.check.is_due()
        {
            return;
        }
        // The versions on this thread's stack were made before, so later redefinitions do not matter.
        if self.has_unnoted_versions() {
            return;
        }
        let java_thread = record.java_thread.load(Ordering::Relaxed);
        // SAFETY: the record is the calling thread's, which is alive.
        let memory = unsafe { OwnThread::new(self.shared, java_thread, stack_high) };
        let tables = Tables {
            code,
            methods: &self.shared.methods,
            structs: &self.shared.structs,
        };
        let Some(desk) = self.shared.desks.claim() else {
            return;
        };
        let frames = zeroed::<AtomicU64>(2 * MAX_CHECKED);
        let (count, end) = walk_from_anchor(tables, &memory, sp, &frames);
        let frames = frames.iter().take(count);
        let frames = frames.map(|frame| RawFrame::of(frame.load(Ordering::Relaxed)));
        let (walked, end, unreported) = self.keys(frames, end);
        drop(desk);
        // In a method whose class was redefined meanwhile, the walk finds the noted method, and JVM TI names the old
        // version.
        let expected: Vec<MethodKey> = self
            .jvmti
            .stack_trace(MAX_CHECKED)
            .iter()
            .map(|frame| self.note_version(jni, frame.method))
            .collect();
        if !expected.is_empty() {
            let stack = CheckedStack {
                walked,
                end,
                expected,
            };
            self.check.add(&stack, unreported);
        }
    }

    /// Compares the stacks whose code the JVM has reported since they were walked.
    pub(super) fn check_waiting_stacks(&self) {
        let known = self.known();
        let map = self.shared.code.get();
        self.check.compare_waiting(|pc| {
            let frames = known.codes.reported_frames(map?, pc)?.into_iter();
            let methods = frames.map(|frame| known.methods.present(frame.method));
            Some(methods.collect())
        });
    }

    /// Computes the offset of an interpreted instruction in its method's code, from the low bits of the instruction's
    /// address. Returns `None` without [`SamplingSettings::lines`], or if the address is not in the method's code.
    pub(super) fn bci(&self, known: &Known, method: u32, bcp: u32) -> Option<u16> {
        let offsets = self
            .shared
            .structs
            .bytecode
            .filter(|_| self.settings.lines)?;
        let address = known.methods.address(method)?;
        offsets.bci(self.cache.memory(), address, bcp)
    }

    /// Returns the compiled code at an address, and the offset at which its frames are looked up. `is_top` is true if
    /// the address is that of an interrupted thread.
    pub(super) fn compiled_at(&self, pc: usize, is_top: bool) -> Option<(CodeId, u32)> {
        let (id, code) = self.shared.code.get()?.find(pc)?;
        let offset = pc.wrapping_sub(code.low) as u32 + u32::from(is_top);
        (code.kind == CodeKind::Compiled).then_some((id, offset))
    }

    /// Returns the methods of the frames of a stack, including inlined methods, and how the stack ended. At an address
    /// in code that the JVM has not reported, ends and returns the address, too.
    fn keys(
        &self,
        frames: impl Iterator<Item = RawFrame>,
        end: StackEnd,
    ) -> (Vec<MethodKey>, StackEnd, Option<usize>) {
        let known = self.known();
        let mut keys = Vec::new();
        for frame in frames {
            match frame {
                RawFrame::Interpreted { method, .. } => keys.extend(known.methods.key(method)),
                RawFrame::Compiled { code, offset } => keys.extend(known.methods_at(code, offset)),
                RawFrame::Address(pc) => return (keys, end, Some(pc)),
                RawFrame::Method(address) => {
                    let method = self.shared.methods.find(address);
                    let Some(key) = method.and_then(|method| known.methods.key(method)) else {
                        return (keys, StackEnd::Unwalked(Unwalked::UnknownMethod), None);
                    };
                    keys.push(key);
                }
                RawFrame::Entry(_) | RawFrame::Stub(_) => {}
            }
        }
        (keys, end, None)
    }
}

impl Known {
    /// Returns the methods at a place of compiled code, innermost first. The present versions stand for old ones.
    fn methods_at(&self, code: CodeId, offset: u32) -> impl Iterator<Item = MethodKey> + '_ {
        let compiled = self.codes.compiled(code).into_iter();
        let frames = compiled.flat_map(move |compiled| compiled.frames_at(offset));
        frames.map(|frame| self.methods.present(frame.method))
    }
}

/// Returns the system's id of the calling thread.
pub(crate) fn own_tid() -> i32 {
    // SAFETY: the call has no arguments.
    unsafe { libc::gettid() }
}
