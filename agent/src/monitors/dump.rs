//! The owners of monitors and the threads that wait for them, at a moment.

use loadhook_profile::Profile;
use loadhook_profile::format::hprof::{MonitorDump, MonitorState, ThreadState};
use loadhook_rewrite::symbol::text;

use super::frames::{Names, descriptor};
use crate::frames::profile_parts::ProfileMethods;
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::{self, Jvmti};
use crate::jvm::reference::Local;
use crate::jvm::sys::{Int, thread_state};

/// The platform threads and their monitors. Methods and threads that the profile does not have are added to it.
/// The dump is empty if the JVM does not tell.
pub(super) fn dump(
    instrumentation: &Instrumentation,
    jni: Jni<'_>,
    depth: usize,
    names: &Names,
    methods: &mut ProfileMethods,
    profile: &mut Profile,
) -> MonitorDump {
    let jvmti = instrumentation.jvmti;
    let found = jni.framed(|jni| -> jvmti::Result<MonitorDump> {
        jni.ensure_local_capacity();
        let mut dump = MonitorDump::default();
        let mut objects: Vec<Local<'_>> = Vec::new();
        for thread in jvmti.threads(jni)? {
            let Some(id) = names.thread(jni, thread) else {
                continue;
            };
            let frames = jvmti.stack_trace_of(thread, depth);
            names.keep(instrumentation, jni, &frames);
            dump.threads.push(ThreadState {
                thread: names.index(id, profile),
                frames: names.places(&frames, methods, profile),
                status: status(jvmti.thread_state(thread)),
            });
            // A thread that has ended meanwhile has no monitors.
            let contended = jvmti.contended_monitor(jni, thread).ok();
            let owned = jvmti.owned_monitors(jni, thread).unwrap_or_default();
            for object in contended.into_iter().chain(owned) {
                let is_known = objects.iter().any(|known| jni.is_same(*known, object));
                if !object.is_null() && !is_known {
                    objects.push(object);
                }
            }
        }
        for object in objects {
            if let Ok(monitor) = monitor(jvmti, jni, object, names, profile) {
                dump.monitors.push(monitor);
            }
        }
        Ok(dump)
    });
    found.and_then(Result::ok).unwrap_or_default()
}

fn monitor(
    jvmti: Jvmti,
    jni: Jni<'_>,
    object: Local<'_>,
    names: &Names,
    profile: &mut Profile,
) -> jvmti::Result<MonitorState> {
    let used = jvmti.monitor_threads(jni, object)?;
    let mut index = |thread: Local<'_>| {
        let id = names.thread(jni, thread)?;
        Some(names.index(id, profile))
    };
    let owner = if used.owner.is_null() {
        None
    } else {
        index(used.owner).map(|thread| (thread, used.entries))
    };
    let waits_for_notification = |thread: &Local<'_>| {
        let mut others = used.to_be_notified.iter();
        others.any(|other| jni.is_same(*other, *thread))
    };
    let to_enter = used
        .to_enter
        .iter()
        .filter(|thread| !waits_for_notification(thread));
    Ok(MonitorState {
        class: text(&descriptor(jvmti, jni, object)),
        owner,
        to_enter: to_enter.filter_map(|thread| index(*thread)).collect(),
        to_be_notified: used
            .to_be_notified
            .iter()
            .filter_map(|thread| index(*thread))
            .collect(),
    })
}

/// The state of a thread in HPROF's letters.
fn status(state: Int) -> String {
    let is = |bits: Int| state & bits != 0;
    let mut status = String::new();
    for (bits, prefix) in [
        (thread_state::SUSPENDED, "S|"),
        (thread_state::INTERRUPTED, "intr|"),
        (thread_state::IN_NATIVE, "native|"),
    ] {
        if is(bits) {
            status += prefix;
        }
    }
    status
        + if is(thread_state::SLEEPING) {
            "SL"
        } else if is(thread_state::BLOCKED_ON_MONITOR_ENTER) {
            "MW"
        } else if is(thread_state::WAITING) {
            "CW"
        } else if is(thread_state::RUNNABLE) {
            "R"
        } else {
            "UN"
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_the_letters_of_hprof() {
        for (state, expected) in [
            (thread_state::RUNNABLE, "R"),
            (thread_state::RUNNABLE | thread_state::IN_NATIVE, "native|R"),
            (thread_state::BLOCKED_ON_MONITOR_ENTER, "MW"),
            (thread_state::WAITING | thread_state::INTERRUPTED, "intr|CW"),
            (thread_state::WAITING | thread_state::SLEEPING, "SL"),
            (0, "UN"),
        ] {
            assert_eq!(status(state), expected);
        }
    }
}
