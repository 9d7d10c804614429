//! Takes snapshots at intervals while the program runs. If the JVM is killed, the last snapshot remains.

use std::time::Duration;

use super::gate::SnapshotGate;
use crate::diagnostics;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::threads::own::OwnThreads;

/// Starts a thread that takes a snapshot at every interval.
pub(crate) fn start(
    own_threads: &OwnThreads,
    jvmti: Jvmti,
    jni: Jni<'_>,
    gate: &'static SnapshotGate,
    interval: Duration,
    take_snapshot: impl Fn(Jni<'_>) + Send + 'static,
) {
    let run = move |jni: Jni<'_>| {
        while !gate.wait_for_end(interval) {
            let Some(_pass) = gate.enter() else {
                return;
            };
            take_snapshot(jni);
        }
    };
    if !own_threads.start(jvmti, jni, c"loadhook snapshot", run) {
        diagnostics::once(
            "snapshot-every: the snapshot thread cannot be started; the profile is written only at exit",
        );
    }
}
