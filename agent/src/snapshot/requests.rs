//! Writes files with HPROF's tables when the signal `SIGQUIT` requests them.

use super::gate::SnapshotGate;
use crate::diagnostics;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::threads::own::OwnThreads;

/// Starts a thread that calls `write` at every request. The JVM's thread for signals does not write files itself,
/// because all other signals would have to wait.
pub(crate) fn start(
    own_threads: &OwnThreads,
    jvmti: Jvmti,
    jni: Jni<'_>,
    gate: &'static SnapshotGate,
    write: impl Fn(Jni<'_>) + Send + 'static,
) {
    let run = move |jni: Jni<'_>| {
        while gate.wait_for_request() {
            let Some(_pass) = gate.enter() else {
                return;
            };
            // The frame frees the local references that `write` makes.
            let _ = jni.framed(&write);
        }
    };
    if !own_threads.start(jvmti, jni, c"loadhook hprof", run) {
        diagnostics::once(
            "hprof: the thread for SIGQUIT cannot be started; the signal writes no file",
        );
    }
}
