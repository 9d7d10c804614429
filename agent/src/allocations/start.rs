//! Enables the events of allocations, and releases the samples when the agent has left.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use super::followed::Followed;
use super::sample_tables::EventSource;
use super::samples::Samples;
use crate::instrument::weak_values::JvmObjects;
use crate::jvm::jni::{Jni, JniError};
use crate::jvm::jni_calls::Argument;
use crate::jvm::jvmti::{self, Jvmti};
use crate::jvm::reference::Global;
use crate::jvm::sampling::StackKeys;
use crate::jvm::sys::event;
use crate::threads::fields::ThreadFields;

/// The number of attempts to find out whether a collection is one pause. An attempt fails if the program causes another
/// collection meanwhile.
const ATTEMPTS: usize = 3;

impl Samples {
    /// Enables the events, at `VMInit`.
    pub(crate) fn begin(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        has_concurrent_collector: bool,
    ) -> jvmti::Result<()> {
        if let Some(thread_class) = ThreadFields::find(jni) {
            let _ = self.thread_class.set(thread_class);
        }
        let version = jvmti.system_property("java.vm.specification.version");
        if let Some(feature) = version.and_then(|version| version.parse().ok()) {
            let _ = self.feature.set(feature);
        }
        let object = jni.framed(|jni| jni.global(jni.find_class(c"java/lang/Object")?));
        if let Some(Ok(object)) = object {
            let _ = self.object_class.set(object);
        }
        if self.source == EventSource::All
            && let Some(Some(keys)) = jni.framed(|jni| StackKeys::find(jvmti, jni))
        {
            let _ = self.keys.set(keys);
        }
        let notify = |event, enable| jvmti.notify(event, enable);
        let collect = || jvmti.collect_garbage();
        self.enable(notify, collect, has_concurrent_collector)?;
        if self.follows
            && !self.collects_in_one_stop()
            && let Some(Ok(hook)) = jni.framed(|jni| add_shutdown_hook(jvmti, jni))
        {
            let _ = self.shutdown_hook.set(hook);
        }
        self.has_begun.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Deletes the references and the shutdown hook that the JVM keeps for the samples. Called when the agent has left.
    pub(crate) fn release(&self, jvmti: Jvmti, jni: Jni<'_>) {
        if let Some(hook) = self.shutdown_hook.get() {
            // If the JVM is about to end, its list of shutdown hooks no longer has the hook.
            let _ = jni.framed(|jni| remove_shutdown_hook(jni, *hook));
            jni.delete_global(*hook);
        }
        if let Some(object) = self.object_class.get() {
            jni.delete_global(*object);
        }
        self.sentinels.release(jni);
        let followed = std::mem::replace(&mut self.lock().followed, Followed::Nothing);
        for weak in followed.references() {
            jni.delete_weak(weak);
        }
        self.classes.release(jvmti, jni);
        self.types.release(&JvmObjects { jvmti, jni });
    }

    /// Enables the events. After an error, none is enabled.
    fn enable(
        &self,
        notify: impl Fn(c_int, bool) -> jvmti::Result<()>,
        collect: impl Fn() -> jvmti::Result<()>,
        has_concurrent_collector: bool,
    ) -> jvmti::Result<()> {
        let allocation = match self.source {
            EventSource::Vm { .. } => event::VM_OBJECT_ALLOC,
            _ => event::SAMPLED_OBJECT_ALLOC,
        };
        let enable = || {
            if self.follows {
                notify(event::GARBAGE_COLLECTION_FINISH, true)?;
            }
            notify(allocation, true)?;
            if self.follows {
                // The event must be enabled before this collection: the JVM does not report objects in the buffers that
                // threads have when the event is enabled, and the collection replaces these buffers.
                //
                // A concurrent collector such as ZGC stops the program several times in one collection, or reports no
                // stop. Its threads end before `VMDeath`. A thread that requests a collection then, or has requested
                // one just before, waits for ever.
                let is_one_stop = self.is_one_stop(&collect)?;
                let _ = self
                    .collects_in_one_stop
                    .set(is_one_stop && !has_concurrent_collector);
            } else if matches!(self.source, EventSource::Sampled(_)) && self.is_before(25) {
                // The JVM takes no samples of objects in the present allocation buffers of threads, which may have room
                // for megabytes. A collection replaces the buffers.
                let _ = collect();
            }
            Ok(())
        };
        enable().inspect_err(|_| {
            for event in [event::GARBAGE_COLLECTION_FINISH, allocation] {
                let _ = notify(event, false);
            }
        })
    }

    /// Returns whether the JVM reports exactly one collection for one request.
    fn is_one_stop(&self, collect: impl Fn() -> jvmti::Result<()>) -> jvmti::Result<bool> {
        for _ in 0..ATTEMPTS {
            let before = self.collections.load(Ordering::Relaxed);
            collect()?;
            if self.collections.load(Ordering::Relaxed) == before.wrapping_add(1) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Registers a shutdown hook: a thread that does nothing. The JVM starts the thread and waits for its end before it
/// stops the collector's threads. The thread belongs to the JVM's own thread group, because programs count and list the
/// threads of their own groups.
fn add_shutdown_hook(jvmti: Jvmti, jni: Jni<'_>) -> Result<Global, JniError> {
    let group = jvmti
        .system_thread_group(jni)
        .map_err(|_| JniError::Refused)?;
    let arguments = [group, jni.new_string(c"loadhook end")?].map(Argument::Object);
    let class = jni.find_class(c"java/lang/Thread")?;
    let descriptor = c"(Ljava/lang/ThreadGroup;Ljava/lang/String;)V";
    let hook = jni.global(jni.new_object(class, descriptor, &arguments)?)?;
    let hooks = jni.find_class(c"java/lang/ApplicationShutdownHooks")?;
    let add = jni.static_method(hooks, c"add", c"(Ljava/lang/Thread;)V")?;
    jni.call_void(add, &[Argument::Object(hook.local())])?;
    Ok(hook)
}

fn remove_shutdown_hook(jni: Jni<'_>, hook: Global) -> Result<bool, JniError> {
    let hooks = jni.find_class(c"java/lang/ApplicationShutdownHooks")?;
    let remove = jni.static_method(hooks, c"remove", c"(Ljava/lang/Thread;)Z")?;
    jni.call_boolean(remove, &[Argument::Object(hook.local())])
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::collections::HashSet;

    use super::super::weak_records::WeakRecords;
    use super::*;

    #[test]
    fn a_failed_start_leaves_no_event_enabled() {
        let failed = Err(jvmti::Error(1));
        let vm = EventSource::Vm { callers: true };
        for (source, calls) in [(EventSource::All, 3), (vm, 1)] {
            let followed = match source {
                EventSource::All => Followed::Samples(WeakRecords::default()),
                _ => Followed::Nothing,
            };
            let samples = Samples::new(source, followed);
            // The number of the call that fails. In the last round, no call fails.
            for failing in 0..=calls {
                let enabled = RefCell::new(HashSet::new());
                let call = Cell::new(0);
                let next = || {
                    if call.replace(call.get() + 1) == failing {
                        failed
                    } else {
                        Ok(())
                    }
                };
                let notify = |event: c_int, enable: bool| {
                    let mut enabled = enabled.borrow_mut();
                    if !enable {
                        enabled.remove(&event);
                        return Ok(());
                    }
                    next()?;
                    enabled.insert(event);
                    Ok(())
                };
                let collect = || {
                    samples.collection_ends();
                    next()
                };
                let begun = samples.enable(notify, collect, false);
                assert_eq!(begun.is_ok(), failing == calls, "{source:?} {failing}");
                let expected = if begun.is_ok() { calls.min(2) } else { 0 };
                assert_eq!(enabled.borrow().len(), expected, "{source:?} {failing}");
            }
        }
    }

    #[test]
    fn a_collection_for_the_program_does_not_mislead() {
        for (told, is_one_stop, asked) in [
            ([1, 9, 9, 9], true, 1),
            ([2, 1, 9, 9], true, 2),
            ([3, 2, 1, 9], true, 3),
            ([2, 2, 2, 1], false, 3),
            ([0, 0, 0, 1], false, 3),
        ] {
            let samples = Samples::new(EventSource::All, Followed::Nothing);
            let calls = Cell::new(0);
            let found = samples.is_one_stop(|| {
                for _ in 0..told[calls.replace(calls.get() + 1)] {
                    samples.collection_ends();
                }
                Ok(())
            });
            assert_eq!(found.ok(), Some(is_one_stop), "{told:?}");
            assert_eq!(calls.get(), asked, "{told:?}");
        }
    }
}
