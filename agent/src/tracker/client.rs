//! Calls the methods of the tracker by JNI.

use loadhook_settings::Timing;
use thiserror::Error;

use super::heap_reserve::HeapReserve;
use super::sizes::Sizes;
use crate::jvm::jni::{Jni, JniError};
use crate::jvm::jni_calls::{Argument, StaticMethod};
use crate::jvm::reference::{Global, Local};
use crate::options::Options;

/// The maximum number of words (`long`s) that one call fetches. No record is longer.
const BUFFER_WORDS: i32 = 1 << 13;

/// The tracker's methods that the agent calls.
pub(crate) struct TrackerClient {
    configure: StaticMethod,
    expect_few_methods: StaticMethod,
    expect_lost_probes: StaticMethod,
    count_durations: StaticMethod,
    pause: StaticMethod,
    begin_snapshot: StaticMethod,
    snapshot: StaticMethod,
    sum_up_methods: StaticMethod,
    method_sums: StaticMethod,
    thread_start: StaticMethod,
    thread_end: StaticMethod,
    bind: StaticMethod,
    link_parks: StaticMethod,
    leave: StaticMethod,
    /// A `long[]` through which snapshots are fetched. It is made at the start, because the heap may be full when the
    /// program ends.
    buffer: Global,
    lost_allocations: StaticMethod,
    begin_trace: StaticMethod,
    end_trace: StaticMethod,
    take_traced: StaticMethod,
    drop_traced: StaticMethod,
    take_latencies: StaticMethod,
    pub(crate) reserve: HeapReserve,
    pub(crate) sizes: Sizes,
}

/// The calls and the time of a method, summed over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MethodSum {
    /// The method's id.
    pub(crate) id: u32,
    /// The number of the method's timed calls.
    pub(crate) calls: u64,
    /// The time of these calls in nanoseconds, including callees. Each recursive call adds its own time.
    pub(crate) nanos: u64,
    /// The number of the method's calls that are only counted.
    pub(crate) counted: u64,
}

/// The reason why there is no snapshot.
#[derive(Clone, Copy, Debug, Error)]
pub(crate) enum NoSnapshot {
    /// A method of the tracker threw an exception.
    #[error("internal error: the tracker threw an exception; report this")]
    Failed,
    /// There is no memory for the snapshot.
    #[error("the heap is full; give the JVM more heap (-Xmx)")]
    HeapFull,
    /// The tracker's lock was not released in time.
    #[error("a thread holds the tracker's lock; if a debugger has suspended the thread, resume it")]
    Locked,
    /// The caller abandoned the snapshot.
    #[error("the snapshot was abandoned")]
    GivenUp,
}

impl From<JniError> for NoSnapshot {
    fn from(error: JniError) -> Self {
        match error {
            JniError::OutOfMemory => NoSnapshot::HeapFull,
            JniError::Thrown | JniError::Refused => NoSnapshot::Failed,
        }
    }
}

impl TrackerClient {
    /// Looks up the methods of the tracker's class.
    pub(crate) fn find(jni: Jni<'_>, class: Local<'_>) -> Result<Self, JniError> {
        jni.find_out_of_memory_error()?;
        Ok(TrackerClient {
            configure: jni.static_method(class, c"configure", c"(III)V")?,
            expect_few_methods: jni.static_method(class, c"expectFewMethods", c"()V")?,
            expect_lost_probes: jni.static_method(class, c"expectLostProbes", c"()V")?,
            count_durations: jni.static_method(class, c"countDurations", c"()V")?,
            pause: jni.static_method(class, c"pause", c"(I)V")?,
            begin_snapshot: jni.static_method(class, c"beginSnapshot", c"()Z")?,
            snapshot: jni.static_method(class, c"snapshot", c"([J)I")?,
            sum_up_methods: jni.static_method(class, c"sumUpMethods", c"()Z")?,
            method_sums: jni.static_method(class, c"methodSums", c"([J)I")?,
            thread_start: jni.static_method(class, c"threadStart", c"(Ljava/lang/Thread;)V")?,
            thread_end: jni.static_method(class, c"threadEnd", c"(Ljava/lang/Thread;)V")?,
            leave: jni.static_method(class, c"leave", c"()V")?,
            bind: jni.static_method(class, c"bind", c"()V")?,
            link_parks: jni.static_method(class, c"linkParks", c"()Z")?,
            buffer: jni.global(jni.new_long_array(BUFFER_WORDS)?)?,
            lost_allocations: jni.static_method(class, c"lostAllocations", c"()J")?,
            begin_trace: jni.static_method(class, c"beginTrace", c"(JII)V")?,
            end_trace: jni.static_method(class, c"endTrace", c"()V")?,
            take_traced: jni.static_method(class, c"takeTraced", c"()Ljava/lang/String;")?,
            drop_traced: jni.static_method(class, c"dropTraced", c"(I)J")?,
            take_latencies: jni.static_method(class, c"takeLatencies", c"()Ljava/lang/String;")?,
            reserve: HeapReserve::find(jni)?,
            sizes: Sizes::find(jni)?,
        })
    }

