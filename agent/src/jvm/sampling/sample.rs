//! Types of the engine's interface: settings, samples, and the sink that takes them.

use std::time::Duration;

use thiserror::Error;

use super::jit::JitEvent;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::MethodKey;

/// The number of a method that a sample has shown. A number is never given to another method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MethodNumber(pub(crate) u32);

/// The number of a sampled thread. A number is never given to another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ThreadNumber(pub(crate) u32);

/// A thread that is sampled from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampledThread {
    pub(crate) number: ThreadNumber,
    /// The thread's id in the operating system.
    pub(crate) tid: i32,
}

/// The clock by which a thread is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockSource {
    /// A timer on the processor clock of the thread. The kernel checks it only at its own ticks.
    Timer,
    /// A task clock of the kernel's performance events, which keeps to the interval and costs more.
    Perf,
}

/// The settings of the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SamplingSettings {
    /// Processor time between two samples of a thread.
    pub(crate) interval: Duration,
    /// The clock that measures the interval.
    pub(crate) clock_source: ClockSource,
    /// True if the work of the JIT compiler is passed on.
    pub(crate) jit: bool,
    /// True if interpreted frames have the offset in their code.
    pub(crate) lines: bool,
}

/// One frame of a sampled stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleFrame {
    /// A method, and the offset in its code. An interpreted method has it only with [`SamplingSettings::lines`].
    Java {
        method: MethodNumber,
        bci: Option<u16>,
    },
    /// A method of a class that was unloaded before the sample was read.
    UnloadedJava,
    /// Native code: the JVM's, or that of a library. It can only be the innermost frame.
    Native { pc: usize },
    /// Code that the JVM generated and that belongs to no method. It can only be the innermost frame.
    Stub(StubKind),
}

/// Kinds of generated code that belongs to no method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StubKind {
    /// The interpreter, between two methods.
    Interpreter,
    /// A stub of the JVM: array copies, cryptography, allocation, calls of the runtime.
    Runtime,
    /// The dispatch of a virtual or interface call.
    Dispatch,
}

/// How a sampled stack ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StackEnd {
    /// The outermost frame is the thread's first method.
    Complete,
    /// The outer frames are not known: those of a virtual thread are in the heap, or the stack is deeper than the
    /// sampler follows.
    Cut,
    /// The stack could not be followed to its end. The frames that were found are correct.
    Unwalked(Unwalked),
}

/// The reason why a stack was not followed to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Unwalked {
    /// The thread ran on another stack than its own.
    ForeignStack,
    /// A stack pointer or frame pointer lies outside the stack, or does not grow.
    BadPointer,
    /// A return address lies in no code that the JVM has reported.
    UnknownCode,
    /// An interpreted frame names no method that is known.
    UnknownMethod,
}

/// A sample of a thread that was running.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawSample<'a> {
    pub(crate) thread: ThreadNumber,
    /// Processor time that the sample stands for.
    pub(crate) weight_ns: u64,
    /// The frames, innermost first, with inlined methods.
    pub(crate) frames: &'a [SampleFrame],
    pub(crate) end: StackEnd,
}

/// The reason why stacks cannot be sampled by signals.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum NotAsync {
    /// The handler reads registers and frames of x86-64 on Linux only.
    #[error("sampling by signals works on x86-64 Linux only")]
    Platform,
    /// The JVM does not export the place of a structure.
    #[error("this JVM does not export where its {0} is in memory")]
    NoStructure(&'static str),
    /// The JVM does not report compiled methods.
    #[error("this JVM does not report compiled methods ({0})")]
    NoEvents(crate::jvm::jvmti::Error),
    /// The JVM gives the engine no JVM TI environment of its own.
    #[error("this JVM gives the sampler no JVM TI environment of its own")]
    NoEnvironment,
    /// The kernel forbids reading this process's memory by system call.
    #[error("this system forbids process_vm_readv and reads of /proc/self/mem")]
    NoSafeReads,
    /// The program has a handler for every signal that could be used.
    #[error("the program handles SIGPROF and all real-time signals itself")]
    NoSignal,
    /// The kernel refuses performance events.
    #[error(
        "the kernel refuses clock-source=perf (error {0}); use clock-source=timer, or allow it by /proc/sys/kernel/perf_event_paranoid"
    )]
    NoPerf(i32),
    /// The kernel refuses timers.
    #[error("the kernel refuses timers of threads (error {0})")]
    NoTimer(i32),
}

/// The outcome of the self-check so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Too few stacks were compared.
    Checking,
    /// The walker's stacks are those of JVM TI.
    Yes,
    /// Too many stacks differ, or could not be followed.
    No { compared: u32, equal: u32 },
}

/// Counts of the sampler since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SamplingCounts {
    /// Samples that are lost, because there was no room for them.
    pub(crate) lost: u64,
    /// Threads that were not sampled, because the kernel gave no timer for them.
    pub(crate) untimed_threads: u64,
}

/// The receiver of samples and of the methods in them.
pub(crate) trait SampleSink {
    /// Announces a method before the first sample that shows it. The class of the method is loaded during the call, so
    /// JVM TI may be asked about the method.
    fn method(&mut self, jni: Jni<'_>, number: MethodNumber, method: MethodKey);

    /// Reports that the class of a method is gone. No later sample shows the method's number.
    fn method_gone(&mut self, number: MethodNumber);

    /// Takes a piece of work of the JIT compiler. A method is `None` if its class is gone.
    fn jit(&mut self, event: JitEvent<Option<MethodNumber>>);

    /// Takes a sample.
    fn sample(&mut self, sample: RawSample<'_>);
}
