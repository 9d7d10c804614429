//! From when on the VM tells of objects.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use super::{Samples, Source, ThreadClass};
use crate::jvm::jni::{Argument, Jni, Reference, Thrown};
use crate::jvm::jvmti::{self, Jvmti};
use crate::jvm::sys::event;

/// How often it is tried whether a collection is one stop: one that the
/// program needs may come between.
const ATTEMPTS: usize = 3;

impl Samples {
    /// Begins, at `VMInit`.
    pub(crate) fn begin(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        collects_in_threads: bool,
    ) -> jvmti::Result<()> {
        let found = jni.framed(|| {
            let class = jni.find_class(c"java/lang/Thread").ok()?;
            let virtual_threads = jni.find_class(c"java/lang/BaseVirtualThread").ok();
            Some(ThreadClass {
                id: jni.field(class, c"tid", c"J").ok()?,
                name: jni.field(class, c"name", c"Ljava/lang/String;").ok()?,
                virtual_threads: virtual_threads.and_then(|class| jni.global(class).ok()),
            })
        });
        if let Some(Some(found)) = found {
            let _ = self.thread.set(found);
        }
        let version = jvmti.system_property("java.vm.specification.version");
        if let Some(feature) = version.and_then(|version| version.parse().ok()) {
            let _ = self.feature.set(feature);
        }
        if let Some(Ok(object)) = jni.framed(|| jni.global(jni.find_class(c"java/lang/Object")?)) {
            let _ = self.object.set(object);
        }
        let notify = |event, enable| jvmti.notify(event, enable);
        self.enable(notify, || jvmti.collect_garbage(), collects_in_threads)?;
        if self.follows
            && !self.collects_at_once()
            && let Some(Ok(hook)) = jni.framed(|| hook(jvmti, jni))
        {
            let _ = self.hook.set(hook);
        }
        self.has_begun.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Enables the events, all or none.
    fn enable(
        &self,
        notify: impl Fn(c_int, bool) -> jvmti::Result<()>,
        collect: impl Fn() -> jvmti::Result<()>,
        collects_in_threads: bool,
    ) -> jvmti::Result<()> {
        let allocation = match self.source {
            Source::Vm { .. } => event::VM_OBJECT_ALLOC,
            _ => event::SAMPLED_OBJECT_ALLOC,
        };
        let enable = || {
            if self.follows {
                notify(event::GARBAGE_COLLECTION_FINISH, true)?;
            }
            notify(allocation, true)?;
            if self.follows {
                // This collection comes behind the event: a thread's buffer has
                // objects that nobody sees until it is replaced, as it is here.
                // A collector with threads of its own, as ZGC, stops several times
                // or tells of none. They are gone before VMDeath: who asks for a
                // collection then, or has asked just before, waits for ever.
                let is_one_stop = self.is_one_stop(&collect)?;
                let _ = self
                    .collects_at_once
                    .set(is_one_stop && !collects_in_threads);
            } else if matches!(self.source, Source::Sampled(_)) && self.is_before(25) {
                // The VM samples nothing from the buffer that a thread has
                // already, of megabytes: a collection takes it away.
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

    /// Whether the VM tells of one collection where it is asked for one.
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

/// Registers a thread that the VM starts, and waits for, before it ends and
/// stops the collector's threads. It does nothing itself. In the VM's own thread
/// group: the program's own counts and enumerates the program's threads.
fn hook(jvmti: Jvmti, jni: Jni<'_>) -> Result<Reference, Thrown> {
    let group = jvmti.system_thread_group().map_err(|_| Thrown::default())?;
    let arguments = [group, jni.new_string(c"loadhook end")?].map(Argument::Object);
    let class = jni.find_class(c"java/lang/Thread")?;
    let descriptor = c"(Ljava/lang/ThreadGroup;Ljava/lang/String;)V";
    let hook = jni.global(jni.new_object(class, descriptor, &arguments)?)?;
    let hooks = jni.find_class(c"java/lang/ApplicationShutdownHooks")?;
    let add = jni.static_method(hooks, c"add", c"(Ljava/lang/Thread;)V")?;
    jni.call_void(add, &[Argument::Object(hook)])?;
    Ok(hook)
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::collections::HashSet;

    use super::super::live_objects::{Followed, Records};
    use super::*;

    #[test]
    fn what_does_not_begin_leaves_no_event_enabled() {
        let failed = Err(jvmti::Error(1));
        for (source, calls) in [(Source::All, 3), (Source::Vm { callers: true }, 1)] {
            let followed = match source {
                Source::All => Followed::Samples(Records::default()),
                _ => Followed::Nothing,
            };
            let samples = Samples::new(source, followed);
            // Which call fails; at last none.
            for failing in 0..=calls {
                let enabled = RefCell::new(HashSet::new());
                let call = Cell::new(0);
                let next = || match call.replace(call.get() + 1) == failing {
                    true => failed,
                    false => Ok(()),
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
    fn a_collection_between_is_not_the_collector_s_way() {
        for (told, is_one_stop, asked) in [
            ([1, 9, 9, 9], true, 1),
            ([2, 1, 9, 9], true, 2),
            ([3, 2, 1, 9], true, 3),
            ([2, 2, 2, 1], false, 3),
            ([0, 0, 0, 1], false, 3),
        ] {
            let samples = Samples::new(Source::All, Followed::Nothing);
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
