//! Dumps the monitors at a moment: their owners and the threads that wait for them.

use std::collections::{BTreeMap, BTreeSet};

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

/// Reads the platform threads and their monitors. Adds the threads and the methods on their stacks to the profile if
/// the profile does not have them. The dump is empty if the JVM does not list its threads.
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
        let mut threads = Vec::new();
        for thread in jvmti.threads(jni)? {
            let Some(id) = names.thread(jni, thread) else {
                continue;
            };
            let frames = jvmti.stack_trace_of(thread, depth);
            names.keep(instrumentation, jni, &frames);
            threads.push((id, frames, status(jvmti.thread_state(thread))));
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
        let loaders = instrumentation.loaders.names(names.loaders());
        for (id, frames, status) in threads {
            dump.threads.push(ThreadState {
                thread: names.index(id, profile),
                frames: names.places(&frames, &loaders, methods, profile),
                status,
            });
        }
        let mut ask = |object| monitor(jvmti, jni, object, names, profile).ok();
        for object in &objects {
            dump.monitors.extend(ask(*object));
        }
        let again: Vec<MonitorState> = objects.into_iter().filter_map(ask).collect();
        confirm_circles(&mut dump.monitors, &again);
        Ok(dump)
    });
    found.and_then(Result::ok).unwrap_or_default()
}

/// Removes from `first` the waiting threads of circles that were not real. The monitors are read one after the other
/// while the threads run, so `first` can show a circle that never existed. A real deadlock is also in `again`, a second
/// reading of the same monitors. So a thread in a circle is removed unless it waits for the same owner in `again`.
fn confirm_circles(first: &mut [MonitorState], again: &[MonitorState]) {
    let edges = |monitors: &[MonitorState]| -> BTreeSet<(u32, u32)> {
        let of = |monitor: &MonitorState| {
            let owner = monitor.owner.map(|(owner, _)| owner);
            let waiters = monitor.to_enter.clone().into_iter();
            waiters.filter_map(move |waiter| Some((waiter, owner?)))
        };
        monitors.iter().flat_map(of).collect()
    };
    // A thread waits for at most one monitor, so at most one edge begins at each thread.
    let next: BTreeMap<u32, u32> = edges(first).into_iter().collect();
    let is_in_circle = |thread: u32| {
        let mut at = next.get(&thread);
        for _ in 0..next.len() {
            match at {
                Some(other) if *other == thread => return true,
                Some(other) => at = next.get(other),
                None => return false,
            }
        }
        false
    };
    let still = edges(again);
    for monitor in first {
        let owner = monitor.owner.map_or(u32::MAX, |(owner, _)| owner);
        monitor
            .to_enter
            .retain(|waiter| !is_in_circle(*waiter) || still.contains(&(*waiter, owner)));
    }
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

/// Converts the state of a thread to HPROF's letters.
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
    fn circles_are_in_both_states() {
        let monitor = |owner: u32, to_enter: &[u32]| MonitorState {
            class: String::new(),
            owner: Some((owner, 1)),
            to_enter: to_enter.to_vec(),
            to_be_notified: Vec::new(),
        };
        // Threads 1 and 2 wait for each other. Threads 3 and 4 only seem to wait for each other. Thread 5 waits for
        // thread 3.
        let all = [
            monitor(1, &[2]),
            monitor(2, &[1]),
            monitor(3, &[4, 5]),
            monitor(4, &[3]),
        ];
        let mut first = all.to_vec();
        let again = [monitor(1, &[2]), monitor(2, &[1]), monitor(3, &[4])];
        confirm_circles(&mut first, &again);
        let waiters: Vec<_> = first.iter().map(|monitor| &monitor.to_enter[..]).collect();
        assert_eq!(waiters, [&[2][..], &[1], &[4, 5], &[]]);
    }

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
