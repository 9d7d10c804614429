//! Stacks of threads, as JVMPI shows them.

use super::{layer, lines, methods, threads, versions};
use crate::abi::{CallFrame, CallTrace, EnvId, Int};

/// Maximum number of frames of a trace in a dump.
const DEPTH: usize = 1024;

/// Returns the innermost frames of a thread, without those of the layer's own class.
pub(super) fn frames(env: EnvId, depth: usize) -> Vec<CallFrame> {
    let (Some(jvmti), Some(thread)) = (layer::jvmti(), threads::find(env)) else {
        return Vec::new();
    };
    if depth == 0 {
        return Vec::new();
    }
    // On a carrier, JVM TI's current thread is the virtual thread that the carrier runs. This thread is passed instead
    // of null: for null, JDK 21 waits until no virtual thread is being mounted anywhere.
    let own = layer::current_jni().filter(|jni| layer::id(*jni) == env && !thread.is_virtual());
    let own = own.and_then(|jni| {
        jni.framed(|jni| {
            let current = jvmti.current_thread(jni).ok()?;
            Some(jvmti.stack_trace_of(current, depth + 1))
        })
    });
    let found = own
        .flatten()
        .unwrap_or_else(|| jvmti.stack_trace_of(thread.object(), depth + 1));
    let mut frames = Vec::new();
    for frame in found {
        if frames.len() < depth && !methods::is_own(frame.method) {
            frames.push(CallFrame {
                line: lines::line(frame.method, frame.location),
                method: versions::current(frame.method).0,
            });
        }
    }
    frames
}

/// Stack traces of threads.
pub(super) struct Traces {
    traces: Vec<CallTrace>,
    _frames: Vec<Vec<CallFrame>>,
}

impl Traces {
    pub(super) fn of(envs: &[usize]) -> Self {
        let mut all = Vec::new();
        let mut traces = Vec::new();
        for env in envs {
            let env = std::ptr::with_exposed_provenance_mut(*env);
            let mut frames = frames(env, DEPTH);
            traces.push(CallTrace {
                env,
                count: frames.len() as Int,
                frames: frames.as_mut_ptr(),
            });
            all.push(frames);
        }
        Traces {
            traces,
            _frames: all,
        }
    }

    /// Keeps only the traces of these threads.
    pub(super) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        self.traces.retain(|trace| keep(trace.env.addr()));
    }

    /// Returns the threads that have a trace, in the order of the traces.
    pub(super) fn envs(&self) -> impl Iterator<Item = EnvId> {
        self.traces.iter().map(|trace| trace.env)
    }

    pub(super) fn raw(&self) -> (*const CallTrace, Int) {
        (self.traces.as_ptr(), self.traces.len() as Int)
    }
}

/// Returns the number of frames that a thread's trace in a dump has.
pub(super) fn depth(env: EnvId) -> usize {
    frames(env, DEPTH).len()
}
