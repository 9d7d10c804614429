//! Joins the hook with the other tables that it needs about the classes of a JVM: loaders, classes that are being
//! loaded, and redefinitions.

use super::hook::Hook;
use super::loaders::{Loaders, Origin};
use super::redefinitions::Redefinitions;
use super::under_way::{LoaderHash, UnderWay};
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::Local;
use crate::options::Options;

/// Instruments the classes of a JVM.
pub(crate) struct Instrumentation {
    pub(crate) jvmti: Jvmti,
    pub(crate) hook: Hook,
    pub(crate) loaders: Loaders,
    pub(crate) redefinitions: Redefinitions,
    pub(super) under_way: UnderWay,
}

impl Instrumentation {
    pub(crate) fn new(jvmti: Jvmti, options: Options) -> Self {
        Instrumentation {
            jvmti,
            hook: Hook::new(options),
            loaders: Loaders::default(),
            redefinitions: Redefinitions::new(),
            under_way: UnderWay::default(),
        }
    }

    /// Returns the origin of the class that has this internal name in a loader.
    pub(crate) fn origin(&self, jni: Jni<'_>, loader: Local<'_>, name: &[u8]) -> Origin {
        self.loaders.origin(self.jvmti, jni, loader, name)
    }

    /// Notes a class that is being loaded, by [`UnderWay::note`].
    pub(crate) fn note_under_way(&self, loader: Local<'_>, name: &[u8], bytes: &[u8]) {
        let loader = LoaderHash::of(self.jvmti, loader);
        self.under_way.note(loader, name, bytes);
    }

    /// Forgets the classes of collected loaders.
    pub(crate) fn forget_unloaded(&self, jni: Jni<'_>) {
        for loader in self.loaders.take_gone(self.jvmti, jni) {
            self.hook.registry.forget(loader);
        }
    }
}