    /// Sets how calls are counted and timed.
    pub(crate) fn configure(&self, jni: Jni<'_>, options: &Options) -> Result<(), JniError> {
        let settings = &options.settings;
        let timing = options.timing.unwrap_or(Timing::Count);
        if options.expects_few_methods() {
            jni.call_void(self.expect_few_methods, &[])?;
        }
        let max_nodes = i32::try_from(settings.max_nodes).unwrap_or(i32::MAX);
        if options.may_lose_timing() {
            jni.call_void(self.expect_lost_probes, &[])?;
        }
        let arguments = [timing as i32, settings.clock as i32, max_nodes].map(Argument::Int);
        jni.call_void(self.configure, &arguments)?;
        if settings.latencies {
            jni.call_void(self.count_durations, &[])?;
        }
        Ok(())
    }

    /// Begins or ends a pause of the probes in hidden classes.
    pub(crate) fn pause(&self, jni: Jni<'_>, begins: bool) {
        // If this fails, the probes in hidden classes continue as before.
        let _ = jni.call_void(self.pause, &[Argument::Int(begins.into())]);
    }

    /// Returns the number of allocations that are missing in the last snapshot.
    pub(crate) fn lost_allocations(&self, jni: Jni<'_>) -> i64 {
        jni.call_long(self.lost_allocations, &[]).unwrap_or(0)
    }

    /// Begins to record traced calls that last at least `slower_ns` nanoseconds. If `thrown` is true, also records all
    /// calls that an exception ends. If `calls_to_string` is true, `toString` is called to show the values of calls.
    pub(crate) fn begin_trace(
        &self,
        jni: Jni<'_>,
        slower_ns: i64,
        thrown: bool,
        calls_to_string: bool,
    ) -> Result<(), JniError> {
        let arguments = [
            Argument::Long(slower_ns),
            Argument::Int(thrown.into()),
            Argument::Int(calls_to_string.into()),
        ];
        jni.call_void(self.begin_trace, &arguments)
    }

    /// Ends the recording that [`begin_trace`](Self::begin_trace) has begun.
    pub(crate) fn end_trace(&self, jni: Jni<'_>) {
        // If this fails, the buffers of recorded calls stay until the next trace.
        let _ = jni.call_void(self.end_trace, &[]);
    }

    /// Takes the oldest recorded calls as text; empty if there are none.
    pub(crate) fn take_traced(&self, jni: Jni<'_>) -> Result<String, JniError> {
        let text = jni.call_object(self.take_traced, &[])?;
        jni.text(text)
    }

    /// Drops all recorded calls, or, if `are_parts` is true, all recorded parts of calls. Returns how many calls or
    /// parts were lost since this method or `take_traced` last reported lost ones, including those that it drops now.
    pub(crate) fn drop_traced(&self, jni: Jni<'_>, are_parts: bool) -> u64 {
        let lost = jni.call_long(self.drop_traced, &[Argument::Int(are_parts.into())]);
        // If this fails, the calls stay recorded, and are not lost yet.
        lost.ok()
            .and_then(|lost| u64::try_from(lost).ok())
            .unwrap_or(0)
    }

