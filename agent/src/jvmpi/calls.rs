//! Records calls in a JVM with JVMPI: the hook instruments classes, and the tracker counts and times calls.

use std::cell::Cell;
use std::sync::OnceLock;

use loadhook_rewrite::ClassFile;

use crate::diagnostics;
use crate::events::NotBegun;
use crate::instrument::hook::Hook;
use crate::instrument::loaders::Origin;
use crate::jvm::jni::Jni;
use crate::jvm::jni_calls::StaticMethod;
use crate::jvm::jvmpi::own_library::load_for_boot_loader;
use crate::options::Options;
use crate::tracker::client::TrackerClient;
use crate::tracker::definition::{self, NotDefined};
use crate::tracker::{self, ticker};

thread_local! {
    /// True in the thread that runs `main`.
    static IS_MAIN: Cell<bool> = const { Cell::new(false) };
}

/// The calls of the program.
pub(super) struct Calls {
    pub(super) hook: Hook,
    /// The tracker's classes, which also keep the heap reserve. Set when the JVM is initialised.
    defined: OnceLock<&'static TrackerClient>,
    /// `Thread.currentThread`, if calls are recorded. Set after `defined`.
    current: OnceLock<StaticMethod>,
}

impl Calls {
    pub(super) fn new(options: Options) -> Self {
        Calls {
            hook: Hook::new(options),
            defined: OnceLock::new(),
            current: OnceLock::new(),
        }
    }

    /// Defines and configures the tracker. Classes may be instrumented after this. `vm_info` is the JVM's property
    /// `java.vm.info`.
    pub(super) fn begin(&self, jni: Jni<'_>, vm_info: &str) -> Result<(), NotBegun> {
        if load_for_boot_loader(jni).is_err() {
            diagnostics::once(
                "the JVM does not find the tracker's native methods, so times have larger errors; report this",
            );
        }
        let tracker = self.keep_reserve(jni)?;
        let options = self.hook.options();
        let configured = tracker.configure(jni, options);
        configured.map_err(|_| NotBegun::NotConfigured)?;
        ticker::start(options);
        let current = jni.framed(|jni| {
            let threads = jni.find_class(c"java/lang/Thread")?;
            jni.static_method(threads, c"currentThread", c"()Ljava/lang/Thread;")
        });
        let Some(Ok(current)) = current else {
            return Err(NotBegun::NotConfigured);
        };
        let owner = tracker::owner(vm_info, options.timing, &options.settings);
        self.hook.set_owner(owner);
        let _ = self.current.set(current);
        Ok(())
    }

    /// Keeps heap for the end of the program, also if no calls are recorded. To be called by the thread that runs
    /// `main`.
    pub(super) fn keep_reserve(&self, jni: Jni<'_>) -> Result<&'static TrackerClient, NotDefined> {
        let tracker = definition::tracker(jni)?;
        tracker.reserve.keep(jni);
        IS_MAIN.set(true);
        let _ = self.defined.set(tracker);
        Ok(tracker)
    }

    /// Returns the tracker; `None` if calls are not recorded.
    pub(super) fn tracker(&self) -> Option<&'static TrackerClient> {
        self.current.get().and(self.defined.get().copied())
    }

    /// Instruments a class into a buffer from `allocate`; `None` if the class stays as it is.
    pub(super) fn instrument<B: AsMut<[u8]>>(
        &self,
        bytes: &[u8],
        allocate: impl FnOnce(usize) -> Option<B>,
    ) -> Option<B> {
        self.current.get()?;
        let class = ClassFile::parse(bytes).ok()?;
        let name = class.name();
        if !self.hook.watch().may_name(name) {
            return None;
        }
        self.hook.instrument(Origin::by_name(name), bytes, allocate)
    }

    /// Merges the calls of the calling thread, which is about to end.
    pub(super) fn thread_ends(&self, jni: Jni<'_>) {
        let Some(tracker) = self.defined.get() else {
            return;
        };
        if let Some(current) = self.current.get() {
            jni.framed(|jni| {
                if let Ok(thread) = jni.call_object(*current, &[]) {
                    tracker.thread_ends(jni, thread);
                }
            });
        }
        if IS_MAIN.take() {
            tracker.reserve.main_thread_ends(jni);
        }
    }
}
