//! The types of the engine's interface: settings, samples, and the sink that receives samples.

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
    /// A timer on the processor clock of the thread. The kernel checks such timers only at its own ticks.
    Timer,
    /// A task clock of the kernel's performance events. It keeps to the interval, but costs more.
    Perf,
}

/// The settings of the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SamplingSettings {
    /// Processor time between two samples of a thread.
    pub(crate) interval: Duration,
    /// The clock that measures the interval.
    pub(crate) clock_source: ClockSource,
    /// True if events of the JIT compiler are passed on.
    pub(crate) jit: bool,
    /// True if interpreted frames have the offset in their bytecode.
    pub(crate) lines: bool,
}

/// One frame of a sampled stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleFrame {
    /// A method, and the offset in its bytecode. An interpreted frame has the offset only with
    /// [`SamplingSettings::lines`].
    Java {
        method: MethodNumber,
        bci: Option<u16>,
    },
    /// A method of a class that was unloaded before the sample was read.
    UnloadedJava,
    /// Native code of the JVM or of a library, or code that the JVM has not reported. Only the innermost and the
    /// outermost frame can be native.
    Native { pc: usize },
    /// Generated code that belongs to no method. Only the innermost frame can be a stub.
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
    /// The outer frames are not known, because they belong to a virtual thread and are in the heap, or because the
    /// stack is too deep for the sampler. In the self-check, also because the walk has only guessed where they begin,
    /// as the JVM had not reported the code of a frame yet.
    Cut,
    /// The stack could not be followed to its end. The frames that were found are correct.
    Unwalked(Unwalked),
}

/// The reason why a stack was not followed to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Unwalked {
    /// The thread ran on another stack than its own.
    ForeignStack,
    /// A stack pointer or frame pointer lies outside the stack, or does not lead outwards.
    BadPointer,
    /// A return address is in no code that the JVM has reported.
    UnknownCode,
    /// An interpreted frame names an unknown method.
    UnknownMethod,
}

/// A sample of a thread that was running.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawSample<'a> {
    pub(crate) thread: ThreadNumber,
    /// The processor time for which the sample stands, in nanoseconds.
    pub(crate) weight_ns: u64,
    /// The frames, innermost first, including inlined methods.
    pub(crate) frames: &'a [SampleFrame],
    pub(crate) end: StackEnd,
}

/// The reason why stacks cannot be sampled by signals.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum NotAsync {
    /// The system or processor is another one than Linux on x86-64.
    #[error("sampling by signals works on x86-64 Linux only")]
    Platform,
    /// The JVM does not export the place of a structure or field.
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
        "the kernel refuses performance events (error {0}); give clock-source=timer, or write a lower number to /proc/sys/kernel/perf_event_paranoid"
    )]
    NoPerf(i32),
    /// The kernel refuses timers.
    #[error("the kernel refuses a timer on a thread's processor clock (error {0})")]
    NoTimer(i32),
}

/// The outcome of the self-check so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Too few stacks were compared.
    Checking,
    /// Nearly all compared stacks of the walker are equal to the stacks that JVM TI returns.
    Yes,
    /// Too many stacks differ from the stacks that JVM TI returns, or could not be followed.
    No { compared: u32, equal: u32 },
}

/// Counts of the sampler since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SamplingCounts {
    /// Samples that were lost, because the ring or all desks were full.
    pub(crate) lost: u64,
    /// Threads that were not sampled, because the kernel gave no timer for them.
    pub(crate) untimed_threads: u64,
    /// Number of stacks that the self-check has compared.
    pub(crate) compared: u64,
    /// Number of these stacks that were equal.
    pub(crate) equal: u64,
}

/// The receiver of samples and of the methods in them.
pub(crate) trait SampleSink {
    /// Announces a method, before the first sample that shows it. During this call the method's class stays loaded, so
    /// that the method may be passed to JVM TI.
    fn method(&mut self, jni: Jni<'_>, number: MethodNumber, method: MethodKey);

    /// Reports that the class of a method is gone. No later sample shows the method's number.
    fn method_gone(&mut self, number: MethodNumber);

    /// Receives an event of the JIT compiler. A method is `None` if its class is gone.
    fn jit(&mut self, event: JitEvent<Option<MethodNumber>>);

    /// Receives a sample.
    fn sample(&mut self, sample: RawSample<'_>);
}
