//! `MONITOR_DUMP`: who owns which monitor, and who waits.

use std::collections::BTreeMap;

use loadhook_jvm::jni::Jni;
use loadhook_jvm::jvmti::Jvmti;
use loadhook_jvm::reference::Local;

use super::dump_records::Bytes;
use super::layer::{self, Profilers};
use super::stacks::Traces;
use super::{definitions, raw_monitors, thread_control, threads};
use crate::abi::{Data, Int, MonitorDump, REQUESTED, event};

/// `JVMPI_MONITOR_JAVA` and `JVMPI_MONITOR_RAW`.
const JAVA: u8 = 1;
const RAW: u8 = 2;

/// Sends the dump. Returns whether it was made.
pub(super) fn send(jni: Jni<'_>, to: Profilers) -> bool {
    let Some(jvmti) = layer::jvmti() else {
        return false;
    };
    jni.ensure_local_capacity();
    let mut bytes = Bytes::default();
    java_monitors(jvmti, jni, &mut bytes);
    for monitor in raw_monitors::all() {
        let state = monitor.state();
        bytes.u1(RAW);
        bytes.pointer(monitor.name.as_ptr().addr());
        bytes.pointer(monitor.id().addr());
        bytes.pointer(state.owner_env);
        bytes.u4(state.entries);
        bytes.pointers(&state.entering);
        bytes.pointers(&state.waiting);
    }
    let all: Vec<usize> = threads::all().iter().map(|thread| thread.env).collect();
    let traces = Traces::of(&all);
    let status: Vec<Int> = all
        .iter()
        .map(|env| thread_control::status(std::ptr::with_exposed_provenance_mut(*env)))
        .collect();
    let (begin, end) = bytes.range();
    let (traces, num_traces) = traces.raw();
    let monitor_dump = MonitorDump {
        begin,
        end,
        num_traces,
        traces,
        status: status.as_ptr(),
    };
    let event_type = event::MONITOR_DUMP | REQUESTED;
    layer::send(to, event_type, layer::id(jni), Data { monitor_dump });
    true
}

/// Writes the records of the objects' monitors that a thread owns or waits for.
fn java_monitors(jvmti: Jvmti, jni: Jni<'_>, bytes: &mut Bytes) {
    let mut monitors: BTreeMap<usize, Local<'_>> = BTreeMap::new();
    for thread in threads::all() {
        let thread = thread.object();
        let mut used = jvmti.owned_monitors(jni, thread).unwrap_or_default();
        used.extend(jvmti.contended_monitor(jni, thread).ok());
        for object in used {
            let id = definitions::id_of(jni, object);
            if id != 0 {
                monitors.insert(id, object);
            }
        }
    }
    for (id, object) in monitors {
        let Ok(usage) = jvmti.monitor_threads(jni, object) else {
            continue;
        };
        let envs = |threads: &[Local<'_>]| -> Vec<usize> {
            threads
                .iter()
                .map(|thread| threads::env_of(jni, *thread).addr())
                .collect()
        };
        let waiting = envs(&usage.to_be_notified);
        let mut entering = envs(&usage.to_enter);
        // Before JDK 23, JVM TI also counts threads that wait to be notified among those that wait to enter.
        entering.retain(|env| !waiting.contains(env));
        bytes.u1(JAVA);
        bytes.pointer(id);
        bytes.pointer(threads::env_of(jni, usage.owner).addr());
        bytes.u4(usage.entries.max(0) as u32);
        bytes.pointers(&entering);
        bytes.pointers(&waiting);
    }
}
