//! Snapshots while the program runs. If the JVM is killed, the last one remains.

use std::time::Duration;

use super::gate::SnapshotGate;
use crate::diagnostics;
use crate::jvm::jni::{Argument, Jni, JniError};
use crate::jvm::jvmti::Jvmti;

/// Starts a thread that takes a snapshot at every interval.
///
/// The thread is in the JVM's own thread group, because programs count and enumerate the threads of theirs.
pub(crate) fn start(
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
    let started = jni.framed(|jni| {
        let class = jni.find_class(c"java/lang/Thread")?;
        let group = jvmti
            .system_thread_group(jni)
            .map_err(|_| JniError::Refused)?;
        let name = jni.new_string(c"loadhook snapshot")?;
        let arguments = [group, name].map(Argument::Object);
        let descriptor = c"(Ljava/lang/ThreadGroup;Ljava/lang/String;)V";
        let thread = jni.new_object(class, descriptor, &arguments)?;
        jvmti
            .run_agent_thread(thread, Box::new(run))
            .map_err(|_| JniError::Refused)
    });
    if !matches!(started, Some(Ok(()))) {
        diagnostics::once(
            "snapshot-every: the snapshot thread cannot be started; the profile is written only at exit",
        );
    }
}
