//! Finds the blocker of a parked thread: the object for which the thread parks.

use loadhook_profile::WaitKind;

use crate::jvm::jni::{Field, Jni};
use crate::jvm::reference::{Global, Local};

/// The synchronizer of latches. Threads at a latch wait for an event, not for a lock. All other synchronizers are taken
/// for locks.
const LATCH: &str = "java.util.concurrent.CountDownLatch$Sync";

/// The only lock class that is no `AbstractOwnableSynchronizer`.
const STAMPED_LOCK: &str = "java.util.concurrent.locks.StampedLock";

/// The classes and fields by which blockers are recognised.
pub(super) struct Blockers {
    /// `Thread.parkBlocker`. The field is read, so that `LockSupport.getBlocker()` need not be called.
    of_thread: Field,
    /// `AbstractOwnableSynchronizer`.
    synchronizers: Global,
    /// `AbstractOwnableSynchronizer.exclusiveOwnerThread`, the thread that owns the lock.
    owner: Field,
}

impl Blockers {
    /// Looks the classes and fields up.
    pub(super) fn find(jni: Jni<'_>) -> Option<Blockers> {
        let found = jni.framed(|jni| {
            let thread = jni.find_class(c"java/lang/Thread").ok()?;
            let name = c"java/util/concurrent/locks/AbstractOwnableSynchronizer";
            let synchronizer = jni.find_class(name).ok()?;
            let blocker = jni.field(thread, c"parkBlocker", c"Ljava/lang/Object;");
            let owner = jni.field(synchronizer, c"exclusiveOwnerThread", c"Ljava/lang/Thread;");
            Some(Blockers {
                of_thread: blocker.ok()?,
                owner: owner.ok()?,
                synchronizers: jni.global(synchronizer).ok()?,
            })
        });
        found.flatten()
    }

    /// Returns the blocker of a thread that is about to park: the argument of the method that parks. If the method has
    /// no such argument, returns the blocker that the thread has set before.
    pub(super) fn blocker<'f>(
        &self,
        jni: Jni<'f>,
        thread: Local<'f>,
        argument: Local<'f>,
    ) -> Local<'f> {
        if argument.is_null() {
            jni.object_field(thread, self.of_thread)
                .unwrap_or(Local::NULL)
        } else {
            argument
        }
    }

    /// Returns the kind of a wait for a blocker, which must not be null. `class` is the name of the blocker's class.
    pub(super) fn kind(&self, jni: Jni<'_>, blocker: Local<'_>, class: &str) -> WaitKind {
        let is_synchronizer = || jni.is_instance(blocker, self.synchronizers);
        if class == STAMPED_LOCK || class != LATCH && is_synchronizer() {
            WaitKind::Lock
        } else {
            WaitKind::Park
        }
    }

    /// Returns the thread that owns a blocker; null if there is none, or if the blocker has no owners.
    pub(super) fn owner<'f>(&self, jni: Jni<'f>, blocker: Local<'f>) -> Local<'f> {
        if blocker.is_null() || !jni.is_instance(blocker, self.synchronizers) {
            return Local::NULL;
        }
        jni.object_field(blocker, self.owner).unwrap_or(Local::NULL)
    }

    /// Deletes the global reference to `AbstractOwnableSynchronizer`.
    pub(super) fn release(&self, jni: Jni<'_>) {
        jni.delete_global(self.synchronizers);
    }
}
