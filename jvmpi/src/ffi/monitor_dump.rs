//! `MONITOR_DUMP`: which thread owns which monitor, and which threads wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use loadhook_jvm::jni::Jni;
use loadhook_jvm::jvmti::Jvmti;
use loadhook_jvm::reference::Local;

use super::dump_records::Bytes;
use super::layer::{self, Profilers};
use super::stacks::Traces;
use super::thread_record::Thread;
use super::{definitions, raw_monitors, thread_control, thread_events, threads};
use crate::abi::{Data, EnvId, Int, MonitorDump, REQUESTED, event};

/// `JVMPI_MONITOR_JAVA` and `JVMPI_MONITOR_RAW`.
const JAVA: u8 = 1;
const RAW: u8 = 2;

/// Sends the dump. Returns whether it was made.
pub(super) fn send(jni: Jni<'_>, to: Profilers) -> bool {
    let Some(jvmti) = layer::jvmti() else {
        return false;
    };
    jni.ensure_local_capacity();
    let used = used_monitors(jvmti, jni);
    let all = threads::all();
    let envs: Vec<usize> = all.iter().map(|thread| thread.env).collect();
    let mut traces = Traces::of(&envs);
    // The dump names only threads that the profiler knows. A thread may be in the list before its `THREAD_START` or
    // after its `THREAD_END`; from here on, no thread ends until the dump is sent, or patience is over.
    let _held = thread_events::hold_ends();
    let is_known = |thread: &&Arc<Thread>| thread_events::is_known(thread, to);
    let known: BTreeSet<usize> = all.iter().filter(is_known).map(|it| it.env).collect();
    traces.retain(|env| known.contains(&env));
    let mut bytes = Bytes::default();
    java_monitors(jvmti, jni, used, &known, &mut bytes);
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
    let status: Vec<Int> = traces.envs().map(thread_control::status).collect();
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

/// The monitor of an object, and the virtual threads that own it or wait for it.
struct Used<'f> {
    object: Local<'f>,
    /// The virtual thread that owns the monitor; 0 if none does. Since JDK 23, `GetObjectMonitorUsage` leaves virtual
    /// threads out.
    owner: usize,
    /// Virtual threads that wait to enter, and to be notified.
    entering: BTreeSet<usize>,
    waiting: BTreeSet<usize>,
}

/// Monitors by the ids of their objects.
type Monitors<'f> = BTreeMap<usize, Used<'f>>;

/// Returns the monitor of an object; `None` for null.
fn monitor_of<'m, 'f>(
    monitors: &'m mut Monitors<'f>,
    jni: Jni<'f>,
    object: Local<'f>,
) -> Option<&'m mut Used<'f>> {
    let id = definitions::id_of(jni, object);
    let new = || Used {
        object,
        owner: 0,
        entering: BTreeSet::new(),
        waiting: BTreeSet::new(),
    };
    if id == 0 {
        return None;
    }
    Some(monitors.entry(id).or_insert_with(new))
}

/// Collects the objects' monitors that a thread owns or waits for.
fn used_monitors<'f>(jvmti: Jvmti, jni: Jni<'f>) -> Monitors<'f> {
    let mut monitors = Monitors::new();
    for thread in threads::all() {
        let owned = jvmti.owned_monitors(jni, thread.object());
        for object in owned.unwrap_or_default() {
            if let Some(monitor) = monitor_of(&mut monitors, jni, object)
                && thread.is_virtual()
            {
                monitor.owner = thread.env;
            }
        }
        let contended = jvmti.contended_monitor(jni, thread.object());
        let monitor = contended
            .ok()
            .and_then(|object| monitor_of(&mut monitors, jni, object));
        let Some(monitor) = monitor.filter(|_| thread.is_virtual()) else {
            continue;
        };
        if thread_control::waits_to_enter(&thread) {
            monitor.entering.insert(thread.env);
        } else {
            monitor.waiting.insert(thread.env);
        }
    }
    monitors
}

/// Returns the environment of a thread if it is among the `known`. After its `THREAD_END`, a thread still enters and
/// leaves the monitor of its `Thread` object.
fn known_env(jni: Jni<'_>, known: &BTreeSet<usize>, thread: Local<'_>) -> Option<usize> {
    let env = threads::env_of(jni, thread).addr();
    known.contains(&env).then_some(env)
}

/// Returns the virtual thread that owns a monitor and is not among those that wait for it; 0 if there is none. The
/// threads run on, so the owner may have left the monitor since it was found.
fn still_owner(jvmti: Jvmti, jni: Jni<'_>, used: &Used<'_>) -> usize {
    let env: EnvId = std::ptr::with_exposed_provenance_mut(used.owner);
    let Some(thread) = threads::find(env) else {
        return 0;
    };
    let owned = jvmti.owned_monitors(jni, thread.object());
    let mut owned = owned.unwrap_or_default().into_iter();
    let waits = used.entering.contains(&used.owner) || used.waiting.contains(&used.owner);
    if !waits && owned.any(|object| jni.is_same(object, used.object)) {
        used.owner
    } else {
        0
    }
}

/// Writes the records of the objects' monitors that a thread owns or waits for. Names only threads that are `known`.
fn java_monitors<'f>(
    jvmti: Jvmti,
    jni: Jni<'f>,
    monitors: Monitors<'f>,
    known: &BTreeSet<usize>,
    bytes: &mut Bytes,
) {
    for (id, mut used) in monitors {
        let Ok(usage) = jvmti.monitor_threads(jni, used.object) else {
            continue;
        };
        let envs = |threads: &[Local<'_>]| -> Vec<usize> {
            let env = |thread: &Local<'_>| known_env(jni, known, *thread);
            threads.iter().filter_map(env).collect()
        };
        used.waiting.extend(envs(&usage.to_be_notified));
        used.entering.extend(envs(&usage.to_enter));
        used.waiting.retain(|env| known.contains(env));
        // Before JDK 23, JVM TI also counts threads that wait to be notified among those that wait to enter.
        used.entering
            .retain(|env| known.contains(env) && !used.waiting.contains(env));
        let (owner, entries) = if usage.owner.is_null() {
            let owner = still_owner(jvmti, jni, &used);
            let owner = if known.contains(&owner) { owner } else { 0 };
            (owner, u32::from(owner != 0))
        } else {
            let owner = known_env(jni, known, usage.owner);
            (
                owner.unwrap_or(0),
                owner.map_or(0, |_| usage.entries.max(0) as u32),
            )
        };
        bytes.u1(JAVA);
        bytes.pointer(id);
        bytes.pointer(owner);
        bytes.u4(entries);
        for list in [used.entering, used.waiting] {
            bytes.pointers(&Vec::from_iter(list));
        }
    }
}