    /// Returns, as text, the durations of the calls that were traced so far.
    pub(crate) fn take_latencies(&self, jni: Jni<'_>) -> Result<String, JniError> {
        let text = jni.call_object(self.take_latencies, &[])?;
        jni.text(text)
    }

    /// Prepares the tracker for the calls of a platform thread that begins, or of the main thread at the JVM's start.
    pub(crate) fn thread_starts(&self, jni: Jni<'_>, thread: Local<'_>) {
        // If this fails, the first call of the thread is counted more slowly, and calls of other threads cost a little
        // more.
        let _ = jni.call_void(self.thread_start, &[Argument::Object(thread)]);
    }

    /// Merges the call tree of a thread that is about to end.
    pub(crate) fn thread_ends(&self, jni: Jni<'_>, thread: Local<'_>) {
        // If this fails, the tracker keeps the tree with the state of the dead thread.
        let _ = jni.call_void(self.thread_end, &[Argument::Object(thread)]);
    }

    /// Makes the probes that may still run do nothing, and drops all counts.
    pub(crate) fn leave(&self, jni: Jni<'_>) {
        // If this fails, a later agent drops the counts.
        let _ = jni.call_void(self.leave, &[]);
        self.sizes.forget();
    }

    /// Makes the tracker call the agent, which then binds again the native method that defines hidden classes. The call
    /// must come from the tracker, because the tracker's code belongs to the boot loader.
    pub(crate) fn bind_definer(&self, jni: Jni<'_>) {
        // The caller checks afterwards whether the method is bound.
        let _ = jni.call_void(self.bind, &[]);
    }

    /// Links the native methods that the probes in parking methods call. Returns false if the JVM does not find the
    /// agent's functions for these methods: it searches the library of an agent only when the attaching is complete.
    pub(crate) fn link_parks(&self, jni: Jni<'_>) -> bool {
        jni.call_boolean(self.link_parks, &[]).unwrap_or(false)
    }

    /// Fetches a snapshot and passes its words to `take`, part by part. Fails if `take` returns false.
    pub(crate) fn snapshot(
        &self,
        jni: Jni<'_>,
        mut take: impl FnMut(&[i64]) -> bool,
    ) -> Result<(), NoSnapshot> {
        self.fetch(jni, self.begin_snapshot, self.snapshot, &mut take)
    }

    /// Sums up calls and times by method. The sums are not exact, because the program continues to run meanwhile.
    pub(crate) fn method_sums(&self, jni: Jni<'_>) -> Result<Vec<MethodSum>, NoSnapshot> {
        let mut sums = Vec::new();
        self.fetch(jni, self.sum_up_methods, self.method_sums, &mut |words| {
            let records = words.chunks_exact(4);
            sums.extend(records.map(|record| MethodSum {
                id: u32::try_from(record[0]).unwrap_or(0),
                calls: u64::try_from(record[1]).unwrap_or(0),
                nanos: u64::try_from(record[2]).unwrap_or(0),
                counted: u64::try_from(record[3]).unwrap_or(0),
            }));
            true
        })?;
        Ok(sums)
    }

    /// Calls the tracker's method `begin` once, and then its method `next` until `next` returns no words. Passes the
    /// words of each call to `take`. Fails if `take` returns false.
    fn fetch(
        &self,
        jni: Jni<'_>,
        begin: StaticMethod,
        next: StaticMethod,
        take: &mut dyn FnMut(&[i64]) -> bool,
    ) -> Result<(), NoSnapshot> {
        let fetched = jni.framed(|jni| {
            let mut words = vec![0; BUFFER_WORDS as usize];
            if !jni.call_boolean(begin, &[])? {
                return Err(NoSnapshot::Locked);
            }
            let buffer = [Argument::Object(self.buffer.local())];
            loop {
                let count = jni.call_int(next, &buffer)?;
                let count = usize::try_from(count).ok();
                let part = count.and_then(|count| words.get_mut(..count));
                let part = part.ok_or(NoSnapshot::Failed)?;
                if part.is_empty() {
                    return Ok(());
                }
                jni.read_longs(self.buffer, part)?;
                if !take(part) {
                    return Err(NoSnapshot::GivenUp);
                }
            }
        });
        fetched.unwrap_or(Err(NoSnapshot::Failed))
    }
}
